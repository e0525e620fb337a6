"""Stacks of networks: S networks of the same shape as one, which takes and gives S batches.

No number of one network enters another.
"""

from __future__ import annotations

__all__ = ["StackedHead", "StackedLinear", "stack", "unstack"]

from collections.abc import Mapping, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from vwta.nn.heads import Atoms, Head


class StackedLinear(nn.Module):
    r"""Linear layers of a stack of S networks, :math:`y_s = x_s W_s^T + b_s`.

    Arguments:
        layers: one layer for each network, all of the same shape.
    """

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.stack([layer.bias.detach() for layer in layers]))

    def forward(self, x: Tensor) -> Tensor:
        """Outputs `(S, n, out)` of inputs `(S, n, in)`."""
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight.mT)


class StackedHead(StackedLinear):
    """Heads of a stack of S networks, whose outputs are read as atoms `(S, n, *)`.

    Arguments:
        heads: one head for each network, all of the same kind and shape.
    """

    def __init__(self, heads: Sequence[Head]) -> None:
        super().__init__(heads)
        self.read = heads[0].read

    def forward(self, x: Tensor) -> Atoms:  # type: ignore[override]
        """Atoms of features `(S, n, f)`."""
        return self.read(self.linear(x))

    def linear(self, x: Tensor) -> Tensor:
        """Outputs `(S, n, q)` of features `(S, n, f)`."""
        return super().forward(x)


def stack(networks: Sequence[nn.Module]) -> nn.Module:
    """Stack of S networks as one, which maps inputs `(S, n, *)` to what each makes of its own.

    Arguments:
        networks: networks of the same architecture, whose only parameters are those of linear
            layers.

    Example:
        >>> from vwta.nn.networks import WTANetwork
        >>> nets = [WTANetwork(3, 1, hypotheses=5, widths=[50], bounded=False) for _ in range(20)]
        >>> stack(nets)(torch.rand(20, 7, 3)).points.shape
        torch.Size([20, 7, 5, 1])
    """
    together = deepcopy(networks[0])
    linear = [name for name, part in together.named_modules() if isinstance(part, nn.Linear)]
    for name in linear:
        layers = [network.get_submodule(name) for network in networks]
        parent, _, child = name.rpartition(".")
        kind = StackedHead if isinstance(layers[0], Head) else StackedLinear
        setattr(together.get_submodule(parent), child, kind(layers))  # type: ignore[arg-type]
    _refuse_others(together)
    return together


def _refuse_others(together: nn.Module) -> None:
    """Raises an error if a stack has weights or buffers that are not stacked."""
    for name, part in together.named_modules():
        own = [*part.parameters(recurse=False), *part.buffers(recurse=False)]
        if own and not isinstance(part, StackedLinear):
            kind = type(part).__name__
            raise TypeError(f"{name or 'the network'} is a {kind}: stacks have linear layers alone")


def unstack(state: Mapping[str, Tensor], index: int) -> dict[str, Tensor]:
    """Weights of one network, as :func:`stack` was given it, among the stacked ones."""
    return {name: value[index].clone() for name, value in state.items()}
