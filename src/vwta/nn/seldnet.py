r"""Networks that find where sounds come from: SELDnet with heads for the unit sphere.

They map a spectrogram `(B, C, T, F)` to atoms for each of its T frames, as those of
:mod:`vwta.nn.networks` do for each row; here all points are unit vectors.

References:
    | Sound Event Localization and Detection of Overlapping Sources Using Convolutional Recurrent
      Neural Networks (Adavanne et al., 2018)
    | https://arxiv.org/abs/1807.00129
"""

from __future__ import annotations

__all__ = [
    "DirectionHead",
    "DirectionHistogram",
    "DirectionMixture",
    "DirectionMixtureHead",
    "DirectionNetwork",
    "SELDnet",
    "Sizes",
]

from collections.abc import Sequence
from typing import TypedDict, Unpack

import torch
from torch import Tensor, nn

from vwta.geometry.angles import from_angles
from vwta.geometry.spaces import unit
from vwta.nn.heads import Components, Head, HistogramHead, Hypotheses
from vwta.nn.networks import Network
from vwta.nn.recurrent import both_ways


class Sizes(TypedDict):
    """Arguments of :class:`SELDnet`, which all networks of this module hand on to it."""

    channels: int
    frames: int
    bands: int
    filters: int
    pools: Sequence[int]
    width: int
    layers: int


class SELDnet(nn.Module):
    """Trunk: convolutions that leave time as it is, then a recurrent network along time.

    For each pool there is a convolution 3 x 3, padded by replication, a batch normalisation, a ReLU
    and a maximum over as many bands. The result is normalised over all frames and features, and
    read in both directions by gated recurrent units.

    Call `.to(memory_format=torch.channels_last)` on it, or on a network that contains it, for speed
    on a CPU.

    Arguments:
        channels: number C of input channels.
        frames: number T of frames.
        bands: number F of frequencies.
        filters: number of filters of each convolution.
        pools: for each convolution, how many bands its maximum is over.
        width: width of the recurrent layers, for each direction.
        layers: number of recurrent layers.

    Example:
        >>> trunk = SELDnet(
        ...     channels=8, frames=10, bands=64, filters=4, pools=[4, 4, 2], width=6, layers=2
        ... )
        >>> trunk(torch.rand(3, 8, 10, 64)).shape
        torch.Size([3, 10, 12])
    """

    def __init__(
        self,
        channels: int,
        frames: int,
        bands: int,
        filters: int,
        pools: Sequence[int],
        width: int,
        layers: int,
    ) -> None:
        super().__init__()
        left = bands
        for pool in pools:
            left //= pool
        if left < 1:
            raise ValueError(f"pools {list(pools)} leave none of {bands} bands; make them smaller")
        self.shape = (channels, frames, bands)
        self.outputs = 2 * width
        inputs = [channels, *[filters] * (len(pools) - 1)]
        self.convolutions = nn.Sequential(
            *(_block(before, filters, pool) for before, pool in zip(inputs, pools, strict=True))
        )
        self.norm = nn.LayerNorm([frames, filters * left])
        self.memory = nn.GRU(
            filters * left, width, num_layers=layers, batch_first=True, bidirectional=True
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features of each frame, `(B, T, 2 width)`, of spectrograms `(B, C, T, F)`."""
        if x.shape[1:] != self.shape:
            raise ValueError(
                f"a spectrogram has shape {tuple(x.shape[1:])}, but the network was made for "
                f"{self.shape}: channels, frames and bands"
            )
        maps: Tensor = self.convolutions(x)
        return both_ways(self.memory, self.norm(maps.transpose(1, 2).flatten(2)))


class DirectionHead(Head):
    r"""Head with K directions and the logits of their scores.

    A direction is given by azimuth :math:`a` and elevation :math:`e` in radians,
    :math:`z = (\cos a \cos e, \sin a \cos e, \sin e)`, so that it is a unit vector whatever they
    are.

    Arguments:
        features: number of features.
        hypotheses: their number K.
    """

    def __init__(self, features: int, hypotheses: int) -> None:
        super().__init__(features, [2 * hypotheses, hypotheses])

    def read(self, outputs: Tensor) -> Hypotheses:
        angles, logits = torch.split(outputs, self.sizes, -1)
        return Hypotheses(from_angles(angles.unflatten(-1, (-1, 2))), logits)


class DirectionMixtureHead(Head):
    """Head with K von Mises-Fisher laws.

    Mean directions are three outputs each, scaled to length 1; weights are a softmax,
    concentrations the exponential of an output.

    Arguments:
        features: number of features.
        components: their number K.
    """

    def __init__(self, features: int, components: int) -> None:
        super().__init__(features, [3 * components, components, components])

    def read(self, outputs: Tensor) -> Components:
        means, logits, log_kappas = torch.split(outputs, self.sizes, -1)
        return Components(unit(means.unflatten(-1, (-1, 3))), logits, -log_kappas)


class DirectionNetwork(Network):
    r"""Network with K directions and scores a frame, :math:`x \mapsto (z_{tk}, s_{tk})_{tk}`.

    Scores are :math:`\gamma_{tk} = \mathrm{sigmoid}(s_{tk})`; see :class:`DirectionHead`.

    Arguments:
        hypotheses: their number K.
        sizes: the arguments of :class:`SELDnet`.

    Example:
        >>> sizes = Sizes(channels=8, frames=10, bands=64, filters=4, pools=[8], width=6, layers=2)
        >>> points, logits = DirectionNetwork(hypotheses=9, **sizes)(torch.rand(2, 8, 10, 64))
        >>> points.shape, logits.shape
        (torch.Size([2, 10, 9, 3]), torch.Size([2, 10, 9]))
    """

    def __init__(self, hypotheses: int, **sizes: Unpack[Sizes]) -> None:
        trunk = SELDnet(**sizes)
        super().__init__(trunk, DirectionHead(trunk.outputs, hypotheses))


class DirectionHistogram(Network):
    r"""Network with scores of fixed directions for each frame, :math:`x \mapsto (s_{tk})_{tk}`.

    Arguments:
        centres: the K directions, unit vectors with shape `(K, 3)`, see
            :func:`~vwta.geometry.grids.bin_directions`.
        sizes: the arguments of :class:`SELDnet`.

    Example:
        >>> sizes = Sizes(channels=8, frames=10, bands=64, filters=4, pools=[8], width=6, layers=2)
        >>> from vwta.geometry.grids import bin_directions
        >>> network = DirectionHistogram(bin_directions(5, 4), **sizes)
        >>> points, logits = network(torch.rand(2, 8, 10, 64))
        >>> points.shape, logits.shape
        (torch.Size([2, 10, 20, 3]), torch.Size([2, 10, 20]))
    """

    def __init__(self, centres: Tensor | Sequence[Sequence[float]], **sizes: Unpack[Sizes]) -> None:
        trunk, points = SELDnet(**sizes), torch.as_tensor(centres, dtype=torch.float64)
        super().__init__(trunk, HistogramHead(trunk.outputs, points))


class DirectionMixture(Network):
    """Network with a mixture of K von Mises-Fisher laws for each frame.

    See :class:`DirectionMixtureHead`.

    Arguments:
        components: their number K.
        sizes: the arguments of :class:`SELDnet`.

    Example:
        >>> sizes = Sizes(channels=8, frames=10, bands=64, filters=4, pools=[8], width=6, layers=2)
        >>> network = DirectionMixture(components=9, **sizes)
        >>> [tuple(part.shape) for part in network(torch.rand(2, 8, 10, 64))]
        [(2, 10, 9, 3), (2, 10, 9), (2, 10, 9)]
    """

    def __init__(self, components: int, **sizes: Unpack[Sizes]) -> None:
        trunk = SELDnet(**sizes)
        super().__init__(trunk, DirectionMixtureHead(trunk.outputs, components))


def _block(before: int, filters: int, pool: int) -> nn.Sequential:
    """A convolution and what follows it; maximum and ReLU commute, and this order is faster."""
    return nn.Sequential(
        nn.Conv2d(before, filters, 3, padding=1, padding_mode="replicate"),
        nn.BatchNorm2d(filters),
        nn.MaxPool2d((1, pool)),
        nn.ReLU(inplace=True),
    )
