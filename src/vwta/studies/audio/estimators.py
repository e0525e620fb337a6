"""The methods of the study: conditional densities on the sphere that follow from atoms."""

from __future__ import annotations

__all__ = ["SWEPT", "Atoms", "estimators"]

from torch import nn

from vwta.kernels import Uniform, VonMisesFisher
from vwta.models import Estimator
from vwta.networks import Hypotheses
from vwta.seldnet import DirectionComponents
from vwta.spaces import Sphere
from vwta.sphere_models import DirectionMixtureDensity

SWEPT = ("v_wta", "k_wta", "unweighted_k_wta", "tk_hist")
"""Methods that have a bandwidth, to be set with `model(atoms).with_bandwidth(h)`."""

Atoms = Hypotheses | DirectionComponents


def estimators(model: str) -> dict[str, nn.Module]:
    """Conditional densities of a model by method, as modules that take atoms.

    Arguments:
        model: `wta`, `hist` or `m_vmf`.
    """
    atoms, kernel, uniform, sphere = nn.Identity(), VonMisesFisher(1.0), Uniform(), Sphere()
    match model:
        case "wta":
            return {
                "v_wta": Estimator(atoms, kernel, sphere),
                "k_wta": Estimator(atoms, kernel),
                "unweighted_k_wta": Estimator(atoms, kernel, weighted=False),
                "unif_v_wta": Estimator(atoms, uniform, sphere),
            }
        case "hist":
            return {
                "tk_hist": Estimator(atoms, kernel, sphere),
                "unif_hist": Estimator(atoms, uniform, sphere),
            }
        case "m_vmf":
            return {"m_vmf": DirectionMixtureDensity(atoms)}
    raise ValueError(f"unknown model {model!r}: expected wta, hist or m_vmf")
