"""Each file of tests/hostile ends as it should, within its time and its memory: one clear error, and no file beside it."""
import json
import os
import re
import subprocess
import sys
import zipfile

import pytest

import oracle
from test_hostile import FORWARD, program

FOLDER = os.path.join(os.path.dirname(__file__), "..", "hostile")
HEAP = 100000000                    # --limit heap
MOST = HEAP + HEAP // 4             # what the whole process may take then
ADDRESSES = 1 << 30                 # a build with sanitizers reserves more, and takes longer: see `measured`
SECONDS = 10
KNOWN = "x:float32[2,3]"

# file: (exit code, what the message says, more options)
FILES = {
    "product.pt": (3, r"aten::matmul: 1 s of processor time were spent writing the model(.|\n)*s\.a@s\.b", ["-i", "x:float32[1]", "--limit", "seconds=1"]),
    "recursive_namedtuple.pt": (3, r"the input x\.a\..*: the type __torch__\.T0 holds itself", []),
    "cyc_eq.pt": (1, r"the list would become part of itself(.|\n)*__torch__\.py:8:10", []),
    "cyc_in.pt": (1, r"the list would become part of itself(.|\n)*__torch__\.py:8:10", []),
    "cyc_if.pt": (1, r"the list would become part of itself(.|\n)*__torch__\.py:8:10", []),
    "cyc_loop.pt": (1, r"the list would become part of itself(.|\n)*__torch__\.py:8:10", []),
    "cyc_dict.pt": (1, r"the dict would become part of itself(.|\n)*__torch__\.py:8:5", []),
    "list_self.pt": (1, r"the list would become part of itself(.|\n)*__torch__\.py:8:10", []),
    "list_self_ret.pt": (1, r"the list would become part of itself(.|\n)*__torch__\.py:8:10", []),
    "list_diamond.pt": (3, r"bytes of memory are over the limit of 100000000", ["-i", KNOWN]),
    "list_diamond_eq.pt": (3, r"more than 1000000 steps(.|\n)*torch\.eq\(l59, l59\)", ["-i", KNOWN, "--limit", "steps=1000000"]),
    "tuple_diamond_if.pt": (3, r"bytes of memory are over the limit of 100000000(.|\n)*__torch__\.py:48", ["-i", KNOWN]),
    "consts_laughs.pt": (0, r"the model's print\(\)", ["-i", KNOWN]),
    "split_1e9.pt": (3, r"1000000000 parts of a tensor are over the limit(.|\n)*torch\.split", ["-i", KNOWN]),
    "upsample_1e9.pt": (3, r"resizing axis 2 to more than", ["-i", "x:float32[4]"]),
    "upsample_1e13.pt": (3, r"resizing axis 2 to more than", ["-i", "x:float32[4]"]),
    "stride0_2e9.pt": (3, r"the weights take \d+ bytes to write, and the limit is \d+[\s\S]*--limit output=\d+, if you trust the file", ["-i", "x:float32[N,M]"]),
    "stride0_huge.pt": (3, r"the weights take \d+ bytes to write, and the limit is \d+[\s\S]*--limit output=\d+, if you trust the file", ["-i", "x:float32[N,M]"]),
    "esc_class.pt": (3, r"class __torch__\.M\\x1b\[2J\\x1b\]0;pwned\\x07$", []),
    "slow_shapes2.pt": (3, r"over the limit of 100000000|a size is computed from sizes", ["-i", "x:float32[N]"]),
}


def measured(path, out, *options):
    """How the conversion ended, as tests/hostile/measure.py says it."""
    sanitized = b"__asan_init" in open(oracle.PROGRAM, "rb").read()
    addresses, seconds = (1 << 46, 6 * SECONDS) if sanitized else (ADDRESSES, SECONDS)
    command = [os.path.abspath(oracle.PROGRAM), os.path.basename(path), "-o", str(out), "--limit", "heap=%d" % HEAP, *options]
    done = subprocess.run([sys.executable, "-S", os.path.join(FOLDER, "measure.py"), str(addresses), str(seconds), *command],
                          stdout=subprocess.PIPE, check=True, cwd=os.path.dirname(path))
    got = json.loads(done.stdout)
    assert "Sanitizer" not in got["err"], got["err"][-3000:]
    assert not re.search(r"[^\n\t -~]", got["err"]), repr(got["err"])
    got["bytes"] = 0 if sanitized else got["bytes"]
    return got


@pytest.mark.parametrize("name", sorted(FILES))
def test_ends_as_it_should(name, tmp_path):
    code, pattern, options = FILES[name]
    got = measured(os.path.join(FOLDER, name), tmp_path / "m.onnx", *options)
    assert got["exit"] == code, "exit %s after %.1f s\n%s" % (got["exit"], got["seconds"], got["err"][-2000:])
    assert re.search(pattern, got["err"]), got["err"][-2000:]
    assert got["bytes"] <= MOST, "%d bytes" % got["bytes"]
    assert os.listdir(tmp_path) == (["m.onnx"] if code == 0 else [])


def test_every_file_is_run():
    assert sorted(FILES) == sorted(n for n in os.listdir(FOLDER) if n.endswith((".pt", ".pt2")))


@pytest.mark.parametrize("size", [0, 3, 1 << 62])
def test_damaged_record(size, tmp_path):
    """One recorded size of a .pt2 is another than the program gives: the file is doubted, not pt2onnx alone."""
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(os.path.join(FOLDER, "..", "programs", "exported_a.pt2")) as whole, zipfile.ZipFile(path, "w") as damaged:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "serialized_exported_program.json":
                program = json.loads(data)
                program["graph_module"]["graph"]["tensor_values"]["linear"]["sizes"][1]["as_int"] = size
                data = json.dumps(program)
            damaged.writestr(name, data)
    got = measured(str(path), tmp_path / "m.onnx")
    assert got["exit"] == 3, got["err"]
    assert re.search(r"aten::linear: the file records float32\[\w+,%d\] for result 0, pt2onnx computed float32\[\w+,2\]: the file is damaged, or "
                     r"pt2onnx is wrong\n" % size, got["err"]), got["err"]
    assert os.listdir(tmp_path) == ["m.pt2"]


OBJ = "class Obj:\n  o : Any\n  x : Tensor\n"
NEW = "    o = __torch__.Obj.__new__(__torch__.Obj)\n"
# what lies in itself by way of an object, as a result: forward's body, the name of the output that would be the same again
AROUND = {
    "object": (NEW + "    o.o = o\n    return o\n", "output.o"),
    "list": (NEW + "    l = annotate(List[Any], [o])\n    o.o = l\n    return l\n", "output.0.o.0"),
    "dict": (NEW + "    d = annotate(Dict[str, Any], {\"a\": o})\n    o.o = d\n    return d\n", "output.a.o.a"),
    "tuple": (NEW + "    o.x = x\n    o.o = (o, o)\n    return o\n", "output.o.0"),
    "two": (NEW + NEW.replace("o =", "p =") + "    o.o = p\n    p.o = o\n    return (o, p)\n", "output.0.o.o"),
}


@pytest.mark.parametrize("name", sorted(AROUND))
def test_a_result_that_lies_in_itself(name, tmp_path):
    body, place = AROUND[name]
    path = program(tmp_path / "m.pt", FORWARD.replace("-> Tensor", "-> Any") + body + OBJ)
    got = measured(str(path), tmp_path / "m.onnx", "-i", KNOWN)
    assert got["exit"] == 1, got["err"]
    assert re.search(r"the output %s is an object that lies in itself\n(.|\n)*    return " % re.escape(place), got["err"]), got["err"]


def test_a_deep_result(tmp_path):
    """Each output is named after the place where it lies, so that names of a tuple in a tuple, and so on, take memory with the square of the depth."""
    code, most = {199: 0, 200: 3, 20000: 3}, HEAP // 4
    for levels in code:
        body = "    y0 = (x,)\n" + "".join("    y%d = (y%d,)\n" % (i, i - 1) for i in range(1, levels)) + "    return y%d\n" % (levels - 1)
        path = program(tmp_path / "m.pt", FORWARD.replace("-> Tensor", "-> Any") + body)
        got = measured(str(path), tmp_path / "m.onnx", "-i", KNOWN)
        assert got["exit"] == code[levels] and got["bytes"] < most, got
    assert re.search(r"201 levels of the result are over the limit of 200(.|\n)*return y19999(.|\n)*--limit depth=201", got["err"]), got["err"]


def test_what_pytorch_raises_ends_the_run(tmp_path):
    """as_strided beyond its memory: nothing behind it is run, and no list of refusals is made."""
    body = FORWARD + ("    y = torch.as_strided(x, [100, 100], [1000, 1], 5000)\n    while True:\n      y = torch.add(y, 1)\n    return y\n")
    got = measured(str(program(tmp_path / "m.pt", body)), tmp_path / "m.onnx", "-i", KNOWN)
    assert got["exit"] == 1 and got["seconds"] < 1
    assert re.search(r"aten::as_strided: it reads memory beyond its argument's 6 elements\n", got["err"]), got["err"]


def test_an_attempt_to_help_is_short(tmp_path):
    """A program without end of which something is missing: the line that would help is looked for in a part of what a conversion may take,
    which is 100,000 nodes: views here, of 2.0 KB each."""
    body = FORWARD + "    while True:\n      y = torch.view(x, [-1, 2])\n    return x\n"
    got = measured(str(program(tmp_path / "m.pt", body)), tmp_path / "m.onnx", "--limit", "heap=%d" % (10 * HEAP))
    assert got["exit"] == 1 and got["bytes"] < 2.2 * HEAP, got
    assert re.search(r"aten::view: the rank of its argument must be known\n", got["err"]), got["err"]


def test_time_without_progress(tmp_path):
    """A loop that no limit of steps or memory ends: the processor's time does, and the message names the place."""
    body = FORWARD + "    n = 0\n    while True:\n      n = torch.add(n, 1)\n    return x\n"
    got = measured(str(program(tmp_path / "m.pt", body)), tmp_path / "m.onnx", "-i", KNOWN, "--limit", "seconds=1", "--limit", "steps=%d" % 10 ** 15,
                   "--limit", "heap=%d" % 10 ** 9)
    assert got["exit"] == 3 and 0.9 < got["seconds"] < 5, got
    assert re.search(r"1 s of processor time were spent running the program, without an end in sight\n  code/__torch__\.py(.|\n)*"
                     r"try: --limit seconds=10, if you trust the file", got["err"]), got["err"]


# a statement that takes hours: the body, and the line that the message shows
LONG = {
    "find": ("    s = \"a\"\n    for i in range(22):\n      s = torch.add(s, s)\n    t = \"a\"\n    for i in range(21):\n      t = torch.add(t, t)\n"
             "    n = torch.find(s, torch.add(t, \"b\"))\n    return torch.add(x, n)\n", "torch.find"),
    "reverse": ("    l = torch.mul([1], 1000000)\n    for i in range(100000):\n      _0 = torch.reverse(l)\n    return torch.add(x, l[0])\n", "torch.reverse"),
    "max": ("    l = torch.mul([1], 1000000)\n    k = 0\n    for i in range(100000):\n      k = torch.add(k, ops.prim.max(l))\n    return torch.add(x, k)\n",
            "ops.prim.max"),
}


@pytest.mark.parametrize("name", sorted(LONG))
def test_a_long_statement_ends(name, tmp_path):
    """Few steps, each of them over a long string or list: the clock is looked at in between."""
    body, line = LONG[name]
    got = measured(str(program(tmp_path / "m.pt", FORWARD + body)), tmp_path / "m.onnx", "-i", KNOWN, "--limit", "seconds=1", "--limit", "unroll=1000000000")
    assert got["exit"] == 3 and got["seconds"] < 5, got
    assert re.search(r"1 s of processor time were spent running the program, without an end in sight(.|\n)*" + re.escape(line), got["err"]), got["err"]


def test_characters_to_strip_are_gone_through_once(tmp_path):
    """Four million characters, all of which a set of four million ends in."""
    body = ("    s = \"b\"\n    t = \"a\"\n    for i in range(22):\n      s = torch.add(s, s)\n      t = torch.add(t, t)\n"
            "    return torch.add(x, torch.len(torch.strip(s, torch.add(t, \"b\"))))\n")
    got = measured(str(program(tmp_path / "m.pt", FORWARD + body)), tmp_path / "m.onnx", "-i", KNOWN)
    assert got["exit"] == 0 and got["seconds"] < 5, got


def test_a_limit_is_a_bound(tmp_path):
    """A list that grows in a loop, at several limits: the whole process stays below the limit and a quarter."""
    body = FORWARD + "    l = annotate(List[int], [])\n    while True:\n      _0 = torch.append(l, 1)\n    return x\n"
    path = program(tmp_path / "m.pt", body)
    for limit in (40000000, 160000000):
        got = measured(str(path), tmp_path / "m.onnx", "-i", KNOWN, "--limit", "heap=%d" % limit)
        assert got["exit"] == 3 and "over the limit of %d" % limit in got["err"], got["err"]
        assert got["bytes"] <= limit + limit // 4


def test_a_long_line_stays_off_the_terminal(tmp_path):
    """A source line of 10 MB: the part around the place is shown."""
    body = FORWARD + "    return torch.add(x, %s, no_such_name)\n" % ("1 + " * 5 + "1" * 10 + " " * 10000000)
    got = measured(str(program(tmp_path / "m.pt", body)), tmp_path / "m.onnx", "-i", KNOWN)
    assert got["exit"] in (1, 3) and len(got["err"]) < 2000, len(got["err"])


# what is long in a program, of a million letters: forward's result and body
SHOWN = {
    "text": ("Tensor", "    ops.prim.RaiseException(\"%s\")\n    return x\n"),
    "operator": ("Tensor", "    return torch.%s(x)\n"),
    "local": ("Tensor", "    %s = torch.relu(x)\n    return torch.neg(x)\n"),
    "output": ("Dict[str, Tensor]", "    return {\"%s\": x, \"b\": x}\n"),
}


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_show_cuts_lines(name, tmp_path):
    """As messages are cut; cells of a table shorter, so that a long one leaves the columns behind it visible. JSON is whole."""
    result, body = SHOWN[name]
    path = str(program(tmp_path / "m.pt", FORWARD.replace("-> Tensor", "-> " + result) + body % ("b" * 1000000)))
    show = [oracle.PROGRAM, "show", path, "-i", KNOWN]
    text = subprocess.run(show, stdout=subprocess.PIPE, check=True, text=True).stdout
    whole = subprocess.run(show + ["--json"], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert "b" * 190 in text and max(len(line) for line in text.split("\n")) <= 600 + len(" ...")
    assert name != "output" or "b ...  float32[2,3]" in text
    assert "b" * 1000000 in json.loads(whole)["program"]
