"""Atoms of a network in some frames of some scenes, for pictures."""

from __future__ import annotations

__all__ = ["pick", "show_scenes"]

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from vwta.io.provenance import provenance
from vwta.io.storage import write_tensors
from vwta.nn.heads import Hypotheses
from vwta.paper.audio.ansyn import FRAMES_PER_SECOND
from vwta.paper.audio.frames import Fold, read_fold
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.predict import read_predictions
from vwta.seeds import generator


def show_scenes(
    predictions: Path,
    test: Sequence[Path],
    path: Path,
    recordings: int,
    frames: int,
    noise: Mapping[str, float],
    seed: int,
    code: str,
) -> None:
    """Writes the atoms and targets of some frames of some test scenes.

    The file has, for R scenes and F frames, `points` `(R, F, K, 3)`, `masses` and `scores`
    `(R, F, K)`, and of the S sources `direction`, `target` `(R, F, S, 3)` and `kind` `(R, F, S)`;
    its metadata the `names` of scenes, the `seconds` of frames and the `noise` of classes.

    Arguments:
        predictions: file of :func:`vwta.paper.audio.predict.predict` of a WTA network.
        test: files of features of the test fold.
        path: file to write.
        recordings: number R of scenes.
        frames: number F of frames of each.
        noise: standard deviation on the angles of targets, in degrees, by class.
        seed: seed of the targets' noise.
        code: digest of the code.
    """
    fold, found = read_fold(test), read_predictions(predictions, "test")
    atoms = found.atoms
    assert isinstance(atoms, Hypotheses)
    chunk, frame = pick(fold, recordings, frames)
    sounding = fold.kind.ge(0).any(-1)
    place = (sounding.flatten().cumsum(0) - 1).view(sounding.shape)[chunk, frame]
    target = fold.targets(Perturbation(dict(noise)), generator(seed, "noise", "test"))
    tensors = {
        "points": atoms.points[place],
        "masses": atoms.masses[place],
        "scores": atoms.logits[place].sigmoid(),
        "direction": fold.direction[chunk, frame],
        "target": target[chunk, frame],
        "kind": fold.kind[chunk, frame],
    }
    names = [fold.scene[row] for row in chunk[:, 0].tolist()]
    first = torch.tensor([fold.scene.index(name) for name in names])
    start = (chunk - first[:, None]) * fold.kind.shape[1]
    seconds = ((start + frame + 0.5) / FRAMES_PER_SECOND).tolist()
    record = provenance(code=code, training=found.training)
    facts = {"names": names, "seconds": seconds, "noise": dict(noise), "provenance": record}
    write_tensors(path, tensors, facts)


def pick(fold: Fold, recordings: int, frames: int) -> tuple[Tensor, Tensor]:
    """Chunk and frame of the scenes to show, both with shape `(R, F)`.

    Scenes are evenly spaced in the fold. Of each, the chunk with the most sources is shown, in
    frames that are evenly spaced among those with any source.

    Arguments:
        fold: the fold.
        recordings: number R of scenes, at most as many as there are.
        frames: number F of frames.
    """
    names = list(dict.fromkeys(fold.scene))
    chosen = torch.linspace(0, len(names) - 1, min(recordings, len(names))).round().long().tolist()
    sources = fold.kind.ge(0).sum(-1)
    chunks, places = [], []
    for name in (names[index] for index in chosen):
        first = fold.scene.index(name)
        chunk = first + int(sources[first : first + fold.scene.count(name)].sum(-1).argmax())
        heard = sources[chunk].nonzero().squeeze(-1)
        if not len(heard):
            raise ValueError(f"{name}: nothing sounds in it. Remedy: check its description")
        places.append(heard[torch.linspace(0, len(heard) - 1, frames).round().long()])
        chunks.append(torch.full((frames,), chunk))
    return torch.stack(chunks), torch.stack(places)
