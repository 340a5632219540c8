"""An open size in float arithmetic, and what it is rounded to: Python's doubles, also where the fractions would give another int (9/16000 is rounded
down, so int(9/16000*48000) is 26)."""
import textwrap

import pytest
import torch

from scripted import same
from test_places import HEAD, module

ROUNDED = ("int(n/16000*48000)", "int(n/22050*44100)", "int(n/25*50)", "int(n/60*120)", "int(n/49*49)", "math.ceil(n/44*88)", "math.ceil(n/7*7)",
           "math.ceil(n/100*30)", "math.floor(n/3*2/5)", "int(n/3 + n/3 + n/3)", "int(n/49*49 - 1)", "int((n + 1)/10*(n + 3))")
WHOLE = ("int(n/3*2)", "int(n/2*3)", "math.ceil(n*48000/16000)", "math.floor((n - 3)/2)", "int(n/4*n/4)", "math.ceil(n/7/3)")


def program(tmp_path, expressions):
    lines = "\n".join("n = x.size(0)\nr.append(%s)" % e for e in expressions)
    text = "%s\nimport math\n\nclass Program(nn.Module):\n    def forward(self, x):\n        r: List[int] = []\n%s\n        return r\n" % (
        HEAD, textwrap.indent(lines, "        "))
    return module(text, tmp_path, "rounded")


@pytest.mark.parametrize("expressions", [ROUNDED, WHOLE], ids=["rounded", "whole"])
def test_a_size_is_rounded_as_a_double(expressions, tmp_path):
    runs = [(torch.zeros(n),) for n in (*range(0, 60), 75, 123, 830, 1001, 2047)]
    _, kinds = same(program(tmp_path, expressions), tmp_path, runs, "-i", "x:float32[N]")
    assert ("Cast" in kinds) == (expressions == ROUNDED)           # what needs no doubles stays an expression of N


INTS = ("n >> 1", "n << 2", "n & 3", "n & 5", "n & -2", "n | 1", "n ^ 3", "1 << n % 9", "n >> (n & 1)", "-(n >> 1) >> 1", "(2 - n) & 7", "math.gcd(n, 12)")
FLOATS = ("(n >> 1)/2", "(n & 5)/2", "(n | 1)/2", "(1 << n % 9)/4", "math.gcd(n, 12)/8", "math.ldexp(0.75, n % 9)", "math.frexp(n/3)[0]",
          "math.frexp(n/3)[1]/2")


def test_bits_of_a_size_are_an_int(tmp_path):
    """They were tensors: (n >> 1)/2 was cut off to a whole number, and max(n >> 1, 2) refused."""
    whole = [e for i in INTS for e in (i, "max(%s, 2)" % i, "math.ceil((%s)/2)" % i, "abs(%s)" % i)] + ["int(4*(%s))" % f for f in FLOATS]
    same(program(tmp_path, whole), tmp_path, [(torch.zeros(n),) for n in range(40)], "-i", "x:float32[N]")
