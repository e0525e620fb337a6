r"""Highest-density regions: the smallest sets that have a given mass.

The region of level :math:`\alpha` is :math:`\{y : p(y) \geq t\}` with the highest threshold t at
which it has the mass :math:`\alpha`. On the line it is a union of intervals, found to rounding.
Elsewhere t is a quantile of the density at samples: the region is exactly one of highest density,
and its mass is :math:`\alpha` up to a standard error.
"""

from __future__ import annotations

__all__ = ["Region", "density_rank", "hdr"]

import math
from dataclasses import dataclass

import torch
from torch import Size, Tensor
from torch.distributions import Distribution

from vwta.distributions.line import TruncatedKernels
from vwta.distributions.parts import draw
from vwta.distributions.profile import (
    BESIDE,
    Curves,
    Profile,
    find_root,
    kernels_of,
    mass_below,
    profile_of,
)

LOWEST = 745.0  # below the highest log-density: what is left there has no mass in float64
EXACT = 1e-11  # of the log-threshold on the line
SAMPLES = 4096
NODES = 2**22  # nodes of profiles in memory at once


@dataclass(frozen=True)
class Region:
    """Highest-density regions of B laws, in float64.

    Attributes:
        batch_shape: of the laws.
        level: mass that was asked for.
        log_threshold: log-density that every point of the region has at least, `(B,)`.
        mass: of the region, `(B,)`; more than `level` where the density is constant at the
            threshold; elsewhere than on the line `level` itself.
        mass_error: standard error of `mass`, `(B,)`; 0 on the line.
        volume: length, area..., `(B,)`.
        volume_error: standard error of `volume`, `(B,)`; 0 on the line.
        row: on the line the number of the law of each interval, `(I,)`.
        intervals: on the line the intervals, law after law from left to right, `(I, 2)`.
    """

    batch_shape: Size
    level: float
    log_threshold: Tensor
    mass: Tensor
    mass_error: Tensor
    volume: Tensor
    volume_error: Tensor
    row: Tensor | None = None
    intervals: Tensor | None = None

    def contains(self, law: Distribution, y: Tensor) -> Tensor:
        """Whether targets `(*, *batch_shape, e)` lie in the regions of their laws, without e."""
        if self.row is None or self.intervals is None:
            return law.log_prob(y).double() >= self.log_threshold.view(self.batch_shape)
        count = torch.bincount(self.row, minlength=len(self.mass))
        place = (
            torch.arange(len(self.row), device=self.row.device)
            - (count.cumsum(0) - count)[self.row]
        )
        ends = self.mass.new_full((len(count), max(1, int(count.max())), 2), math.nan)
        ends[self.row, place] = self.intervals
        ends = ends.view(*self.batch_shape, -1, 2)
        return ((y >= ends[..., 0]) & (y <= ends[..., 1])).any(-1)


@torch.no_grad()
def hdr(law: Distribution, level: float = 0.9, samples: int = SAMPLES, seed: int = 0) -> Region:
    """Highest-density regions of laws of any batch shape.

    Arguments:
        law: on the line one that :func:`~vwta.distributions.line.truncated_kernels` knows.
        level: mass of the regions, between 0 and 1.
        samples: how many, elsewhere than on the line.
        seed: of these samples.

    Example:
        >>> from vwta import Gaussian, KernelMixture
        >>> points, masses = torch.tensor([[-3.0], [3.0]]), torch.tensor([0.5, 0.5])
        >>> hdr(KernelMixture(points, masses, Gaussian(1.0)), 0.5).intervals
        tensor([[-3.6745, -2.3255],
                [ 2.3255,  3.6745]], dtype=torch.float64)
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level}: expected a number between 0 and 1, such as 0.9")
    if tuple(law.event_shape) == (1,):
        return _on_the_line(law, level)
    log_p = _log_densities(law, samples, seed)
    threshold = torch.quantile(log_p, 1 - level, dim=0, interpolation="lower")
    inverse = torch.where(log_p >= threshold, torch.exp(-log_p), 0.0)
    error = torch.full_like(threshold, math.sqrt(level * (1 - level) / samples))
    volume_error = inverse.std(0) / math.sqrt(samples)
    mass = torch.full_like(threshold, level)
    return Region(law.batch_shape, level, threshold, mass, error, inverse.mean(0), volume_error)


@torch.no_grad()
def density_rank(law: Distribution, y: Tensor, samples: int = SAMPLES, seed: int = 0) -> Tensor:
    """Mass of all points with at least the density of targets, in the batch shape.

    It is the level of the smallest highest-density region that has the target, and uniform on
    [0, 1] if the law is right. On the line it is exact, elsewhere a share of samples.

    Arguments:
        law: see :func:`hdr`.
        y: a target for each law, `(*batch_shape, e)`.
        samples: how many, elsewhere than on the line.
        seed: of these samples.
    """
    if tuple(law.event_shape) != (1,):
        higher = _log_densities(law, samples, seed) >= law.log_prob(y).double().reshape(-1)
        return higher.double().mean(0).view(law.batch_shape)
    y = y.detach().double().expand(*law.batch_shape, 1).reshape(-1, 1)
    found = []
    for part, profile in _profiles(kernels_of(law)):
        log_p = profile.curves.log_density(y[part])[:, 0]
        lowest = profile.log_p.amax(1) - LOWEST
        found.append(_mass_above(profile, torch.maximum(log_p, lowest)))
    return torch.cat(found).view(law.batch_shape)


def _on_the_line(law: Distribution, level: float) -> Region:
    thresholds, masses, rows, ends = [], [], [], []
    for part, profile in _profiles(kernels_of(law)):
        threshold = _threshold(profile, level)
        row, at = _crossings(profile, threshold)
        below = mass_below(TruncatedKernels(*(x[row] for x in profile.kernels)), at)
        start, end = slice(0, None, 2), slice(1, None, 2)
        mass = torch.zeros_like(threshold).index_add_(0, row[start], below[end] - below[start])
        thresholds.append(threshold)
        masses.append(mass)
        rows.append(row[start] + part.start)
        ends.append(torch.stack([at[start], at[end]], -1))
    threshold, mass, row, intervals = (torch.cat(x) for x in (thresholds, masses, rows, ends))
    volume = torch.zeros_like(mass).index_add_(0, row, intervals.diff()[:, 0])
    none = torch.zeros_like(mass)
    return Region(law.batch_shape, level, threshold, mass, none, volume, none, row, intervals)


def _profiles(kernels: TruncatedKernels) -> list[tuple[slice, Profile]]:
    """Profiles of truncated kernels `(B, P)`, for some rows at a time."""
    rows, count = kernels.points.shape
    step = max(1, NODES // (16 * count))
    parts = [slice(start, start + step) for start in range(0, rows, step)]
    return [(part, profile_of(TruncatedKernels(*(x[part] for x in kernels)))) for part in parts]


def _threshold(profile: Profile, level: float) -> Tensor:
    """Highest log-thresholds `(B,)` at which regions have at least the mass `level`."""
    highest = profile.log_p.amax(1)

    def excess(threshold: Tensor, which: Tensor) -> Tensor:
        return _mass_above(profile.rows(which), threshold) - level

    low, _ = find_root(excess, highest - LOWEST, highest + 1, EXACT)
    return low


def _mass_above(profile: Profile, threshold: Tensor) -> Tensor:
    """Mass `(B,)` of the points whose log-density is at least a threshold `(B,)`."""
    row, at = _crossings(profile, threshold)
    below = mass_below(TruncatedKernels(*(x[row] for x in profile.kernels)), at)
    sign = torch.ones_like(below)
    sign[::2] = -1  # regions begin at every other one
    return torch.zeros_like(threshold).index_add_(0, row, sign * below).clamp(0, 1)


def _crossings(profile: Profile, threshold: Tensor) -> tuple[Tensor, Tensor]:
    """Where densities cross a log-threshold `(B,)`, upwards and downwards in turn.

    Returns:
        Row and place of each crossing, `(C,)` each, law after law from left to right.
    """
    if profile.apart is not None:
        return _ends_of_parts(profile.apart, threshold)
    above = profile.log_p >= threshold[:, None]
    above[:, 0] = above[:, -1] = False  # where a law ends
    row, node = torch.nonzero(above[:, 1:] != above[:, :-1], as_tuple=True)
    curves, level = profile.curves.rows(row), threshold[row]

    def excess(y: Tensor, which: Tensor) -> Tensor:
        log_p = curves.rows(which).log_density(y[:, None])[:, 0]
        return (log_p - level[which]).clamp(-LOWEST, LOWEST)

    low, high = profile.y[row, node], profile.y[row, node + 1]
    ends = torch.arange(len(row), device=row.device)
    signs = [excess(y, ends) >= 0 for y in (low, high)]
    crossed = signs[0] != signs[1]  # otherwise at a jump, between nodes that stand beside it
    at = (low + high) / 2
    curves, level = curves.rows(crossed), level[crossed]
    first, last = find_root(excess, low[crossed], high[crossed])
    at[crossed] = (first + last) / 2
    return row, at


def _ends_of_parts(curves: Curves, threshold: Tensor) -> tuple[Tensor, Tensor]:
    """:func:`_crossings` of curves that do not overlap: a Gaussian falls to t in closed form."""
    drop = curves.log_scale - threshold[:, None]
    reach = torch.where(curves.precision > 0, (2 * drop / curves.precision).sqrt(), math.inf)
    start = torch.maximum(curves.low, curves.centre - reach)
    end = torch.minimum(curves.high, curves.centre + reach)
    row, curve = torch.nonzero((drop >= 0) & (start < end), as_tuple=True)
    start, end = start[row, curve], end[row, curve]
    rounding = BESIDE * torch.finfo(end.dtype).eps * end.abs()
    touch = (row[1:] == row[:-1]) & (start[1:] <= (end + rounding)[:-1])
    both = torch.ones_like(row, dtype=torch.bool)
    first, last = both.clone(), both
    first[1:], last[:-1] = ~touch, ~touch
    ends = torch.stack([start[first], end[last]], -1)
    return row[first].repeat_interleave(2), ends.flatten()


def _log_densities(law: Distribution, samples: int, seed: int) -> Tensor:
    """Log-densities `(samples, B)` of a law at samples of its own, in float64."""
    return law.log_prob(draw(law, samples, seed)).double().reshape(samples, -1)
