"""Highest-density regions against grids, closed forms and samples."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch.distributions import Distribution

from vwta import Average, Box, Gaussian, KernelMixture, Uniform, VoronoiMixture
from vwta.distributions.regions import density_rank, hdr

BOX = Box(-4.0, 4.0)


def laws(rows: int) -> dict[str, Distribution]:
    g = torch.Generator().manual_seed(3)
    points = torch.randn(2, rows, 5, 1, generator=g, dtype=torch.float64).clamp(-3, 3)
    masses = torch.rand(rows, 5, generator=g, dtype=torch.float64) + 0.1
    masses /= masses.sum(-1, keepdim=True)
    h = 0.15 + 0.3 * torch.rand(rows, 5, generator=g, dtype=torch.float64)
    cut = VoronoiMixture(points[0], masses, Gaussian(h), BOX)
    uncut = KernelMixture(points[1], masses, Gaussian(h))
    return {"cut": cut, "uncut": uncut, "average": Average([cut, uncut])}


@pytest.mark.parametrize("kind", ["cut", "uncut", "average"])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_line_agrees_with_grid(kind: str, level: float) -> None:
    law = laws(4)[kind]
    found = hdr(law, level)
    np.testing.assert_allclose(found.mass, level, atol=1e-9)
    y = torch.linspace(-6, 6, 60_001, dtype=torch.float64)
    log_p = law.log_prob(y[:, None, None])
    inside = log_p >= found.log_threshold
    step = float(y[1] - y[0])
    np.testing.assert_allclose((log_p.exp() * inside).sum(0) * step, level, atol=2e-3)
    np.testing.assert_allclose(inside.sum(0) * step, found.volume, atol=2e-3)
    agree = found.contains(law, y[:, None, None].expand(-1, 4, 1)) == inside
    assert agree.double().mean() > 0.9995
    assert found.intervals is not None
    assert (found.intervals[:, 1] > found.intervals[:, 0]).all()


def test_gaussian_has_central_interval() -> None:
    law = KernelMixture(torch.full((1, 1), 2.0), torch.ones(1), Gaussian(0.5))
    reach = 0.5 * norm.ppf(0.95)
    np.testing.assert_allclose(hdr(law, 0.9).intervals, [[2 - reach, 2 + reach]], atol=1e-9)
    target = torch.tensor([2.0 + reach])
    assert density_rank(law, target).item() == pytest.approx(0.9, abs=1e-6)


def test_constant_density_gives_more_than_the_level() -> None:
    points, masses = torch.tensor([[-2.0], [2.0]]), torch.tensor([0.4, 0.6])
    law = VoronoiMixture(points, masses, Uniform(), BOX)
    for level, mass, ends in ((0.5, 0.6, [[0.0, 4.0]]), (0.7, 1.0, [[-4.0, 4.0]])):
        found = hdr(law, level)
        np.testing.assert_allclose(found.mass, mass, atol=1e-6)
        np.testing.assert_allclose(found.intervals, ends, atol=1e-9)


@pytest.mark.parametrize("kind", ["cut", "average"])
def test_rank_of_samples_is_uniform(kind: str) -> None:
    torch.manual_seed(0)
    law = laws(500)[kind]
    y = law.sample()
    rank = density_rank(law, y)
    ordered = rank.sort().values
    grid = (torch.arange(500) + 0.5) / 500
    assert (ordered - grid).abs().max() < 1.6 / math.sqrt(500)
    assert torch.equal(rank <= 0.8, hdr(law, 0.8).contains(law, y))


def test_plane_by_samples() -> None:
    masses = torch.ones(3, 1, dtype=torch.float64)
    law = KernelMixture(torch.zeros(3, 1, 2, dtype=torch.float64), masses, Gaussian(0.5))
    found = hdr(law, 0.8)
    radius = 0.5 * math.sqrt(-2 * math.log(0.2))
    area = math.pi * radius**2
    assert ((found.volume - area).abs() < 4 * found.volume_error + 0.03 * area).all()
    threshold = law.log_prob(torch.tensor([radius, 0.0], dtype=torch.float64))
    np.testing.assert_allclose(found.log_threshold, threshold, atol=0.15)
    torch.manual_seed(1)
    y = law.sample(torch.Size((4000,)))
    share = found.contains(law, y).double().mean(0)
    assert ((share - 0.8).abs() < 4 * math.sqrt(2) * found.mass_error).all()
    assert density_rank(law, torch.zeros(3, 2, dtype=torch.float64)).max() < 0.01


def test_level_is_checked() -> None:
    with pytest.raises(ValueError, match="level 90"):
        hdr(laws(1)["cut"], 90)
