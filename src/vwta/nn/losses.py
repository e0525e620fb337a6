r"""Losses of the networks, on :math:`R^d` and on the unit sphere.

On :math:`R^d` each row has one target, and a loss is a mean over the last axis of rows: for rows
`(S, n)` of S networks it has shape `(S,)`.

On the sphere (`sphere_*`) a row is a frame that has any number of targets, or none: they are unit
vectors `(*, S, 3)` in S places for each frame, and `active` `(*, S)` says which places are taken;
the others may hold anything. Every target has the same weight, whatever its frame. Frames without a
target have no part in any loss, and the loss of a batch without any target is 0.
"""

from __future__ import annotations

__all__ = [
    "annealed",
    "mixture",
    "relaxed",
    "scoring",
    "sphere_mixture",
    "sphere_scoring",
    "sphere_winner_distance",
    "sphere_wta",
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

from vwta.geometry.angles import angle_between
from vwta.nn.heads import Components, Hypotheses

Reduction = Literal["sum", "mean", "softmax"]
SphereReduction = Literal["sum", "mean"]
Sharing = Callable[[Tensor], Tensor]
"""Shares `(*, K)` of the hypotheses in a target, given their squared distances to it `(*, K)`."""


def wta(
    hypotheses: Hypotheses,
    y: Tensor,
    beta: float | Tensor,
    score_reduction: Reduction,
    sharing: Sharing | None = None,
) -> Tensor:
    r"""Winner-takes-all loss with scores, averaged over rows.

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
    return torch.mean(distance + beta * cross_entropy, -1)


def relaxed(squares: Tensor, epsilon: float) -> Tensor:
    r"""Relaxed WTA: :math:`1 - \epsilon` for the winner, :math:`\epsilon / (K - 1)` for each other.

    Arguments:
        squares: squared distances, with shape `(*, K)`, where K > 1.
        epsilon: total share of the others.
    """
    if squares.shape[-1] < 2:
        raise ValueError("relaxed WTA shares targets among K > 1 hypotheses, found K = 1")
    others = epsilon / (squares.shape[-1] - 1)
    shares = torch.full_like(squares, others)
    return shares.scatter(-1, squares.argmin(-1, keepdim=True), 1 - epsilon)


def top(squares: Tensor, n: int) -> Tensor:
    """Top-n WTA: equal shares :math:`1 / n` of the loss for the n nearest.

    Arguments:
        squares: squared distances, with shape `(*, K)`.
        n: how many share, at most K.
    """
    if not 1 <= n <= squares.shape[-1]:
        raise ValueError(
            f"n = {n} hypotheses share a target: expected 1 to K = {squares.shape[-1]}"
        )
    nearest = squares.topk(n, dim=-1, largest=False).indices
    return torch.zeros_like(squares).scatter(-1, nearest, 1 / n)


def annealed(squares: Tensor, temperature: float) -> Tensor:
    r"""Annealed WTA: shares :math:`q_k \propto \exp(-\|z_k - y\|^2 / T)`.

    As T goes to 0, only the winner has a share.

    Arguments:
        squares: squared distances, with shape `(*, K)`.
        temperature: T, positive, or 0 for its limit.
    """
    if temperature == 0:
        return top(squares, 1)
    return (-squares / temperature).softmax(-1)


def temperature(epoch: int, initial: float, decay: float, lowest: float) -> float:
    r"""Temperature :math:`T_0 \alpha^e` of annealed WTA, which is 0 once it falls below a bound.

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
    r"""Loss of the scores alone, averaged over rows: how a histogram is trained.

    .. math:: -\log \gamma_{k^\star} - \sum_{k \neq k^\star} \log(1 - \gamma_k),
        \qquad k^\star = \arg\min_k \|z_k - y\|

    Arguments:
        hypotheses: points `(*, K, d)` and logits `(*, K)`.
        y: targets, with shape `(*, d)`.
        score_reduction: whether the cross-entropies are summed over k, as the paper prints it, or
            averaged, as its published code does; `softmax` is for scores that sum to 1
            (:class:`vwta.nn.heads.SoftmaxHypotheses`), whose loss is
            :math:`-\log \gamma_{k^\star}` alone.
    """
    winner = _nearest(hypotheses.points, y)
    return _cross_entropy(hypotheses.logits, winner, score_reduction).mean(-1)


def mixture(components: Components, y: Tensor, dimension: int | None = None) -> Tensor:
    r"""Loss: negative log-likelihood of a mixture of isotropic Gaussians, a mean over rows.

    .. math:: -\log \sum_k \exp(\log \pi_k - \frac{\|y - \mu_k\|^2}{2 \sigma_k^2}
        - \frac{d}{2} \log 2 \pi \sigma_k^2)

    Arguments:
        components: means `(*, K, d)`, logits and log-variances `(*, K)`.
        y: targets, with shape `(*, d)`.
        dimension: d in the normaliser, if not that of the targets; the loss is then no longer a
            negative log-likelihood.
    """
    log_variances = components.log_variances
    squares = _squares(components.points, y)
    d = y.shape[-1] if dimension is None else dimension
    log_normaliser = d / 2 * (math.log(2 * math.pi) + log_variances)
    log_densities = -squares / 2 * (-log_variances).exp() - log_normaliser
    return -torch.logsumexp(components.logits.log_softmax(-1) + log_densities, -1).mean(-1)


def winner_distance(hypotheses: Hypotheses, y: Tensor) -> Tensor:
    r"""Loss without scores: squared distance to the winner :math:`\min_k \|z_k - y\|^2`, a mean.

    This is :func:`wta` without its scores. Their cross-entropy grows with the number of hypotheses
    that win at all, so that the sum of both favours networks with unused hypotheses.

    Arguments:
        hypotheses: points `(*, K, d)`, and logits that do not matter.
        y: targets, with shape `(*, d)`.
    """
    return _winner(hypotheses.points, y)[1].mean(-1)


def sphere_wta(
    hypotheses: Hypotheses,
    y: Tensor,
    active: Tensor,
    beta: float,
    score_reduction: SphereReduction,
) -> Tensor:
    r"""Winner-takes-all loss with scores on the sphere, for several targets a frame.

    .. math:: \frac{1}{N} \sum_{t, s} \min_k \mathrm{angle}(z_{tk}, y_{ts})
        + \frac{\beta}{M} \sum_t \sum_k \mathrm{BCE}(1[k \text{ wins any } y_{ts}], \gamma_{tk})

    The first sum is over the N active targets, the second over the M frames that have one.

    Arguments:
        hypotheses: points `(*, K, 3)` and logits `(*, K)`.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them exist, bool with shape `(*, S)`.
        beta: weight of the scores.
        score_reduction: see :func:`sphere_scoring`.

    Example:
        >>> points = torch.eye(3)[None]  # one frame, three hypotheses
        >>> hypotheses = Hypotheses(points, torch.tensor([[90.0, -90.0, -90.0]]))
        >>> y, active = torch.tensor([[[0.8, 0.6, 0.0]]]), torch.tensor([[True]])
        >>> sphere_wta(hypotheses, y, active, beta=1.0, score_reduction="sum")  # atan(3 / 4)
        tensor(0.6435)
    """
    winner = _nearest(hypotheses.points.unsqueeze(-3), y)
    distance = _mean_angle(hypotheses.points, winner, y, active)
    return distance + beta * _mean_cross_entropy(hypotheses.logits, winner, active, score_reduction)


def sphere_scoring(
    hypotheses: Hypotheses, y: Tensor, active: Tensor, score_reduction: SphereReduction
) -> Tensor:
    r"""Loss of the scores alone on the sphere: how a histogram is trained.

    .. math:: \frac{1}{M} \sum_t \sum_k \mathrm{BCE}(1[k \text{ wins any } y_{ts}], \gamma_{tk})

    Arguments:
        hypotheses: points `(*, K, 3)` and logits `(*, K)`.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them exist, bool with shape `(*, S)`.
        score_reduction: whether the cross-entropies are summed over k, or averaged; see
            :func:`scoring`.
    """
    winner = _nearest(hypotheses.points.unsqueeze(-3), y)
    return _mean_cross_entropy(hypotheses.logits, winner, active, score_reduction)


def sphere_winner_distance(hypotheses: Hypotheses, y: Tensor, active: Tensor) -> Tensor:
    """Loss without scores on the sphere: angle to the winner, a mean over active targets.

    Arguments:
        hypotheses: points `(*, K, 3)`, and logits that do not matter.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them exist, bool with shape `(*, S)`.
    """
    points = hypotheses.points
    return _mean_angle(points, _nearest(points.unsqueeze(-3), y), y, active)


def sphere_mixture(components: Components, y: Tensor, active: Tensor) -> Tensor:
    r"""Loss: negative log-likelihood of a mixture of von Mises-Fisher laws, over active targets.

    .. math:: -\frac{1}{N} \sum_{t, s} \log \sum_k \pi_{tk} \frac{\kappa_{tk}}
        {4 \pi \sinh \kappa_{tk}} \exp(\kappa_{tk} \mu_{tk} \cdot y_{ts})

    With :math:`w = |y - \mu|^2 / 2 = 1 - \mu \cdot y` and :math:`\varphi(x) = (1 - e^{-x}) / x`,
    the density of a component is :math:`e^{-\kappa w} / (4 \pi \varphi(2 \kappa))`, in which
    nothing overflows or cancels, be :math:`\kappa` large or small.

    Arguments:
        components: mean directions `(*, K, 3)`, logits, and log-variances :math:`-\log \kappa`
            `(*, K)`.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them exist, bool with shape `(*, S)`.

    Example:
        >>> flat = Components(torch.eye(3), torch.zeros(3), torch.full((3,), 20.0))
        >>> sphere_mixture(flat, torch.tensor([[0.0, 0.6, 0.8]]), torch.tensor([True]))  # log(4 pi)
        tensor(2.5310)
    """
    # Anything may stand in the other places, even nan, which would spoil gradients.
    known = torch.where(active.unsqueeze(-1), y, 0.0)
    w = _squares(components.points.unsqueeze(-3), known) / 2
    kappas = (-components.log_variances).exp()
    log_scale = components.logits.log_softmax(-1) - _phi(2 * kappas).log() - math.log(4 * math.pi)
    terms = log_scale.unsqueeze(-2) - kappas.unsqueeze(-2) * w
    return -_mean(terms.logsumexp(-1), active)


@torch.no_grad()
def _nearest(points: Tensor, y: Tensor) -> Tensor:
    """Index of the nearest point; on the sphere the shortest chord has the smallest angle too."""
    return _squares(points, y).argmin(-1)


def _squares(points: Tensor, y: Tensor) -> Tensor:
    """Squared distances `(*, K)`, axis by axis: sums over an axis of a few entries are slow."""
    if points.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"points {tuple(points.shape)} and targets {tuple(y.shape)} differ in their last axis, "
            "the dimension d"
        )
    axes = zip(points.unbind(-1), y.unsqueeze(-2).unbind(-1), strict=True)
    first, *others = ((a - b).square() for a, b in axes)
    return sum(others, first)


def _winner(points: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Index of the nearest hypothesis and the squared distance to it, both with shape `(*)`.

    Gradients pass through the winner alone, so the others' distances need no graph.
    """
    winner = _nearest(points, y)
    nearest = _points_of(points, winner.unsqueeze(-1)).squeeze(-2)
    return winner, (nearest - y).square().sum(-1)


def _mean_angle(points: Tensor, winner: Tensor, y: Tensor, active: Tensor) -> Tensor:
    """Mean angle between active targets `(*, S, 3)` and their winners `(*, S)`."""
    nearest = _points_of(points, winner)
    # The other places may hold anything, even nan: there the angle is 0 and has no gradient.
    known = torch.where(active.unsqueeze(-1), y, nearest.detach())
    return _mean(angle_between(nearest, known), active)


def _points_of(points: Tensor, winner: Tensor) -> Tensor:
    """Points `(*, S, d)` of S winners `(*, S)` out of `(*, K, d)`."""
    return points.take_along_dim(winner.unsqueeze(-1), -2)


def _cross_entropy(logits: Tensor, winner: Tensor, reduction: Reduction) -> Tensor:
    """Cross-entropies of the scores, over k, with shape `(*)`.

    BCE(t, sigmoid(s)) = softplus(s) - t s, and t is 1 for the winner alone.
    """
    if reduction == "softmax":
        return -logits.log_softmax(-1).gather(-1, winner.unsqueeze(-1)).squeeze(-1)
    total = softplus(logits).sum(-1) - logits.gather(-1, winner.unsqueeze(-1)).squeeze(-1)
    return total / logits.shape[-1] if reduction == "mean" else total


def _mean_cross_entropy(
    logits: Tensor, winner: Tensor, active: Tensor, reduction: SphereReduction
) -> Tensor:
    """The same for those that win any target of a frame, averaged over frames with a target."""
    K = logits.shape[-1]
    is_winner = winner.unsqueeze(-1) == torch.arange(K, device=winner.device)
    wins = (is_winner & active.unsqueeze(-1)).any(-2)
    total = (softplus(logits) - torch.where(wins, logits, 0.0)).sum(-1)
    total = _mean(total, active.any(-1))
    return total / K if reduction == "mean" else total


def _mean(values: Tensor, marked: Tensor) -> Tensor:
    """Mean of those values `(*)` that are marked, bool `(*)`; 0 if none is.

    To select them by the mask would let the program wait for a GPU to count them.
    """
    return torch.where(marked, values, 0.0).sum() / marked.sum().clamp_min(1)


def _phi(x: Tensor) -> Tensor:
    """As :func:`vwta.geometry.kernels.phi`, so that training does not depend on kernels."""
    x = x.clamp_min(torch.finfo(x.dtype).tiny)
    return -torch.expm1(-x) / x
