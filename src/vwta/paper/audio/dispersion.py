r"""Dispersion of laws on the sphere, for each class of sound.

With :math:`R = |E[u]|`, the length of the mean vector, the dispersion is :math:`\sqrt{-\log R}`. A
narrow law with standard deviation :math:`\sigma` on both axes has :math:`R \approx e^{-\sigma^2}`,
so that this is :math:`\sigma`.
"""

from __future__ import annotations

__all__ = ["correlation_row", "dispersion_rows", "dispersions", "mean_vectors", "single_sources"]

import math
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from vwta.distributions.mixtures import DiracMixture
from vwta.geometry.kernels import VonMisesFisher
from vwta.nn.heads import Components
from vwta.nn.models import MixtureDensity, select
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.audio.predict import DirectionAtoms
from vwta.paper.audio.targets import Targets

Dispersions = Mapping[str, tuple[float, int]]
"""Mean dispersion in degrees of each class, and the number of frames it is over."""


def single_sources(targets: Targets) -> tuple[Tensor, Tensor, Tensor]:
    """Frames `(n,)` with a single source, its direction `(n, 3)` and its class `(n,)`."""
    frames = targets.kind.ge(0).sum(-1).eq(1).nonzero().squeeze(-1)
    kind, place = targets.kind[frames].max(-1)
    direction = targets.direction[frames].take_along_dim(place[:, None, None], 1).squeeze(1)
    return frames, direction, kind


def mean_vectors(atoms: DirectionAtoms, frames: Tensor) -> Tensor:
    """Means `(n, 3)` of the laws in some frames `(n,)`; those of the atoms, unless uncut."""
    chosen = select(atoms, frames)
    if isinstance(chosen, Components):
        mean: Tensor = MixtureDensity(nn.Identity(), VonMisesFisher)(chosen).mean
        return mean
    return DiracMixture(chosen.points, chosen.masses).mean


def dispersions(means: Tensor, kind: Tensor) -> dict[str, tuple[float, int]]:
    """Mean dispersion of laws with mean vectors `(n, 3)`, for each class of sound `(n,)`."""
    length = means.norm(dim=-1).clamp(max=1)
    degrees = (-length.log()).sqrt().rad2deg()
    return {
        name: (degrees[kind == index].mean().item(), int((kind == index).sum()))
        for index, name in enumerate(CLASSES)
        if (kind == index).any()
    }


def dispersion_rows(found: Dispersions) -> Iterator[dict[str, Any]]:
    """Rows of metrics: the dispersion of each class of sound."""
    for name, (value, frames) in found.items():
        yield {"metric": f"dispersion_{name}", "value": value, "n": frames}


def correlation_row(found: Dispersions, truth: Dispersions) -> dict[str, Any]:
    """Rank correlation with the true dispersions over classes of sound; nan below three."""
    from scipy.stats import spearmanr  # slow to import, and pictures need none

    values = [value for value, _ in found.values()]
    true = [truth[name][0] for name in found]
    rank = float(spearmanr(values, true).statistic) if len(found) > 2 else math.nan
    return {"metric": "dispersion_correlation", "value": rank, "n": len(found)}
