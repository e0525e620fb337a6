"""The page, assembled from its parts."""

from __future__ import annotations

__all__ = ["MOST", "build"]

import base64
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from vwta.io.storage import atomic
from vwta.paper.methods import METHODS
from vwta.paper.page import answers, score
from vwta.paper.page.contents import Contents, parts
from vwta.paper.page.gallery import study_section
from vwta.paper.page.sources import citation, provenance_section
from vwta.paper.problems import PROBLEMS
from vwta.paper.studies import STUDIES
from vwta.web import pages
from vwta.web.markup import Html, as_json, element, join
from vwta.web.pages import script_hash

MOST = 20 * 10**6  # bytes of a page
SCRIPTS = ("explorer.js", "tables.js", "page.js")
NO_PREDICTIONS = (
    "There are no exported predictions here. The workflow makes them from trained networks: "
    "`make reproduce TIER=quick` at small scale, whose page is results/quick/report/index.html; "
    "`make publish` puts those of a full run beside its metrics."
)


def build(contents: Contents, path: Path) -> None:
    """Writes the page.

    Arguments:
        contents: what it shows.
        path: file to write.
    """
    text = render(contents)
    size = len(text.encode())
    if size > MOST:
        raise ValueError(
            f"the page would have {size} bytes, more than {MOST}. Remedy: fewer figures, or fewer "
            "inputs or K in `explorer` of the configuration"
        )
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def render(contents: Contents) -> str:
    """The page as HTML."""
    origin = parts(contents.metrics)
    theme = pages.asset("theme.js")
    scripts = "\n".join([pages.asset("geometry.js"), *map(_asset, SCRIPTS)])
    studies = [study_section(contents, study, origin) for study in STUDIES]
    sections = {
        "facts": score.facts_of_run(contents),
        "score": score.score(contents.verdicts, contents.headline, contents.findings),
        "claims": answers.claims(contents.verdicts),
        "tolerances": answers.tolerances(contents.tolerances),
        "numbers": answers.numbers(contents.verdicts, contents.headline),
        "headline": element("code", contents.headline),
        "studies": join(studies),
        "differences": answers.differences(contents.differences),
        "provenance": provenance_section(contents, origin),
        "citation": citation(contents.citation),
        "explorer": _explorer(contents.explorer),
        "graph": _graph(contents.graph),
        "data": as_json(_data(contents, origin)),
        "style": Html(_asset("page.css")),
        "theme": Html(theme),
        "scripts": Html(scripts),
        "hashes": Html(f"{script_hash(theme)} {script_hash(scripts)}"),
    }
    return Template(_asset("page.html")).substitute(sections)


def _data(contents: Contents, origin: list[dict[str, Any]]) -> dict[str, Any]:
    """Data of the page's scripts."""
    titles = {name: problem.title for name, problem in PROBLEMS.items()}
    return {
        "details": answers.DETAILS,
        "numbers": answers.number_details(contents.verdicts),
        "parts": origin,
        "titles": {**titles, **{name: look.label for name, look in METHODS.items()}},
        "colours": {name: look.color for name, look in METHODS.items()},
        "headline": contents.headline,
    }


def _explorer(path: Path | None) -> Html:
    if path is None:
        return element("p", NO_PREDICTIONS, id="no-predictions", class_="warning")
    content = base64.b64encode(path.read_bytes()).decode()
    store = element("script", Html(content), type="application/octet-stream", id="predictions")
    return join([Html(_asset("explorer.html")), store])


def _graph(path: Path | None) -> Html:
    """The graph of rules, whose file is SVG without scripts."""
    if path is None:
        return Html("")
    svg = base64.b64encode(path.read_bytes()).decode()
    image = element(
        "img",
        src=f"data:image/svg+xml;base64,{svg}",
        alt="Rules of the workflow and what they read from each other",
    )
    return element(
        "figure",
        element("button", image, type="button", class_="zoom", aria_label="Enlarge: rule graph"),
        element(
            "figcaption",
            element("strong", "Rules of the workflow. "),
            "An arrow leads from a rule to those that read its outcome.",
        ),
        id="rule-graph",
    )


def _asset(name: str) -> str:
    return files("vwta.paper.page").joinpath("assets", name).read_text(encoding="utf-8")
