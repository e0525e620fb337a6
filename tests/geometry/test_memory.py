"""Results in parts: the same bits and gradients, within the stated memory."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from vwta import Box, Directions, Gaussian, KernelMixture, VoronoiMixture
from vwta.distributions.atoms import take_at
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


def test_cells_in_space_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masses, errors, means and gradients do not depend on how many cells are worked on at once."""
    _, law = laws((3,), 3)

    def answers() -> list[Tensor]:
        points = law.points.clone().requires_grad_()
        again = VoronoiMixture(points, law.masses, law.kernel, law.space, Directions(64))
        value = again.log_cell_mass
        (slope,) = torch.autograd.grad(value.sum(), points)
        return [value, slope, again.log_cell_mass_error, again.mean, again.mean_error]

    whole = answers()
    monkeypatch.setattr(memory, "MEMORY", SMALL)
    for part, all_ in zip(answers(), whole, strict=True):
        assert torch.allclose(part, all_, rtol=1e-9)


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


class Largest(TorchDispatchMode):
    """Notes the largest number of elements of a tensor that is made, gradients included."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        for x in found if isinstance(found, tuple | list) else (found,):
            if isinstance(x, Tensor) and "expand" not in func.__name__:
                self.size = max(self.size, x.numel())
        return found


@pytest.mark.parametrize("each", [False, True])
def test_gradients_of_densities_need_no_pairs_of_targets_and_atoms(each: bool) -> None:
    generator = torch.Generator().manual_seed(3)
    points = torch.rand(300, 2, dtype=torch.float64, generator=generator).requires_grad_()
    h = torch.full((300,) if each else (), 0.1, dtype=torch.float64).requires_grad_()
    masses = torch.full((300,), 1 / 300, dtype=torch.float64)
    y = torch.rand(5000, 2, dtype=torch.float64, generator=generator)
    law = VoronoiMixture(points, masses, Gaussian(h), Box(0.0, 1.0))
    with Largest() as largest:
        law.log_prob(y).sum().backward()
    assert 10_000 <= largest.size < len(y) * len(points) / 3
    assert points.grad is not None
    assert (points.grad != 0).all()


@pytest.mark.parametrize("draws", [(), (3,), (2, 3)])
@pytest.mark.parametrize("laws", [(), (1,), (5,), (4, 1), (4, 5)])
@pytest.mark.parametrize("count", [6, 1])
def test_chosen_atoms_by_another_way(
    draws: tuple[int, ...], laws: tuple[int, ...], count: int
) -> None:
    """Also of points that are expanded, and of one that serves all atoms."""
    generator = torch.Generator().manual_seed(4)
    points = torch.rand(*laws, count, 2, dtype=torch.float64, generator=generator)
    atom = torch.randint(6, (*draws, 4, 5), generator=generator)
    weight = torch.rand(*atom.shape, 2, dtype=torch.float64, generator=generator)
    whole = points.clone().expand(*atom.shape, 6, 2).requires_grad_()
    gathered = whole.gather(-2, atom[..., None, None].expand(*atom.shape, 1, 2)).squeeze(-2)
    for given in (points, points.expand(*atom.shape, count, 2)):
        given = given.detach().requires_grad_()
        chosen = take_at(given, atom)
        assert torch.equal(chosen, gathered)
        grads = [
            torch.autograd.grad((x * weight).sum(), of, retain_graph=True)[0]
            for x, of in ((chosen, given), (gathered, whole))
        ]
        torch.testing.assert_close(*(grad.sum_to_size(points.shape) for grad in grads))
