"""The overview of the published runs: verdicts, tables, figures and costs on one page."""

from __future__ import annotations

__all__ = ["OF_TODAY", "overview", "pages", "tolerances"]

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from vwta.io.provenance import provenance
from vwta.paper.studies import STUDIES
from vwta.paper.tables import to_markdown
from vwta.paper.verdicts.summary import (
    by_standard_errors,
    classes,
    counts,
    on_larger_test_set,
    without_verdict,
)
from vwta.paper.verdicts.table import Verdicts
from vwta.paper.verdicts.tolerances import for_readers, sentence

INTRODUCTION = """\
# Published runs

`make publish` writes this page from the tables in this folder; edits are lost. Each study's own
README discusses its numbers. `make report` makes a page with every number and its verdict, in a
minute.
"""
TOLERANCES = "tolerances.md"
OF_TODAY = "## Of today's code?"


def pages(verdicts: Verdicts, folder: Path, verified: str) -> dict[str, str]:
    """The pages about published results, by the names of their files; the overview is the last.

    Arguments:
        verdicts: all verdicts by the tables in the folder.
        folder: the published results, a folder for each study.
        verified: what `make verify` says of the tables.
    """
    text = overview(verdicts, folder) + of_today(verified)
    return {TOLERANCES: tolerances(verdicts), "README.md": text}


def overview(verdicts: Verdicts, folder: Path) -> str:
    """The overview of published results and their verdicts, as markdown.

    Arguments:
        verdicts: all verdicts by the tables in the folder.
        folder: the published results, a folder for each study.
    """
    studies = [name for name in STUDIES if (folder / name / "provenance.json").exists()]
    headline = verdicts.table[verdicts.table["headline"]]
    numbers, claims = (headline[headline["kind"] == kind] for kind in ("number", "claim"))
    parts = [
        INTRODUCTION.rstrip(),
        "## Does the paper reproduce?",
        f"Judged under the protocol `{verdicts.headline}`, which follows the paper's text; "
        "[verdicts.md](../verdicts.md) has the rule. The paper's numbers:",
        to_markdown(counts(numbers, "number")),
        "The same numbers by the first reading of the paper that reproduces them: every sentence "
        "of the text (`literal`), training until convergence as the text says too (`paper`), or "
        "the published code (`released`). A number that none of them reproduces, but that is "
        "better than printed under `paper`, is counted apart:",
        to_markdown(classes(numbers)),
        on_larger_test_set(verdicts.table),
        "Printed standard deviations are those over splits, which are wide, and the splits are the "
        "paper's own. By two standard errors in place of one standard deviation the verdicts are:",
        to_markdown(by_standard_errors(verdicts.table)),
        "Numbers without a verdict:",
        to_markdown(without_verdict(numbers)),
        "Its claims in words:",
        to_markdown(counts(claims, "claim")),
        f"{sentence(verdicts.tolerances)} [{TOLERANCES}]({TOLERANCES}) lists them.",
        "## Claims that do not hold throughout",
        "Beside our verdict stand those on the paper's own numbers, and on Lloyd's optimum in "
        "place of trained hypotheses, as far as there are any. A claim that the optimum fails is "
        "about our bound.",
        to_markdown(_doubtful(claims)),
        "## Runs",
        to_markdown(pd.DataFrame([_run(folder / name) for name in studies])),
    ]
    for name in studies:
        parts += _study(folder, name)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def tolerances(verdicts: Verdicts) -> str:
    """Verdicts on claims with half and twice their tolerances, as a page of markdown."""
    return f"""\
# Tolerances of claims

`make publish` writes this page beside [README.md](README.md). {sentence(verdicts.tolerances)}
They come first. The counts are those of the cases that hold.

{to_markdown(for_readers(verdicts.tolerances)).strip()}
"""


def of_today(verified: str) -> str:
    """The end of the page: which tables were of other code when it was written, as markdown.

    Arguments:
        verified: what `make verify` says of the tables.
    """
    made = provenance()
    return f"""
{OF_TODAY}

`make verify` compares the code, configuration and data that each table names with today's. A table
is stale if code behind one of its parts has changed since, in more than comments. Changes that
`make adopt` showed to change no bits do not count; of all others nothing is claimed, neither that
the numbers would change nor that they would not. Two protocols had other names when some parts were
made: `improved` is now `ours` in the UCI study and `paper` in the others, and `spread` is now
`k_means_plus_plus`. On {made["made"][:10]}, at revision {made["revision"][:7]}, it said:

```
{verified}
```
"""


def _doubtful(claims: pd.DataFrame) -> pd.DataFrame:
    """Claims that fail, then those that hold in some cases only, the rarest first."""
    words = ("fails", "rarely", "mixed", "mostly")
    rows = pd.concat([claims[claims["verdict"] == word] for word in words])
    return pd.DataFrame(
        {
            "study": rows["study"],
            "verdict": rows["verdict"],
            "holds in": [f"{row.held} of {row.judged}" for row in rows.itertuples()],
            "print": rows["under_printed"].replace("not run", ""),
            "optimum": rows["under_optimum"].replace("not run", ""),
            "claim": rows["says"],
            "where": rows["place"],
        }
    )


def _run(folder: Path) -> dict[str, Any]:
    """Tier, cost, hardware and revisions of a study's run."""
    record = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    hours = sum(kind["cpu_hours"] for kind in record["cost"].values())
    return {
        "study": f"[{folder.name}]({folder.name}/README.md)",
        "tier": record["tier"],
        "CPU hours": f"{hours:.1f}",
        "processor": ", ".join(record["processor"]),
        "revisions": ", ".join(sorted({name[:7] for name in record["revision"]})),
    }


def _study(folder: Path, study: str) -> Iterator[str]:
    """Tables and figures of a study."""
    yield f"## {STUDIES[study].heading}"
    for name in STUDIES[study].tables:
        path = folder / study / "tables" / f"{name}.md"
        if path.exists():
            yield path.read_text(encoding="utf-8")
    for name in STUDIES[study].figures:
        path = folder / study / "figures" / f"{name}.png"
        if path.exists():
            yield f"![{name}]({path.relative_to(folder).as_posix()})"
    for kind, suffix in (("tables", ".md"), ("figures", ".png")):
        files = sorted((folder / study / kind).glob(f"*{suffix}"))
        if files:
            links = (f"[{file.stem}]({file.relative_to(folder).as_posix()})" for file in files)
            yield f"All {kind}: {', '.join(links)}."
