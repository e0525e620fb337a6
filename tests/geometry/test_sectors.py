"""Cell masses and moments against integration that shares nothing with how they are computed."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.kernels import Gaussian, Uniform, VonMisesFisher
from vwta.geometry.spaces import Box, Sphere
from vwta.geometry.sphere import UnitSphere
from vwta.geometry.surfaces import Edges

X, W = np.polynomial.legendre.leggauss(60)
RNG = np.random.default_rng(0)
BANDWIDTHS = (1e-3, 1e-2, 0.05, 0.3, 1.0, 10.0, 1e3)
PLANE = {
    "one": np.array([[0.3, -0.2]]),
    "two": RNG.uniform(-1, 1, (2, 2)),
    "nine": RNG.uniform(-1, 1, (9, 2)),
    "thirty": RNG.uniform(-1, 1, (30, 2)),
    "tiny": np.concatenate([0.3 + 2e-6 * RNG.normal(size=(8, 2)), RNG.uniform(-1, 1, (8, 2))]),
    "border": np.array([[1, 1], [1, 0.2], [-1, -0.3], [0, -1], [0.1, 0.2], [-1, 1.0]]),
    "slab": np.array([[0.1, 0.2], [0.1 + 1e-7, 0.2 + 1e-7], [0.1 - 1e-7, 0.2 - 1e-7], [-0.5, 0.3]]),
    "diagonal": np.stack([np.linspace(-0.9, 0.9, 7)] * 2, -1),
}


def mixture(points: np.ndarray, h: float | None) -> VoronoiMixture:
    atoms = torch.tensor(points)
    masses = torch.full((len(points),), 1 / len(points), dtype=torch.float64)
    if points.shape[1] == 3:
        return VoronoiMixture(atoms, masses, VonMisesFisher(h) if h else Uniform(), Sphere())
    return VoronoiMixture(atoms, masses, Gaussian(h) if h else Uniform(), Box(-1.0, 1.0))


class PlaneCell:
    """A cell as half-planes `normal @ y <= offset` around its atom, cut into vertical strips."""

    def __init__(self, points: np.ndarray, atom: int) -> None:
        z = points[atom]
        apart = np.delete(points, atom, 0) - z
        distance = np.linalg.norm(apart, axis=1)
        self.normal = np.concatenate([apart / distance[:, None], np.eye(2), -np.eye(2)])
        self.offset = np.concatenate([distance / 2, 1 - z, 1 + z])
        corners = []
        for i, j in itertools.combinations(range(len(self.offset)), 2):
            pair = self.normal[[i, j]]
            if abs(np.linalg.det(pair)) > 1e-13:
                corner = np.linalg.solve(pair, self.offset[[i, j]])
                if (self.normal @ corner - self.offset).max() <= 1e-12:
                    corners.append(corner)
        self.size = np.abs(corners).max()
        x = np.unique(np.round(np.array(corners)[:, 0], 15))
        self.strips = list(itertools.pairwise(x))

    def extent(self, x: float) -> tuple[float, float]:
        up, down = self.normal[:, 1] > 1e-14, self.normal[:, 1] < -1e-14
        height = (self.offset - self.normal[:, 0] * x) / np.where(up | down, self.normal[:, 1], 1)
        low = height[down].max()
        return low, max(height[up].min(), low)

    def mass(self, h: float) -> float:
        return sum(self._strip(a, b, h) for a, b in self.strips)

    def _strip(self, start: float, end: float, h: float) -> float:
        if h > self.size / 8:  # smooth: a product rule
            return sum(w * f for w, f in zip(W, self._columns(start, end, h), strict=True))

        def column(x: float) -> float:
            low, high = (math.erf(y / h / math.sqrt(2)) for y in self.extent(x))
            return math.exp(-(x**2) / 2 / h**2) / h / math.sqrt(8 * math.pi) * (high - low)

        grid = np.linspace(max(start, -12 * h), min(end, 12 * h), 9)
        if grid[0] >= grid[-1]:
            return 0.0
        return sum(quad(column, a, b, epsrel=1e-9)[0] for a, b in itertools.pairwise(grid))

    def _columns(self, start: float, end: float, h: float) -> list[float]:
        columns = []
        for x in (start + end) / 2 + (end - start) / 2 * X:
            low, high = self.extent(x)
            y = (low + high) / 2 + (high - low) / 2 * X
            density = np.exp(-(x**2 + y**2) / 2 / h**2) / (2 * math.pi * h**2)
            columns.append((end - start) * (high - low) / 4 * (W * density).sum())
        return columns


@pytest.mark.parametrize("name", PLANE)
@pytest.mark.parametrize("h", BANDWIDTHS)
def test_mass_in_the_plane(name: str, h: float) -> None:
    points = PLANE[name]
    log_mass = mixture(points, h).log_cell_mass
    for atom in range(min(len(points), 4)):
        expected = math.log(PlaneCell(points, atom).mass(h))
        assert log_mass[atom].item() == pytest.approx(expected, abs=1e-8)


def sphere_triangles(points: np.ndarray, atom: int) -> list[np.ndarray]:
    """Triangles `(3, 3)` of corners that make up a cell smaller than a hemisphere."""
    normal = np.delete(points, atom, 0) - points[atom]
    corners = []
    for i, j in itertools.combinations(range(len(normal)), 2):
        cross = np.cross(normal[i], normal[j])
        both = (cross / np.linalg.norm(cross), -cross / np.linalg.norm(cross))
        corners += [corner for corner in both if (normal @ corner).max() < 1e-12]
    middle = np.mean(corners, 0)
    first = np.cross(middle, corners[0])
    second = np.cross(middle, first)
    corners.sort(key=lambda c: math.atan2(c @ second, c @ first))
    return [np.array([corners[0], a, b]) for a, b in itertools.pairwise(corners[1:])]


def integrate(triangles: list[np.ndarray], function: Callable[[np.ndarray], np.ndarray]) -> float:
    """Integral over spherical triangles through their flat ones (Duffy's rule)."""
    u, v = np.meshgrid((X + 1) / 2, (X + 1) / 2)
    weight = np.outer(W, W) / 4 * u
    total = 0.0
    for a, b, c in triangles:
        flat = a + (u * (1 - v))[..., None] * (b - a) + (u * v)[..., None] * (c - a)
        norm = np.linalg.norm(flat, axis=-1)
        jacobian = abs(np.linalg.det([a, b, c])) / norm**3
        total += float((weight * jacobian * function(flat / norm[..., None])).sum())
    return total


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.mark.parametrize("h", [0.1, 0.3, 1.0, 1e3])
@pytest.mark.parametrize("count", [6, 12, 40])
def test_mass_and_moments_on_the_sphere(count: int, h: float) -> None:
    points = unit(np.random.default_rng(count).normal(size=(count, 3)))
    d = mixture(points, h)
    kappa = h**-2
    checked = 0
    for atom in range(count):
        triangles = sphere_triangles(points, atom)
        if any(np.linalg.det(p) == 0 or p.sum(0) @ p[0] < 1.2 for p in triangles):
            continue
        z = points[atom]

        def density(y: np.ndarray, z: np.ndarray = z) -> np.ndarray:
            scale = kappa / (2 * math.pi * -math.expm1(-2 * kappa))
            return scale * np.exp(kappa * (y @ z - 1))

        mass = integrate(triangles, density)
        assert d.log_cell_mass[atom].item() == pytest.approx(math.log(mass), abs=1e-7)
        alone = torch.zeros(count, dtype=torch.float64)
        alone[atom] = 1
        only = VoronoiMixture(torch.tensor(points), alone, VonMisesFisher(h), Sphere())
        first, second = (
            np.array(
                [
                    integrate(triangles, lambda y, i=i, p=p: density(y) * y[..., i] ** p)
                    for i in range(3)
                ]
            )
            for p in (1, 2)
        )
        np.testing.assert_allclose(only.mean, first / mass, atol=1e-7)
        variance = second / mass - (first / mass) ** 2
        np.testing.assert_allclose(only.variance, variance, atol=1e-7)
        checked += 1
        if checked == 3:
            break
    assert checked


@pytest.mark.parametrize("h", [1e-3, 0.1, 1.0, 1e3])
def test_mass_of_a_hemisphere_in_closed_form(h: float) -> None:
    kappa = h**-2
    poles = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    expected = -math.log1p(math.exp(-kappa))
    assert mixture(poles, h).log_cell_mass[0].item() == pytest.approx(expected, abs=1e-10)
    close = np.array([[0.0, 0.0, 1.0], [0.0, math.sin(1e-9), math.cos(1e-9)]])
    half = mixture(close, h).log_cell_mass
    beyond = math.log((1 + math.erf(0.5e-9 / h / math.sqrt(2))) / 2)
    assert half.tolist() == pytest.approx([beyond] * 2, abs=1e-6)


@pytest.mark.parametrize("a", [1e-3, 0.5, math.sqrt(0.5), 1.0])
@pytest.mark.parametrize("s1", [-4.5, -math.pi, -1.0, 0.7, 3.0])
@pytest.mark.parametrize("length", [1e-6, 0.5, 3.0, 2 * math.pi])
def test_area_of_a_sector_on_the_sphere(a: float, s1: float, length: float) -> None:
    """Also of edges that go on behind the atom, where the integrand is as high as 2 / a."""
    b, s2 = math.sqrt(1 - a**2), s1 + length
    peaks = [x for x in (-math.pi, math.pi, 3 * math.pi) if s1 < x < s2]

    def height(s: float) -> float:
        return a / (a**2 / (1 + b) + 2 * b * math.cos(s / 2) ** 2)

    area, _ = quad(height, s1, s2, points=peaks or None, epsabs=0, epsrel=1e-11, limit=500)
    line = torch.tensor([[a], [b], [s1], [s2]], dtype=torch.float64)
    edges = replace(Edges.none(UnitSphere(), line), a=line[0], b=line[1], s1=line[2], s2=line[3])
    assert UnitSphere().sector_mass(edges, Uniform()).item() == pytest.approx(area, rel=1e-9)


def test_areas_of_lunes_and_octants() -> None:
    turn = 2 * math.pi * np.arange(3) / 3
    ring = np.stack([np.cos(turn), np.sin(turn), 0 * turn], 1)
    np.testing.assert_allclose(mixture(ring, None).log_cell_mass.exp(), 4 * math.pi / 3, rtol=1e-14)
    corners = np.array(list(itertools.product((-1, 1), repeat=3))) / math.sqrt(3)
    areas = mixture(corners, None).log_cell_mass.exp()
    np.testing.assert_allclose(areas, math.pi / 2, rtol=1e-14)


def test_mass_of_one_atom_in_closed_form() -> None:
    for h in BANDWIDTHS:
        z = np.array([0.3, -0.2])
        sides = [
            math.erf((1 - z[i]) / h / 2**0.5) + math.erf((1 + z[i]) / h / 2**0.5) for i in (0, 1)
        ]
        expected = math.log(sides[0] * sides[1] / 4)
        assert mixture(z[None], h).log_cell_mass.item() == pytest.approx(expected, abs=1e-9)
        assert mixture(np.array([[0.0, 0.6, 0.8]]), h).log_cell_mass.item() == 0
    assert mixture(np.array([[0.0, 0.6, 0.8]]), None).log_cell_mass.item() == math.log(4 * math.pi)


def test_unbounded_cells_in_the_plane_in_closed_form() -> None:
    points = torch.tensor([[0.0, 0.0], [0.0, 0.5]], dtype=torch.float64)
    masses = torch.tensor([0.5, 0.5], dtype=torch.float64)
    for h in (1e-3, 0.3, 10.0, 1e4):
        d = VoronoiMixture(points, masses, Gaussian(h), Box(-math.inf, math.inf))
        half_plane = (1 + math.erf(0.25 / h / math.sqrt(2))) / 2
        assert d.log_cell_mass.exp().tolist() == pytest.approx([half_plane] * 2, rel=1e-9)
        d = VoronoiMixture(points, masses, Gaussian(h), Box([0.0, -math.inf], [math.inf, math.inf]))
        assert d.log_cell_mass.exp().tolist() == pytest.approx([half_plane / 2] * 2, rel=1e-9)


@pytest.mark.parametrize("size", [2.0**-40, 2.0**-30, 1.0, 2.0**20])
@pytest.mark.parametrize("offset", [0.0, 2.0**22])
@pytest.mark.parametrize("side", [math.inf, 2.0**50, 100.0])
def test_cells_of_a_grid_in_closed_form_wherever_the_sides(
    size: float, offset: float, side: float
) -> None:
    """Products of intervals; another row of the batch, however large, does not matter."""
    where = torch.tensor([-1.0, 0.0, 1.5], dtype=torch.float64)
    ends = torch.tensor([-math.inf, -0.5, 0.75, math.inf], dtype=torch.float64)
    points = size * (torch.cartesian_prod(where, where) + offset)
    batch = torch.stack([points, 1e12 * (points + 1)])
    box = Box(size * (offset - side), math.inf)
    if side < math.inf:
        batch, box = points[None], Box(size * (offset - side), size * (offset + side))
    for h in (0.1, 0.5, 3.0):
        lower, upper = ((x - where) / h / math.sqrt(2) for x in (ends[:-1], ends[1:]))
        line = (torch.erf(upper) - torch.erf(lower)) / 2
        d = VoronoiMixture(batch, torch.full((9,), 1 / 9), Gaussian(h * size), box)
        exact = torch.outer(line, line).flatten().log()
        torch.testing.assert_close(d.log_cell_mass[0], exact, atol=1e-10, rtol=0)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e8])
def test_slabs_askew_in_closed_form(size: float) -> None:
    """All borders are parallel, and as good as the same from very far away."""
    where = torch.tensor([0.0, 0.3, 1.0, 1.1], dtype=torch.float64)
    border = torch.tensor([-math.inf, 0.15, 0.65, 1.05, math.inf], dtype=torch.float64)
    lower, upper = ((x - where) / 0.4 / math.sqrt(2) for x in (border[:-1], border[1:]))
    for turn in torch.arange(0.1, 6.2, 0.3, dtype=torch.float64):
        points = size * where[:, None] * torch.stack([turn.cos(), turn.sin()])
        d = VoronoiMixture(
            points, torch.full((4,), 0.25), Gaussian(0.4 * size), Box(-math.inf, math.inf)
        )
        exact = ((torch.erf(upper) - torch.erf(lower)) / 2).log()
        torch.testing.assert_close(d.log_cell_mass, exact, atol=1e-10, rtol=0)


def test_kernels_much_wider_than_the_atoms_apart() -> None:
    """Two atoms have a half plane each, one has the plane, at every bandwidth."""
    points = torch.tensor([[0.0, 0.0], [3e-9, 4e-9]], dtype=torch.float64)
    for h in (1e-9, 1.0, 1e10):
        half = (1 + math.erf(2.5e-9 / h / math.sqrt(2))) / 2
        for count, mass in ((1, 1.0), (2, half)):
            law = VoronoiMixture(
                points[:count],
                torch.full((count,), 1 / count),
                Gaussian(h),
                Box(-math.inf, math.inf),
            )
            assert law.log_cell_mass.exp().tolist() == pytest.approx([mass] * count, rel=1e-10)


@pytest.mark.parametrize("h", [0.05, 0.3, 10.0, 1e4])
def test_moments_in_the_plane(h: float) -> None:
    points = torch.tensor(PLANE["nine"])
    masses = torch.softmax(torch.linspace(0, 2, 9, dtype=torch.float64), 0)
    d = VoronoiMixture(points, masses, Gaussian(h), Box(-1.0, 1.0))
    grid = (torch.arange(2000, dtype=torch.float64) + 0.5) / 1000 - 1
    y = torch.cartesian_prod(grid, grid)
    weight = d.log_prob(y).exp()[:, None] / 1000**2
    mean = (weight * y).sum(0)
    torch.testing.assert_close(d.mean, mean, atol=2e-5, rtol=0)
    variance = (weight * y**2).sum(0) - mean**2
    torch.testing.assert_close(d.variance, variance, atol=2e-5, rtol=0)


def test_moments_of_a_tiny_cell_at_all_bandwidths() -> None:
    """A rectangle [-1e-6, 2e-6] x [-3e-6, 1e-6] around its atom, of 12e-12 in area."""
    z = torch.tensor([0.3, -0.4], dtype=torch.float64)
    step = torch.tensor([[0, 0], [4e-6, 0], [-2e-6, 0], [0, 2e-6], [0, -6e-6]], dtype=torch.float64)
    masses = torch.tensor([1.0, 0, 0, 0, 0], dtype=torch.float64)
    for h in (0.1, 1.0, 1e4):
        d = VoronoiMixture(z + step, masses, Gaussian(h), Box(-1.0, 1.0))
        middle = z + torch.tensor([0.5e-6, -1e-6], dtype=torch.float64)
        torch.testing.assert_close(d.mean, middle, rtol=0, atol=1e-12)
        expected = math.log(12e-12 / (2 * math.pi * h**2))
        assert d.log_cell_mass[0].item() == pytest.approx(expected, abs=1e-5)
    narrow = VoronoiMixture(z + step, masses, Gaussian(1e-9), Box(-1.0, 1.0))
    torch.testing.assert_close(narrow.mean, z, rtol=0, atol=1e-14)
    assert narrow.log_cell_mass[0].item() == pytest.approx(0, abs=1e-9)
