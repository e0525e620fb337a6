"""First stage: the table of a data set, checked against the benchmark's."""

from __future__ import annotations

__all__ = ["prepare", "prepare_own"]

from pathlib import Path
from typing import Any

import torch

from vwta.io.errors import BadTable
from vwta.io.provenance import provenance
from vwta.io.storage import sha256, write_tensors
from vwta.paper.uci.datasets import read
from vwta.paper.uci.embedded import diabetes
from vwta.paper.uci.own import read_csv
from vwta.paper.uci.regression import Table, is_discrete


def prepare(
    dataset: str, source: Path | None, rows: int, matrix: str | None, path: Path, code: str
) -> None:
    """Reads a UCI data set and writes it as tensors.

    The file holds `inputs` with shape `(N, d)` and `target` with shape `(N,)`, both float64; its
    metadata name the columns and say whether the target takes few values. Splits are not stored:
    :func:`vwta.paper.uci.datasets.official_splits` gives them.

    Arguments:
        dataset: name of the set.
        source: its official file, None if a package brings it.
        rows: number of rows that it must have.
        matrix: hash of the parsed table, None if it is unknown.
        path: file to write.
        code: digest of the code, for the record.
    """
    table = diabetes(matrix) if source is None else read(dataset, source, matrix)
    if len(table.target) != rows:
        raise BadTable(
            f"{source}: {len(table.target)} rows where {dataset} has {rows}. "
            "Remedy: delete the file and fetch it again"
        )
    data = {"file": sha256(source) if source else None, "matrix": matrix}
    _write(table, path, provenance(code=code, dataset=dataset, data=data))


def prepare_own(source: Path, target: str, delimiter: str, path: Path, code: str) -> None:
    """Reads a user's own table for the UCI study and writes it as :func:`prepare` does.

    Arguments:
        source: a CSV file, see :func:`vwta.paper.uci.own.read_csv`.
        target: name of the column to predict.
        delimiter: separates cells.
        path: file to write.
        code: digest of the code, for the record.
    """
    table = read_csv(source, target, delimiter)
    data = {"file": sha256(source), "matrix": None}
    _write(table, path, provenance(code=code, dataset=table.name, data=data))


def _write(table: Table, path: Path, record: dict[str, Any]) -> None:
    facts = {
        "columns": table.columns,
        "label": table.label,
        "discrete": is_discrete(table.target),
        "provenance": record,
    }
    tensors = {
        "inputs": torch.from_numpy(table.inputs),
        "target": torch.from_numpy(table.target),
    }
    write_tensors(path, tensors, facts)
