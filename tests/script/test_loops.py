"""--loops: which loops ONNX runs. What a loop gives does not depend on it."""
from typing import List

import pytest
import torch
from torch import Tensor, nn

from scripted import oracle, refused, same, save


class Repeats(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.conv = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x):
        for i in range(self.n):
            x = torch.relu(self.conv(x))
        return x


IMAGES = [(torch.rand(1, 2, 5, 5),), (torch.rand(2, 2, 4, 6),)]
SIZES = ("-i", "x:float32[N,2,H,W]")


def test_a_kept_loop_has_one_structure_for_any_number_of_trips(tmp_path):
    found = [same(Repeats(n), tmp_path, IMAGES, *SIZES, "--loops=keep")[1] for n in (2, 3)]
    assert found[0] == found[1] and found[0].count("Loop") == 1 and found[0].count("Conv") == 1


def test_a_known_loop_is_unrolled(tmp_path):
    for how in ("auto", "unroll"):
        found = same(Repeats(3), tmp_path, IMAGES, *SIZES, "--loops=" + how)[1]
        assert found.count("Conv") == 3 and "Loop" not in found


def test_a_loop_of_no_trips(tmp_path):
    for how in ("auto", "keep", "unroll"):
        assert "Loop" not in same(Repeats(0), tmp_path, IMAGES, *SIZES, "--loops=" + how)[1]


def test_what_would_unroll_to_too_much_is_kept(tmp_path):
    found = same(Repeats(60), tmp_path, IMAGES, *SIZES, "--limit", "unroll=100")[1]
    assert found.count("Loop") == 1 and found.count("Conv") == 1


class Layers(nn.Module):
    """The loop's number chooses an item that ONNX has no type for."""
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x):
        names = ["a", "b"]
        for i in range(2):
            if names[i] == "a":
                x = self.a(x)
            else:
                x = self.b(x)
        return x


def test_a_loop_that_onnx_cannot_run_is_unrolled_with_a_note(tmp_path):
    done, found = same(Layers(), tmp_path, [(torch.rand(2, 3),)], "-i", "x:float32[N,3]", "--loops=keep")
    assert "Loop" not in found and "is unrolled, because ONNX cannot run it" in done.stderr and "test_loops.py:" in done.stderr


class Steps(nn.Module):
    def forward(self, x):
        y = torch.zeros(3)
        for i in range(x.size(0)):
            y = y + x[i] * i
        return y


def test_a_loop_of_unknown_trips_cannot_be_unrolled(tmp_path):
    assert "cannot be unrolled" in refused(Steps(), tmp_path, "-i", "x:float32[N,3]", "--loops=unroll")
    assert "Loop" not in same(Steps(), tmp_path, [(torch.rand(4, 3),)], "-i", "x:float32[4,3]", "--loops=unroll")[1]


class EarlyExits(nn.Module):
    """break, continue and return: the flags that TorchScript prints for them."""
    def forward(self, x):
        total = torch.zeros(3)
        seen: List[Tensor] = []
        for i in range(4):
            if bool(x[i].sum() < 0):
                continue
            total = total + x[i]
            seen.append(total)
            if bool(total.sum() > 3):
                break
        if bool(total.sum() > 100):
            return total, 0
        return total * 2, len(seen)


@pytest.mark.parametrize("how", ["auto", "keep"])
@pytest.mark.parametrize("opset", [11, 13, 18, 26])
def test_early_exits(how, opset, tmp_path):
    torch.manual_seed(1)
    runs = [(torch.rand(4, 3) * k,) for k in (1, 0.1, 60)] + [(-torch.rand(4, 3),), (torch.randn(4, 3),)]
    same(EarlyExits(), tmp_path, runs, "-i", "x:float32[4,3]", "--loops=" + how, "--opset", str(opset))


def test_the_choice_is_checked(tmp_path):
    done = oracle.convert(save(Steps(), tmp_path), tmp_path / "model.onnx", "--loops=some")
    assert done.returncode == 2 and "one of auto, keep, unroll" in done.stderr
