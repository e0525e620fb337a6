r"""Exact samples of von Mises-Fisher laws about any centre, cut to convex polygons of the sphere.

On the meridian of azimuth :math:`\varphi` about the centre, the polygon is one interval of spreads:
each great circle is crossed once, and either lets the meridian in or out. With the concentration
:math:`\kappa` the azimuth has the density

.. math:: g(\varphi) \propto e^{-\kappa w_{in}(\varphi)} - e^{-\kappa w_{out}(\varphi)}

and the spread follows by inversion. Azimuths are drawn by rejection from a bound that is constant
on arcs: where a great circle is on an arc is known to within its ends, and arcs are halved where
the bound has most of its mass, until most draws are accepted whatever polygon and kernel.
"""

from __future__ import annotations

__all__ = ["sample_meridians"]

import math

import torch
from torch import Tensor

from vwta.geometry.arcs import Arcs
from vwta.geometry.spaces import Sphere

HALVINGS = 160  # of arcs, for each cell
ROUNDS = 1000  # of rejection
SLACK = 1e-6  # for the rounding of azimuths


def sample_meridians(arcs: Arcs, which: Tensor, generator: torch.Generator | None) -> Tensor:
    """A point `(N, 3)` for each draw `which` `(N,)` among `C` cells with edges."""
    bound = _Bound(arcs)
    azimuth = torch.empty(len(which), dtype=arcs.a.dtype, device=arcs.a.device)
    todo = torch.arange(len(which), device=which.device)
    for _ in range(ROUNDS):
        cell = which[todo]
        at, log_bound = bound.draw(cell, generator)
        log_g = bound.circles.log_density(at, at, cell)
        accepted = _uniform(at, generator).log() <= log_g - log_bound
        azimuth[todo[accepted]] = at[accepted]
        todo = todo[~accepted]
        if not len(todo):
            break
    else:
        raise RuntimeError(
            f"no meridian found for {len(todo)} samples, the first about the centre "
            f"{arcs.centre[which[todo[0]]].tolist()}: points, centres and bandwidths must be finite"
        )
    start, end = bound.circles.interval(azimuth, azimuth, which)
    kappa, share = arcs.kappa[which], _uniform(azimuth, generator)
    depth = -torch.log1p(share * torch.expm1(-kappa * (end - start))) / kappa
    w = torch.minimum(start + depth, end)[:, None]
    first, second = (x[which] for x in Sphere().frame(arcs.centre))
    ray = azimuth.cos()[:, None] * first + azimuth.sin()[:, None] * second
    return Sphere().move(arcs.centre[which], ray, w)


class _Circles:
    """Great circles around each cell, as functions of the azimuth about the centre, `(C, E)`."""

    def __init__(self, arcs: Arcs) -> None:
        cell, a = arcs.edges.cell, arcs.a
        first, second = Sphere().frame(arcs.centre)
        count = torch.bincount(cell, minlength=len(arcs.z))
        place = torch.arange(len(a), device=a.device) - (count.cumsum(0) - count)[cell]
        shape = (len(arcs.z), int(count.max()) if len(cell) else 0)

        def table(values: Tensor, missing: float) -> Tensor:
            rows = values.new_full(shape, missing)
            rows[cell, place] = values
            return rows

        across, along = ((arcs.edges.normal * x[cell]).sum(-1) for x in (first, second))
        self.kappa, self.a, self.b = arcs.kappa, table(a, 1.0), table(arcs.b, 0.0)
        self.foot = table(torch.atan2(along, across), 0.0)
        # A circle through the centre lets meridians out at once, or never.
        self.enters, self.leaves = table(a, 0.0) < 0, table((a >= 0).double(), 0.0) > 0

    def interval(self, low: Tensor, high: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Least spread at which meridians from `low` to `high` `(N,)` enter, greatest they leave.

        A meridian crosses a circle where the cotangent of the distance is `b cos(phi) / a`.
        """
        foot, a = self.foot[cell], self.a[cell]
        across = self.b[cell] * _least_cosine(low[:, None] - foot, high[:, None] - foot)
        w = _crossing(a, torch.where(a < 0, -across, across))
        start = w.masked_fill(~self.enters[cell], 0.0).amax(1)
        return start, w.masked_fill(~self.leaves[cell], 2.0).amin(1)

    def log_density(self, low: Tensor, high: Tensor, cell: Tensor) -> Tensor:
        """Log of a bound of g between two azimuths `(N,)`, which is g itself if they are equal."""
        start, end = self.interval(low, high, cell)
        kappa = self.kappa[cell]
        inside = torch.expm1(-kappa * (end - start).clamp_min(0)).neg().log()
        return inside - kappa * start


class _Bound:
    """Bounds of the densities of azimuths of `C` cells, constant on arcs `(C, A)`."""

    def __init__(self, arcs: Arcs) -> None:
        self.circles = _Circles(arcs)
        count, like = len(arcs.z), arcs.a
        self.low = like.new_full((count, HALVINGS + 1), 0.0)
        self.width = like.new_zeros(count, HALVINGS + 1)
        self.level = like.new_full((count, HALVINGS + 1), -math.inf)
        cell = torch.arange(count, device=like.device)
        self.low[:, 0], self.width[:, 0] = _azimuths(arcs)
        self._measure(cell, torch.zeros_like(cell))
        for new in range(1, HALVINGS + 1):
            largest = (self.level + self.width.log()).argmax(1)
            half = self.width[cell, largest] / 2
            self.width[cell, largest] = half
            self.low[:, new], self.width[:, new] = self.low[cell, largest] + half, half
            self._measure(cell, largest)
            self._measure(cell, torch.full_like(cell, new))
        self.share = (self.level + self.width.log()).softmax(1).cumsum(1)

    def _measure(self, cell: Tensor, arc: Tensor) -> None:
        low = self.low[cell, arc]
        high = low + self.width[cell, arc]
        self.level[cell, arc] = self.circles.log_density(low, high, cell)

    def draw(self, cell: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """An azimuth `(N,)` for each cell `(N,)`, and the log of the bound there."""
        low = self.low[cell]
        u = _uniform(low[:, 0], generator)[:, None] * self.share[cell][:, -1:]
        arc = torch.searchsorted(self.share[cell], u, right=True).clamp_max(HALVINGS)
        at = low.gather(1, arc)[:, 0]
        width = self.width[cell].gather(1, arc)[:, 0]
        at = at + _uniform(at, generator) * width
        return at, self.level[cell].gather(1, arc)[:, 0]


def _azimuths(arcs: Arcs) -> tuple[Tensor, Tensor]:
    """First azimuth `(C,)` of each cell about its centre, and how far it goes on."""
    edges, cell = arcs.edges, arcs.edges.cell
    first, second = Sphere().frame(arcs.centre)
    corner = edges.s1.cos()[:, None] * edges.foot + edges.s1.sin()[:, None] * edges.tangent
    own = torch.atan2((arcs.z * second).sum(-1), (arcs.z * first).sum(-1))
    turn = torch.atan2((corner * second[cell]).sum(-1), (corner * first[cell]).sum(-1)) - own[cell]
    turn = torch.remainder(turn + math.pi, 2 * math.pi) - math.pi
    low, high = arcs.extreme(turn, least=True), arcs.extreme(turn, least=False)
    slack = SLACK * (high - low)
    least, most = (arcs.extreme(arcs.a, least=which) for which in (True, False))
    # Around a centre or its antipode in the cell, or nearly so, there are all of them.
    around = (least > -SLACK) | (most < SLACK) | (high - low > 3)
    width = torch.where(around, 2 * math.pi, high - low + 2 * slack)
    return torch.where(around, -math.pi, own + low - slack), width


def _crossing(a: Tensor, q: Tensor) -> Tensor:
    """Spread of the point at which the cotangent is `q / |a|`, without cancellation."""
    norm = torch.hypot(a, q).clamp_min(torch.finfo(a.dtype).tiny)
    return torch.where(q > 0, a**2 / (norm * (norm + q)), 1 - q / norm)


def _least_cosine(low: Tensor, high: Tensor) -> Tensor:
    """Least cosine of angles from `low` to `high`, at most a turn apart."""
    turn = 2 * math.pi
    half = torch.ceil((low - math.pi) / turn) * turn + math.pi <= high
    return torch.where(half, -1.0, torch.minimum(low.cos(), high.cos()))


def _uniform(like: Tensor, generator: torch.Generator | None) -> Tensor:
    return torch.rand(like.shape, dtype=like.dtype, device=like.device, generator=generator)
