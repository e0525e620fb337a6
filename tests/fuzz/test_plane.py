"""Random laws of the plane against exact rational cells, integrated slab by slab.

Tolerances of log-masses. The library promises about 1e-11 and stops its rules where 3e-10 of the
kernel is left, so 1e-9 for cells of common shape. A border's direction is known to one part in
1e16: across a cell that is L long and w wide it is off by 1e-16 L / w of the width, so that cells
of large aspect get a few roundings times their aspect in addition; ten times as much among atoms on
a line, as the library takes borders at an angle below 1e-14 for parallel. In float32 a result is
rounded to 6e-8 of itself.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
import torch
from fuzz import checks, reference
from fuzz.cases import Found, mistakes
from fuzz.laws import PLANE, Law, flat_law
from fuzz.reference import Moments, Polygon

from vwta import Box, Gaussian, VoronoiMixture

PARALLEL = ["unbounded collinear", "far sides"]
WHOLE = ["general", "grid", "on sides", "half-bounded", "unbounded", "elongated", "uniform"]
SMALL = [name for name in PLANE if name not in ("many", *PARALLEL)]


@lru_cache(maxsize=64)
def law_of(category: str, seed: int) -> Law:
    return flat_law(category, seed, 2)


@lru_cache(maxsize=4096)
def _cell(category: str, seed: int, row: int, k: int) -> Polygon:
    law = law_of(category, seed)
    return reference.plane_cell(law.points[row], k, law.low, law.high, law.h[row, k])


@lru_cache(maxsize=4096)
def _moments(category: str, seed: int, row: int, k: int) -> Moments | None:
    cell = _cell(category, seed, row, k)
    return reference.plane_moments(cell, law_of(category, seed).h[row, k]) if cell else None


def moments(law: Law, row: int, k: int) -> Moments | None:
    return _moments(law.category, law.seed, row, k)


def tolerance(law: Law, row: int, k: int) -> float:
    rounding = 1e-14 if law.category in PARALLEL else 1e-15
    return 1e-9 + rounding * reference.aspect(_cell(law.category, law.seed, row, k))


def log_density(spread: float, h: float) -> float:
    return 0.0 if math.isinf(h) else -spread / h**2 - math.log(2 * math.pi) - 2 * math.log(h)


def shares(law: Law, row: int, k: int) -> list[tuple[Callable[[np.ndarray], np.ndarray], float]]:
    """Shares of a cell below its mean, and below one standard deviation on either side of it."""
    cell, about, h = _cell(law.category, law.seed, row, k), moments(law, row, k), law.h[row, k]
    assert about is not None
    found = []
    deviation = np.sqrt(np.maximum(about.second - about.first**2, 0))
    for axis, step in ((0, -1), (0, 0), (0, 1), (1, 0)):
        cut = float(about.first[axis] + step * deviation[axis]) + law.points[row, k, axis]
        normal = (Fraction(axis == 0), Fraction(axis == 1))
        offset = Fraction(cut) - Fraction(float(law.points[row, k, axis]))
        part = reference.clip(cell, normal, offset)
        mass = reference.plane_moments(part, h).mass if len(part) > 2 else 0.0
        if len(part) > 2 and reference.area(part):
            found.append((_below(axis, cut), mass / about.mass))
    return found


def _below(axis: int, cut: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda y: y[:, axis] <= cut


ABOUT = checks.Reference(moments, tolerance, shares, checks.near_and_far, log_density)


@pytest.mark.parametrize(("check", "category"), checks.asked(PLANE, SMALL))
def test_laws(check: checks.Check, category: str) -> None:
    """Masses, densities, moments and samples, each against its reference."""
    wrong = mistakes("plane", category, len(PLANE), law_of, lambda law: check(law, ABOUT))
    assert not wrong, wrong


# Laws of such a run that were once wrong, and the cells in question.
NEARLY_PARALLEL = [("unbounded nearly collinear", 70, (2, 65)), ("unbounded collinear", 105, (58,))]


@pytest.mark.parametrize(("category", "seed", "cells"), NEARLY_PARALLEL)
def test_borders_that_are_nearly_parallel(category: str, seed: int, cells: tuple[int, ...]) -> None:
    """Neighbours that nearly coincide, and others whose borders meet within the cell."""
    law = law_of(category, seed)
    found = law.mixture().log_cell_mass.reshape(-1)
    for k in cells:
        about = moments(law, 0, k)
        assert about is not None
        assert abs(float(found[k]) - about.log_mass) <= tolerance(law, 0, k)


@pytest.mark.parametrize("heading", [(1.0, 0.0), (0.6, 0.8), (0.3, -0.7)])
@pytest.mark.parametrize("side", [1e8, 1e11, 1e14, math.inf])
def test_atoms_on_a_line_are_those_of_the_line(heading: tuple[float, float], side: float) -> None:
    """Across a line of atoms, cells go on for ever: their masses are those of the line's cells."""
    generator = torch.Generator().manual_seed(7)
    along = torch.rand(10, 100, dtype=torch.float64, generator=generator) * 2 - 1
    ray, masses = along.new_tensor(heading), torch.full_like(along, 0.01)
    plane = VoronoiMixture(along[..., None] * ray, masses, Gaussian(0.1), Box(-side, side))
    length = along * math.hypot(*heading)
    line = VoronoiMixture(length[..., None], masses, Gaussian(0.1), Box(-math.inf, math.inf))
    assert (plane.log_cell_mass - line.log_cell_mass).abs().max() < 1e-9


@pytest.mark.parametrize("category", WHOLE)
def test_cells_integrate_to_their_masses(category: str) -> None:
    """Densities, summed over the nodes of one cell, give the mass of its atom."""
    wrong = mistakes("plane", category, len(PLANE), law_of, integral)
    assert not wrong, wrong


def integral(law: Law) -> Iterator[Found]:
    k = int(law.rng("integral").integers(law.points.shape[1]))
    mass = law.masses[0, reference.twins(law.points[0], k)].sum()
    cell, h = _cell(law.category, law.seed, 0, k), float(law.h[0, k])
    if not cell or not mass:
        return
    nodes, weights = reference.plane_nodes(cell, h)
    unit = 1.0 if math.isinf(h) else h
    log_density = law.mixture().log_prob(torch.tensor(law.points[0, k] + unit * nodes))
    total = float(weights @ log_density.exp().numpy()) * unit**2
    yield Found(f"integral over cell {k}, by its mass", total / mass, 1.0, 1e-8)
