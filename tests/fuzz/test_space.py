"""Random laws in boxes of space against quadrature of the faces of their cells.

Tolerances of log-masses: 1e-9 for cells of common shape. A border's direction is known to one part
in 1e16, so that cells of large aspect get some roundings times their aspect in addition.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

import pytest
from fuzz import checks
from fuzz.cases import Found, mistakes
from fuzz.laws import SPACE, Law, flat_law
from fuzz.reference import Moments, twins
from fuzz.space_reference import Solid, solid, space_moments

SMALL = [name for name in SPACE if name != "many"]


@lru_cache(maxsize=64)
def law_of(category: str, seed: int) -> Law:
    return flat_law(category, seed, 3)


@lru_cache(maxsize=4096)
def _cell(category: str, seed: int, row: int, k: int) -> Solid:
    law = law_of(category, seed)
    assert law.low is not None
    assert law.high is not None
    return solid(law.points[row], k, law.low, law.high, law.h[row, k])


@lru_cache(maxsize=4096)
def _moments(category: str, seed: int, row: int, k: int) -> Moments | None:
    law = law_of(category, seed)
    if twins(law.points[row], k)[0] < k:
        return None
    return space_moments(_cell(category, seed, row, k), law.h[row, k])


def moments(law: Law, row: int, k: int) -> Moments | None:
    return _moments(law.category, law.seed, row, k)


def tolerance(law: Law, row: int, k: int) -> float:
    return 1e-9 + 1e-14 * _cell(law.category, law.seed, row, k).aspect


def log_density(spread: float, h: float) -> float:
    flat = math.isinf(h)
    return 0.0 if flat else -spread / h**2 - 1.5 * math.log(2 * math.pi) - 3 * math.log(h)


ABOUT = checks.Reference(
    moments, tolerance, lambda law, row, k: [], checks.near_and_far, log_density
)


def exact(law: Law, about: checks.Reference) -> Iterator[Found]:
    """No error is stated."""
    mixture = law.mixture()
    yield Found("stated error", float(mixture.log_cell_mass_error.abs().max()), 0.0, 1e-300)


ASKED = [
    *(
        (check, name)
        for check in (checks.log_masses, checks.log_densities, exact)
        for name in SPACE
    ),
    *((checks.means_and_variances, name) for name in SMALL),
]


@pytest.mark.parametrize(("check", "category"), ASKED)
def test_laws(check: checks.Check, category: str) -> None:
    """Masses, densities and moments, each against its reference."""
    wrong = mistakes("space", category, len(SPACE), law_of, lambda law: check(law, ABOUT))
    assert not wrong, wrong
