"""Losses of the networks."""

from __future__ import annotations

__all__ = ["winner_distance", "wta"]

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from .networks import Hypotheses


def wta(
    hypotheses: Hypotheses, y: Tensor, beta: float, score_reduction: Literal["sum", "mean"]
) -> Tensor:
    r"""Winner-takes-all loss with scores, averaged over the batch.

    .. math:: \min_k \|z_k - y\|^2 + \beta \sum_k \mathrm{BCE}(1[k \text{ wins}], \gamma_k)

    Arguments:
        hypotheses: points `(*, K, d)` and logits `(*, K)`.
        y: targets, with shape `(*, d)`.
        beta: weight of the scores.
        score_reduction: whether the cross-entropies are summed over k, as the paper prints it, or
            averaged, as its published code does.
    """
    logits = hypotheses.logits
    winner, distance = _winner(hypotheses, y)
    # BCE(t, sigmoid(s)) = softplus(s) - t s, and t is 1 for the winner alone.
    cross_entropy = softplus(logits).sum(-1) - logits.gather(-1, winner.unsqueeze(-1)).squeeze(-1)
    if score_reduction == "mean":
        cross_entropy = cross_entropy / logits.shape[-1]
    return torch.mean(distance + beta * cross_entropy)


def winner_distance(hypotheses: Hypotheses, y: Tensor) -> Tensor:
    r"""Squared distance to the winner :math:`\min_k \|z_k - y\|^2`, averaged over the batch.

    This is :func:`wta` without its scores. Their cross-entropy grows with the number of hypotheses
    that win at all, so that the sum of both is lowest for networks whose hypotheses lie idle.

    Arguments:
        hypotheses: points `(*, K, d)`, and logits that do not matter.
        y: targets, with shape `(*, d)`.
    """
    return _winner(hypotheses, y)[1].mean()


def _winner(hypotheses: Hypotheses, y: Tensor) -> tuple[Tensor, Tensor]:
    """Index of the nearest hypothesis and the squared distance to it, both with shape `(*)`.

    Gradients pass through the winner alone, so the others' distances need no graph.
    """
    points = hypotheses.points
    with torch.no_grad():
        winner = (points - y.unsqueeze(-2)).square().sum(-1).argmin(-1)
    nearest = points.take_along_dim(winner[..., None, None], -2).squeeze(-2)
    return winner, (nearest - y).square().sum(-1)
