"""Losses of each epoch of the trainings, gathered in one table."""

from __future__ import annotations

__all__ = ["collect_curves"]

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from vwta.io.storage import read_tensors
from vwta.paper.collection import Part, write_parts


def collect_curves(networks: Mapping[str, Sequence[Path]], path: Path) -> None:
    """Writes the curves of trained networks as a table, one row an epoch.

    Its columns are `protocol`, `dataset`, `model`, `K`, `seed`, `epoch` (from 1), `training` (the
    loss on the training rows), `loss` and `distance` (those on the validation rows; the second for
    WTA networks alone), `kept_by_loss` and `kept_by_distance` (whether the epoch has the lowest).

    Arguments:
        networks: files of trained networks, by protocol.
        path: file to write.
    """
    parts: dict[str, Part] = {}
    for protocol, files in networks.items():
        for file in files:
            tensors, metadata = read_tensors(file)
            record, kept = metadata["provenance"], metadata["kept"]
            table = pd.DataFrame(tensors["curve"].numpy(), columns=["training", *kept])
            facts = {name: record[name] for name in ("dataset", "model", "K", "seed")}
            marks = {f"kept_by_{name}": table.index == epoch for name, epoch in kept.items()}
            table = table.assign(protocol=protocol, **facts, epoch=table.index + 1, **marks)
            parts[str(file)] = table, {"provenance": record}
    write_parts(path, parts)
