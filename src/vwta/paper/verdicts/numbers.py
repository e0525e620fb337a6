r"""Numbers: one rule that decides whether ours reproduces the paper's.

With the printed number p and ours o, the means over seeds or splits, and their standard deviations,

.. math:: |o - p| \le m, \qquad m = c \sqrt{s_p^2 + s_o^2} + r

is `reproduced`; otherwise a lower one is `better` and a higher one `worse`, as all metrics here are
better if lower. Here c is `deviations` and r `rounding`, half a unit of the last printed digit, or
`reading`, a pixel of the figure where its size is known. Where the paper prints no standard
deviation, s_p is a stated tolerance of the metric. Counts must be equal.

Standard deviations over splits are wide, and the splits are the paper's own. `strict` is the same
verdict by standard errors, s / sqrt(n), of which there must be no more than `standard_errors`; it
is given where the paper prints a standard deviation. `verdict_large` is the same verdict by a
larger test set than the paper's, where a run has measured one: the points alone shift the NLL of
all methods together.
"""

from __future__ import annotations

__all__ = ["Rule", "judge"]

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from vwta.paper.verdicts.selection import Evidence, select

COUNTS = ("rows", "inputs")
OWN_DATA = "ansyn"  # the paper's audio data
LARGE = "_large"  # end of a metric's name, if it is of the larger test set


@dataclass(frozen=True)
class Rule:
    """Parameters of the rule by which verdicts on numbers are given.

    Attributes:
        deviations: c of the formula.
        standard_errors: the same for `strict`.
        rounding: r, for printed numbers.
        reading: r, for numbers that were read off a figure, by metric; 0 for others.
        tolerance: for each metric `absolute` and `relative` (to the printed number) parts of s_p.
        measured_as: for each study and protocol, metrics of ours by metrics of the paper.
        tier: the tier at the paper's scale.
        not_comparable: printed numbers that measure something else than their name says: `where`,
            under which `protocols` (a number that was not run is called so), and the `reason`.
            Those without protocols are never compared.
        remarks: what else should be known of numbers: `where`, `protocols` and the `remark`.
    """

    deviations: float
    standard_errors: float
    rounding: float
    reading: Mapping[str, float]
    tolerance: Mapping[str, Mapping[str, float]]
    measured_as: Mapping[str, Mapping[str, Mapping[str, str]]]
    tier: str
    not_comparable: Sequence[Mapping[str, Any]]
    remarks: Sequence[Mapping[str, Any]]


def judge(
    reported: Mapping[str, Any], evidence: Evidence, protocol: str, rule: Rule, tier: str
) -> dict[str, Any]:
    """The verdict on a number of the paper under a protocol, with all that it rests on.

    Arguments:
        reported: a row of :func:`vwta.paper.verdicts.reported.read`.
        evidence: all numbers.
        protocol: the protocol.
        rule: the rule.
        tier: the tier that the study's numbers come from.
    """
    if pd.notna(reported["in_source"]):
        return _quotation(reported)
    ours = _ours(reported, evidence, protocol, rule)
    found = {**_intervals(reported, ours, rule), "rule": _words(reported, rule)}
    remarks = [one["remark"] for one in rule.remarks if _meant(one, reported, protocol)]
    if ours and pd.notna(reported["printed_runs"]) and ours["runs"] < reported["printed_runs"]:
        remarks.append(f"{ours['runs']} of {reported['printed_runs']} seeds or splits")
    if reported["scale"] != 1:
        remarks.append(_in_our_units(reported, ours))
    remarks += _truth(reported, ours, evidence, protocol)
    found["remark"] = "; ".join(remarks)
    reason = _reason(reported, ours, protocol, rule, tier)
    if not ours:
        word = "not comparable" if reason else "not run"
        return {**found, "verdict": word, "reason": reason or _absent(reported, evidence, protocol)}
    if reason:
        return {**found, "verdict": "not comparable", "reason": reason}
    verdict = _word(found["difference"], found["margin"])
    if reported["metric"] in COUNTS and verdict != "reproduced":
        return {**found, "verdict": "not comparable", "reason": "the data have another count"}
    found |= {"verdict": verdict, "strict": _strict(reported, ours, rule)}
    if large := _ours(reported, evidence, protocol, rule, LARGE):
        there = _intervals(reported, large, rule)
        word = _word(there["difference"], there["margin"])
        found |= {"ours_large": large["ours"], "verdict_large": word}
    return found


def _quotation(reported: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict on a number that the paper quotes: whether its source has the same."""
    pairs = (("printed", "in_source"), ("printed_deviation", "in_source_deviation"))
    if all(reported[a] == reported[b] or pd.isna(reported[b]) for a, b in pairs):
        reason = f"the same in its source, {reported['quoted_from']}; not run by the paper"
        return {"verdict": "quoted", "rule": "equal to its source", "reason": reason}
    value, deviation = (reported[b] for _, b in pairs)
    reason = f"misquoted: {reported['quoted_from']} has {value:g} ± {deviation:g}"
    return {"verdict": "not comparable", "rule": "equal to its source", "reason": reason}


def _ours(
    reported: Mapping[str, Any], evidence: Evidence, protocol: str, rule: Rule, end: str = ""
) -> dict[str, Any]:
    """Our number in the paper's units, with its standard deviation and number of runs.

    Arguments:
        end: of the metric's name.
    """
    study, metric = reported["study"], reported["metric"]
    names = rule.measured_as.get(study, {}).get(protocol, {})
    name = f"{names.get(metric, metric)}{end}"
    query: dict[str, Any] = {"metric": name, "method": reported["measured_as"]}
    query |= {key: [reported[key]] for key in ("K", "h") if pd.notna(reported[key])}
    datasets = None if study == "audio" else [reported["dataset"]]
    frame = select(evidence, study, protocol, query, datasets)
    if frame.empty:
        return {}
    row = frame.sort_values("dataset", key=lambda names: names != OWN_DATA).iloc[0]
    scale, deviation = reported["scale"], float(row["deviation"])
    return {
        "ours": scale * float(row["value"]),
        "deviation": scale * deviation,
        "runs": int(row["count"]),
        "measured_on": str(row["dataset"]),
    }


def _in_our_units(reported: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """A distortion in rad^2, as the printed scale is calibrated."""
    text = f"printed {reported['printed'] / reported['scale']:.3g} rad²"
    return text + (f", ours {ours['ours'] / reported['scale']:.3g} rad²" if ours else "")


def _truth(
    reported: Mapping[str, Any], ours: Mapping[str, Any], evidence: Evidence, protocol: str
) -> list[str]:
    """The true law's NLL where likelihoods are those of other scenes than the paper's."""
    if reported["study"] != "audio" or reported["metric"] != "nll" or not _elsewhere(ours):
        return []
    query = {"metric": "nll", "method": "truth"}
    values = select(evidence, "audio", protocol, query, [ours["measured_on"]])["value"]
    return [f"other scenes: true law {value:.2f} nats" for value in values]


def _elsewhere(ours: Mapping[str, Any]) -> bool:
    """Whether a number of the audio study, if there is one, is of other scenes than the paper's."""
    return bool(ours) and ours["measured_on"] != OWN_DATA


def _intervals(reported: Mapping[str, Any], ours: Mapping[str, Any], rule: Rule) -> dict[str, Any]:
    """Both numbers with their intervals, their difference, and the largest one that is allowed."""
    printed, theirs = reported["printed"], _their_deviation(reported, rule)
    found = {"printed_low": printed - theirs, "printed_high": printed + theirs}
    if not ours:
        return found
    mine = 0.0 if math.isnan(ours["deviation"]) else ours["deviation"]
    margin = rule.deviations * math.hypot(theirs, mine) + _rounding(reported, rule)
    return {
        **found,
        **ours,
        "low": ours["ours"] - mine,
        "high": ours["ours"] + mine,
        "difference": ours["ours"] - printed,
        "margin": margin,
    }


def _their_deviation(reported: Mapping[str, Any], rule: Rule) -> float:
    """The printed standard deviation, or a tolerance in its place."""
    if pd.notna(reported["printed_deviation"]):
        return float(reported["printed_deviation"])
    if reported["metric"] in COUNTS:
        return 0.0
    tolerance = rule.tolerance[reported["metric"]]
    absolute, relative = (tolerance.get(part, 0.0) for part in ("absolute", "relative"))
    return absolute + relative * abs(float(reported["printed"]))


def _rounding(reported: Mapping[str, Any], rule: Rule) -> float:
    if reported["metric"] in COUNTS:
        return 0.0
    if reported["source"] == "printed":
        return rule.rounding
    return rule.reading.get(reported["metric"], 0.0)


def _word(difference: float, margin: float) -> str:
    if abs(difference) <= margin + 1e-12:
        return "reproduced"
    return "better" if difference < 0 else "worse"


def _strict(reported: Mapping[str, Any], ours: Mapping[str, Any], rule: Rule) -> str:
    """The verdict by standard errors, or nothing where the paper prints no standard deviation."""
    if pd.isna(reported["printed_deviation"]) or math.isnan(ours["deviation"]):
        return ""
    errors = (
        reported["printed_deviation"] / math.sqrt(reported["printed_runs"]),
        ours["deviation"] / math.sqrt(ours["runs"]),
    )
    margin = rule.standard_errors * math.hypot(*errors) + rule.rounding
    return _word(ours["ours"] - reported["printed"], margin)


def _reason(
    reported: Mapping[str, Any],
    ours: Mapping[str, Any],
    protocol: str,
    rule: Rule,
    tier: str,
) -> str:
    """Why a number cannot be compared; empty if it can."""
    for one in rule.not_comparable:
        if _meant(one, reported, protocol) and (ours or "protocols" not in one):
            return str(one["reason"])
    if not ours:
        return ""
    if not math.isfinite(ours["ours"]):
        return "our number is not finite"
    if reported["study"] == "audio" and _elsewhere(ours):
        return f"other scenes: {ours['measured_on']} in place of {OWN_DATA}"
    if tier != rule.tier and reported["metric"] not in COUNTS:
        return f"other scale: tier {tier} in place of {rule.tier}"
    return ""


def _meant(entry: Mapping[str, Any], reported: Mapping[str, Any], protocol: str) -> bool:
    """Whether an entry of a list is about a number under a protocol."""
    if "protocols" in entry and protocol not in entry["protocols"]:
        return False
    return all(reported[key] in values for key, values in entry["where"].items())


def _absent(reported: Mapping[str, Any], evidence: Evidence, protocol: str) -> str:
    """Why there is no number of ours, as far as the tables tell."""
    rows = evidence.rows(reported["study"], protocol)
    if rows.empty:
        return f"no numbers of the study under {protocol}"
    if not (rows["dataset"] == reported["dataset"]).any():
        return f"no numbers of {reported['dataset']} under {protocol}"
    return f"not measured under {protocol}"


def _words(reported: Mapping[str, Any], rule: Rule) -> str:
    """The rule as it applies to a number."""
    if reported["metric"] in COUNTS:
        return "equal"
    if pd.notna(reported["printed_deviation"]):
        width = "both standard deviations"
    else:
        parts = rule.tolerance[reported["metric"]]
        amounts = [
            f"{parts[part]:g}" if part == "absolute" else f"{parts[part]:.0%}" for part in parts
        ]
        width = f"a tolerance of {' + '.join(amounts)} and our standard deviation"
    text = f"|ours - printed| <= {rule.deviations:g} x root of the sum of squares of {width}"
    rounding = _rounding(reported, rule)
    return text + (f" + {rounding:g}" if rounding else "")
