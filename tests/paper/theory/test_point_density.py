"""Where atoms lie: points drawn from a power of a density give that power back."""

import math

import pytest
import torch
from torch import Tensor

from vwta.geometry.lloyd import lloyd
from vwta.geometry.spaces import Box
from vwta.paper.synthetic.true_laws import (
    ChangingDamier,
    RotatingMoons,
    SingleGaussian,
    UniformToGaussians,
)
from vwta.paper.theory.point_density import PointDensity
from vwta.seeds import generator

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
X = torch.tensor([[0.1], [0.7]], dtype=torch.float64)
MOONS = RotatingMoons([-1.356, -0.873], [2.356, 1.373])


def every(points: Tensor) -> Tensor:
    return torch.ones(points.shape[:2], dtype=torch.bool)


@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_chessboard_has_closed_forms(exponent: float) -> None:
    targets = PointDensity(ChangingDamier(), X, SQUARE, 4).targets(exponent).view(2, 4, 4)
    for x, found in zip(X[:, 0].tolist(), targets, strict=True):
        white, black = (1 - x) ** exponent, x**exponent
        total = 8 * (white + black)
        assert found[0, 0].item() == pytest.approx(white / total)
        assert found[2, 1].item() == pytest.approx(black / total)
        assert found.sum().item() == pytest.approx(1)


def test_targets_against_a_fine_grid() -> None:
    line = (torch.arange(400, dtype=torch.float64) + 0.5) / 200 - 1
    y = torch.cartesian_prod(line, line)
    root = (MOONS.log_density(X[1], y) / 2).exp().view(2, 200, 2, 200).sum((1, 3))
    found = PointDensity(MOONS, X, SQUARE, 2).targets(0.5)[1].view(2, 2)
    assert torch.allclose(found, root / root.sum(), atol=1e-4)


@pytest.mark.parametrize(("widening", "exponent"), [(1.0, 1.0), (math.sqrt(2), 0.5)])
def test_points_of_a_power_give_it_back(widening: float, exponent: float) -> None:
    """The square root of a Gaussian density is a Gaussian density of twice the variance."""
    law = SingleGaussian(mean=(0.0, 0.0), scale=0.15)
    density = PointDensity(law, X, SQUARE, 8)
    points = 0.15 * widening * torch.randn(2, 20_000, 2, generator=generator(0)).double()
    assert density.exponent(points, every(points)) == pytest.approx(exponent, abs=0.02)
    right, wrong = (density.variation(points, every(points), e) for e in (exponent, 1.5 - exponent))
    assert (right < 0.03).all()
    assert (wrong > 0.15).all()


def test_the_best_atoms_tend_to_the_square_root() -> None:
    law = SingleGaussian()
    density = PointDensity(law, X, SQUARE, 4)
    y = law.sample(X, 8000, generator(1)).transpose(0, 1)
    points = torch.stack([lloyd(part, 150, 1, 60, generator(2))[0] for part in y])
    half, one = (density.variation(points, every(points), e).mean() for e in (0.5, 1.0))
    assert half < 0.5 * one
    assert half < density.chance(0.5, 150).mean()
    assert density.exponent(points, every(points)) == pytest.approx(0.5, abs=0.12)


def test_chance_against_simulation() -> None:
    density = PointDensity(SingleGaussian(), X, SQUARE, 4)
    p = density.targets(1.0)[0]
    drawn = torch.multinomial(p.expand(4000, -1), 20, replacement=True, generator=generator(3))
    shares = torch.nn.functional.one_hot(drawn, 16).double().mean(1)
    expected = ((shares - p).abs().sum(1) / 2).mean().item()
    assert density.chance(1.0, 20)[0].item() == pytest.approx(expected, rel=0.02)


def test_atoms_that_do_not_count() -> None:
    density = PointDensity(ChangingDamier(), X, SQUARE, 4)
    points = torch.tensor([[-0.75, -0.75], [0.9, 0.9], [0.9, -0.9]]).double().expand(2, 3, 2)
    chosen = torch.tensor([[True, False, False]]).expand(2, 3)
    expected = 1 - density.targets(0.5)[:, 0]
    assert torch.allclose(density.variation(points, chosen, 0.5), expected)


def test_bins_must_fit() -> None:
    with pytest.raises(ValueError, match="bins = 3: must divide 8"):
        PointDensity(SingleGaussian(), X, SQUARE, 3)


@pytest.mark.parametrize("x", [0.0, 1.0])
def test_where_the_law_has_no_density_atoms_still_have_an_exponent(x: float) -> None:
    """Draws of the law itself have the exponent 1; uniform ones, on all of the domain, 0."""
    source = torch.Generator().manual_seed(0)
    law, at = UniformToGaussians(), torch.full((20, 1), x, dtype=torch.float64)
    density = PointDensity(law, at, Box(-1.0, 1.0), 8)
    drawn = law.sample(at, 200, source).transpose(0, 1)
    chosen = torch.ones(20, 200, dtype=torch.bool)
    if x == 1:  # where it is uniform all positive exponents are the same
        assert density.exponent(drawn, chosen) == pytest.approx(1, abs=0.1)
    assert density.exponent(drawn, chosen) > 0
    even = 2 * torch.rand(20, 200, 2, dtype=torch.float64, generator=source) - 1
    assert density.exponent(even, chosen) == 0
    for exponent in (-0.5, 0.0, 0.5):
        shares = density.targets(exponent)
        torch.testing.assert_close(shares.sum(1), torch.ones(20, dtype=torch.float64))
