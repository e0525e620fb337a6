"""A law as parts with a mass each: its cells, its components, or samples of it."""

from __future__ import annotations

__all__ = ["Parts", "draw", "part_densities", "parts_of", "space_of"]

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.atoms import Atoms, safe_log
from vwta.distributions.average import Average
from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.geometry.kernels import VonMisesFisher
from vwta.geometry.spaces import Box, Space, Sphere
from vwta.seeds import seeded

SAMPLES = 256  # of a law that has no parts of its own


class Parts(NamedTuple):
    """P parts of B laws, in float64.

    Attributes:
        points: where they are, `(B, P, e)`.
        masses: their masses, with sum 1, `(B, P)`.
        means: their means, `(B, P, e)`.
    """

    points: Tensor
    masses: Tensor
    means: Tensor


def parts_of(law: Distribution, seed: int = 0) -> Parts:
    """The parts of laws: cells, components, those of all members of an average, or samples.

    Arguments:
        law: any law; one that is neither a mixture nor an average of such is stood for by samples.
        seed: of these samples.
    """
    if isinstance(law, Average):
        members = [parts_of(each, seed + i) for i, each in enumerate(law.laws)]
        together = Parts(*(torch.cat(x, 1) for x in zip(*members, strict=True)))
        weights = getattr(law, "weights", None) or [1 / len(members)] * len(members)
        pairs = zip(weights, members, strict=True)
        share = [weight for weight, each in pairs for _ in range(each.points.shape[1])]
        return together._replace(masses=together.masses * together.masses.new_tensor(share))
    if isinstance(law, VoronoiMixture | KernelMixture):
        masses, z, first, _ = law._moments()
        shape = (*law.batch_shape, law.components)
        points, means = (x.expand(*shape, -1).reshape(-1, *x.shape[-2:]) for x in (z, z + first))
        masses = masses.expand(shape).reshape(-1, law.components)
        return Parts(points, masses / masses.sum(-1, keepdim=True), means)
    source = torch.Generator().manual_seed(seed)
    y = draw(law, SAMPLES, int(torch.randint(2**31, (), generator=source)))
    y = y.double().reshape(SAMPLES, -1, *law.event_shape)
    points = y.transpose(0, 1)
    return Parts(points, torch.full_like(points[..., 0], 1 / SAMPLES), points)


def draw(law: Distribution, count: int, seed: int) -> Tensor:
    """Samples `(count, *batch_shape, e)` of a law, the same for a seed, whatever threads there are.

    Mixtures draw from a generator of their own; so do averages of them. Other laws may know no
    other one than torch's.
    """
    members = law.laws if isinstance(law, Average) else [law]
    if all(isinstance(each, Atoms) and each.points.device.type == "cpu" for each in members):
        samples: Tensor = law.sample((count,), torch.Generator().manual_seed(seed))  # type: ignore[call-arg]
        return samples
    with seeded(seed):
        return law.sample(torch.Size((count,)))


def part_densities(law: Distribution, parts: Parts, y: Tensor) -> Tensor:
    """Log-densities `(n, B, P)` of parts at targets `(n, B, e)`; a cell has its own targets alone.

    Parts that are samples have the negative distance instead: the nearest one counts.
    """
    if isinstance(law, Average):
        found, start = [], 0
        for each in law.laws:
            count = SAMPLES if not hasattr(each, "components") else each.components
            own = Parts(*(x[:, start : start + count] for x in parts))
            found.append(part_densities(each, own, y))
            start += count
        return torch.cat(found, -1)
    if isinstance(law, VoronoiMixture):
        targets = y.view(-1, *law.batch_shape, y.shape[-1])
        cell, log_p = (
            x.reshape(*y.shape[:2], 1) for x in (law.cell_of(targets), law.log_prob(targets))
        )
        log_weight = parts.masses.sum(-1, keepdim=True).log()  # of a member of an average
        nothing = parts.masses.new_full((*y.shape[:2], law.components), -math.inf)
        return nothing.scatter(-1, cell, log_weight + log_p.to(nothing))
    spread = ((y[..., None, :] - parts.points) ** 2).sum(-1) / 2
    if isinstance(law, KernelMixture):
        h = law.kernel.h.to(spread).expand(*law.batch_shape, law.components)
        kernel = law.kernel.at(h.reshape(spread.shape[1:]))
        return safe_log(parts.masses) + kernel.log_density(spread, y.shape[-1])
    return -spread


def space_of(law: Distribution) -> Space:
    """The space of a law: the sphere if it has unit vectors, otherwise that of all numbers."""
    if isinstance(law, Average):
        return space_of(law.laws[0])
    if isinstance(law, VoronoiMixture):
        return law.space
    if isinstance(law, KernelMixture) and isinstance(law.kernel, VonMisesFisher):
        return Sphere()
    return Box(-math.inf, math.inf)
