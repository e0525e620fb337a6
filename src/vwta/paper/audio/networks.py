"""Networks for directions of sound: class, loss and criteria of each.

The same as :mod:`vwta.paper.networks` for points, and separate from it, so that a change of one
trains nothing of the other.
"""

from __future__ import annotations

__all__ = ["NETWORKS", "build"]

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from vwta.nn.seldnet import DirectionHistogram, DirectionMixture, DirectionNetwork
from vwta.paper.audio.signed import SignedChannels
from vwta.paper.registry import Training, named

# Losses are those of :mod:`vwta.nn.losses`.
NETWORKS: dict[str, Training] = {
    "wta": Training(
        DirectionNetwork, "sphere_wta", criteria={"distance": "sphere_winner_distance"}
    ),
    "hist": Training(DirectionHistogram, "sphere_scoring", fixed=True),
    "m_vmf": Training(DirectionMixture, "sphere_mixture"),
}


def build(
    kind: str,
    signed: Mapping[str, Any] | None = None,
    table: Mapping[str, Training] = NETWORKS,
    **arguments: Any,
) -> nn.Module:
    """Network of the audio study of a kind, with the arguments that its file of weights has.

    Its weights lie in memory such that convolutions are fast on a CPU.

    Arguments:
        kind: a key of the table.
        signed: arguments of :class:`~vwta.paper.audio.signed.SignedChannels`, which are then what
            the network sees; None for magnitudes and phases.
        table: the table of networks.
        arguments: those of its class.
    """
    network = named(kind, table).network(**arguments)
    if signed is not None:
        network = nn.Sequential(SignedChannels(**signed), network)
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]
