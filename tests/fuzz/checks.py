"""What every law is asked for, whatever its space, beside what it should be."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from fuzz import reference
from fuzz.cases import Found
from fuzz.laws import Law
from fuzz.reference import Moments
from numpy.random import Generator
from scipy.stats import binomtest

CELLS = 16  # cells of a law that are compared one by one
SMALL = 15  # atoms up to which a law's mean and variance, which need all cells, are compared
DRAWS = 1000
CHANCE = 1e-9  # of a wrong alarm in one count of samples


@dataclass(frozen=True)
class Reference:
    """What a space knows about its laws.

    Attributes:
        moments: integrals over the cell of an atom, given by row and number; None if a twin has it.
        tolerance: error that a cell's log-mass may have in float64.
        shares: parts of a cell: masks of points `(n, e)` in it, and the share of each.
        targets: points `(n, e)` at which to ask for the density.
    """

    moments: Callable[[Law, int, int], Moments | None]
    tolerance: Callable[[Law, int, int], float]
    shares: Callable[[Law, int, int], list[tuple[Callable[[np.ndarray], np.ndarray], float]]]
    targets: Callable[[Law, int, Generator], np.ndarray]
    log_density: Callable[[float, float], float]


Check = Callable[[Law, Reference], Iterator[Found]]


def asked(categories: Iterable[str], small: Iterable[str]) -> list[tuple[Check, str]]:
    """Checks of the categories of a space; moments need all cells, so those of few atoms alone."""
    checks = (log_masses, log_densities, samples)
    each = [(check, category) for check in checks for category in categories]
    return each + [(means_and_variances, category) for category in small]


def log_masses(law: Law, about: Reference) -> Iterator[Found]:
    """Log-masses of some cells."""
    values = rows(law, law.mixture().log_cell_mass)
    for row, k in some_cells(law):
        found, expected = float(values[row, k]), about.moments(law, row, k)
        if expected is None:
            yield Found(f"log-mass of the empty cell {row, k}", found, -math.inf, 1.0)
            continue
        right = expected.log_mass
        allowed = about.tolerance(law, row, k) + (1e-6 * (1 + abs(right)) if law.single else 0.0)
        yield Found(f"log-mass of cell {row, k}", found, right, allowed)


def log_densities(law: Law, about: Reference) -> Iterator[Found]:
    """Log-densities at some points, whose cell is found by exact arithmetic."""
    row = law.seed % len(law.points)
    targets = about.targets(law, row, law.rng("targets"))
    if law.single:
        targets = targets.astype(np.float32).astype(float)
    y = torch.tensor(targets, dtype=law.dtype)[:, None].expand(-1, len(law.points), -1)
    mixture = law.mixture()
    values = mixture.log_prob(y if mixture.batch_shape else y[:, 0]).double().numpy()
    values = values.reshape(len(targets), -1)[:, row]
    for target, found in zip(targets, values, strict=True):
        yield _log_density(law, about, row, target, float(found))


def _log_density(law: Law, about: Reference, row: int, y: np.ndarray, found: float) -> Found:
    """The log-density at one point; at a border, that of the side which fits better."""
    what = f"log-density at {y.tolist()} in row {row}"
    if law.low is not None and ((y < law.low) | (y > law.high)).any():
        return Found(what + ", outside", found, -math.inf, 1.0)
    points, options = law.points[row], []
    # The library brings atoms and targets of the sphere to length 1, which moves them.
    moved = (1.2e-7 if law.single else 2.2e-16) if law.low is None else 0.0
    slack = 1e-7 if law.single and moved else 1e-14
    slack *= max(law.extent, float(np.abs(y).max()))
    for k in reference.nearest(points, y, slack, 4 * moved):
        expected = about.moments(law, row, k)
        if expected is None:
            continue
        mass = sum(law.masses[row, j] for j in reference.twins(points, k))
        log_mass = math.log(mass) if mass else -math.inf
        spread = float(((y - points[k]) ** 2).sum() / 2)
        right = log_mass - expected.log_mass + about.log_density(spread, law.h[row, k])
        steep = spread / law.h[row, k] ** 2  # rounding of the exponent
        rounding = (2e-6 if law.single else 1e-14) * (1 + abs(right) + steep)
        rounding += moved * math.sqrt(2 * spread) / law.h[row, k] ** 2
        options.append(Found(what, found, right, about.tolerance(law, row, k) + rounding))
    return min(options, key=lambda option: option.excess)


def means_and_variances(law: Law, about: Reference) -> Iterator[Found]:
    """Mean and variance of a law of few atoms, from the moments of all its cells."""
    if law.points.shape[1] > SMALL:
        return
    mixture = law.mixture()
    means, variances = (rows(law, x, 1) for x in (mixture.mean, mixture.variance))
    for row, (points, masses) in enumerate(zip(law.points, law.masses, strict=True)):
        cells = [about.moments(law, row, k) for k in range(len(points))]
        slack = max(
            about.tolerance(law, row, k) for k, cell in enumerate(cells) if cell is not None
        )
        origin = points[masses.argmax()]  # sums around it do not cancel
        first, second = np.zeros_like(origin), np.zeros_like(origin)
        for k, cell in enumerate(cells):
            if cell is None:
                continue
            share = sum(masses[j] for j in reference.twins(points, k)) / masses.sum()
            apart = points[k] - origin
            first += share * (apart + cell.first)
            second += share * (apart**2 + 2 * apart * cell.first + cell.second)
        rounding = (4 * np.finfo(np.float32 if law.single else float).eps) * np.abs(origin).max()
        size = math.sqrt(second.sum())
        for axis in range(len(origin)):
            mean, variance = origin[axis] + first[axis], second[axis] - first[axis] ** 2
            relative = slack + (1e-6 if law.single else 0.0)
            what = f"in row {row}, axis {axis}"
            allowed = relative * size + rounding
            yield Found(f"mean {what}", float(means[row, axis]), mean, allowed)
            allowed = relative * size**2 + (rounding if law.single else 0) * size
            yield Found(f"variance {what}", float(variances[row, axis]), variance, allowed)


def samples(law: Law, about: Reference) -> Iterator[Found]:
    """Samples of one atom lie in its cell, and each part of the cell has its share of them."""
    rng = law.rng("samples")
    k = int(rng.integers(law.points.shape[1]))
    masses = np.zeros_like(law.masses)
    masses[:, k] = 1
    generator = torch.Generator().manual_seed(law.seed)
    drawn = law.mixture(masses).sample((DRAWS,), generator).double().numpy()
    drawn = drawn.reshape(DRAWS, *law.points.shape[::2])
    for row, points in enumerate(law.points):
        y = drawn[:, row]
        if law.low is not None:
            outside = np.maximum(law.low - y, y - law.high).max()
            yield Found(f"samples of atom {row, k} beyond the box", max(outside, 0.0), 0.0, 1e-300)
        yield Found(f"samples of atom {row, k} beyond a border", _beyond(law, points, k, y), 0, 1)
    row = law.seed % len(law.points)
    first = reference.twins(law.points[row], k)[0]
    if _coarse(law, about.moments(law, row, first)):
        return
    for inside, share in about.shares(law, row, first):
        hits = int(inside(drawn[:, row]).sum())
        share = min(max(share, 0.0), 1.0)
        chance = binomtest(hits, DRAWS, share).pvalue
        what = f"share of samples of atom {row, k} in a part of its cell (chance {chance:.1g})"
        off = abs(hits / DRAWS - share)
        yield Found(what, hits / DRAWS, share, math.inf if chance > CHANCE else off / 2)


def _coarse(law: Law, cell: Moments | None) -> bool:
    """Whether a cut kernel is so narrow that rounding moves its samples from part to part."""
    assert cell is not None
    variance = np.maximum(cell.second - cell.first**2, 0)
    # On the sphere the kernel has no extent along its own atom.
    narrowest = math.sqrt(variance.max() if law.low is None else variance.min())
    return float(torch.finfo(law.dtype).eps) * law.extent > 1e-3 * narrowest


def _beyond(law: Law, points: np.ndarray, k: int, y: np.ndarray) -> float:
    """How far samples lie beyond their atom's bisectors, in units of what rounding explains."""
    apart = points - points[k]
    distance = np.linalg.norm(apart, axis=-1)
    normal = apart[distance > 0] / distance[distance > 0, None]
    if not len(normal):
        return 0.0
    over = (y - points[k]) @ normal.T - distance[distance > 0] / 2
    rounding = (1e-6 if law.single else 1e-13) * np.maximum(np.abs(y).max(-1), law.extent)[:, None]
    if law.low is None:  # unit vectors are rounded, and with them the direction to a neighbour
        turn = (1.2e-7 if law.single else 2.2e-16) / distance[distance > 0]
        rounding = rounding + turn * np.linalg.norm(y - points[k], axis=-1)[:, None]
    return float(max((over / rounding).max(), 0.0))


def some_cells(law: Law) -> list[tuple[int, int]]:
    """Some cells of a law, by row and atom."""
    count = law.points.shape[0] * law.points.shape[1]
    chosen = law.rng("cells").permutation(count)[:CELLS]
    return [divmod(int(cell), law.points.shape[1]) for cell in chosen]


def rows(law: Law, values: torch.Tensor, trailing: int = 1) -> np.ndarray:
    """Values `(B, *)` in float64, also of a law without a batch axis."""
    return values.detach().double().numpy().reshape(len(law.points), *values.shape[-trailing:])


def near_and_far(law: Law, row: int, rng: Generator) -> np.ndarray:
    """Points by the kernels of some atoms, anywhere among the atoms, at an atom, and outside."""
    points, h = law.points[row], law.h[row]
    low, high = points.min(0), points.max(0)
    chosen = rng.integers(len(points), size=4)
    scale = np.where(np.isinf(h[chosen]), high.max() - low.min(), h[chosen])[:, None]
    near = points[chosen] + scale * rng.standard_normal((4, points.shape[1]))
    among = rng.uniform(low, np.nextafter(high, math.inf), (3, points.shape[1]))
    y = np.concatenate([near, among, points[:1]])
    if law.low is not None:
        inside = np.clip(y, law.low, law.high)
        y = np.concatenate([inside, y[:2]])
    return y
