"""Laws that an increasing map carries to a Gaussian, against closed forms and quadrature."""

import math

import pytest
import torch
from scipy import integrate, stats
from torch import Tensor

from vwta.distributions.average import Average
from vwta.distributions.calibration import crps, dequantised, pit
from vwta.distributions.line import cdf, log_mass_between
from vwta.distributions.mixtures import KernelMixture
from vwta.distributions.transported import Transported
from vwta.geometry.kernels import Gaussian

DOUBLE = torch.float64
M, S = torch.tensor([0.3, -1.0], dtype=DOUBLE), torch.tensor([0.5, 2.0], dtype=DOUBLE)
Y = torch.tensor([[0.7], [-4.0]], dtype=DOUBLE)


class Affine(Transported):
    """A Gaussian of mean M and standard deviation S."""

    def __init__(self) -> None:
        super().__init__((2,))

    def to_normal(self, y: Tensor) -> tuple[Tensor, Tensor]:
        u = (y - M) / S
        return u, -S.log().expand(u.shape)

    def from_normal(self, u: Tensor) -> Tensor:
        return M + S * u


class Hyperbolic(Transported):
    """Law of sinh(U): skewed by nothing, with heavy tails."""

    def __init__(self) -> None:
        super().__init__((2,))

    def to_normal(self, y: Tensor) -> tuple[Tensor, Tensor]:
        u = torch.asinh((y - M) / S)
        return u, -u.cosh().log() - S.log()

    def from_normal(self, u: Tensor) -> Tensor:
        return M + S * u.sinh()


def gaussian() -> KernelMixture:
    return KernelMixture(M[:, None, None], torch.ones(2, 1, dtype=DOUBLE), Gaussian(S[:, None]))


def test_an_affine_map_gives_a_gaussian() -> None:
    law, known = Affine(), gaussian()
    assert torch.allclose(law.log_prob(Y), known.log_prob(Y))
    assert torch.allclose(law.mean, known.mean)
    assert torch.allclose(law.variance, known.variance)
    assert torch.allclose(pit(law, Y), pit(known, Y))
    assert torch.allclose(crps(law, Y), crps(known, Y), rtol=1e-9)
    assert torch.allclose(dequantised(law, Y, 0.1), dequantised(known, Y, 0.1))
    assert law.sample((3,)).shape == (3, 2, 1)


def test_an_average_is_scored_as_a_mixture() -> None:
    both, known = Average([Affine(), Affine()]), Average([gaussian(), gaussian()])
    assert torch.allclose(crps(both, Y), crps(known, Y), rtol=1e-9)
    low, high = Y[:, 0], Y[:, 0] + 1
    masses = [log_mass_between(law, low, high) for law in (both, known)]
    assert torch.allclose(*masses)
    mixed = Average([Affine(), Hyperbolic()])
    for row in range(2):

        def below(t: float, row: int = row) -> float:
            return float(cdf(mixed, torch.full((2,), t, dtype=DOUBLE))[row])

        at = Y[row].item()
        left, _ = integrate.quad(lambda t: below(t) ** 2, -300, at, limit=500, points=[-5])
        right, _ = integrate.quad(lambda t: (1 - below(t)) ** 2, at, 300, limit=500, points=[5])
        assert crps(mixed, Y)[row].item() == pytest.approx(left + right, rel=1e-5)


def test_moments_of_a_law_with_heavy_tails() -> None:
    law = Hyperbolic()
    assert torch.allclose(law.mean[:, 0], M)
    assert torch.allclose(law.variance[:, 0], S**2 * (math.exp(2) - 1) / 2, rtol=1e-8)
    at = Y[1].item()
    wanted = stats.norm.pdf(math.asinh((at + 1) / 2)) / math.sqrt(1 + ((at + 1) / 2) ** 2) / 2
    assert law.log_prob(Y)[1].exp().item() == pytest.approx(wanted)


def test_masses_far_from_everything_have_all_digits() -> None:
    law = Affine()
    far = log_mass_between(law, torch.tensor([20.3, 0.0]), torch.tensor([20.8, 0.0]))
    tail, further = stats.norm.logsf([40, 41])
    wanted = tail + math.log1p(-math.exp(further - tail))
    assert far[0].item() == pytest.approx(wanted, rel=1e-6)
    assert far[1].item() == -math.inf  # an empty interval


def test_laws_cannot_be_mixed_with_kernels() -> None:
    with pytest.raises(TypeError, match="Affine: expected a KernelMixture"):
        crps(Average([gaussian(), Affine()]), Y)
