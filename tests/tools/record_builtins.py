"""record_builtins.py - what TorchScript's builtins give, asked of the real PyTorch.

    python tests/tools/record_builtins.py tests/unit/builtin.txt

Every case of the file is put as the body of forward into an archive, in the language that archives hold, and run with
torch.jit.load; the text after `->` is replaced by what torch.str() of the result says, `!!` stands for any error. Run it with
every PyTorch at hand and compare: a case whose results differ between releases says so in its comment.
"""
import io
import sys
import zipfile

import torch


class M(torch.nn.Module):
    def forward(self):
        return "x"


def template():
    f = io.BytesIO()
    torch.jit.save(torch.jit.script(M()), f)
    return f.getvalue()


def run(saved, statements):
    body = "".join("    %s\n" % s for s in statements[:-1]) + "    return torch.str(%s)\n" % statements[-1]
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("code/__torch__.py"):
                head = data.decode().split("    return")[0]
                data = (head + body).encode()
            if not name.endswith(".debug_pkl"):
                new.writestr(name, data)
    try:
        return "-> " + repr(torch.jit.load(io.BytesIO(out.getvalue()))())[1:-1]
    except Exception:
        return "!!"


def main():
    saved, lines = template(), open(sys.argv[1]).read().splitlines()
    kept = []
    for i, line in enumerate(lines):
        if line.startswith("->") or line.startswith("!!"):
            continue
        kept.append(line)
        if line and not line.startswith("#"):
            kept.append(run(saved, line.split(" ;; ")))
    open(sys.argv[2] if len(sys.argv) > 2 else sys.argv[1], "w").write("\n".join(kept) + "\n")


main()
