"""Networks for points of the line and the plane: class, loss and criteria of each.

See :mod:`vwta.paper.estimators` for the densities that follow from networks, and
:mod:`vwta.paper.methods` for how both are shown, and for how to add one.
"""

from __future__ import annotations

__all__ = ["NETWORKS", "build"]

from typing import Any

from torch import nn

from vwta.nn.networks import HistogramNetwork, MixtureNetwork, WTANetwork
from vwta.paper.registry import Training, named

# Losses are those of :mod:`vwta.nn.losses`.
NETWORKS: dict[str, Training] = {
    "wta": Training(WTANetwork, "wta", criteria={"distance": "winner_distance"}, ensembled=True),
    "hist": Training(HistogramNetwork, "scoring", fixed=True),
    "mdn": Training(MixtureNetwork, "mixture"),
}


def build(kind: str, **arguments: Any) -> nn.Module:
    """Network of the registry of a kind, with the arguments that its file of weights has.

    The arguments are those of its class.
    """
    return named(kind, NETWORKS).network(**arguments)
