r"""A conditional neural spline flow on the line: a rival with the trunk of all other networks.

A location and a scale, then a monotone rational-quadratic spline (Durkan et al., 2019) carry the
target to a standard Gaussian; all of their parameters are outputs of the network. Splines are those
of `zuko`, an extra, which is imported when one is evaluated.
"""

from __future__ import annotations

__all__ = ["FlowLaw", "FlowNetwork", "Spline", "likelihood"]

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.transported import Transported
from vwta.nn.heads import Head
from vwta.nn.networks import MLP, Network

BOUND = 5.0  # the spline is the identity beyond
PARTS = 4  # of each of its bins, for quadrature


class Spline(NamedTuple):
    """Output of a flow's head: its unconstrained parameters.

    Attributes:
        affine: location and log-scale, with shape `(*, 2)`.
        widths: of the spline's bins, with shape `(*, B)`.
        heights: likewise.
        slopes: at its inner knots, with shape `(*, B - 1)`.
    """

    affine: Tensor
    widths: Tensor
    heights: Tensor
    slopes: Tensor

    @property
    def law(self) -> FlowLaw:
        """The conditional law."""
        return FlowLaw(self)


class FlowLaw(Transported):
    r"""Law that :math:`T(y) = S((y - m) e^{-l})` carries to the Gaussian, with a spline S.

    Arguments:
        spline: parameters, with batch shape `(*)`.

    Example:
        >>> zero = Spline(*(torch.zeros(1, q) for q in (2, 8, 8, 7)))
        >>> zero.law.log_prob(torch.zeros(1, 1))
        tensor([-0.9189])
    """

    def __init__(self, spline: Spline) -> None:
        super().__init__(spline.affine.shape[:-1])
        self.location, self.log_scale = spline.affine.unbind(-1)
        self.spline = _transform(spline.widths, spline.heights, spline.slopes)

    def to_normal(self, y: Tensor) -> tuple[Tensor, Tensor]:
        standardised = (y - self.location) * torch.exp(-self.log_scale)
        u, log_slope = self.spline.call_and_ladj(standardised)
        return u, log_slope - self.log_scale

    def from_normal(self, u: Tensor) -> Tensor:
        standardised: Tensor = self.spline.inv(u.to(self.location))
        return self.location + self.log_scale.exp() * standardised

    def knots(self) -> Tensor:
        """Images of the spline's knots and of places between them, as slopes may change fast."""
        knots = self.spline.horizontal.movedim(-1, 0)
        parts = [torch.lerp(knots[:-1], knots[1:], part / PARTS) for part in range(1, PARTS)]
        images: Tensor = self.spline(torch.cat([knots, *parts]))
        return images


class FlowHead(Head):
    """Head with the parameters of a flow.

    Arguments:
        features: number of features.
        bins: number of the spline's bins.
    """

    def __init__(self, features: int, bins: int) -> None:
        super().__init__(features, [2, bins, bins, bins - 1])

    def read(self, outputs: Tensor) -> Spline:  # type: ignore[override]
        return Spline(*torch.split(outputs, self.sizes, -1))


class FlowNetwork(Network):
    """Parameters of a flow on the line, from one trunk.

    Arguments:
        inputs: number of inputs.
        widths: widths of the trunk's layers.
        bins: number of the spline's bins.

    Example:
        >>> [tuple(part.shape) for part in FlowNetwork(3, [16], bins=8)(torch.rand(5, 3))]
        [(5, 2), (5, 8), (5, 8), (5, 7)]
    """

    def __init__(self, inputs: int, widths: Sequence[int], bins: int) -> None:
        super().__init__(MLP(inputs, widths), FlowHead(widths[-1], bins))


def likelihood(spline: Spline, y: Tensor) -> Tensor:
    """Loss: negative log-likelihood of a flow, a mean over the last axis of rows.

    Arguments:
        spline: parameters, with batch shape `(*)`.
        y: targets, with shape `(*, 1)`.
    """
    return -spline.law.log_prob(y).mean(-1)


def _transform(widths: Tensor, heights: Tensor, slopes: Tensor) -> Any:
    validated = Distribution._validate_args  # zuko switches this off, for all laws of the process
    from zuko.transforms import MonotonicRQSTransform

    Distribution.set_default_validate_args(validated)
    return MonotonicRQSTransform(widths, heights, slopes, bound=BOUND)
