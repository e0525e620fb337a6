"""The methods of the study: the conditional densities that follow from a trained network."""

from __future__ import annotations

__all__ = ["SWEPT", "estimators"]

from torch import nn

from vwta.geometry.kernels import Gaussian
from vwta.geometry.spaces import Box
from vwta.nn.models import SWEPT, MixtureDensity, estimators_of


def estimators(kind: str, network: nn.Module, domain: Box) -> dict[str, nn.Module]:
    """Conditional densities of a network, by method.

    Arguments:
        kind: kind of the network, a key of :data:`vwta.nn.networks.NETWORKS`.
        network: the network.
        domain: box in which cells are cut.
    """
    if kind == "mdn":
        return {"mdn": MixtureDensity(network)}
    found = estimators_of(kind, network, Gaussian(1.0), domain)
    if not found:
        raise ValueError(f"unknown network {kind!r}: expected wta, hist or mdn")
    return found
