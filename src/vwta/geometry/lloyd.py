"""Lloyd's algorithm: the atoms that quantise a fixed law best, as a reference for trained ones."""

from __future__ import annotations

__all__ = ["lloyd"]

import torch
from torch import Tensor

DISTANCES = 2**22  # held at once: they fit into memory with ease


@torch.no_grad()
def lloyd(
    y: Tensor, K: int, starts: int, steps: int, generator: torch.Generator
) -> tuple[Tensor, float]:
    r"""Lloyd's algorithm: K atoms of low risk :math:`\frac{1}{n} \sum_i \min_k \|z_k - y_i\|^2`.

    It gives the atoms and their risk.
    Each start draws atoms as k-means++ does: the next one is a point picked with a probability in
    proportion to its squared distance from those before. Then all atoms move to the means of their
    cells, over and over, and the best start is returned. The risk is that of the points to which
    the atoms were fitted; on other points of the same law it is higher. If there are enough starts,
    the lowest possible risk of the law lies between the two.

    Arguments:
        y: points, with shape `(n, d)`.
        K: number of atoms, at most n.
        starts: number of starts.
        steps: number of steps at most; it ends earlier once nothing moves.
        generator: source of randomness.

    Returns:
        The atoms, with shape `(K, d)`, and their risk.

    Example:
        >>> y = torch.tensor([[0.0], [1.0], [5.0], [7.0]])
        >>> atoms, risk = lloyd(y, K=2, starts=3, steps=10, generator=torch.Generator())
        >>> sorted(atoms.flatten().tolist()), risk
        ([0.5, 6.0], 0.625)
    """
    if not 1 <= K <= len(y):
        raise ValueError(f"K = {K}: it must be between 1 and the number {len(y)} of points")
    if starts < 1:
        raise ValueError(f"starts = {starts}: it must be at least 1")
    middle = y.mean(0)  # far from 0 distances would drown in rounding
    y = y - middle
    runs = [_iterate(y, _first_atoms(y, K, generator), steps) for _ in range(starts)]
    atoms, risk = min(runs, key=lambda run: run[1])
    return atoms + middle, risk


def _first_atoms(y: Tensor, K: int, generator: torch.Generator) -> Tensor:
    """Atoms `(K, d)` picked among the points `(n, d)` as k-means++ does."""
    there = generator.device  # may be another than that of y
    chosen = [torch.randint(len(y), (), generator=generator, device=there).to(y.device)]
    nearest = torch.full_like(y[:, 0], torch.inf)
    for _ in range(K - 1):
        nearest = torch.minimum(nearest, (y - y[chosen[-1]]).square().sum(-1))
        cumulated = nearest.double().cumsum(0)
        u = torch.rand((), generator=generator, dtype=torch.float64, device=there).to(y.device)
        chosen.append(torch.searchsorted(cumulated, u * cumulated[-1]).clamp_max(len(y) - 1))
    return y[torch.stack(chosen)]


def _iterate(y: Tensor, atoms: Tensor, steps: int) -> tuple[Tensor, float]:
    """Atoms `(K, d)` after at most `steps` moves to the means of their cells, and their risk."""
    winner, before = _nearest(y, atoms), None
    for _ in range(steps):
        if before is not None and torch.equal(winner, before):
            break
        count = torch.bincount(winner, minlength=len(atoms)).to(y)[:, None]
        total = torch.zeros_like(atoms).index_add_(0, winner, y)
        atoms = torch.where(count > 0, total / count.clamp_min(1), atoms)
        winner, before = _nearest(y, atoms), winner
    return atoms, (y - atoms[winner]).square().sum(-1).mean().item()


def _nearest(y: Tensor, atoms: Tensor) -> Tensor:
    r"""Nearest atoms `(n,)` of points: those of the largest :math:`y \cdot z - |z|^2 / 2`."""
    half = atoms.square().sum(-1) / 2
    parts = y.split(max(1, DISTANCES // len(atoms)))
    return torch.cat([torch.addmm(-half, part, atoms.T).argmax(1) for part in parts])
