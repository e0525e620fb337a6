"""Random laws in three to ten dimensions against closed forms.

A cell that is a block has its closed form: the library must be right to 1e-9 and say so. Masses of
other cells, means and variances are estimates, and the library states their standard errors: 99 %
of them must lie within three stated errors of the truth. Densities must agree with the library's
own masses to rounding. Samples are exact.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
import torch
from fuzz import checks, reference
from fuzz.cases import Found, mistakes
from fuzz.laws import SOLID, Law, solid_law
from fuzz.reference import Moments

from vwta import Directions, VoronoiMixture

BLOCKS = ["alone", "alone elongated", "boxes", "stack"]
PRISMS = ["prisms", "turned prisms"]
SAME = 1e-9  # coordinates of a grid that differ by less are the same but for rounding


@lru_cache(maxsize=64)
def law_of(category: str, seed: int) -> Law:
    return solid_law(category, seed)


def ends_of(law: Law, k: int) -> list[tuple[Fraction | float, ...]]:
    """Ends of a cell that is a block, along each of its law's directions."""
    assert law.frame is not None
    points = law.points[0] @ law.frame.T
    ends = []
    for axis, (low, high) in enumerate(zip(law.low, law.high, strict=True)):
        steps = points[np.abs(points[:, axis] - points[k, axis]) > SAME, axis]
        steps = np.concatenate([points[k : k + 1, axis], steps])
        ends.append(reference.line_cell(steps, 0, low, high))
    return ends


@lru_cache(maxsize=4096)
def _moments(category: str, seed: int, k: int) -> Moments:
    law = law_of(category, seed)
    points, h = law.points[0], law.h[0, k]
    if law.category == "turned prisms":
        return _turned(law, k)
    if law.frame is not None:
        return reference.block_moments(law.frame, ends_of(law, k), h)
    cell = reference.plane_cell(points[:, :2], k, law.low[:2], law.high[:2], h)
    across = reference.plane_moments(cell, h)
    up = reference.line_moments(reference.line_cell(points[k:, 2], 0, law.low[2], law.high[2]), h)
    pairs = zip((across.first, across.second), (up.first, up.second), strict=True)
    return Moments(across.mass * up.mass, *(np.concatenate(pair) for pair in pairs))


def _turned(law: Law, k: int) -> Moments:
    """A prism without ends over a cell of the plane, turned in space."""
    assert law.frame is not None
    flat, h, endless = (law.points[0] @ law.frame.T)[:, :2], law.h[0, k], np.full(2, math.inf)
    across = reference.plane_moments(reference.plane_cell(flat, k, -endless, endless, h), h)
    nodes, weights = reference.plane_nodes(reference.plane_cell(flat, k, -endless, endless, h), h)
    weights = weights * np.exp(-(nodes**2).sum(-1) / 2)
    products = np.diag([0.0, 0.0, h**2])
    products[:2, :2] = (nodes.T * weights) @ nodes / weights.sum() * h**2
    first = np.append(across.first, 0.0) @ law.frame
    return Moments(across.mass, first, np.diag(law.frame.T @ products @ law.frame))


def moments(law: Law, row: int, k: int) -> Moments:
    return _moments(law.category, law.seed, k)


@lru_cache(maxsize=256)
def _errors(category: str, seed: int) -> np.ndarray:
    return law_of(category, seed).mixture().log_cell_mass_error.numpy()


def stated(law: Law, row: int, k: int) -> float:
    return 1e-9 + 3 * float(_errors(law.category, law.seed)[k])


def closed_form(law: Law, row: int, k: int) -> float:
    return 1e-9


def shares(law: Law, row: int, k: int) -> list[tuple[Callable[[np.ndarray], np.ndarray], float]]:
    """Share of a block below its mean along each of its directions."""
    if law.frame is None or law.category not in BLOCKS:
        return []
    found = []
    for axis, ends in zip(law.frame, ends_of(law, k), strict=True):
        side = reference.line_moments(ends, law.h[row, k])
        part = (ends[0], Fraction(float(side.first[0])))
        share = float(reference.line_mass(part, law.h[row, k])) / side.mass
        found.append((_below(axis, law.points[row, k], float(side.first[0])), share))
    return found


def _below(axis: np.ndarray, z: np.ndarray, cut: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda y: (y - z) @ axis <= cut


def log_density_in(d: int) -> Callable[[float, float], float]:
    return lambda spread, h: -spread / h**2 - d * (math.log(h) + math.log(2 * math.pi) / 2)


def as_stated(law: Law, row: int, k: int) -> Moments:
    """The library's own mass: a density must agree with it, whatever its error."""
    return Moments(math.exp(_log_masses(law.category, law.seed)[k]), *2 * [np.zeros(0)])


@lru_cache(maxsize=256)
def _log_masses(category: str, seed: int) -> np.ndarray:
    return law_of(category, seed).mixture().log_cell_mass.numpy()


def rounding(law: Law, row: int, k: int) -> float:
    return 1e-11


def about(
    law: Law,
    tolerance: Callable[[Law, int, int], float],
    cells: Callable[[Law, int, int], Moments] = moments,
) -> checks.Reference:
    density = log_density_in(law.points.shape[-1])
    return checks.Reference(cells, tolerance, shares, checks.near_and_far, density)


def wrong(category: str, check: Callable[[Law], Iterator[Found]], outside: float = 0.0) -> str:
    return mistakes("solid", category, len(SOLID), law_of, check, outside)


@pytest.mark.parametrize("category", BLOCKS)
def test_blocks_are_exact(category: str) -> None:
    """Their masses, means and variances, and no error is stated."""

    def exact(law: Law) -> Iterator[Found]:
        yield from checks.log_masses(law, about(law, closed_form))
        yield from checks.means_and_variances(law, about(law, closed_form))
        yield Found("stated error", float(_errors(law.category, law.seed).max()), 0.0, 1e-300)

    found = wrong(category, exact)
    assert not found, found


@pytest.mark.parametrize("category", PRISMS)
def test_masses(category: str) -> None:
    found = wrong(category, lambda law: checks.log_masses(law, about(law, stated)), 0.01)
    assert not found, found


@pytest.mark.parametrize("category", SOLID)
def test_densities(category: str) -> None:
    found = wrong(category, lambda law: checks.log_densities(law, about(law, rounding, as_stated)))
    assert not found, found


@pytest.mark.parametrize("category", PRISMS)
def test_moments(category: str) -> None:
    """Means and variances lie within three stated errors."""
    found = wrong(category, within_stated, 0.01)
    assert not found, found


def within_stated(law: Law) -> Iterator[Found]:
    mixture = law.mixture()
    errors = torch.stack([mixture.mean_error, mixture.variance_error], -1).flatten().tolist()
    found = checks.means_and_variances(law, about(law, closed_form))
    for number, error in zip(found, errors, strict=False):
        yield replace(number, tolerance=number.tolerance + 3 * error)


def test_a_requested_tolerance_is_kept() -> None:
    """More directions are taken until the stated error is small enough, and it is true."""
    tolerance, laws = 3e-3, (law_of("prisms", seed) for seed in range(20))

    def along(law: Law, how: Directions) -> VoronoiMixture:
        exact = law.mixture()
        return VoronoiMixture(exact.points, exact.masses, exact.kernel, exact.space, how)

    few = (x for x in laws if x.points.shape[1] < 8)
    law = next(x for x in few if along(x, Directions()).log_cell_mass_error.max() > 5e-3)
    fine = along(law, Directions(tolerance=tolerance))
    assert fine.log_cell_mass_error.max() <= tolerance
    for k, found in enumerate(fine.log_cell_mass.tolist()):
        assert found == pytest.approx(moments(law, 0, k).log_mass, abs=4 * tolerance)
    coarse = along(law, Directions(tolerance=1e-9, most=2**12))
    assert coarse.log_cell_mass_error.max() > 1e-9  # it says so if it cannot be reached


def test_bad_tolerances_are_named() -> None:
    for how in ({"tolerance": 0.0}, {"tolerance": 0.1, "random": True}):
        with pytest.raises(ValueError, match=f"tolerance.*{how['tolerance']}"):
            Directions(40, **how)


@pytest.mark.parametrize("category", SOLID)
def test_samples(category: str) -> None:
    found = wrong(category, lambda law: checks.samples(law, about(law, stated)))
    assert not found, found
