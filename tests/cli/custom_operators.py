"""custom_operators.py - writes files/custom*.pt2 and files/custom*.pt: models of operators that no PyTorch has, by torch 2.13.

    python tests/cli/custom_operators.py"""
import linecache
import os

import torch

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
LIB = torch.library.Library("mylib", "DEF")
OPERATORS = [
    ("foo(Tensor x, float scale=1.0, int[] sizes=[], str mode=\"a\") -> Tensor", lambda x, scale=1.0, sizes=(), mode="a": x * scale),
    ("two(Tensor x, Tensor? mask, Tensor[] more, int k) -> (Tensor, Tensor)", lambda x, mask, more, k: (x + k, (x * 2).to(torch.int64))),
    ("each(Tensor x, int n) -> Tensor[]", lambda x, n: [x + i for i in range(n)]),
    ("fill_(Tensor(a!) x) -> Tensor(a!)", lambda x: x),
    ("count(Tensor(a!) x) -> ()", lambda x: None),
]
SOURCE = '''
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        a = torch.ops.mylib.foo(x, 2.5, [1, 2], mode="same")
        b, c = torch.ops.mylib.two(a, None, [x, y], 3)
        return b + 1, c

class Lists(torch.nn.Module):
    def forward(self, x, y):
        a, b = torch.ops.mylib.each(x, 2)
        return a + b, y

class Sums(torch.nn.Module):
    def forward(self, x, y):
        return torch.ops.mylib.foo(x, 2.0) + torch.ops.mylib.foo(y, 2.0), torch.ops.mylib.foo(x, 3.0)

class Writes(torch.nn.Module):
    def forward(self, x, y):
        return torch.ops.mylib.fill_(x), y

class Counts(torch.nn.Module):
    def forward(self, x, y):
        x = x * 2
        torch.ops.mylib.count(x)
        return x + y
'''


def main():
    for schema, fn in OPERATORS:
        LIB.define(schema)
        LIB.impl(schema.split("(")[0], fn, "CompositeExplicitAutograd")
        if not schema.startswith("fill_"):
            torch.library.register_fake("mylib::" + schema.split("(")[0], fn, lib=LIB)
    # Positions in the files name model.py, not a path of the machine that wrote them.
    linecache.cache["model.py"] = (len(SOURCE), None, SOURCE.splitlines(True), "model.py")
    names = {"__name__": "model"}
    exec(compile(SOURCE, "model.py", "exec"), names)
    size = torch.export.Dim("N")
    for name, model in (("custom", "Model"), ("custom_lists", "Lists"), ("custom_sums", "Sums")):
        program = torch.export.export(names[model]().eval(), (torch.rand(2, 3), torch.rand(2, 3)), dynamic_shapes=({0: size}, {0: size}))
        torch.export.save(program, os.path.join(FILES, name + ".pt2"))
    program = torch.export.export(names["Counts"]().eval(), (torch.rand(2, 3), torch.rand(2, 3))).run_decompositions()
    torch.export.save(program, os.path.join(FILES, "custom_counts.pt2"))
    for name, model in (("custom", "Model"), ("custom_writes", "Writes"), ("custom_counts", "Counts")):
        torch.jit.script(names[model]().eval()).save(os.path.join(FILES, name + ".pt"))


if __name__ == "__main__":
    main()
