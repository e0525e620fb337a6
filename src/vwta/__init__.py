"""Conditional density estimation with winner-takes-all learners.

Everything public is imported from here, on first use: `from vwta import Box, VoronoiMixture`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vwta import plot as plot
    from vwta.distributions import calibration as calibration
    from vwta.distributions import line as line
    from vwta.distributions.average import Average as Average
    from vwta.distributions.bandwidth import adjust as adjust
    from vwta.distributions.bandwidth import tune as tune
    from vwta.distributions.continuous import ContinuousMixture as ContinuousMixture
    from vwta.distributions.mixtures import DiracMixture as DiracMixture
    from vwta.distributions.mixtures import KernelMixture as KernelMixture
    from vwta.distributions.mixtures import VoronoiMixture as VoronoiMixture
    from vwta.distributions.regions import density_rank as density_rank
    from vwta.distributions.regions import hdr as hdr
    from vwta.distributions.robust import Robust as Robust
    from vwta.distributions.scenarios import scenarios as scenarios
    from vwta.estimator.regressor import VoronoiRegressor as VoronoiRegressor
    from vwta.estimator.saving import load as load
    from vwta.geometry.directions import Directions as Directions
    from vwta.geometry.kernels import Gaussian as Gaussian
    from vwta.geometry.kernels import Uniform as Uniform
    from vwta.geometry.kernels import VonMisesFisher as VonMisesFisher
    from vwta.geometry.spaces import Box as Box
    from vwta.geometry.spaces import Sphere as Sphere
    from vwta.nn import losses as losses
    from vwta.nn.densities import Background as Background
    from vwta.nn.densities import LocalDensity as LocalDensity
    from vwta.nn.heads import MixtureHead as MixtureHead
    from vwta.nn.heads import WTAHead as WTAHead
    from vwta.nn.local import LocalHead as LocalHead
    from vwta.nn.local import LocalNetwork as LocalNetwork
    from vwta.nn.networks import MixtureNetwork as MixtureNetwork
    from vwta.nn.networks import Network as Network
    from vwta.nn.networks import WTANetwork as WTANetwork
    from vwta.training.loop import fit as fit

_PLACES = {
    "Average": "distributions.average",
    "Background": "nn.densities",
    "Box": "geometry.spaces",
    "ContinuousMixture": "distributions.continuous",
    "DiracMixture": "distributions.mixtures",
    "Directions": "geometry.directions",
    "Gaussian": "geometry.kernels",
    "KernelMixture": "distributions.mixtures",
    "LocalDensity": "nn.densities",
    "LocalHead": "nn.local",
    "LocalNetwork": "nn.local",
    "MixtureHead": "nn.heads",
    "MixtureNetwork": "nn.networks",
    "Network": "nn.networks",
    "Robust": "distributions.robust",
    "Sphere": "geometry.spaces",
    "Uniform": "geometry.kernels",
    "VonMisesFisher": "geometry.kernels",
    "VoronoiMixture": "distributions.mixtures",
    "VoronoiRegressor": "estimator.regressor",
    "WTAHead": "nn.heads",
    "WTANetwork": "nn.networks",
    "adjust": "distributions.bandwidth",
    "calibration": "distributions",
    "density_rank": "distributions.regions",
    "fit": "training.loop",
    "hdr": "distributions.regions",
    "line": "distributions",
    "load": "estimator.saving",
    "losses": "nn",
    "plot": "",
    "scenarios": "distributions.scenarios",
    "tune": "distributions.bandwidth",
}
__all__ = sorted(_PLACES)  # noqa: PLE0605
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'vwta' has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_PLACES[name]}".rstrip("."))
    if _PLACES[name] and hasattr(module, name):
        return getattr(module, name)
    return importlib.import_module(f"{module.__name__}.{name}")


def __dir__() -> list[str]:
    return __all__
