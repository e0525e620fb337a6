"""Verdicts for readers: in the terminal, and as markdown."""

from __future__ import annotations

__all__ = [
    "by_standard_errors",
    "classes",
    "counts",
    "differences_for_readers",
    "markdown",
    "on_larger_test_set",
    "terminal",
    "without_verdict",
]

import math
import textwrap
from collections.abc import Iterator
from typing import Any, Literal

import pandas as pd

from vwta.paper.tables import to_markdown
from vwta.paper.verdicts.classes import BY_PROTOCOL, CLASSES, NEITHER
from vwta.paper.verdicts.comparisons import rounded
from vwta.paper.verdicts.table import CLAIM_WORDS, NUMBER_WORDS, Verdicts
from vwta.paper.verdicts.tolerances import sentence

WORST = 10  # numbers that the terminal names
WIDTH = 100
HEAD = 12  # width of a column's head in the terminal
OTHERS = ("under_literal", "under_released", "under_ours", "under_printed", "under_optimum")


def terminal(verdicts: Verdicts) -> str:
    """Verdicts for the terminal: counts, claims, and the numbers furthest from the paper's."""
    headline = _headline(verdicts)
    claims, numbers = (headline[headline["kind"] == kind] for kind in ("claim", "number"))
    lines = [_about(verdicts), ""]
    lines += ["Numbers", *_aligned(counts(numbers, "number")), f"  {_strictly(numbers)}", ""]
    lines += ["Numbers by what reproduces them", *_aligned(classes(numbers)), ""]
    lines += ["Claims", *_aligned(counts(claims, "claim"))]
    lines += [*_wrapped(f"  {sentence(verdicts.tolerances)}", "  "), ""]
    for study, part in claims.groupby("study", sort=False):
        lines.append(f"Claims of the {study} study")
        for row in _rows(part):
            lines += _claim_lines(row)
        lines.append("")
    worst = _worst(numbers)
    lines += [f"The {len(worst)} numbers that are worst beside their margins"] if len(worst) else []
    lines += [f"  {_number_line(row)}" for row in _rows(worst)]
    return "\n".join(lines).rstrip() + "\n"


def markdown(verdicts: Verdicts) -> str:
    """Verdicts as a page of markdown, with all claims and all numbers that could be judged."""
    headline = _headline(verdicts)
    claims, numbers = (headline[headline["kind"] == kind] for kind in ("claim", "number"))
    parts = [
        f"# Verdicts: {_about(verdicts)}",
        "## Numbers",
        to_markdown(counts(numbers, "number")),
        _strictly(numbers) + ".",
        to_markdown(classes(numbers)),
        "## Claims",
        to_markdown(counts(claims, "claim")),
        sentence(verdicts.tolerances),
        "## Each claim",
        to_markdown(_claims_for_readers(claims)),
        "## Each number",
        to_markdown(_numbers_for_readers(numbers)),
        "## Differences between text, published code and this pipeline",
        to_markdown(differences_for_readers(verdicts.differences)),
    ]
    return "\n".join(f"{part.rstrip()}\n" for part in parts)


def differences_for_readers(differences: pd.DataFrame) -> pd.DataFrame:
    """The register of differences as a table of texts."""
    rows = []
    for row in _rows(differences):
        effect = row.state
        if row.state == "measured":
            shared = "" if row.alone else " (with other differences)"
            extent = f"from {rounded(row.lowest)} to {rounded(row.highest)}"
            effect = f"{rounded(row.mean)}, {extent}{shared}"
        rows.append(
            [row.study, row.text, row.code, row.here, row.effect_on, effect, row.by_dataset]
        )
    heads = ["study", "text", "published code", "here", "effect on", "effect", "by dataset"]
    return pd.DataFrame(rows, columns=heads).fillna("").map(_cell)


def _about(verdicts: Verdicts) -> str:
    """Which numbers are judged."""
    tiers = ", ".join(f"{study} {tier}" for study, tier in verdicts.tiers.items())
    return f"protocol {verdicts.headline}, tiers: {tiers}"


def _headline(verdicts: Verdicts) -> pd.DataFrame:
    return verdicts.table[verdicts.table["headline"]]


def counts(rows: pd.DataFrame, kind: Literal["number", "claim"]) -> pd.DataFrame:
    """Counts of each verdict of a kind, by study and in total."""
    words = {"number": NUMBER_WORDS, "claim": CLAIM_WORDS}[kind]
    table = pd.crosstab(rows["study"], rows["verdict"])
    table = table.reindex(columns=list(words), fill_value=0)
    table.loc["all"] = table.sum()
    return table.rename_axis(index="study", columns=None).reset_index()


def classes(numbers: pd.DataFrame) -> pd.DataFrame:
    """Counts of each class of numbers, by study and group, and in total."""
    table = pd.crosstab([numbers["study"], numbers["group"]], numbers["class_"])
    table = table.reindex(columns=[name for name in CLASSES if name in table])
    table.loc[("all", ""), :] = table.sum()
    table.insert(0, "numbers", table.sum(axis=1))
    return table.astype(int).rename_axis(columns=None).reset_index()


def by_standard_errors(table: pd.DataFrame) -> pd.DataFrame:
    """Verdicts by two standard errors, of numbers whose standard deviation the paper prints.

    Arguments:
        table: verdicts under all protocols; those that give classes are counted.
    """
    rows = table[(table["strict"] != "") & table["protocol"].isin(BY_PROTOCOL)]
    keys = [rows[name].rename(name) for name in ("study", "group", "protocol")]
    counted = pd.crosstab(keys, rows["strict"]).reindex(columns=NUMBER_WORDS[:3], fill_value=0)
    counted.insert(0, "numbers", counted.sum(axis=1))
    order = {name: place for place, name in enumerate(table["protocol"].unique())}
    counted = counted.rename_axis(columns=None).reset_index()
    return counted.sort_values(
        ["study", "group", "protocol"],
        key=lambda column: column.map(order) if column.name == "protocol" else column,
    )


def on_larger_test_set(table: pd.DataFrame) -> str:
    """How verdicts on numbers change on a larger test set, by protocol; empty if there is none.

    Arguments:
        table: verdicts under all protocols; those that give classes are counted.
    """
    texts = []
    measured = table[(table["verdict_large"] != "") & table["protocol"].isin(BY_PROTOCOL)]
    for protocol, rows in measured.groupby("protocol", sort=False):
        counted = [
            f"{(rows['verdict'] == word).sum()} and {(rows['verdict_large'] == word).sum()} "
            f"are {word}"
            for word in NUMBER_WORDS[:3]
        ]
        missed = ((rows["class_"] == NEITHER) & (rows["verdict_large"] == "reproduced")).sum()
        texts.append(
            f"Under `{protocol}`, {len(rows)} numbers were measured on a larger test set too. On "
            f"the test set of the paper's size and on the larger one {', '.join(counted)}. Of the "
            f"class `{NEITHER}` the larger one reproduces {missed}."
        )
    return " ".join(texts)


def without_verdict(numbers: pd.DataFrame) -> pd.DataFrame:
    """Why numbers have no verdict, and how many."""
    rows = numbers[numbers["verdict"].isin(["not comparable", "not run"])]
    keys = ["study", "verdict", "reason"]
    return rows.groupby(keys, sort=False).size().rename("numbers").reset_index()


def _strictly(numbers: pd.DataFrame) -> str:
    both = numbers[(numbers["verdict"] == "reproduced") & (numbers["strict"] != "")]
    count = (both["strict"] == "reproduced").sum()
    whole = f"{len(both)} reproduced numbers with a printed standard deviation"
    return f"{count} of {whole} are also reproduced by standard errors"


def _claim_lines(row: Any) -> list[str]:
    """Lines of a claim: the word, what it says, and what decides if it does not simply hold."""
    beside = [f"{name.removeprefix('under_')} {getattr(row, name)}" for name in OTHERS]
    beside = [text for text in beside if not text.endswith(" ")]  # not judged there
    lines = [f"  {row.verdict:<8} {row.says} [{row.place}]"]
    if row.verdict != "not run":
        missing = f"; no data: {row.missing}" if row.missing else ""
        lines.append(f"           {row.held} of {row.judged} cases{missing}; {', '.join(beside)}")
    if row.verdict not in ("holds", "not run"):
        lines.append(f"           {row.numbers}")
    lines += [f"           {row.reason}"] if row.reason else []
    return [line for text in lines for line in _wrapped(text, " " * 11)]


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent)


def _worst(numbers: pd.DataFrame) -> pd.DataFrame:
    worse = numbers[numbers["verdict"] == "worse"]
    order = (worse["difference"] / worse["margin"]).sort_values(ascending=False)
    return worse.loc[order.index[:WORST]]


def _number_line(row: Any) -> str:
    beside = f"literal {row.under_literal}, released {row.under_released}"
    return f"{row.id}: {_with_deviation(row.ours, row.deviation)}, {_printed(row)}; {beside}"


def _printed(row: Any) -> str:
    return f"{row.source} {_with_deviation(row.printed, row.printed_deviation)}"


def _with_deviation(value: float, deviation: float) -> str:
    if math.isnan(value):
        return "–"
    return rounded(value) + ("" if math.isnan(deviation) else f" ± {rounded(deviation)}")


def _claims_for_readers(claims: pd.DataFrame) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "study": claims["study"],
            "section": claims["place"],
            "claim": claims["says"],
            "verdict": [f"**{word}**" for word in claims["verdict"]],
            "cases": [f"{row.held} of {row.judged}" for row in _rows(claims)],
            "numbers that decide": claims["numbers"],
            "beside": claims["reason"],
            "no data": claims["missing"],
            **{name.removeprefix("under_"): claims[name] for name in OTHERS},
        }
    )
    return table.map(_cell)


def _numbers_for_readers(numbers: pd.DataFrame) -> pd.DataFrame:
    """All numbers that are judged; those that are not run are counted above."""
    judged = numbers[numbers["verdict"] != "not run"]
    table = pd.DataFrame(
        {
            "place": judged["place"],
            "number": judged["id"],
            "paper": [_with_deviation(r.printed, r.printed_deviation) for r in _rows(judged)],
            "ours": [_with_deviation(r.ours, r.deviation) for r in _rows(judged)],
            "verdict": [f"**{word}**" for word in judged["verdict"]],
            "by standard errors": judged["strict"],
            "why": ["; ".join(filter(None, [r.reason, r.remark])) for r in _rows(judged)],
            "literal": judged["under_literal"],
            "released": judged["under_released"],
        }
    )
    return table.map(_cell)


def _aligned(table: pd.DataFrame) -> list[str]:
    """Lines of a table for the terminal, in which long heads take several lines."""
    heads = [textwrap.wrap(str(name), HEAD) for name in table]
    height = max(map(len, heads))
    above = zip(*([""] * (height - len(head)) + head for head in heads), strict=True)
    rows = pd.DataFrame([*above, *table.astype(str).to_numpy()])
    lines = rows.to_string(index=False, header=False).splitlines()
    return [f"  {line}".rstrip() for line in lines]


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    yield from table.itertuples(index=False)


def _cell(text: str) -> str:
    """A text that does not break a table."""
    return str(text).replace("|", "\\|")
