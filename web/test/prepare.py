#!/usr/bin/env python3
"""prepare.py CACHE - what the tests of the page need of PyTorch, into CACHE/web.

MODELS of the test corpus are made where they are missing (tests/models), and their recorded inputs and torch's own outputs written
as one .npy each: CACHE/web/NAME/in0.npy, .., out0.npy, .., with SPECs and the file's path in CACHE/web/models.json. large.pt is an
archive of 5 GB, most of it holes: two weights, of which the first and last 4 KB are random numbers; large.json has some of them. middle.pt is one of 448 MB. deep.onnx
has 10,000 nodes. wanted.pt is a scripted program that asks for a type and a value.
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
DEBIAN = "/usr/bin/python3"         # has torch 1.13 with torchvision
MODELS = {
    "squeezenet": ("vision", "squeezenet1_0.traced", DEBIAN),
    "mobilenet": ("vision", "mobilenet_v3_small.scripted", DEBIAN),
    "gpt": ("export", "gpt.pt2.dyn", sys.executable),
    "lstm": ("export", "lstm.traced", sys.executable),
    "cnn": ("export", "residual_cnn.pt2.dyn", sys.executable),
}
LARGE = (27500, 20000)
MIDDLE = (8000, 6000)


def make(cache, folder, stem, python):
    if not (cache / "models" / folder / (stem + ".json")).exists():
        subprocess.run([python, TOP / "tests/models/make_models.py", "-q", "--set", folder, "--only", "%s/%s" % (folder, stem),
                        cache / "models"], check=True)


def unpack(cache, name, folder, stem):
    base = cache / "models" / folder
    about = json.loads((base / (stem + ".json")).read_text())
    runs = numpy.load(base / (stem + ".npz"))
    to = cache / "web" / name
    to.mkdir(parents=True, exist_ok=True)
    values = {key[2:]: runs[key] for key in runs.files if key.startswith("0.")}
    for key, value in values.items():
        numpy.save(to / (key + ".npy"), value)
    return {"file": str(base / about["file"]), "specs": about["dynamic_specs"] if about["dynamic"] else about["specs"],
            "inputs": sum(k.startswith("in") for k in values), "outputs": sum(k.startswith("out") for k in values)}


def record(out, directory, name, size, parts):
    """A stored record: its header, padding to 64 bytes, `parts` ({offset: bytes}) in a hole of `size`. The checksum of one with holes is 0."""
    crc = zlib.crc32(parts[0]) if len(parts) == 1 else 0
    where = out.tell()
    pad = -(where + 30 + len(name) + 4) % 64
    extra = struct.pack("<HH", 0x4646, pad) + b"Z" * pad
    small = min(size, 0xFFFFFFFF)
    out.write(struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 33, crc, small, small, len(name), len(extra)) + name + extra)
    begin = out.tell()
    for at, data in parts.items():
        out.seek(begin + at)
        out.write(data)
    out.truncate(begin + size)
    out.seek(begin + size)
    wide = struct.pack("<HHQ", 1, 8, where) if where > 0xFFFFFFFE else b""
    directory.append(struct.pack("<4s6H3L5H2L", b"PK\1\2", 45, 20, 0, 0, 0, 33, crc, small, small, len(name), len(wide), 0, 0, 0, 0,
                                 min(where, 0xFFFFFFFF)) + name + wide)


def write_large(path, wide, narrow):
    """A scripted module of Linears without biases, narrow to wide to wide, saved small by torch and written again with these sizes."""
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(400, 300, bias=False), torch.nn.Linear(300, 300, bias=False)).eval()
    torch.jit.script(net).save(str(path) + ".small")
    numbers = {300: wide, 400: narrow}
    with zipfile.ZipFile(str(path) + ".small") as source, open(str(path) + ".part", "wb") as out:
        directory, ends_of = [], []
        weights = {300 * 300: (wide, wide), 300 * 400: (wide, narrow)}
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith("data.pkl"):
                for before, after in numbers.items():
                    data = data.replace(b"M" + struct.pack("<H", before), b"M" + struct.pack("<H", after))
                for before, (m, n) in weights.items():
                    data = data.replace(b"J" + struct.pack("<i", before), b"J" + struct.pack("<i", m * n))
            if len(data) // 4 in weights:
                m, n = weights[len(data) // 4]
                ends = random.Random(m * n).randbytes(4096)
                ends_of.append({"bytes": m * n * 4, "begin": ends[:16].hex(), "end": ends[::-1][-16:].hex()})
                record(out, directory, entry.filename.encode(), m * n * 4, {0: ends, m * n * 4 - len(ends): ends[::-1]})
            else:
                record(out, directory, entry.filename.encode(), len(data), {0: data})
        begin, n = out.tell(), len(directory)
        out.write(b"".join(directory))
        size = out.tell() - begin
        out.write(struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, n, n, size, begin))
        out.write(struct.pack("<4sLQL", b"PK\6\7", 0, begin + size, 1))
        out.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, size, 0xFFFFFFFF, 0))
    os.remove(str(path) + ".small")
    path.with_suffix(".json").write_text(json.dumps(ends_of))
    os.rename(str(path) + ".part", path)


def write_deep(path, layers=1000):
    """10,000 nodes as another exporter writes them: modules in the names of nodes, and an If with two bodies at the end."""
    import onnx
    from onnx import TensorProto, helper
    nodes, value = [], "x"
    for i in range(layers):
        at, skip = "/encoder/layers.%d" % i, value
        for k, op in enumerate(["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Sin", "Cos", "Sqrt"]):
            value, before = "%s/%s_output_0" % (at, op), value
            nodes.append(helper.make_node(op, [before], [value], name="%s/block%d/%s" % (at, k // 3, op)))
        nodes.append(helper.make_node("Add", [value, skip], ["%s/Add_output_0" % at], name="%s/Add" % at))
        value = "%s/Add_output_0" % at
    wide = helper.make_tensor_value_info
    branches = [helper.make_graph([helper.make_node(op, [value], [op + "_y"])], op, [], [wide(op + "_y", TensorProto.FLOAT, ["N", 8])]) for op in ("Floor", "Ceil")]
    nodes.append(helper.make_node("If", ["c"], ["y"], name="/If", then_branch=branches[0], else_branch=branches[1]))
    graph = helper.make_graph(nodes, "deep", [wide("x", TensorProto.FLOAT, ["N", 8]), wide("c", TensorProto.BOOL, [])], [wide("y", TensorProto.FLOAT, ["N", 8])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="pytorch"), path)


def write_wanted(path):
    import torch

    class Index(torch.nn.Module):
        def forward(self, x, ids, scale: float):
            return x[ids] * scale

    torch.jit.script(Index()).save(str(path))


def main():
    cache = pathlib.Path(sys.argv[1]).resolve()
    (cache / "web").mkdir(parents=True, exist_ok=True)
    about = {}
    for name, (folder, stem, python) in MODELS.items():
        make(cache, folder, stem, python)
        about[name] = unpack(cache, name, folder, stem)
    for name, sizes in (("large.pt", LARGE), ("middle.pt", MIDDLE)):
        if not (cache / "web" / name).exists():
            write_large(cache / "web" / name, *sizes)
    write_deep(cache / "web" / "deep.onnx")
    write_wanted(cache / "web" / "wanted.pt")
    (cache / "web" / "models.json").write_text(json.dumps(about, indent=1) + "\n")


main()
