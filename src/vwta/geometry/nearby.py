"""The nearest atoms of atoms, in the order of their distance."""

from __future__ import annotations

__all__ = ["Nearby"]

from functools import cached_property

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from vwta.geometry.blocks import repeated
from vwta.geometry.memory import slices

MANY = 256  # atoms from which on a k-d tree is faster than comparing all of them
SHARED = 16  # cells of one row for which a tree is worth its making


class Nearby:
    """Finds the nearest of the atoms `(B, K, e)` of some rows to others of them.

    Of atoms that coincide the first one alone is found.
    """

    def __init__(self, points: Tensor) -> None:
        self.points = points
        self._trees: dict[int, tuple[cKDTree, Tensor]] = {}

    @cached_property
    def _again(self) -> Tensor:
        """Whether an atom lies where an earlier one does, `(B, K)`."""
        return repeated(self.points)

    def nearest(self, row: Tensor, atom: Tensor, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Atoms and their distances, `(C, stop - start)` each, from the `start`-th nearest on.

        The atom itself and those that are not to be found come last, at an infinite distance.
        """
        rows, number = torch.unique(row, return_counts=True)
        on_cpu = row.device.type == "cpu"
        if not (on_cpu and self.points.shape[1] >= MANY and len(row) >= SHARED * len(rows)):
            return self._by_comparison(row, atom, start, stop)
        order = torch.argsort(row, stable=True)
        parts = [
            self._by_tree(r, atom[some], start, stop)
            for r, some in zip(rows.tolist(), order.split(number.tolist()), strict=True)
        ]
        back = torch.argsort(order)
        line, distance = (torch.cat(x)[back] for x in zip(*parts, strict=True))
        return line, distance

    def _by_comparison(
        self, row: Tensor, atom: Tensor, start: int, stop: int
    ) -> tuple[Tensor, Tensor]:
        found = []
        for part in slices(len(row), self.points.shape[1] * self.points.shape[2] * 40):
            points = self.points[row[part]]
            apart = points - points.gather(1, atom[part, None, None].expand(-1, 1, 3))
            distance = torch.linalg.vector_norm(apart, dim=-1)
            distance.masked_fill_((distance == 0) | self._again[row[part]], torch.inf)
            if stop < distance.shape[1] // 2:
                distance, line = distance.topk(stop, dim=1, largest=False)
            else:
                distance, line = torch.sort(distance, dim=1, stable=True)
            found.append((line[:, start:stop], distance[:, start:stop]))
        line, distance = (torch.cat(x) for x in zip(*found, strict=True))
        return line, distance

    def _by_tree(self, row: int, atom: Tensor, start: int, stop: int) -> tuple[Tensor, Tensor]:
        known = self._trees.get(row)
        if known is None:
            first = torch.nonzero(~self._again[row])[:, 0]
            known = cKDTree(self.points[row, first].numpy()), first
            self._trees = {**self._trees, row: known}
        tree, first = known
        asked = self.points[row, atom].numpy()
        # The nearest is the atom itself, or its first twin.
        found = tree.query(asked, k=range(start + 2, stop + 2))
        distance, line = (torch.from_numpy(np.asarray(x)) for x in found)
        return first[line.masked_fill(distance.isinf(), 0)], distance
