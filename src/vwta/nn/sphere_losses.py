r"""Losses on the unit sphere, where a frame has any number of targets, or none.

Targets are unit vectors `(*, S, 3)` in S places for each frame, and `active` `(*, S)` tells which
places are taken; what stands in the others does not matter. A target counts as much as any other,
whatever frame it is from. Frames without targets have no part in any loss: what a density says of
them is never asked. A batch without any target has loss 0.
"""

from __future__ import annotations

__all__ = ["angle", "mixture", "scoring", "winner_distance", "wta"]

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from vwta.geometry.kernels import phi
from vwta.nn.networks import Components, Hypotheses

Reduction = Literal["sum", "mean"]


def angle(a: Tensor, b: Tensor) -> Tensor:
    r"""Angle between unit vectors, :math:`2 \, \mathrm{atan2}(|a - b|, |a + b|)`, shape `(*)`.

    It is :math:`\arccos a \cdot b`, but keeps its digits near 0 and :math:`\pi`. Its gradient is
    tangent to the sphere and has length 1, except at 0 and :math:`\pi`, where it is 0.

    Arguments:
        a: unit vectors, with shape `(*, 3)`.
        b: likewise.

    Example:
        >>> angle(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
        tensor(1.5708)
    """
    apart = torch.linalg.vector_norm(a - b, dim=-1)
    return 2 * torch.atan2(apart, torch.linalg.vector_norm(a + b, dim=-1))


def wta(
    hypotheses: Hypotheses,
    y: Tensor,
    active: Tensor,
    beta: float,
    score_reduction: Reduction,
) -> Tensor:
    r"""Winner-takes-all loss with scores, for several targets a frame.

    .. math:: \frac{1}{N} \sum_{t, s} \min_k \mathrm{angle}(z_{tk}, y_{ts})
        + \frac{\beta}{M} \sum_t \sum_k \mathrm{BCE}(1[k \text{ wins any } y_{ts}], \gamma_{tk})

    The first sum is over the N active targets, the second over the M frames that have one.

    Arguments:
        hypotheses: points `(*, K, 3)` and logits `(*, K)`.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them there are, bool with shape `(*, S)`.
        beta: weight of the scores.
        score_reduction: see :func:`scoring`.

    Example:
        >>> points = torch.eye(3)[None]  # one frame, three hypotheses
        >>> hypotheses = Hypotheses(points, torch.tensor([[90.0, -90.0, -90.0]]))
        >>> y, active = torch.tensor([[[0.8, 0.6, 0.0]]]), torch.tensor([[True]])
        >>> wta(hypotheses, y, active, beta=1.0, score_reduction="sum")  # atan(3 / 4)
        tensor(0.6435)
    """
    winner = _nearest(hypotheses.points, y)
    distance = _distance(hypotheses.points, winner, y, active)
    return distance + beta * _cross_entropy(hypotheses.logits, winner, active, score_reduction)


def scoring(
    hypotheses: Hypotheses, y: Tensor, active: Tensor, score_reduction: Reduction
) -> Tensor:
    r"""Loss of the scores alone: how a histogram is trained.

    .. math:: \frac{1}{M} \sum_t \sum_k \mathrm{BCE}(1[k \text{ wins any } y_{ts}], \gamma_{tk})

    Arguments:
        hypotheses: points `(*, K, 3)` and logits `(*, K)`.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them there are, bool with shape `(*, S)`.
        score_reduction: whether the cross-entropies are summed over k, or averaged; see
            :func:`vwta.nn.losses.scoring`.
    """
    winner = _nearest(hypotheses.points, y)
    return _cross_entropy(hypotheses.logits, winner, active, score_reduction)


def winner_distance(hypotheses: Hypotheses, y: Tensor, active: Tensor) -> Tensor:
    r"""Angle to the winner, averaged over active targets: :func:`wta` without its scores.

    Arguments:
        hypotheses: points `(*, K, 3)`, and logits that do not matter.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them there are, bool with shape `(*, S)`.
    """
    points = hypotheses.points
    return _distance(points, _nearest(points, y), y, active)


def mixture(components: Components, y: Tensor, active: Tensor) -> Tensor:
    r"""Negative log-likelihood of a mixture of von Mises-Fisher laws, over active targets.

    .. math:: -\frac{1}{N} \sum_{t, s} \log \sum_k \pi_{tk} \frac{\kappa_{tk}}
        {4 \pi \sinh \kappa_{tk}} \exp(\kappa_{tk} \mu_{tk} \cdot y_{ts})

    With :math:`w = |y - \mu|^2 / 2 = 1 - \mu \cdot y` and :math:`\varphi(x) = (1 - e^{-x}) / x`,
    the density of a component is :math:`e^{-\kappa w} / (4 \pi \varphi(2 \kappa))`, in which
    nothing overflows or cancels, be :math:`\kappa` large or small.

    Arguments:
        components: mean directions `(*, K, 3)`, logits, and log-variances :math:`-\log \kappa`
            `(*, K)`.
        y: targets, unit vectors with shape `(*, S, 3)`.
        active: which of them there are, bool with shape `(*, S)`.

    Example:
        >>> flat = Components(torch.eye(3), torch.zeros(3), torch.full((3,), 20.0))
        >>> mixture(flat, torch.tensor([[0.0, 0.6, 0.8]]), torch.tensor([True]))  # log(4 pi)
        tensor(2.5310)
    """
    # Anything may stand in the other places, even nan, which would spoil gradients.
    spread = _squares(components.points, torch.where(active.unsqueeze(-1), y, 0.0)) / 2
    kappas = (-components.log_variances).exp()
    log_scale = components.logits.log_softmax(-1) - phi(2 * kappas).log() - math.log(4 * math.pi)
    terms = log_scale.unsqueeze(-2) - kappas.unsqueeze(-2) * spread
    return -_mean(terms.logsumexp(-1)[active])


@torch.no_grad()
def _nearest(points: Tensor, y: Tensor) -> Tensor:
    """Hypothesis nearest to each target, `(*, S)`: the shortest chord has the smallest angle."""
    return _squares(points, y).argmin(-1)


def _squares(points: Tensor, y: Tensor) -> Tensor:
    """Squared chords `(*, S, K)`, axis by axis: sums over an axis of three entries are slow."""
    axes = zip(points.unsqueeze(-3).unbind(-1), y.unsqueeze(-2).unbind(-1), strict=True)
    first, *others = ((a - b).square() for a, b in axes)
    return sum(others, first)


def _distance(points: Tensor, winner: Tensor, y: Tensor, active: Tensor) -> Tensor:
    """Mean angle between active targets `(*, S, 3)` and their winners `(*, S)`."""
    nearest = points.take_along_dim(winner.unsqueeze(-1), -2)
    return _mean(angle(nearest[active], y[active]))


def _cross_entropy(logits: Tensor, winner: Tensor, active: Tensor, reduction: Reduction) -> Tensor:
    """Cross-entropies of the scores over k, averaged over frames with a target.

    BCE(t, sigmoid(s)) = softplus(s) - t s, and t is 1 for those that win any target.
    """
    K = logits.shape[-1]
    is_winner = winner.unsqueeze(-1) == torch.arange(K, device=winner.device)
    wins = (is_winner & active.unsqueeze(-1)).any(-2)
    total = (softplus(logits) - torch.where(wins, logits, 0.0)).sum(-1)
    total = _mean(total[active.any(-1)])
    return total / K if reduction == "mean" else total


def _mean(values: Tensor) -> Tensor:
    """Mean of values `(n)`, 0 if there are none."""
    return values.sum() / max(len(values), 1)
