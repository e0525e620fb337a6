"""Averages of laws against plain arithmetic, quadrature and samples."""

import math

import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.distributions import Distribution, Independent, Normal

from vwta.distributions.average import Average
from vwta.distributions.bandwidth import tune
from vwta.distributions.mixtures import DiracMixture, KernelMixture, VoronoiMixture
from vwta.geometry.kernels import Gaussian, Uniform, VonMisesFisher
from vwta.geometry.spaces import Box, Sphere

DOUBLE = torch.float64


def atoms(seed: int, *shape: int) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(seed)
    points = torch.rand(*shape, 1, dtype=DOUBLE, generator=source) * 2 - 1
    return points, torch.rand(*shape, dtype=DOUBLE, generator=source).softmax(-1)


def laws(*batch: int) -> list[Distribution]:
    return [
        KernelMixture(*atoms(0, *batch, 3), Gaussian(0.3)),
        VoronoiMixture(*atoms(1, *batch, 4), Gaussian(0.5), Box(-1.0, 2.0)),
        VoronoiMixture(*atoms(2, *batch, 2), Uniform(), Box(-1.0, 1.0)),
    ]


def test_density_is_the_mean_of_the_densities() -> None:
    members = laws(5)
    y = torch.linspace(-3, 3, 7, dtype=DOUBLE)[:, None, None]
    expected = sum(law.log_prob(y).exp() for law in members) / 3
    found = Average(members).log_prob(y)
    assert found.shape == (7, 5)
    torch.testing.assert_close(found.exp(), expected, rtol=1e-12, atol=0)


def test_far_away_the_log_density_is_finite() -> None:
    y = torch.tensor([40.0], dtype=DOUBLE)
    members = laws()
    expected = members[0].log_prob(y) - math.log(3)
    torch.testing.assert_close(Average(members).log_prob(y), expected)
    assert expected < -5000
    assert Average(members[1:]).log_prob(y) == -math.inf


def test_moments_are_integrals() -> None:
    law = Average(laws())
    y = (torch.arange(80_000, dtype=DOUBLE) + 0.5) / 10_000 - 4
    weight = law.log_prob(y[:, None]).exp() / 10_000
    first, second = (weight * y).sum(), (weight * y**2).sum()
    assert weight.sum().item() == pytest.approx(1, abs=1e-4)
    assert law.mean.item() == pytest.approx(first.item(), abs=1e-4)
    assert law.variance.item() == pytest.approx((second - first**2).item(), abs=1e-4)


def test_samples_have_the_moments_of_each_law_in_the_batch() -> None:
    law = Average(laws(2))
    y = law.sample((40_000,), generator=torch.Generator().manual_seed(0))
    assert y.shape == (40_000, 2, 1)
    torch.testing.assert_close(y.mean(0), law.mean, rtol=0, atol=0.015)
    torch.testing.assert_close(y.var(0), law.variance, rtol=0, atol=0.015)


def test_each_draw_picks_its_law() -> None:
    """Far apart, the laws of two members of a batch are drawn evenly and independently."""
    far = [
        KernelMixture(torch.full((2, 1, 1), z), torch.ones(2, 1), Gaussian(0.1))
        for z in (-5.0, 0.0, 5.0)
    ]
    y = Average(far).sample((3000,), generator=torch.Generator().manual_seed(0))[..., 0]
    which = (y / 5).round().long() + 1
    pairs = torch.bincount(which[:, 0] * 3 + which[:, 1], minlength=9)
    assert stats.chisquare(pairs.numpy()).pvalue > 1e-3


def test_samples_repeat_with_their_generator() -> None:
    law = Average(laws(2))
    first, again, other = (
        law.sample((3,), generator=torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_bandwidth_goes_to_all() -> None:
    members = laws(3)[:2]
    y = torch.tensor([0.4], dtype=DOUBLE)
    for h in (0.05, torch.tensor([[0.1], [0.2], [0.3]], dtype=DOUBLE)):
        expected = torch.stack([m.with_bandwidth(h).log_prob(y).exp() for m in members]).mean(0)
        found = Average(members).with_bandwidth(h).log_prob(y)
        torch.testing.assert_close(found.exp(), expected, rtol=1e-12, atol=0)
    with pytest.raises(TypeError, match="Uniform"):
        Average(laws()).with_bandwidth(0.1)
    with pytest.raises(TypeError, match="DiracMixture has no with_bandwidth"):
        Average([DiracMixture(*atoms(0, 3))]).with_bandwidth(0.1)


def test_bandwidth_is_tuned_for_the_average() -> None:
    ends = [torch.full((2, 1, 1), z, dtype=DOUBLE) for z in (-3.0, 3.0)]
    law = Average([KernelMixture(z, torch.ones(2, 1), Gaussian(1.0)) for z in ends])
    y = torch.tensor([[-3.2], [3.2]], dtype=DOUBLE)
    assert tune(law, y, 0.01, 1.0, 1e-6).at == pytest.approx(0.2, rel=1e-4)


def test_expanded_laws_are_the_same() -> None:
    law = Average(laws(1))
    wide = law.expand((4, 3))
    assert wide.batch_shape == (4, 3)
    assert wide.sample((2,)).shape == (2, 4, 3, 1)
    y = torch.linspace(-1, 1, 12, dtype=DOUBLE).view(4, 3, 1)
    assert torch.equal(wide.log_prob(y), law.log_prob(y))
    assert wide.mean.shape == (4, 3, 1)


def test_any_laws_will_do() -> None:
    up, down = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.0, 0.0, -1.0]])
    sphere = Average(
        [VoronoiMixture(z, torch.ones(1), VonMisesFisher(0.3), Sphere()) for z in (up, down)]
    )
    torch.testing.assert_close(sphere.mean, torch.zeros(3), rtol=0, atol=1e-6)
    plain = Average([Normal(0.0, 1.0), Normal(2.0, 1.0)])
    assert plain.log_prob(torch.tensor(1.0)).item() == pytest.approx(
        -0.5 - 0.5 * math.log(2 * math.pi)
    )
    assert plain.sample((5,)).shape == (5,)
    diagonal = Average([Independent(Normal(torch.zeros(2), torch.ones(2)), 1)])
    assert diagonal.sample((5,)).shape == (5, 2)


def test_gradients_reach_all_laws() -> None:
    points = [atoms(seed, 3)[0].requires_grad_() for seed in range(2)]
    masses = torch.full((3,), 1 / 3, dtype=DOUBLE)
    law = Average([KernelMixture(z, masses, Gaussian(0.3)) for z in points])
    law.log_prob(torch.zeros(1, dtype=DOUBLE)).backward()
    assert all((z.grad != 0).all() for z in points)


def test_laws_must_fit_together() -> None:
    with pytest.raises(ValueError, match="none"):
        Average([])
    with pytest.raises(ValueError, match="one batch and event shape"):
        Average([*laws(2), *laws(3)])


def test_gradients_where_no_law_has_mass() -> None:
    points = torch.tensor([[[-0.5], [0.5]]], requires_grad=True)
    law = VoronoiMixture(points, torch.tensor([[1.0, 0.0]]), Gaussian(0.2), Box(-1.0, 1.0))
    average = Average([law, law])
    log_prob = average.log_prob(torch.tensor([[0.4]]))
    assert log_prob.item() == -math.inf
    assert not torch.autograd.grad(log_prob.sum(), points)[0].any()


def test_the_support_of_an_average_is_that_of_any_law() -> None:
    one, points = torch.ones(1), torch.full((1, 1), 0.5)
    laws = [VoronoiMixture(points + i, one, Gaussian(0.2), Box(float(i), i + 1.0)) for i in (0, 2)]
    y = torch.tensor([[-0.5], [0.5], [1.5], [2.5]])
    assert Average(laws).support.check(y).tolist() == [False, True, False, True]
