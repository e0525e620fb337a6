r"""Cells in three and more dimensions, seen along directions that fit them and their kernels.

In three dimensions they serve where `Directions` are given: :mod:`solid_cells` beside is exact.

A kernel's mass in a cell is a mean over directions, see :mod:`vwta.geometry.directions`. Where a
cell is long or thin, few directions hold most of the mass. They are drawn from a mixture: evenly,
and towards points of boxes of several sizes that fit the cell, so that some part of the mixture
fits the kernel at every bandwidth; each direction is weighted by the inverse of its density. Along
the same directions a box is measured whose mass is known, and its error is taken off by regression.
A cell that is a box, such as that of a lone atom, has its closed form and no error.
"""

from __future__ import annotations

__all__ = ["SolidRays"]

import math
from dataclasses import replace

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from vwta.geometry.blocks import Blocks, block_reach, cross_boxes
from vwta.geometry.directions import REPLICATES, Directions, Rays, cube, scatter
from vwta.geometry.kernels import Kernel, Uniform, log_ball
from vwta.geometry.memory import MEMORY, slices
from vwta.geometry.spaces import Box, Space, unit

SIZES = 5  # of boxes along each frame to whose points directions lead
ENDLESS = 1e4  # size of the largest box, in units of the smallest, if the cell has no end


class SolidRays:
    """Rays of chosen cells of a box in three and more dimensions.

    Arguments:
        points: atoms in float64, `(B, K, d)`, without gradients.
        row: which of the `B` tessellations each cell belongs to, `(C,)`.
        atom: which of the `K` atoms it surrounds, `(C,)`.
        space: where they lie.
        how: number and seed of the directions.
    """

    def __init__(
        self, points: Tensor, row: Tensor, atom: Tensor, space: Box, how: Directions
    ) -> None:
        self.points, self.row, self.atom, self.space, self.how = points, row, atom, space, how
        count, d = points.shape[1] + 2 * points.shape[2], points.shape[2]
        self._last: tuple[type[Kernel], Tensor, Tensor, Tensor] | None = None
        self._kept: dict[tuple[int, int, int], _Part] = {}
        self._size = 36 * d * 8 * (how.count + points.shape[1])  # bytes a cell that is worked on
        fitting = slices(len(row), count * 8 * d * 12)
        pairs = [cross_boxes(points, row[part], atom[part], space) for part in fitting]
        along, across = (Blocks.cat([pair[i] for pair in pairs]) for i in range(2))
        self.blocks = Blocks.choose(along.whole | ~across.whole, along, across)
        self._other = across

    def log_mass(self, points: Tensor, kernel: Kernel) -> Tensor:
        """Log of the kernel's mass, `(C,)`; differentiable in `points` and `kernel.h`."""
        h = kernel.h
        if not torch.is_grad_enabled() or not (points.requires_grad or h.requires_grad):
            return self._values(points, kernel)[0]

        def change(points: Tensor, h: Tensor, part: Tensor) -> Tensor:
            rays, total = self._part(part), torch.zeros_like(h)
            if h.requires_grad:
                value, _ = rays.log_mass_and_error(points.detach(), kernel.at(h))
                total = total + (value - value.detach())
            if points.requires_grad:
                value = rays.log_mean(points, kernel.at(h.detach()))
                total = total + (value - value.detach())
            return total

        with torch.no_grad():
            value = self._values(points, kernel)[0]
        whole = torch.nonzero(self.blocks.whole)[:, 0]
        open_ = torch.nonzero(~self.blocks.whole)[:, 0]
        changes = [
            self._block_change(points, kernel.at(h[whole]), whole),
            *(
                checkpoint(change, points, h[part], part, use_reentrant=False)
                for part in self._parts(open_, with_graph=True)
            ),
        ]
        order = torch.cat([whole, open_])
        return value + torch.zeros_like(value).index_copy(0, order, torch.cat(changes))

    def _block_change(self, points: Tensor, kernel: Kernel, cells: Tensor) -> Tensor:
        """0 with the gradients of the log-masses of cells that are boxes, `(C,)`."""
        blocks, row = self.blocks[cells], self.row[cells]
        with torch.no_grad():
            own, others = blocks.slope(kernel, points.shape[1])
        moved = points - points.detach()
        log_mass = blocks.log_mass(kernel)
        change = log_mass - log_mass.detach() + (own * moved[row, self.atom[cells]]).sum(-1)
        beyond = moved[row[:, None, None], blocks.face.clamp_max(points.shape[1] - 1)]
        return change + (others * beyond).sum((-3, -2, -1))

    def error(self, points: Tensor, kernel: Kernel) -> Tensor:
        """Standard error of the log-mass, `(C,)`; 0 where it has a closed form."""
        with torch.no_grad():
            return self._values(points, kernel)[1]

    def means(self, points: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means of `y - z` and its squares under the cut kernels, `(C, d)` each."""
        first, second = self.replicates(points, kernel)
        return first[-1], second[-1]

    def replicates(self, points: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means as each part of the directions has them, then all of them, `(R + 1, C, d)` each."""
        exact = [x.expand(REPLICATES + 1, -1, -1).clone() for x in self.blocks.moments(kernel)]
        open_ = torch.nonzero(~self.blocks.whole)[:, 0]
        for part in self._parts(open_):
            found = self._part(part).means(points, kernel.at(kernel.h[part]))
            for all_, x in zip(exact, found, strict=True):
                all_[:, part] = x
        return exact[0], exact[1]

    def _values(self, points: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Log-masses and their errors, `(C,)` each; those of the last bandwidth are kept."""
        last = self._last  # read once: another thread may replace it
        if last is None or last[0] is not type(kernel) or not torch.equal(last[1], kernel.h):
            last = type(kernel), kernel.h.detach().clone(), *self._new_values(points, kernel)
            self._last = last
        return last[2].clone(), last[3].clone()

    def _new_values(self, points: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """:meth:`_values`, computed."""
        value = self.blocks.log_mass(kernel)
        error = torch.zeros_like(value)
        open_ = torch.nonzero(~self.blocks.whole)[:, 0]
        for part in self._parts(open_):
            at = kernel.at(kernel.h[part])
            value[part], error[part] = self._part(part).log_mass_and_error(points, at)
        if self.how.tolerance is not None:
            self._refine(points, kernel, value, error)
        return value, error

    def _refine(self, points: Tensor, kernel: Kernel, value: Tensor, error: Tensor) -> None:
        """Add other directions where errors are too large, in place; one set at a time."""
        how, tolerance = self.how, self.how.tolerance
        assert tolerance is not None
        top, count = value.clone(), torch.ones_like(value)
        total, square = torch.ones_like(value), error**2  # in units of exp(top) and its square
        for i in range(1, how.most // how.count):
            some = torch.nonzero(square.sqrt() > tolerance * total)[:, 0]
            if not len(some):
                break
            other = replace(how, seed=how.seed + i * 2**20, tolerance=None)
            rays = SolidRays(self.points, self.row[some], self.atom[some], self.space, other)
            found, off = rays._values(points, kernel.at(kernel.h[some]))
            mass = (found - top[some]).exp()
            count[some] += 1
            total[some] += mass
            square[some] += (off * mass) ** 2
        value += (total / count).log()
        error.copy_(square.sqrt() / total)

    def _parts(self, cells: Tensor, with_graph: bool = False) -> list[Tensor]:
        """Cells `(C,)` that are worked on at once; fewer if gradients need all that leads there."""
        size = self._size * (4 if with_graph else 1)
        return [cells[part] for part in slices(len(cells), size) if len(cells)]

    def _part(self, cells: Tensor) -> _Part:
        """The rays of some cells; those of the first cells asked for are kept."""
        key = len(cells), int(cells[0]), int(cells[-1])
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        row, atom = self.row[cells], self.atom[cells]
        boxes = self.blocks[cells], self._other[cells]
        part = _Part(self.points, row, atom, self.space, self.how, boxes)
        if len(self._kept) < 2 and part.bytes <= MEMORY // 4:
            self._kept = {**self._kept, key: part}
        return part


class _Part(Rays):
    """Rays of a few cells, each with the log of its weight and the line that ends it."""

    def __init__(
        self,
        points: Tensor,
        row: Tensor,
        atom: Tensor,
        space: Space,
        how: Directions,
        boxes: tuple[Blocks, Blocks],
    ) -> None:
        self.space, self.dim, self.row, self.atom = space, points.shape[-1], row, atom
        self.aim, self.log_weight = _directions(boxes, how)
        self.line = self._first_line(points, slice(None), self.aim)
        reach = self.reach(points, slice(None)).log()
        gaps = [(box.reach(self.aim).log() - reach).abs().clamp_max(5.0).mean(1) for box in boxes]
        self.block = Blocks.choose(gaps[0] <= gaps[1], *boxes)
        self.beside = self.block.reach(self.aim)

    @property
    def bytes(self) -> int:
        """Memory that the rays take."""
        tensors = self.aim, self.log_weight, self.line, self.beside
        return sum(x.numel() * x.element_size() for x in tensors)

    def log_mean(self, points: Tensor, kernel: Kernel) -> Tensor:
        """Weighted mean of `F_h(reach)`, as a log, `(C,)`, for its gradients alone."""
        mean = torch.logsumexp(self._masses(points, kernel, slice(None)) + self.log_weight, -1)
        if not points.requires_grad:
            return mean
        z = points[self.row, self.atom]
        with torch.no_grad():
            pull = self._pull(points, kernel, mean)
        return mean + (pull * (z - z.detach())).sum(-1)

    def log_mass_and_error(self, points: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Log-masses and their errors, `(C,)` each."""
        own = self._masses(points, kernel, slice(None)) + self.log_weight
        known = _log_mass(kernel, self.beside, self.dim) + self.log_weight
        top = torch.maximum(own.amax(1), known.amax(1)).detach()
        mean = (self.block.log_mass(kernel) - top).exp()
        own, known = ((x - top[:, None]).exp() for x in (own, known))
        masses = _regress(own, known, mean)
        whole = torch.where(masses[-1] > 0, masses[-1], own.sum(1))
        return whole.log() + top, scatter(masses) / whole

    def means(self, points: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means of `y - z` and its squares, see :meth:`SolidRays.replicates`."""
        ends = torch.cat([self.block.low, self.block.high], 1).abs()
        kernel = kernel.at(torch.minimum(kernel.h, 1e8 * ends.amax(1)))  # wider is as good as this
        log_mass = self.block.log_mass(kernel)
        scale = (self.log_weight - log_mass[:, None]).exp()
        reach = self.reach(points, slice(None))
        own, known = (_log_mass(kernel, x, self.dim).exp() * scale for x in (reach, self.beside))
        mass = _regress(own, known, torch.ones_like(log_mass))
        at, found = kernel.at(kernel.h[:, None]), []
        for p, mean in zip((1, 2), self.block.moments(kernel), strict=True):
            ray = (self.aim**p).movedim(-1, 0)  # (d, C, S)
            own, known = (
                at.radial_moment(x, self.dim, p) * scale * ray for x in (reach, self.beside)
            )
            integral = _regress(own, known, mean.T).movedim(1, -1)
            found.append(integral / mass.clamp_min(torch.finfo(mass.dtype).tiny)[..., None])
        return found[0], found[1]

    def _pull(self, points: Tensor, kernel: Kernel, log_mass: Tensor) -> Tensor:
        """Gradient of the log-mass by an atom that moves in a cell that does not, `(C, d)`."""
        if isinstance(kernel, Uniform):
            return torch.zeros_like(self.aim[:, 0])
        weight = (self.log_weight - log_mass[:, None]).exp()[..., None]
        ray = self.aim - (weight * self.aim).sum(1, keepdim=True) / weight.sum(1, keepdim=True)
        reach = self.reach(points, slice(None))
        radial = kernel.at(kernel.h[:, None]).radial_moment(reach, self.dim, 1)[..., None]
        return (ray * radial * weight).sum(1) / (kernel.h**2)[:, None]


def _regress(own: Tensor, known: Tensor, mean: Tensor) -> Tensor:
    """Sums over rays of `own` `(*, S)`, less what `known` has too much, `(R + 1, *)`.

    One for each part of the directions, and one for all of them; `mean` `(*)` is what the sum
    of `known` should be.
    """
    centred = known - known.mean(-1, keepdim=True)
    spread = (centred**2).sum(-1)
    slope = (own * centred).sum(-1) / spread.clamp_min(torch.finfo(own.dtype).tiny)
    rest = own - slope[..., None] * known
    parts = rest.unflatten(-1, (REPLICATES, -1)).sum(-1).movedim(-1, 0) * REPLICATES
    return torch.cat([parts, rest.sum(-1)[None]]) + slope * mean


def _log_mass(kernel: Kernel, reach: Tensor, d: int) -> Tensor:
    """Log of the kernel's mass within `reach` `(C, S)`; -inf where it is 0."""
    blocked = reach == 0
    log_mass = kernel.at(kernel.h[:, None]).log_mass(torch.where(blocked, 1.0, reach), d)
    return torch.where(blocked, -math.inf, log_mass)


def _directions(boxes: tuple[Blocks, Blocks], how: Directions) -> tuple[Tensor, Tensor]:
    """Unit vectors `(C, S, d)` from the mixture, and the logs of their weights `(C, S)`.

    The weights are those of a mean over even directions: their sum is about 1.
    """
    like, d = boxes[0].low, boxes[0].low.shape[-1]
    points = cube(how.count, how.seed, d + 1).to(like)
    kinds = 2 * SIZES + 1
    kind = (points[:, 0] * kinds).long().clamp_max(kinds - 1)
    u = points[:, 1:]
    step = torch.special.ndtri(u).expand(len(like), -1, -1).clone()
    subs = [_sub_boxes(box) for box in boxes]
    for k, box in enumerate(boxes):
        for i, (low, high) in enumerate(subs[k]):
            chosen = kind == 1 + k * SIZES + i
            within = low[:, None] + u[chosen] * (high - low)[:, None]
            step[:, chosen] = torch.matmul(within, box.frame)
    ray = unit(step)
    logs = [torch.zeros_like(ray[..., 0])]
    for box, parts in zip(boxes, subs, strict=True):
        rate = torch.matmul(ray, box.frame.mT)
        for low, high in parts:
            volume = (high - low).log().sum(-1)[:, None]
            logs.append(log_ball(d) + d * block_reach(rate, low, high).log() - volume)
    density = torch.logsumexp(torch.stack(logs), 0) - math.log(kinds)
    return ray, -density - math.log(how.count)


def _sub_boxes(box: Blocks) -> list[tuple[Tensor, Tensor]]:
    """Parts of boxes within cubes around their atoms, from their least width to their largest."""
    width = box.high - box.low
    least = width.amin(-1, keepdim=True)
    least = torch.where(least.isinf(), 1.0, least)
    largest = torch.where(width.isinf(), ENDLESS * least, width).amax(-1, keepdim=True)
    sizes = [least * (largest / least) ** (i / (SIZES - 1)) for i in range(SIZES)]
    return [(torch.maximum(box.low, -size), torch.minimum(box.high, size)) for size in sizes]
