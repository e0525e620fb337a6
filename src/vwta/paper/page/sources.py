"""Where numbers come from, and how to cite."""

from __future__ import annotations

__all__ = ["bibtex", "citation", "provenance_section"]

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vwta.paper.collection import cost
from vwta.paper.page.contents import Contents
from vwta.paper.page.words import short, study_name
from vwta.web.markup import Html, element, join

HEADS = ("Study", "Table", "File", "Rows", "Made", "Revision", "Code", "Trainings", "Processor")


def provenance_section(contents: Contents, parts: Sequence[Mapping[str, Any]]) -> Html:
    """HTML of every part of every table of metrics, and of what jobs took."""
    lines = []
    for part in parts:
        texts = [study_name(part["study"]), part["table"], part["file"]]
        texts += [str(part["rows"]), (part["made"] or "")[:16].replace("T", " ")]
        texts += [short(part["revision"] or ""), part["code"] or "", str(part["trainings"])]
        cells = [element("td", text) for text in [*texts, part["processor"] or ""]]
        lines.append(element("tr", *cells))
    heads = [element("th", element("button", head, type="button"), scope="col") for head in HEADS]
    table = element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *lines),
        class_="sortable",
    )
    box = element(
        "div",
        table,
        class_="scroll tall",
        tabindex=0,
        role="region",
        aria_label="Parts of the tables of metrics",
    )
    today = _of_today(contents.verified)
    return join([today, _costs(contents.metrics), element("h3", "Parts of the tables"), box])


def _of_today(verified: str) -> Html:
    """Whether the numbers are those of the code that makes the page."""
    if not verified:
        return Html("")
    *lines, end = verified.splitlines()
    summary = f"Compared with the code, configuration and data of this page's revision: {end}"
    return element("details", element("summary", summary), element("pre", "\n".join(lines)))


def _costs(metrics: Sequence[Path]) -> Html:
    lines = [
        element(
            "tr",
            element("th", kind, scope="row"),
            element("td", str(found["files"]), class_="number"),
            element("td", f"{found['cpu_hours']:.3f}", class_="number"),
        )
        for kind, found in cost(metrics).items()
    ]
    heads = [element("th", head, scope="col") for head in ("Kind of job", "Jobs", "CPU hours")]
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *lines))
    return element(
        "details", element("summary", "Cost of the jobs"), element("div", table, class_="scroll")
    )


def citation(path: Path) -> Html:
    """HTML of how to cite the paper and the software."""
    import yaml

    cited = yaml.safe_load(path.read_text(encoding="utf-8"))
    paper = cited["preferred-citation"]
    names = [f"{one['given-names']} {one['family-names']}" for one in paper["authors"]]
    text = (
        f"{', '.join(names)}. {paper['title']}. {paper['collection-title']}, "
        f"{paper['publisher']['name']} {paper['volume']}, {paper['year']}."
    )
    software = f"{cited['title']}, version {cited['version']}. {cited['license']} licence."
    return join(
        [
            element("p", "The paper: ", text),
            element("pre", element("code", bibtex(paper), class_="command")),
            element("p", "This software: ", software),
        ]
    )


def bibtex(paper: Mapping[str, Any]) -> str:
    """An entry of the citation file format as BibTeX, for the page."""
    names = [f"{one['family-names']}, {one['given-names']}" for one in paper["authors"]]
    key = f"{paper['authors'][0]['family-names'].lower()}{paper['year']}"
    fields = {
        "title": f"{{{paper['title']}}}",
        "author": " and ".join(names),
        "booktitle": paper["collection-title"],
        "series": f"PMLR {paper['volume']}",
        "year": paper["year"],
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@inproceedings{{{key},\n{lines}}}"
