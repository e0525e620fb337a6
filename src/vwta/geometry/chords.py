r"""Exact samples of standard Gaussians cut to convex polygons, wherever these lie.

First the chord: the coordinate :math:`t` along an axis has the density :math:`f(t) = \varphi(t)
(\Phi(top) - \Phi(bottom)) / V`, which is log-concave, so that with its mode :math:`m`

.. math:: f(t) \leq f(m) \min(1, e^{1 - f(m) |t - m|}),

a bound of area 4 at most: one draw in four is accepted whatever the polygon (Devroye, 1986). The
place on the chord follows by inversion. Where the cell has much of the kernel, draws from the uncut
kernel are tried before.
"""

from __future__ import annotations

__all__ = ["sample_polygons"]

import math

import torch
from torch import Tensor

from vwta.geometry.intervals import log_gaussian, standard_quantile
from vwta.geometry.whitened import Sides

ROUNDS = 400  # of rejection; a sample is still open after them with probability below 1e-49
STEPS = 90  # of the search for modes: the interval shrinks to 1e-18 of its length
WINDOW = 40.0  # standard deviations beyond the nearest point that modes are looked for in
LIKELY = 0.15  # mass of a cell from which on draws from the uncut kernel are tried first
TRIES = 32  # how often
RATIO = (math.sqrt(5) - 1) / 2


def sample_polygons(
    sides: Sides, log_mass: Tensor, which: Tensor, generator: torch.Generator | None
) -> Tensor:
    """A point `(N, 2)`, in units of the kernels, for each draw among `C` cells.

    Arguments:
        sides: edges of the cells.
        log_mass: log of the mass of every cell, `(C,)`.
        which: cell of each draw, `(N,)`.
        generator: source of randomness; torch's own if None.
    """
    chords = _Chords(sides)
    out = torch.empty(len(which), 2, dtype=log_mass.dtype, device=log_mass.device)
    todo = torch.nonzero(log_mass[which] > math.log(LIKELY))[:, 0]
    for _ in range(TRIES):
        u = torch.randn(len(todo), 2, dtype=out.dtype, device=out.device, generator=generator)
        inside = chords.contain(u, which[todo])
        out[todo[inside]] = u[inside]
        todo = todo[~inside]
        if not len(todo):
            break
    rest = torch.cat([torch.nonzero(log_mass[which] <= math.log(LIKELY))[:, 0], todo])
    if len(rest):
        out[rest] = _by_chords(chords, log_mass, which[rest], generator)
    return out


def _by_chords(
    chords: _Chords, log_mass: Tensor, which: Tensor, generator: torch.Generator | None
) -> Tensor:
    """:func:`sample_polygons` for cells of any mass."""
    mode = chords.mode()
    top = chords.log_density(mode, torch.arange(len(mode), device=mode.device))
    slope = torch.exp(top - log_mass) * (1 - 1e-6)  # whatever the rounding, a bound
    t = torch.empty(len(which), dtype=mode.dtype, device=mode.device)
    todo = torch.arange(len(which), device=which.device)
    for _ in range(ROUNDS):
        cell = which[todo]
        u, v, w = (_uniform(todo, t, generator) for _ in range(3))
        flat = u < 0.5
        step = torch.where(flat, 2 * u, 1 - torch.log((2 * u - 1).clamp_min(1e-300)))
        side = torch.where(v < 0.5, -1.0, 1.0)
        at = mode[cell] + side * step / slope[cell]
        bound = torch.where(flat, 0.0, 1 - step)
        accepted = torch.log(w) + bound <= chords.log_density(at, cell) - top[cell]
        t[todo[accepted]] = at[accepted]
        todo = todo[~accepted]
        if not len(todo):
            break
    else:
        raise RuntimeError(
            f"no chord found for {len(todo)} samples: points, centres and bandwidths must be finite"
        )
    low, high = chords.ends(t, which)
    v = standard_quantile(low, high, _uniform(which, t, generator))
    return t[:, None] * chords.axis[which] + v[:, None] * chords.across[which]


class _Chords:
    """Chords of cells across an axis: the direction from the origin to the nearest point."""

    def __init__(self, sides: Sides) -> None:
        a, s1, s2 = sides.about_origin()
        count = torch.bincount(sides.cell, minlength=len(sides.atom))
        place = torch.arange(len(a), device=a.device) - (count.cumsum(0) - count)[sides.cell]
        shape = (len(sides.atom), int(count.max()))

        def table(values: Tensor, missing: float) -> Tensor:
            rows = values.new_full((*shape, *values.shape[1:]), missing)
            rows[sides.cell, place] = values
            return rows

        self.normal = normal = table(sides.normal, 0.0)
        tangent = table(sides.tangent, 0.0)
        self.a, s1, s2 = table(a, math.inf), table(s1, 0.0), table(s2, 0.0)
        foot = torch.minimum(torch.maximum(s1, torch.zeros_like(s1)), s2)
        square = (self.a**2 + foot**2).amin(1, keepdim=True)
        first = (self.a**2 + foot**2).argmin(1, keepdim=True)
        at = torch.where(self.a.isinf(), 0.0, self.a)[..., None]
        point = (at * normal + foot[..., None] * tangent).take_along_dim(first[..., None], 1)[:, 0]
        norm = torch.linalg.vector_norm(point, dim=-1, keepdim=True)
        some = torch.zeros_like(point)
        some[:, 0] = 1.0
        self.axis = torch.where(norm > 1e-9, point / norm.clamp_min(1e-300), some)
        self.across = torch.stack([-self.axis[:, 1], self.axis[:, 0]], -1)
        self.along_axis, self.along_chord = (
            (normal * x[:, None]).sum(-1) for x in (self.axis, self.across)
        )
        corner = ((at * normal + s1[..., None] * tangent) * self.axis[:, None]).sum(-1)
        real = self.a.isfinite()
        low = corner.masked_fill(~real, math.inf).amin(1)
        high = corner.masked_fill(~real, -math.inf).amax(1)
        most = (square.sqrt() + WINDOW)[:, 0]
        self.low, self.high = low.clamp(-most, most), high.clamp(-most, most)

    def contain(self, u: Tensor, cell: Tensor) -> Tensor:
        """Whether points `(N, 2)` lie in cells `(N,)`."""
        return ((self.normal[cell] * u[:, None]).sum(-1) <= self.a[cell]).all(1)

    def ends(self, t: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Lower and upper ends of the chords at `t` `(N,)` of cells `(N,)`."""
        rate = self.along_chord[cell]
        slack = self.a[cell] - t[:, None] * self.along_axis[cell]
        at = slack / rate
        low = at.masked_fill(~(rate < 0), -math.inf).amax(1)
        high = at.masked_fill(~(rate > 0), math.inf).amin(1)
        beyond = ((rate == 0) & (slack < 0)).any(1)
        return low, torch.where(beyond, low, high)

    def log_density(self, t: Tensor, cell: Tensor) -> Tensor:
        """Log of `V f` at `t` `(N,)` in cells `(N,)`; -inf outside."""
        low, high = self.ends(t, cell)
        width = high - low
        log_mass = log_gaussian(low, high, width)
        log_density = log_mass - t**2 / 2 - math.log(2 * math.pi) / 2
        return torch.where((width > 0) & ~log_mass.isnan(), log_density, -math.inf)

    def mode(self) -> Tensor:
        """Where each cell's density along the axis is highest, `(C,)`, by golden sections."""
        low, high = self.low.clone(), self.high.clone()
        cell = torch.arange(len(low), device=low.device)
        left, right = high - RATIO * (high - low), low + RATIO * (high - low)
        at_left, at_right = self.log_density(left, cell), self.log_density(right, cell)
        for _ in range(STEPS):
            lower = at_left >= at_right
            low, high = torch.where(lower, low, left), torch.where(lower, right, high)
            new = torch.where(lower, high - RATIO * (high - low), low + RATIO * (high - low))
            at_new = self.log_density(new, cell)
            left, right = torch.where(lower, new, right), torch.where(lower, left, new)
            at_left, at_right = (
                torch.where(lower, at_new, at_right),
                torch.where(lower, at_left, at_new),
            )
        candidates = torch.stack([self.low, left, right, self.high])
        values = torch.stack([self.log_density(t, cell) for t in candidates])
        return candidates.take_along_dim(values.argmax(0)[None], 0)[0]


def _uniform(which: Tensor, like: Tensor, generator: torch.Generator | None) -> Tensor:
    return torch.rand(len(which), dtype=like.dtype, device=like.device, generator=generator)
