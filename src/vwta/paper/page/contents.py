"""Contents of a page, gathered from files."""

from __future__ import annotations

__all__ = ["Contents", "Picture", "Sheet", "findings", "gather", "parts", "read_sheet"]

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from vwta.io.storage import read_metadata, read_table
from vwta.paper.studies import study_of

FACTS = ("revision", "code", "data", "made", "processor", "accelerator", "python", "cpu_seconds")
TRAINED = ("revision", "code", "processor", "made")


@dataclass(frozen=True)
class Picture:
    """A figure on the page.

    Attributes:
        path: of the picture, a PNG.
        title: what it is, in few words.
        labels: what tells it from others of its kind, such as its protocol.
        caption: what it shows.
        rule: the rule that draws it.
        inputs: files that it is drawn from.
        target: the file by which the workflow knows it.
        outdated: whether newer numbers are there than it shows.
    """

    path: Path
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    caption: str = ""
    rule: str = ""
    inputs: Sequence[str] = ()
    target: str = ""
    outdated: bool = False

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def study(self) -> str:
        return study_of(self.path.name)


@dataclass(frozen=True)
class Sheet:
    """A table on the page.

    Attributes:
        name: of its file.
        study: which it belongs to.
        caption: what it shows.
        heads: headings of its columns.
        rows: cells, in which `**` marks what is bold.
        notes: sentences below it.
        csv: all its numbers, as the content of a file; empty if there is none.
    """

    name: str
    study: str
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    csv: str = ""


@dataclass(frozen=True)
class Contents:
    """All that a page shows.

    Attributes:
        verdicts: see :data:`vwta.paper.verdicts.table.COLUMNS`.
        differences: see :data:`vwta.paper.verdicts.differences.COLUMNS`.
        tiers: the tier that each study's numbers come from.
        headline: the protocol of the headline.
        record: how the verdicts came about.
        metrics: tables of metrics.
        pictures: figures.
        sheets: tables for readers.
        options: arguments with which the workflow makes these results.
        verified: which tables are of other code, configuration or data than today's, in lines of
            which the last one sums up; empty if nobody has asked.
        explorer: predictions for the explorer, None if there are none.
        graph: picture of the rules, None if there is none.
        citation: how to cite, a file in the citation file format.
        tolerances: see :data:`vwta.paper.verdicts.tolerances.COLUMNS`.
        findings: what README.md says was found, a text for each finding; none for other runs.
    """

    verdicts: pd.DataFrame
    differences: pd.DataFrame
    tiers: Mapping[str, str]
    headline: str
    record: Mapping[str, Any]
    metrics: Sequence[Path]
    pictures: Sequence[Picture]
    sheets: Sequence[Sheet]
    citation: Path
    tolerances: pd.DataFrame
    findings: Sequence[str] = ()
    options: str = ""
    verified: str = ""
    explorer: Path | None = None
    graph: Path | None = None


def gather(
    verdicts: Path,
    differences: Path,
    tolerances: Path,
    metrics: Sequence[Path],
    figures: Sequence[Mapping[str, Any]],
    tables: Sequence[Path],
    citation: Path,
    readme: Path | None = None,
    options: str = "",
    verified: str = "",
    explorer: Path | None = None,
    graph: Path | None = None,
) -> Contents:
    """Reads what a page shows.

    Arguments:
        verdicts: table of verdicts, parquet.
        differences: the register, csv.
        tolerances: verdicts on claims with other tolerances, csv.
        metrics: tables of metrics.
        figures: facts about figures, fields of :class:`Picture`.
        tables: tables for readers, markdown; a csv of the same name is taken along.
        citation: see :class:`Contents`, as are the others.
        readme: README.md, if its findings are about what the page shows.
    """
    facts = read_metadata(verdicts)
    return Contents(
        verdicts=read_table(verdicts),
        differences=pd.read_csv(differences),
        tiers=facts["tiers"],
        headline=facts["headline"],
        record=facts["provenance"],
        metrics=metrics,
        pictures=[Picture(**{**one, "path": Path(one["path"])}) for one in figures],
        sheets=[read_sheet(path) for path in tables],
        citation=citation,
        tolerances=pd.read_csv(tolerances),
        findings=findings(readme.read_text(encoding="utf-8")) if readme else (),
        options=options,
        verified=verified,
        explorer=explorer,
        graph=graph,
    )


def findings(readme: str) -> list[str]:
    """The findings that README.md lists, for the page: texts without links.

    Example:
        >>> findings("## What we found\\n\\n* **One** ([a](b)),\\n  a [c](d).\\n\\n## Speed\\n")
        ['**One**, a c.']
    """
    part = readme.partition("## What we found\n")[2].partition("\n## ")[0]
    items = re.findall(r"^\* (.*(?:\n  .*)*)", part, re.MULTILINE)
    texts = (re.sub(r" \(\[[^]]+\]\([^)]*\)\)", "", " ".join(one.split())) for one in items)
    return [re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", one) for one in texts]


def read_sheet(path: Path) -> Sheet:
    """Reads a table for the page as :mod:`vwta.paper.tables` writes it, in markdown."""
    lines = path.read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    if len(table) < 2:
        raise ValueError(f"{path}: no table in it. Remedy: make it again with the workflow")
    heads, _, *rows = ([cell.strip() for cell in line[1:-1].split(" | ")] for line in table)
    first = lines.index(table[0])
    caption = " ".join(lines[:first]).strip().strip("*")
    numbers = path.with_suffix(".csv")
    return Sheet(
        name=path.stem,
        study=study_of(path.name),
        caption=caption or path.stem.replace("_", " "),
        heads=heads,
        rows=rows,
        notes=[line for line in lines[first + len(table) :] if line.strip()],
        csv=numbers.read_text(encoding="utf-8") if numbers.exists() else "",
    )


def parts(metrics: Sequence[Path]) -> list[dict[str, Any]]:
    """Records on the page of where rows of metrics come from, one for each part of a table.

    Trainings are counted, not listed: each of their facts is told once.
    """
    found = []
    for path in metrics:
        study = (path.parent.parent if path.parent.name == "metrics" else path.parent).name
        table = read_table(path)
        measured = sorted(table["metric"].unique()) if "metric" in table else []
        for name, part in read_metadata(path).get("parts", {}).items():
            record = part.get("provenance", {})
            trainings = record.get("trainings", [])
            found.append(
                {
                    "study": study,
                    "table": path.stem,
                    "file": name.partition(" ")[0],
                    "metrics": measured,
                    **{key: value for key, value in part["rows"].items() if key != "count"},
                    "rows": part["rows"]["count"],
                    **{key: record.get(key) for key in FACTS},
                    "packages": _packages(record),
                    "trainings": len(trainings),
                    "trained": {key: _once(trainings, key) for key in TRAINED},
                }
            )
    return found


def _packages(record: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in record.get("packages", {}).items())


def _once(records: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return sorted({str(record[key]) for record in records if record.get(key) is not None})
