"""Jobs on densities: log-likelihoods of Voronoi mixtures and of uncut ones."""

from __future__ import annotations

__all__ = ["DENSITIES", "LINE", "MANY", "SPACE_10", "UNCUT"]

import math
from typing import NamedTuple

import numpy as np
import torch
import zuko
from fuzz.reference import SphereCell, line_cell, line_mass, plane_cell, plane_moments
from fuzz.space_reference import solid, space_moments
from job import Array, Job
from reference import log_prob as plain_log_prob
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.special import gammainc, logsumexp
from scipy.stats import truncnorm
from sklearn.mixture import GaussianMixture
from torch import Tensor

from vwta import Box, Gaussian, KernelMixture, Sphere, VonMisesFisher, VoronoiMixture
from vwta.geometry.cells import Tessellation

SIZES = (10, 100, 1000, 10_000)
TARGETS = 100_000  # on the line
CHECKED = 50  # targets whose density is known exactly
LAWS = 2000
GRID = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
H = 0.3
NARROW = 0.1  # bandwidth in ten dimensions
CELLS = 10  # cells asked for there
DRAWS = 2048  # for each of them; as many as our directions
TRIALS = 200_000  # for the truth
AT_ONCE = 2**24  # numbers that the plain program holds
UNCUT_TARGETS = 10_000


class Law(NamedTuple):
    """Atoms `(K, e)` of equal masses, and targets `(N, e)`."""

    points: Array
    y: Array


class Laws(NamedTuple):
    """Atoms `(N, K, 2)`, their masses `(N, K)`, and a target `(N, 2)` for each law."""

    points: Tensor
    masses: Tensor
    y: Tensor


def _law(count: int, dim: int, targets: int) -> Law:
    rng = np.random.default_rng(count)
    return Law(rng.random((count, dim)), rng.random((targets, dim)))


def _mixture(data: Law) -> VoronoiMixture:
    points = torch.from_numpy(data.points)
    masses = torch.full_like(points[:, 0], 1 / len(points))
    return VoronoiMixture(points, masses, Gaussian(H), Box(0.0, 1.0))


def _truncated(data: Law) -> Array:
    """The cell by bisection, and the density that scipy has for a truncated Gaussian."""
    z, y = np.sort(data.points[:, 0]), data.y[:, 0]
    middle = (z[1:] + z[:-1]) / 2
    cell = np.searchsorted(middle, y)
    low, high = (np.r_[0.0, middle] - z) / H, (np.r_[middle, 1.0] - z) / H
    return truncnorm.logpdf(y, low[cell], high[cell], z[cell], H) - math.log(len(z))


def _exact_line(data: Law) -> tuple[Array, Array]:
    z, y = data.points[:, 0], data.y[:CHECKED, 0]
    found = []
    for target in y:
        k = int(np.abs(z - target).argmin())
        mass = float(line_mass(line_cell(z, k, 0.0, 1.0), H))
        kernel = -(((target - z[k]) / H) ** 2) / 2 - math.log(H * math.sqrt(2 * math.pi))
        found.append(kernel - math.log(mass) - math.log(len(z)))
    return np.arange(CHECKED), np.array(found)


def _laws(count: int) -> Laws:
    generator = torch.Generator().manual_seed(count)
    points, y = (
        torch.rand(shape, generator=generator) * 2 - 1 for shape in ((LAWS, count, 2), (LAWS, 2))
    )
    return Laws(points, torch.rand(LAWS, count, generator=generator).softmax(-1), y)


def _many(data: Laws) -> Array:
    law = VoronoiMixture(data.points, data.masses, Gaussian(GRID[0]), Box(-1.0, 1.0))
    return torch.stack([law.with_bandwidth(h).log_prob(data.y) for h in GRID]).numpy().ravel()


def _plain(data: Laws) -> Array:
    step = max(1, 100_000 // data.points.shape[1])
    parts = [[x[start : start + step] for x in data] for start in range(0, LAWS, step)]
    values = [
        torch.cat([plain_log_prob(points, masses, h, y) for points, masses, y in parts])
        for h in GRID
    ]
    return torch.stack(values).numpy().ravel()


def _exact_many(data: Laws) -> tuple[Array, Array]:
    place, found = [], []
    for i in range(CHECKED // len(GRID)):
        points, y = data.points[i].double().numpy(), data.y[i].double().numpy()
        k = int(np.linalg.norm(points - y, axis=1).argmin())
        for j, h in enumerate(GRID):
            cell = plane_cell(points, k, np.full(2, -1.0), np.full(2, 1.0), h)
            kernel = -((y - points[k]) ** 2).sum() / (2 * h * h) - math.log(2 * math.pi * h * h)
            log_mass = plane_moments(cell, h).log_mass
            place.append(j * LAWS + i)
            found.append(kernel - log_mass + math.log(data.masses[i, k]))
    return np.array(place), np.array(found)


def _directions(data: Law) -> Array:
    cells = Tessellation(torch.from_numpy(data.points)[None], Box(0.0, 1.0), None)
    kernel = Gaussian(torch.full((CELLS,), NARROW, dtype=torch.float64))
    return cells.log_mass(torch.arange(CELLS), kernel).numpy()


def _draws(data: Law) -> Array:
    """Shares of draws of each kernel that fall into its cell, by a k-d tree."""
    rng, tree = np.random.default_rng(0), cKDTree(data.points)
    shares = []
    for k in range(CELLS):
        y = data.points[k] + NARROW * rng.normal(size=(DRAWS, data.points.shape[1]))
        y = y[((y > 0) & (y < 1)).all(1)]
        shares.append((tree.query(y)[1] == k).sum() / DRAWS)
    return np.log(shares)


def _mass_by_draws(points: Array, k: int, h: float) -> float:
    """Log-mass of a cell, from many draws: a standard error of up to .01."""
    rng, inside = np.random.default_rng(1 + k), 0
    apart = np.delete(points, k, axis=0) - points[k]
    half = ((apart**2).sum(1) / 2).astype(np.float32)
    for _ in range(TRIALS // 5000):
        step = h * rng.normal(size=(5000, points.shape[1]))
        y = points[k] + step
        step = step[((y > 0) & (y < 1)).all(1)].astype(np.float32)
        inside += int(((step @ apart.T.astype(np.float32)) < half).all(1).sum())
    return math.log(inside / TRIALS)


def _many_draws(data: Law) -> tuple[Array, Array]:
    return np.arange(3), np.array([_mass_by_draws(data.points, k, NARROW) for k in range(3)])


class Place(NamedTuple):
    """Where densities are asked for: dimension (None: the sphere), bandwidth, number of targets.

    The plain program takes 40 directions where ours is exact, as the paper does, else as many as
    ours.
    """

    dim: int | None
    h: float
    targets: int
    checked: int
    rays: int

    def data(self, count: int) -> Law:
        if self.dim is not None:
            return _law(count, self.dim, self.targets)
        x = np.random.default_rng(count).normal(size=(count + self.targets, 3))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        return Law(x[:count], x[count:])

    def ours(self, data: Law) -> Array:
        points = torch.from_numpy(data.points)
        masses = torch.full_like(points[:, 0], 1 / len(points))
        if self.dim is None:
            law = VoronoiMixture(points, masses, VonMisesFisher(self.h), Sphere())
        else:
            law = VoronoiMixture(points, masses, Gaussian(self.h), Box(0.0, 1.0))
        return law.log_prob(torch.from_numpy(data.y)).numpy()

    def log_kernel(self, w: Array) -> Array:
        """Log-density at the spread `|y - z|^2 / 2`, which is `1 - cos` on the sphere."""
        if self.dim is None:
            return -w / self.h**2 - math.log(-2 * math.pi * self.h**2 * math.expm1(-2 / self.h**2))
        return -w / self.h**2 - self.dim * math.log(self.h * math.sqrt(2 * math.pi))

    def plain(self, data: Law) -> Array:
        """The winner's cell along random directions; lines by the inverse of their distance."""
        rng, found = np.random.default_rng(0), []
        step = max(1, AT_ONCE // (self.rays * len(data.points)))
        for y in np.split(data.y, range(step, len(data.y), step)):
            winner = cdist(y, data.points).argmin(1)
            z = data.points[winner]
            ray = rng.normal(size=(len(y), self.rays, z.shape[1]))
            if self.dim is None:
                ray -= (ray @ z[..., None]) * z[:, None]
            ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
            apart = data.points - z[:, None]
            square = (apart**2).sum(-1, keepdims=True)
            pull = np.divide(2 * apart, square, out=np.zeros_like(apart), where=square > 0)
            rate = (ray @ pull.transpose(0, 2, 1)).max(-1)
            if self.dim is None:
                w = 1 - np.cos(np.pi / 2 - np.arctan(rate))
                share = np.expm1(-w / self.h**2) / math.expm1(-2 / self.h**2)
            else:
                side = np.maximum(ray / (1 - z)[:, None], -ray / z[:, None]).max(-1)
                reach = 1 / np.maximum(rate, side)
                share = gammainc(self.dim / 2, reach**2 / (2 * self.h**2))
            spread = ((y - z) ** 2).sum(-1) / 2
            found.append(self.log_kernel(spread) - np.log(share.mean(-1)))
        return np.concatenate(found) - math.log(len(data.points))

    def exact(self, data: Law) -> tuple[Array, Array]:
        """By quadrature on the sphere and in space, from draws in more dimensions."""
        y = data.y[: self.checked]
        distance = cdist(y, data.points)
        winner = distance.argmin(1)
        log_mass = [self.log_mass(data.points, int(k)) for k in winner]
        log_kernel = self.log_kernel(distance.min(1) ** 2 / 2)
        return np.arange(len(y)), log_kernel - log_mass - math.log(len(data.points))

    def log_mass(self, points: Array, k: int) -> float:
        """Of a cell; 200 nearest atoms are ample for points drawn evenly."""
        near = points[np.argsort(((points - points[k]) ** 2).sum(1))[:200]]
        if self.dim is None:
            return SphereCell.around(near, 0).moments(self.h).log_mass
        if self.dim == 3:
            cell = solid(near, 0, np.zeros(3), np.ones(3), self.h)
            return space_moments(cell, self.h).log_mass
        return _mass_by_draws(points, k, self.h)


def _uncut(data: Law) -> Array:
    points = torch.from_numpy(data.points).float()
    law = KernelMixture(points, torch.full_like(points[:, 0], 1 / len(points)), Gaussian(H))
    return law.log_prob(torch.from_numpy(data.y).float()).double().numpy()


def _zuko(data: Law) -> Array:
    validated = torch.distributions.Distribution._validate_args  # zuko switches this off, for all
    count, dim = data.points.shape
    base = zuko.distributions.DiagNormal(
        torch.from_numpy(data.points).float(), torch.full((count, dim), H)
    )
    law = zuko.distributions.Mixture(base, torch.zeros(count))
    torch.distributions.Distribution.set_default_validate_args(validated)
    return law.log_prob(torch.from_numpy(data.y).float()).double().numpy()


def _sklearn(data: Law) -> Array:
    count = len(data.points)
    model = GaussianMixture(count, covariance_type="spherical")
    model.means_, model.weights_ = data.points, np.full(count, 1 / count)
    model.covariances_ = np.full(count, H**2)
    model.precisions_cholesky_ = np.full(count, 1 / H)
    return model.score_samples(data.y)


def _exact_uncut(data: Law) -> tuple[Array, Array]:
    square = ((data.y[:CHECKED, None] - data.points) ** 2).sum(-1)
    log_kernel = -square / (2 * H**2) - math.log(2 * math.pi * H**2)
    return np.arange(CHECKED), logsumexp(log_kernel, 1) - math.log(len(data.points))


LINE = Job(
    f"{TARGETS:,} densities of a law",
    "d = 1",
    "K",
    SIZES,
    lambda count: _law(count, 1, TARGETS),
    {
        "vwta": lambda data: _mixture(data).log_prob(torch.from_numpy(data.y)).numpy(),
        "scipy truncnorm": _truncated,
    },
    _exact_line,
)
MANY = Job(
    f"densities of {LAWS:,} laws, 7 h",
    "square",
    "K",
    SIZES,
    _laws,
    {"vwta": _many, "random directions": _plain},
    _exact_many,
)
SPACE_10 = Job(
    f"masses of {CELLS} of K cells",
    "d = 10",
    "K",
    SIZES,
    lambda count: _law(count, 10, 0),
    {"vwta": _directions, "draws, cKDTree": _draws},
    _many_draws,
)
UNCUT = Job(
    f"{UNCUT_TARGETS:,} densities, kernels uncut",
    "plane",
    "K",
    (10, 100, 1000),
    lambda count: _law(count, 2, UNCUT_TARGETS),
    {"vwta": _uncut, "zuko": _zuko, "scikit-learn": _sklearn},
    _exact_uncut,
)
PLACES = {
    "density_sphere": ("sphere", Place(None, NARROW, 1000, 10, 40)),
    "density_space": ("d = 3", Place(3, NARROW, 1000, 10, 40)),
    "density_space5": ("d = 5", Place(5, 0.05, 100, 3, DRAWS)),
    "density_space10": ("d = 10", Place(10, NARROW, 100, 3, DRAWS)),
}
DENSITIES = {
    name: Job(
        f"{place.targets:,} densities of a law",
        where,
        "K",
        SIZES,
        place.data,
        {"vwta": place.ours, "random directions": place.plain},
        place.exact,
    )
    for name, (where, place) in PLACES.items()
}
