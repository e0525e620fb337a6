"""Rows of the study: features, read from disk when needed, and the sources in each frame."""

from __future__ import annotations

__all__ = ["AudioData", "Fold", "MappedRows", "active", "labels_of", "read_fold"]

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vwta.io.errors import Damaged
from vwta.io.storage import read_tensors, sha256
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.spectrograms import read_features
from vwta.seeds import generator


class _Ahead(NamedTuple):
    """Rows of a slice that a thread reads before they are asked for."""

    which: slice
    rows: Future[Tensor]


class MappedRows:
    """Rows of several mapped arrays of audio features, read when a slice is asked for.

    For a device other than the CPU a thread reads the next slice of the same length meanwhile.

    Arguments:
        files: arrays with the same shape but for their first axis, `(n, *)`.
        order: which rows, in which order, with shape `(N,)`; all of them unless given.
        device: where slices go.

    Example:
        >>> rows = MappedRows([np.zeros((2, 3), np.float16), np.ones((1, 3), np.float16)])
        >>> rows[torch.tensor([2, 0])][0:2]
        tensor([[1., 1., 1.],
                [0., 0., 0.]])
    """

    def __init__(
        self,
        files: Sequence[NDArray[np.float16]],
        order: Tensor | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.files = files
        self.ends = np.cumsum([len(file) for file in files])
        self.order = torch.arange(int(self.ends[-1])) if order is None else order
        self.device = torch.device(device)
        self._ahead: _Ahead | None = None

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, which: Tensor | slice) -> Any:
        """Rows in another order, for a tensor; the rows of a slice as float32, `(n, *)`."""
        if isinstance(which, Tensor):
            return MappedRows(self.files, self.order[which], self.device)
        which = slice(*which.indices(len(self)))
        rows = self._read(which) if self.device.type == "cpu" else self._taken(which)
        return rows.to(self.device, non_blocking=True).float()

    def to(self, device: torch.device | str) -> MappedRows:
        return MappedRows(self.files, self.order, device)

    def _taken(self, which: slice) -> Tensor:
        """Rows that have been read ahead, or are read now; then the next ones are begun."""
        ahead, self._ahead = self._ahead, None
        rows = ahead.rows.result() if ahead and ahead.which == which else self._read(which)
        end = min(2 * which.stop - which.start, len(self))
        if which.stop < end:
            following = slice(which.stop, end, which.step)
            self._ahead = _Ahead(following, _reader().submit(self._read, following))
        return rows

    def _read(self, which: slice) -> Tensor:
        """Rows as the files have them, in memory from which a GPU copies while it computes."""
        rows = [self._row(number) for number in self.order[which].tolist()]
        read = torch.from_numpy(np.stack(rows))
        return read.pin_memory() if self.device.type == "cuda" else read

    def _row(self, number: int) -> NDArray[np.float16]:
        file = int(np.searchsorted(self.ends, number, side="right"))
        first = int(self.ends[file - 1]) if file else 0
        return np.asarray(self.files[file][number - first])


@cache
def _reader() -> ThreadPoolExecutor:
    """The thread that reads ahead."""
    return ThreadPoolExecutor(1, "features")


@dataclass(frozen=True)
class Fold:
    """Chunks of scenes and their sources.

    Attributes:
        features: spectrograms of N chunks, `(N, 8, T, F)`.
        kind: index of the class in each of S places, -1 where nothing sounds, int64 `(N, T, S)`.
        direction: unit vectors before noise, 0 where nothing sounds, `(N, T, S, 3)`.
        scene: name of each chunk's scene.
    """

    features: MappedRows
    kind: Tensor
    direction: Tensor
    scene: list[str]

    def targets(self, noise: Perturbation, source: torch.Generator) -> Tensor:
        """Directions with noise, one for each source and frame; 0 where nothing sounds."""
        return noise.draw(self.direction, self.kind, source)


def read_fold(files: Sequence[Path], checked: bool = True) -> Fold:
    """Fold of some files of features, each with its labels beside it, which have its SHA-256.

    A file that is not as it was written, or that belongs to other labels, raises
    :class:`~vwta.io.errors.Damaged`.

    Arguments:
        files: `ov1_split2_train.npy` and so on, of
            :func:`vwta.paper.audio.features.make_features`.
        checked: whether to compare the SHA-256, for which all of a file is read. It can be left out
            where only labels are looked at.
    """
    features, kinds, directions, scenes = [], [], [], []
    for file in files:
        part = file.stem.rpartition("_")[2]
        tensors, metadata = read_tensors(labels_of(file), hashed=True)
        if checked and metadata.get("features", {}).get(part) != sha256(file):
            raise Damaged(file, f"its hash is not the one that {labels_of(file)} has")
        rows, names = read_features(file), metadata["names"][part]
        features.append(rows)
        kinds.append(tensors[f"{part}.kind"].long())
        directions.append(tensors[f"{part}.direction"])
        scenes += [name for name in names for _ in range(len(rows) // len(names))]
    return Fold(MappedRows(features), torch.cat(kinds), torch.cat(directions), scenes)


def labels_of(features: Path) -> Path:
    """File of the labels that belong to a file of audio features."""
    return features.with_name(f"{features.stem.rpartition('_')[0]}.safetensors")


def active(y: Tensor) -> Tensor:
    """Which sources `(*, 3)` of a frame there are, bool with shape `(*)`: the others are 0."""
    return y.ne(0).any(-1)


@dataclass(frozen=True)
class AudioData:
    """Chunks of two folds, with new noise on the targets in each epoch.

    Validation targets have the same noise in all epochs, or none.
    """

    train: Fold
    held_out: Fold
    noise: Perturbation
    seed: int
    held_out_targets: Literal["noised", "clean"]

    def training(self, epoch: int) -> tuple[MappedRows, Tensor]:
        source = generator(self.seed, "noise", "train", epoch)
        return self.train.features, self.train.targets(self.noise, source)

    def validation(self, epoch: int) -> tuple[MappedRows, Tensor]:
        fold = self.held_out
        if self.held_out_targets == "clean":
            return fold.features, fold.direction
        return fold.features, fold.targets(self.noise, generator(self.seed, "noise", "validation"))

    def weight(self, y: Tensor) -> Tensor:
        """Number of targets of a batch: each of them weighs the same, whatever its scene."""
        return active(y).sum()
