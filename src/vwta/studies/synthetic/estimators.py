"""The methods of the study: the conditional densities that follow from a trained network."""

from __future__ import annotations

__all__ = ["SWEPT", "estimators"]

from torch import nn

from vwta.kernels import Gaussian, Uniform
from vwta.models import Estimator, MixtureDensity
from vwta.spaces import Box

SWEPT = ("v_wta", "k_wta", "unweighted_k_wta", "tk_hist")
"""Methods that have a bandwidth, to be set with `model(x).with_bandwidth(h)`."""


def estimators(kind: str, network: nn.Module, domain: Box) -> dict[str, nn.Module]:
    """Conditional densities of a network, by method.

    Arguments:
        kind: kind of the network, a key of :data:`vwta.networks.NETWORKS`.
        network: the network.
        domain: box in which cells are cut.
    """
    gaussian, uniform = Gaussian(1.0), Uniform()
    match kind:
        case "wta":
            return {
                "v_wta": Estimator(network, gaussian, domain),
                "k_wta": Estimator(network, gaussian),
                "unweighted_k_wta": Estimator(network, gaussian, weighted=False),
                "unif_v_wta": Estimator(network, uniform, domain),
            }
        case "hist":
            return {
                "tk_hist": Estimator(network, gaussian, domain),
                "unif_hist": Estimator(network, uniform, domain),
            }
        case "mdn":
            return {"mdn": MixtureDensity(network)}
    raise ValueError(f"unknown network {kind!r}: expected wta, hist or mdn")
