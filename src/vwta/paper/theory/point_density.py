r"""Where the best atoms lie: their density against powers of the law's own.

As K grows, the best K atoms for a law of density :math:`\rho` follow the density
:math:`\rho^\alpha / Z(\alpha)` with :math:`\alpha = d / (d + 2)` (Zador): one half in the plane,
so that atoms are less concentrated than the targets. Two kinds of numbers tell how closely given
atoms follow it.

* The total variation between the shares of atoms in the squares of a coarse grid and the integrals
  of :math:`\rho^\alpha / Z` over them, for :math:`\alpha = 1/2` and for comparison 1. K points are
  no density: the same number for K independent points of :math:`\rho^{1/2} / Z` says what chance
  would leave. Atoms that repel each other, as those of an optimum do, may stay below it.
* The exponent with the largest likelihood of these shares, :math:`\prod_B p_B(\alpha)^{n_B}` with
  :math:`n_B` atoms in a square whose integral is :math:`p_B(\alpha)`, all inputs together.

All integrals are over the domain, by quadrature on tiles on whose borders the densities may jump.
Each input is compared with its own law, so that laws which turn with x need no common frame.
"""

from __future__ import annotations

__all__ = ["PointDensity"]

import math
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from vwta.geometry.spaces import Box
from vwta.paper.synthetic.true_laws import Problem
from vwta.paper.theory.optimality import random_tv, total_variation

TILES = 8  # along each side of the domain; jumps lie on their borders
NODES = 12  # of Gauss-Legendre quadrature on a tile's side
EXPONENTS = torch.arange(-20, 101, dtype=torch.float64) / 40  # where the likeliest is sought


class PointDensity:
    """Where atoms lie in theory: powers of a law's density, integrated over a grid of squares.

    Arguments:
        law: the law.
        x: inputs, with shape `(n, 1)`.
        box: the domain.
        bins: squares along each side, a divisor of :data:`TILES`.
    """

    def __init__(self, law: Problem, x: Tensor, box: Box, bins: int) -> None:
        if TILES % bins:
            raise ValueError(f"bins = {bins}: must divide {TILES}")
        self.law, self.x, self.box, self.bins = law, x, box, bins
        line, weight = _quadrature()
        low, high = box.bounds(x.new_zeros(2))
        nodes = low + torch.cartesian_prod(line, line).to(x) * (high - low)
        self._log_weight = torch.outer(weight, weight).flatten().log() + (high - low).log().sum()
        self._bin = self._bin_of(nodes)
        self._log_density = torch.stack([law.log_density(one, nodes) for one in x])

    def targets(self, exponent: float) -> Tensor:
        """Integrals over the squares of the normalised power of the density, `(n, bins^2)`."""
        share = self._power(exponent)
        return share.new_zeros(len(self.x), self.bins**2).index_add_(1, self._bin, share)

    def variation(self, points: Tensor, chosen: Tensor, exponent: float) -> Tensor:
        """Total variation between shares of atoms and a power of the density, `(n,)`.

        Arguments:
            points: atoms, with shape `(n, K, 2)`.
            chosen: which of them count, with shape `(n, K)`.
            exponent: the power.
        """
        counts = self._counts(points, chosen)
        shares = counts / counts.sum(-1, keepdim=True)
        return total_variation(shares, self.targets(exponent))

    def chance(self, exponent: float, K: int) -> Tensor:
        """Expected total variation of K independent points of a power of the density, `(n,)`."""
        return random_tv(self.targets(exponent), K)

    def exponent(self, points: Tensor, chosen: Tensor) -> float:
        """Exponent with the largest likelihood, one for all inputs.

        Arguments:
            points: atoms, with shape `(n, K, 2)`.
            chosen: which of them count, with shape `(n, K)`.
        """
        counts = self._counts(points, chosen)
        likelihood = torch.special.xlogy(counts, self._candidates).sum((1, 2))
        best = int(likelihood.argmax().clamp(1, len(EXPONENTS) - 2))
        before, here, after = likelihood[best - 1 : best + 2].tolist()
        step = (EXPONENTS[1] - EXPONENTS[0]).item()
        curvature = before - 2 * here + after
        smooth = math.isfinite(curvature) and curvature < 0
        shift = (before - after) / (2 * curvature) if smooth else 0.0
        return EXPONENTS[best].item() + step * max(-1.0, min(1.0, shift))

    @cached_property
    def _candidates(self) -> Tensor:
        """Integrals for all exponents, with shape `(exponents, n, bins^2)`."""
        return torch.stack([self.targets(exponent) for exponent in EXPONENTS.tolist()])

    def _counts(self, points: Tensor, chosen: Tensor) -> Tensor:
        """Number of chosen atoms in each square, with shape `(n, bins^2)`."""
        counts = self._log_density.new_zeros(len(points), self.bins**2)
        return counts.scatter_add_(1, self._bin_of(points), chosen.to(counts))

    def _power(self, exponent: float) -> Tensor:
        """Share of each node in the integral of a power of the density, `(n, nodes)`.

        Where densities are 0 their power is as that of very small ones: 0 for positive exponents, 1
        for 0, and beyond all others for negative ones.
        """
        if exponent == 0:
            return self._log_weight.expand_as(self._log_density).softmax(1)
        power = exponent * self._log_density
        endless = power == math.inf
        only = torch.where(endless, 0.0, -math.inf)
        power = torch.where(endless.any(1, keepdim=True), only, power)
        return (self._log_weight + power).softmax(1)

    def _bin_of(self, y: Tensor) -> Tensor:
        low, high = self.box.bounds(y)
        place = ((y - low) / (high - low) * self.bins).long().clamp(0, self.bins - 1)
        return place[..., 0] * self.bins + place[..., 1]


def _quadrature() -> tuple[Tensor, Tensor]:
    """Nodes and weights on [0, 1], tile by tile."""
    where, weight = np.polynomial.legendre.leggauss(NODES)
    nodes = (np.arange(TILES)[:, None] + (where + 1) / 2) / TILES
    return torch.tensor(nodes.ravel()), torch.tensor(np.tile(weight / (2 * TILES), TILES))
