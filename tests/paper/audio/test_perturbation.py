"""Noise on directions: unit vectors come out, the density is theirs, its entropy bounds any NLL."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from vwta import VonMisesFisher
from vwta.geometry.angles import from_degrees, to_angles
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.audio.perturbation import Perturbation
from vwta.seeds import generator

NOISE = Perturbation({kind: 5.0 + 5 * i for i, kind in enumerate(CLASSES)})
PLACES = [(0.0, 0.0), (-180.0, -60.0), (170.0, 50.0), (30.0, 88.0)]
KINDS = [0, 3, 7, 10]


def toward(azimuth: float, elevation: float) -> Tensor:
    return torch.from_numpy(from_degrees(azimuth, elevation))


def sphere(nodes: int = 240) -> tuple[Tensor, Tensor]:
    """Points `(N, 3)` and weights `(N,)` of a quadrature by area: Gauss-Legendre in elevation."""
    where, weight = np.polynomial.legendre.leggauss(nodes)
    elevation = 90 * where[:, None] + np.zeros(nodes)
    azimuth = 360 * np.arange(nodes) / nodes + np.zeros((nodes, 1))
    area = np.cos(np.deg2rad(elevation)) * weight[:, None] * math.pi / 2 * 2 * math.pi / nodes
    points = torch.from_numpy(from_degrees(azimuth, elevation))
    return points.reshape(-1, 3), torch.from_numpy(area).reshape(-1)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_density_integrates_to_one(place: tuple[float, float], kind: int) -> None:
    points, area = sphere()
    log_p = NOISE.log_density(points, toward(*place), torch.tensor(kind))
    assert (log_p.exp() * area).sum().item() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_entropy_bounds_the_nll_of_any_estimator(place: tuple[float, float], kind: int) -> None:
    points, area = sphere()
    direction = toward(*place)
    log_p = NOISE.log_density(points, direction, torch.tensor(kind))
    mass = log_p.exp() * area
    entropy = NOISE.entropy(direction, torch.tensor(kind)).item()
    assert entropy == pytest.approx(-(mass * log_p).sum().item(), abs=5e-4)
    assert entropy < math.log(4 * math.pi)
    spread = 1 - points @ direction
    others = [VonMisesFisher(h).log_density(spread, 2) for h in (0.05, 0.2, 0.5, 1.0, 1e3)]
    others += [
        NOISE.log_density(points, direction, torch.tensor(other))
        for other in (kind - 1, kind + 1)
        if 0 <= other < len(CLASSES)
    ]
    for log_q in others:
        assert -(mass * log_q).sum() > entropy


def test_draws_follow_the_density() -> None:
    n = 40000
    for kind, place in zip(KINDS, PLACES, strict=True):
        direction, kinds = toward(*place).expand(n, 3), torch.full((n,), kind)
        y = NOISE.draw(direction, kinds, generator(kind))
        torch.testing.assert_close(y.norm(dim=-1), torch.ones(n, dtype=y.dtype))
        variance = math.radians(5 + 5 * kind) ** 2
        x, y_, z = direction[0].tolist()
        mean = torch.tensor([x, y_, z * math.exp(variance / 2)]) * math.exp(-variance)
        torch.testing.assert_close(y.mean(0).float(), mean, atol=0.015, rtol=0)
        nll = -NOISE.log_density(y, direction, kinds)
        error = nll.std().item() / math.sqrt(n)
        assert abs(nll.mean().item() - NOISE.entropy(direction[0], kinds[0])) < 4 * error


def test_draws_fill_regions_as_the_density_says() -> None:
    points, area = sphere()
    direction, kind = toward(170, 50), torch.tensor(10)
    mass = NOISE.log_density(points, direction, kind).exp() * area
    y = NOISE.draw(direction.expand(40000, 3), kind.expand(40000), generator(5))
    for sign in ((1, 1, 1), (1, -1, 1), (-1, 1, -1), (-1, -1, 1)):
        side = torch.tensor(sign)
        expected = mass[(points * side > 0).all(-1)].sum().item()
        assert (y * side > 0).all(-1).double().mean().item() == pytest.approx(expected, abs=0.01)


def test_every_draw_is_new_and_seeded() -> None:
    direction, kind = toward(20, 30).float().expand(6, 3, 3), torch.full((6, 3), 2)
    rng = generator(1)
    first, second = NOISE.draw(direction, kind, rng), NOISE.draw(direction, kind, rng)
    assert first.dtype == torch.float32
    assert first.reshape(-1, 3).unique(dim=0).shape == (18, 3)
    assert not torch.equal(first, second)
    assert torch.equal(first, NOISE.draw(direction, kind, generator(1)))


def test_empty_places_are_kept() -> None:
    direction = torch.stack([toward(20, 30), torch.zeros(3, dtype=torch.float64)])
    y = NOISE.draw(direction, torch.tensor([4, -1]), generator(1))
    assert y[1].tolist() == [0, 0, 0]
    assert y[0].norm().item() == pytest.approx(1)


def test_wraps_and_poles() -> None:
    # Noise scales so small that the Gaussian on the plane is exact, across the date line.
    narrow = Perturbation(dict.fromkeys(CLASSES, 1.0))
    sigma, kind = math.radians(1), torch.tensor(0)
    log_p = narrow.log_density(toward(179, 0), toward(-180, 0), kind).item()
    assert log_p == pytest.approx(-0.5 - math.log(2 * math.pi * sigma**2))
    # Over the pole: 89 degrees up and half a turn away is 2 degrees in elevation.
    log_p = narrow.log_density(toward(180, 89), toward(0, 89), kind).item()
    area = math.cos(math.radians(89))
    assert log_p == pytest.approx(-2 - math.log(2 * math.pi * sigma**2 * area))
    assert torch.isfinite(NOISE.log_density(toward(0, 90), toward(0, 50), kind))
    torch.testing.assert_close(
        to_angles(toward(-90, 50)).rad2deg(), torch.tensor([-90.0, 50.0]).double()
    )


def test_entropy_of_many() -> None:
    direction = torch.stack([toward(0, 10), toward(90, 10), toward(0, -60)])
    kind = torch.tensor([0, 0, 10])
    entropy = NOISE.entropy(direction, kind)
    assert entropy.shape == (3,)
    assert entropy[0] == entropy[1] < entropy[2]
    alone = NOISE.entropy(direction[2], kind[2])
    torch.testing.assert_close(entropy[2], alone)
    sigma = math.radians(5)  # nearly flat: that of a Gaussian in the plane, at the equator
    flat = NOISE.entropy(toward(0, 0), torch.tensor(0)).item()
    assert flat == pytest.approx(math.log(2 * math.pi * math.e * sigma**2) - sigma**2 / 2, abs=1e-4)


def test_wrong_scales_are_explained() -> None:
    with pytest.raises(ValueError, match="one scale for each class; check bell, knock"):
        Perturbation({("bell" if k == "knock" else k): 5.0 for k in CLASSES})
    with pytest.raises(ValueError, match="the noise of speech must be positive and finite"):
        Perturbation(dict.fromkeys(CLASSES, 0.0))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_mean_is_the_integral_of_the_density(place: tuple[float, float], kind: int) -> None:
    points, area = sphere()
    direction, which = toward(*place), torch.tensor(kind)
    mass = NOISE.log_density(points, direction, which).exp() * area
    torch.testing.assert_close(NOISE.mean(direction, which), mass @ points, atol=1e-9, rtol=0)
