"""Trained networks of all splits of a data set, read back from their files, with their rows."""

from __future__ import annotations

__all__ = ["Selection", "SplitRows", "Trained", "is_finite", "methods", "space_of", "trained"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from torch import Tensor, nn

from vwta.geometry.spaces import Box
from vwta.io.errors import restored_from
from vwta.io.storage import below, read_tensors
from vwta.nn.networks import restore
from vwta.paper.estimators import measured_in
from vwta.paper.uci.choice import LINE
from vwta.paper.uci.datasets import official_splits
from vwta.paper.uci.networks import build, entry
from vwta.paper.uci.splits import divide
from vwta.training.stacking import Rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Selection:
    """Which rows and weights of the UCI study a stage takes.

    Attributes:
        seed: seed of the choice of validation rows and of the first networks; those of restart r
            have `seed` + r.
        held_out: as in training.
        selected_by: which of the stored weights of WTA networks are taken: `loss`, `distance`,
            `last`; None for those that their training took.
        domain: where cells are cut: the whole line, or the interval of the published code.
        ensembles: whether the averages of all restarts are measured, besides each alone.
    """

    seed: int
    held_out: float | None
    selected_by: Literal["loss", "distance", "last"] | None
    domain: Literal["line", "published"]
    ensembles: bool


class SplitRows(NamedTuple):
    """Rows of a UCI split, `(n, d)` and `(n, 1)`, and by what its targets were standardised."""

    validation: Rows
    test: Rows
    mean: float
    scale: float


class Trained(NamedTuple):
    """Networks of a UCI split.

    Attributes:
        model: their kind.
        split: its number.
        validated: a network for each restart, whose bandwidths are searched.
        final: those that are tested: the same, or trained again on all training rows.
        rows: rows of the split.
        metadata: of the file.
    """

    model: str
    split: int
    validated: list[nn.Module]
    final: list[nn.Module]
    rows: SplitRows
    metadata: dict[str, Any]


def trained(
    networks: Mapping[str, Sequence[Path]], data: Path, dataset: str, selection: Selection
) -> Iterator[Trained]:
    """Reads the networks of all splits of a UCI data set, model by model.

    Arguments:
        networks: for each model the files of its splits, in their order.
        data: file of the data set.
        dataset: its name.
        selection: which rows and weights to take.
    """
    tensors, _ = read_tensors(data)
    count = max(map(len, networks.values()))
    splits = official_splits(dataset, len(tensors["target"]), count)
    parts = divide(tensors["inputs"], tensors["target"], splits, selection.held_out, selection.seed)
    validation, test = parts.validation, parts.test
    for model, files in networks.items():
        for split, file in enumerate(files):
            logger.info("%s, split %d/%d", model, split + 1, len(files))
            stored, metadata = read_tensors(file)
            rows = SplitRows(
                Rows(validation.x[split], validation.y[split]),
                Rows(test.x[split], test.y[split]),
                parts.mean[split].item(),
                parts.scale[split].item(),
            )
            with restored_from(file):
                name = _selected(metadata, selection.selected_by)
                validated = _load(stored, metadata, name)
                final = _load(stored, metadata, "final") if metadata["retrained"] else validated
            yield Trained(model, split, validated, final, rows, metadata)


def _selected(metadata: Mapping[str, Any], selected_by: str | None) -> str:
    """Name of the stored weights to take."""
    if selected_by is None:
        return str(metadata["selected"])
    return entry(metadata["network"]["kind"]).criterion(selected_by)


def _load(stored: Mapping[str, Tensor], metadata: Mapping[str, Any], name: str) -> list[nn.Module]:
    """The networks of all restarts, with the stored weights of some name."""
    return [
        restore(metadata["network"], below(f"{name}.{restart}.", stored), build)
        for restart in range(metadata["restarts"])
    ]


def is_finite(network: nn.Module) -> bool:
    """Whether all weights of a UCI network are numbers."""
    return all(bool(weight.isfinite().all()) for weight in network.parameters())


def methods(kind: str, restarts: int, ensembles: bool) -> Iterator[tuple[str, slice]]:
    """The methods of a kind of UCI network, each with the restarts that it takes: one, or all."""
    for name, recipe in measured_in("uci", kind).items():
        if not recipe.averaged:
            yield from ((name, slice(restart, restart + 1)) for restart in range(restarts))
        elif ensembles and restarts > 1:
            yield name, slice(0, restarts)


def space_of(split: SplitRows, networks: Sequence[nn.Module], domain: str) -> Box:
    """Where cells of a UCI split are cut, in standardised units.

    The published code cuts them at plus and minus |mean| + 8 standard deviations, in original
    units; here at the outermost atom or target of the rows at hand if that lies further out.
    """
    if domain == "line":
        return LINE
    reach = abs(split.mean) + 8 * split.scale
    low, high = (-reach - split.mean) / split.scale, (reach - split.mean) / split.scale
    for rows in (split.validation, split.test):
        found = [rows.y, *(network(rows.x).points for network in networks)]
        low = min(low, *(points.min().item() for points in found))
        high = max(high, *(points.max().item() for points in found))
    return Box(low, high)
