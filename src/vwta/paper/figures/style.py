"""One look for all figures: the same colour, marker and name for the same method everywhere."""

from __future__ import annotations

__all__ = ["COLUMN", "METHODS", "TITLES", "Look", "save", "shade", "sparse_labels", "style"]

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from vwta.io.storage import atomic

COLUMN = 3.25  # width of a column of the paper, in inches


class Look(NamedTuple):
    """How a method is drawn."""

    label: str
    color: str
    marker: str
    line: str = "-"


# Colours of Okabe and Ito, which colour-blind readers can tell apart; markers differ as well.
METHODS = {
    "v_wta": Look("V-WTA", "#0072B2", "o"),
    "k_wta": Look("K-WTA", "#D55E00", "s"),
    "unweighted_k_wta": Look("Unweighted K-WTA", "#E69F00", "v", "--"),
    "unif_v_wta": Look("Unif. V-WTA", "#56B4E9", "D", "--"),
    "dirac_wta": Look("Dirac WTA", "#999999", "x"),
    "tk_hist": Look("TK-Hist", "#009E73", "^"),
    "unif_hist": Look("Unif. Hist", "#7FC8A9", "<", "-."),
    "mdn": Look("MDN", "#CC79A7", "P"),
    "wta": Look("WTA", "#0072B2", "o"),
    "hist": Look("Hist", "#009E73", "^"),
    "m_vmf": Look("M-vMF", "#CC79A7", "P", "--"),
    "v_wta_ensemble": Look("V-WTA ensemble", "#00405F", "h"),
    "pbp": Look("PBP", "#8C8C8C", "v"),
    "mc_dropout": Look("MC Dropout", "#6E6E6E", "d"),
    "deep_ensembles": Look("Deep Ensembles", "#4D4D4D", "p"),
    "truth": Look("True law", "#000000", "", ":"),
    "zador": Look("WTA, theory", "#0072B2", "", ":"),
    "zador_hist": Look("Hist, theory", "#009E73", "", ":"),
    "lloyd": Look("Lloyd's optimum", "#000000", ""),
}

TITLES = {
    "single_gaussian": "Single Gaussian",
    "rotating_moons": "Rotating Moons",
    "changing_damier": "Changing Damier",
    "uniform_to_gaussians": "Uniform to Gaussians",
    "boston": "Boston",
    "concrete": "Concrete",
    "energy": "Energy",
    "kin8nm": "Kin8nm",
    "naval": "Naval",
    "power": "Power",
    "protein": "Protein",
    "wine": "Wine",
    "yacht": "Yacht",
    "year": "Year",
    "ansyn": "ANSYN",
    "resynthesis": "re-synthesised scenes",
    "synthetic": "synthesised scenes",
}


def shade(color: str, part: float) -> tuple[float, float, float]:
    """A darker shade of a colour, with this part of its brightness."""
    red, green, blue = to_rgb(color)
    return red * part, green * part, blue * part


def sparse_labels(ticks: Sequence[float], apart: float) -> list[str]:
    """Labels of ticks on a logarithmic axis: none for a tick too close to the label before.

    Arguments:
        ticks: where the ticks are, in ascending order.
        apart: smallest ratio of two ticks with labels that follow each other.

    Example:
        >>> sparse_labels([9, 16, 20, 25], 1.5)
        ['9', '16', '', '25']
    """
    labels, last = [], 0.0
    for tick in ticks:
        labels.append(f"{tick:g}" if tick >= apart * last else "")
        last = tick if labels[-1] else last
    return labels


@contextmanager
def style() -> Iterator[None]:
    """Settings for the time a figure is drawn."""
    settings: dict[Any, Any] = {
        "font.size": 8,
        "axes.titlesize": 9,
        "axes.labelsize": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "grid.linewidth": 0.5,
        "legend.fontsize": 7,
        "legend.frameon": False,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "figure.constrained_layout.use": True,
        "savefig.dpi": 200,
        "pdf.fonttype": 42,  # text stays text
    }
    with plt.rc_context(settings):
        yield


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Writes a figure under each name, in its suffix' format; same data, same bytes."""
    for path in paths:
        suffix = path.suffix.removeprefix(".")
        metadata = {"CreationDate": None} if suffix == "pdf" else None
        with atomic(path) as temporary:
            figure.savefig(temporary, format=suffix, metadata=metadata)
    plt.close(figure)
