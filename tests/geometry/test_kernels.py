import math

import pytest
import torch
from scipy.integrate import quad

from vwta.geometry.kernels import Gaussian, Kernel, Uniform, VonMisesFisher

DOUBLE = torch.float64


def number(x: float) -> torch.Tensor:
    return torch.tensor(x, dtype=DOUBLE)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("h", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("r", [0.05, 0.7, 3.0])
def test_mass_of_a_gaussian_is_its_density_integrated(d: int, h: float, r: float) -> None:
    surface = 2 * math.pi ** (d / 2) / math.gamma(d / 2)

    def shell(t: float) -> float:
        return surface * t ** (d - 1) * Gaussian(h).log_density(number(t * t / 2), d).exp().item()

    expected = quad(shell, 0, min(r, 40 * h), epsabs=0, epsrel=1e-12, points=[min(r, h)])[0]
    assert Gaussian(h).log_mass(number(r), d).item() == pytest.approx(math.log(expected), abs=1e-9)
    assert Gaussian(h).mass(number(r), d).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("h", [0.05, 0.3, 1.0, 1e3])
@pytest.mark.parametrize("r", [0.01, 0.7, 2.5, math.pi])
def test_mass_of_a_von_mises_fisher_is_its_density_integrated(h: float, r: float) -> None:
    def ring(t: float) -> float:
        log_density = VonMisesFisher(h).log_density(number(1 - math.cos(t)), 2)
        return 2 * math.pi * math.sin(t) * log_density.exp().item()

    expected = quad(ring, 0, r, epsabs=0, epsrel=1e-12, points=[min(r, h)])[0]
    mass = VonMisesFisher(h).log_mass(number(r), 2).item()
    assert mass == pytest.approx(math.log(expected), abs=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kernel", [Gaussian(0.4), Uniform()])
def test_radial_moments_are_integrals(kernel: Kernel, d: int, p: int) -> None:
    r = number(0.9)
    expected = quad(
        lambda t: (
            t**p
            * (kernel.mass(number(t + 1e-6), d) - kernel.mass(number(t - 1e-6), d)).item()
            / 2e-6
        ),
        1e-6,
        0.9,
        epsrel=1e-8,
    )[0]
    assert kernel.radial_moment(r, d, p).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(0.3), VonMisesFisher(0.3), Uniform()])
def test_spread_at_inverts_the_mass(kernel: Kernel) -> None:
    border, u = number(0.8), torch.linspace(0.01, 1, 50, dtype=DOUBLE)
    w = kernel.spread_at(u, border, 2)
    r, far = (
        (2 * torch.asin((x / 2).sqrt())) if isinstance(kernel, VonMisesFisher) else (2 * x).sqrt()
        for x in (w, border)
    )
    torch.testing.assert_close(kernel.mass(r, 2) / kernel.mass(far, 2), u)


@pytest.mark.parametrize("h", [1e-4, 1e4])
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_masses_stay_finite_in_float32(h: float, d: int) -> None:
    r = torch.tensor([1e-6, 1e-3, 1.0, math.inf])
    assert torch.isfinite(Gaussian(torch.tensor(h)).log_mass(r, d)).all()
    assert Gaussian(h).log_mass(r, d)[-1] == 0


def test_gradient_of_a_mass_exists_at_zero_and_at_infinity() -> None:
    r = torch.tensor([0.0, 1.0, math.inf], dtype=DOUBLE, requires_grad=True)
    h = torch.tensor(0.5, dtype=DOUBLE, requires_grad=True)
    Gaussian(h).mass(r, 1).sum().backward()
    assert r.grad is not None
    assert h.grad is not None
    assert r.grad[0].item() == pytest.approx(2 / math.sqrt(2 * math.pi) / 0.5)
    assert r.grad[2] == 0
    assert torch.isfinite(h.grad)


@pytest.mark.parametrize("h", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("kind", [Gaussian, VonMisesFisher])
def test_bad_bandwidths_are_named(kind: type[Gaussian], h: float) -> None:
    with pytest.raises(ValueError, match=f"h must be positive and finite, found {h}"):
        kind(torch.tensor([1.0, h]))


def test_uniform_has_no_bandwidth() -> None:
    with pytest.raises(TypeError, match="no bandwidth"):
        Uniform().with_bandwidth(0.1)
