"""Lists of tuples, dicts and objects whose length the model decides: each part is a list of its own."""
from typing import Dict, List, NamedTuple, Tuple

import pytest
import torch
from torch import Tensor, nn

import scripted

ROWS = [(torch.rand(n, 3) - 0.3,) for n in (0, 1, 3, 7)]
SOME = ROWS[1:]
SPEC = ("-i", "x:float32[N,3]")


class Pairs(nn.Module):
    """Filled by a loop, read by others: unzip, the last one, the length."""
    def forward(self, x):
        pairs: List[Tuple[Tensor, int]] = []
        for i in range(x.size(0)):
            pairs.append((x[i] * 2, i * i))
        total = torch.zeros(3)
        weight = 0
        for row, square in pairs:
            total = total + row * square
            weight += square
        last, number = pairs[-1]
        return torch.stack([p[0] for p in pairs]), torch.tensor([p[1] for p in pairs]), total, weight, last, number, len(pairs)


class Detections(nn.Module):
    """What a detector gives for each image: dicts of tensors whose sizes differ."""
    def forward(self, x):
        found: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            keep = torch.nonzero(x[i] > 0).squeeze(1)
            found.append({"boxes": x[i][keep], "labels": keep})
        counts = torch.zeros(x.size(0), dtype=torch.int64)
        for i, one in enumerate(found):
            counts[i] = one["labels"].size(0)
        return torch.cat([f["boxes"] for f in found]), found[0]["labels"], counts


class Point(NamedTuple):
    where: Tensor
    name: str
    score: float


class Named(nn.Module):
    def forward(self, x):
        points: List[Point] = []
        for i in range(x.size(0)):
            points.append(Point(x[i, :2], "p", float(x[i, 2])))
        best = points[0]
        for p in points:
            if p.score > best.score:
                best = p
        return best.where, best.score, len(points[0].name)


class InAnArm(nn.Module):
    """The loop appends only when data say so."""
    def forward(self, x):
        kept: List[Tuple[int, Tensor]] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                kept.append((i, x[i]))
        where = torch.zeros(0, dtype=torch.int64)
        for i, row in kept:
            where = torch.cat([where, torch.tensor([i])])
        return where, len(kept)


class Changed(nn.Module):
    """Every operator that changes or copies such a list."""
    def forward(self, x):
        l: List[Tuple[Tensor, float]] = []
        for i in range(x.size(0)):
            l.append((x[i], float(i)))
        l.insert(1, (x[0] * 10, -1.0))
        l[0] = (x[0] + 100, 0.5)
        l.extend([(x[0], 7.0)])
        gone = l.pop()
        m = l[1:] + [(x[0] * 3, 2.5)]
        m.reverse()
        del m[0]
        n = m.copy()
        n.append(gone)
        return torch.stack([a for a, _ in n]), torch.tensor([b for _, b in n]), torch.tensor([b for _, b in m]), len(l)


class Queue(nn.Module):
    """Work is taken from the list and put there until nothing is left."""
    def forward(self, x):
        todo: List[Tuple[int, int]] = [(0, x.size(0))]
        visits = torch.zeros(0, dtype=torch.int64)
        while len(todo) > 0:
            lo, hi = todo.pop()
            visits = torch.cat([visits, torch.tensor([lo * 100 + hi])])
            if hi - lo > 1:
                mid = (lo + hi) // 2
                todo.append((lo, mid))
                todo.append((mid, hi))
        return visits


class Returned(nn.Module):
    def forward(self, x):
        out: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            out.append({"a": x[i], "b": x[i, :1] * i})
        return out


class FixedLists(nn.Module):
    """Lists of one length are items too."""
    def forward(self, x):
        out: List[List[int]] = []
        for i in range(x.size(0)):
            out.append([i, i + 1])
        total = 0
        for a in out:
            total += a[0] * a[1]
        return total + out[-1][1]


class Rows(nn.Module):
    def forward(self, x):
        rows: List[List[float]] = []
        for i in range(x.size(0)):
            rows.append([float(x[i, 0]), i + 0.5])
        return torch.tensor(rows), torch.tensor(rows, dtype=torch.float64)


@torch.jit.script
class Track:
    def __init__(self, box: Tensor, age: int):
        self.box = box
        self.age = age


class Objects(nn.Module):
    def forward(self, x):
        tracks: List[Track] = []
        for i in range(x.size(0)):
            tracks.append(Track(x[i] + 1, i))
        ages = 0
        boxes = torch.zeros(3)
        for t in tracks:
            ages += t.age
            boxes = boxes + t.box
        return boxes, ages


class Symbolic(nn.Module):
    """A known list whose index only data tell."""
    def forward(self, x):
        table = [(x[0], 1), (x[0] * 2, 5), (x[0] * 3, 9)]
        row, number = table[int((x > 0).sum()) % 3]
        return row, number


PROGRAMS = [(Pairs(), SOME), (Detections(), SOME), (Named(), SOME), (InAnArm(), ROWS), (Changed(), SOME), (Queue(), ROWS), (FixedLists(), SOME), (Rows(), SOME),
            (Objects(), ROWS), (Symbolic(), SOME)]


@pytest.mark.parametrize("opset", ["13", "18", "26"])
@pytest.mark.parametrize("module, runs", PROGRAMS, ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else "")
def test_program(module, runs, opset, tmp_path):
    scripted.same(module, tmp_path, runs, *SPEC, "--opset", opset)


@pytest.mark.parametrize("module, runs", [p for p in PROGRAMS if type(p[0]) is not Detections], ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else "")
def test_program_without_sequences(module, runs, tmp_path):
    scripted.same(module, tmp_path, runs, *SPEC, "--opset", "11")


def test_filled_list_is_a_scan_output(tmp_path):
    """Nothing that the loop only appends is carried."""
    class Filled(nn.Module):
        def forward(self, x):
            out: List[Tuple[Tensor, Tensor]] = []
            for i in range(x.size(0)):
                out.append((x[i] * 2, x[i].sum()))
            return torch.stack([o[0] for o in out])
    import onnx
    scripted.same(Filled(), tmp_path, SOME, *SPEC)
    loops = [n for n in onnx.load(str(tmp_path / "model.onnx")).graph.node if n.op_type == "Loop"]
    assert len(loops[0].input) == 2, loops[0]


def test_returned(tmp_path):
    """Each part of the items is a sequence."""
    import numpy
    import onnxruntime
    oracle = scripted.oracle
    oracle.converted(scripted.save(Returned(), tmp_path), tmp_path / "model.onnx", *SPEC)
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    assert [o.name for o in session.get_outputs()] == ["output.a", "output.b"]
    x = SOME[2][0]
    got, wanted = session.run(None, {"x": x.numpy()}), Returned()(x)
    for key, column in zip("ab", got):
        assert len(column) == 7 and all(numpy.array_equal(c, w[key].numpy()) for c, w in zip(column, wanted))


# ---- an item under two names ----

class WritesAfterAppend(nn.Module):
    def forward(self, x):
        out: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            d = {"a": x[i]}
            out.append(d)
            d["a"] = x[i] * 2
        return out[0]["a"]


class WritesThroughItem(nn.Module):
    def forward(self, x):
        out: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            out.append({"a": x[i]})
        d = out[0]
        d["a"] = x[0] * 2
        return out[0]["a"]


class WritesInALoop(nn.Module):
    def forward(self, x):
        out: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            out.append({"a": x[i]})
        for d in out:
            d["a"] = d["a"] * 2
        return out[0]["a"]


class WritesToAnOldItem(nn.Module):
    """The dict that the first item is has a name of its own."""
    def forward(self, x):
        first = {"a": x}
        table = [first, {"a": x + 1}]
        d = table[int((x > 0).sum()) % 2]
        d["a"] = x * 7
        return first["a"]


class WritesUnderAnItem(nn.Module):
    def forward(self, x):
        first = {"a": x}
        table = [first, {"a": x + 1}]
        d = table[int((x > 0).sum()) % 2]
        first["a"] = x * 7
        return d["a"]


class WritesToAnObject(nn.Module):
    def forward(self, x):
        t = Track(x, 1)
        tracks = [t, Track(x, 5)]
        u = tracks[int((x > 0).sum()) % 2]
        u.age = 3
        return x * t.age


class WritesToATensor(nn.Module):
    def forward(self, x):
        out: List[Tuple[Tensor, int]] = []
        for i in range(x.size(0)):
            out.append((x[i] * 2, i))
        for i in range(x.size(0)):
            row, _ = out[i]
            row.add_(1)
        return out[0][0]


@pytest.mark.parametrize("module", [WritesAfterAppend(), WritesThroughItem(), WritesInALoop(), WritesToAnOldItem(), WritesUnderAnItem(), WritesToAnObject(),
                                    WritesToATensor()], ids=lambda m: type(m).__name__)
def test_two_names(module, tmp_path):
    said = scripted.refused(module, tmp_path, *SPEC)
    assert "one of them was written since" in said and "test_columns.py:" in said, said


# ---- items that differ ----

class OtherKeys(nn.Module):
    def forward(self, x):
        out: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                out.append({"a": x[i]})
            else:
                out.append({"b": x[i]})
        return len(out)


class OtherText(nn.Module):
    def forward(self, x):
        out: List[Tuple[str, Tensor]] = [("first", x)]
        for i in range(x.size(0)):
            out.append(("later", x))
        return len(out)


@pytest.mark.parametrize("module", [OtherKeys(), OtherText()], ids=lambda m: type(m).__name__)
def test_differing_items(module, tmp_path):
    said = scripted.refused(module, tmp_path, *SPEC)
    assert "list" in said and "alike" in said and "test_columns.py:" in said, said
