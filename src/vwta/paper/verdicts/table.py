"""The table of verdicts: a row for each number or claim under each protocol."""

from __future__ import annotations

__all__ = ["CLAIM_WORDS", "COLUMNS", "NUMBER_WORDS", "Settings", "Verdicts", "judge_all"]

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from vwta.paper.verdicts import claims, numbers, optimum, reported
from vwta.paper.verdicts.claims import Claim, Outcome
from vwta.paper.verdicts.classes import class_of, group_of
from vwta.paper.verdicts.differences import measure
from vwta.paper.verdicts.numbers import Rule
from vwta.paper.verdicts.optimum import OPTIMUM
from vwta.paper.verdicts.reported import NUMBER, PRINTED
from vwta.paper.verdicts.selection import Evidence
from vwta.paper.verdicts.tolerances import vary

COLUMNS = {
    "kind": "str",  # number or claim
    "id": "str",
    "study": "str",
    "protocol": "str",
    "headline": "bool",
    "place": "str",  # section, table or figure
    "says": "str",  # the claim in words
    **NUMBER,
    "printed_low": "float64",
    "printed_high": "float64",
    "printed_runs": "Int64",
    "ours": "float64",
    "deviation": "float64",
    "low": "float64",
    "high": "float64",
    "runs": "Int64",
    "measured_on": "str",
    "difference": "float64",
    "margin": "float64",  # the largest difference that is allowed
    "verdict": "str",
    "strict": "str",
    "ours_large": "float64",  # on a larger test set, if it was measured
    "verdict_large": "str",
    "rule": "str",
    "reason": "str",
    "remark": "str",
    "held": "Int64",  # cases in which a claim holds
    "judged": "Int64",  # of so many
    "holds_at": "str",
    "fails_at": "str",
    "missing": "str",
    "numbers": "str",  # those that decide a claim
    "cases": "str",  # all of them, as JSON
}
NUMBER_WORDS = ("reproduced", "better", "worse", "quoted", "not comparable", "not run")
CLAIM_WORDS = ("holds", "mostly", "mixed", "rarely", "fails", "not run")
# What stands beside our numbers, and what is said of a claim that fails there, if only in part.
STANDARDS = {
    PRINTED: "the printed numbers fail it{too} ({held} of {judged} cases hold)",
    OPTIMUM: "Lloyd's optimum fails it{too} ({held} of {judged} cases hold): it is about our bound",
}


@dataclass(frozen=True)
class Settings:
    """Parameters of verdicts besides numbers.

    Attributes:
        headline: the protocol of the headline.
        protocols: all protocols that are judged.
        borrows: see :class:`vwta.paper.verdicts.selection.Evidence`.
        most: share of cases that counts as most of them.
        trend: share of pairs of points that makes a trend.
        rule: the rule for numbers.
        claims: entries of the file of claims.
        differences: entries of the register.
    """

    headline: str
    protocols: tuple[str, ...]
    borrows: Mapping[str, Any]
    most: float
    trend: float
    rule: Rule
    claims: Sequence[Mapping[str, Any]]
    differences: Sequence[Mapping[str, Any]]

    @classmethod
    def of(
        cls, rules: Mapping[str, Any], claims: Mapping[str, Any], differences: Mapping[str, Any]
    ) -> Settings:
        """Settings from the contents of config/verdicts.yaml, claims.yaml and differences.yaml."""
        return cls(
            headline=rules["headline"],
            protocols=tuple(rules["protocols"]),
            borrows=rules["borrows"],
            most=rules["most"],
            trend=rules["trend"],
            rule=Rule(**rules["numbers"]),
            claims=claims["claims"],
            differences=differences["differences"],
        )


class Verdicts(NamedTuple):
    """Verdicts on all numbers and claims, and the measured differences.

    Attributes:
        table: verdicts, with :data:`COLUMNS` and a column for each protocol, `printed` and
            `optimum`, with the verdict on the same thing there; for numbers also `class_` and
            `group`, see :mod:`vwta.paper.verdicts.classes`. The `reason` of a claim says whether
            the printed numbers, or Lloyd's optimum, fail it too.
        differences: the register, see :func:`vwta.paper.verdicts.differences.measure`.
        tolerances: claims with other tolerances, see :func:`vwta.paper.verdicts.tolerances.vary`.
        tiers: the tier that each study's numbers come from.
        headline: the protocol of the headline.
    """

    table: pd.DataFrame
    differences: pd.DataFrame
    tolerances: pd.DataFrame
    tiers: Mapping[str, str]
    headline: str


def judge_all(
    measured: pd.DataFrame, paper: pd.DataFrame, settings: Settings, tiers: Mapping[str, str]
) -> Verdicts:
    """Judges every number and every claim under every protocol, and measures the differences.

    Claims are judged on the paper's own numbers as well, as the protocol `printed`, and on Lloyd's
    optimum, as the protocol `optimum`.

    Arguments:
        measured: our numbers, see :mod:`vwta.paper.verdicts.evidence`.
        paper: the paper's numbers, see :func:`vwta.paper.verdicts.reported.read`.
        settings: what to judge, and how.
        tiers: the tier that each study's numbers come from.
    """
    ours = pd.concat([measured, optimum.as_evidence(measured)], ignore_index=True)
    evidence = Evidence(ours, reported.as_evidence(paper), settings.borrows)
    made = _claims(settings)
    rows = _number_rows(paper, evidence, settings, tiers) + _claim_rows(made, evidence, settings)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    texts = [name for name, kind in COLUMNS.items() if kind == "str"]
    table[texts] = table[texts].astype(object).fillna("")
    table = table.astype(COLUMNS)
    words = table.pivot(index=["kind", "id"], columns="protocol", values="verdict")
    words = words.reindex(columns=[*settings.protocols, PRINTED, OPTIMUM]).fillna("")
    judged = zip(words.index, words.to_numpy(), strict=True)
    classes = [
        class_of(dict(zip(words.columns, row, strict=True))) if kind == "number" else ""
        for (kind, _), row in judged
    ]
    words.columns = [f"under_{name}" for name in words.columns]
    table = table.join(words.assign(class_=classes), on=["kind", "id"])
    table["group"] = [group_of(name) if name else "" for name in table["method"]]
    return Verdicts(
        table,
        measure(settings.differences, evidence),
        vary(made, evidence, settings.headline, settings.most),
        tiers,
        settings.headline,
    )


def _number_rows(
    paper: pd.DataFrame, evidence: Evidence, settings: Settings, tiers: Mapping[str, str]
) -> list[dict[str, Any]]:
    rows = []
    for one in paper.to_dict("records"):
        about = {str(name): value for name, value in one.items()}
        tier = tiers.get(about["study"], "")
        for protocol in settings.protocols:
            counts = about["metric"] in numbers.COUNTS
            if counts and protocol != settings.headline:
                continue  # no protocol changes the data
            verdict = numbers.judge(about, evidence, protocol, settings.rule, tier)
            about["headline"] = protocol == settings.headline
            rows.append({"kind": "number", "protocol": protocol, **about, **verdict})
    return rows


def _claims(settings: Settings) -> list[Claim]:
    lines = claims.problems(settings.claims)
    if lines:
        listed = "\n".join(f"  {line}" for line in lines)
        raise ValueError(f"the claims cannot be used:\n{listed}\nRemedy: correct claims.yaml")
    return [Claim.of(entry, settings.trend) for entry in settings.claims]


def _claim_rows(
    made: Sequence[Claim], evidence: Evidence, settings: Settings
) -> list[dict[str, Any]]:
    rows = []
    for claim in made:
        found = {
            protocol: claims.judge(claim, evidence, protocol, settings.most)
            for protocol in _protocols(claim, settings)
        }
        first = next(iter(found))
        for protocol, outcome in found.items():
            about = {"id": claim.id, "study": claim.study, "place": claim.section}
            rows.append(
                {
                    "kind": "claim",
                    "protocol": protocol,
                    "headline": protocol == first,
                    **about,
                    "says": claim.says,
                    "rule": claim.rule,
                    "reason": _beside(protocol, found),
                    "held": outcome.held,
                    "judged": len(outcome.cases),
                    **{k: v for k, v in outcome._asdict().items() if k != "cases"},
                    "cases": json.dumps([_plain(case._asdict()) for case in outcome.cases]),
                }
            )
    return rows


def _protocols(claim: Claim, settings: Settings) -> list[str]:
    """Those under which a claim is judged, the one of the headline first."""
    if claim.protocols:
        return list(claim.protocols)
    names = [settings.headline, *settings.protocols, PRINTED]
    names += [OPTIMUM] if any(map(optimum.concerns, claim.queries)) else []
    return list(dict.fromkeys(names))


def _beside(protocol: str, found: Mapping[str, Outcome]) -> str:
    """Whether a claim that is judged by our numbers fails for the paper's, or for the optimum."""
    if protocol in STANDARDS:
        return ""
    too = " too" if found[protocol].verdict not in ("holds", "not run") else ""
    failed = {name: found[name] for name in STANDARDS if name in found}
    texts = [
        STANDARDS[name].format(too=too, held=outcome.held, judged=len(outcome.cases))
        for name, outcome in failed.items()
        if outcome.verdict not in ("holds", "not run")
    ]
    return "; ".join(texts)


def _plain(value: Any) -> Any:
    """A value as JSON has it: what is not finite becomes text."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, bool | int | str):
        return value
    return float(value) if math.isfinite(value) else str(float(value))
