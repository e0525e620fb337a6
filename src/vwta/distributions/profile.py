r"""The density of a law along the real line, at all places where it may turn.

Between neighbouring nodes of a profile the density is smooth and monotone. It turns at the centres
of kernels and jumps at the ends of cut ones, where a node stands on either side. Where kernels
overlap it turns between them, too: nodes stand half a bandwidth apart, and each turn that they show
is found as a root of the derivative. Ripples of some thousandths of the density may be missed.
"""

from __future__ import annotations

__all__ = [
    "Curves",
    "Profile",
    "find_root",
    "kernels_of",
    "log_integral",
    "mass_below",
    "profile_of",
]

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.atoms import safe_log
from vwta.distributions.line import TruncatedKernels, truncated_kernels

STEPS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)  # in bandwidths: nodes on both sides of a centre
FARTHEST = 38.0  # in bandwidths: a Gaussian has less than 1e-300 of its height there
BESIDE = 8.0  # in units of rounding: how far nodes stand beside an end
WORK = 2**19  # densities of kernels computed at once


class Curves(NamedTuple):
    """Densities of truncated kernels, `(B, P)` each.

    Attributes:
        centre: where they would be highest.
        low: lower ends, may be infinite.
        high: upper ends.
        precision: :math:`1 / h^2`; 0 for uniform kernels.
        log_scale: log-density at the centre.
    """

    centre: Tensor
    low: Tensor
    high: Tensor
    precision: Tensor
    log_scale: Tensor

    @classmethod
    def of(cls, kernels: TruncatedKernels) -> Curves:
        """The densities of truncated kernels `(B, P)`, by their masses."""
        z, h, left, right, masses = kernels
        log_scale = safe_log(masses) - log_integral(-left, right, h)
        return cls(z, z - left, z + right, h**-2, log_scale)

    def rows(self, index: Tensor | slice) -> Curves:
        """The curves of some rows."""
        return Curves(*(x[index] for x in self))

    def log_density(self, y: Tensor) -> Tensor:
        """Log-density `(B, N)` at numbers `(B, N)`, summed over P."""
        return torch.logsumexp(self._terms(y), -1)

    def slope(self, y: Tensor) -> Tensor:
        """Derivative `(B, N)` of :meth:`log_density` at numbers `(B, N)`; nan where it is -inf."""
        share = torch.softmax(self._terms(y), -1)
        pull = (self.centre[:, None] - y[..., None]).mul_(self.precision[:, None])
        return (share * pull).sum(-1)

    def _terms(self, y: Tensor) -> Tensor:
        """Log-densities `(B, N, P)` of the kernels."""
        apart = y[..., None] - self.centre[:, None]
        terms = apart.square_().mul_(-self.precision[:, None] / 2).add_(self.log_scale[:, None])
        if self.low.isinf().all() and self.high.isinf().all():
            return terms
        outside = (y[..., None] < self.low[:, None]) | (y[..., None] > self.high[:, None])
        return terms.masked_fill_(outside, -math.inf)


class Profile(NamedTuple):
    """Densities of some laws on the line at nodes in ascending order.

    Attributes:
        kernels: their truncated kernels, `(B, P)`.
        curves: densities of these.
        y: nodes, `(B, N)`; outside the first and the last one is no mass that counts.
        log_p: log-densities there, `(B, N)`.
        apart: the curves from left to right, those without mass last, if no two overlap.
    """

    kernels: TruncatedKernels
    curves: Curves
    y: Tensor
    log_p: Tensor
    apart: Curves | None = None

    def rows(self, index: Tensor) -> Profile:
        """The profiles of some rows."""
        kernels = TruncatedKernels(*(x[index] for x in self.kernels))
        apart = None if self.apart is None else self.apart.rows(index)
        return Profile(kernels, self.curves.rows(index), self.y[index], self.log_p[index], apart)


def kernels_of(law: Distribution) -> TruncatedKernels:
    """Truncated kernels of a law on the line, `(B, P)` with the batch in one axis."""
    kernels = truncated_kernels(law)
    count = kernels.points.shape[-1]
    return TruncatedKernels(*(x.reshape(-1, count) for x in kernels))


def profile_of(kernels: TruncatedKernels) -> Profile:
    """The profile of laws on the line, given by truncated kernels `(B, P)`."""
    curves = Curves.of(kernels)
    apart = _in_order(curves)
    if apart is not None:
        return Profile(kernels, curves, *_side_by_side(apart), apart)
    y = _nodes(kernels, curves)
    step = max(1, WORK // (y.shape[1] * kernels.points.shape[1]))
    parts = [slice(start, start + step) for start in range(0, len(y), step)]
    log_p = torch.cat([curves.rows(part).log_density(y[part]) for part in parts])
    return _with_turns(Profile(kernels, curves, y, log_p))


def log_integral(low: Tensor, high: Tensor, h: Tensor) -> Tensor:
    r"""Log of :math:`\int e^{-t^2 / 2 h^2} dt` from `low` to `high`, without cancellation."""
    a, b = low / h, high / h
    a, b = torch.where(a > 0, -b, a), torch.where(a > 0, -a, b)  # now a <= 0
    beside = b < 0
    upper, lower = torch.special.log_ndtr(b), torch.special.log_ndtr(a)
    around = (torch.erf(b * math.sqrt(0.5)) - torch.erf(a * math.sqrt(0.5))).log() - math.log(2)
    log_mass = torch.where(beside, upper + torch.log(-torch.expm1(lower - upper)), around)
    log_mass = log_mass + torch.where(h.isinf(), 1.0, h).log() + math.log(2 * math.pi) / 2
    return torch.where(h.isinf(), (high - low).log(), log_mass)


def mass_below(kernels: TruncatedKernels, y: Tensor) -> Tensor:
    """Mass below numbers `(B,)` of truncated kernels `(B, P)`, summed over P."""
    return kernels.mass_below(y[:, None]).sum(-1).clamp(0, 1)


def find_root(
    function: Callable[[Tensor, Tensor], Tensor], low: Tensor, high: Tensor, tolerance: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Brackets `(M,)` of roots of many functions of one number, by Chandrupatla's method.

    Arguments:
        function: takes numbers `(m,)` and which of the M functions they are for, `(m,)`.
        low: lower ends, `(M,)`, where functions have the other sign than at the upper ones, or 0.
        high: upper ends.
        tolerance: length of a bracket that is short enough; 0 for what rounding allows.

    Returns:
        Ends of the last brackets, in ascending order; both are the root where it is exact.
    """
    from scipy.optimize import elementwise  # slow to import

    def values(x: NDArray[Any], which: NDArray[Any]) -> NDArray[Any]:
        found = function(*(torch.from_numpy(array).to(low.device) for array in (x, which)))
        back: NDArray[Any] = found.cpu().numpy()
        return back

    if not len(low):
        return low, high
    with np.errstate(all="ignore"):  # log-densities may be infinite
        found = elementwise.find_root(
            values,
            (low.cpu().numpy(), high.cpu().numpy()),
            args=(np.arange(len(low)),),
            tolerances={"xatol": tolerance},
        )
    at, value, first, last = (
        torch.from_numpy(np.atleast_1d(x)).to(low.device)
        for x in (found.x, found.f_x, *found.bracket)
    )
    exact = value == 0
    first, last = torch.minimum(first, last), torch.maximum(first, last)
    return torch.where(exact, at, first), torch.where(exact, at, last)


def _in_order(curves: Curves) -> Curves | None:
    """The curves from left to right, those without mass last, if no two overlap in any row."""
    unused = curves.log_scale == -math.inf
    order = curves.low.masked_fill(unused, math.inf).argsort(-1)
    curves = Curves(*(x.gather(-1, order) for x in curves))
    used = (curves.log_scale > -math.inf)[:, 1:]
    low = curves.low[:, 1:]
    low = low + BESIDE * torch.finfo(low.dtype).eps * low.abs().masked_fill(low.isinf(), 0.0)
    overlap = used & (curves.high[:, :-1] > low)
    return None if overlap.any() else curves


def _side_by_side(curves: Curves) -> tuple[Tensor, Tensor]:
    """Nodes and log-densities `(B, N)` of curves in order: their ends and where they are highest.

    Where nothing follows on a curve, and before the first, the density is 0.
    """
    low, high = _finite_ends(curves)
    beside = BESIDE * torch.finfo(low.dtype).eps * torch.maximum(low.abs(), high.abs())
    unused = curves.log_scale == -math.inf
    follows = torch.zeros_like(unused)
    follows[:, :-1] = (low[:, 1:] <= (high + beside)[:, :-1]) & ~unused[:, 1:]
    first, last = low + beside, high - beside
    middle = torch.minimum(torch.maximum(curves.centre, first), last)
    y = torch.stack([first, middle, last, torch.where(follows, last, high + beside)], -1)
    apart = y - curves.centre[..., None]
    log_p = curves.log_scale[..., None] - apart**2 * curves.precision[..., None] / 2
    log_p[..., 3].masked_fill_(~follows, -math.inf)
    end = (high + beside).masked_fill(unused, -math.inf).amax(-1, keepdim=True)
    y = torch.where(unused[..., None], end[..., None], y).flatten(1)
    before = y[:, :1] - 2 * beside[:, :1]
    y = torch.cat([before, y], 1).cummax(-1).values  # whatever the rounding
    return y, torch.cat([torch.full_like(before, -math.inf), log_p.flatten(1)], 1)


def _nodes(kernels: TruncatedKernels, curves: Curves) -> Tensor:
    """Nodes `(B, N)` in ascending order: both sides of each end, and steps away from centres."""
    low, high = (x[..., None] for x in _finite_ends(curves))
    beside = BESIDE * torch.finfo(low.dtype).eps * torch.maximum(low.abs(), high.abs())
    ends = torch.cat([low - beside, low + beside, high - beside, high + beside], -1)
    if curves.low.isinf().all() and curves.high.isinf().all():  # no jumps
        ends = torch.cat([ends.amin((-2, -1), True), ends.amax((-2, -1), True)], -1)
    h = torch.where(kernels.h.isinf(), 1.0, kernels.h)[..., None]
    steps = low.new_tensor([*STEPS, *(-step for step in STEPS[1:])])
    inner = curves.centre[..., None] + steps * h
    inner = torch.minimum(torch.maximum(inner, low + beside), high - beside)
    return torch.cat([ends.flatten(1), inner.flatten(1)], -1).sort(-1).values


def _finite_ends(curves: Curves) -> tuple[Tensor, Tensor]:
    """Ends of curves, but not farther away than they can be felt."""
    reach = FARTHEST * curves.precision**-0.5
    nearest = torch.minimum(torch.maximum(curves.centre, curves.low), curves.high)
    return torch.maximum(curves.low, nearest - reach), torch.minimum(curves.high, nearest + reach)


def _with_turns(profile: Profile) -> Profile:
    """The profile with more nodes, where the density turns between two of its nodes."""
    curves, y, log_p = profile.curves, profile.y, profile.log_p
    left, here, right = log_p[:, :-2], log_p[:, 1:-1], log_p[:, 2:]
    peak, valley = (here > left) & (here >= right), (here < left) & (here <= right)
    row, node = torch.nonzero((peak | valley) & (here > -math.inf), as_tuple=True)
    some, place = curves.rows(row), node + 1
    upwards = some.slope(y[row, place, None])[:, 0] > 0
    place = torch.where(upwards == peak[row, node], place, place - 1)  # the turn is right of it
    low, high = y[row, place], y[row, place + 1]
    slopes = some.slope(torch.stack([low, high], -1))
    jumps = ((some.low > low[:, None]) & (some.low < high[:, None])).any(-1)
    jumps |= ((some.high > low[:, None]) & (some.high < high[:, None])).any(-1)
    turns = (slopes[:, 0] * slopes[:, 1] < 0) & ~jumps
    row, some, low, high = row[turns], some.rows(turns), low[turns], high[turns]
    if not len(row):
        return profile
    tolerance = 1e-8 * float((high - low).min())
    at, _ = find_root(lambda t, i: some.rows(i).slope(t[:, None])[:, 0], low, high, tolerance)
    return _insert(profile, row, at, some.log_density(at[:, None])[:, 0])


def _insert(profile: Profile, row: Tensor, at: Tensor, value: Tensor) -> Profile:
    """The profile with further nodes `at` `(M,)`, in ascending rows `(M,)`, and their values.

    Rows that get fewer nodes than others repeat their last one.
    """
    count = torch.bincount(row, minlength=len(profile.y))
    place = torch.arange(len(row), device=row.device) - (count.cumsum(0) - count)[row]
    more = int(count.max())
    y, log_p = (x[:, -1:].repeat(1, more) for x in (profile.y, profile.log_p))
    y[row, place], log_p[row, place] = at, value
    y, order = torch.cat([profile.y, y], 1).sort(dim=1, stable=True)
    log_p = torch.cat([profile.log_p, log_p], 1).gather(1, order)
    return profile._replace(y=y, log_p=log_p)
