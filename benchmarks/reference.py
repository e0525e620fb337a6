"""The plain way to do what `vwta` does, for comparison: direct, recomputed at every call."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def log_prob(points: Tensor, masses: Tensor, h: float, y: Tensor, directions: int = 40) -> Tensor:
    """Voronoi-WTA log-density on [-1, 1]^2, volumes from random directions, `(N,)`.

    Only the winner's cell is looked at, along `directions` rays drawn anew.
    """
    winner = (y[:, None] - points).norm(dim=-1).argmin(1)
    rows = torch.arange(len(y))
    z = points[rows, winner]
    angle = 2 * math.pi * torch.rand(len(y), directions)
    ray = torch.stack([angle.cos(), angle.sin()], -1)
    apart = points - z[:, None]
    rate = torch.einsum("nsd,nkd->nsk", ray, apart)
    reach = (apart**2).sum(-1)[:, None] / (2 * rate)
    reach = torch.where(rate > 0, reach, torch.full_like(reach, math.inf)).amin(-1)
    wall = torch.where(ray > 0, (1 - z)[:, None] / ray, (-1 - z)[:, None] / ray).amin(-1)
    reach = torch.minimum(reach, wall)
    volume = (1 - torch.exp(-(reach**2) / (2 * h**2))).mean(1)
    kernel = -((y - z) ** 2).sum(-1) / (2 * h**2) - math.log(2 * math.pi * h**2)
    return masses[rows, winner].log() + kernel - volume.log()


def sample(
    points: Tensor, masses: Tensor, h: float, count: int, rounds: int
) -> tuple[Tensor, Tensor]:
    """Samples `(N, count, 2)` by rejection, and which of them were found within `rounds` rounds."""
    cell = torch.multinomial(masses, count, replacement=True)
    out = torch.empty(*cell.shape, 2)
    todo = torch.nonzero(torch.ones_like(cell, dtype=torch.bool))
    for _ in range(rounds):
        if not len(todo):
            break
        row, column = todo.T
        z = points[row, cell[row, column]]
        y = z + h * torch.randn_like(z)
        nearest = (y[:, None] - points[row]).norm(dim=-1).argmin(1)
        keep = (nearest == cell[row, column]) & (y.abs() <= 1).all(-1)
        out[row[keep], column[keep]] = y[keep]
        todo = todo[~keep]
    found = torch.ones_like(cell, dtype=torch.bool)
    found[todo[:, 0], todo[:, 1]] = False
    return out, found
