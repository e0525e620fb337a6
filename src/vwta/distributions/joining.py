r"""Parts of a density joined into modes, by how low it falls between them.

Parts are cells, components or samples. Two neighbouring ones have a *saddle*: the highest level at
which a path leads from one to the other. They are joined unless the density at the saddle is at
most `valley` times that at the lower one of their peaks, the highest saddles first. A joined part
has the higher peak, and the higher one of two saddles with each neighbour. (This is persistence of
the merge tree of level sets, of the log-density.)
"""

from __future__ import annotations

__all__ = ["cell_peaks", "cell_saddles", "join", "segment_saddles"]

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.polygons import walk
from vwta.geometry.spaces import Space, Sphere
from vwta.geometry.surfaces import Edges

ALONG = 15  # points of a segment between two parts at which the density is computed
INSIDE = 1e-9  # of the way to an atom: how far peaks at borders are moved
WORK = 2**18  # points at which the density is computed at once


def join(log_peak: Tensor, saddles: Tensor, valley: float) -> Tensor:
    """Groups of parts: for each part the number of the one that its group is named by, `(B, P)`.

    Arguments:
        log_peak: log-density at the peak of each part, `(B, P)`.
        saddles: log-density at saddles, `(B, P, P)`, symmetric; -inf between parts that are apart.
        valley: density at a saddle that separates two modes, in units of the lower peak.
    """
    rows, count = log_peak.shape
    peak, saddle = log_peak.clone(), saddles.clone()
    saddle.diagonal(dim1=1, dim2=2).fill_(-math.inf)
    group = torch.arange(count, device=peak.device).repeat(rows, 1)
    alive = torch.arange(rows, device=peak.device)
    for _ in range(count - 1):
        lower = torch.minimum(peak[:, :, None], peak[:, None])
        joined = (saddle > lower + math.log(valley)) & (saddle > -math.inf)
        best, pair = saddle.masked_fill(~joined, -math.inf).flatten(1).max(1)
        more = best > -math.inf
        if not more.any():
            break
        peak, saddle, pair, alive = peak[more], saddle[more], pair[more], alive[more]
        _merge(peak, saddle, group, alive, pair // count, pair % count)
    return group


def _merge(
    peak: Tensor, saddle: Tensor, group: Tensor, alive: Tensor, one: Tensor, other: Tensor
) -> None:
    """Join part `other` `(R,)` to part `one` `(R,)` in place; `group` has all rows."""
    row = torch.arange(len(one), device=one.device)
    peak[row, one] = torch.maximum(peak[row, one], peak[row, other])
    ways = torch.maximum(saddle[row, one], saddle[row, other])
    ways[row, one] = ways[row, other] = -math.inf
    saddle[row, one], saddle[row, :, one] = ways, ways
    saddle[row, other], saddle[row, :, other] = -math.inf, -math.inf
    peak[row, other] = -math.inf
    mine = group[alive]
    group[alive] = torch.where(mine == other[:, None], one[:, None], mine)


def cell_peaks(law: VoronoiMixture, points: Tensor) -> Tensor:
    """Where the density of each cell of the plane or the sphere is highest, `(B, K, e)`.

    That is at its centre, or at the point of the border that is nearest to a centre outside the
    cell. (It is given a hair's breadth inside, where the density is the cell's own.)

    Arguments:
        law: of batch size B.
        points: its atoms in float64, `(B, K, e)`.
    """
    centres = _centres(law, points)
    if centres is None:
        return points
    rows, count, size = points.shape
    at = centres.transpose(0, 1).reshape(count, *law.batch_shape, size)
    home = torch.arange(count, device=points.device) == law.cell_of(at).reshape(count, rows).T
    row, atom = torch.nonzero(~(home & law.space.contains(centres)), as_tuple=True)
    edges, _, _ = walk(points, row, atom, law.space)
    apart = (centres - points)[row, atom][edges.cell] - edges.foot
    s = (apart * edges.tangent).sum(-1)
    s = torch.minimum(torch.maximum(s, edges.s1), edges.s2)[:, None]
    distance = torch.linalg.vector_norm(apart - s * edges.tangent, dim=-1)
    nearest = distance.new_full((len(row),), math.inf).scatter_reduce_(
        0, edges.cell, distance, "amin"
    )
    best = distance == nearest[edges.cell]
    found, cell = centres.clone(), edges.cell[best]
    border = (edges.foot + s * edges.tangent)[best]
    found[row[cell], atom[cell]] = points[row[cell], atom[cell]] + (1 - INSIDE) * border
    return found


def cell_saddles(law: VoronoiMixture, points: Tensor, at: Tensor, log_peak: Tensor) -> Tensor:
    """Saddles between cells of the plane or the sphere, exact, `(B, K, K)`.

    In a cell the density falls with the distance from its centre, so that the highest way from one
    cell to the next crosses their border where the lower one of both sides is highest.

    Arguments:
        law: of batch size B.
        points: its atoms in float64, `(B, K, e)`.
        at: where the cells are highest, see :func:`cell_peaks`.
        log_peak: log-density there, `(B, K)`.
    """
    rows, count, _ = points.shape
    points = law.space.snap(points)
    atom = torch.arange(count, device=points.device).repeat(rows)
    row = torch.arange(rows, device=points.device).repeat_interleave(count)
    edges, _, _ = walk(points, row, atom, law.space)
    edges = edges[edges.line < count]
    row, atom, other = row[edges.cell], atom[edges.cell], edges.line
    kappa = law.kernel.h.to(points).expand(*law.batch_shape, count).reshape(rows, count) ** -2
    centres = _centres(law, points)
    if centres is None:
        spread = _nearest_spread(edges, law.space)
        sides = torch.stack([log_peak[row, k] - spread * kappa[row, k] for k in (atom, other)])
        lowest = sides.amin(0)
    else:
        log_scale = log_peak + ((at - centres) ** 2).sum(-1) * kappa / 2
        to_centre = (centres[row, k] - points[row, atom] - edges.foot for k in (atom, other))
        one, two = (
            _Parabola(
                log_scale[row, k] - (apart * edges.normal).sum(-1) ** 2 * kappa[row, k] / 2,
                (apart * edges.tangent).sum(-1),
                kappa[row, k],
            )
            for k, apart in zip((atom, other), to_centre, strict=True)
        )
        lowest = _highest_minimum(one, two, edges.s1, edges.s2)
    found = torch.full((rows, count, count), -math.inf, dtype=points.dtype, device=points.device)
    place = (row * count + atom) * count + other
    found.view(-1).scatter_reduce_(0, place, lowest, "amax")
    return _with_twins(torch.maximum(found, found.mT), points, log_peak)


class _Parabola(NamedTuple):
    """Log-densities `(E,)` along edges, :math:`t - \\kappa (s - m)^2 / 2`."""

    top: Tensor
    middle: Tensor
    kappa: Tensor

    def at(self, s: Tensor) -> Tensor:
        return self.top - self.kappa * (s - self.middle) ** 2 / 2


def _highest_minimum(one: _Parabola, two: _Parabola, s1: Tensor, s2: Tensor) -> Tensor:
    """Maximum over `[s1, s2]` of the lower one of two parabolas: at a top, an end or a crossing."""
    a = (two.kappa - one.kappa) / 2
    b = one.kappa * one.middle - two.kappa * two.middle
    c = one.top - two.top + (two.kappa * two.middle**2 - one.kappa * one.middle**2) / 2
    root = (b**2 - 4 * a * c).clamp_min(0).sqrt()
    q = -(b + torch.where(b < 0, -root, root)) / 2
    tries = [one.middle, two.middle, s1, s2, (q / a).nan_to_num(), (c / q).nan_to_num()]
    at = [torch.minimum(torch.maximum(s, s1), s2) for s in tries]
    return torch.stack([torch.minimum(one.at(s), two.at(s)) for s in at]).amax(0)


def segment_saddles(law: Distribution, points: Tensor, log_peak: Tensor, space: Space) -> Tensor:
    """Saddles between points as the lowest densities on straight ways between them, `(B, P, P)`.

    Ways lead between points that have no third one in the ball between them (Gabriel neighbours).
    No way may be straight between two points, so that these are lower bounds of saddles.

    Arguments:
        law: of batch size B.
        points: `(B, P, e)`.
        log_peak: log-density there, `(B, P)`.
        space: where they lie; on the sphere ways are arcs.
    """
    rows, count, size = points.shape
    found = torch.full((rows, count, count), -math.inf, dtype=points.dtype, device=points.device)
    one, other, used = _neighbours(points)
    every = torch.arange(rows, device=points.device)[:, None]
    share = torch.arange(1, ALONG + 1, dtype=points.dtype, device=points.device) / (ALONG + 1)
    step = max(1, WORK // (rows * ALONG))
    for start in range(0, one.shape[1], step):
        part = slice(start, start + step)
        i, j, real = one[:, part], other[:, part], used[:, part]
        a, b = points[every, i], points[every, j]
        y = a + share[:, None, None, None] * (b - a)  # (T, B, C, e)
        if isinstance(space, Sphere):
            y = space.project(y)
        y = y.transpose(1, 2).reshape(-1, *law.batch_shape, size)
        log_p = law.log_prob(y).view(ALONG, -1, rows).amin(0).T.to(points.dtype)
        lowest = torch.minimum(log_p, torch.minimum(log_peak[every, i], log_peak[every, j]))
        row, pair = torch.nonzero(real, as_tuple=True)
        i, j, lowest = i[row, pair], j[row, pair], lowest[row, pair]
        found[row, i, j] = found[row, j, i] = lowest
    return _with_twins(found, points, log_peak)


def _centres(law: VoronoiMixture, points: Tensor) -> Tensor | None:
    """Centres of a law's kernels like its atoms `(B, K, e)`; None if these are the centres."""
    centres: Tensor | None = getattr(law, "centres", None)
    if centres is None:
        return None
    return (
        centres.detach().to(points).expand(*law.batch_shape, *points.shape[1:]).reshape_as(points)
    )


def _nearest_spread(edges: Edges, space: Space) -> Tensor:
    """Spread `(E,)` of the points of edges that are nearest to the atoms of both sides."""
    s1, s2 = edges.s1, edges.s2
    if isinstance(space, Sphere):
        turn = 2 * math.pi
        foot = torch.floor(s2 / turn) >= torch.ceil(s1 / turn)
        return 1 - edges.b * torch.where(foot, 1.0, torch.maximum(s1.cos(), s2.cos()))
    nearest = torch.minimum(torch.maximum(torch.zeros_like(s1), s1), s2)
    return (edges.a**2 + nearest**2) / 2


def _with_twins(saddles: Tensor, points: Tensor, log_peak: Tensor) -> Tensor:
    """Saddles with those between points that coincide: nothing lies between them."""
    same = (points[:, :, None] == points[:, None]).all(-1)
    lower = torch.minimum(log_peak[:, :, None], log_peak[:, None])
    return torch.where(same, torch.maximum(saddles, lower), saddles)


def _neighbours(points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gabriel neighbours: pairs of numbers `(B, C)` each, and which of them are used `(B, C)`."""
    rows, count, _ = points.shape
    square = torch.cdist(points, points) ** 2
    near = torch.ones(rows, count, count, dtype=torch.bool, device=points.device)
    for k in range(count):  # the angle at k is not obtuse
        sides = square[:, k, :, None] + square[:, k, None]
        inside = sides < square * (1 - 1e-12)
        inside[:, k], inside[:, :, k] = False, False
        near &= ~inside
    near = torch.triu(near, 1)
    row, i, j = torch.nonzero(near, as_tuple=True)
    each = torch.bincount(row, minlength=rows)
    place = torch.arange(len(row), device=row.device) - (each.cumsum(0) - each)[row]
    shape = (rows, max(1, int(each.max())))
    one, other = (torch.zeros(shape, dtype=torch.long, device=row.device) for _ in range(2))
    used = torch.zeros(shape, dtype=torch.bool, device=row.device)
    one[row, place], other[row, place], used[row, place] = i, j, True
    return one, other, used
