r"""Asymptotic quantisation risks of the best atoms and of a grid; entropies.

With K atoms in d dimensions the lowest risk of a law of density :math:`\rho` is, for large K,

.. math:: J_d \left( \int \rho(y)^{d / (d + 2)} dy \right)^{(d + 2) / d} K^{-2 / d}

(Zador), and that of a regular grid on a domain of volume V is :math:`\frac{d}{12} (V / K)^{2 / d}`.
Everything here is for the plane, where :math:`J_2 = 5 / (18 \sqrt 3)` is the second moment of the
regular hexagon of area 1, and the law enters as its *effective area*
:math:`S = \left( \int \sqrt{\rho(y)} dy \right)^2`. That of the uniform law is the area of its
support, and any other law on the same support has a smaller one.
"""

from __future__ import annotations

__all__ = ["HEXAGON", "effective_area", "entropy", "grid_risk", "root_integral", "zador_risk"]

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from vwta.paper.synthetic.true_laws import ChangingDamier, Problem, RotatingMoons, SingleGaussian

HEXAGON = 5 / (18 * math.sqrt(3))
REACH = 2.5  # all problems have their mass, and the square root of it, within [-REACH, REACH]^2
TILE = 0.25  # side of the tiles; densities jump on their borders alone
NODES = 12  # of Gauss-Legendre quadrature on a tile's side, and over x
CHUNK = 2**15  # points evaluated at once


def zador_risk(area: float, K: int) -> float:
    """Zador's asymptotic risk: the lowest of K atoms for large K, :math:`J_2 S / K`.

    Arguments:
        area: effective area S of the law, see :func:`effective_area`.
        K: number of atoms.
    """
    return HEXAGON * area / K


def grid_risk(volume: float, K: int) -> float:
    """Asymptotic risk of K atoms on a regular grid, for large K, :math:`V / (6 K)`.

    Arguments:
        volume: area V of the domain that the grid covers.
        K: number of atoms.
    """
    return volume / (6 * K)


def effective_area(law: Problem) -> float:
    r"""Zador's effective area :math:`S(x) = \left( \int \sqrt{\rho_x(y)} dy \right)^2`, over x.

    It is a mean over x.
    Closed forms: :math:`8 \pi \sigma^2` for a Gaussian, and for the chessboard
    :math:`S(x) = 2 (\sqrt{x} + \sqrt{1 - x})^2`, whose mean is :math:`2 + \pi / 2`. Others are
    integrated from their density; with :math:`x = \sin^2 t` the integrand has no root at 0 and 1.
    A law that x merely turns has the same area everywhere.

    Example:
        >>> round(zador_risk(effective_area(SingleGaussian()), K=100), 6)
        0.001612
    """
    if isinstance(law, SingleGaussian):
        return 8 * math.pi * law.scale**2
    if isinstance(law, ChangingDamier):
        return 2 + math.pi / 2
    if isinstance(law, RotatingMoons):
        return root_integral(law, 0.0) ** 2
    return _mean_over_x(lambda x: root_integral(law, x) ** 2)


def entropy(law: Problem) -> float:
    r"""Theory's lowest NLL: mean over x of the entropy :math:`-\int \rho_x(y) \log \rho_x(y) dy`.

    Closed forms: :math:`\log(2 \pi e \sigma^2)` for a Gaussian, :math:`\log 2 + 1/2` for the
    chessboard. Others as in :func:`effective_area`.

    Example:
        >>> round(entropy(SingleGaussian()), 4)
        -0.381
    """
    if isinstance(law, SingleGaussian):
        return math.log(2 * math.pi * math.e * law.scale**2)
    if isinstance(law, ChangingDamier):
        return math.log(2) + 0.5

    def at(x: float) -> float:
        return _integral(law, x, lambda log_p: -torch.special.xlogy(log_p.exp(), log_p.exp()))

    return at(0.0) if isinstance(law, RotatingMoons) else _mean_over_x(at)


def root_integral(law: Problem, x: float) -> float:
    r"""Integral :math:`\int \sqrt{\rho_x(y)} dy` of Zador's risk, by quadrature on tiles."""
    return _integral(law, x, lambda log_p: (log_p / 2).exp())


def _integral(law: Problem, x: float, function: Callable[[Tensor], Tensor]) -> float:
    """Integral over y of a function of the log-density at x."""
    line, weight = _quadrature()
    points, weights = torch.cartesian_prod(line, line), torch.outer(weight, weight).flatten()
    at = torch.tensor([x], dtype=points.dtype)
    total = 0.0
    for part, share in zip(points.split(CHUNK), weights.split(CHUNK), strict=True):
        total += float(share @ function(law.log_density(at, part)))
    return total


def _mean_over_x(function: Callable[[float], float]) -> float:
    """Mean over x in [0, 1] of a function that may have roots or logarithms at both ends."""
    where, weight = np.polynomial.legendre.leggauss(NODES)
    t = torch.tensor((where + 1) * math.pi / 4)
    measure = torch.tensor(weight * math.pi / 4) * (2 * t).sin()
    values = [function(x) for x in t.sin().square().tolist()]
    return float(measure @ torch.tensor(values, dtype=measure.dtype))


def _quadrature() -> tuple[Tensor, Tensor]:
    """Nodes and weights on [-REACH, REACH], tile by tile."""
    where, weight = np.polynomial.legendre.leggauss(NODES)
    start = np.arange(-REACH, REACH, TILE)
    nodes = start[:, None] + (where + 1) * TILE / 2
    return torch.tensor(nodes.ravel()), torch.tensor(np.tile(weight * TILE / 2, len(start)))
