"""Scores against closed forms, finer quadrature and samples."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import Tensor

from vwta import Average, Box, Gaussian, KernelMixture, Uniform, VoronoiMixture
from vwta.distributions import calibration
from vwta.distributions.calibration import coverage, crps, dequantised, pit, pit_deviation, step_of
from vwta.distributions.line import cdf

DOUBLE = torch.float64
INF = math.inf
Law = KernelMixture | VoronoiMixture | Average
LAWS = ["kernel", "mdn", "box", "open", "each", "twins", "uniform", "average", "mixed"]


def atoms(seed: int, n: int, k: int) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(seed)
    points = torch.rand(n, k, 1, dtype=DOUBLE, generator=source) * 2 - 1
    return points, torch.randn(n, k, dtype=DOUBLE, generator=source).softmax(-1)


def law_of(name: str, h: float, n: int = 6) -> Law:
    """A law of batch `(n,)` with bandwidths around `h`."""
    z, masses = atoms(len(name), n, 4)
    factor = torch.rand(n, 4, dtype=DOUBLE, generator=torch.Generator().manual_seed(0)) + 0.1
    if name == "twins":
        z = z[:, [0, 1, 0, 0]]
    if name in ("kernel", "mdn"):
        return KernelMixture(z, masses, Gaussian(h * factor if name == "mdn" else h))
    if name in ("box", "twins", "uniform"):
        kernel = Uniform() if name == "uniform" else Gaussian(h)
        return VoronoiMixture(z, masses, kernel, Box(-1.0, 1.5))
    if name in ("open", "each"):
        kernel = Gaussian(h * factor if name == "each" else h)
        return VoronoiMixture(z, masses, kernel, Box(-INF, INF if name == "open" else 1.5))
    if name == "average":
        return Average([law_of(each, h, n) for each in ("box", "open", "each")])
    return Average([law_of("mdn", h, n), law_of("uniform", h, n), law_of("average", 2 * h, n)])


def targets(n: int = 6) -> Tensor:
    return torch.linspace(-2.5, 2.5, n, dtype=DOUBLE)


def places(law: Law, h: float) -> list[float]:
    """Atoms and borders of the first member of the batch, and places around them."""
    if isinstance(law, Average):
        return [t for each in law.laws for t in places(each, h)]
    z = sorted(law.points[0, :, 0].tolist())
    around = [a + i * h * scale for a in z for i in range(-10, 11) for scale in (0.3, 1, 2.5)]
    return [*around, *((a + b) / 2 for a, b in pairwise(z)), -1.0, 1.5]


def fine_crps(law: Law, y: float, h: float) -> float:
    """The integral for the first member, with 40 nodes between many more places."""
    edges = np.unique([*places(law, h), y, y - 30 * h, y + 30 * h])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half = np.diff(edges)[:, None] / 2
    t = (edges[1:] + edges[:-1])[:, None] / 2 + half * nodes
    level = cdf(law, torch.tensor(t)[..., None])[..., 0].numpy()
    return float(((level - (t >= y)) ** 2 * half * weights).sum())


# CRPS


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("h", [1e-3, 0.05, 0.4, 10.0])
def test_crps_against_finer_quadrature(name: str, h: float) -> None:
    law = law_of(name, h, n=1)
    inside = law.sample((), generator=torch.Generator().manual_seed(1)).item()
    atom = places(law, h)[31]
    for y in (inside, atom, -1.0, 1.7, -3.0):
        found = crps(law, torch.tensor([[y]], dtype=DOUBLE))
        assert found.item() == pytest.approx(fine_crps(law, y, h), rel=1e-7)


def test_crps_of_a_gaussian() -> None:
    y, h = targets(), torch.tensor([1e-3, 0.1, 0.5, 1.0, 3.0, 10.0], dtype=DOUBLE)
    x = ((y - 0.2) / h).numpy()
    normal = stats.norm
    expected = h.numpy() * (
        x * (2 * normal.cdf(x) - 1) + 2 * normal.pdf(x) - 1 / math.sqrt(math.pi)
    )
    z, one = torch.full((6, 1, 1), 0.2, dtype=DOUBLE), torch.ones(6, 1, dtype=DOUBLE)
    for law in (
        KernelMixture(z, one, Gaussian(h[:, None])),
        VoronoiMixture(z, one, Gaussian(h[:, None]), Box(-INF, INF)),
        VoronoiMixture(z, one, Gaussian(h[:, None]), Box(-1e6, INF)),  # by quadrature
    ):
        np.testing.assert_allclose(crps(law, y), expected, rtol=1e-7)


@pytest.mark.parametrize("y", [-0.5, 0.0, 0.3, 1.0, 2.0])
def test_crps_of_a_uniform_law(y: float) -> None:
    law = VoronoiMixture(torch.full((1, 1), 0.7), torch.ones(1), Uniform(), Box(0.0, 1.0))
    at = min(max(y, 0.0), 1.0)
    expected = (at**3 + (1 - at) ** 3) / 3 + abs(y - at)
    assert crps(law, torch.tensor(y, dtype=DOUBLE)).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("y", [-0.9, 0.35, 0.6])
def test_crps_of_a_truncated_gaussian(y: float) -> None:
    law = VoronoiMixture(torch.full((1, 1), 0.3), torch.ones(1), Gaussian(0.4), Box(-0.5, 0.5))
    z = float(torch.tensor(0.3))
    cut = stats.truncnorm((-0.5 - z) / 0.4, (0.5 - z) / 0.4, z, 0.4)
    below, above = (-0.5, min(max(y, -0.5), 0.5)), (min(max(y, -0.5), 0.5), 0.5)
    expected = integrate.quad(lambda t: cut.cdf(t) ** 2, *below, epsabs=1e-13)[0]
    expected += integrate.quad(lambda t: cut.sf(t) ** 2, *above, epsabs=1e-13)[0]
    expected += abs(y - above[0])
    assert crps(law, torch.tensor(y, dtype=DOUBLE)).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["kernel", "each", "twins", "mixed"])
def test_crps_against_samples(name: str) -> None:
    law, y = law_of(name, 0.3), targets()
    draws, others = law.sample((2, 50_000), generator=torch.Generator().manual_seed(0))[..., 0]
    distance, apart = (draws - y).abs(), (draws - others).abs() / 2
    error = (distance - apart).std(0) / math.sqrt(len(draws))
    assert ((crps(law, y) - (distance - apart).mean(0)).abs() < 5 * error).all()
    assert (error < 1e-2).all()


def test_crps_of_narrow_kernels_is_that_of_atoms() -> None:
    z, masses = atoms(0, 6, 5)
    y = targets()
    apart = (z[..., 0] - y[:, None]).abs()
    pairs = (z - z[..., 0][:, None]).abs()
    expected = (masses * apart).sum(1) - torch.einsum("ni,nij,nj->n", masses, pairs, masses) / 2
    for law in (
        KernelMixture(z, masses, Gaussian(1e-8)),
        VoronoiMixture(z, masses, Gaussian(1e-8), Box(-INF, INF)),
    ):
        torch.testing.assert_close(crps(law, y), expected, rtol=1e-6, atol=0)


def test_crps_of_wide_kernels_is_that_of_uniform_ones() -> None:
    z, masses = atoms(0, 6, 5)
    wide, flat = (
        VoronoiMixture(z, masses, kernel, Box(-1.0, 1.0)) for kernel in (Gaussian(1e5), Uniform())
    )
    torch.testing.assert_close(crps(wide, targets()), crps(flat, targets()), rtol=1e-9, atol=0)


def test_crps_is_lowest_on_average_for_the_true_law() -> None:
    truth = KernelMixture(*atoms(0, 1, 3), Gaussian(0.2)).expand((20_000,))
    y = truth.sample(generator=torch.Generator().manual_seed(0))
    scores = [crps(truth.with_bandwidth(h), y).mean().item() for h in (0.05, 0.2, 0.5)]
    assert min(scores) == scores[1]


@pytest.mark.parametrize("name", ["mdn", "mixed"])
def test_crps_in_parts_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law, y = law_of(name, 0.2, n=30), targets(30)
    whole = crps(law, y)
    monkeypatch.setattr(calibration, "WORK", 1)
    torch.testing.assert_close(crps(law, y), whole, rtol=1e-12, atol=0)
    assert crps(law, y[:, None]).shape == (30,)


def test_masses_of_float32_do_not_spoil_narrow_kernels() -> None:
    z, masses = atoms(0, 50, 9)
    z, masses = z.float(), masses.float()
    y = z[:, 0, 0]
    exact = masses.double() / masses.double().sum(1, keepdim=True)
    for make in (KernelMixture, lambda *x: VoronoiMixture(*x, Box(-INF, INF))):
        expected = crps(make(z.double(), exact, Gaussian(1e-3)), y)
        torch.testing.assert_close(
            crps(make(z, masses, Gaussian(1e-3)), y), expected, rtol=1e-9, atol=0
        )


# Calibration


@pytest.mark.parametrize("name", LAWS)
def test_pit_of_the_true_law_is_uniform(name: str) -> None:
    law = law_of(name, 0.2, n=4000)
    y = law.sample(generator=torch.Generator().manual_seed(77))
    values = pit(law, y)
    assert values.shape == (4000,)
    assert stats.kstest(values.numpy(), "uniform").pvalue > 1e-3
    assert coverage(values) == pytest.approx(0.9, abs=0.02)
    assert coverage(values, 0.5) == pytest.approx(0.5, abs=0.03)


def test_calibration_tells_narrow_from_wide() -> None:
    truth = KernelMixture(*atoms(0, 4000, 1), Gaussian(1.0))
    y = truth.sample(generator=torch.Generator().manual_seed(0))
    narrow, wide = (pit(truth.with_bandwidth(h), y) for h in (0.5, 2.0))
    level = stats.norm.ppf(0.95)
    assert coverage(narrow) == pytest.approx(2 * stats.norm.cdf(level / 2) - 1, abs=0.02)
    assert coverage(wide) == pytest.approx(2 * stats.norm.cdf(level * 2) - 1, abs=0.01)
    t = np.linspace(-4, 4, 10_001)
    expected = np.abs(stats.norm.cdf(t) - stats.norm.cdf(2 * t)).max()
    assert pit_deviation(narrow) == pytest.approx(expected, abs=0.025)


@pytest.mark.parametrize("n", [1, 2, 7, 500])
def test_deviation_against_scipy(n: int) -> None:
    values = torch.rand(n, dtype=DOUBLE, generator=torch.Generator().manual_seed(n)) ** 1.3
    expected = stats.kstest(values.numpy(), "uniform").statistic
    assert pit_deviation(values) == pytest.approx(expected, rel=1e-12)


def test_coverage_counts() -> None:
    values = torch.tensor([0.0, 0.1, 0.24, 0.26, 0.5, 0.74, 0.76, 1.0], dtype=DOUBLE)
    assert coverage(values, 0.5) == 3 / 8
    with pytest.raises(ValueError, match=r"level 1\.5"):
        coverage(values, 1.5)


# Discrete targets


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("h", [1e-3, 0.3])
def test_dequantised_densities_of_a_grid_sum_to_one(name: str, h: float) -> None:
    law, step = law_of(name, h, n=1).expand((201,)), 0.05
    grid = torch.arange(-100, 101, dtype=DOUBLE) * step
    assert (dequantised(law, grid, step).exp() * step).sum().item() == pytest.approx(1, abs=1e-12)


def test_dequantised_is_a_convolution() -> None:
    law = KernelMixture(torch.zeros(1, 1), torch.ones(1, dtype=DOUBLE), Gaussian(0.3))
    y, step = 0.4, 0.7
    expected = integrate.quad(lambda u: stats.norm.pdf(y - u, 0, 0.3) / step, -step / 2, step / 2)
    found = dequantised(law, torch.tensor(y, dtype=DOUBLE), step)
    assert found.exp().item() == pytest.approx(expected[0], rel=1e-10)


@pytest.mark.parametrize("name", LAWS)
def test_dequantised_goes_to_the_density(name: str) -> None:
    law, y = law_of(name, 0.3), torch.linspace(-0.9, 0.9, 6, dtype=DOUBLE)
    expected = law.log_prob(y[:, None])
    torch.testing.assert_close(dequantised(law, y, 1e-12), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["kernel", "open", "average"])
def test_dequantised_is_bounded_at_atoms_and_finite_far_away(name: str) -> None:
    law = law_of(name, 1e-3)
    far = dequantised(law, torch.full((6,), 9.0, dtype=DOUBLE), 0.01)
    assert torch.isfinite(far).all()
    assert (far < -1e6).all()
    member = law.laws[0] if isinstance(law, Average) else law
    near = dequantised(law, member.points[:, 0], 0.01)
    assert (near <= -math.log(0.01) + 1e-12).all()
    assert (law.log_prob(member.points[:, 0]) > near).all()


@pytest.mark.parametrize("step", [0.0, -1.0, INF, math.nan])
def test_dequantised_needs_a_step(step: float) -> None:
    with pytest.raises(ValueError, match="step"):
        dequantised(law_of("kernel", 0.1), targets(), step)


def test_step_is_the_smallest_gap() -> None:
    source = torch.Generator().manual_seed(0)
    grid = torch.randint(0, 200, (500, 1), generator=source).double()
    assert step_of(grid * 0.25 - 7) == 0.25
    mean, std = grid.mean(), grid.std()
    assert step_of((grid - mean) / std) == pytest.approx(1 / std.item(), rel=1e-9)


def test_rounding_is_no_gap() -> None:
    values = torch.tensor([0.1 + 0.2, 0.3, 0.5, 0.9], dtype=DOUBLE)
    assert values[0] != values[1]
    assert step_of(values) == pytest.approx(0.2)
    assert step_of(torch.tensor([0.0, 1e-8, 1.0], dtype=DOUBLE)) == 1e-8
    with pytest.raises(ValueError, match="3 values"):
        step_of(torch.ones(3))


def test_targets_that_would_broadcast_are_refused() -> None:
    law = law_of("kernel", 0.1)
    for y in (torch.zeros(1), torch.zeros(6, 2), torch.zeros(1, 6)):
        for function in (crps, pit):
            with pytest.raises(ValueError, match="one target each"):
                function(law, y)
    with pytest.raises(ValueError, match="one target each"):
        dequantised(law, torch.zeros(3), 0.1)


def test_nothing_has_neither_step_nor_deviation() -> None:
    with pytest.raises(ValueError, match="0 values"):
        step_of(torch.tensor([]))
    with pytest.raises(ValueError, match="3 values, 1 of them nan"):
        step_of(torch.tensor([0.0, math.nan, 1.0]))
    with pytest.raises(ValueError, match="no values"):
        pit_deviation(torch.tensor([]))


def test_targets_at_infinity_have_an_infinite_score() -> None:
    points, masses = torch.zeros(3, 1, 1), torch.ones(3, 1)
    y = torch.tensor([math.inf, 0.5, -math.inf])
    for law in (
        KernelMixture(points, masses, Gaussian(1.0)),
        VoronoiMixture(points, masses, Gaussian(1.0), Box(-1.0, 1.0)),
    ):
        score = crps(law, y)
        assert score.isinf().tolist() == [True, False, True]
        assert score[1] == crps(law, torch.full((3,), 0.5))[1]
