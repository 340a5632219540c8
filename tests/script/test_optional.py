"""Optionals that only the running model decides: None in one branch of an if, before a loop's first iteration, or once again in some iteration."""
from typing import Dict, List, Optional, Tuple

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from scripted import oracle, refused, same, same_or_refused, save

ROWS = ("-i", "x:float32[N,3]")


def rows(*counts):
    torch.manual_seed(3)
    return [(torch.rand(n, 3),) for n in counts]


class SetInOneArm(nn.Module):
    def forward(self, x):
        y: Optional[Tensor] = None
        if bool(x.sum() > 3):
            y = x * 2
        if y is not None:
            return y
        return x


class OtherRankWhereSet(nn.Module):
    """Behind `if y is not None` y has another rank; where y is None there is none to agree with."""
    def forward(self, x):
        y: Optional[Tensor] = None
        if bool(x.sum() > 3):
            y = x * 2
        if y is not None:
            y = y.unsqueeze(0)
        z: Optional[Tensor] = y
        if z is None:
            z = x.unsqueeze(0) - 1
        return z if y is None else y + z


class FirstTripSets(nn.Module):
    def forward(self, x):
        h: Optional[Tensor] = None
        for i in range(x.size(0)):
            if h is None:
                h = x[i]
            else:
                h = h * 0.5 + x[i]
        if h is None:
            h = torch.zeros(3)
        return h


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, hx: Optional[Tuple[Tensor, Tensor]]) -> Tuple[Tensor, Tensor]:
        if hx is None:
            hx = (torch.zeros(3), torch.ones(3))
        h, c = hx
        c = c * 0.5 + torch.tanh(self.a(x))
        return torch.tanh(self.b(h)) * c, c


class RecurrentCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = Cell()

    def forward(self, x):
        hx: Optional[Tuple[Tensor, Tensor]] = None
        for i in range(x.size(0)):
            hx = self.c(x[i], hx)
        if hx is None:
            return torch.zeros(3)
        return hx[0] + hx[1]


class SetToNoneAgain(nn.Module):
    def forward(self, x):
        h: Optional[Tensor] = x[0]
        y = x[0]
        for i in range(x.size(0)):
            if h is not None:
                y = y + h
            if bool(x[i].sum() > 1.5):
                h = None
            else:
                h = x[i]
        return y


class BestSoFar(nn.Module):
    def forward(self, x):
        best: Optional[int] = None
        for i in range(x.size(0)):
            k = int(x[i].argmax())
            if best is None or k > best:
                best = k
        assert best is not None
        return best


class UntilFound(nn.Module):
    def forward(self, x):
        found: Optional[Tensor] = None
        i = 0
        while found is None and i < x.size(0):
            if bool(x[i].sum() > 1.5):
                found = x[i]
            i += 1
        return x[0] if found is None else found * 2, i


class GivenToAMethod(nn.Module):
    def pick(self, x, m: Optional[Tensor] = None):
        if m is not None:
            x = x * m
        return x
    def forward(self, x):
        m: Optional[Tensor] = None
        if bool(x.sum() > 3):
            m = x[:, :1]
        return self.pick(x, m) + 1


class InBranches(nn.Module):
    def forward(self, x):
        m: Optional[Tensor] = None
        n: Optional[Tensor] = None
        if bool(x.sum() > 3):
            if bool(x.max() > 0.9):
                m = x * 2
            n = m
        else:
            n = x
        y = x
        if m is not None and n is not None:
            y = m + n
        elif n is not None:
            y = n * 3
        return y


class DecidedBySize(nn.Module):
    def forward(self, x):
        m: Optional[Tensor] = None
        if x.size(0) > 2:
            m = x[2]
        if m is None:
            return x[0]
        return m * 2


@pytest.mark.parametrize("opset", [11, 18])
@pytest.mark.parametrize("model", [SetInOneArm, OtherRankWhereSet, FirstTripSets, RecurrentCell, SetToNoneAgain, BestSoFar, UntilFound, GivenToAMethod, InBranches, DecidedBySize])
def test_none_or_a_value(model, opset, tmp_path):
    same(model(), tmp_path, rows(1, 2, 7), *ROWS, "--opset", str(opset))


class Written(nn.Module):
    """Behind the branch m may be z."""
    def forward(self, x):
        m: Optional[Tensor] = None
        z = x + 0
        if bool(x.sum() > 3):
            m = z
        if m is not None:
            m.mul_(2)
        return z


class RanksDiffer(nn.Module):
    def forward(self, x):
        m: Optional[Tensor] = None
        if bool(x.sum() > 3):
            m = x
        elif bool(x.sum() > 2):
            m = x[0]
        return x if m is None else m + x


@pytest.mark.parametrize("model,why", [(Written, "same memory in one branch"), (RanksDiffer, "the program must give both one rank")])
def test_what_is_refused(model, why, tmp_path):
    assert why in refused(model(), tmp_path, *ROWS)


class GivesNone(nn.Module):
    def forward(self, x) -> Optional[Tensor]:
        if bool(x.sum() > 3):
            return x
        return None


class GivesNoneBehindLoop(nn.Module):
    def forward(self, x) -> Tuple[Tensor, Optional[Tensor], Optional[int]]:
        y: Optional[Tensor] = None
        n: Optional[int] = None
        for i in range(x.size(0) - 1):
            y = x[i] * 2
            n = i
        return x + 1, y, n


@pytest.mark.parametrize("model", [GivesNone, GivesNoneBehindLoop])
def test_none_is_an_empty_optional(model, tmp_path):
    path, out = save(model(), tmp_path), tmp_path / "model.onnx"
    said = oracle.converted(path, out, *ROWS, "--opset", "16").stderr
    assert "is an ONNX optional, empty in the runs where it is None" in said
    oracle.check(out)
    session = onnxruntime.InferenceSession(str(out))
    for x, in rows(1, 2, 7):
        wanted = torch.jit.load(str(path))(x)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for ours, theirs in zip(session.run(None, {"x": x.numpy()}), wanted, strict=True):
            assert (ours is None) == (theirs is None)
            assert theirs is None or torch.allclose(torch.as_tensor(ours), torch.as_tensor(theirs))
    assert "--opset 16, or return an empty tensor" in refused(model(), tmp_path, *ROWS, "--opset", "15")


# ---- lists, dicts and objects that may be None ----

class CacheOfLists(nn.Module):
    def forward(self, x):
        cache: Optional[List[Tensor]] = None
        for i in range(x.size(0)):
            if cache is not None:
                cache = [cache[0] + x[i], cache[1] * 2]
            else:
                cache = [torch.ones(3), x[i]]
        if cache is not None:
            return cache[0], cache[1]
        return torch.zeros(3), torch.zeros(3)


class CacheOfDicts(nn.Module):
    def forward(self, x):
        cache: Optional[Dict[str, Tensor]] = None
        for i in range(x.size(0)):
            if cache is None:
                cache = {"k": torch.ones(3), "v": x[i]}
            else:
                cache = {"k": cache["k"] + x[i], "v": cache["v"] * 2}
        if cache is not None:
            return cache["k"], cache["v"]
        return torch.zeros(3), torch.zeros(3)


class Kept:
    def __init__(self, t: Tensor, n: int):
        self.t = t
        self.n = n


class CacheOfObjects(nn.Module):
    def forward(self, x):
        cache: Optional[Kept] = None
        for i in range(x.size(0)):
            if cache is not None:
                cache.t = cache.t + x[i]
                cache.n += i
            else:
                cache = Kept(torch.ones(3), 3)
        if cache is not None:
            return cache.t, cache.n
        return torch.zeros(3), 0


class LongerInOneArm(nn.Module):
    """A list is not None, however long it is."""
    def forward(self, x):
        v: Optional[List[Tensor]] = [x]
        if bool(x.sum() > 3) and v is not None:
            v.append(x + 1)
        if v is not None:
            return v[-1] + len(v)
        return x


@pytest.mark.parametrize("module", [CacheOfLists, CacheOfDicts, CacheOfObjects, LongerInOneArm])
def test_what_may_be_none_is_a_list_or_dict_or_object(module, tmp_path):
    same(module(), tmp_path, rows(2, 5, 1, 0), *ROWS)


# ---- what an iteration binds to a name that is None, or to a new key, has what later iterations write ----

def total(kept: Optional[Tensor], x: Tensor) -> Tensor:
    result = x.sum() * 0
    if kept is not None:
        result = kept.sum()
    return result


class BoundInALoop(nn.Module):
    """kept is x from the first iteration on, so it has what later ones write."""
    def forward(self, x):
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            x.mul_(2)
            if i == 0:
                kept = x
        return total(kept, x)


class BoundWhereNone(nn.Module):
    def forward(self, x):
        kept: Optional[Tensor] = None
        i = 0
        while i < x.size(0):
            x.mul_(2)
            if kept is None:
                kept = x
            i += 1
        return total(kept, x)


class BoundToAView(nn.Module):
    def forward(self, x):
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            x.mul_(2)
            if i == 0:
                kept = x[:1]
        return total(kept, x)


class BoundInATuple(nn.Module):
    def forward(self, x):
        kept = torch.jit.annotate(Optional[Tuple[Tensor, Tensor]], None)
        for i in range(x.size(0)):
            x.mul_(2)
            if i == 0:
                kept = (x, x + 1)
        result = x.sum() * 0
        if kept is not None:
            result = kept[0].sum()
        return result


class WrittenThroughTheName(nn.Module):
    def forward(self, x):
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            if kept is not None:
                kept.mul_(2)
            if i == 0:
                kept = x
        return x.sum()


class BoundToACarriedName(nn.Module):
    """From the second iteration on h is another tensor."""
    def forward(self, x):
        h = x + 1
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            h.mul_(2)
            if i == 1:
                h = h + 1
            if i == 0:
                kept = h
        return total(kept, x)


class BoundByWayOfAnother(nn.Module):
    def forward(self, x):
        kept: Optional[Tensor] = None
        other: Optional[Tensor] = None
        y = x + 1
        for i in range(x.size(0)):
            if other is not None:
                other.mul_(2)
            if i == 0:
                other = y
            if i == 1:
                kept = other
        return total(kept, x) + y.sum()


class BoundInALoopInALoop(nn.Module):
    def forward(self, x):
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            for j in range(x.size(0)):
                x.mul_(2)
                if i == 0 and j == 0:
                    kept = x
        return total(kept, x)


class BoundToAKey(nn.Module):
    def forward(self, x):
        found: Dict[str, Tensor] = {}
        for i in range(x.size(0)):
            x.mul_(2)
            if i == 0:
                found["k"] = x
        return total(found.get("k"), x)


class LeftInAList(nn.Module):
    def forward(self, x):
        found: List[Tensor] = []
        for i in range(x.size(0)):
            x.mul_(2)
            if i == 0:
                found.append(x)
        return torch.stack(found).sum()


class AppendedAndNamed(nn.Module):
    """From the first iteration on kept is the first item, which later ones write to."""
    def forward(self, x):
        found: List[Tensor] = []
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            if kept is not None:
                kept.mul_(2)
            new = x + i
            found.append(new)
            if i == 0:
                kept = new
        return torch.stack(found).sum()


class ItemWrittenInALoop(nn.Module):
    """kept may be x, by way of a list and a place that only the running model knows."""
    def forward(self, x):
        found = [x, x + 1]
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            if i == 0:
                kept = found[int(x[0]) - 1]
            elif kept is not None:
                kept.mul_(2)
        return x.sum()


class ItemBound(nn.Module):
    """Without a branch: kept is what the iteration before has taken out."""
    def forward(self, x):
        found = [x, x + 1]
        kept = x + 5
        for i in range(x.size(0)):
            kept.mul_(2)
            kept = found[int(x[0]) - 1]
        return x.sum()


class AppendedInAPair(nn.Module):
    def forward(self, x):
        found: List[Tuple[Tensor, int]] = []
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            if kept is not None:
                kept.mul_(2)
            new = x + i
            found.append((new, i))
            if i == 0:
                kept = new
        return found[0][0].sum()


@pytest.mark.parametrize("module", [BoundInALoop, BoundWhereNone, BoundToAView, BoundInATuple, WrittenThroughTheName, BoundToACarriedName,
                                    BoundByWayOfAnother, BoundInALoopInALoop, BoundToAKey, LeftInAList, AppendedAndNamed,
                                    ItemWrittenInALoop, ItemBound, AppendedInAPair])
def test_a_write_to_what_another_iteration_has_bound(module, tmp_path):
    """PyTorch's result, or refused with a reason."""
    done = same_or_refused(module(), tmp_path, [torch.tensor([1., 2.]), torch.tensor([1., 2., 3.]), torch.ones(1)], "-i", "x:float32[N]")
    if done.returncode:
        assert "and one of them was written since" in done.stderr


class BoundToACopy(nn.Module):
    def forward(self, x):
        kept: Optional[Tensor] = None
        for i in range(x.size(0)):
            x.mul_(2)
            if i == 0:
                kept = x.clone()
        return total(kept, x)


class BoundToWhatIsNotWritten(nn.Module):
    """Each iteration writes, but to nothing that kept may be."""
    def forward(self, x):
        kept: Optional[Tensor] = None
        now = x
        n = torch.zeros(1)
        for i in range(x.size(0)):
            n.add_(1)
            now = now * 2
            if now.sum() > 3:
                kept = now
        return total(kept, x), n


class AppendedAndRead(nn.Module):
    def forward(self, x):
        found: List[Tensor] = []
        kept: Optional[Tensor] = None
        n = torch.zeros(1)
        for i in range(x.size(0)):
            n.add_(1)
            new = x + i
            found.append(new)
            if x[0] > 0:
                kept = new
        return torch.stack(found).sum() + total(kept, x), n


@pytest.mark.parametrize("module", [BoundToACopy, BoundToWhatIsNotWritten, AppendedAndRead])
def test_what_no_other_iteration_writes_is_converted(module, tmp_path):
    _, nodes = same(module(), tmp_path, [(torch.tensor([1., 2.]),), (torch.tensor([1., 2., 3.]),), (torch.ones(1),)], "-i", "x:float32[N]")
    assert "Loop" in nodes
