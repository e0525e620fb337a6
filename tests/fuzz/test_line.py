"""Random laws of the line against error functions in 60 digits.

The library has closed forms here, so that log-masses get 1e-11. In float32 a result is rounded to
6e-8 of itself.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
import pytest
import torch
from fuzz import checks, reference
from fuzz.cases import Found, mistakes
from fuzz.laws import LINE, Law, flat_law
from fuzz.reference import Moments

from vwta.distributions.line import cdf, log_mass_between

SMALL = [name for name in LINE if name != "many"]


@lru_cache(maxsize=64)
def law_of(category: str, seed: int) -> Law:
    return flat_law(category, seed, 1)


@lru_cache(maxsize=4096)
def _moments(category: str, seed: int, row: int, k: int) -> Moments | None:
    law = law_of(category, seed)
    ends = ends_of(law, row, k)
    return reference.line_moments(ends, law.h[row, k]) if ends else None


def ends_of(law: Law, row: int, k: int) -> tuple[Fraction | float, ...]:
    return reference.line_cell(law.points[row, :, 0], k, law.low[0], law.high[0])


def moments(law: Law, row: int, k: int) -> Moments | None:
    return _moments(law.category, law.seed, row, k)


def tolerance(law: Law, row: int, k: int) -> float:
    return 1e-11


def log_density(spread: float, h: float) -> float:
    return 0.0 if math.isinf(h) else -spread / h**2 - math.log(2 * math.pi) / 2 - math.log(h)


def shares(law: Law, row: int, k: int) -> list[tuple[Callable[[np.ndarray], np.ndarray], float]]:
    """Shares of a cell below its mean, and below one standard deviation on either side of it."""
    about, ends, z = moments(law, row, k), ends_of(law, row, k), float(law.points[row, k, 0])
    assert about is not None
    deviation = math.sqrt(max(float(about.second[0] - about.first[0] ** 2), 0))
    found = []
    for step in (-1, 0, 1):
        cut = z + (float(about.first[0]) + step * deviation)
        at = Fraction(cut) - Fraction(z)
        if ends[0] < at < ends[1]:
            share = reference.line_mass((ends[0], at), law.h[row, k]) / mpmath.mpf(about.mass)
            found.append((_below(cut), float(share)))
    return found


def _below(cut: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda y: y[:, 0] <= cut


ABOUT = checks.Reference(moments, tolerance, shares, checks.near_and_far, log_density)


@pytest.mark.parametrize(("check", "category"), checks.asked(LINE, SMALL))
def test_laws(check: checks.Check, category: str) -> None:
    """Masses, densities, moments and samples, each against its reference."""
    wrong = mistakes("line", category, len(LINE), law_of, lambda law: check(law, ABOUT))
    assert not wrong, wrong


@pytest.mark.parametrize("category", SMALL)
def test_distribution_functions(category: str) -> None:
    """Masses of half-lines and intervals; all of the line has mass 1."""
    wrong = mistakes("line", category, len(LINE), law_of, intervals)
    assert not wrong, wrong


def intervals(law: Law) -> Iterator[Found]:
    row, rng = law.seed % len(law.points), law.rng("intervals")
    y = np.sort(checks.near_and_far(law, row, rng)[:, 0])
    mixture, low, high = law.mixture(), y[::2], y[1::2][: len(y[::2])]
    low = low[: len(high)]
    stops = torch.tensor(np.concatenate([y, [math.inf]]))[:, None]
    below = cdf(mixture, stops).reshape(len(stops), -1).expand(-1, len(law.points))[:, row]
    ends = (torch.tensor(x)[:, None] for x in (low, high))
    between = log_mass_between(mixture, *ends).reshape(len(low), -1)
    between = between.expand(-1, len(law.points))[:, row]
    for found, stop in zip(below.tolist(), stops[:, 0].tolist(), strict=True):
        yield Found(f"cdf at {stop}", found, float(_mass(law, row, -math.inf, stop)), 1e-11)
    for found, *pair in zip(between.tolist(), low.tolist(), high.tolist(), strict=True):
        mass = _mass(law, row, *pair)
        right = float(mpmath.log(mass)) if mass else -math.inf
        allowed = 1e-11 * (1 + abs(right)) if mass else 1.0
        yield Found(f"log-mass between {pair}", found, right, allowed)


def _mass(law: Law, row: int, low: float, high: float) -> mpmath.mpf:
    """Mass of a law between two numbers."""
    points, masses = law.points[row, :, 0], law.masses[row]
    total = mpmath.mpf(0)
    for k in range(len(points)):
        ends = ends_of(law, row, k)
        if not ends:
            continue
        z = Fraction(float(points[k]))
        part = tuple(
            choose(end, side if math.isinf(side) else Fraction(side) - z)
            for choose, end, side in ((max, ends[0], low), (min, ends[1], high))
        )
        if part[0] >= part[1]:
            continue
        weight = mpmath.fsum(map(float, masses[reference.twins(points[:, None], k)]))
        inside, whole = (reference.line_mass(x, law.h[row, k]) for x in (part, ends))
        total += weight * inside / whole
    return total / mpmath.fsum(map(float, masses))
