"""Lloyd's optimum in place of trained hypotheses: whether a claim's bound can be met at all.

A claim that even the optimum fails says more about the bound, which is ours, than about training.
So claims on WTA are judged on the optimum as well, as if it were a protocol. In the audio study
there is an M-vMF of a perfect learner too: :mod:`vwta.paper.audio.perfect` says what is a bound.
"""

from __future__ import annotations

__all__ = ["METHODS", "OPTIMUM", "as_evidence", "concerns"]

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from vwta.paper.studies import HEADLINE

OPTIMUM = "optimum"  # in place of a protocol
METHODS = {
    "lloyd": "wta",
    "v_lloyd": "v_wta",
    "k_lloyd": "k_wta",
    "dirac_lloyd": "dirac_wta",
    "unif_v_lloyd": "unif_v_wta",
    "best_m_vmf": "m_vmf",
}


def as_evidence(measured: pd.DataFrame) -> pd.DataFrame:
    """Numbers of the optimum under the names of the methods that it stands for.

    Arguments:
        measured: see :mod:`vwta.paper.verdicts.evidence`.
    """
    rows = measured[(measured["protocol"] == HEADLINE) & measured["method"].isin(METHODS.keys())]
    return rows.assign(protocol=OPTIMUM, method=rows["method"].map(METHODS))


def concerns(entry: Mapping[str, Any]) -> bool:
    """Whether a query, or one within it, is of a method that the optimum stands for."""
    return any(name in METHODS.values() for name in _methods(entry))


def _methods(query: Mapping[str, Any]) -> Iterator[str]:
    yield query["method"]
    for key in ("minus", "divided_by"):
        if key in query:
            yield from _methods(query[key])
