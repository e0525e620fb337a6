"""The cell of a point is that of its nearest atom, compared with exact arithmetic."""

import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from vwta import Box, Sphere
from vwta.geometry.cells import Tessellation
from vwta.geometry.spaces import Space

EPS = torch.finfo(torch.float64).eps


def square(z: Tensor, y: Tensor) -> Fraction:
    pairs = zip(z.tolist(), y.tolist(), strict=True)
    return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs), Fraction())


def border_distance(atoms: Tensor, y: Tensor, chosen: int) -> float:
    """How far a point is beyond the border of its cell; 0 if it has been given the right one."""
    squares = [square(z, y) for z in atoms]
    best = squares.index(min(squares))
    excess = squares[chosen] - squares[best]
    if not excess:
        return 0.0
    return float(excess) / (2 * math.sqrt(square(atoms[chosen], atoms[best])))


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("far", [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_points_far_from_a_dense_row(d: int, far: float, gap: float) -> None:
    """Squared distances differ by less than their rounding, and yet the nearest atom is found."""
    generator = torch.Generator().manual_seed(5)
    heading = torch.randn(d, dtype=torch.float64, generator=generator)
    heading /= heading.norm()
    along = torch.rand(30, dtype=torch.float64, generator=generator) * 30 * gap
    atoms = along[:, None] * heading
    across = torch.randn(40, d, dtype=torch.float64, generator=generator)
    across -= (across @ heading)[:, None] * heading if d > 1 else across
    inside = torch.rand(40, dtype=torch.float64, generator=generator) * 30 * gap
    y = inside[:, None] * heading + far * across
    check(atoms, y, Box(-math.inf, math.inf))


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-10])
def test_points_of_the_sphere(gap: float) -> None:
    generator = torch.Generator().manual_seed(5)
    atoms = torch.randn(30, 3, dtype=torch.float64, generator=generator) * gap
    atoms[:, 2] += 1
    y = torch.randn(40, 3, dtype=torch.float64, generator=generator)
    check(atoms / atoms.norm(dim=1, keepdim=True), y / y.norm(dim=1, keepdim=True), Sphere())


def check(atoms: Tensor, y: Tensor, space: Space) -> None:
    cells = Tessellation(atoms[None], space, None)
    found = cells.nearest(y, torch.zeros(len(y), dtype=torch.long))
    for target, atom in zip(y, found.tolist(), strict=True):
        distance = math.sqrt(square(atoms[atom], target))
        assert border_distance(atoms, target, atom) <= 4 * EPS * distance


def test_the_first_of_equals_has_the_point() -> None:
    atoms = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 1.0]], dtype=torch.float64)
    cells = Tessellation(atoms[None], Box(-math.inf, math.inf), None)
    y = torch.tensor([[-1e9, 0.0], [-1e9, 1e-3], [5.0, 0.0], [0.0, 5.0]], dtype=torch.float64)
    assert cells.nearest(y, torch.zeros(4, dtype=torch.long)).tolist() == [1, 1, 0, 1]
