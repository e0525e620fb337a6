"""Synthetic problems: their densities are laws, and are those of their samples."""

import math

import pytest
import torch
import yaml
from loading import ROOT
from scipy import integrate, stats
from torch import Tensor

from vwta.paper.synthetic.clouds import cloud
from vwta.paper.synthetic.generate import law_of_split
from vwta.paper.synthetic.true_laws import (
    PROBLEMS,
    MoonCloud,
    Problem,
    RotatingMoons,
    UniformToGaussians,
    inputs,
    problem,
)
from vwta.seeds import generator

CONSTANTS = yaml.safe_load((ROOT / "config/config.yaml").read_text())["synthetic"]["constants"]
LAWS: dict[str, Problem] = {
    **{name: problem(name, **CONSTANTS.get(name, {})) for name in PROBLEMS},
    "unrestricted_gaussians": UniformToGaussians(restricted=False),
}


def grid(n: int, reach: float) -> tuple[Tensor, float]:
    """Midpoints of an n x n grid on [-reach, reach]^2, and the area that each stands for."""
    step = 2 * reach / n
    line = -reach + step * (torch.arange(n, dtype=torch.float64) + 0.5)
    return torch.cartesian_prod(line, line), step**2


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("x", [0.0, 0.3, 1.0])
def test_density_integrates_to_one(name: str, x: float) -> None:
    points, area = grid(250, 2.5)
    log_p = LAWS[name].log_density(torch.tensor([x], dtype=torch.float64), points)
    assert log_p.exp().sum().item() * area == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("x", [0.1, 0.8])
def test_samples_follow_the_density(name: str, x: float) -> None:
    """Chi-square over a coarse grid whose cells' masses come from the density."""
    law, n, side = LAWS[name], 20_000, 12
    y = law.sample(torch.tensor([x], dtype=torch.float64), n, generator(0, name))
    fine, area = grid(side * 15, 1.5)
    density = law.log_density(torch.tensor([x], dtype=torch.float64), fine).exp()
    expected = n * area * torch.bincount(cell(fine, side), density, minlength=side**2 + 1)
    expected[-1] = n - expected[:-1].sum()
    counts = torch.bincount(cell(y, side), minlength=side**2 + 1).double()
    frequent = expected > 5
    counts = torch.cat([counts[frequent], counts[~frequent].sum(0, keepdim=True)])
    expected = torch.cat([expected[frequent], expected[~frequent].sum(0, keepdim=True)])
    statistic = ((counts - expected).square() / expected.clamp(min=1)).sum().item()
    assert stats.chi2.sf(statistic, len(counts) - 1) > 1e-3


def cell(y: Tensor, side: int) -> Tensor:
    """Index of each point's cell in a side x side grid on [-1.5, 1.5]^2; the last is outside."""
    index = ((y + 1.5) / 3 * side).floor().long()
    inside = ((index >= 0) & (index < side)).all(-1)
    return torch.where(inside, index[..., 0] * side + index[..., 1], side**2)


@pytest.mark.parametrize("name", LAWS)
def test_shapes(name: str) -> None:
    law = LAWS[name]
    x = inputs(5, generator(0)).expand(3, 5, 1)
    y = law.sample(x, 4, generator(1))
    assert y.shape == (4, 3, 5, 2)
    assert law.log_density(x, y).shape == (4, 3, 5)
    assert law.log_density(x, torch.zeros(2)).shape == (3, 5)
    assert isinstance(law.title, str)


def test_same_generator_same_points() -> None:
    law: Problem = problem("single_gaussian")
    x = inputs(7, generator(3, "x"))
    assert torch.equal(x, inputs(7, generator(3, "x")))
    assert not torch.equal(x, inputs(7, generator(4, "x")))
    assert torch.equal(law.sample(x, 2, generator(5)), law.sample(x, 2, generator(5)))


def test_gaussian_entropy() -> None:
    law = problem("single_gaussian")
    x = torch.zeros(200_000, 1, dtype=torch.float64)
    y = law.sample(x, 1, generator(0))[0]
    entropy = math.log(2 * math.pi * math.e * 0.2**2)
    assert -law.log_density(x, y).mean().item() == pytest.approx(entropy, abs=0.01)


def test_damier_is_a_chessboard() -> None:
    x = torch.tensor([0.25], dtype=torch.float64)
    squares = torch.tensor([[-0.9, -0.9], [-0.9, -0.4], [0.1, 0.6], [1.0, 0.9], [1.1, 0.0]])
    density = LAWS["changing_damier"].log_density(x, squares.double()).exp()
    assert density.tolist() == pytest.approx([0.375, 0.125, 0.125, 0.375, 0.0])


def test_moons_density_against_quadrature() -> None:
    """The law at x = 0 by adaptive quadrature along each half circle."""
    low, high = CONSTANTS["rotating_moons"].values()
    stretch = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
    for y in ([0.3, -0.2], [-0.5, 0.6], [0.9, 0.1]):
        u, v = (a + (t + 1) * s for a, t, s in zip(low, y, stretch, strict=True))

        def first(t: float, u: float = u, v: float = v) -> float:
            return math.exp(-((u - math.cos(t)) ** 2 + (v - math.sin(t)) ** 2) / 0.02)

        def second(t: float, u: float = u, v: float = v) -> float:
            return math.exp(-((u - 1 + math.cos(t)) ** 2 + (v - 0.5 + math.sin(t)) ** 2) / 0.02)

        precise = {"epsabs": 0, "epsrel": 1e-10, "limit": 500}
        total = sum(integrate.quad(f, 0, math.pi, **precise)[0] for f in (first, second))
        expected = total / (2 * math.pi) / (2 * math.pi * 0.01) * math.prod(stretch)
        found = LAWS["rotating_moons"].log_density(
            torch.zeros(1).double(), torch.tensor(y).double()
        )
        assert found.exp().item() == pytest.approx(expected, rel=1e-6)


def test_moons_turn_counter_clockwise() -> None:
    law = LAWS["rotating_moons"]
    quarter = law.log_density(torch.tensor([0.25]), torch.tensor([-0.6, 0.5]))
    assert quarter.item() == pytest.approx(
        law.log_density(torch.tensor([0.0]), torch.tensor([0.5, 0.6])).item(), rel=1e-4
    )


@pytest.mark.parametrize("restricted", [True, False])
def test_gaussians_stay_in_their_quadrants(restricted: bool) -> None:
    law = UniformToGaussians(restricted=restricted)
    y = law.sample(torch.ones(1), 100_000, generator(0))
    opposite = (y[:, 0] < 0) == (y[:, 1] >= 0)
    inside = (y.abs() <= 1).all(-1) & opposite
    share = inside.double().mean().item()
    assert share == 1 if restricted else share == pytest.approx(1 - (1 - 0.9545**2) / 2, abs=3e-3)


def test_unknown_problem_is_named() -> None:
    with pytest.raises(ValueError, match=r"'single_gausian'.*single_gaussian"):
        problem("single_gausian")


def test_frozen_moons_are_a_cloud_with_its_own_extremes() -> None:
    source = torch.Generator().manual_seed(0)
    moons = LAWS["rotating_moons"]
    cloud = moons.frozen(1000, source)
    assert isinstance(cloud, MoonCloud)
    y = cloud.sample(torch.zeros(5000, 1), 1, source)[0]
    assert y.amin(0).tolist() == pytest.approx([-1, -1], abs=1e-6)
    assert y.amax(0).tolist() == pytest.approx([1, 1], abs=1e-6)
    assert len(torch.unique(y, dim=0)) <= 1000
    turned = cloud.sample(torch.full((5000, 1), 0.25, dtype=torch.float64), 1, source)[0]
    low, high = cloud.points.amin(0), cloud.points.amax(0)
    points = 2 * (cloud.points - low) / (high - low) - 1
    quarter = torch.stack([-points[:, 1], points[:, 0]], -1)
    assert torch.cdist(turned, quarter).min(-1).values.max() < 1e-7
    # The stretch changes the density by a factor only: it is that of the points before it.
    fixed = RotatingMoons(low.tolist(), high.tolist())
    x = torch.rand(20, 1, generator=source, dtype=torch.float64)
    z = torch.rand(20, 2, generator=source, dtype=torch.float64) * 2 - 1
    assert torch.equal(cloud.log_density(x, z), fixed.log_density(x, z))
    assert problem("changing_damier").frozen(10, source) == problem("changing_damier")


def test_clouds_of_validation_and_test_have_one_size() -> None:
    """A small one, of as many points as are evaluated, would be stretched more than in training."""
    name, rows = "rotating_moons", {"train": 3000, "validation": 2000, "test": 10}
    points = {}
    for split in rows:
        law = law_of_split(name, split, CONSTANTS[name], True, rows, 0)
        assert isinstance(law, MoonCloud)
        points[split] = law.points
    assert [len(cloud) for cloud in points.values()] == [3000, 2000, 2000]
    assert not torch.equal(points["validation"], points["test"])
    assert law_of_split(name, "test", CONSTANTS[name], False, rows, 0) == LAWS[name]


def test_a_cloud_is_made_for_each_input() -> None:
    """Turned back it fills the square; drawn with replacement, 1 / e of its points are missing."""
    law, n = LAWS["rotating_moons"], 2000
    x = torch.tensor([[0.0], [0.2], [0.9]], dtype=torch.float64)
    y = cloud(law, x, n, generator(0))
    assert y.shape == (n, 3, 2)
    angle = -2 * math.pi * x[:, 0]
    back = torch.stack(
        [
            angle.cos() * y[..., 0] - angle.sin() * y[..., 1],
            angle.sin() * y[..., 0] + angle.cos() * y[..., 1],
        ],
        -1,
    )
    for extremes in (-back.amin(0), back.amax(0)):
        assert extremes.min() > 0.9
        assert extremes.max() < 1 + 1e-12
        assert (extremes > 1 - 1e-12).any()
    assert len(y.flatten(0, 1).unique(dim=0)) / (3 * n) == pytest.approx(1 - math.exp(-1), abs=0.02)
    assert (back[..., 1] > 0).double().mean().item() == pytest.approx(0.5, abs=0.06)


def test_a_large_cloud_is_the_law_nearly() -> None:
    law, x = LAWS["rotating_moons"], torch.tensor([0.3], dtype=torch.float64)
    ours, theirs = cloud(law, x, 50_000, generator(0)), law.sample(x, 50_000, generator(1))
    for axis in (0, 1):
        statistic = stats.ks_2samp(ours[:, axis].numpy(), theirs[:, axis].numpy()).statistic
        assert statistic < 0.02


def test_other_laws_know_no_clouds() -> None:
    x = torch.rand(4, 1, generator=generator(0))
    for name in ("single_gaussian", "changing_damier", "uniform_to_gaussians"):
        same = LAWS[name].sample(x, 9, generator(1))
        assert torch.equal(cloud(LAWS[name], x, 9, generator(1)), same)


@pytest.mark.parametrize("noise", [0.1, 0.03, 0.01, 0.002])
def test_moons_of_little_noise_by_integration(noise: float) -> None:
    """On and beside the first half circle, far from the second; in the unit of the plane."""
    law = RotatingMoons([-1.0, -1.0], [1.0, 1.0], noise)
    for at in (1.6, 1.63, 2.0):
        for radius in (1.0, 1 + noise):

            def density(t: float, at: float = at, radius: float = radius) -> float:
                square = radius**2 + 1 - 2 * radius * math.cos(t - at)
                return math.exp(-square / (2 * noise**2)) / (2 * math.pi * noise**2)

            near = [at - 12 * noise, at + 12 * noise]
            exact = (
                integrate.quad(density, *near, epsabs=0, epsrel=1e-12, limit=500)[0] / math.pi / 2
            )
            y = torch.tensor([radius * math.cos(at), radius * math.sin(at)], dtype=torch.float64)
            found = law.log_density(torch.zeros(1, dtype=torch.float64), y).item()
            assert found == pytest.approx(math.log(exact), abs=1e-6)
