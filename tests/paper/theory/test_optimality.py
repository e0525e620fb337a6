"""Properties of cells: an optimum shows none of the errors, and made-up atoms the known ones."""

import math

import pytest
import torch
from scipy.stats import binom
from torch import Tensor

from vwta.geometry.grids import bin_centres
from vwta.geometry.outlines import Outlines
from vwta.geometry.spaces import Box
from vwta.paper.theory.optimality import (
    Wins,
    centroid_floor,
    centroid_square,
    dead,
    never_wins,
    nll_from_cells,
    optimal_nll,
    random_tv,
    score_tv,
    set_floor,
    total_variation,
    winners,
)
from vwta.seeds import generator

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])


def chessboard() -> tuple[Tensor, Tensor, Tensor]:
    """Middles of a chessboard's squares, their masses 3/32 and 1/32, and points in this ratio."""
    centres = bin_centres([4, 4], [-1.0, -1.0], [1.0, 1.0])
    row, column = torch.arange(4).repeat_interleave(4), torch.arange(4).repeat(4)
    copies = torch.where((row + column) % 2 == 0, 3, 1)
    within = (bin_centres([6, 6], [-1.0, -1.0], [1.0, 1.0])) / 4
    y = (centres[:, None] + within).repeat_interleave(copies, 0)
    return centres[None], (copies / 32.0).double()[None], y.reshape(1, -1, 2)


def test_an_optimum_has_no_errors() -> None:
    points, masses, y = chessboard()
    wins, cells = Wins.of(points, y), Outlines(points, SQUARE)
    assert score_tv(masses, wins).item() == pytest.approx(0, abs=1e-15)
    assert centroid_square(wins).item() == pytest.approx(0, abs=1e-30)
    assert dead(wins.counts).item() == never_wins(wins.counts) == 0
    left = -sum(p * math.log(p / 0.25) for p in masses[0].tolist())  # of the true density
    assert nll_from_cells(masses, cells.areas, wins.shares).item() == pytest.approx(left)
    assert optimal_nll(wins.shares, cells.areas, 4.0).item() == pytest.approx(left)
    variance = (0.5**2 - (0.5 / 6) ** 2) / 12 * 2  # of a grid of 6 x 6 points
    assert wins.risk.item() == pytest.approx(variance)


def test_wins_against_loops() -> None:
    source = generator(0)
    points = torch.randn(2, 5, 2, generator=source, dtype=torch.float64)
    y = torch.randn(2, 60, 2, generator=source, dtype=torch.float64)
    wins = Wins.of(points, y)
    for row in range(2):
        owner = [
            min(range(5), key=lambda k: math.dist(p, points[row, k].tolist()))
            for p in y[row].tolist()
        ]
        assert winners(points, y)[row].tolist() == owner
        for k in range(5):
            mine = y[row][[index for index, who in enumerate(owner) if who == k]]
            assert wins.counts[row, k] == len(mine)
            if len(mine) > 1:
                mean = mine.mean(0) - points[row, k]
                assert torch.allclose(wins.offset[row, k], mean)
                assert torch.allclose(wins.variance[row, k], mine.var(0).sum())
        distances = [math.dist(p, points[row, k]) for p, k in zip(y[row], owner, strict=True)]
        assert wins.farthest[row].item() == pytest.approx(max(distances))
        assert wins.risk[row].item() == pytest.approx(sum(d**2 for d in distances) / 60)


def test_atoms_that_win_nothing() -> None:
    points = torch.tensor([[[0.0], [1.0], [9.0]], [[0.0], [7.0], [9.0]]]).expand(2, 3, 2)
    y = torch.tensor([[0.1], [0.9]]).expand(2, 2, 2)
    wins = Wins.of(points, y)
    assert wins.counts.tolist() == [[1, 1, 0], [2, 0, 0]]
    assert dead(wins.counts).tolist() == [1, 2]
    assert never_wins(wins.counts) == 1
    assert (wins.offset[0, 2] == 0).all()
    expected = torch.tensor([[0.0, 0.0, 0.0], [2 * 0.8**2 / 2, 0.0, 0.0]])
    assert torch.allclose(wins.variance, expected)


def test_total_variation() -> None:
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.2, 0.4, 0.4])
    assert total_variation(p, q).item() == pytest.approx(0.4)


@pytest.mark.parametrize("m", [1, 7, 400])
def test_floor_of_scores_against_the_binomial_law(m: int) -> None:
    p = torch.tensor([0.55, 0.3, 0.1499, 0.0001, 0.0], dtype=torch.float64)
    expected = sum(
        sum(abs(k - m * q) * binom.pmf(k, m, q) for k in range(m + 1)) for q in p.tolist()
    ) / (2 * m)
    assert random_tv(p, m).item() == pytest.approx(expected, rel=1e-9)
    assert random_tv(torch.tensor([1.0, 0.0]), m).item() == pytest.approx(0, abs=1e-6)


def test_floor_of_centroids_is_what_perfect_atoms_show() -> None:
    """Two uniform cells, with 50 points for each of 4,000 inputs."""
    y = torch.rand(4000, 50, 2, generator=generator(1), dtype=torch.float64)
    points = torch.tensor([[0.25, 0.5], [0.75, 0.5]], dtype=torch.float64).expand(4000, 2, 2)
    wins = Wins.of(points, y)
    square, floor = centroid_square(wins).mean().item(), centroid_floor(wins).mean().item()
    assert floor == pytest.approx(2 * (0.25 + 1) / 12 / 50, rel=0.02)
    assert square == pytest.approx(floor, rel=0.05)
    moved = Wins.of(points + torch.tensor([0.0, 0.1]), y)
    assert centroid_square(moved).mean().item() - floor == pytest.approx(0.01, rel=0.06)


def test_centroids_are_what_one_step_of_lloyd_saves() -> None:
    source = generator(2)
    points = torch.randn(1, 6, 2, generator=source, dtype=torch.float64)
    y = torch.randn(1, 500, 2, generator=source, dtype=torch.float64)
    wins = Wins.of(points, y)
    owner = winners(points, y)[0]
    moved = (points + wins.offset)[0, owner]
    saved = wins.risk.item() - (y[0] - moved).square().sum(-1).mean().item()
    assert centroid_square(wins).item() == pytest.approx(saved)


def test_likelihood_from_cells() -> None:
    shares = torch.tensor([[0.5, 0.5, 0.0]], dtype=torch.float64)
    masses = torch.tensor([[0.25, 0.25, 0.5]], dtype=torch.float64)
    areas = torch.tensor([[1.0, 2.0, 1.0]], dtype=torch.float64)
    expected = -(math.log(0.25) + math.log(0.125)) / 2
    assert nll_from_cells(masses, areas, shares).item() == pytest.approx(expected)
    exact = nll_from_cells(shares, areas, shares)
    assert optimal_nll(shares, areas, 4.0).item() == pytest.approx(exact.item())
    divergence = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.5)
    assert exact.item() == pytest.approx(-divergence + math.log(4))


def test_floor_of_sets_against_simulation() -> None:
    p, m = torch.tensor([0.5, 0.1], dtype=torch.float64), 400
    drawn = torch.distributions.Binomial(m, p)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        error = (drawn.sample((20_000,)) / m - p).abs().mean(0)
    assert torch.allclose(set_floor(p, m), error, rtol=0.02)


def test_far_from_0_the_same_atoms_win() -> None:
    source = torch.Generator().manual_seed(0)
    points = torch.randint(-64, 64, (3, 9, 2), generator=source) / 64
    y = torch.randint(-64, 64, (3, 50, 2), generator=source) / 64
    distance = torch.cdist(y.double(), points.double())
    found = distance.gather(-1, winners(points + 1e5, y + 1e5)[..., None])[..., 0]
    torch.testing.assert_close(found, distance.amin(-1))
