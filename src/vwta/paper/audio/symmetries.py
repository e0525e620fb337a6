r"""The 16 exact symmetries of first-order Ambisonics that keep the law of noised directions.

Channels W, Y, Z, X of a plane wave are a signal times 1, y, z, x of its direction. A swap of x and
y, and a change of the sign of x, y or z, map directions to directions and channels to channels
alike: a scene that is transformed so is the scene of the transformed directions. They also map
azimuths and elevations by turns and reflections, :math:`a \mapsto \pi/2 - a, \pi - a, -a` and
:math:`e \mapsto -e`, which keep the law of the noise on both angles. A sign turns the phase of a
channel by :math:`\pi`, and leaves its magnitude.
"""

from __future__ import annotations

__all__ = ["SYMMETRIES", "AugmentedData", "TurnedRows", "turn_directions", "turn_features"]

import itertools
import math
from typing import Any

import torch
from torch import Tensor

from vwta.paper.audio.ansyn import CHANNELS
from vwta.paper.audio.frames import AudioData, MappedRows
from vwta.seeds import generator

AXES = (1, 2, 0)  # of channels Y, Z and X, which follow W


def _matrices() -> Tensor:
    """The symmetries as orthogonal matrices, `(16, 3, 3)`; the first is the identity."""
    found = []
    for swap, *signs in itertools.product([False, True], *[[1.0, -1.0]] * 3):
        axes = [1, 0, 2] if swap else [0, 1, 2]
        found.append(torch.tensor(signs)[:, None] * torch.eye(3)[axes])
    return torch.stack(found)


SYMMETRIES = _matrices()


def _channels() -> tuple[Tensor, Tensor]:
    """For each symmetry and channel the channel that it is made of, and whether with a minus."""
    gains = SYMMETRIES[:, AXES][..., AXES]  # from channel to channel, but for W
    source = torch.cat(
        [torch.zeros(len(gains), 1, dtype=torch.long), 1 + gains.abs().argmax(-1)], 1
    )
    return source, torch.cat([gains.new_zeros(len(gains), 1), gains.sum(-1)], 1) < 0


SOURCE, NEGATIVE = _channels()


def turn_directions(direction: Tensor, which: Tensor) -> Tensor:
    """Directions `(N, *, 3)` under the symmetry `which` `(N,)` of each row; 0 stays 0."""
    matrices = SYMMETRIES.to(direction)[which]
    return torch.einsum("nij,n...j->n...i", matrices, direction)


def turn_features(features: Tensor, which: Tensor) -> Tensor:
    """Magnitudes and phases `(N, 8, T, F)` of the scenes that symmetries make of those given.

    Arguments:
        features: of :func:`vwta.paper.audio.spectrograms.features`; magnitudes may be on any scale.
        which: the symmetry of each row, `(N,)`, on the CPU.
    """
    source, negative = (
        table[which][..., None, None].to(features.device, non_blocking=True)
        for table in (SOURCE, NEGATIVE)
    )
    magnitudes, phases = (
        part.take_along_dim(source, 1) for part in features.split(CHANNELS, dim=1)
    )
    opposite = torch.where(phases > 0, phases - math.pi, phases + math.pi)
    phases = torch.where(negative, opposite, phases)
    return torch.cat([magnitudes, phases], 1)


class TurnedRows:
    """Rows of audio features, each under a symmetry of its own, applied when a slice is read.

    Arguments:
        rows: features `(N, 8, T, F)`.
        which: the symmetry of each row, `(N,)`.
    """

    def __init__(self, rows: MappedRows, which: Tensor) -> None:
        self.rows, self.which = rows, which

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, which: Tensor | slice) -> Any:
        """Rows in another order, for a tensor; the turned rows of a slice, `(n, 8, T, F)`."""
        rows, turns = self.rows[which], self.which[which]
        if isinstance(which, Tensor):
            return TurnedRows(rows, turns)
        return turn_features(rows, turns)

    def to(self, device: torch.device | str) -> TurnedRows:
        return TurnedRows(self.rows.to(device), self.which)


class AugmentedData(AudioData):
    """Chunks of two folds; those of training under a new random symmetry in each epoch."""

    def training(self, epoch: int) -> tuple[TurnedRows, Tensor]:  # type: ignore[override]
        rows, y = super().training(epoch)
        source = generator(self.seed, "symmetry", epoch)
        which = torch.randint(len(SYMMETRIES), (len(rows),), generator=source)
        return TurnedRows(rows, which), turn_directions(y, which)
