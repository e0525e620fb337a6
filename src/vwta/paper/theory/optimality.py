r"""Properties that the paper proves of optimal atoms and scores, measured on given ones.

For an input, K atoms :math:`z_k` with masses :math:`\gamma_k` cut the plane into Voronoi cells
:math:`Y_k`, and the law P of the targets gives each cell a mass :math:`P(Y_k)`. At the optimum

* every cell has mass, and its score is that mass, :math:`\gamma_k = P(Y_k)`;
* every atom is the mean of its cell, :math:`z_k = E[y | y \in Y_k]`;
* the uniform kernel on the cells has the negative log-likelihood
  :math:`-\mathrm{KL}(P(Y_k) \| \lambda(Y_k) / V) + \log V`, with areas :math:`\lambda(Y_k)` in a
  domain of area V.

The law is known by m draws for each input. Means over them are noisy, and
functions with `floor` in their name give the noise of an optimum.
"""

from __future__ import annotations

__all__ = [
    "Wins",
    "centroid_floor",
    "centroid_square",
    "dead",
    "never_wins",
    "nll_from_cells",
    "optimal_nll",
    "random_tv",
    "score_tv",
    "set_floor",
    "total_variation",
    "winners",
]

import math
from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 2**22  # distances held at once


@dataclass(frozen=True)
class Wins:
    """Which draws of the true law each atom wins, and what these draws are like.

    Attributes:
        counts: number of draws in each cell, with shape `(n, K)`.
        offset: their mean less the atom, 0 where there are none, with shape `(n, K, 2)`.
        variance: their variance, summed over both axes, 0 where there are less than two, `(n, K)`.
        risk: mean squared distance of an input's draws from their atoms, with shape `(n,)`.
        farthest: largest such distance, with shape `(n,)`.
    """

    counts: Tensor
    offset: Tensor
    variance: Tensor
    risk: Tensor
    farthest: Tensor

    @property
    def shares(self) -> Tensor:
        r"""Shares of the draws, which estimate :math:`P(Y_k)`, with shape `(n, K)`."""
        return self.counts.double() / self.counts.sum(-1, keepdim=True)

    @classmethod
    def of(cls, points: Tensor, y: Tensor) -> Wins:
        """Wins of atoms `(n, K, 2)` among the draws `(n, m, 2)` of each input."""
        n, K, _ = points.shape
        winner = winners(points, y)
        apart = y - points.gather(1, winner[..., None].expand_as(y))
        square = apart.square().sum(-1)
        cell = (winner + K * torch.arange(n, device=winner.device)[:, None]).flatten()
        counts = torch.bincount(cell, minlength=n * K)
        some, pairs = counts.clamp_min(1), (counts - 1).clamp_min(1)
        offset = apart.new_zeros(n * K, 2).index_add_(0, cell, apart.flatten(0, 1))
        offset /= some[:, None]
        total = apart.new_zeros(n * K).index_add_(0, cell, square.flatten())
        variance = (total - counts * offset.square().sum(-1)).clamp_min(0) / pairs
        return cls(
            counts=counts.view(n, K),
            offset=offset.view(n, K, 2),
            variance=(variance * (counts > 1)).view(n, K),
            risk=square.mean(1),
            farthest=square.amax(1).sqrt(),
        )


def winners(points: Tensor, y: Tensor) -> Tensor:
    """Nearest atom of each draw of the true law, with shape `(n, m)`.

    Arguments:
        points: atoms, with shape `(n, K, 2)`.
        y: points, with shape `(n, m, 2)`.
    """
    middle = points.mean(1, keepdim=True)  # far from 0 distances would drown in rounding
    points, y = points - middle, y - middle
    half = points.square().sum(-1) / 2
    rows = max(1, CHUNK // points.shape[1])
    nearest = [
        torch.cat([torch.addmm(-own, part, atoms.T).argmax(1) for part in mine.split(rows)])
        for atoms, own, mine in zip(points, half, y, strict=True)
    ]
    return torch.stack(nearest)


def dead(counts: Tensor) -> Tensor:
    """Property: number of atoms that win none of an input's draws, with shape `(n,)`.

    Of m draws an atom whose cell has the mass p wins none with probability :math:`(1 - p)^m`.

    Arguments:
        counts: draws in each cell, with shape `(n, K)`.
    """
    return (counts == 0).sum(-1)


def never_wins(counts: Tensor) -> int:
    """Property: number of atoms that win no draw of any input, of counts `(n, K)`."""
    return int((counts == 0).all(0).sum())


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    r"""Property: total variation :math:`\frac{1}{2} \sum_k |p_k - q_k|` of `(*, K)`, as `(*)`."""
    return (p - q).abs().sum(-1) / 2


def score_tv(masses: Tensor, wins: Wins) -> Tensor:
    r"""Property: how far scores are from masses, :math:`\frac{1}{2} \sum_k |\gamma_k - P(Y_k)|`.

    Arguments:
        masses: scores with sum 1, with shape `(n, K)`.
        wins: draws that stand for the law.

    Returns:
        The total variation, with shape `(n,)`.
    """
    return total_variation(masses, wins.shares)


def random_tv(p: Tensor, m: int) -> Tensor:
    r"""Floor of a property: total variation between probabilities and shares of m draws.

    The mean absolute deviation of a binomial number of m trials is, with
    :math:`v = \lfloor m p \rfloor + 1`, :math:`2 v \binom{m}{v} p^v (1 - p)^{m - v + 1}` (de
    Moivre). With scores as probabilities this is what `score_tv` shows of an exact score.

    Arguments:
        p: probabilities, with shape `(*, K)`.
        m: number of draws.

    Returns:
        The expectation, with shape `(*)`.

    Example:
        >>> random_tv(torch.tensor([0.5, 0.5]), 1)
        tensor(0.5000)
    """
    inner = p.clamp(1e-300, 1 - 1e-16).double()
    v = (m * inner).floor().clamp_max(m - 1) + 1
    choose = math.lgamma(m + 1) - torch.lgamma(v + 1) - torch.lgamma(m - v + 1)
    log = (2 * v).log() + choose + v * inner.log() + (m - v + 1) * torch.log1p(-inner)
    return (log.exp().sum(-1) / (2 * m)).to(p.dtype)


def centroid_square(wins: Wins) -> Tensor:
    r"""Property: mean squared distance of atoms from their cells' means, weighted by masses.

    It is :math:`\sum_k P(Y_k) |z_k - E[y | Y_k]|^2`, by how much the risk would fall if all atoms
    moved to the means of their cells. With finitely many draws it is too large by
    :func:`centroid_floor` on average.

    Returns:
        The mean square, with shape `(n,)`.
    """
    return (wins.shares * wins.offset.square().sum(-1)).sum(-1)


def centroid_floor(wins: Wins) -> Tensor:
    r"""Floor of :func:`centroid_square`, for optimal atoms, :math:`\sum_k \mathrm{Var}_k / m`."""
    return wins.variance.sum(-1) / wins.counts.sum(-1)


def nll_from_cells(masses: Tensor, areas: Tensor, shares: Tensor) -> Tensor:
    r"""Theory's negative log-likelihood of the uniform kernel, from masses and areas of cells.

    .. math:: \sum_k P(Y_k) \log(\lambda(Y_k) / \gamma_k)

    Arguments:
        masses: scores, with shape `(n, K)`.
        areas: areas of the cells, with shape `(n, K)`.
        shares: masses of the cells, with shape `(n, K)`; cells without mass do not count.

    Returns:
        The expected negative log-likelihood, with shape `(n,)`.
    """
    present = shares > 0
    ratio = torch.where(present, areas / masses, 1.0)
    return (shares * ratio.log()).sum(-1)


def optimal_nll(shares: Tensor, areas: Tensor, volume: float) -> Tensor:
    r"""Theory's :func:`nll_from_cells` if scores are exact: it depends on cells alone.

    It is :math:`-\mathrm{KL}(P(Y_k) \| \lambda_k / V) + \log V`.

    Arguments:
        shares: masses of the cells, with shape `(n, K)`.
        areas: their areas, with shape `(n, K)`.
        volume: area V of the domain.
    """
    ratio = torch.where(shares > 0, shares * volume / areas, 1.0)
    return math.log(volume) - (shares * ratio.log()).sum(-1)


def set_floor(p: Tensor, m: int) -> Tensor:
    r"""Floor of a property: mean error of shares of m draws, about :math:`\sqrt{2pq / \pi m}`.

    Arguments:
        p: probabilities, with shape `(*)`; :math:`q = 1 - p`.
        m: number of draws.
    """
    return (2 * p * (1 - p) / (math.pi * m)).sqrt()
