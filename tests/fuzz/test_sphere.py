"""Random laws of the sphere against adaptive polar quadrature about the atom.

Tolerances of log-masses: 1e-9 as in the plane. A bisector of two unit vectors, which are rounded to
1e-16 themselves, is known to 1e-16 by their distance: cells of atoms that nearly coincide get
a few such roundings in addition, and narrow cells one by their mass. In float32 unit vectors and
results are rounded to 6e-8.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
from fuzz import checks
from fuzz.cases import mistakes
from fuzz.laws import SPHERE, Law, sphere_law, unit
from fuzz.reference import Moments, SphereCell, twins
from numpy.random import Generator

SMALL = [name for name in SPHERE if name not in ("many", "antipodes")]


@lru_cache(maxsize=64)
def law_of(category: str, seed: int) -> Law:
    return sphere_law(category, seed)


@lru_cache(maxsize=4096)
def _moments(category: str, seed: int, row: int, k: int) -> Moments | None:
    law = law_of(category, seed)
    if twins(law.points[row], k)[0] < k:
        return None
    return SphereCell.around(law.points[row], k).moments(law.h[row, k])


def moments(law: Law, row: int, k: int) -> Moments | None:
    return _moments(law.category, law.seed, row, k)


def tolerance(law: Law, row: int, k: int) -> float:
    distance = np.linalg.norm(law.points[row] - law.points[row, k], axis=-1)
    about = moments(law, row, k)
    rounding = 1e-7 if law.single else 1e-14 + (2e-16 / about.mass if about else 0.0)
    return 1e-9 + rounding / float(distance[distance > 0].min(initial=1.0))


def log_density(spread: float, h: float) -> float:
    if math.isinf(h):
        return 0.0
    kappa = h**-2
    return -kappa * spread + math.log(kappa / (2 * math.pi)) - math.log(-math.expm1(-2 * kappa))


def shares(law: Law, row: int, k: int) -> list[tuple[Callable[[np.ndarray], np.ndarray], float]]:
    """Shares of the quarters around an atom, and of what lies near it."""
    cell, about, h = SphereCell.around(law.points[row], k), moments(law, row, k), law.h[row, k]
    assert about is not None
    found = []
    for quarter in range(4):
        start = -math.pi + quarter * math.pi / 2
        mass = cell.moments(h, start, start + math.pi / 2).mass
        found.append((_quarter(cell, start), mass / about.mass))
    near = math.sqrt(about.second.sum()) * 0.7  # a chord
    mass = cell.moments(h, within=2 * math.asin(min(near / 2, 1))).mass
    found.append((_near(law.points[row, k], near), mass / about.mass))
    return found


def _quarter(cell: SphereCell, start: float) -> Callable[[np.ndarray], np.ndarray]:
    def inside(y: np.ndarray) -> np.ndarray:
        step = y @ cell.frame.T
        turn = np.arctan2(step[:, 1], step[:, 0])
        return (start <= turn) & (turn < start + math.pi / 2)

    return inside


def _near(z: np.ndarray, chord: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda y: np.linalg.norm(y - z, axis=-1) <= chord


def targets(law: Law, row: int, rng: Generator) -> np.ndarray:
    """Points by some atoms, anywhere, at an atom and opposite it."""
    points, h = law.points[row], law.h[row]
    chosen = rng.integers(len(points), size=4)
    near = points[chosen] + np.minimum(h[chosen], 1)[:, None] * rng.standard_normal((4, 3))
    anywhere = rng.standard_normal((3, 3))
    return unit(np.concatenate([near, anywhere, points[:1], -points[:1]]))


ABOUT = checks.Reference(moments, tolerance, shares, targets, log_density)


@pytest.mark.parametrize(("check", "category"), checks.asked(SPHERE, SMALL))
def test_laws(check: checks.Check, category: str) -> None:
    """Masses, densities, moments and samples, each against its reference."""
    wrong = mistakes("sphere", category, len(SPHERE), law_of, lambda law: check(law, ABOUT))
    assert not wrong, wrong
