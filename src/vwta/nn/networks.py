r"""Networks that map an input to atoms: points and what weighs them.

They are all that training sees. What a trained network means as a probability law is the subject of
:mod:`vwta.nn.models`: a change there does not call for training anew.
"""

from __future__ import annotations

__all__ = [
    "MLP",
    "NETWORKS",
    "Components",
    "HistogramNetwork",
    "Hypotheses",
    "MixtureNetwork",
    "Shares",
    "WTANetwork",
    "bin_centres",
    "build",
    "initialise",
    "restore",
]

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from vwta.nn.segments import by_pieces
from vwta.seeds import stream


class Hypotheses(NamedTuple):
    """Hypotheses and the logits of their scores.

    Attributes:
        points: hypotheses, with shape `(*, K, d)`.
        logits: logits of the scores, with shape `(*, K)`.
    """

    points: Tensor
    logits: Tensor

    @property
    def masses(self) -> Tensor:
        r"""Scores normalised by their sum, :math:`\gamma_k / \sum_l \gamma_l`, shape `(*, K)`."""
        return logsigmoid(self.logits).softmax(-1)


class Shares(Hypotheses):
    r"""Hypotheses whose scores compete, :math:`\gamma = \mathrm{softmax}(\text{logits})`."""

    @property
    def masses(self) -> Tensor:
        """The scores, with shape `(*, K)`."""
        return self.logits.softmax(-1)


class Components(NamedTuple):
    """Components of a mixture of isotropic Gaussians.

    Attributes:
        points: means, with shape `(*, K, d)`.
        logits: logits of the weights, up to a constant, with shape `(*, K)`.
        log_variances: log-variance along each axis, with shape `(*, K)`.
    """

    points: Tensor
    logits: Tensor
    log_variances: Tensor

    @property
    def masses(self) -> Tensor:
        r"""Weights :math:`\pi = \mathrm{softmax}(\text{logits})`, with shape `(*, K)`."""
        return self.logits.softmax(-1)

    @property
    def scales(self) -> Tensor:
        """Standard deviation along each axis, with shape `(*, K)`."""
        return (self.log_variances / 2).exp()


Link = Literal["sigmoid", "softmax"]
ATOMS: dict[Link, type[Hypotheses]] = {"sigmoid": Hypotheses, "softmax": Shares}


class MLP(nn.Sequential):
    """Fully connected trunk with a ReLU after each layer.

    Arguments:
        inputs: number of inputs.
        widths: width of each layer.
    """

    def __init__(self, inputs: int, widths: Sequence[int]) -> None:
        layers: list[nn.Module] = []
        for before, after in pairwise([inputs, *widths]):
            layers += [nn.Linear(before, after), nn.ReLU(inplace=True)]
        super().__init__(*layers)


class WTANetwork(nn.Module):
    r"""K hypotheses and their scores, :math:`x \mapsto (z_k, s_k)_k`, from one trunk.

    One matrix holds all heads. Scores are :math:`\gamma_k = \mathrm{sigmoid}(s_k)`, or a softmax.

    Arguments:
        inputs: number of inputs.
        outputs: dimension d of the hypotheses.
        hypotheses: their number K.
        widths: widths of the trunk's layers.
        bounded: whether hypotheses pass through a tanh, which keeps them in (-1, 1).
        scores: `sigmoid` or `softmax`.

    Example:
        >>> network = WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[256, 256], bounded=True)
        >>> points, logits = network(torch.rand(5, 1))
        >>> points.shape, logits.shape
        (torch.Size([5, 9, 2]), torch.Size([5, 9]))
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        hypotheses: int,
        widths: Sequence[int],
        bounded: bool,
        scores: Link = "sigmoid",
    ) -> None:
        super().__init__()
        self.atoms = ATOMS[scores]
        self.sizes = [hypotheses * outputs, hypotheses]
        self.outputs = outputs
        self.bounded = bounded
        self.trunk = MLP(inputs, widths)
        self.heads = nn.Linear(widths[-1], sum(self.sizes))

    def forward(self, x: Tensor) -> Hypotheses:
        points, logits = torch.split(_outputs(self.trunk, self.heads, x), self.sizes, -1)
        return self.atoms(_points(points, self.outputs, self.bounded), logits)


class HistogramNetwork(nn.Module):
    r"""Scores of the bins of a fixed grid, :math:`x \mapsto (s_k)_k`.

    Its hypotheses are the bins' centres, whatever the input, so that Voronoi cells are the bins.

    Arguments:
        inputs: number of inputs.
        widths: widths of the trunk's layers.
        grid: number of bins along each axis, see :func:`bin_centres`.
        low: lowest corner of the domain.
        high: highest corner.
        scores: `sigmoid` or `softmax`.

    Example:
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
        super().__init__()
        self.atoms = ATOMS[scores]
        # No buffer: it would be rounded with the weights, and the grid alone says what it is.
        self.centres = bin_centres(grid, low, high)
        self.trunk = MLP(inputs, widths)
        self.heads = nn.Linear(widths[-1], len(self.centres))

    def forward(self, x: Tensor) -> Hypotheses:
        logits = _outputs(self.trunk, self.heads, x)
        return self.atoms(self.centres.to(logits).expand(*logits.shape, -1), logits)


class MixtureNetwork(nn.Module):
    r"""Mixture of K isotropic Gaussians, :math:`x \mapsto (\mu_k, \pi_k, \sigma_k^2)_k`.

    One matrix holds all heads. Weights are a softmax, variances the exponential of what it gives.

    Arguments:
        inputs: number of inputs.
        outputs: dimension d of the means.
        components: their number K.
        widths: widths of the trunk's layers.
        bounded: whether means pass through a tanh, which keeps them in (-1, 1).

    Example:
        >>> network = MixtureNetwork(inputs=1, outputs=2, components=9, widths=[16], bounded=True)
        >>> [part.shape for part in network(torch.rand(5, 1))]
        [torch.Size([5, 9, 2]), torch.Size([5, 9]), torch.Size([5, 9])]
    """

    def __init__(
        self, inputs: int, outputs: int, components: int, widths: Sequence[int], bounded: bool
    ) -> None:
        super().__init__()
        self.sizes = [components * outputs, components, components]
        self.outputs = outputs
        self.bounded = bounded
        self.trunk = MLP(inputs, widths)
        self.heads = nn.Linear(widths[-1], sum(self.sizes))

    def forward(self, x: Tensor) -> Components:
        points, *rest = torch.split(_outputs(self.trunk, self.heads, x), self.sizes, -1)
        return Components(_points(points, self.outputs, self.bounded), *rest)


NETWORKS: dict[str, type[nn.Module]] = {
    "wta": WTANetwork,
    "hist": HistogramNetwork,
    "mdn": MixtureNetwork,
}


def build(kind: str, **arguments: Any) -> nn.Module:
    """Network of a kind, with the arguments of its class: what a file of weights says of itself."""
    if kind not in NETWORKS:
        raise ValueError(f"unknown network {kind!r}: expected one of {', '.join(NETWORKS)}")
    return NETWORKS[kind](**arguments)


def initialise(
    specification: Mapping[str, Any], seed: int, build: Callable[..., nn.Module] = build
) -> nn.Module:
    """Network of a specification with the initial weights of a seed.

    They do not depend on the state of torch's own generator, and leave it as it is.

    Arguments:
        specification: what `build` needs.
        seed: the seed.
        build: makes a network of a specification.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream(seed, "weights"))
        return build(**specification)


def restore(
    specification: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    build: Callable[..., nn.Module] = build,
) -> nn.Module:
    """Trained network of a specification, in float64, to be evaluated.

    Arguments:
        specification: what `build` needs.
        weights: its weights, by name.
        build: makes a network of a specification.
    """
    network = build(**specification)
    network.load_state_dict(weights)
    return network.double().eval()


def bin_centres(grid: Sequence[int], low: Sequence[float], high: Sequence[float]) -> Tensor:
    """Centres of the bins of a regular grid over a box, row by row, with shape `(K, d)`.

    Arguments:
        grid: number of bins along each axis; K is their product.
        low: lowest corner of the box.
        high: highest corner.

    Example:
        >>> bin_centres([2, 1], [-1.0, -1.0], [1.0, 1.0])
        tensor([[-0.5000,  0.0000],
                [ 0.5000,  0.0000]], dtype=torch.float64)
    """
    axes = [
        a + (b - a) * (torch.arange(n, dtype=torch.float64) + 0.5) / n
        for n, a, b in zip(grid, low, high, strict=True)
    ]
    points = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)
    return points.reshape(math.prod(grid), len(axes))


def _outputs(trunk: MLP, heads: nn.Linear, x: Tensor) -> Tensor:
    """What the heads give, with shape `(*, q)`."""
    layers = [*trunk, heads]
    straight = all(isinstance(layer, (nn.Linear, nn.ReLU)) for layer in layers)
    # On a GPU matrix products cost little, and waiting for the number of pieces does not.
    if straight and x.is_cpu and x.shape[-1] == 1 and x.numel() and not x.requires_grad:
        return by_pieces(layers, x)
    out: Tensor = heads(trunk(x))
    return out


def _points(flat: Tensor, outputs: int, bounded: bool) -> Tensor:
    """Points `(*, K, d)` of a head's outputs `(*, K d)`."""
    points = torch.tanh(flat) if bounded else flat
    return points.view(*points.shape[:-1], points.shape[-1] // outputs, outputs)
