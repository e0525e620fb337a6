"""Fourth stage: the atoms of a trained network, in all frames in which anything sounds."""

from __future__ import annotations

__all__ = ["DirectionAtoms", "Predictions", "predict", "read_predictions"]

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from vwta.io.errors import restored_from
from vwta.io.provenance import provenance
from vwta.io.storage import below, read_tensors, write_tensors
from vwta.nn.heads import Components, Hypotheses
from vwta.nn.local import LocalAtoms
from vwta.paper.audio.frames import Fold, read_fold
from vwta.paper.audio.local import NETWORKS, build
from vwta.paper.registry import named
from vwta.training.loop import pick_device

logger = logging.getLogger(__name__)

DirectionAtoms = Hypotheses | Components | LocalAtoms
"""Output of a network of the audio study."""
ATOMS: tuple[type[DirectionAtoms], ...] = (Hypotheses, Components, LocalAtoms)  # by their fields


class Predictions(NamedTuple):
    """Predictions of an audio network for a fold.

    Attributes:
        model: kind of the network.
        atoms: for each of n frames, in the order of chunks, then of time, in float64.
        training: the record of the network's training.
    """

    model: str
    atoms: DirectionAtoms
    training: dict[str, Any]


@torch.no_grad()
def predict(
    network: Path,
    folds: Mapping[str, Sequence[Path]],
    path: Path,
    selected_by: str,
    batch_size: int,
    device: str,
    code: str,
) -> None:
    """Writes the atoms of an audio network for the frames of folds with at least one source.

    Arguments:
        network: file of trained weights.
        folds: files of features, by the name of the fold.
        path: file to write: for each fold the fields of its atoms, with shape `(n, K, *)`.
        selected_by: criterion of early stopping, `loss` or `distance`. Networks other than WTA have
            no winner's distance: the loss selects theirs in any case.
        batch_size: chunks at once.
        device: `auto`, `cpu` or `cuda`.
        code: digest of the code.
    """
    tensors, metadata = read_tensors(network)
    with restored_from(network):
        specification = metadata["network"]
        model = build(**specification)
        selected = named(specification["kind"], NETWORKS).criterion(selected_by)
        model.load_state_dict(below(f"{selected}.", tensors))
    where = pick_device(device)
    model = model.to(where).eval()
    found: dict[str, Tensor] = {}
    for name, files in folds.items():
        logger.info("%s", name)
        atoms = _run(model, read_fold(files), batch_size, where)
        found |= {f"{name}.{field}": value for field, value in atoms._asdict().items()}
    record = provenance(code=code, device=where.type, training=metadata["provenance"])
    write_tensors(path, found, {"model": specification["kind"], "provenance": record})


def read_predictions(path: Path, fold: str) -> Predictions:
    """Atoms of a fold of scenes, of a file of :func:`predict`."""
    tensors, metadata = read_tensors(path)
    fields = {field: value.double() for field, value in below(f"{fold}.", tensors).items()}
    kind = next(one for one in ATOMS if {*one._fields} == fields.keys())
    return Predictions(metadata["model"], kind(**fields), metadata["provenance"]["training"])


def _run(
    network: torch.nn.Module, fold: Fold, batch_size: int, device: torch.device
) -> DirectionAtoms:
    rows, sounding = fold.features.to(device), fold.kind.ge(0).any(-1)
    kind: type[DirectionAtoms] = Hypotheses
    parts = []
    for start in range(0, len(rows), batch_size):
        chosen = slice(start, start + batch_size)
        atoms = network(rows[chosen])
        kind = type(atoms)
        parts.append([value[sounding[chosen].to(device)].cpu() for value in atoms])
    return kind(*(torch.cat(values) for values in zip(*parts, strict=True)))
