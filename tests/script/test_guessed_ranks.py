"""Inputs that nothing describes, of which the program asks the rank: the first rank for which it does not raise."""
import torch
from torch import nn

from scripted import same
from test_places import module


class States(nn.Module):
    """Each input has the rank that its own check asks for, and the first check passes before the second is met."""

    def forward(self, x, h, c):
        if h.dim() * 2 != 6:
            raise RuntimeError("h")
        if c.dim() * 2 != 4:
            raise RuntimeError("c")
        return x + h.sum(0) * c


class Steps(nn.Module):
    """As nn.LSTM checks its states, quantised: sizes against a list that only the running model knows."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 5)

    def forward(self, x, lengths, h, c):
        y, state = self.rnn(nn.utils.rnn.pack_padded_sequence(x, lengths), (h, c))
        return nn.utils.rnn.pad_packed_sequence(y)[0], state[0], state[1]


def test_each_input_has_a_guess_of_its_own(tmp_path):
    torch.manual_seed(0)
    done, _ = same(States(), tmp_path, [(torch.rand(3, 4), torch.rand(2, 3, 4), torch.rand(3, 4))], "-i", "x:float32[3,4]")
    assert "assumed: h has rank 3" in done.stderr and "assumed: c has rank 2" in done.stderr


def test_states_of_packed_sequences(tmp_path):
    torch.manual_seed(0)
    runs = [(torch.randn(t, 3, 4), torch.tensor([t, 2, 1]), torch.randn(1, 3, 5), torch.randn(1, 3, 5)) for t in (2, 5)]
    quantised = torch.ao.quantization.quantize_dynamic(Steps().eval(), {nn.LSTM}, dtype=torch.qint8)
    for model in (Steps(), quantised):
        same(model, tmp_path, runs, "-i", "x:float32[T,B,4]", "-i", "lengths:int64[B]")


class Reflected(nn.Module):
    def forward(self, x):
        return nn.functional.pad(x, [1, 2], "reflect") * 2


def test_what_is_reflected_along_one_axis_has_channels_and_a_batch(tmp_path):
    done, _ = same(Reflected(), tmp_path, [(torch.rand(2, 3, 4),)])
    assert "assumed: x has rank 3" in done.stderr


MANY = """
import torch
from torch import nn

class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 1)

    def forward(self, %s):
        y = self.conv(x0)
%s        return y
"""


def test_ranks_of_many_inputs(tmp_path):
    """More than there are evaluations for a program without any."""
    names = ["x%d" % i for i in range(100)]
    model = module(MANY % (", ".join(names), "".join("        y = y + self.conv(%s)\n" % n for n in names)), tmp_path, "many")
    done, _ = same(model, tmp_path, [tuple(torch.rand(2, 1, 3, 4) for _ in names)])
    assert "x99 has rank 4" in done.stderr
