"""What is trained on directions of sound: class, loss and criteria of every network.

The same as :mod:`vwta.paper.networks` for points, and kept apart from it so that a change of one
trains nothing of the other.
"""

from __future__ import annotations

__all__ = ["NETWORKS", "Atoms", "build"]

from typing import Any

import torch
from torch import nn

from vwta.nn.networks import Hypotheses
from vwta.nn.seldnet import (
    DirectionComponents,
    DirectionHistogram,
    DirectionMixture,
    DirectionNetwork,
)
from vwta.paper.registry import Training, named

Atoms = Hypotheses | DirectionComponents

# Losses are those of :mod:`vwta.nn.sphere_losses`.
NETWORKS: dict[str, Training] = {
    "wta": Training(DirectionNetwork, "wta", criteria={"distance": "winner_distance"}),
    "hist": Training(DirectionHistogram, "scoring", fixed=True),
    "m_vmf": Training(DirectionMixture, "mixture"),
}


def build(kind: str, **arguments: Any) -> nn.Module:
    """Network of a kind, with the arguments of its class: what a file of weights says of itself.

    Its weights lie in memory such that convolutions are fast on a CPU.
    """
    network = named(kind, NETWORKS).network(**arguments)
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]
