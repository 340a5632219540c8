#!/usr/bin/env python3
"""documents.py SOURCE_DIR BUILD_DIR [--names] - is what the documents say still so?

README.md and the other pages there, docs/*.md, docs/formats/*.md, docs/tutorials/*.md and those of docs/zh-CN. What they name is looked up: paths, links, targets of make, options,
passes. What the guides docs/adding-*.md quote (functions, rows, rules, cases) stands in the sources, and the operator case of the first
guide gives the nodes that the guide shows. Commands that need nothing but the build are run; --names leaves that out. A Chinese page has
the headings, code, rows and items of its English one, in that order.

Words in capitals, such as NAME or DIR, stand for something. Python's own library only.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = ("src", "tests", "tools", "docs", "include", "cli", "python", "examples", "web")
PATH = re.compile(r"(?<![\w./:-])((?:%s)/[\w./*<>{},-]*[\w/*}])" % "|".join(TOP), re.ASCII)     # Chinese has no spaces
STANDS_FOR = re.compile(r"[<>]|(?<![A-Za-z])[A-Z]{3,}(?![A-Za-z])|\.\.")
FILE = re.compile(r"[\w*]+\.(?:c|h|rules)\b", re.ASCII)
CODE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"(?:\$ +)?((?:\S*PYTHON |\S*python |cmake |ctest |make\b|pt2onnx |build/|tools/|tests/)[^#]*)")
RUN = re.compile(r"(build/run_cases|tests/cli/run\.py|(build/)?pt2onnx ops|ctest)\b")
TESTS = re.compile(r"build/(run_lattice|unit_\w+|fuzz_\w+)")               # tests of their own, which are there or not


def code_of(text):
    """(line number, code): what stands in backticks, and lines that are indented by four or more."""
    for n, line in enumerate(text.split("\n"), 1):
        if re.match(r" {4,}\S", line):
            yield n, line.strip()
        else:
            for m in CODE.finditer(line):
                yield n, m[1]


def blocks_of(text):
    """(line number, text): each run of indented lines, with the empty ones between them."""
    block, begin = [], 0
    for n, line in enumerate(text.split("\n") + ["end"], 1):
        if line.startswith("    ") or (block and not line):
            begin = begin if block else n
            block.append(line)
        elif block:
            yield begin, "\n".join(block).rstrip()
            block = []


def commands_of(text):
    """(line number, command) without the `$` before it and the comment behind."""
    for n, code in code_of(text):
        m = COMMAND.match(code)
        if m:
            yield n, m[1].strip()


def unfolded(name):
    """src/{a,b}.c -> src/a.c, src/b.c"""
    m = re.search(r"\{([^}]*)\}", name)
    return [name[:m.start()] + part + name[m.end():] for part in m[1].split(",")] if m else [name]


class Tree:
    def __init__(self, root, build):
        self.root, self.build = pathlib.Path(root).resolve(), pathlib.Path(build).resolve()
        self.targets = set(re.findall(r"^([\w-]+):", (self.root / "Makefile").read_text(), re.M))
        self.passes = set(re.findall(r'^    \{ "([\w-]+)", ', (self.root / "src/tidy/tidy.c").read_text(), re.M))
        self.files = {p.name for folder in TOP for p in (self.root / folder).rglob("*")}
        self.options = {"pt2onnx": self.output("pt2onnx", "--help")}
        kept = [p for folder in ("src", "tests/unit", "tests/ops") for p in sorted((self.root / folder).rglob("*")) if p.is_file()]
        text = "\n".join(p.read_text() for p in kept if p.suffix in (".c", ".h", ".rules", ".txt"))
        self.words = set(re.findall(r"\w+", text)) | set(re.findall(r"\w+", (self.root / "tools/mutate").read_text()))
        self.sources = squeezed(text)

    def output(self, program, *args):
        return subprocess.run([self.build / program, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

    def options_of(self, program):
        if program not in self.options:
            at = self.root / ("tests/ops/run_cases.c" if program == "run_cases" else program)
            self.options[program] = at.read_text() if at.is_file() else ""
        return self.options[program]


def squeezed(code):
    """Code without what a formatter decides: comments behind code, blanks, the line that a text is broken on."""
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    return re.sub(r"\s+", "", re.sub(r'"\s*\n\s*"', "", code))


# ---- what is named ----

def paths_there(tree, text):
    """What follows ctest's -R is the name of a test, which commands_run looks up."""
    for n, line in enumerate(text.split("\n"), 1):
        for m in PATH.finditer(re.sub(r"-R \S+", "", line)):
            name = m[1].rstrip(".,")
            if not STANDS_FOR.search(name) and not any(any(tree.root.glob(g)) for g in unfolded(name)):
                yield n, f"{name}: no such file"


def files_there(tree, text):
    """Files that are named without their folder: emit.c, legal_*.c. Those called my_.. are the reader's own, <stdio.h> the system's."""
    for n, line in enumerate(text.split("\n"), 1):
        for name in FILE.findall(re.sub(r"<[^>]*>", "", line)):
            if not STANDS_FOR.search(name) and not name.startswith("my_") and not fnmatch.filter(tree.files, name):
                yield n, f"{name}: no file is called so"


def links_lead(folder, text):
    for n, line in enumerate(text.split("\n"), 1):
        for m in [] if line.startswith("    ") else re.finditer(r"\]\(([^)#]+)(?:#[^)]*)?\)", line):
            if "://" not in m[1] and not (folder / m[1]).exists():
                yield n, f"({m[1]}): the link leads nowhere"


def commands_are_right(tree, text):
    for n, command in commands_of(text):
        made = re.match(r"make ([a-z][\w-]*)$|make ([a-z][\w-]*) ", command + " ")
        target = made and (made[1] or made[2])
        if target and target not in tree.targets:
            yield n, f"make {target}: no such target"
        m = re.match(r"((?:tools|tests)/[\w./-]+) ", command)
        if m and (tree.root / m[1]).is_file() and not os.access(tree.root / m[1], os.X_OK):
            yield n, f"{m[1]}: cannot be executed, so a Python stands before it"
        for target in re.findall(r"--target (\S+)", command):
            name = target.removeprefix("unit_")
            if target != "run_cases" and not (tree.root / f"tests/unit/{name}.c").exists():
                yield n, f"--target {target}: the build has none"
        m = re.search(r"(?:^|[\s/])(pt2onnx|run_cases|tools/[\w.-]+)((?: .*)?)$", command)
        for option in re.findall(r"(?<!\S)--([a-z][\w-]*)", m[2]) if m and " -m " not in command else []:
            if f"--{option}" not in tree.options_of(m[1]):
                yield n, f"{m[1]} has no option --{option}"
        m = re.match(r"ctest --test-dir (\S+)", command)
        if m and m[1] != "build":
            yield n, f"{m[1]}: make build does not make that folder, so some machines do not have it"
        m = TESTS.match(command)
        if m and not (tree.build / m[1]).exists():
            yield n, f"{m[0]}: the build has no such program"
        for name in re.findall(r"--dump-after ([a-z][\w-]*)", command):
            if name not in tree.passes:
                yield n, f"--dump-after {name}: no such pass"


# ---- pages in two languages ----

def structure_of(text):
    """(line number, what): headings by their level, code without its comments, rows of tables, items of lists by their depth."""
    lines = text.split("\n")
    after_gap = [n == 0 or not lines[n - 1] for n in range(len(lines))]
    code = fenced = False
    for n, line in enumerate(lines):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        code = line.startswith("    ") and (code or after_gap[n])              # what goes on with an item is indented too
        m = re.match(r"(#+) |( *)(?:[-*]|\d+\.) |( *)\|", line)
        if fence or fenced or code:
            yield n + 1, "the code " + re.sub(r"(^|\s)# .*", "", line).strip()
        elif m:
            yield n + 1, f"a heading {m[1]}" if m[1] else "a row" if m[3] is not None else f"an item, {len(m[2])} deep"


def in_step(english, chinese, name):
    """The first place at which the Chinese page has something else than the English one, if there is any."""
    ours, theirs = list(structure_of(english)), list(structure_of(chinese))
    end = (english.count("\n"), "the end"), (chinese.count("\n"), "the end")
    for (m, wanted), (n, got) in zip([*ours, end[0]], [*theirs, end[1]]):
        if wanted != got:
            yield n, f"{name}:{m} has {wanted} where here is {got}"
            return


# ---- what the guides quote ----

def words_are_there(tree, text):
    """Names alone in backticks: UNARY, .layout, dim_eq, op_refuse(..)."""
    for n, line in enumerate(text.split("\n"), 1):
        for code in [] if line.startswith("    ") else CODE.findall(line):
            m = re.match(r"\.?([A-Z][A-Z_]{3,}|(?<=\.)[a-z_]+|[a-z]+(?:_[a-z0-9]+)+)(?:\(.*\))?$", code)
            if m and m[1] not in tree.words:
                yield n, f"{code}: nothing in src is called so"


def quotes_are_there(tree, text):
    """Functions, rows and rules of a guide, each part between empty lines by itself."""
    for n, block in blocks_of(text):
        for part in re.split(r"\n\s*\n", block):
            quoted = re.search(r"[;{}]|^\s*[A-Z_]+\(|-> Tensor\n", part) and not COMMAND.match(part.strip())
            if quoted and squeezed(part) not in tree.sources:
                yield n, f"the sources have it otherwise: {part.strip().splitlines()[0]}"


def guides_case_gives(tree, text):
    """The case of docs/adding-an-operator.md, as `git diff` shows it there, gives those nodes."""
    m = re.search(r"^    \+(\w+\(.*\))\n    \+-> (.*)\n    \+=> (.*)$", text, re.M)
    if not m:
        yield 1, "no recorded case is shown"
        return
    with tempfile.TemporaryDirectory() as folder:
        case = pathlib.Path(folder) / "guide.txt"
        case.write_text(m[1] + "\n")
        shown = tree.output("run_cases", "--show", str(case))
    if shown.split() != ["1", "=>", *m[3].split()]:
        yield 1, f"{m[1]} gives {shown.strip()}"


def opsets_are_those(tree, text):
    """The opsets of which the guide says that each case is judged there, against tests/ops/run_cases.c."""
    said = re.search(r"eight opsets, the default (\d+) and ([\d, ]+) \(", text)
    made = re.search(r"static const int opsets\[\] = \{([\d, ]+)\}", (tree.root / "tests/ops/run_cases.c").read_text())
    default = re.search(r"ONNX_DEFAULT_TARGET = (\d+)", (tree.root / "src/onnx/onnx.h").read_text())
    if not said or (said[1], squeezed(said[2])) != (default[1], squeezed(made[1])):
        yield 1, "a case is judged at other opsets than the guide says"


# ---- what is run ----

def commands_run(tree, text, done):
    """Each command that needs the build alone, once; `build/` is the folder of this build, DIR a new one."""
    for n, command in commands_of(text):
        if not RUN.match(command) or command in done:
            continue
        done.add(command)
        with tempfile.TemporaryDirectory() as folder:
            words = [w.replace("DIR", folder + "/new") for w in command.split()]
            if "--twins" in words:                                          # a family of few cases stands for the others
                words[-1] = "tests/ops/hash.txt"
            words = [str(tree.build / "pt2onnx") if w == "pt2onnx" else w for w in words]
            words = [str(tree.build) + w[len("build"):] if re.match(r"build(/|$)", w) else w for w in words]
            if STANDS_FOR.search(" ".join(words[1:])):
                continue
            ran = subprocess.run(words + ["-N"] * (words[0] == "ctest"), cwd=tree.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if ran.returncode or "Total Tests: 0" in ran.stdout:
                yield n, f"{command}: exit {ran.returncode}: {ran.stdout.strip()[-300:]}"


def main(root, build, names_only):
    tree, done = Tree(root, build), set()
    chinese = {p: "README.md" for p in tree.root.glob("README.zh-CN.md")}
    chinese.update((p, f"docs/{p.relative_to(tree.root / 'docs/zh-CN')}") for p in tree.root.glob("docs/zh-CN/**/*.md"))
    english = {p for folder in ("", "docs/", "docs/formats/", "docs/tutorials/") for p in tree.root.glob(folder + "*.md")}
    wrong, documents = 0, sorted(english | set(chinese))
    for path in documents:
        text = path.read_text()
        found = [*paths_there(tree, text), *files_there(tree, text), *links_lead(path.parent, text), *commands_are_right(tree, text)]
        if path.name.startswith("adding-") or path.name == "architecture.md":
            found += words_are_there(tree, text)
        if path.name.startswith("adding-"):
            found += quotes_are_there(tree, text)
        if path.name == "adding-an-operator.md":
            found += [*guides_case_gives(tree, text), *opsets_are_those(tree, text)]
        if path.parent == tree.root / "docs/tutorials" and not (tree.root / "docs/zh-CN/tutorials" / path.name).exists():
            found.append((1, "there is no Chinese page of it"))
        if path in chinese:
            found += in_step((tree.root / chinese[path]).read_text(), text, chinese[path])
        if not names_only:
            found += commands_run(tree, text, done)
        for n, what in sorted(set(found)):
            print(f"{path.relative_to(tree.root)}:{n}: {what}")
            wrong += 1
    print(f"{len(documents)} documents, {len(done)} commands run, {wrong} wrong")
    return 1 if wrong or not documents or not (done or names_only) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], "--names" in sys.argv[3:]))
