"""Losses of each epoch of the trainings, gathered in one table."""

from __future__ import annotations

__all__ = ["collect_curves"]

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from vwta.storage import read_tensors, write_table


def collect_curves(networks: Sequence[Path], path: Path) -> None:
    """Writes the curves of trained networks as a table, one row an epoch.

    Its columns are `dataset`, `model`, `K`, `seed`, `epoch` (from 1), `training` and `validation`
    (the loss on either set), `criterion` (what the kept weights minimise) and `kept` (whether the
    epoch's weights are those).

    Arguments:
        networks: files of trained networks.
        path: file to write.
    """
    tables, records = [], {}
    for file in networks:
        tensors, metadata = read_tensors(file)
        record = metadata["provenance"]
        columns = ["training", "validation", "criterion"]
        table = pd.DataFrame(tensors["curve"].numpy(), columns=columns)
        facts = {name: record[name] for name in ("dataset", "model", "K", "seed")}
        epochs = range(1, len(table) + 1)
        kept = [epoch == metadata["kept_epoch"] + 1 for epoch in epochs]
        tables.append(table.assign(**facts, epoch=epochs, kept=kept))
        records[str(file)] = record
    write_table(path, pd.concat(tables, ignore_index=True), {"parts": records})
