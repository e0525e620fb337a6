"""The densities of the study: those in a box that follow from a trained network."""

from __future__ import annotations

__all__ = ["estimators"]

from torch import nn

from vwta.geometry.kernels import Gaussian
from vwta.geometry.spaces import Box
from vwta.paper.densities import Domain, densities


def estimators(kind: str, network: nn.Module, box: Box) -> dict[str, nn.Module]:
    """Conditional densities of a network of the synthetic study, by method.

    Arguments:
        kind: kind of the network, a key of :data:`vwta.paper.networks.NETWORKS`.
        network: the network.
        box: in which cells are cut.
    """
    return densities("synthetic", kind, network, Domain(box, Gaussian(1.0)))
