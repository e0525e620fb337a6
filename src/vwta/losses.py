"""Losses of the networks."""

from __future__ import annotations

__all__ = ["mixture", "scoring", "winner_distance", "wta"]

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from .networks import Components, Hypotheses

Reduction = Literal["sum", "mean"]


def wta(hypotheses: Hypotheses, y: Tensor, beta: float, score_reduction: Reduction) -> Tensor:
    r"""Winner-takes-all loss with scores, averaged over the batch.

    .. math:: \min_k \|z_k - y\|^2 + \beta \sum_k \mathrm{BCE}(1[k \text{ wins}], \gamma_k)

    Arguments:
        hypotheses: points `(*, K, d)` and logits `(*, K)`.
        y: targets, with shape `(*, d)`.
        beta: weight of the scores.
        score_reduction: see :func:`scoring`.
    """
    winner, distance = _winner(hypotheses.points, y)
    cross_entropy = _cross_entropy(hypotheses.logits, winner, score_reduction)
    return torch.mean(distance + beta * cross_entropy)


def scoring(hypotheses: Hypotheses, y: Tensor, score_reduction: Reduction) -> Tensor:
    r"""Loss of the scores alone, averaged over the batch: how a histogram is trained.

    .. math:: -\log \gamma_{k^\star} - \sum_{k \neq k^\star} \log(1 - \gamma_k),
        \qquad k^\star = \arg\min_k \|z_k - y\|

    Arguments:
        hypotheses: points `(*, K, d)` and logits `(*, K)`.
        y: targets, with shape `(*, d)`.
        score_reduction: whether the cross-entropies are summed over k, as the paper prints it, or
            averaged, as its published code does.
    """
    winner = _nearest(hypotheses.points, y)
    return _cross_entropy(hypotheses.logits, winner, score_reduction).mean()


def mixture(components: Components, y: Tensor) -> Tensor:
    r"""Negative log-likelihood of a mixture of isotropic Gaussians, averaged over the batch.

    .. math:: -\log \sum_k \exp(\log \pi_k - \frac{\|y - \mu_k\|^2}{2 \sigma_k^2}
        - \frac{d}{2} \log 2 \pi \sigma_k^2)

    Arguments:
        components: means `(*, K, d)`, logits and log-variances `(*, K)`.
        y: targets, with shape `(*, d)`.
    """
    log_variances = components.log_variances
    squares = (components.points - y.unsqueeze(-2)).square().sum(-1)
    log_normaliser = y.shape[-1] / 2 * (math.log(2 * math.pi) + log_variances)
    log_densities = -squares / 2 * (-log_variances).exp() - log_normaliser
    return -torch.logsumexp(components.logits.log_softmax(-1) + log_densities, -1).mean()


def winner_distance(hypotheses: Hypotheses, y: Tensor) -> Tensor:
    r"""Squared distance to the winner :math:`\min_k \|z_k - y\|^2`, averaged over the batch.

    This is :func:`wta` without its scores. Their cross-entropy grows with the number of hypotheses
    that win at all, so that the sum of both is lowest for networks whose hypotheses lie idle.

    Arguments:
        hypotheses: points `(*, K, d)`, and logits that do not matter.
        y: targets, with shape `(*, d)`.
    """
    return _winner(hypotheses.points, y)[1].mean()


def _winner(points: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Index of the nearest hypothesis and the squared distance to it, both with shape `(*)`.

    Gradients pass through the winner alone, so the others' distances need no graph.
    """
    winner = _nearest(points, y)
    nearest = points.take_along_dim(winner[..., None, None], -2).squeeze(-2)
    return winner, (nearest - y).square().sum(-1)


@torch.no_grad()
def _nearest(points: Tensor, y: Tensor) -> Tensor:
    return (points - y.unsqueeze(-2)).square().sum(-1).argmin(-1)


def _cross_entropy(logits: Tensor, winner: Tensor, reduction: Reduction) -> Tensor:
    """Cross-entropies of the scores, over k, with shape `(*)`.

    BCE(t, sigmoid(s)) = softplus(s) - t s, and t is 1 for the winner alone.
    """
    total = softplus(logits).sum(-1) - logits.gather(-1, winner.unsqueeze(-1)).squeeze(-1)
    return total / logits.shape[-1] if reduction == "mean" else total
