r"""Heads: linear maps of features whose outputs are read as atoms.

A head takes the features of any trunk, so that a network of your own becomes a conditional density:
`Network(trunk, WTAHead(features=128, outputs=2, hypotheses=16))`, see
:class:`vwta.nn.networks.Network`.
"""

from __future__ import annotations

__all__ = [
    "Atoms",
    "Components",
    "Head",
    "HistogramHead",
    "Hypotheses",
    "MixtureHead",
    "SoftmaxHypotheses",
    "WTAHead",
]

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid


class Hypotheses(NamedTuple):
    """Output of a WTA head: hypotheses and the logits of their scores.

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


class SoftmaxHypotheses(Hypotheses):
    r"""Output of a WTA head: scores compete, :math:`\gamma = \mathrm{softmax}(\text{logits})`."""

    @property
    def masses(self) -> Tensor:
        """The scores, with shape `(*, K)`."""
        return self.logits.softmax(-1)


class Components(NamedTuple):
    r"""Output of a mixture head: components, which are Gaussian or von Mises-Fisher laws.

    Attributes:
        points: means or mean directions, with shape `(*, K, d)`.
        logits: logits of the weights, up to a constant, with shape `(*, K)`.
        log_variances: log-variance along each axis, with shape `(*, K)`; for a concentration
            :math:`\kappa` it is :math:`-\log \kappa`.
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
        """Bandwidths: the standard deviation along each axis, with shape `(*, K)`."""
        return (self.log_variances / 2).exp()


Atoms = Hypotheses | Components
Link = Literal["sigmoid", "softmax"]
LINKS: dict[Link, type[Hypotheses]] = {"sigmoid": Hypotheses, "softmax": SoftmaxHypotheses}


class Head(nn.Linear, ABC):
    """A linear map whose outputs are read as atoms; one matrix serves all atoms.

    Arguments:
        features: number f of features.
        sizes: how many outputs each part of the atoms has; q in all.
    """

    def __init__(self, features: int, sizes: Sequence[int]) -> None:
        super().__init__(features, sum(sizes))
        self.sizes = list(sizes)

    def forward(self, features: Tensor) -> Atoms:  # type: ignore[override]
        return self.read(self.linear(features))

    def linear(self, features: Tensor) -> Tensor:
        """Outputs `(*, q)` of features `(*, f)`."""
        return super().forward(features)

    @abstractmethod
    def read(self, outputs: Tensor) -> Atoms:
        """Atoms of outputs `(*, q)`."""


class WTAHead(Head):
    r"""Head with K hypotheses and their scores :math:`\gamma_k`, sigmoid or softmax of the logits.

    Arguments:
        features: number of features.
        outputs: dimension d of the hypotheses.
        hypotheses: their number K.
        bounded: whether hypotheses pass through a tanh, which keeps them in (-1, 1).
        scores: `sigmoid` or `softmax`.

    Example:
        >>> points, logits = WTAHead(features=16, outputs=2, hypotheses=9)(torch.rand(5, 16))
        >>> points.shape, logits.shape
        (torch.Size([5, 9, 2]), torch.Size([5, 9]))
    """

    def __init__(
        self,
        features: int,
        outputs: int,
        hypotheses: int,
        bounded: bool = False,
        scores: Link = "sigmoid",
    ) -> None:
        super().__init__(features, [hypotheses * outputs, hypotheses])
        self.outputs, self.bounded, self.atoms = outputs, bounded, _link(scores)

    def read(self, outputs: Tensor) -> Hypotheses:
        points, logits = torch.split(outputs, self.sizes, -1)
        # Within the outputs logits lie apart, and their softplus would take ten times as long.
        return self.atoms(_points(points, self.outputs, self.bounded), logits.contiguous())


class HistogramHead(Head):
    """Head with scores of fixed points, which are the hypotheses for every input.

    Arguments:
        features: number of features.
        centres: the points, with shape `(K, d)`.
        scores: `sigmoid` or `softmax`.

    Example:
        >>> head = HistogramHead(features=16, centres=torch.tensor([[-0.5], [0.5]]))
        >>> points, logits = head(torch.rand(5, 16))
        >>> points.shape, logits.shape
        (torch.Size([5, 2, 1]), torch.Size([5, 2]))
    """

    def __init__(self, features: int, centres: Tensor, scores: Link = "sigmoid") -> None:
        super().__init__(features, [len(centres)])
        # No buffer: it would be rounded with the weights, and its recipe alone says what it is.
        self.centres, self.atoms = centres, _link(scores)
        self._placed = centres  # where the outputs are and of their type, to copy them only once

    def read(self, outputs: Tensor) -> Hypotheses:
        points = self._placed
        if (points.device, points.dtype) != (outputs.device, outputs.dtype):
            self._placed = points = self.centres.to(outputs)
        return self.atoms(points.expand(*outputs.shape, -1), outputs)


class MixtureHead(Head):
    """Head with K isotropic Gaussians: means, logits of the weights, and log-variances.

    Arguments:
        features: number of features.
        outputs: dimension d of the means.
        components: their number K.
        bounded: whether means pass through a tanh, which keeps them in (-1, 1).

    Example:
        >>> head = MixtureHead(features=16, outputs=2, components=9)
        >>> [tuple(part.shape) for part in head(torch.rand(5, 16))]
        [(5, 9, 2), (5, 9), (5, 9)]
    """

    def __init__(self, features: int, outputs: int, components: int, bounded: bool = False) -> None:
        super().__init__(features, [components * outputs, components, components])
        self.outputs, self.bounded = outputs, bounded

    def read(self, outputs: Tensor) -> Components:
        points, logits, log_variances = torch.split(outputs, self.sizes, -1)
        return Components(_points(points, self.outputs, self.bounded), logits, log_variances)


def _link(scores: Link) -> type[Hypotheses]:
    if scores not in LINKS:
        raise ValueError(f"scores {scores!r}: expected one of {', '.join(LINKS)}")
    return LINKS[scores]


def _points(flat: Tensor, outputs: int, bounded: bool) -> Tensor:
    """Points `(*, K, d)` of outputs `(*, K d)`."""
    points = torch.tanh(flat) if bounded else flat
    return points.view(*points.shape[:-1], points.shape[-1] // outputs, outputs)
