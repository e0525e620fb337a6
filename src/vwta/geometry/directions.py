r"""Cells seen along directions from their atom: any dimension, and the paper's estimate of volumes.

An isotropic kernel's mass in a cell is a mean over directions, :math:`V = E_s[F_h(reach(s))]`,
where `reach` is how far the cell goes along :math:`s`. In one dimension there are two directions
and the mean is exact; elsewhere it is taken over quasi-random or random ones. The lines that end
each ray do not depend on `h`: they are found once.

An atom that moves takes its kernel with it and moves the borders to its neighbours. The first
effect is :math:`\partial V / \partial z = \int (y - z) K_h dy / h^2` over the cell, a mean over
directions that holds for atoms on a side too. The second is the gradient of the reach, with the
start of the ray held fixed: if it moved too, rays along a nearby side would have gradients without
bound.
"""

from __future__ import annotations

__all__ = ["REPLICATES", "Directions", "Rays", "SphereRays", "cube", "scatter"]

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from vwta.geometry.ends import first_lines
from vwta.geometry.kernels import Kernel
from vwta.geometry.ordered import ends_of_cells
from vwta.geometry.spaces import Space, unit

REPLICATES = 8  # independent scramblings: their scatter is the stated error
CAUTION = 1.5  # stated error by scatter: that of few replicates is itself uncertain
WORK = 2**23  # numbers held at once while rays are cut


@dataclass(frozen=True)
class Directions:
    """Directions along which volumes of cells are estimated where they are not exact.

    Arguments:
        count: number of directions.
        seed: seed of their choice.
        random: independent directions, drawn anew for each cell, as the paper does (it uses 40);
            otherwise scrambled Sobol sequences.
        tolerance: largest error of log-masses in three and more dimensions; where the stated one
            is larger, as many directions are added as bring it down. None takes `count` of them.
        most: largest number of directions for a cell; the error stated is that of those taken.
    """

    count: int = 2048
    seed: int = 0
    random: bool = False
    tolerance: float | None = None
    most: int = 2**18

    def __post_init__(self) -> None:
        if self.tolerance is not None and (self.random or not self.tolerance > 0):
            raise ValueError(
                "the tolerance of Directions must be positive, and not for random ones, found "
                f"{self.tolerance} with random={self.random}"
            )
        if self.count < REPLICATES or self.count % REPLICATES:
            raise ValueError(
                f"the count of Directions must be a positive multiple of {REPLICATES}, "
                f"found {self.count}"
            )


class Rays:
    """Rays of chosen cells of a box, each with the line that ends it.

    Arguments:
        points: atoms in float64, `(B, K, e)`.
        row: which of the `B` tessellations each cell belongs to, `(C,)`.
        atom: which of the `K` atoms it surrounds, `(C,)`.
        space: where they lie.
        how: choice of the directions.
    """

    _slowest = 0.0  # a line ends a ray if the ray comes nearer to it faster than this

    def __init__(
        self, points: Tensor, row: Tensor, atom: Tensor, space: Space, how: Directions
    ) -> None:
        self.space, self.dim = space, space.dim(points.shape[-1])
        self.row, self.atom = row, atom
        self.aim = _aim(how, self.dim, len(row), points)  # (1 or C, S, e)
        if self.dim == 1:
            self.line = ends_of_cells(points.detach()[..., 0], row, atom, space)
            return
        with torch.no_grad():
            size = points.shape[1] * points.shape[2]
            lines = [
                self._first_line(points, part, self._rays(points, part))
                for part in self._parts(size)
            ]
            self.line = torch.cat(lines)

    def log_mass(self, points: Tensor, kernel: Kernel) -> Tensor:
        """Log of the mean of `F_h(reach)`, `(C,)`; differentiable in `points` and `kernel.h`."""
        parts = (self._masses(points, kernel, part) for part in self._parts(points.shape[2]))
        log_mass = torch.cat([_log_mean(masses, self.dim) for masses in parts])
        if not self._is_pinned() or not (points.requires_grad and torch.is_grad_enabled()):
            return log_mass
        z = points[self.row, self.atom]
        pull = self._pull(points.detach(), kernel.at(kernel.h.detach()), log_mass.detach())
        return log_mass + (pull * (z - z.detach())).sum(-1)

    def error(self, points: Tensor, kernel: Kernel) -> Tensor:
        """Standard error of the log-mass, `(C,)`: 0 in one dimension, where it is exact."""
        if self.dim == 1:
            return torch.zeros_like(kernel.h)
        errors = []
        for part in self._parts(points.shape[2]):
            masses = self._masses(points, kernel, part).unflatten(1, (REPLICATES, -1))
            mean = _log_mean(masses, self.dim)
            mean = (mean - mean.amax(-1, keepdim=True)).exp()
            errors.append(mean.std(-1) / mean.mean(-1) / math.sqrt(REPLICATES))
        return torch.cat(errors)

    def means(self, points: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means of `y - z` and its squares under the cut kernels, `(C, d)` each."""
        mass = self.log_mass(points, kernel).detach().exp()[:, None]
        first, second = self._moments(points, kernel, (1, 2))
        return first / mass, second / mass

    def replicates(self, points: Tensor, kernel: Kernel) -> tuple[Tensor, Tensor]:
        """Means as each part of the directions has them, then all of them, `(R + 1, C, d)` each."""
        means = self.means(points, kernel)
        if self.dim == 1:
            return means[0].expand(2, -1, -1), means[1].expand(2, -1, -1)
        found: list[list[Tensor]] = [[], []]
        for part in self._parts(points.shape[2]):
            at, reach = kernel.at(kernel.h[part, None]), self.reach(points, part)
            mass = _by_replicate(self._masses(points, kernel, part).exp()[..., None])
            for p in (1, 2):
                radial = at.radial_moment(reach, self.dim, p)[..., None]
                found[p - 1].append(_by_replicate(self._rays(points, part) ** p * radial) / mass)
        first, second = (
            torch.cat([torch.cat(parts, 1), mean[None]])
            for parts, mean in zip(found, means, strict=True)
        )
        return first, second

    def sample_line(
        self, points: Tensor, kernel: Kernel, which: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """Points `(N, 1)` of cells `which` `(N,)` in one dimension: left or right, then how far."""
        reach = self.reach(points, slice(None))
        mass = kernel.at(kernel.h[:, None]).mass(reach, 1)
        u, v = torch.rand(2, len(which), dtype=mass.dtype, device=mass.device, generator=generator)
        left = (u * mass.sum(1)[which] >= mass[which, 0]).long()
        w = kernel.at(kernel.h[which]).spread_at(v, reach[which, left] ** 2 / 2, 1)
        step = torch.where(left == 1, -1, 1) * (2 * w).sqrt()
        return points[self.row, self.atom][which] + step[:, None]

    def _moments(self, points: Tensor, kernel: Kernel, powers: Sequence[int]) -> list[Tensor]:
        """Integrals over the cells of powers of `y - z`, `(C, d)` each."""
        means: list[list[Tensor]] = [[] for _ in powers]
        for part in self._parts(points.shape[2]):
            reach, rays = self.reach(points, part), self._rays(points, part)
            at = kernel.at(kernel.h[part, None])
            for p, found in zip(powers, means, strict=True):
                ray = rays**p
                if p == 1:
                    ray = ray - ray.mean(1, keepdim=True)  # over all directions it is 0
                found.append((ray * at.radial_moment(reach, self.dim, p)[..., None]).mean(1))
        return [torch.cat(found) for found in means]

    def _pull(self, points: Tensor, kernel: Kernel, log_mass: Tensor) -> Tensor:
        """Gradient of the log-mass by an atom that moves in a cell that does not, `(C, d)`."""
        mass = log_mass.exp().clamp_min(torch.finfo(log_mass.dtype).tiny)
        (first,) = self._moments(points, kernel, (1,))
        return first / (mass * kernel.h**2)[:, None]

    def _parts(self, size: int) -> list[slice]:
        """Slices of the cells that are worked on at once, with `size` numbers for each ray."""
        step = max(1, WORK // (self.aim.shape[1] * size))
        return [slice(start, start + step) for start in range(0, max(len(self.row), 1), step)]

    def _masses(self, points: Tensor, kernel: Kernel, cells: slice) -> Tensor:
        """`F_h(reach)` along every ray, `(C, S)`; its log in more than one dimension."""
        reach, kernel = self.reach(points, cells), kernel.at(kernel.h[cells, None])
        if self.dim == 1:
            return kernel.mass(reach, 1)
        blocked = reach == 0
        log_mass = kernel.log_mass(torch.where(blocked, torch.ones_like(reach), reach), self.dim)
        return torch.where(blocked, torch.full_like(reach, -math.inf), log_mass)

    def _is_pinned(self) -> bool:
        """Whether the start of rays has no gradient."""
        return self.dim > 1

    def _rays(self, points: Tensor, cells: slice) -> Tensor:
        """Unit directions `(1 or C, S, e)`, tangent to the space at the atoms."""
        return self.aim if len(self.aim) == 1 else self.aim[cells]

    def _first_line(self, points: Tensor, cells: slice, ray: Tensor) -> Tensor:
        """The line that ends each ray, `(C, S)`: an atom, `K + i` for side `i`, or -1 for none."""
        row, atom = self.row[cells], self.atom[cells]
        return first_lines(points, row, atom, self.space, ray, self._slowest)

    def _neighbours(self, points: Tensor, cells: slice) -> tuple[Tensor, ...]:
        """Atoms `(C, 1, e)`, and for each ray whether a neighbour ends it, which, and how far.

        The last two are `(C, S, e)`: the neighbour's place, and the step to it from the atom.
        """
        row, line = self.row[cells], self.line[cells]
        z = points[row, self.atom[cells]][:, None]
        ends = (line >= 0) & (line < points.shape[1])
        neighbour = points[row[:, None], torch.where(ends, line, 0)]
        apart = torch.where(ends[..., None], neighbour - z, torch.ones_like(neighbour))
        return z, ends, neighbour, apart

    def reach(self, points: Tensor, cells: slice) -> Tensor:
        """How far the cell goes along every ray, `(C, S)`, with the gradient named above."""
        z, ends, _, apart = self._neighbours(points, cells)
        ray = self._rays(points, cells)
        rate = (apart * ray).sum(-1)
        rate = torch.where(ends, rate, torch.ones_like(rate))
        start = z.detach() if self._is_pinned() else z
        middle = ((apart / 2 + (z - start)) * apart).sum(-1)
        reach = torch.where(ends, middle / rate, torch.full_like(rate, math.inf))
        normals, to_side = self.space.sides(start[:, 0])
        side = self.line[cells] - points.shape[1]
        at_side = side >= 0
        side = torch.where(at_side, side, 0)
        rate = (normals[side] * ray).sum(-1)
        rate = torch.where(at_side, rate, torch.ones_like(rate))
        to_side = torch.where(to_side.isinf(), torch.zeros_like(to_side), to_side)
        return torch.where(at_side, to_side.gather(1, side) / rate, reach)


class SphereRays(Rays):
    """Rays along great circles; every bisector ends every ray."""

    _slowest = -math.inf

    def _is_pinned(self) -> bool:
        return False

    def _rays(self, points: Tensor, cells: slice) -> Tensor:
        aim, z = super()._rays(points, cells), points[self.row[cells], self.atom[cells]][:, None]
        return unit(aim - (aim * z).sum(-1, keepdim=True) * z)

    def reach(self, points: Tensor, cells: slice) -> Tensor:
        _, ends, neighbour, apart = self._neighbours(points, cells)
        ray = self._rays(points, cells)
        reach = torch.atan2((apart**2).sum(-1) / 2, (neighbour * ray).sum(-1))
        return torch.where(ends, reach, torch.full_like(reach, math.pi))


def _aim(how: Directions, dim: int, cells: int, like: Tensor) -> Tensor:
    """Unit vectors `(1 or C, S, e)`, the same for all cells or drawn for each of `cells`."""
    if dim == 1:
        return like.new_tensor([[[1.0], [-1.0]]])
    size = like.shape[-1]
    if how.random:
        generator = torch.Generator().manual_seed(how.seed)
        aim = torch.randn(cells, how.count, size, dtype=like.dtype, generator=generator)
    else:
        aim = torch.special.ndtri(cube(how.count, how.seed, size).to(like))[None]
    return unit(aim.to(like.device))


@lru_cache(maxsize=4)  # a megabyte each by default
def cube(count: int, seed: int, size: int) -> Tensor:
    """Scrambled Sobol points of the unit cube, `(count, size)`, with replicates in turn.

    They are kept: nobody may change them.
    """
    draws = []
    for each in range(seed * REPLICATES, (seed + 1) * REPLICATES):
        engine = SobolEngine(size, scramble=True, seed=each)
        draws.append(engine.draw(count // REPLICATES, dtype=torch.float64))
    half = 0.5 / 2**30  # the engine's resolution: keeps 0 and 1 out
    return torch.cat(draws).clamp(half, 1 - half)


def scatter(parts: Tensor) -> Tensor:
    """Standard error of estimates from their replicates, `(R + 1, *)` with the estimates last."""
    count = len(parts) - 1
    if count < 2:
        return torch.zeros_like(parts[-1])
    error: Tensor = parts[:-1].std(0) * (CAUTION / math.sqrt(count))
    return error


def _by_replicate(values: Tensor) -> Tensor:
    """Means `(R, C, d)` of values `(C, S, d)` over the rays of each replicate."""
    means: Tensor = values.unflatten(1, (REPLICATES, -1)).mean(2)
    return means.movedim(1, 0)


def _log_mean(masses: Tensor, dim: int) -> Tensor:
    """Log of a mean over the last axis: of masses in one dimension, of log-masses in more."""
    if dim == 1:
        return masses.mean(-1).log()
    return torch.logsumexp(masses, -1) - math.log(masses.shape[-1])
