"""Networks of the UCI study: those for points, and rivals that only this study has.

Rivals need packages of the extra `rivals`, which :mod:`vwta.paper.methods` names.
"""

from __future__ import annotations

__all__ = ["NETWORKS", "build", "entry"]

from typing import Any

from torch import nn

from vwta.paper import local, networks
from vwta.paper.registry import Training, named
from vwta.paper.uci.flow import FlowNetwork
from vwta.paper.uci.trees import BoostedTrees

# Losses are those of :mod:`vwta.paper.uci.losses`.
NETWORKS: dict[str, Training] = {
    "flow": Training(FlowNetwork, "likelihood", ensembled=True),
    "ngboost": Training(BoostedTrees, "mixture"),
}


def build(kind: str, **arguments: Any) -> nn.Module:
    """Network of the UCI study of a kind, with the arguments that its file of weights has."""
    return entry(kind).network(**arguments)


def entry(kind: str) -> Training:
    """Entry of the registries of networks that the UCI study trains."""
    return named(kind, {**networks.NETWORKS, **local.NETWORKS, **NETWORKS})
