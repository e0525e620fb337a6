r"""Kernels of their own for cells, as an estimator trains them: laws of scaled targets and losses.

As in the studies, the loss is the exact negative log-likelihood, in which cells are constants, and
10 times the squared distance to the winner; see :func:`vwta.nn.densities.local`. On the line laws
have a share of .01 of a wide Gaussian in the domain, so that no target is next to impossible.
"""

from __future__ import annotations

__all__ = ["law", "objective"]

import math
from functools import cache

import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.continuous import continuous_log_prob
from vwta.geometry.intervals import HALF_LOG_2PI, log_interval_mass
from vwta.geometry.spaces import Box, Space
from vwta.nn.densities import Background, local_law
from vwta.nn.local import ContinuousAtoms, LocalAtoms
from vwta.training.loop import Objective

BACKGROUND = Background(share=0.01, h=1.5)  # on the line
DISTANCE = 10.0  # weight of the squared distance to the winner
Atoms = LocalAtoms | ContinuousAtoms


def law(atoms: Atoms, domain: Space) -> Distribution:
    """The law of atoms in a domain; hypotheses outside of it count as its nearest points."""
    line = atoms.points.shape[-1] == 1
    return local_law(atoms, domain.project(atoms.points), domain, BACKGROUND if line else None)


def objective(domain: Space, distance: float) -> Objective:
    r"""Mean over rows of :math:`-\log p(y) + \lambda \min_k \|z_k - y\|^2`, for each network.

    Arguments:
        domain: of scaled targets.
        distance: :math:`\lambda`; 0 for the negative log-likelihood alone.
    """

    on = cache(domain.on)  # moved to a device once

    def loss(atoms: Atoms, y: Tensor) -> Tensor:
        here = on(y.device)
        y = here.project(y)
        cells = here.project(atoms.cells)
        if y.shape[-1] == 1 and isinstance(here, Box):
            log_p = _on_the_line(atoms, cells, y, here)
        else:
            log_p = local_law(atoms, cells, here, validate_args=False).log_prob(y)
        if not distance:
            return -log_p.mean(-1)
        nearest = (atoms.points - y.unsqueeze(-2)).square().sum(-1).amin(-1)
        return (distance * nearest - log_p).mean(-1)

    return loss


def _on_the_line(atoms: Atoms, cells: Tensor, y: Tensor, domain: Box) -> Tensor:
    """Log-densities `(*)` at targets `(*, 1)`, the background included."""
    if isinstance(atoms, ContinuousAtoms):
        log_p = continuous_log_prob(cells, atoms.scales, atoms.centres, y, domain)
    else:
        log_p = _of_winners(atoms, cells[..., 0], y[..., 0], domain)
    share, h = BACKGROUND
    low, high = (end.double() for end in domain.bounds(y))
    inside = log_interval_mass(low, high, torch.zeros_like(low), torch.full_like(low, h))
    wide = -((y[..., 0] / h) ** 2) / 2 - math.log(h) - HALF_LOG_2PI - inside.to(y)
    return torch.logaddexp(log_p + math.log1p(-share), wide + math.log(share))


def _of_winners(atoms: LocalAtoms, cells: Tensor, y: Tensor, domain: Box) -> Tensor:
    """Log-densities `(*)` of cut kernels at targets `(*)`: only the winners' cells are looked at.

    It is that of :class:`~vwta.distributions.mixtures.VoronoiMixture`, without building one. Points
    that coincide share one cell: it has the kernel of the first, and the masses of all.
    """
    winner = (cells - y[..., None]).abs().argmin(-1, keepdim=True)
    z = cells.gather(-1, winner)
    low, high = domain.bounds(z)
    left = torch.where(cells < z, (cells + z) / 2, low).amax(-1).double()
    right = torch.where(cells > z, (cells + z) / 2, high).amin(-1).double()
    c = atoms.centres[..., 0].gather(-1, winner)[..., 0].double()
    log_h = atoms.log_scales.gather(-1, winner)[..., 0].double()
    together = torch.where(cells == z, atoms.logits.log_softmax(-1), -math.inf)
    log_kernel = -(((y - c) / log_h.exp()) ** 2) / 2 - log_h - HALF_LOG_2PI
    log_inside = log_interval_mass(left, right, c, log_h.exp())
    return together.logsumexp(-1) + (log_kernel - log_inside).to(y)
