"""Gaussians cut to intervals, against error functions in 60 digits."""

import math

import mpmath
import pytest
import torch

from vwta.geometry.intervals import log_interval_mass, standard_moments, standard_quantile

CASES = [  # low, high, centre, h
    (-1.0, 2.0, 0.0, 1.0),
    (3.0, 5.0, 0.0, 1.0),
    (3.0, 3.0001, 0.0, 1.0),
    (-1e-6, 2e-6, 0.0, 1.0),
    (40.0, 50.0, 0.0, 1.0),
    (-math.inf, -60.0, 0.0, 1.0),
    (-math.inf, math.inf, 0.3, 2.0),
    (500.0, 500.5, 0.0, 1.0),
    (-3.0, -2.0, 0.0, 0.01),
    (0.0, 3.0, 0.0, 1.0),
    (1e-12, 3e-12, 0.0, 1.0),
]


def number(x: float) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64)


def reference(low: float, high: float, centre: float, h: float) -> tuple[mpmath.mpf, ...]:
    """Ends, mass, and moments about the end nearer to 0, or about 0 for an interval around it."""
    with mpmath.workdps(60):
        a, b = ((mpmath.mpf(x) - mpmath.mpf(centre)) / mpmath.mpf(h) for x in (low, high))
        mass = below(b) - below(a) if a < 0 else below(-a) - below(-b)
        ends = [(x, 0 if mpmath.isinf(x) else mpmath.npdf(x) / mass) for x in (a, b)]
        (_, at_a), (_, at_b) = ends
        first = at_a - at_b
        xs = [0 if mpmath.isinf(x) else x * density for x, density in ends]
        second = 1 + xs[0] - xs[1]
        e = mpmath.mpf(0) if a < 0 < b else (a if a >= 0 else b)
        return a, b, mass, first - e, second - 2 * e * first + e**2


def below(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


@pytest.mark.parametrize("case", CASES)
def test_masses_and_moments(case: tuple[float, float, float, float]) -> None:
    low, high, centre, h = map(number, case)
    a, b, mass, first, second = reference(*case)
    with mpmath.workdps(60):
        expected = float(mpmath.log(mass))
    assert log_interval_mass(low, high, centre, h).item() == pytest.approx(expected, rel=1e-12)
    found = standard_moments(number(float(a)), number(float(b)), (high - low) / h)
    assert found[0].item() == pytest.approx(float(first), rel=1e-11, abs=1e-300)
    assert found[1].item() == pytest.approx(float(second), rel=1e-11)


@pytest.mark.parametrize("case", CASES[:-1])  # the last one is shorter than floats can tell
def test_quantiles(case: tuple[float, float, float, float]) -> None:
    a, b, mass, *_ = reference(*case)
    for share in (0.01, 0.5, 0.99):
        found = standard_quantile(*(number(float(x)).reshape(1) for x in (a, b, share))).item()
        with mpmath.workdps(60):
            x = mpmath.mpf(found)
            part = below(x) - below(a) if a < 0 else below(-a) - below(-x)
            assert float(part / mass) == pytest.approx(share, abs=1e-7)


@pytest.mark.parametrize("end", [-8.0, -9.0, -12.0, -29.9])
def test_quantiles_of_lower_tails(end: float) -> None:
    """Where a distribution function in float64, made of the error function, has no digits left."""
    for share in (1e-3, 0.5, 0.999):
        ends = (torch.tensor([x], dtype=torch.float64) for x in (-math.inf, end, share))
        found = standard_quantile(*ends).item()
        with mpmath.workdps(60):
            ratio = mpmath.ncdf(found) / mpmath.ncdf(end)
            assert float(ratio) == pytest.approx(share, rel=1e-10)


def test_gradients() -> None:
    source = torch.Generator().manual_seed(0)
    x = torch.randn(5, 30, dtype=torch.float64, generator=source)
    low, high = torch.minimum(x[0], x[1]) - 0.1, torch.maximum(x[0], x[1]) + 0.1
    arguments = [part.requires_grad_() for part in (low, high, 3 * x[2], x[3].exp())]
    assert torch.autograd.gradcheck(log_interval_mass, arguments)


def test_gradients_of_endless_and_empty_intervals() -> None:
    low, high = torch.tensor([[-math.inf, 1.0, -math.inf, 1.0], [0.0, math.inf, math.inf, 1.0]])
    c, h = (torch.ones(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    log_mass = log_interval_mass(low.double(), high.double(), c, h)
    assert log_mass[3] == -math.inf
    gradients = torch.autograd.grad(log_mass[:3].sum(), [c, h])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert gradients[0][2] == gradients[1][2] == gradients[0][3] == 0
