"""Neighbours and twins on the line, against comparisons of all atoms."""

import math

import pytest
import torch
from torch import Tensor

from vwta import Box
from vwta.geometry.ordered import ends_of_cells, twins

BOXES = {
    "bounded": Box(-1.0, 1.0),
    "unbounded": Box(-math.inf, math.inf),
    "half-bounded": Box(-math.inf, 1.0),
}


def atoms(seed: int, rows: int) -> Tensor:
    """Atoms on a coarse grid, so that some coincide and some lie on a side."""
    generator = torch.Generator().manual_seed(seed)
    count = int(torch.randint(1, 9, (), generator=generator))
    return torch.randint(-4, 5, (rows, count), generator=generator).double() / 4


def ends(x: list[float], k: int, box: Box) -> list[int]:
    """What ends a cell above and below, atom by atom."""
    found = []
    for sign, side in ((1, box.high), (-1, box.low)):
        ahead = [
            (sign * (other - x[k]), j) for j, other in enumerate(x) if sign * other > sign * x[k]
        ]
        last = -1 if math.isinf(float(side)) else len(x) + (sign < 0)
        found.append(min(ahead)[1] if ahead else last)
    return found


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("every", [True, False])
def test_ends_of_cells(name: str, every: bool) -> None:
    """All cells of a few tessellations are sorted, one cell of each is compared."""
    box = BOXES[name]
    for seed in range(30):
        x = atoms(seed, rows=3)
        cell = torch.arange(x.numel()) if every else torch.arange(3) * x.shape[1]
        row, atom = cell // x.shape[1], cell % x.shape[1]
        right = [
            ends(x[b].tolist(), k, box) for b, k in zip(row.tolist(), atom.tolist(), strict=True)
        ]
        assert ends_of_cells(x, row, atom, box).tolist() == right


@pytest.mark.parametrize("e", [1, 2, 4])
def test_twins(e: int) -> None:
    for seed in range(30):
        points = torch.stack([atoms(seed, rows=3 * e)[i::e] for i in range(e)], -1)
        same = (points[:, :, None] == points[:, None]).all(-1)
        first, shared = twins(points)
        assert torch.equal(first, same.to(torch.uint8).argmax(2))
        assert torch.equal(shared, same.sum(2) > 1)


def test_zeros_of_either_sign_are_the_same_place() -> None:
    points = torch.tensor([[[0.0, 1.0], [0.0, -1.0], [-0.0, 1.0], [-0.0, -1.0]]])
    assert twins(points).first.tolist() == [[0, 1, 0, 1]]
