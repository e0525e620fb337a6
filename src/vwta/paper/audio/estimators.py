"""The methods of the study: conditional densities on the sphere that follow from atoms."""

from __future__ import annotations

__all__ = ["SWEPT", "Atoms", "estimators"]

from torch import nn

from vwta.geometry.kernels import VonMisesFisher
from vwta.geometry.spaces import Sphere
from vwta.nn.heads import Atoms
from vwta.nn.models import SWEPT, MixtureDensity, estimators_of


def estimators(model: str) -> dict[str, nn.Module]:
    """Conditional densities of a model by method, as modules that take atoms.

    Arguments:
        model: `wta`, `hist` or `m_vmf`.
    """
    atoms = nn.Identity()
    if model == "m_vmf":
        return {"m_vmf": MixtureDensity(atoms, VonMisesFisher)}
    found = estimators_of(model, atoms, VonMisesFisher(1.0), Sphere())
    if not found:
        raise ValueError(f"unknown model {model!r}: expected wta, hist or m_vmf")
    return found
