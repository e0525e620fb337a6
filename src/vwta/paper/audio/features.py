"""Second stage: features and labels of the scenes."""

from __future__ import annotations

__all__ = ["Settings", "make_features"]

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vwta.io.provenance import provenance
from vwta.io.storage import sha256, write_tensors
from vwta.paper.audio.ansyn import FRAMES_PER_SECOND, Scene, frame_labels, list_scenes, read_scene
from vwta.paper.audio.spectrograms import FRAMES, scene_features, write_features

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """Parameters of audio features, see :mod:`vwta.paper.audio.spectrograms`.

    Attributes:
        seconds: duration to which scenes are padded or cropped.
        bands: number of frequencies that are kept, from the lowest on.
        every: how far apart they are.
        floor: of magnitudes on a log scale; None for magnitudes as they are.
    """

    seconds: float
    bands: int
    every: int
    floor: float | None


def make_features(
    scenes: Path,
    overlap: int,
    split: int,
    features: Mapping[str, Path],
    labels: Path,
    settings: Settings,
    code: str,
) -> None:
    """Writes the features of all scenes of an overlap and a split, and their labels.

    Features are one file for each part, see
    :func:`vwta.paper.audio.spectrograms.write_features`, with a row for each chunk of 2 s, scene by
    scene. Labels are in one file, for each part and row: `kind` (classes, -1 where nothing
    sounds, int8 with shape `(N, T, S)`) and `direction` (unit vectors, 0 where nothing sounds,
    float32 with shape `(N, T, S, 3)`), the `names` of scenes, and the SHA-256 of each file of
    `features`, by which :func:`vwta.paper.audio.frames.read_fold` knows them.

    Arguments:
        scenes: folder of the scenes.
        overlap: greatest number of simultaneous sounds.
        split: fold of the cross-validation.
        features: file to write for each part.
        labels: file of labels to write.
        settings: how features are computed.
        code: digest of the code.
    """
    tensors: dict[str, Tensor] = {}
    names: dict[str, list[str]] = {}
    digests: dict[str, str] = {}
    for part, path in features.items():
        found = list_scenes(scenes, [overlap], [split], [part])
        kinds: list[Tensor] = []
        directions: list[Tensor] = []
        write_features(path, _read(found, settings, kinds, directions), len(found))
        digests[part] = sha256(path)
        tensors[f"{part}.kind"] = torch.cat(kinds)
        tensors[f"{part}.direction"] = torch.cat(directions)
        names[part] = [f"ov{overlap}_split{split}/{scene.name}" for scene in found]
    record = provenance(code=code, settings=asdict(settings))
    metadata = {"names": names, "features": digests, "provenance": record}
    write_tensors(labels, tensors, metadata)


def _read(
    scenes: Sequence[Scene], settings: Settings, kinds: list[Tensor], directions: list[Tensor]
) -> Iterator[Tensor]:
    """Features of one scene after the other; their labels are added to the lists."""
    frames = round(settings.seconds * FRAMES_PER_SECOND)
    for number, scene in enumerate(scenes, 1):
        samples, events = read_scene(scene)
        heard = frame_labels(events, frames)
        kinds.append(torch.from_numpy(heard.kind.astype(np.int8)).unflatten(0, (-1, FRAMES)))
        direction = torch.from_numpy(heard.direction.astype(np.float32))
        directions.append(direction.unflatten(0, (-1, FRAMES)))
        if number % 10 == 0 or number == len(scenes):
            logger.info("%s %d/%d", scene.part, number, len(scenes))
        yield scene_features(samples, **asdict(settings))
