r"""Networks that map an input to atoms: points and what weighs them.

They are all that training sees. What a trained network means as a probability law is the subject of
:mod:`vwta.models`: a change there does not call for training anew.
"""

from __future__ import annotations

__all__ = ["MLP", "NETWORKS", "Hypotheses", "WTANetwork", "build"]

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid


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


class MLP(nn.Sequential):
    """Fully connected trunk with a ReLU after each layer.

    Arguments:
        inputs: number of inputs.
        widths: width of each layer.
    """

    def __init__(self, inputs: int, widths: Sequence[int]) -> None:
        layers: list[nn.Module] = []
        for before, after in pairwise([inputs, *widths]):
            layers += [nn.Linear(before, after), nn.ReLU()]
        super().__init__(*layers)


class WTANetwork(nn.Module):
    r"""K hypotheses and their scores, :math:`x \mapsto (z_k, s_k)_k`, from one trunk.

    One matrix holds all heads. Scores are :math:`\gamma_k = \mathrm{sigmoid}(s_k)`.

    Arguments:
        inputs: number of inputs.
        outputs: dimension d of the hypotheses.
        hypotheses: their number K.
        widths: widths of the trunk's layers.
        bounded: whether hypotheses pass through a tanh, which keeps them in (-1, 1).

    Example:
        >>> network = WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[256, 256], bounded=True)
        >>> points, logits = network(torch.rand(5, 1))
        >>> points.shape, logits.shape
        (torch.Size([5, 9, 2]), torch.Size([5, 9]))
    """

    def __init__(
        self, inputs: int, outputs: int, hypotheses: int, widths: Sequence[int], bounded: bool
    ) -> None:
        super().__init__()
        self.sizes = [hypotheses * outputs, hypotheses]
        self.outputs = outputs
        self.bounded = bounded
        self.trunk = MLP(inputs, widths)
        self.heads = nn.Linear(widths[-1], sum(self.sizes))

    def forward(self, x: Tensor) -> Hypotheses:
        points, logits = torch.split(self.heads(self.trunk(x)), self.sizes, -1)
        points = torch.tanh(points) if self.bounded else points
        return Hypotheses(points.unflatten(-1, (-1, self.outputs)), logits)


NETWORKS: dict[str, type[nn.Module]] = {"wta": WTANetwork}


def build(kind: str, **arguments: Any) -> nn.Module:
    """Network of a kind, with the arguments of its class: what a file of weights says of itself."""
    if kind not in NETWORKS:
        raise ValueError(f"unknown network {kind!r}: expected one of {', '.join(NETWORKS)}")
    return NETWORKS[kind](**arguments)
