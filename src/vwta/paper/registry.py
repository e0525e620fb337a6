"""Entries of the tables of networks.

The tables are :data:`vwta.paper.networks.NETWORKS` for points of the line and the plane,
:data:`vwta.paper.local.NETWORKS` for those with local kernels, and
:data:`vwta.paper.audio.networks.NETWORKS` for directions of sound. Neither sizes of a network nor
parameters of its loss are listed there: a study offers all it has, and the class and the loss take
what they name among their arguments, see :func:`vwta.paper.training.taken`.

Losses are named, and looked up by the modules that train (which import all of them): evaluating a
network needs its class alone, and does not depend on the code of losses.
"""

from __future__ import annotations

__all__ = ["Loss", "Training", "named"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from torch import Tensor, nn

Loss = Callable[..., Tensor]


@dataclass(frozen=True)
class Training:
    """Entry of the registries of networks: how a network is built and trained.

    Attributes:
        network: its class.
        loss: name of what training minimises, a function of atoms and targets. Its lowest value on
            validation rows is the criterion `loss` of early stopping.
        criteria: other criteria of early stopping, whose weights are stored as well, and the
            functions that they are.
        fixed: whether atoms are the same for every input.
        ensembled: whether several are trained on each split of the UCI study.
        sizes: arguments of its class that it has in place of a study's.
        selected_by: the criterion of its weights, whatever a protocol says; None for none.
    """

    network: type[nn.Module]
    loss: str
    criteria: Mapping[str, str] = field(default_factory=dict)
    fixed: bool = False
    ensembled: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)
    selected_by: str | None = None

    def criterion(self, wanted: str) -> str:
        """The criterion of the weights to take: its own, or the loss if it has no other."""
        return self.selected_by or (wanted if self.criteria else "loss")

    def functions(self, losses: ModuleType) -> tuple[Loss, dict[str, Loss]]:
        """The loss and the other criteria, as functions of a module."""
        others = {name: getattr(losses, other) for name, other in self.criteria.items()}
        return getattr(losses, self.loss), others


def named(model: str, table: Mapping[str, Training]) -> Training:
    """Entry of a registry of networks; an error tells which ones there are."""
    if model not in table:
        raise ValueError(f"unknown network {model!r}: expected one of {', '.join(table)}")
    return table[model]
