"""A program of which something is missing: the error ends with the whole line, and that very line converts. Each case is saved by torch
2.13 and, as text that is run in it, by torch 1.13; what the line says of values and keys is what the program asks for."""
import os
import pathlib
import shlex
import subprocess
import sys

import onnx
import pytest

BUILD = pathlib.Path(os.environ.get("PT2ONNX_BUILD", "build")).absolute()
ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKE = '''
import sys
from typing import Dict, List, NamedTuple, Optional, Tuple
import torch
from torch import Tensor, nn

class Sizes(NamedTuple):
    image: Tensor
    scale: float

class Index(nn.Module):
    def forward(self, x, ids, scale: float):
        return x[ids] * scale

class Pair(nn.Module):
    def forward(self, p: Tuple[Tensor, Tensor]):
        return p[0] + p[1]

class Items(nn.Module):
    def forward(self, xs: List[Tensor]):
        return torch.cat(xs)

class Inner(nn.Module):
    def forward(self, d: Dict[str, Tensor]):
        return d["image"] * d["mask"]

class Keys(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, batch: Dict[str, Tensor]):
        return self.inner(batch) + batch["bias"]

class Fields(nn.Module):
    def forward(self, s: Sizes):
        return s.image * s.scale

class Maybe(nn.Module):
    def forward(self, x, m: Optional[Tensor]):
        return x if m is None else x * m

class Mode(nn.Module):
    def forward(self, x, mode: str, dims: List[int], keep: bool):
        if mode == "sum":
            return x.sum(dims, keep)
        elif mode == "mean":
            return x.mean(dims, keep)
        raise ValueError("mode")

class Methods(nn.Module):
    def forward(self, x):
        return x
    @torch.jit.export
    def encode(self, y, n: int):
        return y * n

class Squeezed(nn.Module):
    def forward(self, x):
        return x.squeeze()

class Two(nn.Module):
    def forward(self, x):
        return x.squeeze(), x.sum()

class Matrix(nn.Module):
    def forward(self, x):
        assert x.dim() == 2
        return x.squeeze(), x.t()

class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(5, 3)
    def forward(self, ids):
        return self.rows(ids)

folder = sys.argv[1] + "/"
for made in (Index, Pair, Items, Keys, Fields, Maybe, Mode, Methods, Squeezed, Two, Matrix, Rows):
    module = made()
    torch.jit.script(module).save(folder + made.__name__ + ".pt")
    torch.jit.script(module)._save_for_lite_interpreter(folder + made.__name__ + ".ptl")
torch.jit.trace(Pair(), ((torch.ones(3), torch.ones(3)),)).save(folder + "Traced.pt")
'''
# The model, the options it is converted with, what the line must say. Tensors of unknown rank have four dimensions.
CASES = [("Index.pt", [], ["-i", "ids:int64[ids_0,ids_1,ids_2,ids_3]", "-i", "scale=1.0"]),
         ("Index.ptl", ["-i", "x:float32[N,3]", "--opset", "13"], ["-i", "scale=1.0"]),
         ("Pair.pt", [], ["-i", "p.1:float32[p_1_0,p_1_1,p_1_2,p_1_3]"]),
         ("Items.pt", [], ["-i", "xs.1:float32[xs_1_0,xs_0_1,xs_0_2,xs_0_3]"]),
         ("Keys.pt", [], ["-i", "batch.bias:float32[batch_bias_0,batch_bias_1,batch_bias_2,batch_bias_3]"]),
         ("Fields.pt", [], ["-i", "s.scale=1.0"]),
         ("Maybe.pt", [], ["-i", "x:float32[x_0,x_1,x_2,x_3]"]),
         ("Mode.ptl", [], ["-i", 'mode="sum"', "-i", "dims.0=1", "-i", "keep=True"]),
         ("Methods.pt", ["--method", "encode"], ["--method", "encode", "-i", "y:float32[y_0,y_1,y_2,y_3]", "-i", "n=1"]),
         ("Squeezed.pt", [], ["-i", "x:float32[x_0,x_1,x_2,x_3]"]),
         ("Two.pt", ["--output-names", "a,b"], ["--output-names", "a,b", "-i", "x:float32[x_0,x_1,x_2,x_3]"]),
         ("Rows.pt", [], ["-i", "ids:int64[ids_0,ids_1,ids_2,ids_3]"])]


def run(words, folder):
    env = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"}
    shell = words if isinstance(words, str) else shlex.join(words)
    return subprocess.run(shell, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def line_of(message):
    """The last line of the error, without its label."""
    last = message.rstrip().splitlines()[-1]
    assert last.startswith("  the whole line: "), message
    return last[len("  the whole line: "):]


@pytest.fixture(scope="module", params=["t213", "t113"])
def saved(request, tmp_path_factory):
    python = ROOT / f".venv-{request.param}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python.parent.parent.name} is not there: tools/setup test")
    folder = tmp_path_factory.mktemp("a folder")
    source = folder / "made.py"
    source.write_text(MAKE)
    subprocess.run([python, source, folder], check=True, capture_output=True)
    return folder


def test_whole_lines(saved):
    for model, options, words in CASES:
        first = run(["pt2onnx", model, "-o", "it's.onnx", *options], saved)
        assert first.returncode == 1 and not (saved / "it's.onnx").exists(), (model, first.stderr)
        line = line_of(first.stderr)
        told = shlex.split(line)
        assert told[:4] == ["pt2onnx", model, "-o", "it's.onnx"], line
        assert all(word in told for word in words) and all(word in told for word in options), line
        again = run(line, saved)
        assert again.returncode == 0 and "assumed: " not in again.stderr.replace("assumed: m is None", ""), (line, again.stderr)
        onnx.checker.check_model(str(saved / "it's.onnx"), full_check=True)
        (saved / "it's.onnx").unlink()


def test_known_is_left_out(saved):
    """torch 2 keeps the sizes of a trace's example, torch 1 does not."""
    done = run(["pt2onnx", "Traced.pt"], saved)
    if done.returncode == 0:
        return
    assert run(line_of(done.stderr), saved).returncode == 0


def test_no_line_where_none_helps(saved):
    """A rank that four, three, two and one dimensions all miss, or a rank that another error hides, has no line."""
    done = run(["pt2onnx", "Index.pt", "-i", "x:float32[]"], saved)
    assert done.returncode == 1 and "the whole line" not in done.stderr, done.stderr


def test_of_several(saved):
    """Only the model that lacks something, with the options of all; check and -- too."""
    done = run(["pt2onnx", "Maybe.pt", "Fields.pt", "-o", "out/"], saved)
    assert "the whole line: pt2onnx Fields.pt -o out/ -i 's.image:" in done.stderr, done.stderr
    done = run(["pt2onnx", "check", "--", "Rows.pt"], saved)
    line = line_of(done.stderr)
    assert line.startswith("pt2onnx check -i 'ids:int64[") and line.endswith(" -- Rows.pt"), line
    assert run(line, saved).returncode == 0


PYTHON = """
import sys
import pt2onnx
try:
    pt2onnx.convert("Mode.pt", "p.onnx", inputs=["x:float32[2,3]"], on_note=None)
except pt2onnx.ConversionError as e:
    assert str(e).endswith("what is missing: inputs=['x:float32[2,3]', 'mode=\\"sum\\"', 'dims.0=1', 'keep=True']"), e
    pt2onnx.convert("Mode.pt", "p.onnx", inputs=["x:float32[2,3]", *e.inputs], on_note=None)
    sys.exit(7)
"""


def test_in_python(saved):
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PT2ONNX_LIBRARY": str(BUILD / "libpt2onnx.so")}
    done = subprocess.run([sys.executable, "-c", PYTHON], cwd=saved, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 7, done.stderr
