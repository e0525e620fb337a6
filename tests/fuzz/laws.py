"""Random laws by category, each from its seed alone: atoms, masses, bandwidths and a box."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.random import Generator

from vwta import Box, Gaussian, Sphere, Uniform, VonMisesFisher, VoronoiMixture
from vwta.geometry.kernels import Kernel

WHOLE = (-math.inf, math.inf)


@dataclass(frozen=True)
class Law:
    """A Voronoi mixture, or a batch of such, in numbers that the library takes without rounding.

    Attributes:
        points: atoms, `(B, K, e)`.
        masses: masses of the atoms, `(B, K)`.
        h: bandwidths, `(B, K)`; infinite for a uniform kernel.
        low: lower ends of the box, `(e,)`; None on the sphere.
        high: upper ends.
        frame: directions along which all cells are products of intervals, as orthonormal rows,
            `(e, e)`, if there are any; of turned prisms the first two span their base.
    """

    category: str
    seed: int
    points: np.ndarray
    masses: np.ndarray
    h: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    dtype: torch.dtype = torch.float64
    frame: np.ndarray | None = None

    @property
    def single(self) -> bool:
        """Whether the law is kept in float32."""
        return self.dtype == torch.float32

    @property
    def extent(self) -> float:
        """Largest coordinate of an atom."""
        return float(np.abs(self.points).max())

    def rng(self, purpose: str) -> Generator:
        """Random numbers for one purpose, the same ones in every run."""
        return np.random.default_rng([*f"{self.category} {purpose}".encode(), self.seed])

    def mixture(self, masses: np.ndarray | None = None) -> VoronoiMixture:
        """The law as the library has it, `(B,)`, or without a batch axis if there is one row."""
        weights = self.masses if masses is None else masses
        tensors = [torch.tensor(x, dtype=self.dtype) for x in (self.points, weights, self.h)]
        if len(self.points) == 1:
            tensors = [x[0] for x in tensors]
        points, weights_, h = tensors
        if (self.h == self.h.flat[0]).all():
            h = h.flatten()[0]
        kernel: Kernel
        if self.low is None or self.high is None:
            kernel = Uniform() if h.isinf().any() else VonMisesFisher(h)
            return VoronoiMixture(points, weights_, kernel, Sphere())
        kernel = Uniform() if h.isinf().any() else Gaussian(h)
        box = Box(torch.tensor(self.low), torch.tensor(self.high))
        return VoronoiMixture(points, weights_, kernel, box)


Atoms = tuple[np.ndarray, np.ndarray, np.ndarray]  # points (K, d), low (d,), high (d,)


def count(rng: Generator, most: int = 60) -> int:
    """A number of atoms from 1 on, small ones more often."""
    return int(math.exp(rng.uniform(0, math.log(most + 0.99))))


def power(rng: Generator, low: float, high: float) -> float:
    """A number whose decimal logarithm is uniform between two numbers."""
    return float(10 ** rng.uniform(low, high))


def box_of(rng: Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """A bounded box near the origin."""
    size = np.array([power(rng, -1, 1) for _ in range(d)])
    low = rng.uniform(-1, 0, d) * size
    return low, low + size


def general(rng: Generator, d: int, most: int = 60) -> Atoms:
    """Atoms anywhere in a bounded box."""
    low, high = box_of(rng, d)
    return rng.uniform(low, high, (count(rng, most), d)), low, high


def grid(rng: Generator, d: int) -> Atoms:
    """Atoms on a regular grid: four of them on a circle everywhere, many borders that coincide."""
    sides = rng.integers(1, 8, d)
    axes = [np.arange(n) + 0.5 for n in sides]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, d)
    scale = rng.choice([1.0, 0.1, 3.0, 1 / 7])
    order = rng.permutation(len(points))
    return points[order] * scale, np.zeros(d), sides * scale


def circle(rng: Generator) -> Atoms:
    """Atoms on a circle, with or without its centre: many bisectors through one point."""
    n, radius = count(rng, 40) + 2, rng.uniform(0.1, 1)
    turn = np.arange(n) * 2 * math.pi / n if rng.random() < 0.5 else rng.uniform(0, 7, n)
    points = radius * np.stack([np.cos(turn), np.sin(turn)], -1)
    if rng.random() < 0.5:
        points = np.concatenate([points, np.zeros((1, 2))])
    return points, np.full(2, -1.0), np.full(2, 1.0)


def on_a_line(rng: Generator, n: int, noise: float) -> np.ndarray:
    """Atoms along a line of the square [-1, 1]^2, off it by noise at most, and by rounding."""
    kind = rng.integers(3)
    turn = rng.uniform(0, math.pi) if kind else rng.choice([0, math.pi / 2])
    heading = np.array([math.cos(turn), math.sin(turn)])
    if kind == 2:
        heading = rng.integers(1, 9, 2) / 16  # then the line may be met without rounding
    along, shift = rng.uniform(-0.7, 0.7, n), rng.uniform(-0.3, 0.3, 2)
    if rng.random() < 0.3:
        along, shift = np.round(along * 64) / 64, np.zeros(2)
    return shift + along[:, None] * heading + noise * rng.uniform(-1, 1, (n, 2))


def collinear(rng: Generator) -> Atoms:
    """Atoms on a line in a bounded box."""
    return on_a_line(rng, count(rng) + 1, 0.0), np.full(2, -1.0), np.full(2, 1.0)


def nearly_collinear(rng: Generator) -> Atoms:
    """Atoms nearly on a line in a bounded box."""
    noise = power(rng, -14, -2)
    return on_a_line(rng, count(rng) + 2, noise), np.full(2, -1.0), np.full(2, 1.0)


def clustered(rng: Generator, d: int) -> Atoms:
    """A few clusters of small or tiny size."""
    low, high = box_of(rng, d)
    centres = rng.uniform(low, high, (rng.integers(1, 5), d))
    which = rng.integers(len(centres), size=count(rng))
    size = np.array([power(rng, -7, -1) for _ in centres])[which]
    points = centres[which] + size[:, None] * rng.standard_normal((len(which), d))
    return np.clip(points, low, high), low, high


def coincident(rng: Generator, d: int) -> Atoms:
    """Atoms some of which are the same, or the same but for a hair."""
    points, low, high = general(rng, d, 30)
    again = rng.integers(len(points), size=rng.integers(1, 6))
    twins, hairs = points[again], points[rng.integers(len(points), size=2)]
    hairs = hairs + power(rng, -14, -6) * rng.standard_normal(hairs.shape)
    points = np.clip(np.concatenate([points, twins, hairs]), low, high)
    return points[rng.permutation(len(points))], low, high


def on_sides(rng: Generator, d: int) -> Atoms:
    """Atoms on sides and corners of the box, and some within it."""
    points, low, high = general(rng, d, 30)
    choice = rng.integers(3, size=points.shape)
    return np.where(choice == 0, low, np.where(choice == 1, high, points)), low, high


def half_bounded(rng: Generator, d: int) -> Atoms:
    """Atoms in general position in a box some of whose sides are infinite."""
    points, low, high = general(rng, d)
    free = rng.random((2, d)) < 0.5
    free[rng.integers(2), rng.integers(d)] = True
    return points, np.where(free[0], -math.inf, low), np.where(free[1], math.inf, high)


def unbounded(rng: Generator, d: int) -> Atoms:
    """Atoms in general position with no box at all, seldom so few that they lie on a line."""
    points, _, _ = general(rng, d, 57)
    more = rng.uniform(-1, 1, (3, d))
    return np.concatenate([points, more]), np.full(d, -math.inf), np.full(d, math.inf)


def unbounded_collinear(rng: Generator) -> Atoms:
    """Atoms on a line up to rounding, with no box, or with only some of its sides."""
    points = on_a_line(rng, int(rng.integers(50, 101)), power(rng, -16.5, -15))
    if rng.random() < 0.3:
        return points, *some_sides(rng)
    return points, np.full(2, -math.inf), np.full(2, math.inf)


def unbounded_nearly_collinear(rng: Generator) -> Atoms:
    """Atoms nearly on a line, with no box, or with only some of its sides."""
    return on_a_line(rng, count(rng, 100) + 2, power(rng, -13, -2)), *some_sides(rng)


def some_sides(rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """A box around [-1, 1]^2 with one infinite side at least."""
    free = rng.random((2, 2)) < 0.7
    free[rng.integers(2), rng.integers(2)] = True
    return np.where(free[0], -math.inf, -1.0), np.where(free[1], math.inf, 1.0)


def far_sides(rng: Generator) -> Atoms:
    """Atoms on a line up to rounding, in a box whose sides are finite but very far away."""
    far = power(rng, 10, 14)
    points = on_a_line(rng, int(rng.integers(20, 61)), power(rng, -16.5, -14.5))
    return points, np.full(2, -far), np.full(2, far)


def elongated(rng: Generator, d: int) -> Atoms:
    """A box up to 10,000 times as long as wide."""
    points, low, high = general(rng, d)
    scale = np.ones(d)
    scale[rng.integers(d)] = power(rng, 0, 4)
    low, high = low * scale, high * scale
    return np.clip(points * scale, low, high), low, high


def far_away(rng: Generator, d: int) -> Atoms:
    """A box far from the origin."""
    points, low, high = general(rng, d)
    shift = power(rng, 3, 6) * rng.choice([-1.0, 1.0], d) * rng.uniform(0.5, 1, d)
    low, high = low + shift, high + shift
    return np.clip(points + shift, low, high), low, high


def many(rng: Generator, d: int) -> Atoms:
    """Two hundred atoms in general position."""
    low, high = box_of(rng, d)
    return rng.uniform(low, high, (200, d)), low, high


FLAT: dict[str, Callable[[Generator, int], Atoms]] = {
    "general": general,
    "grid": grid,
    "clustered": clustered,
    "coincident": coincident,
    "on sides": on_sides,
    "half-bounded": half_bounded,
    "unbounded": unbounded,
    "elongated": elongated,
    "far away": far_away,
    "many": many,
}
ONLY_PLANE: dict[str, Callable[[Generator], Atoms]] = {
    "circle": circle,
    "collinear": collinear,
    "nearly collinear": nearly_collinear,
    "unbounded collinear": unbounded_collinear,
    "unbounded nearly collinear": unbounded_nearly_collinear,
    "far sides": far_sides,
}
KINDS = ["batches", "single precision", "uniform", "bandwidths of atoms"]  # of any position
PLANE = [*FLAT, *ONLY_PLANE, *KINDS]
LINE = [*FLAT, *KINDS]
SPACE = [*FLAT, *KINDS]


def flat_law(category: str, seed: int, d: int) -> Law:
    """A law of the line (`d` = 1), the plane or space."""
    rng = np.random.default_rng([*category.encode(), d, seed])
    rows = 3 if category == "batches" else 1
    positions = [name for name in FLAT if name != "many"]
    if category == "uniform":
        positions = [name for name in positions if "bounded" not in name]
    if category in KINDS:
        position = FLAT[str(rng.choice(positions))]
        points, low, high = position(rng, d)
    elif category in ONLY_PLANE:
        points, low, high = ONLY_PLANE[category](rng)
    else:
        points, low, high = FLAT[category](rng, d)
    batch = [points] + [np.clip(_again(rng, points), low, high) for _ in range(rows - 1)]
    h = _bandwidths(rng, category, np.stack(batch))
    return _law(category, seed, rng, np.stack(batch), h, low, high)


def sphere_law(category: str, seed: int) -> Law:
    """A law of the sphere."""
    rng = np.random.default_rng([*category.encode(), 33, seed])
    rows = 3 if category == "batches" else 1
    position = category
    if category in KINDS:
        position = str(rng.choice(["general", "axes", "great circle", "coincident"]))
    first = _on_sphere(rng, position)
    batch = np.stack([first] + [unit(_again(rng, first)) for _ in range(rows - 1)])
    h = _bandwidths(rng, category, batch, 0.01)
    return _law(category, seed, rng, batch, h, None, None)


SPHERE = [
    "general",
    "axes",
    "great circle",
    "cap",
    "clustered",
    "coincident",
    "antipodes",
    "many",
    *KINDS,
]


SOLID = ["alone", "alone elongated", "boxes", "stack", "prisms", "turned prisms"]


def solid_law(category: str, seed: int) -> Law:
    """A law in three and more dimensions whose cells have integrals in closed form."""
    rng = np.random.default_rng([*category.encode(), 3, seed])
    d = 3 if "prisms" in category else int(rng.integers(3, 11 if "alone" in category else 5))
    low, high = box_of(rng, d)
    frame = np.eye(d)
    if category == "alone":  # a box of common shape
        high = low + rng.uniform(1, 2, d)
    if category == "alone elongated":
        high = low + 10 ** rng.uniform(-2, 2, d)
    if category.startswith("alone"):
        points = rng.uniform(low, high, (1, d))
    elif category == "boxes":  # atoms on a grid of uneven steps: all cells are boxes
        axes = [rng.uniform(*ends, rng.integers(1, 4)) for ends in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes), -1).reshape(-1, d)
    elif category == "stack":  # atoms on a line in all of space: cells lie between parallel planes
        frame = np.linalg.qr(rng.standard_normal((d, d)))[0].T
        along = rng.uniform(-1, 1, rng.integers(2, 8))
        points = rng.uniform(-1, 1, d) + along[:, None] * frame[0]
        low, high = np.full(d, -math.inf), np.full(d, math.inf)
    else:  # atoms at one height: cells are prisms over those of the plane
        points = rng.uniform(low, high, (count(rng, 20), d))
        points[:, 2] = points[0, 2]
    if category == "turned prisms":  # in all of space
        frame = np.linalg.qr(rng.standard_normal((d, d)))[0].T
        points = points @ frame
        low, high = np.full(d, -math.inf), np.full(d, math.inf)
    extent = (
        np.ptp(points, axis=0).max()
        if len(points) > 1
        else 1.0
        if np.isinf(high).any()
        else math.exp(np.log(high - low).mean())
    )
    h = np.full((1, len(points)), extent / len(points) ** (1 / d) * power(rng, -2, 2))
    law = _law(category, seed, rng, points[None], h, low, high)
    return replace(law, frame=None if category == "prisms" else frame)


def unit(points: np.ndarray) -> np.ndarray:
    """Vectors of length 1."""
    return points / np.linalg.norm(points, axis=-1, keepdims=True)


def _on_sphere(rng: Generator, position: str) -> np.ndarray:
    """Atoms on the sphere, `(K, 3)`."""
    n = 200 if position == "many" else count(rng)
    points = unit(rng.standard_normal((n, 3)))
    if position == "axes":  # four and more on a circle, corners that coincide
        steps = np.array([-1.0, 0.0, 1.0])
        cube = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(-1, 3)
        cube = cube[np.abs(cube).sum(1) == rng.integers(1, 4)]
        points = unit(cube[rng.permutation(len(cube))[: rng.integers(1, len(cube) + 1)]])
    if position == "great circle":
        flat = points * np.array([1, 1, power(rng, -12, -2) if rng.random() < 0.7 else 0])
        points = unit(flat @ np.linalg.qr(rng.standard_normal((3, 3)))[0])
    if position == "cap":  # all atoms on one side: one bisector may be far beyond a quarter turn
        points = unit(points * power(rng, -3, 0) + np.array([0, 0, 1.0]))
    if position == "clustered":
        centres = unit(rng.standard_normal((5, 3)))
        size = power(rng, -5, -1)
        points = unit(centres[rng.integers(5, size=n)] + size * points)
        points = np.concatenate([centres, points])
    if position == "coincident":
        hair = unit(points[:1] + power(rng, -9, -5) * rng.standard_normal((1, 3)))
        points = np.concatenate([points, points[:3], hair])
    if position == "antipodes":
        points = np.concatenate([points[:20], -points[:20]])
    return points


def _again(rng: Generator, points: np.ndarray) -> np.ndarray:
    """Other atoms of the same number, moved at random by about what lies between them."""
    size = np.ptp(points, axis=0) / len(points) + 1e-3 * np.abs(points).max()
    return points + size * rng.uniform(-1, 1, points.shape)


def _bandwidths(
    rng: Generator, category: str, points: np.ndarray, least: float = 1e-6
) -> np.ndarray:
    """Bandwidths from 1e-4 to 1e4 of what lies between atoms, `(B, K)`.

    Arguments:
        least: extent of the atoms that is assumed if theirs is smaller. Unit vectors are rounded to
            1e-16, which kernels on the sphere must not feel.
    """
    rows, k, d = points.shape
    if category == "uniform":
        return np.full((rows, k), math.inf)
    extent = np.ptp(points, axis=(0, 1)).max() if k > 1 else 1.0
    between = max(float(extent), least) / k ** (1 / min(d, 2))
    shape = (rows, k) if category == "bandwidths of atoms" else (1, 1)
    powers = rng.uniform(-4, 4) + (rng.uniform(-1, 1, shape) if shape[1] > 1 else 0)
    return np.broadcast_to(between * 10**powers, (rows, k)).copy()


def _law(
    category: str,
    seed: int,
    rng: Generator,
    points: np.ndarray,
    h: np.ndarray,
    low: np.ndarray | None,
    high: np.ndarray | None,
) -> Law:
    """A law with random masses, some of them 0; rounded if it is to be kept in float32."""
    rows, k, _ = points.shape
    masses = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 10.0])), rows)
    if k > 2 and rng.random() < 0.3:
        masses[:, rng.integers(k)] = 0
    masses /= masses.sum(-1, keepdims=True)
    if category != "single precision":
        return Law(category, seed, points, masses, h, low, high)
    points, masses, h = (x.astype(np.float32).astype(float) for x in (points, masses, h))
    if low is not None and high is not None:
        low, high = (x.astype(np.float32).astype(float) for x in (low, high))
        points = np.clip(points, low, high)
    return Law(category, seed, points, masses, h, low, high, torch.float32)
