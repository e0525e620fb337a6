"""Losses against plain loops."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from vwta.geometry.grids import bin_centres
from vwta.nn.heads import Components, Hypotheses, SoftmaxHypotheses
from vwta.nn.losses import (
    annealed,
    mixture,
    relaxed,
    scoring,
    temperature,
    top,
    winner_distance,
    wta,
)


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


def test_shares_have_the_cross_entropy_of_their_softmax() -> None:
    hypotheses, y = draw(6, 5, 2)
    winner = torch.cdist(y[:, None], hypotheses.points)[:, 0].argmin(-1)
    expected = torch.nn.functional.cross_entropy(hypotheses.logits, winner)
    assert scoring(hypotheses, y, "softmax").item() == pytest.approx(expected.item())
    chosen = SoftmaxHypotheses(*hypotheses).masses.gather(1, winner[:, None])
    assert -chosen.log().mean().item() == pytest.approx(expected.item())


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


def test_scoring_is_the_printed_formula() -> None:
    """The target's bin comes from its coordinates, not from a distance."""
    hypotheses, y = draw(40, 20, 2)
    y = y.tanh()
    points = bin_centres([5, 4], [-1.0, -1.0], [1.0, 1.0]).expand(40, 20, 2)
    total = 0.0
    for logits, (u, v) in zip(hypotheses.logits.tolist(), y.tolist(), strict=True):
        column = 4 * int((u + 1) / 2 * 5) + int((v + 1) / 2 * 4)
        scores = [1 / (1 + math.exp(-logit)) for logit in logits]
        total -= math.log(scores[column])
        total -= sum(math.log(1 - score) for k, score in enumerate(scores) if k != column)
    binned = Hypotheses(points, hypotheses.logits)
    assert scoring(binned, y, "sum").item() == pytest.approx(total / 40)
    assert scoring(binned, y, "mean").item() == pytest.approx(total / 40 / 20)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_mixture_against_torch(d: int) -> None:
    (points, logits), y = draw(50, 4, d)
    log_variances = points.detach()[..., 0] - 1
    law = MixtureSameFamily(
        Categorical(logits=logits),
        Independent(Normal(points, (log_variances / 2).exp().unsqueeze(-1)), 1),
    )
    loss = mixture(Components(points, logits, log_variances), y)
    assert loss.item() == pytest.approx(-law.log_prob(y).mean().item())


def test_mixture_stays_finite_far_away() -> None:
    """No density here is a float, but their logarithms are."""
    log_variances = torch.tensor([[-12.0, -10.0]], requires_grad=True)
    logits = torch.tensor([[200.0, -200.0]], requires_grad=True)
    loss = mixture(Components(torch.zeros(1, 2, 2), logits, log_variances), torch.ones(1, 2))
    loss.backward()
    assert loss.item() == pytest.approx(math.exp(10) + math.log(2 * math.pi) - 10 + 400)
    assert torch.isfinite(logits.grad).all()
    assert torch.isfinite(log_variances.grad).all()


def plain_relaxed(distances: list[float]) -> list[float]:
    winner = distances.index(min(distances))
    return [0.9 if k == winner else 0.1 / (len(distances) - 1) for k in range(len(distances))]


def plain_top(distances: list[float]) -> list[float]:
    return [1 / 3 if sum(other < own for other in distances) < 3 else 0.0 for own in distances]


def plain_annealed(distances: list[float]) -> list[float]:
    weights = [math.exp(-distance / 0.5) for distance in distances]
    return [weight / sum(weights) for weight in weights]


SHARINGS = {
    "relaxed": (partial(relaxed, epsilon=0.1), plain_relaxed),
    "top": (partial(top, n=3), plain_top),
    "annealed": (partial(annealed, temperature=0.5), plain_annealed),
}


@pytest.mark.parametrize("name", SHARINGS)
def test_shared_targets_against_a_loop(name: str) -> None:
    """Value and gradient: shares are constants, each hypothesis is pulled by its own."""
    sharing, plain = SHARINGS[name]
    hypotheses, y = draw(6, 5, 2)
    shares = []
    total = 0.0
    for points, target in zip(hypotheses.points.tolist(), y.tolist(), strict=True):
        distances = [math.dist(point, target) ** 2 for point in points]
        shares.append(plain(distances))
        total += sum(q * distance for q, distance in zip(shares[-1], distances, strict=True))
    loss = wta(hypotheses, y, beta=0.0, score_reduction="sum", sharing=sharing)
    assert loss.item() == pytest.approx(total / 6)
    loss.backward()
    pull = 2 * torch.tensor(shares)[..., None] * (hypotheses.points - y[:, None]).detach() / 6
    assert torch.allclose(hypotheses.points.grad, pull)


@pytest.mark.parametrize(
    "sharing", [partial(relaxed, epsilon=0.0), partial(top, n=1), partial(annealed, temperature=0)]
)
def test_limits_are_plain_wta(sharing: Callable[[torch.Tensor], torch.Tensor]) -> None:
    hypotheses, y = draw(6, 5, 2)
    shared = wta(hypotheses, y, beta=0.7, score_reduction="sum", sharing=sharing)
    assert shared.item() == pytest.approx(wta(hypotheses, y, 0.7, "sum").item())


def test_scores_learn_the_winner_whatever_the_sharing() -> None:
    hypotheses, y = draw(6, 5, 2)
    gradients = []
    for sharing in (None, partial(annealed, temperature=0.5)):
        (gradient,) = torch.autograd.grad(
            wta(hypotheses, y, 1.0, "sum", sharing), hypotheses.logits
        )
        gradients.append(gradient)
    assert torch.equal(*gradients)


def test_low_temperatures_stay_finite() -> None:
    shares = annealed(torch.tensor([4.0, 1.0, 2.0]), 1e-30)
    assert shares.tolist() == [0, 1, 0]


def test_temperature_falls_to_zero() -> None:
    values = [temperature(epoch, 0.5, 0.95, 5e-4) for epoch in range(200)]
    assert values[0] == 0.5
    assert values[10] == pytest.approx(0.5 * 0.95**10)
    last = math.floor(math.log(5e-4 / 0.5) / math.log(0.95))
    assert values[last] >= 5e-4
    assert set(values[last + 1 :]) == {0.0}


def test_sharing_among_too_few_is_named() -> None:
    with pytest.raises(ValueError, match="found K = 1"):
        relaxed(torch.ones(3, 1), epsilon=0.1)
    for n in (0, 4):
        with pytest.raises(ValueError, match=rf"n = {n} .* 1 to K = 3"):
            top(torch.ones(2, 3), n=n)


def test_targets_of_another_dimension_are_named() -> None:
    hypotheses, y = draw(6, 5, 2)
    for loss in (partial(wta, beta=1.0, score_reduction="sum"), winner_distance):
        with pytest.raises(ValueError, match=r"\(6, 5, 2\) and targets \(6, 1\) differ"):
            loss(hypotheses, y[:, :1])
