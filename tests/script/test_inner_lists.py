"""Lists of lists whose lengths differ, or only the running model knows: hypotheses of a beam search, rows of what each step found. A list in
a list has an identity: what is written under another name must be seen, or refused."""
from typing import Dict, List, Tuple

import pytest
import torch
from torch import Tensor, nn

from random_programs import module_of
from scripted import refused, same

ROWS = ("-i", "x:float32[N,3]")


def rows(*counts):
    torch.manual_seed(3)
    return [(torch.rand(n, 3),) for n in counts]


def code(out: List[List[int]]) -> int:
    """One number that tells all items and lengths."""
    n = 0
    for r in out:
        n = n * 3 + len(r)
        for k in r:
            n = n * 2 + k
    return n


class BeamSearch(nn.Module):
    def forward(self, x):
        hyps: List[List[int]] = [[0], [0]]
        scores = [0.0, 0.0]
        for t in range(x.size(0)):
            s = torch.tensor(scores).unsqueeze(1) + x[t].unsqueeze(0)
            v, ix = s.view(-1).topk(2)
            new: List[List[int]] = []
            sc: List[float] = []
            for b in range(2):
                k = int(ix[b])
                new.append(hyps[k // 3] + [k % 3])
                sc.append(float(v[b]))
            hyps = new
            scores = sc
        return torch.tensor(hyps[0]), torch.tensor(hyps[1])


class Triangle(nn.Module):
    def forward(self, x):
        out: List[List[int]] = []
        for i in range(x.size(0)):
            row: List[int] = []
            for j in range(i + 1):
                row.append(int(x[i].argmax()) + j)
            out.append(row)
        n = 0
        for r in out:
            n += len(r)
        return torch.tensor(out[x.size(0) - 1]), n


class Found(nn.Module):
    def forward(self, x):
        out: List[List[int]] = []
        for i in range(x.size(0)):
            row: List[int] = []
            for j in range(3):
                if bool(x[i, j] > 0.5):
                    row.append(j)
            out.append(row)
        n = 0
        for r in out:
            for k in r:
                n = n * 2 + k
        return n, len(out), len(out[0])


class LongerInAnArm(nn.Module):
    def forward(self, x):
        out: List[List[int]] = [[1]]
        if bool(x.sum() > 3):
            out.append([1, 2, 3])
        return len(out), len(out[-1]), torch.tensor(out[-1])


class OfTensors(nn.Module):
    def forward(self, x):
        out: List[List[Tensor]] = []
        for i in range(x.size(0)):
            row: List[Tensor] = []
            for j in range(3):
                if bool(x[i, j] > 0.3):
                    row.append(x[i] * j)
            row.append(x[i])
            out.append(row)
        return torch.stack(out[0]), torch.stack(out[-1])


class BestOfCandidates(nn.Module):
    def forward(self, x):
        hyps: List[Tuple[List[int], float]] = [([0], 0.0)]
        for t in range(x.size(0)):
            cand: List[Tuple[List[int], float]] = []
            for h in hyps:
                for k in range(3):
                    cand.append((h[0] + [k], h[1] + float(x[t, k])))
            best: List[Tuple[List[int], float]] = []
            for r in range(2):
                bi = 0
                for c in range(len(cand)):
                    if cand[c][1] > cand[bi][1]:
                        bi = c
                best.append(cand[bi])
                cand.pop(bi)
            hyps = best
        return torch.tensor(hyps[0][0]), hyps[0][1], torch.tensor(hyps[1][0])


class TuplesInArms(nn.Module):
    def forward(self, x):
        hyps: List[Tuple[List[int], float]] = [([0], 0.0)]
        for t in range(x.size(0)):
            nxt: List[Tuple[List[int], float]] = []
            for h in hyps:
                if bool(x[t, 0] > 0.4):
                    nxt.append((h[0] + [t], h[1] + float(x[t, 1])))
                if bool(x[t, 2] > 0.6):
                    nxt.append((h[0], h[1] + 1.0))
            hyps = nxt
        n = 0
        s = 0.0
        for h in hyps:
            n = n * 2 + len(h[0])
            s = s + h[1]
        return n, s, len(hyps)


class AppendsAndWrites(nn.Module):
    """The row is still open when it is appended."""
    def forward(self, x):
        out: List[List[int]] = []
        for i in range(x.size(0)):
            row = [i]
            out.append(row)
            row.append(int(x[i].argmax()))
        return code(out)


class WritesWhatItTook(nn.Module):
    def forward(self, x):
        out: List[List[int]] = []
        for i in range(x.size(0)):
            row: List[int] = []
            for j in range(3):
                if bool(x[i, j] > 0.5):
                    row.append(j)
            out.append(row)
        r = out[0]
        r.append(5)
        return r[0] + len(r)


class WrittenInTheArm(nn.Module):
    def forward(self, x):
        out: List[List[int]] = [[1]]
        row = [4, 5]
        if bool(x.sum() > 3):
            out.append(row)
            row.append(6)
        return code(out), len(row)


class PutsInPlace(nn.Module):
    def forward(self, x):
        out = [[7] for _ in range(x.size(0))]
        for i in range(x.size(0)):
            k = int(x[i].argmax()) % x.size(0)
            out[k] = out[k] + [i]
        return code(out)


class Reorders(nn.Module):
    def forward(self, x):
        hyps: List[List[int]] = [[0] for _ in range(3)]
        for i in range(x.size(0)):
            order = torch.argsort(x[i])
            new: List[List[int]] = []
            for j in range(3):
                k = int(order[j])
                new.append(hyps[k] + [k])
            hyps = new
        return torch.tensor(hyps)


class Changes(nn.Module):
    def forward(self, x):
        out: List[List[int]] = []
        for i in range(x.size(0)):
            row: List[int] = []
            for j in range(3):
                if bool(x[i, j] > 0.5):
                    row.append(j)
            out.append(row)
        a = code(out[1:])
        out.insert(0, [9, 9])
        b = code(out)
        out.reverse()
        c = code(out)
        p = out.pop()
        d = code(out) * 5 + len(p)
        q = out + [[1]]
        out.extend(q)
        e = code(out)
        del out[0]
        f = code(out.copy())
        out[0] = [1, 2, 3, 4]
        g = code(out)
        out.clear()
        return a, b, c, d, e, f, g, len(out)


class OtherLengthLater(nn.Module):
    def forward(self, x):
        out: List[List[int]] = []
        for i in range(x.size(0)):
            out.append([i, int(x[i].argmax())])
        a = code(out)
        out.append([1, 2, 3])
        b = code(out)
        out.append(torch.jit.annotate(List[int], []))
        return a, b, code(out)


class InDicts(nn.Module):
    def forward(self, x):
        out: List[Dict[str, List[int]]] = []
        for i in range(x.size(0)):
            row: List[int] = []
            for j in range(3):
                if bool(x[i, j] > 0.5):
                    row.append(j)
            out.append({"a": row, "b": [i]})
        n = 0
        for d in out:
            n = n * 3 + len(d["a"]) + d["b"][0]
        return n


class EmptyFirst(nn.Module):
    def forward(self, x):
        out: List[List[int]] = [torch.jit.annotate(List[int], [])]
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                out.append([i])
            else:
                out.append(out[-1] + [i])
        return code(out)


class EmptyInATuple(nn.Module):
    def forward(self, x):
        out: List[Tuple[int, List[int]]] = [(0, torch.jit.annotate(List[int], []))]
        for i in range(x.size(0)):
            if bool(x[i, 0] > 0.5):
                out.append((1, [i, i]))
            else:
                out.append((2, out[-1][1] + [i]))
        n = 0
        for a, b in out:
            n = n * 2 + a + len(b)
        return n


# ---- tolist() ----

class OfOpenRows(nn.Module):
    def forward(self, x):
        l: List[List[float]] = x.tolist()
        s = 0.0
        for r in l:
            a, b, c = r
            s = s * 0.5 + a * b + c
        l[0] = [1.0]
        return s, len(l), len(l[0]), sum(l[-1])


class OfOpenSizes(nn.Module):
    def forward(self, x):
        l: List[List[float]] = (x @ x.t()).tolist()
        s = 0.0
        for r in l:
            for k in r:
                s = s * 0.5 + k
        return s, len(l), torch.tensor(l)


class OfRank3(nn.Module):
    def forward(self, x):
        l: List[List[List[int]]] = (x.unsqueeze(0).expand(2, -1, -1) * 10).long().tolist()
        l2: List[List[List[int]]] = (x.unsqueeze(1).expand(-1, 2, -1) * 10).long().tolist()
        s = 0
        for r in l:
            for k in r:
                for m in k:
                    s = s * 2 + m
        for r in l2:
            for k in r:
                for m in k:
                    s = s * 2 + m
        return s, len(l2[0]), torch.tensor(l2)


class OfPlaces(nn.Module):
    def forward(self, x):
        l: List[List[int]] = torch.nonzero(x > 0.5).tolist()
        n = 0
        for p in l:
            n = n * 2 + p[0] * 3 + p[1]
        return n, len(l)


class Unpacked(nn.Module):
    def forward(self, x):
        l: List[bool] = (x[:, 0] > 0.5).tolist()
        if len(l) == 3:
            a, b, c = l
            n = int(a) + int(b)
        else:
            n = 7
        return n


MODELS = [BeamSearch, Triangle, Found, LongerInAnArm, OfTensors, BestOfCandidates, TuplesInArms,
          AppendsAndWrites, WritesWhatItTook, WrittenInTheArm, PutsInPlace, Reorders, Changes,
          OtherLengthLater, InDicts, EmptyFirst, EmptyInATuple, OfOpenRows, OfOpenSizes, OfRank3, OfPlaces,
          Unpacked]


@pytest.mark.parametrize("opset", [14, 26])
@pytest.mark.parametrize("model", MODELS)
def test_program(model, opset, tmp_path):
    same(model(), tmp_path, rows(1, 2, 5, 7), *ROWS, "--opset", str(opset))


# ---- one list under two names ----


class WritesAnItem(nn.Module):
    def forward(self, x):
        out: List[List[int]] = []
        for i in range(x.size(0)):
            row: List[int] = []
            for j in range(3):
                if bool(x[i, j] > 0.5):
                    row.append(j)
            out.append(row)
        r = out[0]
        r.append(5)
        return code(out)


class AppendsOneManyTimes(nn.Module):
    def forward(self, x):
        out: List[List[int]] = []
        row = [1]
        for i in range(x.size(0)):
            out.append(row)
            if bool(x[i, 0] > 0.5):
                row.append(2)
        return code(out)


class WritesATensorOfAnItem(nn.Module):
    def forward(self, x):
        out: List[List[Tensor]] = []
        for i in range(x.size(0)):
            row: List[Tensor] = []
            t = x[i] * 2
            for j in range(3):
                if bool(x[i, j] > 0.3):
                    row.append(t)
            row.append(t)
            out.append(row)
            t.add_(1)
        return torch.stack(out[0]), torch.stack(out[-1])


class WritesWhatItIndexed(nn.Module):
    def forward(self, x):
        hyps = [[0], [1], [1, 2]]
        k = int(x[0].argmax())
        h = hyps[k]
        h.append(5)
        return code(hyps)


class IndexedIsWritten(nn.Module):
    def forward(self, x):
        hyps = [[0], [1], [1, 2]]
        k = int(x[0].argmax())
        h = hyps[k]
        hyps[0].append(7)
        return len(h)


class WrittenBehindTheArm(nn.Module):
    def forward(self, x):
        out: List[List[int]] = [[1]]
        row = [4, 5]
        if bool(x.sum() > 3):
            out.append(row)
        row.append(6)
        return code(out), len(row)


class KeepsAnItem(nn.Module):
    def forward(self, x):
        out: List[List[float]] = []
        best: List[float] = []
        for i in range(x.size(0)):
            row: List[float] = []
            for j in range(3):
                if bool(x[i, j] > 0.5):
                    row.append(float(x[i, j]))
            out.append(row)
            if len(row) >= len(best):
                best = row
        out[0].append(1.0)
        return len(best), sum(best)


class WritesATensorInside(nn.Module):
    def forward(self, x):
        out: List[List[Tensor]] = []
        for i in range(x.size(0)):
            row: List[Tensor] = []
            for j in range(3):
                if bool(x[i, j] > 0.3):
                    row.append(x[i] * j)
            row.append(x[i])
            out.append(row)
        t = out[0][0]
        t.add_(1)
        return torch.stack(out[0]), torch.stack(out[-1])


class LengthOfWritten(nn.Module):
    def forward(self, x):
        hyps = [[0], [1], [1]]
        k = int(x[0].argmax())
        h = hyps[k]
        hyps[0].append(7)
        return len(h)


class ExtendsByWritten(nn.Module):
    def forward(self, x):
        hyps = [[0], [1], [1]]
        k = int(x[0].argmax())
        h = hyps[k]
        hyps[0].append(1)
        b = [1]
        b.extend(h)
        return len(b)


@pytest.mark.parametrize("model", [WritesAnItem, AppendsOneManyTimes, WritesATensorOfAnItem, WritesWhatItIndexed, IndexedIsWritten,
                                   WrittenBehindTheArm, KeepsAnItem, WritesATensorInside, LengthOfWritten, ExtendsByWritten])
def test_written_under_another_name(model, tmp_path):
    said = refused(model(), tmp_path, *ROWS)
    assert "is not known" in said and "try:" in said


class ListsOfListsOfLists(nn.Module):
    def forward(self, x):
        out: List[List[List[int]]] = []
        for i in range(x.size(0)):
            a: List[List[int]] = []
            for j in range(i + 1):
                a.append([i, j])
            out.append(a)
        return len(out)


def test_three_levels(tmp_path):
    assert "items are not alike" in refused(ListsOfListsOfLists(), tmp_path, *ROWS)


class TuplesOfListsOfLists(nn.Module):
    """Beside a list of an dynamic length one whose length all items have."""
    def forward(self, x):
        q: List[Tuple[List[Tensor], List[Tensor]]] = [([x[0]], [x[0], x[0]])]
        if bool(x.sum() > 4):
            q.append(([x[0], x[1]], [x[0], x[1]]))
        return q[-1][0][0] + q[-1][1][1], len(q[-1][0]), len(q)


class DictsOfLists(nn.Module):
    def forward(self, x):
        q: List[Dict[str, List[Tensor]]] = [{"some": [x[0]], "two": [x[0], x[0]]}]
        for i in range(x.size(0)):
            q.append({"some": [x[i], x[0], x[i]], "two": [x[i], x[0]]})
        return q[-1]["some"][0] + q[-1]["two"][1], len(q[-1]["some"]), len(q[0]["some"])


class ListsBesideDicts(nn.Module):
    def forward(self, x):
        q: List[Tuple[List[Tensor], Dict[str, Tensor]]] = [([x[0]], {"a": x[0]})]
        for i in range(x.size(0)):
            q.append(([x[i], x[0], x[i]], {"a": x[i]}))
        return q[-1][0][0] + q[-1][1]["a"], len(q[-1][0]), len(q[0][0])


@pytest.mark.parametrize("model", [TuplesOfListsOfLists, DictsOfLists, ListsBesideDicts])
def test_containers_beside_a_list_of_an_open_length(model, tmp_path):
    same(model(), tmp_path, rows(2, 4, 7), *ROWS)


class Factors(nn.Module):
    """Non-negative factors, one pair at a time: a list of dicts of tensors, both of whose sizes are dynamic, that a loop of the model's own length fills."""
    def forward(self, x):
        found: List[Dict[str, Tensor]] = []
        rest = x
        for _ in range(x.size(1)):
            u = rest.mean(1, keepdim=True)
            v = rest.mean(0, keepdim=True)
            for _ in range(2):
                v = v * (u.t() @ rest) / (u.t() @ u @ v + 1e-3)
                u = u * (rest @ v.t()) / (u @ v @ v.t() + 1e-3)
            found.append({"u": u, "v": v})
            rest = torch.relu(rest - u @ v)
        return torch.cat([f["u"] for f in found], 1), torch.cat([f["v"] for f in found], 0)


class Growing(nn.Module):
    """Its tensors have other sizes in each dict."""
    def forward(self, x):
        found: List[Dict[str, Tensor]] = []
        for i in range(x.size(0)):
            found.append({"rows": x[:i + 1], "first": x[i, :1]})
        out = torch.zeros(3)
        for f in found:
            out = out + f["rows"].sum(0) * f["first"]
        return out


def test_factors_in_a_list_of_dicts(tmp_path):
    _, nodes = same(Factors(), tmp_path, [(torch.rand(n, m),) for n, m in [(4, 3), (6, 5), (5, 1)]], "-i", "x:float32[M,N]")
    assert "Loop" in nodes


def test_dicts_of_tensors_that_grow(tmp_path):
    _, nodes = same(Growing(), tmp_path, rows(3, 1, 5), *ROWS)
    assert "SequenceInsert" in nodes


class SetsAnotherLength(nn.Module):
    """lists becomes one tensor only when its item is set, as only then a row has another length."""
    def forward(self, x):
        lists: List[List[int]] = [[1], [2]]
        same = lists
        lists[int(x[0, 0])] = [1, 2]
        return code(same)


class InsertsAnotherLength(nn.Module):
    def forward(self, x):
        lists: List[List[int]] = [[1], [2]]
        lists.insert(int(x[0, 0]), [1, 2])
        row = lists.pop(int(x[0, 1]))
        return code(lists), len(row)


class SetsTensors(nn.Module):
    def forward(self, x):
        lists: List[List[Tensor]] = [[x], [x + 1]]
        lists[int(x[0, 0])] = [x * 2, x * 3]
        return lists[0][0], len(lists[0]), len(lists[1])


class InsertsTensors(nn.Module):
    def forward(self, x):
        lists: List[List[Tensor]] = [[x], [x + 1]]
        lists.insert(int(x[0, 0]), [x * 2, x * 3])
        return len(lists), len(lists[0]), torch.stack(lists[2]).sum()


class SetsATupleWithAList(nn.Module):
    def forward(self, x):
        lists: List[Tuple[int, List[int]]] = [(1, [1]), (2, [2])]
        lists[int(x[0, 0])] = (3, [1, 2])
        return lists[0][0], len(lists[0][1]), len(lists[1][1])


@pytest.mark.parametrize("module", [SetsAnotherLength, InsertsAnotherLength, SetsTensors, InsertsTensors, SetsATupleWithAList])
def test_an_item_of_another_length_at_a_place_that_only_the_running_model_knows(module, tmp_path):
    same(module(), tmp_path, [(torch.tensor([[0., 1., 2.]]),), (torch.tensor([[1., 0., 2.], [1., 1., 1.]]),)], *ROWS)


class SetsTuplesOfAnotherLength(nn.Module):
    def forward(self, x):
        lists: List[List[Tuple[int, int]]] = [[(1, 2)], [(3, 4)]]
        lists[int(x[0, 0])] = [(5, 6), (7, 8)]
        return lists[0][0][0]


class WritesAnItem(nn.Module):
    """row may be in the list, under another name."""
    def forward(self, x):
        row = [1]
        lists: List[List[int]] = [row, [2]]
        lists[int(x[0, 0])] = [1, 2]
        row.append(3)
        return code(lists)


class WritesTheNewItem(nn.Module):
    def forward(self, x):
        row = [1, 2]
        lists: List[List[int]] = [[1], [2]]
        lists[int(x[0, 0])] = row
        row.append(3)
        return code(lists)


@pytest.mark.parametrize("module, why", [
    (SetsTuplesOfAnotherLength, "gets items that differ in more than the contents"),
    (WritesAnItem, "under several names, and one of them was written since"),
    (WritesTheNewItem, "under several names, and one of them was written since"),
])
def test_an_item_of_another_length_is_refused(module, why, tmp_path):
    assert why in refused(module(), tmp_path, *ROWS)


# ---- written after an open index has chosen it: which of them was written only the running model knows ----

CHOSEN = """
import torch
from torch import Tensor, nn
from typing import Dict, List, Tuple


class Net(nn.Module):
    def forward(self, x: Tensor):
        a, b = [1, 2], [3, 4]
        l = [a, b]
        k = x.size(0) % 2
        {write}
        return {read}
"""

READS = {
    "tensor": "torch.tensor(l)",
    "as_tensor": "torch.as_tensor(l)",
    "slice": "torch.tensor(l[:1])",
    "joined": "torch.tensor(l + [[5, 6]])",
    "repeated": "torch.tensor(l * 2)",
    "other": "torch.tensor([[5, 6], l[0]])",
    "comprehension": "torch.tensor([r for r in l])",
    "item": "l[0][0]",
    "chosen": "l[k][0]",
    "chosen_tensor": "torch.tensor(l[k])",
    "length": "len(l[0])",
    "equal": "l[0] == [1, 2]",
    "text": "len(str(l))",
    "returned": "l",
    "in_a_dict": "{'l': l}",
    "named": "torch.tensor([a, b])",
    "sum": "sum(b)",
}

WRITES = {
    "set": "l[k][0] = 4",
    "appended": "l[k].append(4)",
    "reversed": "l[k].reverse()",
    "named": "c = l[k]; c[0] = 4",
    "in_a_branch": "if bool(x.sum() > 0): l[k][0] = 4",
    "in_a_loop": "\n        for i in range(x.size(0)): l[i % 2][0] = 4",
    "in_tuples": "p = [(a, 1), (b, 2)]; p[k][0][0] = 4",
    "two_deep": "o = [l, l]; o[k][0][0] = 4; o[k][1][0] = 4",
    "in_a_dict": "\n        d = {'a': a, 'b': b}\n        d['a' if k == 0 else 'b'][0] = 4",
    "in_a_dict_of_equal_lists": "\n        b = [1, 2]; l = [a, b]; d = {'a': a, 'b': b}\n        d['a' if k == 0 else 'b'][0] = 4",
    "set_and_written": "r = [7, 7]; l[k] = r; l[0][1] = 9; r[0] = 9; a = r; b = r",
    "taken_and_written": "r = l.pop(k); r[0] = 9",
}


def chosen(tmp_path, write, read):
    return module_of(CHOSEN.replace("{write}", write).replace("{read}", read), tmp_path)


@pytest.mark.parametrize("write, read", [(w, r) for w in ("set", "in_a_loop") for r in READS]
                         + [(w, r) for w in WRITES for r in ("tensor", "named")])
def test_what_an_open_index_may_have_written_is_not_read(write, read, tmp_path):
    told = refused(chosen(tmp_path, WRITES[write], READS[read]), tmp_path, "-i", "x:float32[N]")
    assert "one of them was written since" in told, told


@pytest.mark.parametrize("write, read", [
    ("r = l[k].copy(); r[0] = 4; l[k] = r", "torch.tensor(l)"),
    ("l[k] = [4, l[k][1]]", "torch.tensor(l)"),
    ("c = l[k]; c[0] = 4", "torch.tensor(c)"),
    ("l[k][0] = 4; l[0] = [5, 5]; l[1] = [6, 6]", "torch.tensor(l)"),
    ("l[k][0] = 4", "len(l), len(l + l), len(l[:1])"),
    ("t = l[k]; l[k] = l[1 - k]; l[1 - k] = t", "torch.tensor(l)"),
])
def test_what_an_open_index_has_surely_written(write, read, tmp_path):
    same(chosen(tmp_path, write, read), tmp_path, [(torch.zeros(n),) for n in (1, 2, 3, 4)], "-i", "x:float32[N]")


class JoinsAnEmptyList(nn.Module):
    """A sequence without items says no rank, and the join of two has the rank of their items all the same."""
    def forward(self, x):
        rows: List[List[int]] = []
        for i in range(x.size(0)):
            rows.append([i] * (i % 3))
        none: List[List[int]] = []
        behind = rows + none
        before = none + rows
        before[0] = [1, 2, 3]
        behind[0] = [4, 5]
        return torch.tensor(behind[-1]), torch.tensor(before[-1]), len(rows[0])


def test_a_list_of_lists_is_joined_with_an_empty_one(tmp_path):
    same(JoinsAnEmptyList(), tmp_path, rows(1, 2, 3, 6), *ROWS)
