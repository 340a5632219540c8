#!/usr/bin/env python3
"""Run the pages of docs/tutorials: does each command print what the page says?

    PYTHON tools/tutorial_pages.py --pt2onnx build/pt2onnx                  all pages
    PYTHON tools/tutorial_pages.py --pt2onnx build/pt2onnx first-model      one of them
    PYTHON tools/tutorial_pages.py --pt2onnx build/pt2onnx --rewrite        write what is printed now into the pages; review it like code

A page has blocks between ``` lines. One with a title, as in ```python title="net.py", is a file of the reader's. A block of ```console has
commands behind `$ ` and what each prints, stdout and stderr together. All else is text. Each page runs in a folder of its own, in order.
The Chinese page of the same name takes its blocks from the English one with --rewrite. PYTHON has torch, onnx and onnxruntime: they are
imported once, and each `python` of a page is a fork of this process."""
import argparse
import difflib
import importlib.util
import os
import pathlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "tutorials"
CHINESE = ROOT / "docs" / "zh-CN" / "tutorials"
BLOCK = re.compile(r"^```(\w+)?(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.M | re.S)
SECONDS = 300
PACKAGES = pathlib.Path(importlib.util.find_spec("torch").origin).parents[1]


class Failed(Exception):
    pass


def import_once():
    """What pages need, with one thread: a process with threads must not fork."""
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, str(ROOT / "python"))
    import numpy, onnx, onnxruntime, torch          # noqa: F401, E401
    import torch.onnx                               # noqa: F401
    torch.set_num_threads(1)


def python(words, folder, out):
    """`python FILE ARG..` or `python -m MODULE ARG..` in a fork."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        os.chdir(folder)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1, closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
        module = words[0] == "-m"
        sys.argv = words[1:] if module else words
        sys.path.insert(0, str(folder))
        (runpy.run_module(words[1], run_name="__main__", alter_sys=True) if module else runpy.run_path(words[0], run_name="__main__"))
        status = 0
    except SystemExit as e:
        status = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException as e:                      # as the interpreter prints it, without the frames of this file
        print(f"{type(e).__name__}: {e}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run(command, folder, env):
    """What the command prints."""
    words = shlex.split(command)
    with tempfile.TemporaryFile() as out:
        if words[0] == "python" and not re.search(r"[|<>;&]", command):
            python(words[1:], folder, out.fileno())
        else:
            subprocess.run(command, shell=True, cwd=folder, env=env, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=SECONDS)
        out.seek(0)
        text = out.read().decode()
    for place in (folder, PACKAGES):
        text = text.replace("%s/" % place, "")
    return text.rstrip()


def console(block, folder, env):
    """The block again, with what its commands print now."""
    lines = []
    for line in block.splitlines():
        if line.startswith("$ "):
            printed = run(line[2:], folder, env)
            lines += [line, *(part.rstrip() for part in printed.splitlines())]
    return "\n".join(lines) + "\n"


def page_now(text, env):
    with tempfile.TemporaryDirectory() as there:
        folder = pathlib.Path(there).resolve()

        def block_now(m):
            kind, title, body = m.groups()
            if title:
                (folder / title).write_text(body)
            if kind != "console":
                return m[0]
            return f"```console\n{console(body, folder, env)}```"
        return BLOCK.sub(block_now, text)


def with_blocks_of(chinese, english):
    """The Chinese page with the blocks of the English one in their order."""
    blocks = [m[0] for m in BLOCK.finditer(english)]
    if len(BLOCK.findall(chinese)) != len(blocks):
        raise Failed(f"the Chinese page has {len(BLOCK.findall(chinese))} blocks, the English one {len(blocks)}")
    return BLOCK.sub(lambda m: blocks.pop(0), chinese)


def do_page(path, env, rewrite):
    """True: the page is as it should be, or has been made so."""
    text = path.read_text()
    now = page_now(text, env)
    if rewrite:
        path.write_text(now)
        twin = CHINESE / path.name
        if twin.exists():
            twin.write_text(with_blocks_of(twin.read_text(), now))
        return True
    for line in difflib.unified_diff(text.splitlines(), now.splitlines(), f"{path.name}", "what is printed now", lineterm="", n=2):
        print(line)
    return text == now


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pt2onnx", required=True, type=pathlib.Path)
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("pages", nargs="*", help="names without .md; none: all")
    a = parser.parse_args()
    program = a.pt2onnx.resolve()
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    os.environ["PT2ONNX_LIBRARY"] = str(program.parent / "libpt2onnx.so")
    paths = [PAGES / f"{name}.md" for name in a.pages] or sorted(PAGES.glob("*.md"))
    if not program.exists() or not shutil.which("sh"):
        sys.exit(f"{program}: no such program")
    import_once()
    wrong = [path.name for path in paths if not do_page(path, env, a.rewrite)]
    print(f"{len(paths)} pages, {len(wrong)} print something else{': ' if wrong else ''}{', '.join(wrong)}")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
