r"""Signed channels: how loud a sound is, and how loud it is from which side.

With the complex spectra of the channels, :math:`I = (\mathrm{Re}(\bar W X), \mathrm{Re}(\bar W Y),
\mathrm{Re}(\bar W Z))` is the active intensity, whose direction :math:`u` is that of a single plane
wave. The channels are :math:`l` and :math:`l u`, with the log-magnitude of W,
:math:`l = \log(1 + |W| / \text{floor})`. Symmetries of the sphere change the signs and the order of
three of them, and nothing else.
"""

from __future__ import annotations

__all__ = ["SIGNED", "SignedChannels"]

import torch
from torch import Tensor, nn

from vwta.paper.audio.ansyn import CHANNELS

SIGNED = 4


class SignedChannels(nn.Module):
    """Makes signed channels of magnitudes and phases.

    Arguments:
        floor: of magnitudes on a log scale.
        logarithmic: whether the given magnitudes m are on that scale, `log(1 + m / floor)`, or
            themselves.

    Example:
        >>> SignedChannels(1e-4, logarithmic=True)(torch.rand(2, 8, 10, 64)).shape
        torch.Size([2, 4, 10, 64])
    """

    def __init__(self, floor: float, logarithmic: bool) -> None:
        super().__init__()
        self.floor, self.logarithmic = floor, logarithmic

    def forward(self, x: Tensor) -> Tensor:
        """Channels l and l times x, y and z of the direction, `(B, 4, T, F)`, of `(B, 8, T, F)`."""
        magnitudes, phases = x.split(CHANNELS, dim=1)
        loud = (
            magnitudes[:, :1] if self.logarithmic else torch.log1p(magnitudes[:, :1] / self.floor)
        )
        others, angles = (part[:, 1:].roll(1, 1) for part in (magnitudes, phases))  # X, Y and Z
        size = torch.expm1(others) if self.logarithmic else others
        intensity = size * torch.cos(angles - phases[:, :1])
        norm = torch.linalg.vector_norm(intensity, dim=1, keepdim=True)
        tiny = torch.finfo(x.dtype).tiny  # silence has no direction
        return torch.cat([loud, loud * (intensity / norm.clamp_min(tiny))], 1)
