"""Results in parts: the same bits and gradients, within the stated memory."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from vwta import Box, Gaussian, KernelMixture, VoronoiMixture
from vwta.distributions.line import cdf, log_mass_between
from vwta.geometry import memory
from vwta.geometry.memory import in_parts

SMALL = 2**16  # bytes


def laws(rows: tuple[int, ...], d: int = 1) -> tuple[KernelMixture, VoronoiMixture]:
    generator = torch.Generator().manual_seed(1)
    points = torch.rand(*rows, 7, d, dtype=torch.float64, generator=generator)
    masses = torch.full(points.shape[:-1], 1 / 7, dtype=torch.float64)
    cells = VoronoiMixture(points, masses, Gaussian(0.1), Box(0.0, 1.0))
    return KernelMixture(points, masses, Gaussian(0.1)), cells


ASKED: dict[str, Callable[[KernelMixture, VoronoiMixture, Tensor], Tensor]] = {
    "density": lambda kernels, cells, y: kernels.log_prob(y[..., None]),
    "interval of kernels": lambda kernels, cells, y: log_mass_between(kernels, y, y + 0.1),
    "interval of cells": lambda kernels, cells, y: log_mass_between(cells, y, y + 0.1),
    "cdf of kernels": lambda kernels, cells, y: cdf(kernels, y),
    "cdf of cells": lambda kernels, cells, y: cdf(cells, y),
    "masses of cells": lambda kernels, cells, y: cells.log_cell_mass,
    "mean of cells": lambda kernels, cells, y: cells.mean,
}


ROWS = [
    ((), (1000,)),
    ((3,), (1000, 3)),
    ((40, 1), (40, 30)),
    ((1,), (700,)),
    ((5,), (1,)),
    ((0,), (0,)),
]


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize(("rows", "shape"), ROWS)
def test_parts_are_the_same(
    ask: str, rows: tuple[int, ...], shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, if a part is not so short that it is computed by other instructions."""
    y = torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    whole = ASKED[ask](*laws(rows), y)
    monkeypatch.setattr(memory, "MEMORY", SMALL)
    parts = ASKED[ask](*laws(rows), y)
    if len(y) >= 700:
        assert torch.equal(parts, whole)
    assert torch.allclose(parts, whole, rtol=1e-13)


def test_parts_have_the_same_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    law, _ = laws((4,), 2)
    y = torch.rand(1000, 4, 2, dtype=torch.float64)

    def slope() -> Tensor:
        points = law.points.clone().requires_grad_()
        h = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
        value = KernelMixture(points, law.masses, Gaussian(h)).log_prob(y).sum()
        return torch.cat([x.flatten() for x in torch.autograd.grad(value, (points, h))])

    whole = slope()
    monkeypatch.setattr(memory, "MEMORY", SMALL)
    assert torch.allclose(slope(), whole, rtol=1e-12)


def test_no_part_is_larger_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MEMORY", 800)
    sizes = []

    def function(x: Tensor, y: Tensor) -> Tensor:
        value = (x + y).sum(-1)
        sizes.append(value.numel())
        return value

    x, y = torch.rand(30, 1, 2), torch.rand(1, 50, 2)
    assert torch.equal(in_parts(function, (x, y), (1, 1), 8), (x + y).sum(-1))
    assert max(sizes) <= 100
    assert sum(sizes) == 1500


def test_cells_of_a_line_are_found_by_bisection() -> None:
    """A distribution function at many numbers agrees with sums over all cells."""
    _, law = laws((2,))
    y = torch.linspace(-0.1, 1.1, 2001, dtype=torch.float64)[:, None]
    assert torch.allclose(cdf(law, y), log_mass_between(law, -math.inf, y).exp(), atol=1e-14)
