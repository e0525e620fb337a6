"""Gaussians with a width along each axis: density, moments, samples and parts."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from vwta.distributions.average import Average
from vwta.distributions.axes import AxisMixture
from vwta.distributions.mixtures import KernelMixture
from vwta.distributions.scenarios import scenarios
from vwta.geometry.kernels import Gaussian

POINTS = torch.tensor([[-2.0, 0.0, 1.0], [2.0, 0.5, 1.0]]).double()
MASSES = torch.tensor([0.3, 0.7]).double()
WIDTHS = torch.tensor([[0.5, 1.0, 3.0], [0.2, 2.0, 1.0]]).double()
LAW = AxisMixture(POINTS, MASSES, WIDTHS)


def test_density_is_that_of_the_gaussians() -> None:
    y = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)).double()
    law = LAW.with_bandwidth(1.5)
    each = [
        mass * multivariate_normal(z, np.diag((1.5 * w) ** 2)).pdf(y)
        for z, mass, w in zip(POINTS.numpy(), MASSES.numpy(), WIDTHS.numpy(), strict=True)
    ]
    np.testing.assert_allclose(law.log_prob(y).exp(), sum(each))
    np.testing.assert_allclose(law.log_parts(y).exp(), np.stack(each, -1))


def test_equal_widths_are_an_isotropic_kernel() -> None:
    same = AxisMixture(POINTS, MASSES, torch.full_like(POINTS, 0.5), 0.8)
    other = KernelMixture(POINTS, MASSES, Gaussian(0.4))
    np.testing.assert_allclose(same.log_prob(POINTS + 0.1), other.log_prob(POINTS + 0.1))
    np.testing.assert_allclose(same.variance, other.variance)


def test_samples_have_the_moments_in_any_batch() -> None:
    law = LAW.expand((4,)).with_bandwidth(torch.tensor([[1.0], [1.0], [1.0], [2.0]]))
    y = law.sample((20_000,), torch.Generator().manual_seed(0))
    assert y.shape == (20_000, 4, 3)
    np.testing.assert_allclose(y.mean(0), law.mean, atol=0.1)
    np.testing.assert_allclose(y.var(0), law.variance, rtol=0.06)


def test_gradients_reach_everything() -> None:
    parts = [x.clone().requires_grad_() for x in (POINTS, MASSES, WIDTHS)]
    AxisMixture(*parts, validate_args=False).log_prob(torch.zeros(3).double()).backward()
    assert all(part.grad is not None and part.grad.abs().sum() > 0 for part in parts)


def test_scenarios_tell_modes_apart_that_noise_in_other_columns_would_hide() -> None:
    """One width for all columns would have to be 1 where there is noise alone."""
    points = torch.zeros(1, 2, 4).double()
    points[0, :, 0] = torch.tensor([-1.0, 1.0])
    widths = torch.ones(1, 2, 4).double()
    widths[..., 0] = 0.2
    law = AxisMixture(points, MASSES[None], widths)
    for one in (law, Average([law, law])):
        found = scenarios(one)
        np.testing.assert_allclose(found.probability, [0.7, 0.3])
        y = torch.tensor([[[-1.0, 3.0, -3.0, 3.0]], [[1.0, -3.0, 3.0, 3.0]]]).double()
        assert found.assign(one, y).tolist() == [[1], [0]]


def test_widths_of_another_shape() -> None:
    with pytest.raises(ValueError, match="there is one width for each atom and axis"):
        AxisMixture(POINTS, MASSES, WIDTHS[:, :1])
