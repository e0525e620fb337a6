"""EM against closed forms, and against a minimiser that knows nothing of it."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from vwta.geometry.angles import from_angles
from vwta.geometry.kernels import VonMisesFisher
from vwta.geometry.spaces import unit
from vwta.paper.audio.em import Mixture, concentration, fit_mixture
from vwta.seeds import generator


def cloud(angle: float, scale: float, count: int = 200) -> Tensor:
    """Points around a direction on the equator."""
    noise = torch.randn(count, 2, dtype=torch.float64, generator=generator(1, "cloud", angle))
    return from_angles(torch.tensor([angle, 0.2]) + scale * noise)


def nll(mixture: Mixture, y: Tensor) -> float:
    return -mixture.log_joint(y).logsumexp(-1).mean().item()


def halves(y: Tensor) -> Tensor:
    return (torch.arange(len(y)) >= len(y) // 2).long()


@pytest.mark.parametrize("kappa", [1e-2, 0.5, 3.0, 1e2, 1e5])
def test_concentration_inverts_the_length_of_the_mean(kappa: float) -> None:
    length = 1 / math.tanh(kappa) - 1 / kappa
    assert concentration(torch.tensor(length, dtype=torch.float64)).item() == pytest.approx(kappa)


def test_one_component_has_the_mean_direction_and_its_length() -> None:
    """The closed form, whatever the steps; its likelihood by the printed formula."""
    y = cloud(1.0, 0.3)
    found = fit_mixture(y, torch.zeros(len(y), dtype=torch.long), 1, 3, 1e-3)
    mean = y.mean(0)
    torch.testing.assert_close(found.points[0], unit(mean))
    kappa = found.h.item() ** -2
    assert 1 / math.tanh(kappa) - 1 / kappa == pytest.approx(mean.norm().item(), rel=1e-9)
    expected = math.log(4 * math.pi * math.sinh(kappa) / kappa) - kappa * mean.norm().item()
    assert nll(found, y) == pytest.approx(expected, rel=1e-9)


def test_two_components_are_those_of_a_plain_minimiser() -> None:
    y = torch.cat([cloud(0.0, 0.3), cloud(0.8, 0.15)])
    found = fit_mixture(y, halves(y), 2, 300, 1e-3)
    points = y.numpy()

    def loss(x: np.ndarray) -> float:
        azimuth, elevation, log_kappa = x[:2], x[2:4], x[4:6]
        means = from_angles(torch.from_numpy(np.stack([azimuth, elevation], -1))).numpy()
        kappa, weight = np.exp(log_kappa), 1 / (1 + np.exp([-x[6], x[6]]))
        terms = weight * kappa / (4 * np.pi * np.sinh(kappa)) * np.exp(kappa * (points @ means.T))
        return -np.log(terms.sum(-1)).mean()

    best = minimize(loss, [0.1, 0.7, 0.0, 0.0, 2.0, 2.0, 0.0], options={"gtol": 1e-8})
    assert nll(found, y) == pytest.approx(best.fun, abs=1e-7)


def test_no_step_lowers_the_likelihood() -> None:
    y = torch.cat([cloud(0.0, 0.3), cloud(0.8, 0.15), cloud(3.0, 0.1)])
    winner = torch.arange(len(y)) % 5
    values = [nll(fit_mixture(y, winner, 6, steps, 1e-3), y) for steps in range(12)]
    assert all(after <= before + 1e-12 for before, after in pairwise(values))
    assert values[-1] < values[0] - 0.1


def test_components_do_not_shrink_to_points() -> None:
    y = torch.eye(3, dtype=torch.float64)
    found = fit_mixture(y, torch.arange(3), 3, 20, 0.05)
    assert found.h.tolist() == [0.05] * 3
    assert found.masses.sum().item() == pytest.approx(1)


def test_density_is_that_of_the_kernels() -> None:
    y = cloud(0.0, 0.3)
    found = fit_mixture(y, halves(y), 2, 5, 1e-3)
    each = [
        mass * VonMisesFisher(h).log_density(1 - y @ point, 2).exp()
        for point, mass, h in zip(*found, strict=True)
    ]
    torch.testing.assert_close(found.log_joint(y).logsumexp(-1), sum(each[1:], each[0]).log())
