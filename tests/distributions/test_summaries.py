"""Quantiles, entropies and modes against closed forms and brute force."""

import math

import pytest
import torch
from scipy import stats
from torch.distributions import Distribution

from vwta.distributions.average import Average
from vwta.distributions.line import cdf
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.distributions.summaries import entropy, mode, quantile
from vwta.geometry.kernels import Gaussian, Uniform, VonMisesFisher
from vwta.geometry.spaces import Box, Sphere

POINTS = torch.tensor([[[-1.0], [0.2], [0.5]], [[0.0], [0.0], [3.0]]], dtype=torch.float64)
MASSES = torch.tensor([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]], dtype=torch.float64)
LINE = Box(-math.inf, math.inf)
LAWS = {
    "kernel": KernelMixture(POINTS, MASSES, Gaussian(0.3)),
    "widths": KernelMixture(POINTS, MASSES, Gaussian(torch.tensor([0.1, 1.0, 2.0]))),
    "voronoi": VoronoiMixture(POINTS, MASSES, Gaussian(0.4), LINE),
    "histogram": VoronoiMixture(POINTS, MASSES, Uniform(), Box(-2.0, 4.0)),
}
LAWS["average"] = Average([LAWS["kernel"], LAWS["voronoi"]])


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_invert_the_distribution_function(name: str) -> None:
    q = torch.tensor([1e-6, 0.1, 0.5, 0.99])[:, None].double()
    y = quantile(LAWS[name], q)
    assert y.shape == (4, 2)
    torch.testing.assert_close(cdf(LAWS[name], y), q.expand(4, 2), rtol=0, atol=1e-9)


def test_quantiles_of_a_gaussian() -> None:
    law = KernelMixture(torch.full((1, 1), 3.0).double(), torch.ones(1), Gaussian(2.0))
    q = torch.tensor([0.001, 0.3, 0.9999], dtype=torch.float64)
    expected = torch.as_tensor(stats.norm(3, 2).ppf(q))
    torch.testing.assert_close(quantile(law, q), expected, rtol=1e-9, atol=1e-9)


def test_quantiles_reach_the_sides_of_a_box() -> None:
    ends = quantile(LAWS["histogram"], torch.tensor([[0.0], [1.0]]).double())
    torch.testing.assert_close(ends, torch.tensor([[-2.0] * 2, [4.0] * 2]).double())


def test_quantiles_of_no_probability() -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1, found 1\.5"):
        quantile(LAWS["kernel"], 1.5)


@pytest.mark.parametrize("name", LAWS)
def test_entropy_by_a_riemann_sum(name: str) -> None:
    step = 1e-4
    y = torch.arange(-20, 25, step, dtype=torch.float64) + step / 2
    log_p = LAWS[name].log_prob(y[:, None, None])
    terms = torch.where(log_p > -math.inf, -log_p.exp() * log_p, 0.0)
    torch.testing.assert_close(entropy(LAWS[name]), terms.sum(0) * step, rtol=0, atol=1e-5)


def test_entropy_of_a_gaussian_and_of_a_uniform_law() -> None:
    one = torch.zeros(1, 1, 1).double(), torch.ones(1, 1).double()
    gaussian = entropy(KernelMixture(*one, Gaussian(2.0))).item()
    assert gaussian == pytest.approx(math.log(2) + 0.5 * math.log(2 * math.pi * math.e), abs=1e-7)
    uniform = entropy(VoronoiMixture(*one, Uniform(), Box(-1.0, 3.0))).item()
    assert uniform == pytest.approx(math.log(4), abs=1e-9)


@pytest.mark.parametrize("name", ["kernel", "widths", "voronoi", "average"])
def test_mode_is_the_highest_of_a_fine_grid(name: str) -> None:
    law, grid = LAWS[name], torch.linspace(-3, 4, 20_001).double()
    log_p = law.log_prob(grid[:, None, None])
    found = law.log_prob(mode(law))
    assert (found >= log_p.amax(0) - 1e-9).all()


def test_mode_in_the_plane_lies_between_atoms() -> None:
    points = torch.tensor([[0.0, 0.0], [1.0, 1.0], [8.0, 8.0]]).double()
    law = KernelMixture(points, torch.tensor([0.3, 0.3, 0.4]).double(), Gaussian(1.0))
    torch.testing.assert_close(mode(law), torch.full((2,), 0.5).double(), atol=1e-5, rtol=0)


def test_mode_on_the_sphere() -> None:
    points = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).double()
    law = KernelMixture(points, torch.tensor([0.5, 0.5]).double(), VonMisesFisher(1.0))
    half = math.sqrt(0.5)
    expected = torch.tensor([half, half, 0.0]).double()
    torch.testing.assert_close(mode(law, Sphere().project), expected, atol=1e-4, rtol=0)


def test_only_laws_on_the_line_have_quantiles() -> None:
    law: Distribution = KernelMixture(torch.zeros(1, 2), torch.ones(1), Gaussian(1.0))
    with pytest.raises(ValueError, match="only laws on the line"):
        quantile(law, 0.5)
