"""Qualitative claims: whether they hold for the numbers."""

from __future__ import annotations

__all__ = ["Claim", "Outcome", "frames", "judge", "outcome", "problems"]

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd

from vwta.paper.verdicts.comparisons import KINDS, Case, compare, rounded
from vwta.paper.verdicts.reported import PRINTED
from vwta.paper.verdicts.selection import Evidence, Query, select, words

ABOUT = ("id", "section", "study", "says", "kind", "datasets", "quantifier", "protocols", "ideal")
TOLERANCES = ("within", "by", "low", "high", "trend")  # options that are our choice
QUANTIFIERS = ("all", "most", "some")
LISTED = 3  # cases named in a text


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        id: its name.
        section: where the paper makes it.
        study: the study whose numbers decide.
        says: the claim in our words.
        kind: a key of :data:`vwta.paper.verdicts.comparisons.KINDS`.
        queries: what is compared.
        options: of the comparison.
        datasets: on which data sets; all that there are, if None.
        quantifier: of how many cases it is made: `all`, `most` or `some`.
        protocols: under which it is judged; all, if None.
        ideal: the value that `low` and `high` depart from.
    """

    id: str
    section: str
    study: str
    says: str
    kind: str
    queries: tuple[Query, ...]
    options: dict[str, Any]
    datasets: tuple[str, ...] | None
    quantifier: str
    protocols: tuple[str, ...] | None
    ideal: float = 0.0

    @classmethod
    def of(cls, entry: Mapping[str, Any], trend: float) -> Claim:
        """A claim from its entry in a file; `trend` is for kinds that need one and have none."""
        lines = problems([entry])
        if lines:
            raise ValueError("; ".join(lines))
        kind = KINDS[entry["kind"]]
        queries = entry["terms"] if kind.terms == ("terms",) else [entry[t] for t in kind.terms]
        options = {key: entry[key] for key in (*kind.needs, *kind.options) if key in entry}
        if "trend" in kind.options:
            options.setdefault("trend", trend)
        return cls(
            **{key: entry[key] for key in ("id", "section", "study", "says", "kind")},
            queries=tuple(queries),
            options=options,
            datasets=tuple(entry["datasets"]) if "datasets" in entry else None,
            quantifier=entry.get("quantifier", "all"),
            protocols=tuple(entry["protocols"]) if "protocols" in entry else None,
            ideal=entry.get("ideal", 0.0),
        )

    @property
    def rule(self) -> str:
        """The comparison for readers."""
        parts = [f"{self.kind}: {'; '.join(map(words, self.queries))}"]
        parts += [_option(name, value) for name, value in self.options.items()]
        return "; ".join([*parts, f"in {self.quantifier} cases"])

    @property
    def tolerance(self) -> str:
        """Its tolerances for readers; empty if it has none."""
        parts = [_option(name, self.options[name]) for name in TOLERANCES if name in self.options]
        bounds = {"low", "high"} & self.options.keys()
        return "; ".join(parts) + (f" about {self.ideal:g}" if bounds and self.ideal else "")

    def with_tolerance(self, factor: float) -> Claim:
        """The same claim with tolerances times a factor.

        Bounds depart from the ideal so many times as far. Of a trend the share of pairs of points
        that may go the other way is multiplied.
        """
        changed = dict(self.options)
        for name in (name for name in TOLERANCES if name in changed):
            value = changed[name]
            if name == "within":
                changed[name] = {unit: factor * part for unit, part in value.items()}
            elif name == "trend":
                changed[name] = 1 - factor * (1 - value)
            elif name == "by":
                changed[name] = factor * value
            else:
                changed[name] = self.ideal + factor * (value - self.ideal)
        return replace(self, options=changed)


class Outcome(NamedTuple):
    """The verdict on a claim under a protocol.

    Attributes:
        verdict: `holds`, `mostly`, `mixed`, `rarely`, `fails` or `not run`.
        cases: all cases that were judged.
        holds_at: where it holds, in words.
        fails_at: where it does not.
        numbers: those that decide, in words.
        missing: its data sets without numbers.
    """

    verdict: str
    cases: list[Case]
    holds_at: str
    fails_at: str
    numbers: str
    missing: str

    @property
    def held(self) -> int:
        """Number of cases in which it holds."""
        return sum(case.holds for case in self.cases)


def judge(claim: Claim, evidence: Evidence, protocol: str, most: float) -> Outcome:
    """Judges a claim of the paper.

    Arguments:
        claim: the claim.
        evidence: all numbers.
        protocol: the protocol.
        most: share of cases that counts as most of them.
    """
    return outcome(claim, frames(claim, evidence, protocol), most)


def frames(claim: Claim, evidence: Evidence, protocol: str) -> list[pd.DataFrame]:
    """The numbers of each of a claim's queries."""
    return [
        select(evidence, claim.study, protocol, query, claim.datasets) for query in claim.queries
    ]


def outcome(claim: Claim, numbers: Sequence[pd.DataFrame], most: float) -> Outcome:
    """The verdict on a claim by the numbers of its queries, see :func:`frames`."""
    cases = compare(claim.kind, numbers, claim.options)
    there = {case.where.get("dataset") for case in cases}
    missing = [name for name in claim.datasets or () if name not in there]
    return Outcome(
        verdict=_verdict(cases, claim.quantifier, most),
        cases=cases,
        holds_at=_places(cases, True),
        fails_at=_places(cases, False),
        numbers=_numbers(cases, _labels(claim.queries)),
        missing=", ".join(missing),
    )


def problems(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Problems of entries of claims whose keys have the right types, one line each."""
    lines: list[str] = []
    seen: set[str] = set()
    for entry in entries:
        name = entry.get("id", "a claim without id")
        if name in seen:
            lines.append(f"{name}: there is another claim of this id")
        seen.add(name)
        if entry.get("kind") not in KINDS:
            lines.append(f"{name}.kind = {entry.get('kind')}: must be one of {', '.join(KINDS)}")
            continue
        kind = KINDS[entry["kind"]]
        needed = ("id", "section", "study", "says", *kind.terms, *kind.needs)
        allowed = {*ABOUT, *kind.terms, *kind.needs, *kind.options}
        lines += [f"{name}.{key}: missing" for key in needed if key not in entry]
        lines += [
            f"{name}.{key}: not a key of the kind {entry['kind']}, which has {', '.join(needed)}"
            + (f" and may have {', '.join(kind.options)}" if kind.options else "")
            for key in entry
            if key not in allowed
        ]
        if entry.get("quantifier", "all") not in QUANTIFIERS:
            lines.append(f"{name}.quantifier: must be one of {', '.join(QUANTIFIERS)}")
    return lines


def _option(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        value = " + ".join(f"{part:g} {unit}" for unit, part in value.items())
    return f"{name} {value}"


def _verdict(cases: Sequence[Case], quantifier: str, most: float) -> str:
    """The word for a share of cases that hold.

    All cases: `holds` if every one does, `mostly` if at least so many do, `rarely` if at most so
    many do, `fails` if none does. Most: `holds` and `fails` by the same shares. Some: `holds` if
    one does.
    """
    if not cases:
        return "not run"
    held = sum(case.holds for case in cases) / len(cases)
    enough, hardly = {"all": (1.0, 0.0), "most": (most, 1 - most), "some": (1e-9, 0.0)}[quantifier]
    if held >= enough:
        return "holds"
    if held <= hardly:
        return "fails"
    if held >= most:
        return "mostly"
    return "rarely" if held <= 1 - most else "mixed"


def _places(cases: Sequence[Case], holds: bool) -> str:
    """Where a claim holds, or does not, by data set."""
    texts = []
    for name in dict.fromkeys(case.where.get("dataset", "") for case in cases):
        mine = [case for case in cases if case.where.get("dataset", "") == name]
        chosen = [case.where for case in mine if case.holds == holds]
        if not chosen:
            continue
        if len(chosen) == len(mine):
            texts.append(name)
            continue
        listed = [_place({**where, "dataset": ""}) for where in chosen[:LISTED]]
        more = [f"and {len(chosen) - LISTED} more"] if len(chosen) > LISTED else []
        texts.append(f"{name} ({'; '.join([*listed, *more])})")
    return ", ".join(texts)


def _place(where: Mapping[str, Any]) -> str:
    keys = [f"{key} = {where[key]:g}" for key in ("K", "h", "split") if key in where]
    return " ".join([*filter(None, [where.get("dataset", "")]), ", ".join(keys)]).strip()


def _labels(queries: Sequence[Query]) -> list[str]:
    """Short names of what is compared: methods, or metrics or K where methods are the same."""
    for key, name in (("minus", "gap"), ("divided_by", "ratio")):
        if any(key in query for query in queries):
            whose = "printed" if queries[-1].get("protocol") == PRINTED else "other"
            return [name, f"{whose} {name}"][: len(queries)]
    for key in ("method", "metric", "K"):
        names = [str(query.get(key, "")) for query in queries]
        if len(set(names)) == len(names):
            return names
    return [words(query) for query in queries]


def _numbers(cases: Sequence[Case], labels: Sequence[str]) -> str:
    """The numbers that decide: of the closest case if all hold, of the worst ones otherwise."""
    failed = sorted((case for case in cases if not case.holds), key=_badness)
    text = ""
    if failed:
        text = "fails: " + "; ".join(_case(case, labels) for case in failed[:LISTED])
        text += f"; and {len(failed) - LISTED} more" if len(failed) > LISTED else ""
    held = [case for case in cases if case.holds]
    if held:
        closest = min(held, key=lambda case: case.margin)
        text += ("; " if text else "") + f"holds, closest: {_case(closest, labels)}"
    return text


def _badness(case: Case) -> float:
    return -math.inf if math.isnan(case.margin) else case.margin


def _case(case: Case, labels: Sequence[str]) -> str:
    """A case with its numbers; of a curve its ends."""
    numbers, texts = dict(case.numbers), []
    if "at" in numbers:
        at, values = numbers.pop("at"), numbers.pop("a")
        ends = " to ".join(f"{rounded(values[end])} (at {rounded(at[end])})" for end in (0, -1))
        texts.append(f"{labels[0]} {ends}")
    names = dict(zip("ab", labels, strict=False))
    for name, value in numbers.items():
        if name == "terms":
            texts += [f"{label} {rounded(one)}" for label, one in zip(labels, value, strict=True)]
        else:
            texts.append(f"{names.get(name, name.replace('_', ' '))} {rounded(value)}")
    return f"{_place(case.where)}: {', '.join(texts)}"
