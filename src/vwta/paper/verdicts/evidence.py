"""Measured numbers of all studies: the tables that verdicts are based on, as one tidy table.

Beside the columns of :mod:`vwta.paper.metrics` it has `table`, the file a number is from. Files
that are not tidy by themselves come in as

| metric | method | from |
|---|---|---|
| `nll_validation` | of the search | NLL of the validation rows at a bandwidth that a search met |
| `rows`, `inputs` | `data` | sizes of the UCI data sets |
| `settled_distance`, `settled_score` | `wta` | epoch from which a part of the loss hardly changes |
| `lone_hypothesis` | `wta` | predictions, see :mod:`vwta.paper.verdicts.placement` |
"""

from __future__ import annotations

__all__ = ["COLUMNS", "find", "read", "settled", "tiers_of"]

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vwta.io.storage import read_table
from vwta.paper.metrics import COLUMNS as TIDY
from vwta.paper.metrics import tidy
from vwta.paper.studies import HEADLINE, STUDIES
from vwta.paper.verdicts.placement import distances

COLUMNS = {**TIDY, "table": "str"}
PREDICTIONS = "explorer.safetensors"  # of the synthetic study
SETTLED = 0.05  # part of the whole change that is left at most once a curve has settled


def find(folder: Path) -> list[Path]:
    """Files that verdicts rest on, in a folder of results or of published ones.

    These are tables of metrics, and predictions of the synthetic study if there are any.

    Arguments:
        folder: has `<study>/metrics/*.parquet` (results of a tier) or `<study>/*.parquet`
            (docs/results).
    """
    found = []
    for study, facts in STUDIES.items():
        place = folder / study / "metrics"
        place = place if place.is_dir() else folder / study
        found += [path for path in sorted(place.glob("*.parquet")) if path.stem in facts.metrics]
        found += [path for path in (folder / study).glob(PREDICTIONS) if found]
    if not found:
        raise FileNotFoundError(
            f"{folder}: no tables of metrics, neither {folder}/<study>/metrics/*.parquet nor "
            f"{folder}/<study>/*.parquet with a study of {', '.join(STUDIES)}. Remedy: name a "
            "folder such as results/full or docs/results, or run the pipeline first"
        )
    return found


def tiers_of(folder: Path) -> dict[str, str]:
    """The tier that the numbers of each study come from, on which verdicts rest.

    It is what the study's record says, or the folder's name.
    """
    tiers = {}
    for study in filter(lambda name: (folder / name).is_dir(), STUDIES):
        record = folder / study / "provenance.json"
        known = _json(record) if record.exists() else {}
        tiers[study] = str(known.get("tier", folder.resolve().name))
    return tiers


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}. Remedy: publish the study again") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is JSON of another kind. Remedy: publish the study again")
    return content


def read(files: Iterable[Path]) -> pd.DataFrame:
    """All rows of the files of :func:`find`, with :data:`COLUMNS`."""
    tables = [_read_one(path) for path in files]
    empty = tidy([]).assign(table="").astype(COLUMNS)
    return pd.concat([empty, *tables], ignore_index=True).astype(COLUMNS)


def _read_one(path: Path) -> pd.DataFrame:
    study = (path.parent.parent if path.parent.name == "metrics" else path.parent).name
    if path.name == PREDICTIONS:
        return tidy(distances(path), study=study).assign(table=f"{study}/{path.stem}")
    table, name = read_table(path), path.stem
    if name == "searches":
        table = _of_searches(table, study)
    elif name == "sizes":
        table = _of_sizes(table, study)
    elif name == "curves":
        table = _of_curves(table, study)
    unknown = table.columns.difference(list(TIDY)).tolist()
    if unknown:
        raise ValueError(
            f"{path}: unknown columns {unknown}, expected some of {list(TIDY)}. Remedy: name "
            "tables of metrics only"
        )
    return table.assign(table=f"{study}/{name}")


def _of_searches(table: pd.DataFrame, study: str) -> pd.DataFrame:
    rows = table.drop(columns=["chosen", "border"]).rename(columns={"nll": "value"})
    rows = rows.assign(study=study, metric="nll_validation", tuned=False)
    return rows.reindex(columns=list(TIDY)).astype(TIDY)


def _of_sizes(table: pd.DataFrame, study: str) -> pd.DataFrame:
    rows = table.melt("dataset", ["rows", "inputs"], "metric", "value")
    # No protocol changes them.
    rows = rows.assign(study=study, protocol=HEADLINE, method="data", tuned=False)
    return rows.reindex(columns=list(TIDY)).astype(TIDY)


def _of_curves(table: pd.DataFrame, study: str) -> pd.DataFrame:
    """Rows of when the distance to the winner, and the scores' part of the loss, have settled."""
    keys = ["protocol", "dataset", "model", "K", "seed"]
    rows: list[dict[str, object]] = []
    if "distance" not in table:
        return tidy(rows)
    for values, curve in table[table["distance"].notna()].groupby(keys):
        where = dict(zip(keys, values, strict=True))
        where["method"] = where.pop("model")
        curve = curve.sort_values("epoch")
        distance = curve["distance"].to_numpy(float)
        parts = {"distance": distance, "score": curve["loss"].to_numpy(float) - distance}
        rows += [
            {**where, "metric": f"settled_{name}", "value": settled(part), "n": len(part)}
            for name, part in parts.items()
        ]
    return tidy(rows, study=study)


def settled(values: np.ndarray) -> int:
    """Evidence of convergence: the epoch, from 1, after which a curve is close to its last value.

    Close means within :data:`SETTLED` of the distance between its first and its last value.

    Example:
        >>> settled(np.array([10.0, 5.0, 1.0, 1.2, 1.0]))
        3
    """
    far = np.abs(values - values[-1]) > SETTLED * abs(values[0] - values[-1])
    return int(np.flatnonzero(far).max(initial=-1)) + 2
