"""The densities of the study: those on the sphere that follow from atoms."""

from __future__ import annotations

__all__ = ["estimators"]

from torch import nn

from vwta.geometry.kernels import VonMisesFisher
from vwta.geometry.spaces import Sphere
from vwta.paper.densities import Domain, densities


def estimators(model: str) -> dict[str, nn.Module]:
    """Conditional densities of an audio network by method, as modules that take atoms.

    Arguments:
        model: kind of the network, a key of :data:`vwta.paper.audio.networks.NETWORKS`.
    """
    return densities("audio", model, nn.Identity(), Domain(Sphere(), VonMisesFisher(1.0)))
