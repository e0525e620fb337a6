"""What the paper's volumes, estimated by chance, do to likelihoods."""

from __future__ import annotations

__all__ = ["volume_rows"]

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from vwta.geometry.kernels import Kernel, Uniform, VonMisesFisher
from vwta.nn.models import select
from vwta.paper.audio.estimators import Atoms
from vwta.paper.audio.monte_carlo import log_volumes, uniform_directions
from vwta.paper.audio.targets import Targets
from vwta.seeds import generator

BLOCK = 100  # targets that share their points


def volume_rows(
    estimator: nn.Module,
    atoms: Atoms,
    targets: Targets,
    bandwidths: list[float | None],
    points: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Rows of `monte_carlo_bias` and `monte_carlo_empty` at each bandwidth.

    Both likelihoods of a target have the same kernel and mass, and differ by the logarithm of the
    volume alone. The bias is the mean difference of the NLL, over targets whose cell has an
    estimate; the others are counted.

    Arguments:
        estimator: density with cells, called on atoms.
        atoms: of all frames.
        targets: where to measure.
        bandwidths: of the von Mises-Fisher kernel; None for the uniform one.
        points: on the sphere, anew for each block of targets.
        seed: of the points.
    """
    kernels: list[Kernel] = [Uniform() if h is None else VonMisesFisher(h) for h in bandwidths]
    gaps: list[Tensor] = []
    for start in range(0, len(targets.y), BLOCK):
        chosen = select(atoms, targets.frame[start : start + BLOCK])
        y = targets.y[start : start + BLOCK, None]
        winner = (chosen.points - y).square().sum(-1).argmin(-1)
        sample = uniform_directions(points, generator(seed, "sphere", start))
        law = estimator(chosen)
        exact = torch.stack(
            [
                (law if h is None else law.with_bandwidth(h)).log_cell_mass.take_along_dim(
                    winner.unsqueeze(-1), -1
                )
                for h in bandwidths
            ]
        )
        gaps.append(log_volumes(chosen.points, winner, kernels, sample) - exact.squeeze(-1))
    for h, gap in zip(bandwidths, torch.cat(gaps, -1), strict=True):
        known = gap[gap.isfinite()]
        bias = {"metric": "monte_carlo_bias", "value": known.mean().item(), "n": len(known)}
        yield {"h": h, **bias}
        empty = len(gap) - len(known)
        yield {"h": h, "metric": "monte_carlo_empty", "value": empty, "n": len(gap)}
