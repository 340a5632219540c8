"""Bad and hostile files end with exit code 3 and a message; a kill leaves nothing that looks like a model."""
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
import zipfile
import zlib

import onnx
import pytest
import torch

import oracle

sys.path.insert(0, os.path.join(oracle.TOP, "tools"))
import scaling                                                      # noqa: E402
import write_chain                                                  # noqa: E402

SECONDS = 60                        # no file may take longer
MEMORY = 6 << 30                    # address space: above the documented 4 GB heap limit


def convert(path, out, *options):
    """Within the limits. The shell sets them: a preexec_fn would copy this large process for every run."""
    limits = "ulimit -v %d; ulimit -c 0; exec \"$@\"" % (MEMORY >> 10)
    return subprocess.run(["sh", "-c", limits, "sh", oracle.PROGRAM, str(path), "-o", str(out), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", timeout=SECONDS)


def refused(path, out, pattern, *options, code=3):
    """pt2onnx says what is wrong and writes nothing."""
    done = convert(path, out, *options)
    assert done.returncode == code, "exit %d\n%s" % (done.returncode, done.stderr[-2000:])
    assert done.stdout == ""
    assert "pt2onnx: " in done.stderr and re.search(pattern, done.stderr, re.I), done.stderr[-2000:]
    assert "Sanitizer" not in done.stderr
    assert not os.path.exists(out)
    assert not [n for n in os.listdir(os.path.dirname(str(out))) if n.endswith(".part")]
    return done.stderr


# ---- named as what they are ----

@pytest.fixture
def good(small):
    with open(small("conv_bn_relu.traced").file, "rb") as f:
        return f.read()


def write(tmp_path, data, name="model.pt"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_truncated_download(tmp_path, good, out):
    refused(write(tmp_path, good[:len(good) * 6 // 10]), out, r"cut short.*\n.*(download|copy)")


def test_archive_in_an_archive_without_its_pickle(tmp_path, out):
    scaling.wrapped(tmp_path / "whole.pt2", 1)
    with zipfile.ZipFile(tmp_path / "whole.pt2") as whole, zipfile.ZipFile(tmp_path / "model.pt2", "w") as broken:
        for name in whole.namelist():
            broken.writestr(name, whole.read(name).replace(b"data.pkl", b"dato.pkl"))
    refused(tmp_path / "model.pt2", out, r"model\.pt2: [^ /]+/data/weights/w0: .*no data\.pkl")


def test_git_lfs_pointer(tmp_path, out):
    text = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 46830571\n" % (b"4d" * 32)
    refused(write(tmp_path, text), out, r"git-lfs pointer")


@pytest.mark.parametrize("text", [b"<!DOCTYPE html>\n<html><body>404</body></html>", b"\n  <html lang=en>", b"\xef\xbb\xbf<!doctype HTML>"])
def test_web_page(text, tmp_path, out):
    refused(write(tmp_path, text), out, r"web page")


def test_empty(tmp_path, out):
    refused(write(tmp_path, b""), out, r"empty")


def test_directory(tmp_path, out):
    (tmp_path / "model.pt").mkdir()
    refused(tmp_path / "model.pt", out, r"director")


def test_missing(tmp_path, out):
    refused(tmp_path / "none.pt", out, r"none\.pt.*No such file")


def test_growing(tmp_path, good, out):
    """A file that a copy is still writing: named as such while it grows, never read as damaged and never converted."""
    path, stop = tmp_path / "model.pt", threading.Event()
    path.write_bytes(good[:1000])

    def grow():
        with open(path, "ab", buffering=0) as f:
            while not stop.is_set():
                f.write(b"\0" * 64)
                time.sleep(0.0002)

    t = threading.Thread(target=grow)
    t.start()
    try:
        refused(path, out, r"still being written")
    finally:
        stop.set()
        t.join()


def test_state_dict(tmp_path, out):
    torch.save(torch.nn.Linear(3, 3).state_dict(), tmp_path / "m.pt")
    refused(tmp_path / "m.pt", out, r"only weights.*state_dict(.|\n)*torch\.jit\.save")


def test_state_dict_before_1_6(tmp_path, out):
    torch.save(torch.nn.Linear(3, 3).state_dict(), tmp_path / "m.pt", _use_new_zipfile_serialization=False)
    refused(tmp_path / "m.pt", out, r"only weights.*state_dict")


def test_pickled_module(tmp_path, out):
    torch.save(torch.nn.Linear(3, 3), tmp_path / "m.pt")
    refused(tmp_path / "m.pt", out, r"torch\.nn\.modules\.linear\.Linear(.|\n)*torch\.jit\.save")


def test_tensor(tmp_path, out):
    torch.save(torch.ones(3), tmp_path / "m.pt")
    refused(tmp_path / "m.pt", out, r"holds a tensor")


def test_zip_of_something_else(tmp_path, out):
    with zipfile.ZipFile(tmp_path / "m.pt", "w") as z:
        z.writestr("notes.txt", "hello")
    refused(tmp_path / "m.pt", out, r"no saved PyTorch program")


# ---- damaged ----

@pytest.mark.parametrize("name", ["conv_bn_relu.traced", "conv_bn_relu.pt2"])
def test_cut_anywhere(name, small, tmp_path, out):
    """Every prefix is refused: the directory stands at a ZIP's end."""
    with open(small(name).file, "rb") as f:
        data = f.read()
    for at in sorted(random.Random(0).sample(range(1, len(data)), 40)):
        refused(write(tmp_path, data[:at]), out, r".")


@pytest.mark.parametrize("name", ["conv_bn_relu.traced", "loop_while.scripted", "gru.pt2"])
def test_flipped_bytes(name, small, tmp_path, out):
    """A damaged byte may convert (a weight), may be refused; it never crashes, and never writes a file the checker cannot read."""
    case = small(name)
    with open(case.file, "rb") as f:
        data = f.read()
    rng = random.Random(1)
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 1, 4, 32])):
            damaged[rng.randrange(len(data))] = rng.randrange(256)
        done = convert(write(tmp_path, bytes(damaged)), out, *case.options(False))
        assert done.returncode in (0, 1, 3), "exit %d\n%s" % (done.returncode, done.stderr[-2000:])
        assert os.path.exists(out) == (done.returncode == 0)
        if done.returncode == 0:
            onnx.load(str(out))
            os.remove(out)


# ---- made to hurt ----

def archive(path, records, root="m/"):
    with zipfile.ZipFile(path, "w") as z:
        for name, data in records.items():
            z.writestr(root + name, data, zipfile.ZIP_DEFLATED if name.endswith(".py") else zipfile.ZIP_STORED)
    return path


EMPTY_MODULE = b"\x80\x02c__torch__\nNet\n)\x81}(X\x08\x00\x00\x00training\x89ub."
EMPTY = b"\x80\x02)."


def program(path, body, pickle=EMPTY_MODULE, head="class Net(Module):\n  training : bool\n"):
    return archive(path, {"data.pkl": pickle, "constants.pkl": EMPTY, "version": "3\n", "code/__torch__.py": head + body})


FORWARD = "  def forward(self: __torch__.Net, x: Tensor) -> Tensor:\n"


def test_the_skeleton_is_sound(tmp_path, out):
    """What the hostile programs below are made from converts when it is harmless."""
    path = program(tmp_path / "m.pt", FORWARD + "    return torch.relu(x)\n")
    assert oracle.convert(path, out, "-i", "x:float32[2,3]").returncode == 0


def test_endless_loop(tmp_path, out):
    body = FORWARD + "    _0 = True\n    n = 0\n    while _0:\n      n = torch.add(n, 1)\n    return x\n"
    refused(program(tmp_path / "m.pt", body), out, r"steps", "-i", "x:float32[2,3]")


def test_endless_recursion(tmp_path, out):
    body = FORWARD + "    return (self).forward(x, )\n"
    refused(program(tmp_path / "m.pt", body), out, r"calls|recursi", "-i", "x:float32[2,3]")


def test_nested_loops(tmp_path, out):
    body, pad = FORWARD, "    "
    for i in range(8):
        body += "%sfor i%d in range(1000000):\n" % (pad, i)
        pad += "  "
    body += pad + "n = 1\n    return x\n"
    refused(program(tmp_path / "m.pt", body), out, r"steps", "-i", "x:float32[2,3]")


def test_huge_list(tmp_path, out):
    body = FORWARD + "    l = annotate(List[int], [])\n    l0 = torch.mul([1, 2, 3, 4], 4611686018427387904)\n    return x\n"
    refused(program(tmp_path / "m.pt", body), out, r".", "-i", "x:float32[2,3]")


def test_huge_string(tmp_path, out):
    body = FORWARD + "    s = \"aaaaaaaaaaaaaaaa\"\n    for i in range(60):\n      s = torch.add(s, s)\n    return x\n"
    refused(program(tmp_path / "m.pt", body), out, r"--limit heap", "-i", "x:float32[2,3]", "--limit", "heap=268435456")


@pytest.mark.parametrize("depth", [300, 100000])
def test_deep_expression(depth, tmp_path, out):
    body = FORWARD + "    n = %s1%s\n    return x\n" % ("(" * depth, ")" * depth)
    refused(program(tmp_path / "m.pt", body), out, r"depth|deep|nest", "-i", "x:float32[2,3]")


def test_deep_blocks(tmp_path, out):
    body, pad = FORWARD, "    "
    for _ in range(3000):
        body += pad + "if True:\n"
        pad += " "
    body += pad + "n = 1\n    return x\n"
    refused(program(tmp_path / "m.pt", body), out, r"depth|deep|nest", "-i", "x:float32[2,3]")


def test_deep_pickle(tmp_path, out):
    deep = b"\x80\x02" + b"(" * 200000 + b"t" * 200000 + b"."
    refused(program(tmp_path / "m.pt", FORWARD + "    return x\n", pickle=deep), out, r"depth|deep|nest")


def test_cyclic_pickle(tmp_path, out):
    """A module that holds itself, and a list that holds itself, walked by attribute names."""
    cycle = b"\x80\x02c__torch__\nNet\n)\x81q\x00}(X\x08\x00\x00\x00training\x89X\x02\x00\x00\x00meh\x00X\x01\x00\x00\x00l]q\x01h\x01aub."
    head = "class Net(Module):\n  training : bool\n  me : __torch__.Net\n  l : List[Any]\n"
    path = program(tmp_path / "m.pt", FORWARD + "    return torch.relu(x)\n", pickle=cycle, head=head)
    done = convert(path, out, "-i", "x:float32[2,3]")
    assert done.returncode in (0, 1, 3), done.stderr[-2000:]


def test_pickle_runs_nothing(tmp_path, out):
    mark = tmp_path / "mark"
    evil = b"\x80\x02cos\nsystem\nX" + struct.pack("<I", len("touch %s" % mark)) + ("touch %s" % mark).encode() + b"\x85R."
    refused(program(tmp_path / "m.pt", FORWARD + "    return x\n", pickle=evil), out, r"os[ .]system")
    assert not mark.exists()


@pytest.mark.parametrize("pickle", [
    b"\x80\x02X\xff\xff\xff\x7fabc.", b"\x80\x02\x8a\xff" + b"\xff" * 8 + b".", b"\x80\x02r\xff\xff\xff\xff.", b"\x80\x02h\x05.",
    b"\x80\x02b.", b"\x80\x02.", b"\x80\x02}u.", b"\x80\x02(((.", b"", b"\x80\x02" + b")" * 100000,
], ids=["long string", "long int", "memo index", "no memo", "build of nothing", "empty stack", "items of nothing", "marks", "nothing", "no stop"])
def test_damaged_pickle(pickle, tmp_path, out):
    refused(program(tmp_path / "m.pt", FORWARD + "    return x\n", pickle=pickle), out, r"data\.pkl")


def tensor_pickle(numel, size, stride, offset=0):
    def ints(ns):
        return b"(" + b"".join(b"\x8a\x08" + struct.pack("<q", n) for n in ns) + b"t"
    tensor = (b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu\x8a\x08"
              + struct.pack("<q", numel) + b"tQ\x8a\x08" + struct.pack("<q", offset) + ints(size) + ints(stride)
              + b"\x89ccollections\nOrderedDict\n)RtR")
    return b"\x80\x02c__torch__\nNet\n)\x81}(X\x08\x00\x00\x00training\x89X\x01\x00\x00\x00w" + tensor + b"ub."


@pytest.mark.parametrize("numel,size,stride,offset", [
    (4, [1 << 40], [1], 0), (4, [1 << 32, 1 << 32], [1 << 32, 1], 0), (4, [4], [1], 1 << 62), (4, [4], [1], -1),
    (4, [-1], [1], 0), (4, [2, 2], [1 << 62, 1 << 62], 0), (4, [4], [1, 1], 0), (4, [2], [-1], 1), (-4, [4], [1], 0),
    (4, [1] * 100, [1] * 100, 0),
], ids=str)
def test_hostile_tensor(numel, size, stride, offset, tmp_path, out):
    """Sizes that overflow or leave the storage."""
    head = "class Net(Module):\n  __parameters__ = [\"w\", ]\n  __buffers__ = []\n  w : Tensor\n  training : bool\n"
    body = head + FORWARD + "    w = self.w\n    return torch.add(x, w)\n"
    path = archive(tmp_path / "m.pt", {"data/0": b"\0" * 16, "data.pkl": tensor_pickle(numel, size, stride, offset), "constants.pkl": EMPTY,
                                       "version": "3\n", "code/__torch__.py": body})
    refused(path, out, r".", "-i", "x:float32[4]")


def with_deflated_code(path, packed, size):
    """An archive whose code record is these bytes and claims to unpack to `size`."""
    name = b"m/code/__torch__.py"
    data = archive(path, {"data.pkl": EMPTY_MODULE, "constants.pkl": EMPTY, "version": "3\n"}).read_bytes()
    end = data.rindex(b"PK\x05\x06")
    count, directory_size, at = struct.unpack("<HII", data[end + 10:end + 20])
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0x21, 0, len(packed), size, len(name), 0) + name + packed
    central = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0x21, 0, len(packed), size, len(name), 0, 0, 0, 0, 0, at) + name
    directory = data[at:at + directory_size] + central
    tail = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count + 1, count + 1, len(directory), at + len(local), 0)
    path.write_bytes(data[:at] + local + directory + tail)
    return path


def blanks(megabytes):
    """A deflate stream of so many megabytes of blanks: a block that ends at a byte, again and again."""
    z = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = z.compress(b" " * (1 << 20)) + z.flush(zlib.Z_FULL_FLUSH)
    return block * megabytes + b"\x03\x00"


def test_zip_bomb(tmp_path, out):
    """3 GB of blanks in 3 MB: the code record's limit holds before memory goes."""
    refused(with_deflated_code(tmp_path / "m.pt", blanks(3000), 3000 << 20), out, r"--limit text")


@pytest.mark.parametrize("size", [100, 1 << 20])
def test_zip_bomb_that_lies(size, tmp_path, out):
    """It claims to be small: what comes after the claim is never unpacked."""
    refused(with_deflated_code(tmp_path / "m.pt", blanks(3000), size), out, r"__torch__\.py")


def patched(data, field, value):
    """The end record's or the directory's numbers, made to lie."""
    end = data.rindex(b"PK\x05\x06")
    at = {"count": end + 10, "size": end + 12, "offset": end + 16}[field]
    form = "<H" if field == "count" else "<I"
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form):]


@pytest.mark.parametrize("field,value", [("count", 0xFFFE), ("size", 0xFFFFFFFE), ("size", 1), ("offset", 0xFFFFFFF0), ("offset", 7)])
def test_lying_end_record(field, value, tmp_path, out):
    data = program(tmp_path / "m.pt", FORWARD + "    return x\n").read_bytes()
    refused(write(tmp_path, patched(data, field, value)), out, r"ZIP")


def test_overlapping_records(tmp_path, out):
    """Two directory entries with one data range: what makes quadratic bombs."""
    data = program(tmp_path / "m.pt", FORWARD + "    return x\n").read_bytes()
    end = data.rindex(b"PK\x05\x06")
    at = struct.unpack("<I", data[end + 16:end + 20])[0]
    entries = [i for i in range(at, end) if data[i:i + 4] == b"PK\x01\x02"]
    damaged = bytearray(data)
    damaged[entries[1] + 42:entries[1] + 46] = data[entries[0] + 42:entries[0] + 46]
    refused(write(tmp_path, bytes(damaged)), out, r"overlap")


def test_names_do_not_become_files(tmp_path, out):
    path = archive(tmp_path / "m.pt", {"data.pkl": EMPTY_MODULE, "constants.pkl": EMPTY, "version": "3\n", "../../escape": "x",
                                       "code/__torch__.py": "class Net(Module):\n  training : bool\n" + FORWARD + "    return torch.relu(x)\n"})
    oracle.convert(path, out, "-i", "x:float32[2,3]", timeout=SECONDS)
    assert not [r for r, _, names in os.walk(tmp_path.parent) for n in names if n == "escape"]


def replace_json(source, path, edit):
    """A .pt2 with its program's text changed."""
    with zipfile.ZipFile(source) as a, zipfile.ZipFile(path, "w") as b:
        for name in a.namelist():
            data = a.read(name)
            if name.endswith("models/model.json"):
                text = edit(data.decode())
                assert text.encode() != data
                data = text.encode()
            b.writestr(name, data)
    return path


@pytest.mark.parametrize("edit", [
    lambda t: "[" * 100000, lambda t: t[:len(t) // 2], lambda t: t.replace('"as_int": ', '"as_int": 99999999999999999999999', 1),
    lambda t: t.replace('"name": "x"', '"name": "nowhere"', 1), lambda t: "{}", lambda t: "nul", lambda t: '{"graph_module": ' * 5000,
], ids=["deep", "cut", "overflow", "unknown name", "nothing", "not JSON", "deep objects"])
def test_hostile_json(edit, small, tmp_path, out):
    refused(replace_json(small("conv_bn_relu.pt2").file, tmp_path / "m.pt2", edit), out, r"model\.json|depth")


# ---- killed ----

def unnamed_files(folder):
    """Does the file system have files without names?"""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        return False
    return os.path.exists("/proc/self/fd")


def test_kill_leaves_no_model(small, tmp_path):
    """SIGKILL at random moments, over an older output: the file is then the old one, a whole new one, or not there."""
    case, out = small("resnet18.traced"), tmp_path / "model.onnx"
    oracle.converted(case.file, out, *case.options(False))
    whole = out.read_bytes()
    start = time.time()
    oracle.converted(case.file, out, *case.options(False))
    span, rng, killed, tried = time.time() - start, random.Random(2), 0, 0
    while killed < 30 and tried < 1000:
        tried += 1
        out.write_bytes(b"old") if tried % 2 else out.unlink(missing_ok=True)
        process = subprocess.Popen([oracle.PROGRAM, case.file, "-o", str(out), *case.options(False)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * span)
        process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            killed += 1
        else:
            span *= 0.95                                # it was done: the machine was busier when it was timed
        for name in os.listdir(tmp_path):
            data = (tmp_path / name).read_bytes()
            if name == "model.onnx":
                assert data in (b"old", whole), "a partial model after a kill: %d bytes" % len(data)
            else:                                       # the moment in which a file that is replaced has two names
                assert name.startswith(".") and not name.endswith((".onnx", ".data")), "%s looks like a model" % name
                assert tried % 2 or not unnamed_files(tmp_path), "%s is left though files without names can be made here" % name
                assert data == whole
                (tmp_path / name).unlink()
    assert killed == 30, "only %d of %d were killed in time" % (killed, tried)


def test_kill_of_a_large_model(tmp_path):
    """100 MB of weights in a file of their own, by SIGKILL and SIGTERM in turns: what has a name is whole, and the model is there last."""
    model, folder = tmp_path / "large.pt", tmp_path / "out"
    write_chain.write(str(model), 31, 900)
    folder.mkdir()
    command = [oracle.PROGRAM, str(model), "-o", str(folder / "m.onnx"), "-i", "x:float32[3,900]", "--weights=external"]
    start = time.time()
    assert subprocess.run(command).returncode == 0
    span, whole = time.time() - start, {n: (folder / n).read_bytes() for n in os.listdir(folder)}
    assert sorted(whole) == ["m.onnx", "m.onnx.data"] and len(whole["m.onnx.data"]) > 100e6
    for i in range(10):
        for name in os.listdir(folder):
            (folder / name).unlink()
        process = subprocess.Popen(command)
        time.sleep(span * (i + 0.5) / 10)
        process.send_signal(signal.SIGTERM if i % 2 else signal.SIGKILL)
        process.wait()
        left = sorted(os.listdir(folder))
        assert left in ([], ["m.onnx.data"], ["m.onnx", "m.onnx.data"]) if unnamed_files(folder) else "m.onnx" not in left or "m.onnx.data" in left
        assert all((folder / n).read_bytes() == whole[n] for n in left if n in whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU])
def test_signal_removes_temporaries(number, small, tmp_path):
    case, out = small("resnet18.traced"), tmp_path / "model.onnx"
    rng, caught = random.Random(3), 0
    for _ in range(30):
        process = subprocess.Popen([oracle.PROGRAM, case.file, "-o", str(out), *case.options(False)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.05)
        process.send_signal(number)
        caught += process.wait() != 0
        assert set(os.listdir(tmp_path)) <= {"model.onnx"}
        out.unlink(missing_ok=True)
    assert caught


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


def wait_until(holds):
    end = time.time() + 20
    while not holds() and time.time() < end:
        time.sleep(0.02)
    return holds()


def test_models_beside_each_other_end_with_the_call(tmp_path):
    """SIGKILL of the call that waits for them; by themselves these two would not end."""
    for name in ("a.pt", "b.pt"):
        program(tmp_path / name, FORWARD + "    n = 0\n    while True:\n      n = torch.add(n, 1)\n    return x\n")
    process = subprocess.Popen([oracle.PROGRAM, "-j", "2", "--limit", "steps=%d" % 10 ** 15, str(tmp_path / "a.pt"), str(tmp_path / "b.pt")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert wait_until(lambda: len(children_of(process.pid)) == 2)
    children = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: not any(map(oracle.alive, children)))
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "b.pt"]


EXAMPLES = [os.path.join(oracle.TOP, "examples", name) for name in ("digits_cnn.pt", "digits_cnn.pt2")]


def outcomes(folder):
    return {n: (folder / n).read_bytes() for n in os.listdir(folder)}


@pytest.mark.parametrize("example", EXAMPLES, ids=os.path.basename)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU])
def test_signal_during_an_example(number, example, tmp_path):
    """At 12 moments of a conversion: the whole model or nothing."""
    command = [oracle.PROGRAM, example, "-o", str(tmp_path / "m.onnx")]
    start = time.time()
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    span, whole = time.time() - start, outcomes(tmp_path)
    for i in range(12):
        (tmp_path / "m.onnx").unlink(missing_ok=True)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(span * i / 12)
        process.send_signal(number)
        process.wait()
        left = outcomes(tmp_path)
        assert left == {} or left == whole or not unnamed_files(tmp_path) and all(n.startswith(".") for n in left), (i, sorted(left))


@pytest.mark.parametrize("example", EXAMPLES, ids=os.path.basename)
def test_full_disk_of_an_example(example, tmp_path):
    """The disk is full after 0, 4, 8.. KB: exit 3, the reason, nothing left."""
    for most in range(0, 20 << 10, 4 << 10):
        done = oracle.convert(example, tmp_path / "m.onnx", preexec_fn=lambda: files_of_at_most(most))
        assert done.returncode == 3 and "File too large" in done.stderr, (most, done.returncode, done.stderr)
        assert os.listdir(tmp_path) == []


def test_full_disk_of_a_large_model(tmp_path):
    """100 MB of weights, of which 1, 50 and 95 MB fit: in the model's file or beside it."""
    model, folder = tmp_path / "large.pt", tmp_path / "out"
    write_chain.write(str(model), 31, 900)
    folder.mkdir()
    for most in (1 << 20, 50 << 20, 95 << 20):
        for weights in ("inline", "external"):
            done = oracle.convert(str(model), folder / "m.onnx", "-i", "x:float32[3,900]", "--weights=" + weights, preexec_fn=lambda: files_of_at_most(most))
            assert done.returncode == 3 and "File too large" in done.stderr, (most, weights, done.returncode, done.stderr)
            assert os.listdir(folder) == []


def test_processor_time(tmp_path, out):
    """`ulimit -t`, or the limit that the sandbox sets: a word on stderr, nothing left."""
    path = program(tmp_path / "m.pt", FORWARD + "    n = 0\n    while True:\n      n = torch.add(n, 1)\n    return x\n")
    (tmp_path / "out").mkdir()
    command = [oracle.PROGRAM, str(path), "-o", str(tmp_path / "out" / "m.onnx"), "-i", "x:float32[2]", "--limit", "steps=1000000000000"]
    done = subprocess.run(["sh", "-c", "ulimit -S -t 1; exec \"$@\"", "sh", *command], stderr=subprocess.PIPE, text=True, timeout=SECONDS)
    assert done.returncode == -signal.SIGXCPU
    assert done.stderr == "pt2onnx: the limit of processor time is reached\n"
    assert os.listdir(tmp_path / "out") == []


def files_of_at_most(size):
    """In the child. Python has SIGXFSZ ignored, which a child would inherit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def test_full_disk(small, tmp_path):
    """A write that fails midway: exit 3, the reason, nothing left."""
    case, out = small("resnet18.traced"), tmp_path / "model.onnx"
    done = oracle.convert(case.file, out, *case.options(False), preexec_fn=lambda: files_of_at_most(1 << 20))
    assert done.returncode == 3 and "File too large" in done.stderr, (done.returncode, done.stderr)
    assert os.listdir(tmp_path) == []
