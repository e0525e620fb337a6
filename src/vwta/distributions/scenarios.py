r"""Scenarios: the modes of a law, each with its probability.

Atoms are not modes: several cells of a Voronoi mixture share one mode of the density. The rule:

* Two modes are separated by a *valley*: on every path from one peak to the other the density falls
  to `valley` times the lower peak or below. Parts of the law without such a valley between them
  belong to one mode.
* A mode is a scenario if its mass is at least `min_mass`. What is left is the *rest*.

On the line modes are intervals between the lowest points of valleys, and masses are exact for every
law that :func:`~vwta.distributions.line.truncated_kernels` knows. Elsewhere modes are groups of
parts. The parts of a Voronoi mixture are its cells: masses are exact, and so are valleys in the
plane and on the sphere. The parts of a kernel mixture are its components, and those of an average
are the parts of its members: a scenario has the masses of its components, each of which belongs to
the mode that has its atom. Any other law is stood for by 256 samples, so that probabilities have a
standard error of .03 at most. Except for cells in the plane and on the sphere, valleys are looked
for on straight ways between parts: where all of these cross a valley that a curved way avoids, one
mode is seen as two.
"""

from __future__ import annotations

__all__ = ["Scenarios", "scenarios"]

import math
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Size, Tensor
from torch.distributions import Distribution

from vwta.distributions.average import Average
from vwta.distributions.axes import AxisMixture
from vwta.distributions.basins import Basins, find_basins, means, within
from vwta.distributions.joining import cell_peaks, cell_saddles, join, segment_saddles
from vwta.distributions.line import TruncatedKernels
from vwta.distributions.mixtures import VoronoiMixture
from vwta.distributions.parts import Parts, part_densities, parts_of, space_of
from vwta.distributions.profile import kernels_of, profile_of
from vwta.geometry.spaces import Sphere

CENTRAL = 0.9  # of a scenario's mass lies between `lower` and `upper`
NODES = 2**22  # nodes of profiles, or pairs of parts, in memory at once


@dataclass(frozen=True)
class Scenarios:
    """Scenarios of B laws: a table of S rows, law after law, the likeliest scenario of a law first.

    All tensors are in float64, and without gradients.

    Attributes:
        batch_shape: of the laws; they are numbered through in `row`.
        row: number of the law, `(S,)`.
        rank: number of the scenario within its law, from 0, `(S,)`.
        probability: `(S,)`.
        mean: its mean, `(S, e)`; on the sphere its mean direction.
        peak: where the density is highest, `(S, e)`; on the line exactly, elsewhere the best atom.
        log_density: log-density of the law at the peak, `(S,)`.
        rest: mass that belongs to no scenario, `(B,)`.
        region: on the line the ends of the scenario's interval, `(S, 2)`, may be infinite.
        central: on the line the ends of the interval of the central 90 % of its mass, `(S, 2)`.
        group: elsewhere the mode that each part belongs to, `(B, P)`.
        mode: elsewhere the number of the scenario's mode in `group`, `(S,)`.
    """

    batch_shape: Size
    row: Tensor
    rank: Tensor
    probability: Tensor
    mean: Tensor
    peak: Tensor
    log_density: Tensor
    rest: Tensor
    region: Tensor | None = None
    central: Tensor | None = None
    group: Tensor | None = None
    mode: Tensor | None = None

    def __len__(self) -> int:
        return len(self.row)

    @property
    def count(self) -> Tensor:
        """Number of scenarios of each law, in the batch shape."""
        return torch.bincount(self.row, minlength=len(self.rest)).view(self.batch_shape)

    def members(self, scenario: int) -> Tensor:
        """Numbers of the parts, such as cells, of the scenario in a row of the table."""
        if self.group is None or self.mode is None:
            raise ValueError("scenarios on the line are intervals: see `region`")
        return torch.nonzero(self.group[self.row[scenario]] == self.mode[scenario])[:, 0]

    def columns(self) -> dict[str, NDArray[Any]]:
        """The table by columns, for `pandas.DataFrame`; coordinates are `mean`, or `mean_0`..."""
        found: dict[str, Tensor] = {
            "row": self.row,
            "scenario": self.rank,
            "probability": self.probability,
        }
        for name, value in (("mean", self.mean), ("peak", self.peak)):
            one = value.shape[1] == 1
            found |= {name if one else f"{name}_{j}": x for j, x in enumerate(value.T)}
        for names, ends in ((("low", "high"), self.region), (("lower", "upper"), self.central)):
            if ends is not None:
                found |= dict(zip(names, ends.T, strict=True))
        return {name: value.cpu().numpy() for name, value in found.items()}

    def assign(self, law: Distribution, y: Tensor) -> Tensor:
        """The scenario that each target belongs to, by its rank, `(*, *batch_shape)`; -1 for none.

        On the line it is the one whose interval has the target, for a Voronoi mixture the one whose
        cell has it, otherwise the one whose parts have the highest density there.

        Arguments:
            law: the laws whose scenarios these are.
            y: targets, `(*, *batch_shape, e)`.
        """
        shape = y.shape[:-1]
        y = y.detach().double().reshape(-1, len(self.rest), y.shape[-1])
        if self.region is not None:
            at = y[:, self.row, 0]
            inside = (at >= self.region[:, 0]) & (at < self.region[:, 1])
        else:
            assert self.mode is not None
            inside = self._modes_at(law, y)[:, self.row] == self.mode
        found = torch.full_like(y[..., 0], -1, dtype=torch.long)
        target, scenario = torch.nonzero(inside, as_tuple=True)
        found[target, self.row[scenario]] = self.rank[scenario]
        return found.view(shape)

    def _modes_at(self, law: Distribution, y: Tensor) -> Tensor:
        """Mode in `group` of targets `(n, B, e)`, `(n, B)`."""
        assert self.group is not None
        group = self.group.expand(len(y), -1, -1)
        if isinstance(law, VoronoiMixture):
            cell = law.cell_of(y.view(-1, *self.batch_shape, y.shape[-1]))
            return group.gather(2, cell.reshape(*y.shape[:2], 1))[..., 0]
        each = _part_densities(law, y)
        best = each.amax(-1, keepdim=True)
        share = torch.zeros_like(each).scatter_add_(-1, group, (each - best).exp())
        return share.argmax(-1)


def _part_densities(law: Distribution, y: Tensor) -> Tensor:
    """Log-densities `(n, B, P)` of parts at targets `(n, B, e)`, up to a constant."""
    members = law.laws if isinstance(law, Average) else (law,)
    axes = [each for each in members if isinstance(each, AxisMixture)]
    if len(axes) < len(members):
        return part_densities(law, parts_of(law), y)
    y = y.view(-1, *law.batch_shape, y.shape[-1])
    found = torch.cat([each.log_parts(y) for each in axes], -1)
    return found.view(len(y), -1, found.shape[-1])


@torch.no_grad()
def scenarios(law: Distribution, min_mass: float = 0.05, valley: float = 0.2) -> Scenarios:
    """Scenarios of laws: their modes, with exact probabilities; see the rule above.

    Arguments:
        law: laws of any batch shape.
        min_mass: smallest mass of a scenario.
        valley: density that separates two modes, in units of the lower one's peak, below 1. Less
            than .3 is advised for cut kernels, which have a peak in every cell.

    Example:
        >>> from vwta import Box, Gaussian
        >>> points, masses = torch.tensor([-3.0, 0.0, 0.5, 1.0]), torch.tensor([0.1, 0.2, 0.4, 0.3])
        >>> law = VoronoiMixture(points[:, None], masses, Gaussian(0.3), Box(-5.0, 5.0))
        >>> scenarios(law).probability
        tensor([0.9000, 0.1000], dtype=torch.float64)
    """
    if not 0 < valley < 1:
        raise ValueError(f"valley {valley}. Remedy: give a number between 0 and 1, such as 0.2")
    if not 0 <= min_mass < 1:
        raise ValueError(f"min_mass {min_mass}. Remedy: give a number below 1, such as 0.05")
    if tuple(law.event_shape) == (1,):
        return _on_the_line(law, min_mass, valley)
    return _elsewhere(law, min_mass, valley)


def _on_the_line(law: Distribution, min_mass: float, valley: float) -> Scenarios:
    kernels = kernels_of(law)
    rows, count = kernels.points.shape
    step = max(1, NODES // (16 * count))
    found = []
    for start in range(0, rows, step):
        some = TruncatedKernels(*(x[start : start + step] for x in kernels))
        basins = find_basins(profile_of(some), valley)
        found.append(basins._replace(row=basins.row + start))
    basins = Basins(*(torch.cat(x) for x in zip(*found, strict=True)))
    keep, rank, rest = _ranked(basins.row, basins.mass, rows, min_mass)
    basins = Basins(*(x[keep] for x in basins))
    some = TruncatedKernels(*(x[basins.row] for x in kernels))
    ends = (basins.low, basins.high)
    return Scenarios(
        law.batch_shape,
        basins.row,
        rank,
        basins.mass,
        means(some, *ends)[:, None],
        basins.peak[:, None],
        basins.log_peak,
        rest,
        region=torch.stack(ends, -1),
        central=within(some, *ends, CENTRAL),
    )


def _elsewhere(law: Distribution, min_mass: float, valley: float) -> Scenarios:
    parts, space = parts_of(law), space_of(law)
    rows, count, size = parts.points.shape
    cells = law if isinstance(law, VoronoiMixture) and space.dim(size) == 2 else None
    if cells is not None and cells.roots is not None:
        cells = None  # the density of a cell does not fall with the distance from its centre
    peaks = parts.points if cells is None else cell_peaks(cells, parts.points)
    at = peaks.transpose(0, 1).reshape(count, *law.batch_shape, size)
    log_peak = law.log_prob(at).reshape(count, rows).T.to(peaks)
    if cells is None:
        saddles = segment_saddles(law, peaks, log_peak, space)
    else:
        saddles = cell_saddles(cells, parts.points, peaks, log_peak)
    group = join(log_peak, saddles, valley)
    parts = parts._replace(points=peaks)
    return _grouped(law, parts, log_peak, group, min_mass, isinstance(space, Sphere))


def _grouped(
    law: Distribution, parts: Parts, log_peak: Tensor, group: Tensor, min_mass: float, sphere: bool
) -> Scenarios:
    """Scenarios of parts whose groups `(B, P)` are known."""
    rows, count = group.shape
    mass = torch.zeros_like(parts.masses).scatter_add_(1, group, parts.masses)
    wide = group[..., None].expand_as(parts.means)
    total = torch.zeros_like(parts.means).scatter_add_(
        1, wide, parts.masses[..., None] * parts.means
    )
    highest = torch.full_like(log_peak, -math.inf).scatter_reduce_(1, group, log_peak, "amax")
    top = log_peak >= highest.gather(1, group)
    number = torch.arange(count, device=group.device).expand_as(group)
    best = torch.full_like(group, count).scatter_reduce_(
        1, group, torch.where(top, number, count), "amin"
    )
    row, mode = torch.nonzero(mass > 0, as_tuple=True)
    keep, rank, rest = _ranked(row, mass[row, mode], rows, min_mass)
    row, mode = row[keep], mode[keep]
    mean = total[row, mode] / mass[row, mode, None]
    return Scenarios(
        law.batch_shape,
        row,
        rank,
        mass[row, mode],
        Sphere().project(mean) if sphere else mean,
        parts.points[row, best[row, mode]],
        highest[row, mode],
        rest,
        group=group,
        mode=mode,
    )


def _ranked(row: Tensor, mass: Tensor, rows: int, min_mass: float) -> tuple[Tensor, Tensor, Tensor]:
    """Which modes `(S,)` are scenarios, in the order of a table; their ranks; the rest `(B,)`."""
    order = torch.argsort(mass, descending=True, stable=True)
    order = order[mass[order] >= min_mass]
    order = order[torch.argsort(row[order], stable=True)]
    count = torch.bincount(row[order], minlength=rows)
    rank = torch.arange(len(order), device=row.device) - (count.cumsum(0) - count)[row[order]]
    known = torch.zeros(rows, dtype=mass.dtype, device=row.device)
    return order, rank, 1 - known.index_add_(0, row[order], mass[order])
