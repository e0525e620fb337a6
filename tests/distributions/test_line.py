"""Masses of intervals against quadrature, scipy's truncated Gaussians and limits."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats
from torch import Tensor

from vwta.distributions.average import Average
from vwta.distributions.line import cdf, log_mass_between, truncated_kernels
from vwta.distributions.mixtures import DiracMixture, KernelMixture, VoronoiMixture
from vwta.geometry.kernels import Gaussian, Uniform, VonMisesFisher
from vwta.geometry.spaces import Box, Sphere

DOUBLE = torch.float64
INF = math.inf
Z, MASSES, SCALES = [0.3, -0.8, 0.9, 0.1], [0.4, 0.3, 0.2, 0.1], [0.2, 0.05, 0.6, 0.1]
BOXES = {"box": (-1.0, 1.0), "half": (-1.0, INF), "open": (-INF, INF)}
LAWS = ["kernel", "mdn", "box", "half", "open", "each", "twins", "uniform", "average", "mixed"]


def tensors(*values: list[float]) -> list[Tensor]:
    return [torch.tensor(x, dtype=DOUBLE) for x in values]


def voronoi(
    z: list[float], masses: list[float], h: float | list[float] | None, low: float, high: float
) -> VoronoiMixture:
    points, gamma = tensors(z, masses)
    kernel = Uniform() if h is None else Gaussian(torch.tensor(h, dtype=DOUBLE))
    return VoronoiMixture(points[:, None], gamma, kernel, Box(low, high))


def kernel_mixture(z: list[float], masses: list[float], h: float | list[float]) -> KernelMixture:
    points, gamma = tensors(z, masses)
    return KernelMixture(points[:, None], gamma, Gaussian(torch.tensor(h, dtype=DOUBLE)))


def law_of(name: str, h: float = 0.2) -> KernelMixture | VoronoiMixture | Average:
    if name in BOXES:
        return voronoi(Z, MASSES, h, *BOXES[name])
    made: dict[str, Callable[[], KernelMixture | VoronoiMixture | Average]] = {
        "kernel": lambda: kernel_mixture(Z, MASSES, h),
        "mdn": lambda: kernel_mixture(Z, MASSES, SCALES),
        "each": lambda: voronoi(Z, MASSES, SCALES, -1.0, INF),
        "twins": lambda: voronoi([0.3, -0.8, 0.3, 0.3], MASSES, SCALES, -1.0, 1.0),
        "uniform": lambda: voronoi(Z, MASSES, None, -1.0, 1.0),
        "average": lambda: Average([law_of("box"), law_of("twins"), law_of("open", 0.5)]),
        "mixed": lambda: Average([law_of("mdn"), law_of("uniform"), law_of("average")]),
    }
    return made[name]()


def bends(law: KernelMixture | VoronoiMixture | Average) -> list[float]:
    """Atoms and borders, where a density is not smooth."""
    if isinstance(law, Average):
        return sorted({t for each in law.laws for t in bends(each)})
    z = sorted(set(law.points[:, 0].tolist()))
    return sorted([*z, *((a + b) / 2 for a, b in pairwise(z)), -1.0, 1.0])


def scipy_cdf(
    z: list[float], masses: list[float], h: list[float], low: float, high: float, y: float
) -> float:
    """Distribution function of a Voronoi mixture, cell by cell."""
    total, distinct = 0.0, sorted(set(z))
    for i, a in enumerate(distinct):
        left = low if i == 0 else (distinct[i - 1] + a) / 2
        right = high if a == distinct[-1] else (a + distinct[i + 1]) / 2
        scale = h[z.index(a)]
        cut = stats.truncnorm((left - a) / scale, (right - a) / scale, a, scale)
        total += sum(m for m, b in zip(masses, z, strict=True) if b == a) * float(cut.cdf(y))
    return total


# Against other ways


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("low", "high"), [(-0.95, 0.72), (0.31, 0.33), (-3.0, -0.5), (-0.6, 4.0)])
def test_mass_is_the_integral_of_the_density(name: str, low: float, high: float) -> None:
    law = law_of(name)
    edges = [low, *(t for t in bends(law) if low < t < high), high]

    def density(t: np.ndarray) -> np.ndarray:
        return law.log_prob(torch.tensor(t)[:, None]).exp().numpy()

    expected = sum(integrate.fixed_quad(density, a, b, n=200)[0] for a, b in pairwise(edges))
    found = log_mass_between(law, low, high)
    assert found.dtype == DOUBLE
    assert found.exp().item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("low", "high"), BOXES.values())
@pytest.mark.parametrize("twins", [False, True])
def test_cdf_against_truncated_gaussians(low: float, high: float, twins: bool) -> None:
    z = [0.3, -0.8, 0.3, 0.3] if twins else Z
    law = voronoi(z, MASSES, SCALES, low, high)
    y = np.linspace(-1.5, 1.5, 61)
    expected = [scipy_cdf(z, MASSES, SCALES, low, high, t) for t in y]
    np.testing.assert_allclose(cdf(law, torch.tensor(y)), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("near", [0.0, 1e-3, 0.4, 1.0, 6.0, 30.0, 300.0])
@pytest.mark.parametrize("width", [1e-9, 1e-4, 0.02, 0.3, 0.9, 1.1, 5.0, INF])
@pytest.mark.parametrize("side", [-1, 1])
def test_gaussian_tails_and_slivers(near: float, width: float, side: int) -> None:
    r"""The factor :math:`e^{-a^2 / 2}` is taken out, and the rest is integrated by scipy."""
    high = near + width
    width = high - near
    cap = min(width, 40 / max(near, 1.0))
    rest = integrate.quad(lambda s: math.exp(-s * (near + s / 2)), 0, cap, epsabs=0, epsrel=1e-12)
    expected = math.log(rest[0]) - near**2 / 2 - math.log(2 * math.pi) / 2
    law = kernel_mixture([0.0], [1.0], 1.0)
    ends = (near, high) if side > 0 else (-high, -near)
    assert log_mass_between(law, *ends).item() == pytest.approx(expected, rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("h", [1e-3, 0.1, 10.0])
def test_far_tails_of_mixtures_have_all_digits(h: float) -> None:
    for law, normaliser in [
        (kernel_mixture(Z, MASSES, h), 0.0),
        (voronoi(Z, MASSES, h, -INF, INF), float(special.log_ndtr(0.3 / h))),  # cell from 0.6 on
    ]:
        low, high = 0.9 + 30 * h, 0.9 + 31 * h
        atoms = zip(Z, MASSES, strict=True) if normaliser == 0.0 else [(0.9, 0.2)]
        terms = []
        for z, mass in atoms:
            near, far = special.log_ndtr((z - low) / h), special.log_ndtr((z - high) / h)
            terms.append(math.log(mass) + near + math.log1p(-math.exp(far - near)))
        expected = special.logsumexp(terms) - normaliser
        assert log_mass_between(law, low, high).item() == pytest.approx(expected, rel=1e-11)
        assert math.isfinite(expected)


@pytest.mark.parametrize("name", LAWS)
def test_slivers_give_the_density(name: str) -> None:
    law = law_of(name)
    y = torch.tensor([-0.93, -0.31, 0.17, 0.55, 0.871], dtype=DOUBLE)
    low, high = y - 1e-9, y + 1e-9
    density = log_mass_between(law, low, high) - torch.log(high - low)
    torch.testing.assert_close(density, law.log_prob(y[:, None]), rtol=0, atol=1e-7)


def test_slivers_may_be_finer_than_the_distance_to_the_atom_resolves() -> None:
    low, high = torch.tensor([0.0, 1e-15], dtype=DOUBLE), torch.tensor([1e-18, 3e-15], dtype=DOUBLE)
    for law in (kernel_mixture([7.0], [1.0], 2.0), voronoi([7.0], [1.0], None, -9.0, 9.0)):
        expected = law.log_prob(torch.zeros(1, dtype=DOUBLE)) + torch.log(high - low)
        torch.testing.assert_close(log_mass_between(law, low, high), expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("name", LAWS)
def test_the_slope_of_the_cdf_is_the_density(name: str) -> None:
    law, step = law_of(name), 1e-5
    y = torch.linspace(-1.4, 1.4, 57, dtype=DOUBLE) + 0.0123
    slope = (cdf(law, y + step) - cdf(law, y - step)) / (2 * step)
    torch.testing.assert_close(slope, law.log_prob(y[:, None]).exp(), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", LAWS)
def test_samples_follow_the_cdf(name: str) -> None:
    law = law_of(name)
    y = law.sample((4000,), generator=torch.Generator().manual_seed(3))[:, 0]
    found = stats.kstest(y.numpy(), lambda t: cdf(law, torch.tensor(t)).numpy())
    assert found.pvalue > 1e-3


# Properties of masses


@pytest.mark.parametrize("name", LAWS)
def test_masses_add_up(name: str) -> None:
    law = law_of(name)
    ends = torch.tensor([-INF, -1.0, -0.25, 0.2, 0.2 + 1e-12, 0.6, 1.0, INF], dtype=DOUBLE)
    parts = log_mass_between(law, ends[:-1], ends[1:])
    assert parts.exp().sum().item() == pytest.approx(1, abs=1e-14)
    assert log_mass_between(law, -INF, INF).item() == pytest.approx(0, abs=1e-14)
    torch.testing.assert_close(parts.exp().cumsum(0), cdf(law, ends[1:]), rtol=1e-13, atol=0)


def test_no_mass_exceeds_one() -> None:
    masses = torch.rand(2000, 7, dtype=DOUBLE, generator=torch.Generator().manual_seed(0))
    points = torch.zeros(7, 1, dtype=DOUBLE)
    law = KernelMixture(points, masses / masses.sum(1, keepdim=True), Gaussian(1.0))
    assert (cdf(law, INF) <= 1).all()


@pytest.mark.parametrize("h", [1e-3, 0.1, 10.0, 1e6, None])
def test_cells_have_the_masses_of_their_atoms(h: float | None) -> None:
    law = voronoi(Z, MASSES, h, -1.0, 1.0)
    ends = torch.tensor([-1.0, -0.35, 0.2, 0.6, 1.0], dtype=DOUBLE)
    expected = torch.tensor([0.3, 0.1, 0.4, 0.2], dtype=DOUBLE)
    torch.testing.assert_close(
        log_mass_between(law, ends[:-1], ends[1:]).exp(), expected, rtol=1e-12, atol=0
    )


def test_a_large_bandwidth_gives_the_uniform_kernel() -> None:
    y = torch.linspace(-1.1, 1.1, 23, dtype=DOUBLE)
    wide, flat = voronoi(Z, MASSES, 1e5, -1.0, 1.0), voronoi(Z, MASSES, None, -1.0, 1.0)
    torch.testing.assert_close(cdf(wide, y), cdf(flat, y), rtol=0, atol=1e-10)
    assert cdf(flat, 0.4).item() == pytest.approx(0.3 + 0.1 + 0.4 / 2)


def test_a_small_bandwidth_gives_steps() -> None:
    y = torch.tensor([-0.9, 0.0, 0.2, 0.5, 0.95], dtype=DOUBLE)
    expected = torch.tensor([0.0, 0.3, 0.4, 0.8, 1.0], dtype=DOUBLE)
    for law in (kernel_mixture(Z, MASSES, 1e-4), voronoi(Z, MASSES, 1e-4, -1.0, 1.0)):
        torch.testing.assert_close(cdf(law, y), expected, rtol=1e-12, atol=0)


def test_neighbouring_floats_keep_their_masses() -> None:
    z = [0.5, float(np.nextafter(0.5, 1)), float(np.nextafter(np.nextafter(0.5, 1), 1)), 0.1]
    for h in (0.2, None):
        law = voronoi(z, MASSES, h, -1.0, 1.0)
        assert cdf(law, 0.3).item() == pytest.approx(0.1, rel=1e-12)
        assert log_mass_between(law, 0.3, 1.0).item() == pytest.approx(math.log(0.9), rel=1e-12)


def test_intervals_without_mass() -> None:
    law = law_of("box")
    low = torch.tensor([0.5, 0.5, 1.0, -3.0], dtype=DOUBLE)
    high = torch.tensor([0.5, 0.4, 2.0, -1.0], dtype=DOUBLE)
    assert (log_mass_between(law, low, high) == -INF).all()
    assert (log_mass_between(law_of("kernel"), INF, INF) == -INF).all()


def test_nan_is_not_hidden() -> None:
    for name in ("kernel", "box", "uniform"):
        assert log_mass_between(law_of(name), math.nan, 0.0).isnan()


# Shapes and types


def test_an_average_has_the_mean_of_the_masses() -> None:
    laws = [law_of("kernel"), law_of("box"), law_of("uniform")]
    low, high = torch.tensor([-0.5, 0.2], dtype=DOUBLE), torch.tensor([0.1, 0.4], dtype=DOUBLE)
    expected = torch.stack([log_mass_between(law, low, high).exp() for law in laws]).mean(0)
    found = log_mass_between(Average(laws), low, high).exp()
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=0)
    nested = Average([Average(laws[:1]), Average(laws[1:])])
    weighted = (cdf(laws[0], low) + (cdf(laws[1], low) + cdf(laws[2], low)) / 2) / 2
    torch.testing.assert_close(cdf(nested, low), weighted, rtol=1e-13, atol=0)


@pytest.mark.parametrize("cut", [False, True])
def test_batches_broadcast(cut: bool) -> None:
    source = torch.Generator().manual_seed(0)
    points = torch.rand(3, 4, 1, dtype=DOUBLE, generator=source)
    points[1, 2] = points[1, 0]
    masses = torch.full((4,), 0.25, dtype=DOUBLE)
    h = torch.tensor([[0.1], [0.2], [0.3]], dtype=DOUBLE)

    def make(i: int | slice) -> KernelMixture | VoronoiMixture:
        if cut:
            return VoronoiMixture(points[i], masses, Gaussian(h[i]), Box(0.0, 1.0))
        return KernelMixture(points[i], masses, Gaussian(h[i]))

    y = torch.linspace(0, 1, 5, dtype=DOUBLE)
    found = cdf(make(slice(None)), y[:, None])
    assert found.shape == (5, 3)
    for i in range(3):
        torch.testing.assert_close(found[:, i], cdf(make(i), y), rtol=0, atol=0)
    assert torch.equal(cdf(make(slice(None)).expand((5, 3)), y[:, None]), found)


def test_float32_is_computed_in_float64() -> None:
    source = torch.Generator().manual_seed(0)
    points = torch.randn(6, 7, 1, generator=source, requires_grad=True)
    masses = torch.rand(6, 7, generator=source).softmax(-1)
    law = VoronoiMixture(points, masses, Gaussian(0.2), Box(-5.0, 5.0))
    double = VoronoiMixture(points.double(), masses.double(), Gaussian(0.2), Box(-5.0, 5.0))
    found = cdf(law, torch.full((6,), 0.5))
    assert found.dtype == DOUBLE
    assert not found.requires_grad
    torch.testing.assert_close(found, cdf(double, 0.5), rtol=1e-12, atol=0)
    torch.testing.assert_close(cdf(law, 5.0), torch.ones(6, dtype=DOUBLE), rtol=0, atol=1e-15)


def test_other_laws_are_refused() -> None:
    with pytest.raises(TypeError, match="DiracMixture"):
        truncated_kernels(DiracMixture(torch.zeros(1, 1), torch.ones(1)))
    up = torch.tensor([[0.0, 0.0, 1.0]])
    for law in (
        KernelMixture(torch.zeros(1, 2), torch.ones(1), Gaussian(1.0)),
        VoronoiMixture(up, torch.ones(1), VonMisesFisher(1.0), Sphere()),
    ):
        with pytest.raises(ValueError, match="the line"):
            cdf(law, 0.0)
