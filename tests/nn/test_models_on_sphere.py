"""Networks on spectrograms become densities on the sphere."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.geometry.grids import bin_directions
from vwta.geometry.kernels import Kernel, Uniform, VonMisesFisher
from vwta.geometry.spaces import Sphere, unit
from vwta.nn.losses import sphere_mixture
from vwta.nn.models import Estimator, MixtureDensity, select
from vwta.nn.seldnet import (
    DirectionHistogram,
    DirectionMixture,
    DirectionNetwork,
    Sizes,
)

SMALL = Sizes(channels=8, frames=5, bands=16, filters=3, pools=[4, 2], width=4, layers=2)
HEARD = torch.tensor([[True, False, False, True, True], [False, True, False, False, False]])


def make(kind: str) -> nn.Module:
    """A network whose weights are larger than at the start, so that atoms lie apart."""
    torch.manual_seed(0)
    networks: dict[str, nn.Module] = {
        "wta": DirectionNetwork(hypotheses=9, **SMALL),
        "hist": DirectionHistogram(bin_directions(3, 3), **SMALL),
        "mixture": DirectionMixture(components=9, **SMALL),
    }
    network = networks[kind]
    with torch.no_grad():
        network.heads.weight.mul_(6)
    return network.double().eval()


def spectrograms() -> Tensor:
    source = torch.Generator().manual_seed(1)
    return torch.randn(2, 8, 5, 16, generator=source, dtype=torch.float64)


def sphere(n: int) -> tuple[Tensor, Tensor]:
    """Unit vectors `(2 n^2, 3)` and their areas: Gauss-Legendre in height, even in azimuth."""
    height, weight = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(n))
    azimuth = math.pi * torch.arange(2 * n, dtype=torch.float64) / n
    z, a = (grid.flatten() for grid in torch.meshgrid(height, azimuth, indexing="ij"))
    radius = (1 - z**2).sqrt()
    points = torch.stack([radius * a.cos(), radius * a.sin(), z], -1)
    return points, weight.repeat_interleave(2 * n) * math.pi / n


@pytest.mark.parametrize("kernel", [VonMisesFisher(0.3), VonMisesFisher(1.0), Uniform()])
@pytest.mark.parametrize("kind", ["wta", "hist"])
def test_cut_density_integrates_to_one(kind: str, kernel: Kernel) -> None:
    atoms = select(make(kind)(spectrograms()), HEARD)
    first = type(atoms)(*(part[:1].detach() for part in atoms))
    law = Estimator(nn.Identity(), kernel, Sphere())(first)
    points, areas = sphere(150)
    assert (law.log_prob(points).exp() @ areas).item() == pytest.approx(1, abs=4e-3)


def test_uncut_densities_integrate_to_one() -> None:
    points, areas = sphere(60)
    x = spectrograms()[:1]
    uncut = Estimator(make("wta"), VonMisesFisher(0.3))(x)
    own = MixtureDensity(make("mixture"), VonMisesFisher)(x)
    for law in (uncut, own):
        density = law.log_prob(points[:, None, None]).exp()
        assert torch.allclose((density * areas[:, None, None]).sum(0), areas.new_ones(1, 5))


@pytest.mark.parametrize("space", [None, Sphere()])
def test_frames_in_one_row_are_the_same_law(space: Sphere | None) -> None:
    network, x = make("wta"), spectrograms()
    y = unit(torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(2)).double())
    law = Estimator(network, VonMisesFisher(0.5), space)(x)
    assert type(law) is (KernelMixture if space is None else VoronoiMixture)
    assert law.batch_shape == (2, 5)
    row = Estimator(nn.Identity(), VonMisesFisher(0.5), space)(select(network(x), HEARD))
    assert row.batch_shape == (4,)
    assert torch.allclose(row.log_prob(y[HEARD]), law.log_prob(y)[HEARD])


@pytest.mark.parametrize("kind", ["wta", "hist"])
def test_gradients_reach_every_parameter(kind: str) -> None:
    network = make(kind).train()
    y = torch.tensor([0.0, 0.6, 0.8], dtype=torch.float64)
    Estimator(network, VonMisesFisher(0.5), Sphere())(spectrograms()).log_prob(y).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_mixture_density_is_what_training_maximises() -> None:
    network, x = make("mixture"), spectrograms()
    source = torch.Generator().manual_seed(2)
    y = unit(torch.randn(2, 5, 3, 3, generator=source, dtype=torch.float64))
    active = torch.rand(2, 5, 3, generator=source) < 0.5
    log_prob = MixtureDensity(network, VonMisesFisher)(x).log_prob(y.movedim(-2, 0)).movedim(0, -1)
    loss = sphere_mixture(network(x), y, active)
    assert loss.item() == pytest.approx(-log_prob[active].mean().item(), rel=1e-12)


def test_single_precision_is_enough() -> None:
    """Atoms in float32 are unit vectors to the checks of the sphere."""
    network, x = make("wta").float(), spectrograms().float()
    law = Estimator(network, VonMisesFisher(0.3), Sphere())(x)
    assert torch.isfinite(law.log_prob(torch.tensor([0.0, 0.6, 0.8]))).all()
