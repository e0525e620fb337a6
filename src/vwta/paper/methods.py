"""Names and looks of all methods and networks, and their places in figures and tables.

A method with a network of its own is added by

1. its network and its loss, in :mod:`vwta.nn`, and an entry of :mod:`vwta.paper.networks`, which
   says how it is trained;
2. an entry of :data:`vwta.paper.estimators.ESTIMATORS`, which says what density follows from it;
3. an entry of :data:`METHODS` and one of :data:`NETWORKS` here, which say how both are shown.

The configuration then names it. There are three tables and not one since a job is run again when
the code that it imports changes: a colour draws figures again, an estimator evaluates again, a loss
trains anew.

The module imports nothing heavy: rules of the workflow read it too.
"""

from __future__ import annotations

__all__ = [
    "METHODS",
    "NETWORKS",
    "PROPOSED",
    "Method",
    "Network",
    "in_panel",
    "network_of",
    "networks_in",
]

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from vwta.paper.estimators import ESTIMATORS


@dataclass(frozen=True)
class Method:
    """Entry of the registry of methods: how a method is shown.

    Attributes:
        label: what readers call it.
        color: of its curves.
        marker: on them; empty for what is no method but a reference, which has thin lines.
        line: style of its curves.
        panels: where it is shown, with its place there, see :func:`in_panel`.
        printed: whether other papers' numbers are all there is of it.
        extra: whether the paper does not have it, so that it is shown only where it was run.
    """

    label: str
    color: str
    marker: str
    line: str = "-"
    panels: Mapping[str, int] = field(default_factory=dict)
    printed: bool = False
    extra: bool = False


@dataclass(frozen=True)
class Network:
    """Entry of the registry of networks: how a network is shown, and what it costs.

    Attributes:
        title: of its column in pictures of predictions.
        outputs: numbers that it gives for each atom, in the plane or on the sphere: an estimate of
            what its last layer costs.
        studies: where it is trained.
        drawn: whether predictions are drawn as atoms with their cells, or with circles of one
            standard deviation.
        on_grid: whether its atoms are the bins of a grid, which the configuration has for each K.
        package: what it needs of the extra `rivals`; without it the network is left out.
    """

    title: str
    outputs: int
    studies: tuple[str, ...]
    drawn: Literal["cells", "circles"]
    on_grid: bool = False
    package: str | None = None


# Panels and tables are `nll`, `emd` and `risk` (figures against K), `nll against h`, `tuned`
# (beside tuned bandwidths), `uci` and `uci main`, `audio main`, `audio quantisation`, `audio tuned`
# and `audio dispersion`. In figures the first is drawn on top.
# Colours of Okabe and Ito, which colour-blind readers can tell apart; markers differ as well.
METHODS: dict[str, Method] = {
    "v_wta": Method(
        "V-WTA",
        "#0072B2",
        "o",
        panels={
            "nll": 0,
            "emd": 0,
            "nll against h": 0,
            "uci": 6,
            "uci main": 3,
            "audio main": 0,
            "audio quantisation": 0,
            "audio tuned": 0,
        },
    ),
    "k_wta": Method(
        "K-WTA",
        "#D55E00",
        "s",
        panels={
            "nll against h": 1,
            "uci": 5,
            "uci main": 2,
            "audio main": 1,
            "audio quantisation": 1,
            "audio tuned": 1,
        },
    ),
    "unweighted_k_wta": Method(
        "Unweighted K-WTA", "#E69F00", "v", "--", panels={"nll against h": 2}
    ),
    "unif_v_wta": Method(
        "Unif. V-WTA",
        "#56B4E9",
        "D",
        "--",
        panels={"nll": 1, "emd": 2, "nll against h": 4, "audio tuned": 3},
    ),
    "dirac_wta": Method("Dirac WTA", "#999999", "x", panels={"emd": 1}),
    "tk_hist": Method(
        "TK-Hist", "#009E73", "^", panels={"nll against h": 3, "uci": 4, "audio tuned": 2}
    ),
    "unif_hist": Method(
        "Unif. Hist",
        "#7FC8A9",
        "<",
        "-.",
        panels={"nll": 2, "emd": 3, "nll against h": 5, "audio main": 2, "audio tuned": 4},
    ),
    "mdn": Method(
        "MDN",
        "#CC79A7",
        "P",
        panels={"nll": 3, "emd": 4, "risk": 2, "tuned": 0, "uci": 3, "uci main": 1},
    ),
    "wta": Method("WTA", "#0072B2", "o", panels={"risk": 0, "audio dispersion": 0}),
    "hist": Method(
        "Hist", "#009E73", "^", panels={"risk": 1, "audio quantisation": 3, "audio dispersion": 2}
    ),
    "m_vmf": Method(
        "M-vMF",
        "#CC79A7",
        "P",
        "--",
        panels={
            "nll against h": 6,
            "audio quantisation": 2,
            "audio tuned": 5,
            "audio dispersion": 1,
        },
    ),
    "v_wta_ensemble": Method(
        "V-WTA ensemble", "#00405F", "h", panels={"uci": 11, "uci main": 8}, extra=True
    ),
    "k_wta_ensemble": Method(
        "K-WTA ensemble", "#7F3800", "H", panels={"uci": 10, "uci main": 7}, extra=True
    ),
    "mdn_ensemble": Method(
        "MDN ensemble", "#7A3F60", "X", panels={"uci": 9, "uci main": 6}, extra=True
    ),
    "gaussian": Method("Gaussian", "#B8A000", ">", panels={"uci": 7, "uci main": 4}, extra=True),
    "gaussian_ensemble": Method(
        "Deep Ensembles, re-run", "#6B5E00", "*", panels={"uci": 8, "uci main": 5}, extra=True
    ),
    "local_v_wta": Method(
        "V-WTA, local kernels",
        "#332288",
        "p",
        panels={"uci": 12, "uci main": 9, "audio tuned": 7},
        extra=True,
    ),
    "local_v_wta_ensemble": Method(
        "V-WTA, local kernels, ensemble",
        "#1A1144",
        "8",
        panels={"uci": 13, "uci main": 10},
        extra=True,
    ),
    "local": Method("WTA, local kernels", "#332288", "p", extra=True),
    # On fewer splits than the others: only tables of common splits have them.
    "flow": Method("Spline flow", "#882255", "D", "--", extra=True),
    "flow_ensemble": Method("Spline flow ensemble", "#44112B", "d", extra=True),
    "ngboost": Method("NGBoost", "#117733", "8", extra=True),
    "pbp": Method("PBP", "#8C8C8C", "v", panels={"uci": 0}, printed=True),
    "mc_dropout": Method("MC Dropout", "#6E6E6E", "d", panels={"uci": 1}, printed=True),
    "deep_ensembles": Method(
        "Deep Ensembles", "#4D4D4D", "p", panels={"uci": 2, "uci main": 0}, printed=True
    ),
    "truth": Method(
        "True law",
        "#000000",
        "",
        ":",
        panels={"nll": 4, "emd": 5, "nll against h": 7, "tuned": 1, "audio tuned": 6},
    ),
    "v_lloyd": Method(
        "V-WTA, perfect learner", "#0072B2", "", ":", panels={"audio tuned": 8}, extra=True
    ),
    "k_lloyd": Method(
        "K-WTA, perfect learner", "#D55E00", "", ":", panels={"audio tuned": 9}, extra=True
    ),
    "best_m_vmf": Method(
        "M-vMF, perfect learner", "#CC79A7", "", ":", panels={"audio tuned": 10}, extra=True
    ),
    "zador": Method("WTA, theory", "#0072B2", "", ":", panels={"risk": 3}),
    "zador_hist": Method("Hist, theory", "#009E73", "", ":", panels={"risk": 4}),
    "lloyd": Method("Lloyd's optimum", "#000000", "", panels={"risk": 5}),
}

# In the order in which columns of pictures show them.
NETWORKS: dict[str, Network] = {
    "mdn": Network("MDN", outputs=4, studies=("synthetic", "uci"), drawn="circles"),
    "wta": Network(
        "Score-based WTA", outputs=3, studies=("synthetic", "uci", "audio"), drawn="cells"
    ),
    "hist": Network(
        "Histogram",
        outputs=1,
        studies=("synthetic", "uci", "audio"),
        drawn="cells",
        on_grid=True,
    ),
    "local": Network(
        "Local kernels", outputs=6, studies=("synthetic", "uci", "audio"), drawn="cells"
    ),
    "gaussian": Network("Gaussian", outputs=4, studies=("uci",), drawn="circles"),
    "flow": Network("Spline flow", outputs=5, studies=("uci",), drawn="circles", package="zuko"),
    "ngboost": Network("NGBoost", outputs=2, studies=("uci",), drawn="circles", package="ngboost"),
    "m_vmf": Network("M-vMF", outputs=5, studies=("audio",), drawn="circles"),
}

PROPOSED = "v_wta"  # the method that the paper proposes; pictures show its network


def in_panel(panel: str) -> tuple[str, ...]:
    """Methods of the registry that a panel or table shows, in its order.

    It is an error if no method names the panel.

    Example:
        >>> in_panel("audio main")
        ('v_wta', 'k_wta', 'unif_hist')
    """
    places = {name: one.panels[panel] for name, one in METHODS.items() if panel in one.panels}
    if not places:
        raise ValueError(f"no method is shown in {panel!r}: see METHODS in vwta/paper/methods.py")
    return tuple(sorted(places, key=places.__getitem__))


def network_of(method: str) -> str | None:
    """The network that a method of the registry needs, None for one that needs none.

    Where only the places of atoms matter, networks are methods themselves.

    Example:
        >>> network_of("v_wta"), network_of("hist"), network_of("truth")
        ('wta', 'hist', None)
    """
    if method in ESTIMATORS:
        return ESTIMATORS[method].network
    return method if method in NETWORKS else None


def networks_in(study: str) -> dict[str, Network]:
    """Networks of the registry that are trained in a study, by name."""
    return {name: network for name, network in NETWORKS.items() if study in network.studies}
