"""The targets that estimators are measured on: one noised direction for each source and frame."""

from __future__ import annotations

__all__ = ["Targets"]

from dataclasses import dataclass

import torch
from torch import Tensor

from vwta.paper.audio.frames import Fold
from vwta.paper.audio.perturbation import Perturbation


@dataclass(frozen=True)
class Targets:
    """The n noised targets of a fold, frame by frame, and where each belongs.

    Attributes:
        y: unit vectors, with shape `(n, 3)`.
        frame: index of each target's frame among the m with a source, with shape `(n,)`.
        direction: sources of each such frame, 0 where there is none, with shape `(m, S, 3)`.
        kind: their classes, -1 where there is none, with shape `(m, S)`.
    """

    y: Tensor
    frame: Tensor
    direction: Tensor
    kind: Tensor

    @classmethod
    def of(cls, fold: Fold, noise: Perturbation, source: torch.Generator) -> Targets:
        """Draws the targets of a fold."""
        sounding = fold.kind.ge(0).any(-1)
        kind, direction = fold.kind[sounding], fold.direction[sounding].double()
        drawn = noise.draw(direction, kind, source)
        frame = torch.arange(len(kind)).unsqueeze(-1).expand_as(kind)
        return cls(drawn[kind >= 0], frame[kind >= 0], direction, kind)

    def some(self, count: int, source: torch.Generator) -> Targets:
        """At most so many of them, drawn without replacement."""
        chosen = torch.randperm(len(self.y), generator=source)[:count].sort().values
        return Targets(self.y[chosen], self.frame[chosen], self.direction, self.kind)
