"""Exact samples from kernels cut to Voronoi cells in three and more dimensions.

An isotropic Gaussian is a product in every orthonormal frame, so that it can be drawn exactly
within any box around the atom, at every bandwidth. A draw counts if it falls into the cell. The
first boxes are the domain itself; cells that are too small for it get a box fitted around them.
"""

from __future__ import annotations

__all__ = ["sample_polytopes"]

import math

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from .kernels import Kernel, Uniform
from .spaces import Box

WIDE_ROUNDS = 8
TIGHT_ROUNDS = 2000
TRIES = 64  # draws a point and round in a tight box


def sample_polytopes(
    points: Tensor,
    row: Tensor,
    atom: Tensor,
    kernel: Kernel,
    space: Box,
    generator: torch.Generator | None,
) -> Tensor:
    """One point in each of the cells around `points[row, atom]`, `(C, d)`; `kernel.h` is `(C,)`."""
    z, out = points[row, atom], torch.empty_like(points[row, atom])
    low, high = space.bounds(z)
    todo = torch.arange(len(row), device=row.device)
    for _ in range(WIDE_ROUNDS):
        h = kernel.h[todo, None]
        y = z[todo] + _draw(low - z[todo], high - z[todo], kernel.at(h), generator)
        inside = _nearest(points[row[todo]], y) == atom[todo]
        out[todo[inside]] = y[inside]
        todo = todo[~inside]
        if not len(todo):
            return out
    cells, which = torch.unique(torch.stack([row[todo], atom[todo]], 1), dim=0, return_inverse=True)
    boxes = [_tight_box(points[r], int(k), space) for r, k in cells.tolist()]
    frame, low, high = (torch.stack(part)[which] for part in zip(*boxes, strict=True))
    for _ in range(TIGHT_ROUNDS):
        h = kernel.h[todo, None, None]
        shape = (len(todo), TRIES, z.shape[-1])
        step = _draw(
            low[:, None].expand(shape), high[:, None].expand(shape), kernel.at(h), generator
        )
        y = z[todo, None] + torch.matmul(step, frame)
        inside = (_nearest(points[row[todo], None], y) == atom[todo, None]) & space.contains(y)
        done, first = inside.any(1), inside.to(torch.uint8).argmax(1)
        out[todo[done]] = y[done, first[done]]
        todo, frame, low, high = todo[~done], frame[~done], low[~done], high[~done]
        if not len(todo):
            return out
    raise RuntimeError(
        f"no sample found in the cell of the point {z[todo[0]].tolist()} after "
        f"{TIGHT_ROUNDS * TRIES} tries: in dimension {z.shape[-1]} this cell is too thin"
    )


def _draw(low: Tensor, high: Tensor, kernel: Kernel, generator: torch.Generator | None) -> Tensor:
    """Coordinates around 0, each cut to its interval `low <= 0 <= high`."""
    u = torch.rand(low.shape, dtype=low.dtype, device=low.device, generator=generator)
    if isinstance(kernel, Uniform):
        return low + u * (high - low)
    scale = kernel.h * math.sqrt(2)
    below, above = torch.erf(low / scale), torch.erf(high / scale)
    y = torch.erfinv(below + u * (above - below)) * scale
    return torch.minimum(torch.maximum(y, low), high)


def _nearest(points: Tensor, y: Tensor) -> Tensor:
    """Index of the atom `(*, K, d)` nearest to each `y` `(*, d)`."""
    return ((points - y[..., None, :]) ** 2).sum(-1).argmin(-1)


def _tight_box(points: Tensor, atom: int, space: Box) -> tuple[Tensor, Tensor, Tensor]:
    """A frame `(d, d)` (rows are axes) and the cell's extent along it, relative to its atom."""
    z = points[atom]
    apart = points - z
    distance = torch.linalg.vector_norm(apart, dim=-1)
    other = distance > 0
    normals, to_side = space.sides(z)
    keep = torch.isfinite(to_side)
    normal = torch.cat([apart[other] / distance[other, None], normals[keep]]).cpu().numpy()
    offset = torch.cat([distance[other] / 2, to_side[keep]]).cpu().numpy()
    unit = offset[offset > 0].min()  # the solver's tolerance is absolute: let the cell have size 1
    corners = [_extreme(normal, offset / unit, axis) for axis in np.vstack([normal, -normal])]
    bounded = [corner for corner in corners if corner is not None]
    axes = np.linalg.svd(np.array(bounded))[2] if bounded else np.eye(len(z))
    low, high = [], []
    for axis in axes:
        extent = []
        for sign in (-1.0, 1.0):
            corner = _extreme(normal, offset / unit, sign * axis)
            extent.append(math.inf if corner is None else float(corner @ axis * sign))
        low.append(-unit * (extent[0] * (1 + 1e-6) + 1e-6))
        high.append(unit * (extent[1] * (1 + 1e-6) + 1e-6))
    frame, lowest, highest = (points.new_tensor(np.array(x)) for x in (axes, low, high))
    return frame, lowest.clamp_max(0), highest.clamp_min(0)


def _extreme(normal: np.ndarray, offset: np.ndarray, axis: np.ndarray) -> np.ndarray | None:
    """The cell's outermost point along an axis; None if the cell is unbounded that way."""
    result = linprog(-axis, A_ub=normal, b_ub=offset, bounds=(None, None), method="highs")
    if result.status == 0:
        return np.asarray(result.x)
    if result.status in (2, 3, 4):  # unbounded (or so nearly that the solver cannot tell)
        return None
    raise RuntimeError(f"linear program failed: {result.message}")
