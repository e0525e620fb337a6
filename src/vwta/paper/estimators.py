"""Estimators: how each method makes a conditional density of a trained network's atoms.

Every estimator is atoms x kernel x cut. A method is an entry of :data:`ESTIMATORS`;
:mod:`vwta.paper.densities` builds its density, and the stages that evaluate networks ask this table
what to measure. How networks are trained is in :mod:`vwta.paper.networks`, how methods are shown in
:mod:`vwta.paper.methods`: a job depends on the code it imports, so that another label draws figures
anew, another estimator evaluates again, and neither trains anything.

The module imports nothing heavy: rules of the workflow read it too.
"""

from __future__ import annotations

__all__ = ["ESTIMATORS", "KERNELS", "Recipe", "measured_in", "swept_in"]

from dataclasses import dataclass
from typing import Literal

Kernel = Literal["none", "uniform", "bandwidth", "local", "own", "law"]

# From the roughest on: atoms alone; uniform; with a bandwidth h that is chosen after training; with
# a centre and a bandwidth that the network gives for each cell, up to a factor on all bandwidths
# that is chosen after training; with scales that the network gives for each atom; none, as the
# network gives the whole law. Distances are measured in this order.
KERNELS: tuple[Kernel, ...] = ("none", "uniform", "bandwidth", "local", "own", "law")


@dataclass(frozen=True)
class Recipe:
    """Entry of the registry of estimators: how a method makes a density of atoms.

    Attributes:
        network: whose atoms it takes.
        kernel: the law around each atom, one of :data:`KERNELS`.
        cut: whether each kernel is cut to its atom's Voronoi cell.
        weighted: whether atoms have the network's masses, or all the same.
        averaged: whether it averages the densities of all restarts, not of the first alone.
        emd: whether its earth mover's distance to the true law is measured.
        limit_of: the method whose limit for large bandwidths this one, with a uniform kernel, is.
        studies: where it is measured.
    """

    network: str
    kernel: Kernel
    cut: bool = False
    weighted: bool = True
    averaged: bool = False
    emd: bool = False
    limit_of: str | None = None
    studies: tuple[str, ...] = ("synthetic", "audio")

    @property
    def swept(self) -> bool:
        """Whether it has a bandwidth, to be set with `density(x).with_bandwidth(h)`."""
        return self.kernel == "bandwidth"

    @property
    def adjusted(self) -> bool:
        """Whether a factor on its bandwidths is chosen after training."""
        return self.kernel == "local"


EVERYWHERE = ("synthetic", "uci", "audio")

# In the order in which they are measured.
ESTIMATORS: dict[str, Recipe] = {
    "v_wta": Recipe("wta", "bandwidth", cut=True, emd=True, studies=EVERYWHERE),
    "k_wta": Recipe("wta", "bandwidth", studies=EVERYWHERE),
    "unweighted_k_wta": Recipe("wta", "bandwidth", weighted=False),
    "unif_v_wta": Recipe("wta", "uniform", cut=True, emd=True, limit_of="v_wta"),
    "dirac_wta": Recipe("wta", "none", emd=True, studies=("synthetic",)),
    "v_wta_ensemble": Recipe("wta", "bandwidth", cut=True, averaged=True, studies=("uci",)),
    "k_wta_ensemble": Recipe("wta", "bandwidth", averaged=True, studies=("uci",)),
    "local_v_wta": Recipe("local", "local", cut=True, emd=True, studies=EVERYWHERE),
    "local_v_wta_ensemble": Recipe("local", "local", cut=True, averaged=True, studies=("uci",)),
    "tk_hist": Recipe("hist", "bandwidth", cut=True, studies=EVERYWHERE),
    "unif_hist": Recipe("hist", "uniform", cut=True, emd=True, limit_of="tk_hist"),
    "mdn": Recipe("mdn", "own", emd=True, studies=("synthetic", "uci")),
    "mdn_ensemble": Recipe("mdn", "own", averaged=True, studies=("uci",)),
    "gaussian": Recipe("gaussian", "own", studies=("uci",)),
    "gaussian_ensemble": Recipe("gaussian", "own", averaged=True, studies=("uci",)),
    "flow": Recipe("flow", "law", studies=("uci",)),
    "flow_ensemble": Recipe("flow", "law", averaged=True, studies=("uci",)),
    "ngboost": Recipe("ngboost", "own", studies=("uci",)),
    "m_vmf": Recipe("m_vmf", "own", studies=("audio",)),
}


def measured_in(study: str, network: str | None = None) -> dict[str, Recipe]:
    """Methods of the registry that are measured in a study; those of a network, if one is named."""
    return {
        name: recipe
        for name, recipe in ESTIMATORS.items()
        if study in recipe.studies and network in (None, recipe.network)
    }


def swept_in(study: str) -> tuple[str, ...]:
    """Methods of the registry with a bandwidth that are measured in a study."""
    return tuple(name for name, recipe in measured_in(study).items() if recipe.swept)
