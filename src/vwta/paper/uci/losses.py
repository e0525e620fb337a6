"""Losses of the networks of the UCI study, by the names that the registries give them."""

from __future__ import annotations

__all__ = [
    "likelihood",
    "local",
    "local_nll",
    "mixture",
    "scoring",
    "winner_distance",
    "wta",
]

from vwta.nn.densities import local, local_nll
from vwta.nn.losses import mixture, scoring, winner_distance, wta
from vwta.paper.uci.flow import likelihood
