"""Writes exported_b.pt2 and exported_a.pt2, one small program in both generations of the format, and two.pt2, a package of
two programs. Needs torch 2.13.

    python tests/programs/exported.py tests/programs [tests/cli/files]
"""
import io
import json
import linecache
import sys
import zipfile

SOURCE = '''
import torch
import torch.nn.functional as F

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
        self.tied = self.weight
        self.register_buffer("scale", torch.full((2,), 0.5))
        self.register_buffer("shift", torch.ones(1), persistent=False)

    def forward(self, batch, *, power):
        y = F.linear(batch["image"], self.weight) * self.scale
        z = torch.cond(y.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (y,))
        rows = batch["image"].shape[0]
        return {"logits": z + self.shift, "rest": [y.reshape(rows * 2), batch["mask"] + torch.tensor([1.0, 2.0]), power * 2]}
'''


def program():
    import torch

    # Positions in the files name net.py, not a path of the machine that wrote them.
    linecache.cache["net.py"] = (len(SOURCE), None, SOURCE.splitlines(True), "net.py")
    names = {"__name__": "net"}
    exec(compile(SOURCE, "net.py", "exec"), names)
    net = names["Net"]().eval()
    batch = {"image": torch.ones(2, 3), "mask": torch.ones(2)}
    rows = torch.export.Dim("rows", min=1, max=64)
    shapes = {"batch": {"image": {0: rows}, "mask": None}, "power": None}
    return torch.export.export(net, (batch,), {"power": torch.tensor(3.0)}, dynamic_shapes=shapes)


def save_b(p, path):
    import torch

    buffer = io.BytesIO()
    torch.export.save(p, buffer)
    open(path, "wb").write(buffer.getvalue())


def save_a(p, path):
    """As torch up to 2.7 laid it out."""
    import torch

    buffer = io.BytesIO()
    torch.export.save(p, buffer)
    text = zipfile.ZipFile(buffer).read("archive/models/model.json")
    constants = {k: v for k, v in p.constants.items()}

    def pickled(value):
        out = io.BytesIO()
        torch.save(value, out)
        return out.getvalue()

    with zipfile.ZipFile(path, "w") as z:
        for name, content in (("version", b"8.3"), ("serialized_exported_program.json", json.dumps(json.loads(text)).encode()),
                              ("serialized_state_dict.pt", pickled(p.state_dict)), ("serialized_constants.pt", pickled(constants))):
            z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)


PAIR = '''
import torch

class Encoder(torch.nn.Module):
    def forward(self, x):
        return x.relu()

class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, code):
        return code * self.scale
'''


def save_two(path):
    import torch
    from torch.export.pt2_archive._package import package_pt2

    linecache.cache["pair.py"] = (len(PAIR), None, PAIR.splitlines(True), "pair.py")
    names = {"__name__": "pair"}
    exec(compile(PAIR, "pair.py", "exec"), names)
    example = (torch.ones(3, 2),)
    package_pt2(path, exported_programs={"encoder": torch.export.export(names["Encoder"](), example, dynamic_shapes=({0: torch.export.Dim("rows")},)),
                                         "decoder/fast": torch.export.export(names["Decoder"](), example)})


if __name__ == "__main__":
    p = program()
    save_b(p, sys.argv[1] + "/exported_b.pt2")
    save_a(p, sys.argv[1] + "/exported_a.pt2")
    if len(sys.argv) > 2:
        save_two(sys.argv[2] + "/two.pt2")
