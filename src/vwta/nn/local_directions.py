"""Networks with local kernels for directions: :mod:`vwta.nn.local` on the unit sphere."""

from __future__ import annotations

__all__ = ["LocalDirectionHead", "LocalDirectionNetwork"]

import math
from typing import Unpack

import torch
from torch import Tensor

from vwta.geometry.angles import from_angles
from vwta.geometry.spaces import unit
from vwta.nn.heads import Head
from vwta.nn.local import LocalAtoms
from vwta.nn.networks import Network
from vwta.nn.seldnet import SELDnet, Sizes


class LocalDirectionHead(Head):
    r"""Head with K directions and a von Mises-Fisher kernel of its own for the cell of each.

    Directions :math:`z_k` are given by two angles, as by :class:`~vwta.nn.seldnet.DirectionHead`,
    centres by steps :math:`\delta_k` from them, :math:`c_k = (z_k + \delta_k) / |z_k + \delta_k|`,
    and bandwidths by log-widths :math:`b + h_k`. The likelihood moves the steps and not the
    directions. Outputs are in the order of angles, :math:`\delta, b, h`, scores.

    Arguments:
        features: number of features.
        hypotheses: their number K.
        log_scale: log-width :math:`b` to start from.
        scales: lowest and highest width.

    Example:
        >>> head = LocalDirectionHead(features=16, hypotheses=9)
        >>> [tuple(part.shape) for part in head(torch.rand(5, 16))]
        [(5, 9, 3), (5, 9), (5, 9, 3), (5, 9), (5, 9, 3)]
    """

    def __init__(
        self,
        features: int,
        hypotheses: int,
        log_scale: float = -0.7,
        scales: tuple[float, float] = (0.02, 20.0),
    ) -> None:
        K = hypotheses
        super().__init__(features, [2 * K, 3 * K, 1, K, K])
        self.scales = scales
        with torch.no_grad():
            self.bias[2 * K :] = 0.0
            self.bias[5 * K] = log_scale

    def read(self, outputs: Tensor) -> LocalAtoms:  # type: ignore[override]
        angles, steps, b, h, logits = torch.split(outputs, self.sizes, -1)
        points = from_angles(angles.unflatten(-1, (-1, 2)))
        cells = points.detach()
        centres = unit(cells + steps.unflatten(-1, (-1, 3)))
        log_scales = (b + h).clamp(*map(math.log, self.scales))
        return LocalAtoms(points, logits.contiguous(), centres, log_scales, cells)


class LocalDirectionNetwork(Network):
    """K directions a frame and a local kernel for each cell, see :class:`LocalDirectionHead`.

    Arguments:
        hypotheses: their number K.
        log_scale: log-width to start from.
        sizes: the arguments of :class:`~vwta.nn.seldnet.SELDnet`.

    Example:
        >>> sizes = Sizes(channels=4, frames=10, bands=64, filters=4, pools=[8], width=6, layers=2)
        >>> network = LocalDirectionNetwork(hypotheses=9, **sizes)
        >>> network(torch.rand(2, 4, 10, 64)).centres.shape
        torch.Size([2, 10, 9, 3])
    """

    def __init__(self, hypotheses: int, log_scale: float = -0.7, **sizes: Unpack[Sizes]) -> None:
        trunk = SELDnet(**sizes)
        super().__init__(trunk, LocalDirectionHead(trunk.outputs, hypotheses, log_scale))
