"""Losses of the networks."""

from __future__ import annotations

__all__ = [
    "annealed",
    "mixture",
    "relaxed",
    "scoring",
    "temperature",
    "top",
    "winner_distance",
    "wta",
]

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from vwta.nn.networks import Components, Hypotheses

Reduction = Literal["sum", "mean", "softmax"]
Sharing = Callable[[Tensor], Tensor]
"""Shares `(*, K)` of the hypotheses in a target, given their squared distances to it `(*, K)`."""


def wta(
    hypotheses: Hypotheses,
    y: Tensor,
    beta: float | Tensor,
    score_reduction: Reduction,
    sharing: Sharing | None = None,
) -> Tensor:
    r"""Winner-takes-all loss with scores, averaged over the batch.

    .. math:: \min_k \|z_k - y\|^2 + \beta \sum_k \mathrm{BCE}(1[k \text{ wins}], \gamma_k)

    Arguments:
        hypotheses: points `(*, K, d)` and logits `(*, K)`.
        y: targets, with shape `(*, d)`.
        beta: weight of the scores; may differ between rows, with a shape that broadcasts to `(*)`.
        score_reduction: see :func:`scoring`.
        sharing: how hypotheses share a target, so that those that never win move as well: the first
            term is then :math:`\sum_k q_k \|z_k - y\|^2`, where no gradient passes through the
            shares :math:`q_k`. One of :func:`relaxed`, :func:`top` and :func:`annealed`, with its
            parameter bound; None for the winner alone. Scores learn who wins in any case.
    """
    if sharing is None:
        winner, distance = _winner(hypotheses.points, y)
    else:
        squares = _squares(hypotheses.points, y)
        winner = squares.argmin(-1)
        distance = (sharing(squares.detach()) * squares).sum(-1)
    cross_entropy = _cross_entropy(hypotheses.logits, winner, score_reduction)
    return torch.mean(distance + beta * cross_entropy)


def relaxed(squares: Tensor, epsilon: float) -> Tensor:
    r"""Shares :math:`1 - \epsilon` for the winner, :math:`\epsilon / (K - 1)` for each other.

    Arguments:
        squares: squared distances, with shape `(*, K)`, where K > 1.
        epsilon: what the others have together.
    """
    others = epsilon / (squares.shape[-1] - 1)
    shares = torch.full_like(squares, others)
    return shares.scatter(-1, squares.argmin(-1, keepdim=True), 1 - epsilon)


def top(squares: Tensor, n: int) -> Tensor:
    r"""Equal shares :math:`1 / n` for the n nearest.

    Arguments:
        squares: squared distances, with shape `(*, K)`.
        n: how many share, at most K.
    """
    nearest = squares.topk(n, dim=-1, largest=False).indices
    return torch.zeros_like(squares).scatter(-1, nearest, 1 / n)


def annealed(squares: Tensor, temperature: float) -> Tensor:
    r"""Shares :math:`q_k \propto \exp(-\|z_k - y\|^2 / T)`: the winner alone as T goes to 0.

    Arguments:
        squares: squared distances, with shape `(*, K)`.
        temperature: T, positive, or 0 for its limit.
    """
    if temperature == 0:
        return top(squares, 1)
    return (-squares / temperature).softmax(-1)


def temperature(epoch: int, initial: float, decay: float, lowest: float) -> float:
    r"""Temperature :math:`T_0 \alpha^e` of an epoch, which is 0 once it falls below a bound.

    Arguments:
        epoch: index e of the epoch, from 0.
        initial: :math:`T_0`.
        decay: :math:`\alpha`, below 1.
        lowest: the bound.

    Example:
        >>> [temperature(epoch, 0.5, 0.5, 0.1) for epoch in range(4)]
        [0.5, 0.25, 0.125, 0.0]
    """
    value = initial * decay**epoch
    return value if value >= lowest else 0.0


def scoring(hypotheses: Hypotheses, y: Tensor, score_reduction: Reduction) -> Tensor:
    r"""Loss of the scores alone, averaged over the batch: how a histogram is trained.

    .. math:: -\log \gamma_{k^\star} - \sum_{k \neq k^\star} \log(1 - \gamma_k),
        \qquad k^\star = \arg\min_k \|z_k - y\|

    Arguments:
        hypotheses: points `(*, K, d)` and logits `(*, K)`.
        y: targets, with shape `(*, d)`.
        score_reduction: whether the cross-entropies are summed over k, as the paper prints it, or
            averaged, as its published code does; `softmax` is for scores that are one
            (:class:`vwta.nn.networks.Shares`): their loss is :math:`-\log \gamma_{k^\star}` alone.
    """
    winner = _nearest(hypotheses.points, y)
    return _cross_entropy(hypotheses.logits, winner, score_reduction).mean()


def mixture(components: Components, y: Tensor, dimension: int | None = None) -> Tensor:
    r"""Negative log-likelihood of a mixture of isotropic Gaussians, averaged over the batch.

    .. math:: -\log \sum_k \exp(\log \pi_k - \frac{\|y - \mu_k\|^2}{2 \sigma_k^2}
        - \frac{d}{2} \log 2 \pi \sigma_k^2)

    Arguments:
        components: means `(*, K, d)`, logits and log-variances `(*, K)`.
        y: targets, with shape `(*, d)`.
        dimension: d in the normaliser, if not that of the targets; this is no likelihood then.
    """
    log_variances = components.log_variances
    squares = _squares(components.points, y)
    d = y.shape[-1] if dimension is None else dimension
    log_normaliser = d / 2 * (math.log(2 * math.pi) + log_variances)
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
    return _squares(points, y).argmin(-1)


def _squares(points: Tensor, y: Tensor) -> Tensor:
    """Squared distances `(*, K)`, axis by axis: sums over an axis of a few entries are slow."""
    axes = zip(points.unbind(-1), y.unsqueeze(-2).unbind(-1), strict=True)
    first, *others = ((a - b).square() for a, b in axes)
    return sum(others, first)


def _cross_entropy(logits: Tensor, winner: Tensor, reduction: Reduction) -> Tensor:
    """Cross-entropies of the scores, over k, with shape `(*)`.

    BCE(t, sigmoid(s)) = softplus(s) - t s, and t is 1 for the winner alone.
    """
    if reduction == "softmax":
        return -logits.log_softmax(-1).gather(-1, winner.unsqueeze(-1)).squeeze(-1)
    total = softplus(logits).sum(-1) - logits.gather(-1, winner.unsqueeze(-1)).squeeze(-1)
    return total / logits.shape[-1] if reduction == "mean" else total
