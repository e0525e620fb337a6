"""Mixtures whose components have a width for each column of the target, in an estimator.

Columns may have very different laws given the inputs: one with two narrow modes, another one with
noise alone. One width for all columns would have to be narrow for the first and wide for the other.
"""

from __future__ import annotations

__all__ = ["AxisComponents", "AxisHead", "nll"]

from typing import NamedTuple

import torch
from torch import Tensor

from vwta.geometry.intervals import HALF_LOG_2PI
from vwta.nn.heads import Head


class AxisComponents(NamedTuple):
    """Output of a mixture head: Gaussians with a variance along each axis.

    Attributes:
        points: means, with shape `(*, K, d)`.
        logits: logits of the weights, with shape `(*, K)`.
        log_variances: along each axis, with shape `(*, K, d)`.
    """

    points: Tensor
    logits: Tensor
    log_variances: Tensor

    @property
    def masses(self) -> Tensor:
        """Weights, softmax of the logits, with shape `(*, K)`."""
        return self.logits.softmax(-1)

    @property
    def scales(self) -> Tensor:
        """Standard deviations, with shape `(*, K, d)`."""
        return (self.log_variances / 2).exp()


class AxisHead(Head):
    """Head with K Gaussians: means, logits of the weights, and log-variances along each axis.

    Arguments:
        features: number of features.
        outputs: dimension d of the means.
        components: their number K.
        floor: below which log-variances do not fall, smoothly.
        ceiling: above which they do not rise.
    """

    def __init__(
        self, features: int, outputs: int, components: int, floor: float, ceiling: float
    ) -> None:
        wide = components * outputs
        super().__init__(features, [wide, components, wide])
        self.outputs, self.floor, self.ceiling = outputs, floor, ceiling

    def read(self, outputs: Tensor) -> AxisComponents:  # type: ignore[override]
        points, logits, variances = torch.split(outputs, self.sizes, -1)
        bounded = self.floor + torch.nn.functional.softplus(variances - self.floor)
        shape = (-1, self.outputs)
        return AxisComponents(
            points.unflatten(-1, shape),
            logits,
            bounded.clamp_max(self.ceiling).unflatten(-1, shape),
        )


def nll(components: AxisComponents, y: Tensor) -> Tensor:
    r"""Negative log-likelihood, a mean over rows for each network.

    .. math:: -\log \sum_k \pi_k \prod_j N(y_j; \mu_{kj}, \sigma_{kj}^2)

    Arguments:
        components: means and log-variances `(*, K, d)`, logits `(*, K)`.
        y: targets, with shape `(*, d)`.
    """
    log_p = components.logits.log_softmax(-1)
    axes = zip(
        components.points.unbind(-1),
        components.log_variances.unbind(-1),
        y.unsqueeze(-2).unbind(-1),
        strict=True,
    )
    for mean, log_variance, at in axes:
        square = (at - mean).square() * (-log_variance).exp()
        log_p = log_p - (square + log_variance) / 2 - HALF_LOG_2PI
    return -torch.logsumexp(log_p, -1).mean(-1)
