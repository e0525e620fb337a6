"""Losses of each epoch of the trainings, gathered in one table."""

from __future__ import annotations

__all__ = ["collect_curves"]

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from vwta.storage import read_tensors, write_table


def collect_curves(networks: Sequence[Path], path: Path) -> None:
    """Writes the curves of trained networks as a table, one row an epoch.

    Its columns are `dataset`, `model`, `K`, `seed`, `epoch` (from 1), `training` (the loss on the
    training rows), `loss` and `distance` (those on the validation rows; the second for WTA networks
    alone), `kept_by_loss` and `kept_by_distance` (whether the epoch has the lowest one).

    Arguments:
        networks: files of trained networks.
        path: file to write.
    """
    tables, records = [], {}
    for file in networks:
        tensors, metadata = read_tensors(file)
        record = metadata["provenance"]
        kept = metadata["kept"]
        table = pd.DataFrame(tensors["curve"].numpy(), columns=["training", *kept])
        facts = {name: record[name] for name in ("dataset", "model", "K", "seed")}
        marks = {f"kept_by_{name}": table.index == epoch for name, epoch in kept.items()}
        tables.append(table.assign(**facts, epoch=table.index + 1, **marks))
        records[str(file)] = record
    write_table(path, pd.concat(tables, ignore_index=True), {"parts": records})
