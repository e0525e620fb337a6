"""Monte Carlo volumes: they tend to the exact ones, and their logarithm is too low."""

import math

import pytest
import torch

from vwta import Sphere, Uniform, VonMisesFisher, VoronoiMixture
from vwta.geometry.kernels import Kernel
from vwta.geometry.spaces import unit
from vwta.paper.audio.monte_carlo import log_volumes, uniform_directions

KERNELS: list[Kernel] = [VonMisesFisher(0.1), VonMisesFisher(0.5), Uniform()]


def atoms(n: int, K: int) -> torch.Tensor:
    source = torch.Generator().manual_seed(5)
    return unit(torch.randn(n, K, 3, generator=source, dtype=torch.float64))


def test_directions_are_uniform() -> None:
    sample = uniform_directions(200_000, torch.Generator().manual_seed(1))
    assert torch.linalg.vector_norm(sample, dim=-1).sub(1).abs().max() < 1e-12
    torch.testing.assert_close(sample.mean(0), torch.zeros(3).double(), atol=5e-3, rtol=0)
    second = sample.T @ sample / len(sample)
    torch.testing.assert_close(second, torch.eye(3).double() / 3, atol=3e-3, rtol=0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_many_points_give_the_exact_mass(kernel: Kernel) -> None:
    points = atoms(6, 9)
    cell = torch.arange(6)
    exact = VoronoiMixture(points, torch.full((6, 9), 1 / 9), kernel, Sphere()).log_cell_mass
    exact = exact.gather(1, cell[:, None]).squeeze(1)
    found = log_volumes(
        points, cell, [kernel], uniform_directions(400_000, torch.Generator().manual_seed(2))
    )
    torch.testing.assert_close(found[0], exact, atol=0.03, rtol=0)


def test_few_points_bias_the_logarithm_downwards() -> None:
    points = atoms(400, 9)
    cell = torch.zeros(400, dtype=torch.long)
    law = VoronoiMixture(points, torch.full((400, 9), 1 / 9), VonMisesFisher(0.1), Sphere())
    sample = uniform_directions(1000, torch.Generator().manual_seed(3))
    found = log_volumes(points, cell, [VonMisesFisher(0.1)], sample)[0]
    assert -0.2 < (found - law.log_cell_mass[:, 0])[found.isfinite()].mean() < -0.02


def test_empty_cell_has_no_mass() -> None:
    points = atoms(1, 3)
    sample = points[0, 1:]
    found = log_volumes(points, torch.tensor([0]), KERNELS, sample)
    assert found.tolist() == [[-math.inf]] * 3
