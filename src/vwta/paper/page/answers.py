"""Claims, numbers and differences, each with its evidence."""

from __future__ import annotations

__all__ = ["claims", "differences", "filters", "number_details", "numbers", "tolerances"]

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from vwta.paper.page.words import chip, label, number, study_name, with_deviation
from vwta.paper.verdicts.comparisons import rounded
from vwta.paper.verdicts.table import CLAIM_WORDS, NUMBER_WORDS
from vwta.paper.verdicts.tolerances import for_readers, sentence
from vwta.web.markup import Html, element, join, rich

BESIDE = {
    "under_paper": "paper",
    "under_literal": "literal",
    "under_released": "released",
    "under_ours": "ours",
    "under_printed": "the paper's own numbers",
    "under_optimum": "Lloyd's optimum",
}
HEADS = (
    *("Verdict", "", "Dataset", "Metric", "Method", "K", "h", "Paper", "Ours", "Difference"),
    *("Protocol", "Study", "Place"),
)
DETAILS = (
    *("id", "source", "measured_on", "rule", "reason", "remark", "strict", "printed_runs"),
    *("runs", "printed_low", "printed_high", "low", "high", "margin"),
    *("ours_large", "verdict_large"),
)


def filters(name: str, choices: Mapping[str, Iterable[str]], **chosen: str) -> Html:
    """HTML form that hides items which do not match its choices, by JavaScript.

    Arguments:
        name: id of the element whose items are filtered.
        choices: values for each attribute `data-<key>` of an item.
        chosen: value that is chosen at first.
    """
    fields = []
    for key, values in choices.items():
        tell_of = study_name if key == "study" else label
        options = [element("option", "all", value="")]
        options += [
            element("option", tell_of(value), value=value, selected=chosen.get(key) == value)
            for value in dict.fromkeys(values)
        ]
        select = element("select", *options, data_filter=key)
        fields.append(element("label", element("span", key), select))
    search = element("input", type="search", data_filter="text", placeholder="words", size=12)
    fields.append(element("label", element("span", "text"), search))
    return element(
        "form",
        *fields,
        element("button", "Reset", type="reset"),
        element("output", class_="shown", role="status"),
        class_="filters",
        data_for=name,
        aria_label=f"Filter {name}",
    )


def claims(verdicts: pd.DataFrame) -> Html:
    """HTML of every claim with its verdict under the headline, and what decides."""
    rows = verdicts[(verdicts["kind"] == "claim") & verdicts["headline"]]
    form = filters("claim-list", {"study": rows["study"], "verdict": CLAIM_WORDS})
    items = [_claim(row) for row in rows.itertuples()]
    return join([form, element("ul", *items, id="claim-list", class_="claims")])


def _claim(row: Any) -> Html:
    facts = [row.place, study_name(row.study)]
    if row.verdict != "not run":
        facts.append(f"{row.held} of {row.judged} cases")
    beside = [
        element("span", f"{name}: ", chip(getattr(row, column)), class_="beside")
        for column, name in BESIDE.items()
        if getattr(row, column, "") and name != row.protocol
    ]
    texts = {
        "No data": row.missing,
        "Decides": row.numbers,
        "Beside": row.reason,
        "Holds at": row.holds_at,
        "Fails at": row.fails_at,
        "Rule": row.rule,
    }
    about = [element("div", element("dt", k), element("dd", v)) for k, v in texts.items() if v]
    inside = [element("dl", *about, class_="about")]
    cases = json.loads(row.cases) if row.cases else []
    inside += [_cases(cases)] if cases else []
    return element(
        "li",
        element("p", chip(row.verdict), " ", row.says, class_="says"),
        element("p", " · ".join(facts), class_="meta"),
        element("p", "Elsewhere: ", *beside, class_="meta") if beside else "",
        element("details", element("summary", "what decides"), *inside),
        data_study=row.study,
        data_verdict=row.verdict,
        id=f"claim-{row.id}",
    )


def _cases(cases: Sequence[Mapping[str, Any]]) -> Html:
    """All cases of a claim, as a table."""
    keys = list(dict.fromkeys(key for case in cases for key in case["where"]))
    names = list(dict.fromkeys(key for case in cases for key in case["numbers"]))
    sides = {"a": "left side", "b": "right side"} if "b" in names else {"a": "value"}
    heads = ["", *keys, *(sides.get(name, name) for name in names)]
    titles = [element("th", head, scope="col") for head in heads]
    lines = []
    for case in cases:
        word = chip("holds" if case["holds"] else "fails")
        where = [label(_text(case["where"].get(key, ""))) for key in keys]
        found = [_text(case["numbers"].get(key, "")) for key in names]
        cells = [element("td", text) for text in (*where, *found)]
        lines.append(element("tr", element("td", word), *cells))
    table = element("table", element("thead", element("tr", *titles)), element("tbody", *lines))
    return element("div", table, class_="scroll")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return rounded(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


def tolerances(table: pd.DataFrame) -> Html:
    """HTML of the verdicts on claims with half and twice their tolerances."""
    if table.empty:
        return Html("")
    shown = for_readers(table)
    heads = [element("th", str(name), scope="col") for name in shown]
    lines = [
        element("tr", *(element("td", rich(str(cell))) for cell in row))
        for row in shown.itertuples(index=False)
    ]
    body = element("table", element("thead", element("tr", *heads)), element("tbody", *lines))
    return element(
        "details",
        element("summary", sentence(table)),
        element("div", body, class_="scroll"),
        id="tolerances",
    )


def numbers(verdicts: pd.DataFrame, headline: str) -> Html:
    """HTML of every number of the paper beside ours, under each protocol."""
    rows = verdicts[verdicts["kind"] == "number"]
    choices: dict[str, Iterable[str]] = {
        name: rows[name].unique() for name in ("study", "dataset", "metric", "method")
    }
    choices |= {"verdict": NUMBER_WORDS, "protocol": rows["protocol"].unique()}
    form = filters("number-table", choices, protocol=headline)
    heads = [
        element("th", element("button", head, type="button") if head else "", scope="col")
        for head in HEADS
    ]
    lines = [_number(place, row) for place, row in enumerate(rows.itertuples())]
    table = element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *lines),
        id="number-table",
        class_="sortable",
    )
    return join(
        [
            form,
            element(
                "div", table, class_="scroll tall", tabindex=0, role="region", aria_label="Numbers"
            ),
        ]
    )


def _number(place: int, row: Any) -> Html:
    # data-value has the key to sort by, where the text would not do
    change = "–" if pd.isna(row.difference) else f"{row.difference:+.3g}"
    cells = [
        element("td", chip(row.verdict), data_value=NUMBER_WORDS.index(row.verdict)),
        element("td", element("button", "why", type="button", class_="why", data_row=place)),
        *(element("td", label(name)) for name in (row.dataset, row.metric, row.method)),
        _cell(number(row.K), row.K),
        _cell(number(row.h), row.h),
        _cell(with_deviation(row.printed, row.printed_deviation), row.printed, "printed"),
        _cell(with_deviation(row.ours, row.deviation), row.ours, "ours"),
        _cell(change, row.difference),
        *(element("td", text) for text in (row.protocol, study_name(row.study), row.place)),
    ]
    return element(
        "tr",
        *cells,
        data_study=row.study,
        data_dataset=row.dataset,
        data_metric=row.metric,
        data_method=row.method,
        data_verdict=row.verdict,
        data_protocol=row.protocol,
    )


def _cell(text: str, value: Any, kind: str = "") -> Html:
    known = "" if pd.isna(value) else value
    return element("td", text, class_=f"number {kind}".strip(), data_value=known)


def number_details(verdicts: pd.DataFrame) -> list[list[Any]]:
    """Details of numbers that the page shows on demand: :data:`DETAILS` of each row."""
    rows = verdicts[verdicts["kind"] == "number"]
    plain = rows[list(DETAILS)].astype(object)
    values = plain.where(plain.notna(), None).to_numpy().tolist()
    return [[_finite(value) for value in line] for line in values]


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def differences(table: pd.DataFrame) -> Html:
    """HTML of the register: what text, code and pipeline do, and what it changes."""
    items = []
    for name, effects in table.groupby("id", sort=False):
        first = effects.iloc[0]
        ways = {"Text": first["text"], "Published code": first["code"], "Here": first["here"]}
        about = [element("div", element("dt", k), element("dd", rich(v))) for k, v in ways.items()]
        measured = [_effect(effect) for effect in effects.itertuples()]
        items.append(
            element(
                "li",
                element("h3", str(name).replace("_", " ")),
                element(
                    "p",
                    f"{study_name(first['study'])} · matters for {first['matters']}",
                    class_="meta",
                ),
                element("dl", *about, class_="about"),
                element("ul", *measured, class_="effects"),
                data_study=first["study"],
            )
        )
    form = filters("difference-list", {"study": table["study"]})
    return join([form, element("ul", *items, id="difference-list", class_="differences")])


def _effect(row: Any) -> Html:
    if row.state != "measured":
        about = f"{row.effect_on}: " if isinstance(row.effect_on, str) else ""
        return element("li", f"{about}{row.state}")
    shared = "" if bool(row.alone) else ", together with other differences"
    extent = (
        f" (from {rounded(row.lowest)} to {rounded(row.highest)}, {int(row.cases)} cases{shared})"
    )
    return element(
        "li",
        f"{row.effect_on}: ",
        element("strong", rounded(row.mean)),
        extent,
        element("details", element("summary", "how measured"), f"{row.query}. {row.by_dataset}"),
    )
