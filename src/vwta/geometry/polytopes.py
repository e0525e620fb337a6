"""Exact samples from kernels cut to Voronoi cells in three and more dimensions.

An isotropic Gaussian is a product in every orthonormal frame, so that it can be drawn exactly
within any box around the atom, at every bandwidth. A draw counts if it falls into the cell. The
first boxes are the domain itself; cells that are too small for it get a box fitted around them.
"""

from __future__ import annotations

__all__ = ["sample_polytopes"]

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vwta.geometry.kernels import Kernel, Uniform
from vwta.geometry.spaces import Box

WIDE_ROUNDS = 16  # rounds of draws in the domain
TIGHT_ROUNDS = 2000  # rounds in a fitted box
TRIES = 64  # draws for each sample and round
WORK = 2**22  # distances held at once


def sample_polytopes(
    points: Tensor,
    row: Tensor,
    atom: Tensor,
    kernel: Kernel,
    space: Box,
    generator: torch.Generator | None,
) -> Tensor:
    """One point in each of the cells around `points[row, atom]`, `(C, d)`; `kernel.h` is `(C,)`."""
    z = points[row, atom]
    out = torch.empty_like(z)
    todo = torch.arange(len(row), device=row.device)
    boxes = _domain(z, space)
    for attempt in range(WIDE_ROUNDS + TIGHT_ROUNDS):
        if attempt == WIDE_ROUNDS:
            boxes = _fitted(points, row[todo], atom[todo], space)
        tries = TRIES if attempt else 1  # the first draw often does
        size = max(1, WORK // (tries * points.shape[1]))
        found = torch.zeros_like(todo, dtype=torch.bool)
        for start in range(0, len(todo), size):
            part = slice(start, start + size)
            here = todo[part]
            step = boxes[part].draw(kernel.at(kernel.h[here, None, None]), tries, generator)
            y = z[here, None] + step
            distance = ((points[row[here], None] - y[..., None, :]) ** 2).sum(-1)
            inside = (distance.argmin(-1) == atom[here, None]) & space.contains(y)
            hit = inside.any(1)
            out[here[hit]] = y[hit, inside.to(torch.uint8).argmax(1)[hit]]
            found[part] = hit
        todo, boxes = todo[~found], boxes[~found]
        if not len(todo):
            return out
    raise RuntimeError(
        f"no sample found in the cell of the point {z[todo[0]].tolist()} after "
        f"{TIGHT_ROUNDS * TRIES} tries: in dimension {z.shape[-1]} this cell is too thin; leave "
        "out points that nearly coincide"
    )


@dataclass
class _Boxes:
    """Boxes around `C` atoms: `low <= step @ frame.T <= high`, with `low <= 0 <= high`."""

    frame: Tensor  # (C, d, d), rows are axes
    low: Tensor  # (C, d)
    high: Tensor  # (C, d)

    def __getitem__(self, index: Tensor | slice) -> _Boxes:
        return _Boxes(self.frame[index], self.low[index], self.high[index])

    def draw(self, kernel: Kernel, tries: int, generator: torch.Generator | None) -> Tensor:
        """Steps from the atoms, `(C, tries, d)`, from the kernel cut to the boxes."""
        low, high = self.low[:, None], self.high[:, None]
        shape = (len(low), tries, low.shape[-1])
        u = torch.rand(shape, dtype=low.dtype, device=low.device, generator=generator)
        if isinstance(kernel, Uniform):
            return torch.matmul(low + u * (high - low), self.frame)
        scale = kernel.h * math.sqrt(2)
        below, above = torch.erf(low / scale), torch.erf(high / scale)
        step = torch.erfinv(below + u * (above - below)) * scale
        return torch.matmul(torch.minimum(torch.maximum(step, low), high), self.frame)


def _domain(z: Tensor, space: Box) -> _Boxes:
    """The domain as a box around each of the atoms `z` `(C, d)`."""
    low, high = (side - z for side in space.bounds(z))
    axes = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
    return _Boxes(axes.expand(len(z), -1, -1), low, high)


def _fitted(points: Tensor, row: Tensor, atom: Tensor, space: Box) -> _Boxes:
    """Boxes that fit cells tightly; each distinct cell is fitted once."""
    cells, which = torch.unique(torch.stack([row, atom], 1), dim=0, return_inverse=True)
    parts = [_fit(points[r], k, space) for r, k in cells.tolist()]
    return _Boxes(*(torch.stack(part)[which] for part in zip(*parts, strict=True)))


def _fit(points: Tensor, atom: int, space: Box) -> tuple[Tensor, Tensor, Tensor]:
    """A frame `(d, d)` and the extent of a cell along it, relative to its atom, `(d,)` each."""
    z = points[atom]
    apart = points - z
    distance = torch.linalg.vector_norm(apart, dim=-1)
    other = distance > 0
    normals, to_side = space.sides(z)
    keep = torch.isfinite(to_side)
    normal = torch.cat([apart[other] / distance[other, None], normals[keep]]).cpu().numpy()
    offset = torch.cat([distance[other] / 2, to_side[keep]]).cpu().numpy()
    size = offset[offset > 0].min()  # the solver's tolerance is absolute: let the cell have size 1
    axes = _axes(normal, offset / size)
    low, high = (
        [sign * size * _extent(normal, offset / size, sign * axis) for axis in axes]
        for sign in (-1.0, 1.0)
    )
    frame, lowest, highest = (points.new_tensor(np.array(x)) for x in (axes, low, high))
    return frame, lowest, highest


def _axes(normal: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Principal axes of border points, one along each line's normal and one opposite."""
    ray = np.concatenate([normal, -normal, np.eye(normal.shape[1])])
    rate = ray @ normal.T
    reach = np.where(rate > 0, offset / np.where(rate > 0, rate, 1), np.inf).min(1)
    border = ray * np.minimum(reach, 1e6)[:, None]
    return np.asarray(np.linalg.svd(border, full_matrices=True)[2])


def _extent(normal: np.ndarray, offset: np.ndarray, axis: np.ndarray) -> float:
    """How far a cell goes along an axis, with a small margin; infinite if it has no end."""
    from scipy.optimize import linprog  # slow to import, and needed by none of the plane's cells

    result = linprog(-axis, A_ub=normal, b_ub=offset, bounds=(None, None), method="highs")
    if result.status == 0:
        return max(0.0, float(result.x @ axis)) * (1 + 1e-6) + 1e-6
    if result.status in (2, 3, 4):  # unbounded, or so nearly that the solver cannot tell
        return math.inf
    raise RuntimeError(
        f"the extent of a cell with {len(offset)} lines along {axis.tolist()} was not found: "
        f"{result.message}; leave out points that nearly coincide"
    )
