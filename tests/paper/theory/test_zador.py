"""Asymptotic risks against closed forms, brute force and Lloyd's algorithm."""

import math

import pytest
import torch
import yaml
from loading import ROOT
from scipy import integrate
from torch import Tensor

from vwta.geometry.lloyd import lloyd
from vwta.paper.metrics import risk
from vwta.paper.synthetic.true_laws import PROBLEMS, Problem, UniformToGaussians, problem
from vwta.paper.theory.references import lloyd_risk
from vwta.paper.theory.zador import (
    HEXAGON,
    effective_area,
    entropy,
    grid_risk,
    root_integral,
    zador_risk,
)
from vwta.seeds import generator

CONSTANTS = yaml.safe_load((ROOT / "config/config.yaml").read_text())["synthetic"]["constants"]
LAWS = {name: problem(name, **CONSTANTS.get(name, {})) for name in PROBLEMS}


def middles(n: int, reach: float) -> tuple[Tensor, float]:
    """Middles of n x n squares that fill [-reach, reach]^2, `(n * n, 2)`, and a square's area."""
    step = 2 * reach / n
    line = -reach + step * (torch.arange(n, dtype=torch.float64) + 0.5)
    return torch.cartesian_prod(line, line), step**2


def brute_root_integral(law: Problem, x: float) -> float:
    points, area = middles(180, 2.25)
    at = torch.tensor([x], dtype=torch.float64)
    return float(law.log_density(at, points).exp().sqrt().sum()) * area


def test_hexagon_has_the_second_moment() -> None:
    """A regular hexagon of area 1 around 0, cut out of a fine grid by its three pairs of sides."""
    points, area = middles(1500, 0.7)
    inner = math.sqrt(1 / (2 * math.sqrt(3)))  # radius of the inscribed circle
    angles = torch.tensor([0.0, math.pi / 3, 2 * math.pi / 3], dtype=torch.float64)
    inside = ((points @ torch.stack([angles.cos(), angles.sin()])).abs() <= inner).all(1)
    assert inside.sum().item() * area == pytest.approx(1, rel=1e-3)
    moment = points[inside].square().sum().item() * area
    assert moment == pytest.approx(HEXAGON, rel=2e-3)


@pytest.mark.parametrize("side", [3, 10])
def test_grid_risk_is_that_of_a_grid_under_the_uniform_law(side: int) -> None:
    atoms, _ = middles(side, 1.0)
    y, _ = middles(40 * side, 1.0)
    nearest = torch.cdist(y, atoms).amin(1).square().mean().item()
    assert nearest == pytest.approx(grid_risk(4.0, side**2), rel=1e-3)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("x", [0.05, 0.6])
def test_root_integral_against_brute_force(name: str, x: float) -> None:
    expected = brute_root_integral(LAWS[name], x)
    assert root_integral(LAWS[name], x) == pytest.approx(expected, rel=2e-3)


def test_closed_forms_against_quadrature() -> None:
    assert root_integral(LAWS["single_gaussian"], 0.3) ** 2 == pytest.approx(
        effective_area(LAWS["single_gaussian"]), rel=1e-10
    )
    squares = ((x, root_integral(LAWS["changing_damier"], x) ** 2) for x in (0.0, 0.2, 0.9))
    for x, square in squares:
        assert square == pytest.approx(2 * (math.sqrt(x) + math.sqrt(1 - x)) ** 2, rel=1e-10)
    mean, _ = integrate.quad(lambda x: 2 * (math.sqrt(x) + math.sqrt(1 - x)) ** 2, 0, 1)
    assert effective_area(LAWS["changing_damier"]) == pytest.approx(mean, rel=1e-8)


def test_cut_gaussians_have_a_closed_form_too() -> None:
    r"""With G the integral of the roots of both cut Gaussians, S is 1 + pi G / 4 + G^2 / 4."""

    def part(scale: float) -> float:
        mass = math.erf(0.5 / (scale * math.sqrt(2)))
        return 2 * math.sqrt(2 * math.pi) * scale * math.erf(0.5 / (2 * scale)) ** 2 / mass

    both = part(0.25) + part(0.05)
    expected = 1 + math.pi * both / 4 + both**2 / 4
    assert effective_area(LAWS["uniform_to_gaussians"]) == pytest.approx(expected, rel=1e-8)
    assert effective_area(UniformToGaussians(restricted=False)) > expected


def test_turning_keeps_the_effective_area() -> None:
    law = LAWS["rotating_moons"]
    assert root_integral(law, 0.37) ** 2 == pytest.approx(effective_area(law), rel=1e-6)


def test_grids_never_win_for_large_K() -> None:
    assert all(zador_risk(effective_area(law), 100) < grid_risk(4.0, 100) for law in LAWS.values())


def test_lloyd_approaches_zador() -> None:
    """From below for a Gaussian, whose tails need more atoms than there are."""
    law, K = LAWS["single_gaussian"], [4, 16, 64]
    ratio = [
        lloyd_risk(law, k, inputs=1, rows=20_000, starts=2, steps=60, seed=0)
        / zador_risk(effective_area(law), k)
        for k in K
    ]
    assert ratio[0] < ratio[1] < ratio[2]
    assert ratio[2] == pytest.approx(1, abs=0.07)


def test_one_atom_has_the_variance() -> None:
    y = torch.randn(500, 3, generator=generator(0), dtype=torch.float64)
    atoms, lowest = lloyd(y, K=1, starts=1, steps=3, generator=generator(1))
    assert torch.allclose(atoms[0], y.mean(0))
    assert lowest == pytest.approx(y.var(0, correction=0).sum().item())


def test_uniform_on_a_line() -> None:
    y = (torch.arange(10_000, dtype=torch.float64)[:, None] + 0.5) / 10_000
    atoms, lowest = lloyd(y, K=5, starts=2, steps=500, generator=generator(0))
    assert lowest == pytest.approx(1 / (12 * 5**2), rel=1e-3)
    expected = (torch.arange(5) + 0.5).double() / 5
    assert torch.allclose(atoms.flatten().sort().values, expected, atol=2e-3)


def test_atoms_are_the_means_of_their_cells() -> None:
    y = torch.randn(400, 2, generator=generator(3), dtype=torch.float64)
    atoms, lowest = lloyd(y, K=7, starts=1, steps=1000, generator=generator(4))
    owner = [min(range(7), key=lambda k: math.dist(p, atoms[k].tolist())) for p in y.tolist()]
    for k in range(7):
        mine = y[[index for index, who in enumerate(owner) if who == k]]
        assert torch.allclose(atoms[k], mine.mean(0))
    assert lowest == pytest.approx(risk(atoms, y))


def test_more_starts_are_no_worse() -> None:
    y = torch.randn(300, 2, generator=generator(5))
    runs = [lloyd(y, 20, starts, 50, generator(6))[1] for starts in (1, 8)]
    assert runs[1] <= runs[0]


def test_atoms_may_be_as_many_as_points_but_no_more() -> None:
    y = torch.arange(6.0)[:, None]
    assert lloyd(y, 6, 1, 10, generator(0))[1] == 0
    with pytest.raises(ValueError, match=r"K = 7.*6"):
        lloyd(y, 7, 1, 10, generator(0))


def test_entropies_in_closed_form() -> None:
    """The chessboard's by integration over x; the square's halves, a uniform law and Gaussians."""
    assert entropy(LAWS["single_gaussian"]) == pytest.approx(math.log(2 * math.pi * math.e * 0.04))
    expected, _ = integrate.quad(
        lambda x: -x * math.log(x / 2) - (1 - x) * math.log((1 - x) / 2), 0, 1
    )
    assert entropy(LAWS["changing_damier"]) == pytest.approx(expected)


@pytest.mark.parametrize("name", LAWS)
def test_entropies_are_means_of_the_log_density(name: str) -> None:
    law, source = LAWS[name], generator(0, name)
    x = torch.rand(200_000, 1, generator=source, dtype=torch.float64)
    log_p = law.log_density(x, law.sample(x, 1, source)[0])
    error = log_p.std().item() / math.sqrt(len(x))
    assert entropy(law) == pytest.approx(-log_p.mean().item(), abs=4 * error)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_lloyd_finds_the_same_atoms_far_from_0(offset: float) -> None:
    y = torch.tensor([[0.0], [1.0], [5.0], [7.0]]) + offset
    atoms, risk = lloyd(y, K=2, starts=3, steps=10, generator=torch.Generator().manual_seed(0))
    assert sorted((atoms - offset).flatten().tolist()) == [0.5, 6.0]
    assert risk == 0.625


def test_lloyd_needs_a_start() -> None:
    with pytest.raises(ValueError, match="starts = 0"):
        lloyd(torch.rand(5, 1), K=2, starts=0, steps=5, generator=torch.Generator())
