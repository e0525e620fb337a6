"""Figures and tables of each study, with where they come from."""

from __future__ import annotations

__all__ = ["embed", "study_section"]

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from vwta.paper.page.contents import Contents, Picture, Sheet
from vwta.paper.page.words import chip, named, short, study_name
from vwta.paper.studies import STUDIES
from vwta.web.markup import Html, element, join, rich

COLOURS = 256  # of a picture in the page


def study_section(contents: Contents, study: str, parts: Sequence[Mapping[str, Any]]) -> Html:
    """HTML of all figures and tables of a study.

    Arguments:
        contents: what the page shows.
        study: name of the study.
        parts: see :func:`vwta.paper.page.contents.parts`.
    """
    pictures = [one for one in contents.pictures if one.study == study]
    known = (None, contents.headline)  # whose figures come first
    pictures.sort(key=lambda one: one.labels.get("protocol") not in known)
    sheets = [one for one in contents.sheets if one.study == study]
    first = STUDIES[study].tables  # as in the overview
    sheets.sort(key=lambda one: not one.name.endswith(f"_{contents.headline}"))
    sheets.sort(key=lambda one: first.index(one.name) if one.name in first else len(first))
    inside = [element("h3", f"{study_name(study)} study", id=f"study-{study}")]
    if not pictures and not sheets:
        inside.append(element("p", "No figures or tables yet.", class_="meta"))
    drawn = [_figure(one, contents.options, parts) for one in pictures]
    inside += [element("div", *drawn, class_="gallery")] if drawn else []
    inside += [_sheet(one, _judged(one, contents.verdicts)) for one in sheets]
    return element("section", *inside, class_="study")


def _figure(picture: Picture, options: str, parts: Sequence[Mapping[str, Any]]) -> Html:
    title = _title(picture)
    image = element("img", src=embed(picture.path), alt=title, loading="lazy")
    zoom = element(
        "button", image, type="button", class_="zoom", aria_label=f"Enlarge figure: {title}"
    )
    late = element("p", "This figure is older than its numbers.", class_="warning")
    return element(
        "figure",
        zoom,
        element(
            "figcaption",
            element("strong", f"{title}. "),
            rich(picture.caption),
            late if picture.outdated else "",
            _origin(picture, options, parts),
        ),
        id=f"figure-{picture.name}",
    )


def _title(picture: Picture) -> str:
    """The title of a figure, or else its name, with the labels that distinguish it."""
    title = picture.title
    if not title:
        words = picture.name.removeprefix(f"{picture.study}_")
        for value in picture.labels.values():
            words = words.removesuffix(f"_{value}")
        title = named(words)
    return (
        title[:1].upper()
        + title[1:]
        + "".join(f", {key} {value}" for key, value in picture.labels.items())
    )


def _origin(picture: Picture, options: str, parts: Sequence[Mapping[str, Any]]) -> Html:
    """How to make a figure again, and from what it was made."""
    if not picture.rule:
        return element("p", "The workflow no longer draws this figure.", class_="warning")
    command = f"snakemake --force {options}-- {picture.target}"
    revisions = _revisions(picture.inputs, parts)
    rows = {
        "Command": element("code", command, class_="command"),
        "Rule": element("code", picture.rule),
        "Inputs": join(element("code", name, class_="path") for name in picture.inputs),
        "Revision of the inputs": ", ".join(map(short, revisions)) or "not recorded here",
    }
    about = [element("div", element("dt", k), element("dd", v)) for k, v in rows.items()]
    return element(
        "details", element("summary", "how it was made"), element("dl", *about, class_="about")
    )


def _revisions(inputs: Sequence[str], parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Revisions that made the tables among some files."""
    tables = {(Path(name).parts[-3], Path(name).stem) for name in inputs if "/metrics/" in name}
    return sorted(
        {
            part["revision"]
            for part in parts
            if (part["study"], part["table"]) in tables and part["revision"]
        }
    )


def embed(path: Path) -> str:
    """A picture as an address in HTML that holds it, in a palette if that takes less."""
    content = path.read_bytes()
    with Image.open(path) as image:
        flat = Image.new("RGB", image.size, "white")
        flat.paste(image, mask=image.convert("RGBA").getchannel("A"))
        buffer = io.BytesIO()
        flat.quantize(COLOURS, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    smaller = min(content, buffer.getvalue(), key=len)
    return "data:image/png;base64," + base64.b64encode(smaller).decode()


Place = tuple[str, str]
"""Headings of a cell's line and of its column."""


def _judged(sheet: Sheet, verdicts: pd.DataFrame) -> dict[Place, str]:
    """Verdicts on those numbers of a table that have a printed one beside them."""
    numbers = pd.read_csv(io.StringIO(sheet.csv)) if sheet.csv else pd.DataFrame()
    if not {"line", "column", "difference"} <= set(numbers.columns):
        return {}
    keys = ["protocol", "dataset", "metric", "method", "K", "h"]
    numbers = numbers[numbers["difference"].notna()].assign(h=numbers.get("h"))
    found = verdicts[(verdicts["kind"] == "number") & (verdicts["study"] == sheet.study)]
    found = found.assign(dataset=found["measured_on"])[[*keys, "verdict"]]
    for table in (numbers, found):
        table[["K", "h"]] = table[["K", "h"]].astype(float)
    both = numbers.merge(found, on=keys)
    return dict(zip(zip(both["line"], both["column"], strict=True), both["verdict"], strict=True))


def _with_verdicts(sheet: Sheet, verdicts: Mapping[Place, str]) -> list[list[str]]:
    """Lines of a table; below what belongs together, one with verdicts if there are any."""
    lines: list[list[str]] = []
    title = ""
    for number, row in enumerate(sheet.rows):
        title = row[0] or title
        lines.append([rich(cell) for cell in row])
        if number + 1 == len(sheet.rows) or sheet.rows[number + 1][0]:
            words = [verdicts.get((title, head)) for head in sheet.heads[2:]]
            chips = [chip(word) if word else "" for word in words]
            lines += [["", "verdict", *chips]] if any(chips) else []
    return lines


def _sheet(sheet: Sheet, verdicts: Mapping[Place, str]) -> Html:
    heads = [
        element("th", element("button", head, type="button"), scope="col") for head in sheet.heads
    ]
    lines = [
        element("tr", *(element("td", cell) for cell in row))
        for row in _with_verdicts(sheet, verdicts)
    ]
    table = element(
        "table", element("thead", element("tr", *heads)), element("tbody", *lines), class_="sheet"
    )
    inside = [
        element("div", table, class_="scroll", tabindex=0, role="region", aria_label=sheet.caption)
    ]
    inside += [element("p", rich(note), class_="meta") for note in sheet.notes]
    if sheet.csv:
        address = "data:text/csv;base64," + base64.b64encode(sheet.csv.encode()).decode()
        inside.append(
            element(
                "p", element("a", "All digits as csv", href=address, download=f"{sheet.name}.csv")
            )
        )
    return element(
        "details",
        element("summary", sheet.caption, " ", element("code", sheet.name)),
        *inside,
        class_="sheet-box",
        id=f"table-{sheet.name}",
    )
