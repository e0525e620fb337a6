"""Bandwidths at the ends of what floats hold, and questions without an answer.

Either the library refuses with a ValueError that names the value, or its answer is right.
"""

import math
from collections.abc import Callable

import pytest
import torch

from vwta import Box, Gaussian, Sphere, VonMisesFisher, VoronoiMixture
from vwta.distributions.bandwidth import tune
from vwta.distributions.calibration import coverage, pit_deviation

WIDE = [1e6, 1e8, 1e12, 1e16, 1e30, 1e100, 1e160, 1e300]
NARROW = [1e-6, 1e-12, 1e-30, 1e-100, 1e-160, 1e-300]
SIZES = {"line": 2.0, "plane": 4.0, "solid": 8.0, "sphere": 4 * math.pi}  # of the whole space


def law_of(name: str, h: float) -> VoronoiMixture:
    """Two atoms opposite each other: each has half of the space."""
    d = {"line": 1, "plane": 2, "solid": 3, "sphere": 3}[name]
    points = torch.zeros(2, d, dtype=torch.float64)
    points[0, 0], points[1, 0] = -1.0, 1.0
    masses = torch.tensor([0.25, 0.75], dtype=torch.float64)
    if name == "sphere":
        return VoronoiMixture(points, masses, VonMisesFisher(h), Sphere())
    return VoronoiMixture(points / 2, masses, Gaussian(h), Box(-1.0, 1.0))


def answer(ask: Callable[[], torch.Tensor]) -> list[float] | None:
    """What the library says, None if it refuses."""
    try:
        return ask().tolist()
    except ValueError:
        return None


@pytest.mark.parametrize("h", WIDE)
@pytest.mark.parametrize("name", SIZES)
def test_wide_kernels_are_uniform_over_their_cells(name: str, h: float) -> None:
    """The density tends to the mass of the atom by the volume of its cell."""
    law = law_of(name, 1.0)
    y = law.points + 0
    found = answer(lambda: law_of(name, h).log_prob(y))
    expected = [math.log(share / (SIZES[name] / 2)) for share in (0.25, 0.75)]
    allowed = 0.05 if name == "solid" else 1e-6  # volumes are estimates in three dimensions
    assert found is None or found == pytest.approx(expected, abs=allowed)


@pytest.mark.parametrize("h", NARROW)
@pytest.mark.parametrize("name", SIZES)
def test_narrow_kernels_lie_within_their_cells(name: str, h: float) -> None:
    """All of the kernel is in the cell, so that the density at the atom is the kernel's own."""
    law = law_of(name, 1.0)
    found = answer(lambda: law_of(name, h).log_prob(law.points + 0))
    d = 2 if name == "sphere" else law.points.shape[1]
    peak = -d * (math.log(h) + math.log(2 * math.pi) / 2)
    expected = [math.log(share) + peak for share in (0.25, 0.75)]
    assert found is None or found == pytest.approx(expected, rel=1e-12)
    masses = answer(lambda: law_of(name, h).log_cell_mass)
    assert masses is None or masses == pytest.approx([0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("h", [1e6, 1e12, 1e14, 1e16, 1e30])
def test_wide_kernels_among_infinite_sides(d: int, h: float) -> None:
    """Half of a kernel at the border between two halves of space."""
    points = torch.zeros(2, d, dtype=torch.float64)
    points[1, 0] = 1.0
    masses, space = torch.full((2,), 0.5, dtype=torch.float64), Box(-math.inf, math.inf)
    found = answer(lambda: VoronoiMixture(points, masses, Gaussian(h), space).log_cell_mass)
    allowed = 0.05 if d == 3 else 1e-6
    assert found is None or found == pytest.approx(2 * [-math.log(2)], abs=allowed)


@pytest.mark.parametrize("h", [1e-30, 1e-10, 1e10, 1e30])
@pytest.mark.parametrize("name", SIZES)
def test_single_precision_has_a_narrower_range(name: str, h: float) -> None:
    law = law_of(name, 1.0)
    points, masses = law.points.float(), law.masses.float()
    kernel = VonMisesFisher(h) if name == "sphere" else Gaussian(h)
    found = answer(lambda: VoronoiMixture(points, masses, kernel, law.space).log_prob(points))
    if found is not None:
        expected = law.with_bandwidth(h).log_prob(law.points).tolist()
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-5)


def test_what_is_refused_is_named() -> None:
    law = law_of("plane", 1.0)
    with pytest.raises(ValueError, match=r"h from 1e-100 to 1e\+100, found 1e\+300"):
        law.with_bandwidth(1e300)
    with pytest.raises(ValueError, match=r"1e-14 to 1e\+100, found 1e-30"):
        law_of("sphere", 1e-30)
    with pytest.raises(ValueError, match="infinite sides, found 1e"):
        VoronoiMixture(law.points, law.masses, Gaussian(1e15), Box(-math.inf, 1.0))


def test_tuning_on_a_target_without_mass_is_refused() -> None:
    """Its cell's atom has mass 0: every bandwidth is as bad."""
    points = torch.tensor([[[-0.5], [0.5]]], dtype=torch.float64)
    masses = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    law = VoronoiMixture(points, masses, Gaussian(1.0), Box(-1.0, 1.0))
    y = torch.tensor([[-0.4]], dtype=torch.float64)
    with pytest.raises(ValueError, match="mass"):
        tune(law, y, 0.01, 1.0, 1e-3)


def test_coverage_of_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="nan"):
        coverage(torch.tensor([0.5, math.nan]))


@pytest.mark.parametrize("value", [-0.1, 1.5, math.inf, -math.inf])
def test_coverage_of_what_is_no_probability_is_refused(value: float) -> None:
    for measure in (coverage, pit_deviation):
        with pytest.raises(ValueError, match=f"1 of 2 values are no probab.*first {value:g}: give"):
            measure(torch.tensor([0.5, value]))
    assert coverage(torch.tensor([0.5, 1 + 1e-7])) == 0.5, "rounding is none of these"
