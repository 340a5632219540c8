"""Writes archives as PyTorch 1.0 to 1.3 did: model.json, a table of tensors, a code record for each module.

Nothing that runs here can write or read them: torch has lost its own reader in all builds for download. The layout is that
of docs/formats/torchscript.md, and the code of the tests is as those releases printed it."""
import json
import struct
import zipfile

TYPES = {"torch.float32": "FLOAT", "torch.float64": "DOUBLE", "torch.int64": "INT64", "torch.int32": "INT32", "torch.uint8": "UINT8",
         "torch.bool": "BOOL", "torch.float16": "FLOAT16", "torch.int8": "INT8", "torch.int16": "INT16"}


class Module:
    """A module of the tree: its own tensors, attributes as (type, pickled value or None), children, and the text of its methods."""

    def __init__(self, parameters={}, buffers={}, attributes={}, children={}, code=None, state=None):
        self.parameters, self.buffers, self.attributes, self.children = parameters, buffers, attributes, children
        self.code, self.state = code, state


class Tensor(int):
    """An attribute's tensor, by its place in the table."""


class Ints(list):
    """A List[int], which has a form of its own."""


class Pickler:
    """1.1 wrote a list, tensors and lists of ints as objects of __main__; later releases a tuple and calls."""

    def __init__(self, first):
        self.first, self.out, self.memo = first, bytearray(b"\x80\x02"), 0

    def put(self):
        self.out += b"q" + bytes([self.memo])
        self.memo += 1

    def call(self, name, argument):
        module, names = ("__main__", {"build_tensor_from_id": "TensorID", "build_intlist": "IntList"}) if self.first else ("torch.jit._pickle", {})
        self.out += ("c%s\n%s\n" % (module, names.get(name, name))).encode()
        self.put()
        self.out += b")\x81" if self.first else b"("
        argument()
        self.out += b"b" if self.first else b"tR"

    def items(self, values, begin, end):
        self.out += begin
        for v in values:
            self.value(v)
        self.out += end

    def value(self, v):
        if v is None:
            self.out += b"N"
        elif isinstance(v, bool):
            self.out += b"\x88" if v else b"\x89"
        elif isinstance(v, Tensor):
            self.call("build_tensor_from_id", lambda: self.value(int(v)))
        elif isinstance(v, int):
            self.out += b"J" + struct.pack("<i", v)
        elif isinstance(v, float):
            self.out += b"G" + struct.pack(">d", v)
        elif isinstance(v, str):
            self.out += b"X" + struct.pack("<I", len(v)) + v.encode()
            self.put()
        elif isinstance(v, Ints):
            self.call("build_intlist", lambda: self.items(v, b"](", b"e"))
        elif isinstance(v, list):
            self.items(v, b"](", b"e")
        elif isinstance(v, tuple):
            self.items(v, b"(", b"t")
        else:
            self.items([x for pair in v.items() for x in pair], b"}(", b"u")

    def table(self, values):
        if self.first:
            self.items(values, b"](", b"e.")
        else:
            self.items(values, b"(", b"t.")
        return bytes(self.out)


class Writer:
    def __init__(self, path, proto):
        self.zip, self.proto = zipfile.ZipFile(str(path), "w"), proto
        self.tensors, self.values, self.storages = [], [], {}
        self.root = "net"

    def record(self, name, data):
        self.zip.writestr("%s/%s" % (self.root, name), data)

    def tensor(self, t):
        """The place of a tensor in the table. What shares a storage shares its record; 64-bit numbers are texts."""
        key = t.untyped_storage().data_ptr()
        if key not in self.storages:
            self.storages[key] = "tensors/%d" % len(self.tensors)
            self.record(self.storages[key], bytes(t.detach().untyped_storage().tolist()))
        self.tensors.append({"dims": [str(d) for d in t.shape], "offset": str(t.storage_offset()), "strides": [str(s) for s in t.stride()],
                             "requiresGrad": t.requires_grad, "dataType": TYPES[str(t.dtype)], "data": {"key": self.storages[key]}, "device": "cpu"})
        return len(self.tensors) - 1

    def module(self, m, name, prefix=""):
        full = prefix + name
        about = {"name": name, "optimize": True}
        about["parameters"] = [{"isBuffer": kind, "tensorId": str(self.tensor(t)), "name": k}
                               for kind, all in ((False, m.parameters), (True, m.buffers)) for k, t in all.items()]
        about["attributes"] = []
        for k, (kind, value) in m.attributes.items():
            about["attributes"].append({"type": kind, "name": k, "id": "-1" if value is None else str(len(self.values))})
            if value is not None:
                self.values.append(value)
        if m.code:
            about["torchscriptArena"] = {"key": "code/%s.py" % full}
            self.record("code/%s.py" % full, "op_version_set = %d\n%s" % (self.proto > 3, m.code))
        about["submodules"] = [self.module(c, k, full + "_") for k, c in m.children.items()]
        if m.state is not None:
            about["getStateAttributeId"] = str(len(self.values))
            self.values.append(m.state)
        return about

    def close(self, main, constants, libs):
        """constants: CONSTANTS.cN names tensors behind those of the modules. libs: records, or the text of 1.1's only one."""
        model = {"protoVersion": str(self.proto), "producerName": "pytorch", "producerVersion": "1.0"}
        model["mainModule"] = self.module(main, self.root)
        for t in constants:
            self.tensor(t)
        if self.proto > 1:
            self.record("attributes.pkl", Pickler(self.proto == 2).table(self.values))
        if isinstance(libs, str):
            self.record("libs.py", "op_version_set = 0\n" + libs)
            model["libs"] = {"torchscriptArena": {"key": "libs.py"}}
        for name, text in ({} if isinstance(libs, str) else libs).items():
            self.record("libs/%s.py" % name, "op_version_set = 1\n" + text)
        model["tensors"] = self.tensors
        self.record("version", "1\n")
        self.record("model.json", json.dumps(model))
        self.zip.close()


def write(path, main, proto, constants=(), libs=None):
    """proto: 1 is PyTorch 1.0, 2 is 1.1, 5 is 1.2, 6 is 1.3."""
    Writer(path, proto).close(main, constants, libs or {})
    return path
