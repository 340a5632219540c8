"""State in objects of a scripted class: what a run sets in them, in branches and loops too, and objects that change places."""
from typing import List

import pytest
import torch
from torch import Tensor, nn

from scripted import refused, save
from test_state import ROWS, rows, steps


class Cell:
    def __init__(self, t: Tensor, n: int):
        self.t = t
        self.n = n

    def add(self, u: Tensor):
        self.t = self.t + u


class Keeps(nn.Module):
    cells: List[Cell]

    def __init__(self):
        super().__init__()
        self.c = Cell(torch.zeros(3), 1)
        self.e = Cell(torch.ones(3), 2)
        self.cells = [Cell(torch.zeros(3), 3), Cell(torch.ones(3), 4)]


class SetsTensor(Keeps):
    def forward(self, x):
        out = x + self.c.t
        self.c.t = self.c.t + x[0]
        return out


class ByMethod(Keeps):
    def forward(self, x):
        out = x + self.c.t
        self.c.add(x[0])
        return out


class InPlace(Keeps):
    def forward(self, x):
        self.c.t.add_(x[0])
        return x + self.c.t


class Numbers(Keeps):
    def forward(self, x):
        out = x + self.c.n * 10 + self.e.n
        self.c.n = self.c.n * 2 + 1
        self.e.n += 3
        return out


class InList(Keeps):
    def forward(self, x):
        self.cells[0].n += 1
        out = x + self.cells[1].n * 10 + self.cells[0].n
        self.cells[1].n *= 2
        return out


class InArmsAndTrips(Keeps):
    def forward(self, x):
        out = x + self.c.n
        if bool(x.sum() > 3):
            self.c.n += 1
            self.c.t = x[0]
        for i in range(x.size(0)):
            self.e.n += self.c.n
            self.e.add(x[i])
        return out + self.e.n + self.e.t + self.c.t


class Replaced(Keeps):
    def forward(self, x):
        out = x + self.c.n + self.c.t
        self.c = Cell(self.c.t + x[0], self.c.n + 1)
        return out


class OtherNameUnwritten(Keeps):
    def forward(self, x):
        out = x + self.c.n
        self.c = self.e
        return out


@pytest.mark.parametrize("model,names", [(SetsTensor, {"c.t"}), (ByMethod, {"c.t"}), (InPlace, {"c.t"}), (Numbers, {"c.n", "e.n"}), (InList, {"cells.0.n", "cells.1.n"}),
                                         (InArmsAndTrips, {"c.t", "c.n", "e.t", "e.n"}), (Replaced, {"c.t", "c.n"}), (OtherNameUnwritten, {"c.n"})])
def test_what_a_run_sets_is_state(model, names, tmp_path):
    _, pairs = steps(save(model(), tmp_path), tmp_path, rows(2, 3, 2, 7), ROWS)
    assert set(pairs) == names


class OneObject(Keeps):
    def forward(self, x):
        self.c.n += 1
        out = x + self.e.n
        self.c = self.e
        return out


class OneItem(Keeps):
    def forward(self, x):
        self.cells[0].n += 1
        out = x + self.cells[1].n
        self.cells[0] = self.cells[1]
        return out


class ItemAndAttribute(Keeps):
    def forward(self, x):
        out = x + self.cells[1].n
        self.c.n += 1
        self.cells[1] = self.c
        return out


@pytest.mark.parametrize("model", [OneObject, OneItem, ItemAndAttribute])
def test_one_object_under_two_names_is_refused(model, tmp_path):
    assert "after a run it is, or may be, the same as" in refused(model(), tmp_path, *ROWS)
