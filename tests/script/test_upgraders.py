"""Operators that meant something else in older archives, against torch 2.13, which reads such archives too.

An archive of today gets an older number in its version record, and the code that went with it."""
import os
import sys
import zipfile

import numpy
import onnxruntime
import pytest
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import oracle                                                       # noqa: E402

INTS, OTHERS, FLOATS = torch.tensor([-7, 7, 5, -1]), torch.tensor([2, 2, -2, 2]), torch.tensor([1.5, -2.5, 3.0, 0.5])


def div(x, y):
    return torch.div(x, y), torch.div(x, 2), torch.div(x, 2.5)


def div_in_place(x, y):
    x = x + 0
    x.div_(y)
    x.div_(2)
    return x


def div_into_floats(x, y):
    out = torch.empty(4)
    torch.div(x, y, out=out)
    return out


def div_into_ints(x, y):
    out = torch.empty(4, dtype=torch.int64)
    torch.div(x, y, out=out)
    return out


def div_with_mode(x, y):
    return torch.div(x, y, rounding_mode="floor"), torch.div(x, 2, rounding_mode="trunc"), torch.div(x, y, rounding_mode=None)


def gradient(x):
    return torch.gradient(x)[0]                 # its halves are not those of an old div


def full(x):
    return torch.full([2], 3) + x[0], torch.full([2], True), torch.full([2], 2.5), torch.full([2], 3, dtype=torch.int32)


def full_into_ints(x):
    out = torch.empty(2, dtype=torch.int64)
    torch.full([2], 16777217, out=out)          # as a float32 it would be 16777216
    return out + x[0]


def linspace(x):
    return torch.linspace(0, 1, 100) + x[0]


def logspace(x):
    return torch.logspace(0, 1, 100) + x[0]


def gelu(x):
    return torch.nn.functional.gelu(x)


def rewritten(source, to, version, old="", new=""):
    """Every code record must hold `old` somewhere, if it is given."""
    found = 0
    with zipfile.ZipFile(source) as z, zipfile.ZipFile(str(to), "w") as out:
        for name in z.namelist():
            data = z.read(name)
            if name.endswith("/version"):
                name, data = "%s/%s" % (name.split("/")[0], ".data/version" if version > 5 else "version"), b"%d\n" % version
            if name.endswith(".py"):
                found += data.decode().count(old)
                data = data.decode().replace(old, new).encode()
            if not name.endswith(".debug_pkl"):                     # offsets of the code as it was
                out.writestr(name, data)
    assert not old or found
    return to


@pytest.mark.parametrize("function, inputs, version, old, new", [
    (div, (INTS, OTHERS), 3, "", ""), (div, (INTS, FLOATS), 3, "", ""), (div, (FLOATS, OTHERS), 3, "", ""), (div, (INTS, OTHERS), 4, "", ""),
    (div_in_place, (INTS, OTHERS), 3, "", ""), (div_in_place, (FLOATS, OTHERS), 3, "", ""),
    (div_into_floats, (INTS, OTHERS), 3, "", ""), (div_into_ints, (INTS, OTHERS), 3, "", ""),
    (div_with_mode, (INTS, OTHERS), 3, "", ""),
    (full, (INTS,), 4, "", ""), (full, (INTS,), 5, "", ""), (full_into_ints, (INTS,), 4, "", ""),
    (linspace, (FLOATS,), 7, ", 100", ", None"), (logspace, (FLOATS,), 8, ", 100", ", None"), (linspace, (FLOATS,), 8, "", ""),
    (gelu, (FLOATS,), 9, "", ""), (gradient, (INTS,), 3, "", ""),
], ids=lambda p: getattr(p, "__name__", str(p) if isinstance(p, int) else "-"))
def test_upgrader(function, inputs, version, old, new, tmp_path):
    torch.jit.save(torch.jit.script(function), str(tmp_path / "now.pt"))
    path = rewritten(str(tmp_path / "now.pt"), tmp_path / "then.pt", version, old, new)
    want = torch.jit.load(str(path))(*[x.clone() for x in inputs])
    want = [w.numpy() for w in (want if isinstance(want, tuple) else (want,))]
    specs = [w for n, x in zip("xy", inputs) for w in ("-i", "%s:%s[4]" % (n, str(x.dtype)[6:]))]
    oracle.converted(path, tmp_path / "then.onnx", *specs)
    oracle.run(tmp_path / "then.onnx", [([x.numpy() for x in inputs], want)])


def test_quantised_convolution_of_eight_arguments(tmp_path):
    """Before 1.7 a call repeated what the packed weight holds; torch rewrites it when it loads the file."""
    model = os.path.join(HERE, "..", "programs", "quantised", "images.pt")
    path = tmp_path / "then.pt"
    with zipfile.ZipFile(model) as z, zipfile.ZipFile(str(path), "w") as out:
        changed = 0
        for name in z.namelist():
            lines = z.read(name).decode("latin-1").split("\n") if name.endswith(".py") else []
            for i, line in enumerate(lines):
                if "ops.quantized.conv2d" in line and "prepack" not in line and "unpack" not in line:
                    x, packed, scale, zero = line[line.index("(") + 1:line.rindex(")")].split(", ")
                    lines[i] = "%s(%s, %s, [9, 9], [9, 9], [9, 9], 9, %s, %s)" % (line[:line.index("(")], x, packed, scale, zero)
                    changed += 1
            if not name.endswith(".debug_pkl"):
                out.writestr(name, "\n".join(lines).encode("latin-1") if lines else z.read(name))
    assert changed
    run = numpy.load(model[:-3] + ".npz")
    oracle.converted(path, tmp_path / "then.onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(tmp_path / "then.onnx"), options, providers=["CPUExecutionProvider"])
    got, = session.run(None, {session.get_inputs()[0].name: run["x"]})
    assert numpy.abs(got - run["y"]).max() < 1e-5
