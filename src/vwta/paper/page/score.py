"""The top of the page: the facts of the run, and how much of the paper is reproduced."""

from __future__ import annotations

__all__ = ["facts_of_run", "score"]

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from vwta.paper.collection import cost, facts, records
from vwta.paper.page.contents import Contents
from vwta.paper.page.words import chip, short, slug, study_name
from vwta.paper.studies import STUDIES
from vwta.paper.verdicts.classes import GROUPS
from vwta.paper.verdicts.summary import classes
from vwta.paper.verdicts.table import CLAIM_WORDS, NUMBER_WORDS
from vwta.web.markup import Html, element, join, rich

ALL = "all"
OF_GROUP = dict(
    zip(
        GROUPS,
        ("of WTA methods", "of baselines", "quoted from other papers", "sizes of data sets"),
        strict=True,
    )
)


def facts_of_run(contents: Contents) -> Html:
    """HTML of facts of the run: tiers, protocol, revisions, dates, hardware and time."""
    known = facts(contents.metrics)
    tiers = defaultdict(list)
    for study, tier in contents.tiers.items():
        tiers[tier].append(study_name(study))
    rows = {
        "Tier": "; ".join(f"{tier} ({', '.join(names)})" for tier, names in tiers.items()),
        "Headline": f"protocol {contents.headline}",
        "Numbers from": _dates(contents.metrics),
        "Revisions": ", ".join(map(short, known.get("revision", ()))),
        "Judged": f"{contents.record['made'][:10]} at {short(contents.record['revision'] or '?')}",
        "Hardware": ", ".join([*known.get("processor", ()), *known.get("accelerator", ())]),
        "Time": _time(contents.metrics),
    }
    return element(
        "dl",
        *(element("div", element("dt", k), element("dd", v)) for k, v in rows.items() if v),
        class_="facts",
    )


def score(verdicts: pd.DataFrame, protocol: str, findings: Sequence[str] = ()) -> Html:
    """HTML of what was found, and of counts of each verdict, as numbers and bars.

    Arguments:
        verdicts: see :data:`vwta.paper.verdicts.table.COLUMNS`.
        protocol: that of the headline.
        findings: texts, in which `**` marks what is bold.
    """
    headline = verdicts[verdicts["headline"]]
    numbers, claims = (headline[headline["kind"] == kind] for kind in ("number", "claim"))
    return join(
        [
            element("ul", *(element("li", rich(one)) for one in findings), class_="findings")
            if findings
            else "",
            _big(numbers, claims, protocol),
            element(
                "div",
                _board("Numbers", "numbers", numbers, NUMBER_WORDS),
                _board("Claims", "claims", claims, CLAIM_WORDS),
                class_="boards",
            ),
            _groups(numbers),
        ]
    )


def _big(numbers: pd.DataFrame, claims: pd.DataFrame, protocol: str) -> Html:
    """The answer with all denominators; each group of methods is counted apart."""
    lines = []
    for group, words in OF_GROUP.items():
        found = numbers.loc[numbers["group"] == group, "verdict"].value_counts()
        if len(found):
            counted = [f"{found[word]} {word}" for word in NUMBER_WORDS if word in found]
            total = element("strong", str(found.sum()))
            lines.append(element("li", total, f" {words}: ", ", ".join(counted)))
    ran = claims[claims["verdict"] != "not run"]
    holds = (ran["verdict"] == "holds").sum()
    total = element("strong", f"{holds} of {len(ran)}")
    lines.append(element("li", total, f" claims that could be judged hold, of {len(claims)} made"))
    about = f"The paper has {len(numbers)} numbers. Verdicts under the protocol "
    return join(
        [
            element("p", about, element("code", protocol), ":", class_="answer"),
            element("ul", *lines),
        ]
    )


def _groups(numbers: pd.DataFrame) -> Html:
    """A table of the numbers by the reading of the paper that reproduces them."""
    table = classes(numbers)
    table["study"] = ["All studies" if name == ALL else study_name(name) for name in table["study"]]
    heads = [element("th", str(name), scope="col") for name in table.columns]
    lines = [
        element("tr", *(element("td", str(cell)) for cell in row))
        for row in table.itertuples(index=False)
    ]
    parts = element("thead", element("tr", *heads)), element("tbody", *lines)
    words = (
        "Numbers by the first reading of the paper that reproduces them: every sentence of the "
        "text, training until convergence as the text says too, or the published code. A number "
        "that none of them reproduces, but that is better than printed under the headline, is "
        "counted apart."
    )
    body = element("table", *parts, class_="wrapped")
    return join([element("p", words), element("div", body, class_="scroll")])


def _board(title: str, kind: str, rows: pd.DataFrame, words: Sequence[str]) -> Html:
    counts = pd.crosstab(rows["study"], rows["verdict"])
    counts = counts.reindex(index=list(STUDIES), columns=list(words), fill_value=0)
    counts.loc[ALL] = counts.sum()
    lines = [_line(str(study), one, words) for study, one in counts.iterrows()]
    heading = element("h3", element("a", title, href=f"#{kind}"))
    return element("div", heading, *lines, class_="board")


def _line(study: str, counts: pd.Series[int], words: Sequence[str]) -> Html:
    """A bar whose parts are verdicts, and the same in numbers."""
    total = int(counts.sum())
    given = [word for word in words if counts[word]]
    parts = [
        element(
            "span",
            class_=f"part {slug(word)}",
            style=f"flex-grow:{counts[word]}",
            title=f"{word}: {counts[word]} of {total}",
        )
        for word in given
    ]
    name = "All studies" if study == ALL else study_name(study)
    return element(
        "div",
        element("p", element("strong", name), f" {total}"),
        element("div", *parts, class_="bar", aria_hidden="true"),
        element(
            "ul",
            *(element("li", f"{counts[word]} ", chip(word)) for word in given),
            class_="counts",
        ),
        class_="line total" if study == ALL else "line",
    )


def _dates(metrics: Iterable[Path]) -> str:
    made = sorted(record["made"][:10] for _, record in records(metrics) if "made" in record)
    if not made:
        return ""
    return made[0] if made[0] == made[-1] else f"{made[0]} to {made[-1]}"


def _time(metrics: Sequence[Path]) -> str:
    spent = cost(metrics)
    hours = sum(kind["cpu_hours"] for kind in spent.values())
    unknown = int(sum(kind["unknown"] for kind in spent.values()))
    networks = int(sum(kind["files"] for name, kind in spent.items() if name.endswith("network")))
    wall = _wall(metrics)
    text = f"{hours:.1f} CPU hours" if hours >= 1 else f"{60 * hours:.0f} CPU minutes"
    text += f", {networks} trainings that took {wall / 3600:.1f} hours of wall time one by one"
    return text + (f" ({unknown} jobs have no record of CPU time)" if unknown else "")


def _wall(metrics: Iterable[Path]) -> float:
    """Seconds on the clock of all trainings, each once."""
    once: dict[str, Mapping[str, Any]] = {
        f"{one.get('made')} {one.get('code')} {one.get('seed')} {one.get('K')}": one
        for kind, one in records(metrics)
        if kind.endswith("network")
    }
    return sum(float(one.get("seconds", 0)) for one in once.values())
