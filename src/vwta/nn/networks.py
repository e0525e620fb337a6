r"""Networks that map an input to atoms: points and their scores, or components of a mixture.

They are all that training sees. :mod:`vwta.nn.models` says what a trained network means as a
probability law: a change there does not call for new trainings.
"""

from __future__ import annotations

__all__ = [
    "MLP",
    "HistogramNetwork",
    "MixtureNetwork",
    "Network",
    "WTANetwork",
    "initialise",
    "restore",
]

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor, nn

from vwta.geometry.grids import bin_centres
from vwta.nn.heads import Atoms, Head, HistogramHead, Link, MixtureHead, WTAHead
from vwta.nn.segments import by_segments
from vwta.nn.stacks import StackedHead, StackedLinear
from vwta.seeds import seeded, stream


class MLP(nn.Sequential):
    """Fully connected trunk with a ReLU after each layer.

    Arguments:
        inputs: number of inputs.
        widths: width of each layer.
    """

    def __init__(self, inputs: int, widths: Sequence[int]) -> None:
        if not widths:
            raise ValueError("widths [] leave the trunk without a layer: give at least one width")
        layers: list[nn.Module] = []
        for before, after in pairwise([inputs, *widths]):
            layers += [nn.Linear(before, after), nn.ReLU(inplace=True)]
        super().__init__(*layers)


class Network(nn.Module):
    """Network of a head on a trunk: maps inputs to atoms.

    Arguments:
        trunk: any module that maps inputs to features, with shape `(*, f)`.
        heads: how features become atoms.

    Example:
        >>> import torch
        >>> trunk = nn.Sequential(nn.Conv1d(3, 8, 5), nn.GELU(), nn.Flatten())
        >>> network = Network(trunk, WTAHead(features=32, outputs=2, hypotheses=9))
        >>> network(torch.rand(5, 3, 8)).points.shape
        torch.Size([5, 9, 2])
    """

    def __init__(self, trunk: nn.Module, heads: Head) -> None:
        super().__init__()
        self.trunk = trunk
        self.heads = heads

    def forward(self, x: Tensor) -> Atoms:
        layers = self._layers()
        # On a GPU matrix products cost little, and waiting for the number of segments does not.
        if layers and x.is_cpu and x.shape[-1] == 1 and x.numel() and not x.requires_grad:
            return self.heads.read(by_segments(layers, x))
        atoms: Atoms = self.heads(self.trunk(x))
        return atoms

    def _layers(self) -> list[Callable[[Tensor], Tensor]]:
        """The layers if they are linear ones and ReLUs, one after the other; otherwise none."""
        if not isinstance(self.trunk, nn.Sequential):
            return []
        if not all(isinstance(layer, (nn.Linear, StackedLinear, nn.ReLU)) for layer in self.trunk):
            return []
        if not isinstance(self.heads, (Head, StackedHead)):
            return []
        return [*self.trunk, self.heads.linear]


class WTANetwork(Network):
    r"""K hypotheses and their scores, :math:`x \mapsto (z_k, s_k)_k`, from one trunk.

    See :class:`~vwta.nn.heads.WTAHead`.

    Arguments:
        inputs: number of inputs.
        outputs: dimension d of the hypotheses.
        hypotheses: their number K.
        widths: widths of the trunk's layers.
        bounded: whether hypotheses pass through a tanh, which keeps them in (-1, 1).
        scores: `sigmoid` or `softmax`.

    Example:
        >>> import torch
        >>> network = WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[256, 256], bounded=True)
        >>> points, logits = network(torch.rand(5, 1))
        >>> points.shape, logits.shape
        (torch.Size([5, 9, 2]), torch.Size([5, 9]))
    """

    heads: WTAHead

    def __init__(
        self,
        inputs: int,
        outputs: int,
        hypotheses: int,
        widths: Sequence[int],
        bounded: bool,
        scores: Link = "sigmoid",
    ) -> None:
        trunk = MLP(inputs, widths)
        super().__init__(trunk, WTAHead(widths[-1], outputs, hypotheses, bounded, scores))


class HistogramNetwork(Network):
    r"""Scores of the bins of a fixed grid, :math:`x \mapsto (s_k)_k`.

    Its hypotheses are the bins' centres, whatever the input, so that Voronoi cells are the bins.

    Arguments:
        inputs: number of inputs.
        widths: widths of the trunk's layers.
        grid: number of bins along each axis, see :func:`~vwta.geometry.grids.bin_centres`.
        low: lowest corner of the domain.
        high: highest corner.
        scores: `sigmoid` or `softmax`.

    Example:
        >>> import torch
        >>> box = {"low": [-1.0, -1.0], "high": [1.0, 1.0]}
        >>> network = HistogramNetwork(inputs=1, widths=[256, 256], grid=[5, 4], **box)
        >>> points, logits = network(torch.rand(3, 1))
        >>> points.shape, logits.shape
        (torch.Size([3, 20, 2]), torch.Size([3, 20]))
    """

    def __init__(
        self,
        inputs: int,
        widths: Sequence[int],
        grid: Sequence[int],
        low: Sequence[float],
        high: Sequence[float],
        scores: Link = "sigmoid",
    ) -> None:
        centres = bin_centres(grid, low, high)
        super().__init__(MLP(inputs, widths), HistogramHead(widths[-1], centres, scores))


class MixtureNetwork(Network):
    r"""Mixture of K isotropic Gaussians, :math:`x \mapsto (\mu_k, \pi_k, \sigma_k^2)_k`.

    See :class:`~vwta.nn.heads.MixtureHead`.

    Arguments:
        inputs: number of inputs.
        outputs: dimension d of the means.
        components: their number K.
        widths: widths of the trunk's layers.
        bounded: whether means pass through a tanh, which keeps them in (-1, 1).

    Example:
        >>> import torch
        >>> network = MixtureNetwork(inputs=1, outputs=2, components=9, widths=[16], bounded=True)
        >>> [part.shape for part in network(torch.rand(5, 1))]
        [torch.Size([5, 9, 2]), torch.Size([5, 9]), torch.Size([5, 9])]
    """

    def __init__(
        self, inputs: int, outputs: int, components: int, widths: Sequence[int], bounded: bool
    ) -> None:
        super().__init__(MLP(inputs, widths), MixtureHead(widths[-1], outputs, components, bounded))


def initialise(
    specification: Mapping[str, Any], seed: int, build: Callable[..., nn.Module]
) -> nn.Module:
    """Network of a specification with the initial weights of a seed.

    They do not depend on the state of torch's own generator, and leave it as it is.

    Arguments:
        specification: arguments of `build`.
        seed: the seed.
        build: makes a network of a specification, such as its class.
    """
    with seeded(stream(seed, "weights")):
        return build(**specification)


def restore(
    specification: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    build: Callable[..., nn.Module],
) -> nn.Module:
    """Network of a specification with trained weights, in float64, to be evaluated.

    Arguments:
        specification: arguments of `build`.
        weights: its weights, by name.
        build: makes a network of a specification, such as its class.
    """
    network = build(**specification)
    network.load_state_dict(weights)
    return network.double().eval()
