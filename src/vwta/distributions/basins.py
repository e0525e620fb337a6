r"""Basins of a density on the line: between two neighbouring ones it has a deep enough valley.

A mode is as high as its peak. A valley between two modes is deep enough if the density there is at
most `valley` times the lower one of the two peaks; all shallower valleys are ignored.
"""

from __future__ import annotations

__all__ = ["Basins", "find_basins", "means", "within"]

import math
from typing import NamedTuple

import torch
from torch import Tensor

from vwta.distributions.line import TruncatedKernels
from vwta.distributions.profile import FARTHEST, Profile, find_root, log_integral, mass_below


class Basins(NamedTuple):
    """Basins of B laws on the line, `(S,)` each, from left to right for one law after another.

    Attributes:
        row: number of the law.
        low: lower end; -inf for the first.
        high: upper end; inf for the last.
        peak: where the density is highest.
        log_peak: its log there.
        mass: the law's mass between the ends.
    """

    row: Tensor
    low: Tensor
    high: Tensor
    peak: Tensor
    log_peak: Tensor
    mass: Tensor


def find_basins(profile: Profile, valley: float) -> Basins:
    """All basins of some laws on the line, with peaks and valleys at nodes of their profile."""
    row, peak, bottom = _turns(profile.log_p, -math.log(valley))
    y, log_p = profile.y, profile.log_p
    flat = log_p[row, peak + 1] == log_p[row, peak]  # a uniform kernel: take its centre
    peak = torch.where(flat, peak + 1, peak)
    high = torch.where(bottom < 0, math.inf, y[row, bottom.clamp_min(0)])
    low = torch.cat([high.new_full((1,), -math.inf), high[:-1]])
    first = torch.ones_like(row, dtype=torch.bool)
    first[1:] = row.diff() > 0
    low = torch.where(first, -math.inf, low)
    some = TruncatedKernels(*(x[row] for x in profile.kernels))
    mass = (mass_below(some, high) - mass_below(some, low)).clamp_min(0)
    return Basins(row, low, high, y[row, peak], log_p[row, peak], mass)


def means(kernels: TruncatedKernels, low: Tensor, high: Tensor) -> Tensor:
    r"""Means of truncated kernels `(S, P)` between numbers, weighted by masses there, `(S,)`.

    A Gaussian kernel has :math:`\int_a^b (z + t) e^{-t^2 / 2 h^2} dt = z \int_a^b e^{-t^2 / 2 h^2}
    dt + h^2 (e^{-a^2 / 2 h^2} - e^{-b^2 / 2 h^2})`.
    """
    z, h, left, right, masses = kernels
    a = torch.minimum(torch.maximum(low[:, None] - z, -left), right)
    b = torch.minimum(torch.maximum(high[:, None] - z, -left), right)
    flat = h.isinf()
    scale = torch.where(flat, 1.0, h)
    log_whole = log_integral(-left, right, h)
    share = torch.exp(log_integral(a, b, h) - log_whole)
    shift = scale**2 * (
        torch.exp(-((a / scale) ** 2) / 2 - log_whole)
        - torch.exp(-((b / scale) ** 2) / 2 - log_whole)
    )
    if flat.any():
        shift = torch.where(flat, share * (a + b) / 2, shift)
    first, mass = ((masses * x).sum(-1) for x in (share * z + shift, share))
    return torch.minimum(torch.maximum(first / mass, low), high)


def within(kernels: TruncatedKernels, low: Tensor, high: Tensor, share: float) -> Tensor:
    """Ends `(S, 2)` of intervals that have the central share of the mass between two numbers.

    Arguments:
        kernels: truncated kernels, `(S, P)`.
        low: lower numbers, `(S,)`.
        high: upper numbers.
        share: of the mass between them.
    """
    reach = torch.where(kernels.h.isinf(), math.inf, FARTHEST * kernels.h)
    used = kernels.masses > 0
    left = torch.minimum(kernels.left, reach + (-kernels.right).clamp_min(0))  # a centre may lie
    right = torch.minimum(kernels.right, reach + (-kernels.left).clamp_min(0))  # beside its cell
    first = (kernels.points - left).masked_fill(~used, math.inf)
    last = (kernels.points + right).masked_fill(~used, -math.inf)
    start, end = torch.maximum(low, first.amin(-1)), torch.minimum(high, last.amax(-1))
    below, above = mass_below(kernels, start), mass_below(kernels, end)

    def quantile(q: float) -> Tensor:
        asked = below + q * (above - below)

        def excess(y: Tensor, which: Tensor) -> Tensor:
            some = TruncatedKernels(*(x[which] for x in kernels))
            return mass_below(some, y) - asked[which]

        at, other = find_root(excess, start, end)
        return (at + other) / 2

    return torch.stack([quantile((1 - share) / 2), quantile((1 + share) / 2)], -1)


def _turns(log_p: Tensor, depth: float) -> tuple[Tensor, Tensor, Tensor]:
    """Peaks of sequences `(B, N)` from which they fall by `depth` before they are exceeded.

    Returns:
        For each peak its row and its place, and the place of the lowest value before the next peak,
        -1 after the last peak of a row; `(S,)` each.
    """
    rows, count = log_p.shape
    is_peak, is_valley = torch.zeros_like(log_p, dtype=torch.bool), torch.zeros_like(log_p).bool()
    every = torch.arange(rows, device=log_p.device)
    rising = torch.ones_like(every, dtype=torch.bool)
    extreme, place = torch.full_like(log_p[:, 0], -math.inf), torch.zeros_like(every)
    for i in range(count):
        here = log_p[:, i]
        turned = torch.where(rising, here <= extreme - depth, here - depth >= extreme)
        turned &= (extreme > -math.inf) | ~rising
        turned &= here != extreme  # both may be -inf
        is_peak[every[turned & rising], place[turned & rising]] = True
        is_valley[every[turned & ~rising], place[turned & ~rising]] = True
        rising = rising ^ turned
        further = turned | torch.where(rising, here > extreme, here < extreme)
        extreme, place = torch.where(further, here, extreme), torch.where(further, i, place)
    is_peak[every[rising], place[rising]] = True
    row, peak = torch.nonzero(is_peak, as_tuple=True)
    bottom = torch.full_like(row, -1)
    more = torch.zeros_like(row, dtype=torch.bool)
    more[:-1] = row[1:] == row[:-1]
    bottom[more] = torch.nonzero(is_valley, as_tuple=True)[1]
    return row, peak, bottom
