"""How much claims depend on tolerances, which are ours: verdicts with half and twice of them."""

from __future__ import annotations

__all__ = ["COLUMNS", "FACTORS", "for_readers", "sentence", "vary"]

from collections.abc import Sequence

import pandas as pd

from vwta.paper.verdicts.claims import Claim, frames, outcome
from vwta.paper.verdicts.selection import Evidence

FACTORS = {"halved": 0.5, "stated": 1.0, "doubled": 2.0}
COLUMNS = {
    "id": "str",
    "study": "str",
    "says": "str",
    "tolerance": "str",
    **dict.fromkeys(FACTORS, "str"),  # the verdict
    **{f"{name}_held": "Int64" for name in FACTORS},  # cases that hold
    "judged": "Int64",  # of so many
}


def vary(claims: Sequence[Claim], evidence: Evidence, headline: str, most: float) -> pd.DataFrame:
    """Verdicts on claims with a tolerance, with half, once and twice of it: :data:`COLUMNS`.

    A claim that was not run is left out.

    Arguments:
        claims: all claims.
        evidence: all numbers.
        headline: the protocol, unless a claim is made under others.
        most: share of cases that counts as most of them.
    """
    rows = []
    for claim in claims:
        if not claim.tolerance:
            continue
        numbers = frames(claim, evidence, claim.protocols[0] if claim.protocols else headline)
        found = {
            name: outcome(claim.with_tolerance(factor), numbers, most)
            for name, factor in FACTORS.items()
        }
        if not found["stated"].cases:
            continue
        rows.append(
            {
                "id": claim.id,
                "study": claim.study,
                "says": claim.says,
                "tolerance": claim.tolerance,
                **{name: one.verdict for name, one in found.items()},
                **{f"{name}_held": one.held for name, one in found.items()},
                "judged": len(found["stated"].cases),
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def sentence(table: pd.DataFrame) -> str:
    """How many claims change their verdict."""
    half, twice = ((table[name] != table["stated"]).sum() for name in ("halved", "doubled"))
    return (
        f"The tolerances of claims are ours: of {len(table)} claims that have one, {half} get "
        f"another verdict if it is halved, and {twice} if it is doubled."
    )


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A table of texts: claims whose verdict changes first."""
    verdicts = table[list(FACTORS)]
    changes = (verdicts.nunique(axis=1) > 1).sort_values(ascending=False, kind="stable")
    table = table.loc[changes.index]
    shares = {
        name: [
            f"**{word}**, {held} of {judged}"
            for word, held, judged in zip(
                table[name], table[f"{name}_held"], table["judged"], strict=True
            )
        ]
        for name in FACTORS
    }
    return pd.DataFrame(
        {
            "study": table["study"],
            "claim": table["says"],
            "tolerance": table["tolerance"],
            **shares,
        }
    )
