r"""Predicted laws in the unit of the targets, one for each row of inputs.

Networks see scaled targets :math:`u = (y - a) / s`. The density of y is that of u divided by
:math:`\prod_j s_j`; its mean, quantiles and samples are :math:`a + s u`.
"""

from __future__ import annotations

__all__ = ["PredictedLaw", "masses_of", "members_of"]

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.average import Average
from vwta.distributions.line import cdf
from vwta.distributions.regions import Region, hdr
from vwta.distributions.summaries import entropy, mode, quantile
from vwta.estimator.axes import AxisComponents
from vwta.estimator.conformal import Calibration, hdr_scores, sampled_densities
from vwta.estimator.fitting import law_of
from vwta.estimator.heads import HEADS
from vwta.estimator.modes import table_of
from vwta.estimator.targets import Targets
from vwta.nn.heads import Components
from vwta.nn.models import select

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 4096  # rows whose laws are in memory at once
CHUNK_SOLID = 256  # in three and more dimensions
CHUNK_REGIONS = 128  # whose regions are found by 4,096 samples each
MARGINAL = 1024  # samples that stand for the marginal of a cut law
Array = NDArray[np.float64]


class PredictedLaw:
    """Laws of n targets, which have d columns each, in their own unit.

    Arguments and results are arrays, but regions hold tensors. A target has shape `(n, d)`, or
    `(n,)` if the model was fitted with targets of that shape; further axes in front are allowed.
    `len(law)` is n, and `law[3]` or `law[10:20]` are the laws of some rows.

    Arguments:
        atoms: what each member of the model gives for the rows.
        head: name of the head.
        number: its bandwidth, or its factor on all widths.
        targets: how targets were scaled.
        calibration: of highest-density regions, if the model has one.
    """

    def __init__(
        self,
        atoms: Sequence[Any],
        head: str,
        number: float,
        targets: Targets,
        calibration: Calibration | None = None,
    ) -> None:
        self.atoms, self.head, self.number = list(atoms), head, number
        self.targets, self.calibration = targets, calibration

    def __repr__(self) -> str:
        rows, d = len(self), self.targets.dimension
        return f"PredictedLaw(head={self.head!r}, rows={rows}, columns={d})"

    def __len__(self) -> int:
        return len(self.atoms[0].points)

    def __getitem__(self, rows: Any) -> PredictedLaw:
        index = torch.arange(len(self))[rows].reshape(-1)
        return self._like([select(each, index) for each in self.atoms])

    @cached_property
    def law(self) -> Distribution:
        """The laws of scaled targets, of batch shape `(n,)` and event shape `(d,)`."""
        return law_of(self.head, self.atoms, self.number, self.targets.domain())

    def laws(self) -> Iterator[Distribution]:
        """The same for some rows at a time, which fit into memory."""
        return (part.law for part in self.parts())

    @property
    def location(self) -> Array:
        """What is added to scaled targets times :attr:`scale`, `(d,)`."""
        return np.array(self.targets.location)

    @property
    def scale(self) -> Array:
        """The unit of scaled targets, `(d,)`."""
        return np.array(self.targets.scale)

    @property
    def mean(self) -> Array:
        """Means, `(n, d)`; on the sphere they lie within it."""
        return self._outwards(self._rows(lambda part: part.law.mean, axis=-2))

    @property
    def variance(self) -> Array:
        """Variances of each column, `(n, d)`."""
        values = self._rows(lambda part: part.law.variance, axis=-2).numpy() * self.scale**2
        return self._shaped(values)

    @property
    def std(self) -> Array:
        """Standard deviations of each column, `(n, d)`."""
        root: Array = np.sqrt(self.variance)
        return root

    @property
    def mode(self) -> Array:
        """Where the densities are highest, `(n, d)`."""
        project = self.targets.domain().project
        return self._outwards(self._rows(lambda part: mode(part.law, project), axis=-2))

    def log_prob(self, y: ArrayLike) -> Array:
        """Log-densities at targets, `(*, n)`; -inf outside a box."""
        scaled = self._inwards(y)
        values = self._rows(lambda part, u: part.law.log_prob(u), scaled)
        return values.numpy() - float(np.log(self.scale).sum())

    def sample(
        self, n: int | None = None, random_state: int | np.random.RandomState | None = None
    ) -> Array:
        """Samples of each row, `(n samples, n, d)`; without their number one, `(n, d)`.

        Arguments:
            n: how many.
            random_state: seed, for the same samples again, or what draws one.
        """
        if n is not None and not (isinstance(n, Integral) and n >= 0):
            raise ValueError(f"n is {n!r}. Remedy: give a number of samples from 0 on, or None")
        source = _source(random_state)
        shape = () if n is None else (int(n),)
        samples = [_sample(part, shape, source) for part in self.parts()]
        return self._outwards(torch.cat(samples, -2))

    def cdf(self, y: ArrayLike) -> Array:
        """Distribution functions at targets of one column, `(*, n)`."""
        self._on_the_line("cdf")
        scaled = self._inwards(y)
        return self._rows(lambda part, u: cdf(part.law, u[..., 0]), scaled).numpy()

    def quantile(self, q: ArrayLike) -> Array:
        """Quantiles of targets of one column, `(*q, n)` or `(*q, n, 1)`, for probabilities q."""
        self._on_the_line("quantile")
        asked = torch.as_tensor(np.asarray(q, dtype=np.float64))
        if not ((asked >= 0) & (asked <= 1)).all():
            raise ValueError(f"q is {q!r}. Remedy: give probabilities from 0 to 1, such as 0.9")
        values = self._rows(lambda part: quantile(part.law, asked[..., None]))
        return self._outwards(values[..., None])

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """Ends of the central intervals of a level, between its two quantiles, of one column."""
        _check_level(level)
        low, high = self.quantile([(1 - level) / 2, (1 + level) / 2])
        return low, high

    def entropy(self, samples: int = 1024, random_state: int = 0) -> Array:
        """Differential entropies in nats, `(n,)`.

        By quadrature for targets of one column, otherwise means over samples.

        Arguments:
            samples: how many samples of a row.
            random_state: their seed.
        """
        if self.targets.dimension == 1:
            values = self._rows(lambda part: entropy(part.law)).numpy()
            return values + float(np.log(self.scale).sum())
        means: Array = -self.log_prob(self.sample(samples, random_state)).mean(0)
        return means

    def marginal(self, column: int | str) -> PredictedLaw:
        """Laws of one column of the targets.

        Those of uncut kernels are exact. Others are kernel densities of 1,024 samples, by
        Silverman's rule for a law as wide as the narrowest kernel; their distribution functions
        have a standard error of .016 at most.

        Arguments:
            column: its place from 0, or its name.
        """
        j, names = self._place(column), self.targets.names
        if self.targets.dimension == 1:
            return self
        targets = Targets(
            space="line",
            location=[self.targets.location[j]],
            scale=[self.targets.scale[j]],
            flat=True,
            names=None if names is None else [names[j]],
        )
        if HEADS[self.head].cut or self.targets.space == "sphere":
            return PredictedLaw([self._sampled(j)], "mdn", 1.0, targets)
        atoms = [_column(each, j) for each in self.atoms]
        return PredictedLaw(atoms, self.head, self.number, targets)

    def scenarios(self, min_mass: float = 0.05, valley: float = 0.2) -> pd.DataFrame:
        """Modes of the laws with their probabilities, a table with a row for each.

        Columns are the `row` of inputs, the number of the `scenario`, the likeliest first, its
        `probability`, its `mean` and its `peak`; for targets of one column the interval from `low`
        to `high` between valleys of the density, and from `lower` to `upper` 90 % of its mass. For
        several columns, `lower` and `upper` of each hold the central 90 % of the scenario's samples
        in that column, of 1,024 of the law. Directions have no such ends.

        Arguments:
            min_mass: smallest probability of a scenario.
            valley: two modes are separated by a density below this part of the lower peak; see
                :mod:`vwta.distributions.scenarios`.
        """
        return table_of(self, min_mass, valley)

    def hdr(self, level: float = 0.9) -> Region:
        """Highest-density regions of a level, calibrated if the model is.

        On the line `intervals` are those of all rows, and `row` says whose they are. Elsewhere a
        region is where the log-density is at least `log_threshold`; see :meth:`covers`.

        Arguments:
            level: probability of the region, between 0 and 1.
        """
        _check_level(level)
        mass = level if self.calibration is None else self.calibration.mass(level)
        size = None if self.targets.dimension == 1 else CHUNK_REGIONS
        region = _together(
            [hdr(part.law, mass) if mass < 1 else part._beyond(mass) for part in self.parts(size)]
        )
        unit = float(np.log(self.scale).sum())
        return replace(
            region,
            level=level,
            log_threshold=region.log_threshold - unit,
            volume=region.volume * math.exp(unit),
            volume_error=region.volume_error * math.exp(unit),
            intervals=None if region.intervals is None else self._unscaled(region.intervals),
        )

    def covers(self, y: ArrayLike, level: float = 0.9) -> NDArray[np.bool_]:
        """Whether highest-density regions of a level have the targets, `(n,)`.

        If the model is calibrated, they do so for a new row with the probability `level` at least.
        """
        _check_level(level)
        mass = level if self.calibration is None else self.calibration.mass(level)
        covered: NDArray[np.bool_] = self.density_rank(y) <= mass
        return covered

    def density_rank(self, y: ArrayLike) -> Array:
        """Masses of all points with a higher density than the targets, `(n,)`.

        They are uniform between 0 and 1 if the laws are right. On the line they are exact,
        elsewhere shares of 256 samples; see :mod:`vwta.estimator.conformal`.
        """
        ranks: Array = hdr_scores(self.laws(), self._inwards(y)).numpy()
        return ranks

    def with_number(self, number: float) -> PredictedLaw:
        """The same laws with another bandwidth, or factor on all widths, for scaled targets."""
        return PredictedLaw(self.atoms, self.head, number, self.targets)

    def _beyond(self, mass: float) -> Region:
        """Regions of a mass of 1 or more: all of the line, elsewhere beyond samples."""
        n, d = len(self), self.targets.dimension
        one, none = torch.ones(n).double(), torch.zeros(n).double()
        everything = {"volume": none + math.inf, "volume_error": none, "mass": one}
        if d == 1:
            ends = torch.tensor([[-math.inf, math.inf]]).double().expand(n, 2)
            everything |= {"row": torch.arange(n), "intervals": ends}
            lowest = none - math.inf
        else:
            source = torch.Generator().manual_seed(0)
            lowest = sampled_densities(self.law, source).amin(0) - (mass - 1)
        shape = self.law.batch_shape
        return Region(shape, mass, log_threshold=lowest, mass_error=none, **everything)

    def _unscaled(self, values: Tensor) -> Tensor:
        """Numbers `(*, d)` in the unit of the targets; `(*, 2)` for ends of intervals."""
        scale, location = (torch.as_tensor(x) for x in (self.scale, self.location))
        return values * scale + location

    def _like(self, atoms: Sequence[Any]) -> PredictedLaw:
        return PredictedLaw(atoms, self.head, self.number, self.targets, self.calibration)

    def _sampled(self, j: int) -> Components:
        """A kernel density of samples of column j, for each row."""
        source = torch.Generator().manual_seed(0)
        samples = torch.cat([_sample(part, (MARGINAL,), source) for part in self.parts()], -2)
        points = samples[..., j].T
        own = [law.kernel.h.expand(law.masses.shape).amin(-1) for law in members_of(self.law)]
        own.append(0.9 * points.std(-1))
        h = MARGINAL**-0.2 * torch.stack(own).amin(0)[:, None]
        return Components(
            points[..., None], torch.zeros_like(points), 2 * h.log().expand_as(points)
        )

    def parts(self, size: int | None = None) -> Iterator[PredictedLaw]:
        """The rows in parts of a size, by default one with which laws fit into memory."""
        size = size or (CHUNK if self.targets.dimension <= 2 else CHUNK_SOLID)
        if len(self) <= size:
            yield self
        else:
            for start in range(0, len(self), size):
                yield self[start : start + size]

    @torch.no_grad()
    def _rows(self, function: Callable[..., Tensor], *targets: Tensor, axis: int = -1) -> Tensor:
        """A function of laws and scaled targets `(*, n, d)`, whose rows are along an axis."""
        found, start = [], 0
        for part in self.parts():
            end = start + len(part)
            here = (u[..., start:end, :] if u.shape[-2] > 1 else u for u in targets)
            found.append(function(part, *here))
            start = end
        return torch.cat(found, axis)

    def _inwards(self, y: ArrayLike) -> Tensor:
        """Scaled targets `(*, n, d)`, or `(*, 1, d)` for all rows."""
        array, n, d = np.asarray(y, dtype=np.float64), len(self), self.targets.dimension
        columns = array.shape[-2:] == (n, 1) and n > 1
        if d == 1 and not columns and (self.targets.flat or array.shape[-1:] != (1,)):
            array = array[..., None]
        array = np.atleast_2d(array)
        if array.shape[-1] != d or array.shape[-2] not in (1, n):
            raise ValueError(
                f"y has shape {np.shape(y)}, but there are {n} laws of {d} columns. Remedy: give "
                f"{(n,) if self.targets.flat else (n, d)}, with further axes in front if you like"
            )
        if not np.isfinite(array).all():
            raise ValueError("y has NaN or inf. Remedy: leave these targets out")
        return torch.as_tensor(self.targets.scaled(array))

    def _outwards(self, scaled: Tensor) -> Array:
        """Targets in their own unit of scaled ones `(*, d)`."""
        return self._shaped(scaled.numpy() * self.scale + self.location)

    def _shaped(self, values: Array) -> Array:
        return values[..., 0] if self.targets.flat else values

    def _on_the_line(self, what: str) -> None:
        if self.targets.dimension > 1:
            raise ValueError(
                f"{what} is for targets of one column, these have {self.targets.dimension}. "
                "Remedy: take marginal(j) first, the law of column j"
            )

    def _place(self, column: int | str) -> int:
        names, d = self.targets.names or [], self.targets.dimension
        if isinstance(column, str) and column in names:
            return names.index(column)
        if isinstance(column, str) or not -d <= column < d:
            places = "0" if d == 1 else f"0 to {d - 1}"
            known = ", ".join([*map(repr, names), places])
            raise ValueError(f"column {column!r}. Remedy: choose {known}")
        return column % d


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level {level}. Remedy: give a number between 0 and 1")


def _column(atoms: Any, j: int) -> Any:
    """Atoms of uncut kernels in one column of the targets."""
    points = atoms.points[..., [j]]
    if isinstance(atoms, AxisComponents):
        return Components(points, atoms.logits, atoms.log_variances[..., j])
    return atoms._replace(points=points)


def _source(random_state: int | np.random.RandomState | None) -> torch.Generator:
    """What draws samples."""
    source = torch.Generator()
    if random_state is None:
        source.seed()
    elif isinstance(random_state, np.random.RandomState):
        source.manual_seed(int(random_state.randint(2**31 - 1)))
    elif isinstance(random_state, Integral) and random_state >= 0:
        source.manual_seed(int(random_state))
    else:
        raise ValueError(
            f"random_state is {random_state!r}. Remedy: give a whole number from 0 on, a "
            "RandomState or None"
        )
    return source


def _sample(part: PredictedLaw, shape: tuple[int, ...], source: torch.Generator) -> Tensor:
    """Scaled samples, `(*shape, n, d)`."""
    samples: Tensor = part.law.sample(shape, source)  # type: ignore[call-arg]
    return samples


def _together(regions: Sequence[Region]) -> Region:
    """Regions of all rows from those of parts of them."""
    numbers = ("log_threshold", "mass", "mass_error", "volume", "volume_error")
    found = {name: torch.cat([getattr(each, name) for each in regions]) for name in numbers}
    start, rows, intervals = 0, [], []
    for each in regions:
        if each.row is not None and each.intervals is not None:
            rows.append(each.row + start)
            intervals.append(each.intervals)
        start += len(each.mass)
    if rows:
        found |= {"row": torch.cat(rows), "intervals": torch.cat(intervals)}
    return Region(torch.Size((start,)), regions[0].level, **found)


def members_of(law: Any) -> list[Any]:
    """The laws of which one is the average, or the law itself."""
    return list(law.laws) if isinstance(law, Average) else [law]


def masses_of(law: PredictedLaw, member: int = 0) -> Tensor:
    """Masses of a member's hypotheses, `(n, K)`; where they are no output, those of its cells."""
    atoms = law.atoms[member]
    if hasattr(atoms, "masses"):
        masses: Tensor = atoms.masses
        return masses
    return torch.cat([members_of(part)[member].masses for part in law.laws()])
