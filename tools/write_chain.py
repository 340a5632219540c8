#!/usr/bin/env python3
"""Write a TorchScript archive of Linear+ReLU layers without PyTorch: for measurements at any size.

    tools/write_chain.py OUT.pt --layers 4000 --width 8

The weights are seeded and the same for the same arguments. tests/python/test_chain.py holds a chain of 250 against
what torch itself saves. The container is what torch.jit.save makes: stored records aligned to 64 bytes, code deflated.
"""
import argparse
import os
import struct
import zipfile

import numpy

ALIGNMENT = 64

LINEAR = """\
class Linear(Module):
  __parameters__ = ["weight", "bias", ]
  __buffers__ = []
  weight : Tensor
  bias : Tensor
  training : bool
  def forward(self: __torch__.chain.Linear,
    input: Tensor) -> Tensor:
    bias = self.bias
    weight = self.weight
    input0 = torch.linear(input, weight, bias)
    return torch.relu(input0)
"""


class Archive:
    """A ZIP whose records begin at multiples of 64, under one top folder."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.root = "chain/"

    def add(self, name, data, deflate=False):
        info = zipfile.ZipInfo(self.root + name, (1980, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED
        at = self.zip.fp.tell() + 30 + len(info.filename) + 4
        pad = -at % ALIGNMENT
        info.extra = struct.pack("<HH", 0x4246, pad) + b"Z" * pad
        self.zip.writestr(info, data)

    def add_hole(self, name, size):
        """A stored record of zeros that takes no room on the disk. Its checksum is 0, which is not that of so many zeros."""
        info = zipfile.ZipInfo(self.root + name, (1980, 1, 1, 0, 0, 0))
        out = self.zip.fp
        info.header_offset, info.file_size, info.compress_size, info.CRC = out.tell(), size, size, 0
        pad = -(info.header_offset + len(info.FileHeader(zip64=True)) + 4) % ALIGNMENT
        info.extra = struct.pack("<HH", 0x4246, pad) + b"Z" * pad
        out.write(info.FileHeader(zip64=True))
        out.seek(size, os.SEEK_CUR)
        self.zip.filelist.append(info)
        self.zip.NameToInfo[info.filename] = info
        self.zip.start_dir = out.tell()

    def close(self):
        self.zip.close()


class Pickle:
    """The few opcodes that a module needs, protocol 2."""

    def __init__(self):
        self.parts = [b"\x80\x02"]

    def raw(self, data):
        self.parts.append(data)
        return self

    def text(self, s):
        return self.raw(b"X" + struct.pack("<I", len(s)) + s.encode())

    def int(self, n):
        return self.raw(b"J" + struct.pack("<i", n) if -2 ** 31 <= n < 2 ** 31 else b"\x8a\x08" + struct.pack("<q", n))

    def ints(self, ns):
        self.raw(b"(")
        for n in ns:
            self.int(n)
        return self.raw(b"t")

    def tensor(self, key, shape):
        numel = int(numpy.prod(shape))
        strides = [int(numpy.prod(shape[i + 1:])) for i in range(len(shape))]
        self.raw(b"ctorch._utils\n_rebuild_tensor_v2\n((").text("storage").raw(b"ctorch\nFloatStorage\n")
        self.text(str(key)).text("cpu").int(numel).raw(b"tQ").int(0).ints(shape).ints(strides)
        return self.raw(b"\x89ccollections\nOrderedDict\n)RtR")

    def done(self):
        return b"".join(self.parts) + b"."


def weights(layers, width, seed=0):
    """(weight, bias) of each layer; scaled so that a long chain neither dies nor explodes."""
    for i in range(layers):
        g = numpy.random.Generator(numpy.random.PCG64([seed, i]))
        w = g.standard_normal((width, width), dtype=numpy.float32) * numpy.float32((2.0 / width) ** 0.5)
        yield w, g.random(width, dtype=numpy.float32) * numpy.float32(0.1)


def module_pickle(layers, width):
    p = Pickle().raw(b"c__torch__.chain\nChain\n)\x81}(").text("training").raw(b"\x89")
    for i in range(layers):
        p.text("l%d" % i).raw(b"c__torch__.chain\nLinear\n)\x81}(").text("training").raw(b"\x89")
        p.text("weight").tensor(2 * i, (width, width)).text("bias").tensor(2 * i + 1, (width,)).raw(b"ub")
    return p.raw(b"ub").done()


def code(layers):
    lines = [LINEAR, "class Chain(Module):", "  __parameters__ = []", "  __buffers__ = []", "  training : bool"]
    lines += ["  l%d : __torch__.chain.Linear" % i for i in range(layers)]
    lines += ["  def forward(self: __torch__.chain.Chain,", "    x: Tensor) -> Tensor:"]
    value = "x"
    for i in range(layers):
        lines += ["    l%d = self.l%d" % (i, i), "    _%d = (l%d).forward(%s, )" % (i, i, value)]
        value = "_%d" % i
    return "\n".join(lines + ["    return " + value, ""])


def write(path, layers, width, holes=False):
    """holes: weights are zeros that take no room on the disk."""
    part = "%s.%d.part" % (path, os.getpid())
    a = Archive(part)
    for i in range(layers if holes else 0):
        a.add_hole("data/%d" % (2 * i), 4 * width * width)
        a.add_hole("data/%d" % (2 * i + 1), 4 * width)
    for i, (w, b) in enumerate(weights(0 if holes else layers, width)):
        a.add("data/%d" % (2 * i), w.tobytes())
        a.add("data/%d" % (2 * i + 1), b.tobytes())
    a.add("data.pkl", module_pickle(layers, width))
    a.add("code/__torch__/chain.py", code(layers).encode(), deflate=True)
    a.add("constants.pkl", b"\x80\x02).")
    a.add("version", b"3\n")
    a.close()
    os.replace(part, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--width", type=int, default=8)
    args = parser.parse_args()
    write(args.out, args.layers, args.width)
