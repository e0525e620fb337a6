"""The nearest atoms of atoms, in any order: by a k-d tree, or by comparison with all of a row."""

from __future__ import annotations

__all__ = ["Neighbours"]

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from vwta.geometry.memory import slices

TREE = 32  # chosen atoms of one tessellation from which on a k-d tree is faster than comparisons


class Neighbours:
    """The nearest atoms of chosen atoms, each in its tessellation.

    Arguments:
        points: atoms, `(B, K, e)`, finite and on the CPU.
        row: which of the `B` tessellations each chosen atom belongs to, `(C,)`.
        atom: which of the `K` atoms it is, `(C,)`.
    """

    def __init__(self, points: Tensor, row: Tensor, atom: Tensor) -> None:
        self.points, self.row, self.atom = points, row, atom
        self._trees: dict[int, cKDTree] = {}

    def nearest(self, chosen: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The `count` atoms nearest to some of the chosen ones, among them the atom itself.

        Of atoms at equal distances any may be left out.

        Arguments:
            chosen: which of the chosen ones, `(N,)`.
            count: how many atoms, at most `K`.

        Returns:
            The atoms in ascending order, `(N, count)`, and the square of the largest distance of
            any of them, `(N,)`: all others are at least as far.
        """
        row, atom = self.row[chosen], self.atom[chosen]
        atoms = torch.empty(len(chosen), count, dtype=torch.long)
        square = self.points.new_empty(len(chosen))
        order = torch.argsort(row, stable=True)
        rows, sizes = torch.unique_consecutive(row[order], return_counts=True)
        large = (sizes >= TREE).repeat_interleave(sizes)
        searched, compared = order[large], order[~large]
        some = sizes >= TREE
        parts = searched.split(sizes[some].tolist())
        for b, part in zip(rows[some].tolist(), parts, strict=True):
            atoms[part], square[part] = self._search(b, atom[part], count)
        size = self.points.shape[1] * (self.points.shape[2] + 4) * 8
        for share in slices(len(compared), size):
            part = compared[share]
            atoms[part], square[part] = self._compare(row[part], atom[part], count)
        return atoms.sort(1).values, square

    def _search(self, row: int, atom: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The nearest atoms `(N, count)` of atoms `(N,)` of one row, by its tree."""
        points = self.points[row].numpy()
        if row not in self._trees:
            self._trees[row] = cKDTree(points)
        ranks = np.arange(1, count + 1)
        distance, found = map(np.asarray, self._trees[row].query(points[atom.numpy()], k=ranks))
        return torch.from_numpy(found), torch.from_numpy(distance[:, -1] ** 2)

    def _compare(self, row: Tensor, atom: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The nearest atoms `(N, count)` of atoms `(N,)`, each compared with all of its row."""
        z = self.points[row, atom]
        points = self.points[row]
        square = (points[..., 0] - z[:, :1]).square_()
        for i in range(1, z.shape[1]):
            square.addcmul_(*2 * [points[..., i] - z[:, i : i + 1]])
        distance, found = square.topk(count, dim=1, largest=False, sorted=False)
        return found, distance.amax(1)
