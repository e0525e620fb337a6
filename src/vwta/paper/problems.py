"""The data sets of all studies: what readers call them, and how they are drawn.

The laws of the synthetic problems are in :mod:`vwta.paper.synthetic.true_laws`, the readers of
other data in :mod:`vwta.paper.uci.datasets` and :mod:`vwta.paper.audio.ansyn`; numbers of
a protocol, such as the domain, are in the configuration. They are not in this table since results
depend on them: a title or a colour may change without any number being computed again.

The module imports nothing heavy: rules of the workflow read it too.
"""

from __future__ import annotations

__all__ = ["PROBLEMS", "Problem", "of_study", "title"]

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """Entry of the registry of data sets: what readers call one, and how it is drawn.

    Attributes:
        title: what readers call it.
        study: where it is used.
        color: of what is drawn of it, where data sets are told apart by colours.
        marker: likewise.
    """

    title: str
    study: str
    color: str = "#000000"
    marker: str = "o"


# In the order in which they are shown.
PROBLEMS: dict[str, Problem] = {
    "single_gaussian": Problem("Single Gaussian", "synthetic", color="#0072B2", marker="o"),
    "rotating_moons": Problem("Rotating Moons", "synthetic", color="#D55E00", marker="s"),
    "changing_damier": Problem("Changing Damier", "synthetic", color="#009E73", marker="^"),
    "uniform_to_gaussians": Problem(
        "Uniform to Gaussians", "synthetic", color="#CC79A7", marker="D"
    ),
    "boston": Problem("Boston", "uci"),
    "concrete": Problem("Concrete", "uci"),
    "energy": Problem("Energy", "uci"),
    "kin8nm": Problem("Kin8nm", "uci"),
    "naval": Problem("Naval", "uci"),
    "power": Problem("Power", "uci"),
    "protein": Problem("Protein", "uci"),
    "wine": Problem("Wine", "uci"),
    "yacht": Problem("Yacht", "uci"),
    "year": Problem("Year", "uci"),
    "twoyear": Problem("Wages", "uci"),
    "k401ksubs": Problem("Assets", "uci"),
    "catholic": Problem("Test scores", "uci"),
    "diamonds": Problem("Diamonds", "uci"),
    "ansyn": Problem("ANSYN", "audio"),
    "resynthesis": Problem("re-synthesised scenes", "audio"),
    "synthetic": Problem("synthesised scenes", "audio"),
}


def of_study(study: str) -> dict[str, Problem]:
    """The data sets of the registry that belong to a study, by name."""
    return {name: problem for name, problem in PROBLEMS.items() if problem.study == study}


def title(name: str) -> str:
    """The readable name of a data set of the registry; of a user's own table, its name."""
    return PROBLEMS[name].title if name in PROBLEMS else name
