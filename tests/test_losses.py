"""Losses against plain loops."""

import math

import pytest
import torch

from vwta.losses import winner_distance, wta
from vwta.networks import Hypotheses


def draw(batch: int, K: int, d: int) -> tuple[Hypotheses, torch.Tensor]:
    source = torch.Generator().manual_seed(0)
    points = torch.randn(batch, K, d, generator=source, dtype=torch.float64, requires_grad=True)
    logits = torch.randn(batch, K, generator=source, dtype=torch.float64, requires_grad=True)
    return Hypotheses(points, logits), torch.randn(batch, d, generator=source, dtype=torch.float64)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize(("K", "d"), [(1, 1), (5, 2), (3, 4)])
def test_wta_is_the_printed_formula(reduction: str, K: int, d: int) -> None:
    hypotheses, y = draw(6, K, d)
    total = 0.0
    for points, logits, target in zip(*(t.tolist() for t in (*hypotheses, y)), strict=True):
        distances = [math.dist(point, target) ** 2 for point in points]
        winner = distances.index(min(distances))
        entropies = []
        for k, logit in enumerate(logits):
            score = 1 / (1 + math.exp(-logit))
            entropies.append(-math.log(score if k == winner else 1 - score))
        scores = sum(entropies) / (K if reduction == "mean" else 1)
        total += distances[winner] + 0.7 * scores
    loss = wta(hypotheses, y, beta=0.7, score_reduction=reduction)
    assert loss.item() == pytest.approx(total / 6)


def test_only_the_winner_moves() -> None:
    hypotheses, y = draw(4, 5, 2)
    wta(hypotheses, y, beta=1.0, score_reduction="sum").backward()
    moved = hypotheses.points.grad.abs().sum(-1) > 0
    winner = (hypotheses.points - y[:, None]).norm(dim=-1).argmin(-1)
    assert torch.equal(moved, torch.nn.functional.one_hot(winner, 5).bool())
    assert (hypotheses.logits.grad != 0).all()


def test_large_logits_stay_finite() -> None:
    hypotheses = Hypotheses(torch.zeros(1, 2, 1), torch.tensor([[500.0, -500.0]]))
    assert wta(hypotheses, torch.zeros(1, 1), beta=1.0, score_reduction="sum").item() == 0
    wrong = Hypotheses(torch.zeros(1, 2, 1), torch.tensor([[-500.0, 500.0]]))
    assert wta(wrong, torch.zeros(1, 1), beta=1.0, score_reduction="sum").item() == 1000


def test_distance_is_the_loss_without_scores() -> None:
    hypotheses, y = draw(6, 5, 2)
    alone = wta(hypotheses, y, beta=0.0, score_reduction="sum")
    assert torch.allclose(winner_distance(hypotheses, y), alone)
