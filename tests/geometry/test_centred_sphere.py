"""Von Mises-Fisher kernels about centres of their own, cut to cells of the sphere."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.spatial import SphericalVoronoi
from scipy.special import i0e
from torch import Tensor

from vwta.geometry.cells import Tessellation
from vwta.geometry.centred_sphere import SphereCentredCells
from vwta.geometry.kernels import VonMisesFisher, sphere_moments
from vwta.geometry.spaces import Sphere, unit

Array = NDArray[np.float64]


def vectors(count: int, seed: int) -> Tensor:
    source = torch.Generator().manual_seed(seed)
    return unit(torch.randn(count, 3, dtype=torch.float64, generator=source))


def centres_of(z: Tensor, kind: str) -> Tensor:
    """Anywhere, near the atoms, or opposite to them."""
    noise = vectors(len(z), 1)
    return unit({"anywhere": noise, "near": z + 0.3 * noise, "opposite": -z + 0.2 * noise}[kind])


def cells_of(z: Tensor, c: Tensor) -> SphereCentredCells:
    return SphereCentredCells(Tessellation(z[None], Sphere(), None), c)


def kernels(count: int, h: float) -> VonMisesFisher:
    return VonMisesFisher(torch.full((count,), h, dtype=torch.float64))


def nodes_in(triangles: Array, halvings: int, n: int = 16) -> tuple[Array, Array]:
    """Points and areas of a quadrature over spherical triangles `(T, 3, 3)`, from flat ones."""
    for _ in range(halvings):
        a, b, c = triangles.swapaxes(0, 1)
        ab, bc, ca = (x / np.linalg.norm(x, axis=1)[:, None] for x in (a + b, b + c, c + a))
        parts = (a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)
        triangles = np.concatenate([np.stack(part, 1) for part in parts])
    x, weight = np.polynomial.legendre.leggauss(n)
    s, t = np.meshgrid((x + 1) / 2, (x + 1) / 2, indexing="ij")
    flat = np.einsum("kij,tka->tija", np.stack([1 - s, s * (1 - t), s * t]), triangles)
    norm = np.linalg.norm(flat, axis=-1)
    area = np.outer(weight, weight) / 4 * s * np.abs(np.linalg.det(triangles))[:, None, None]
    return flat / norm[..., None], area / norm**3


def by_triangles(z: Array, c: Array, h: float, halvings: int) -> tuple[Array, Array, Array]:
    """Log-masses, and means of `y - z` and its squares, on cells that scipy finds."""
    found = SphericalVoronoi(z)
    found.sort_vertices_of_regions()
    log_masses, firsts, seconds = [], [], []
    for k, region in enumerate(found.regions):
        corners = found.vertices[region]
        fan = np.stack([np.broadcast_to(z[k], corners.shape), corners, np.roll(corners, -1, 0)], 1)
        y, area = nodes_in(fan, halvings)
        log_density = -((y - c[k]) ** 2).sum(-1) / 2 / h**2
        value = np.exp(log_density - log_density.max()) * area
        scale = -math.log(2 * math.pi * h**2 * -math.expm1(-2 / h**2))
        log_masses.append(math.log(value.sum()) + log_density.max() + scale)
        share = (value / value.sum())[..., None]
        firsts.append((share * (y - z[k])).sum((0, 1, 2)))
        seconds.append((share * (y - z[k]) ** 2).sum((0, 1, 2)))
    return np.array(log_masses), np.array(firsts), np.array(seconds)


@pytest.mark.parametrize("kind", ["anywhere", "near", "opposite"])
@pytest.mark.parametrize(("h", "halvings"), [(30.0, 1), (0.7, 2), (0.2, 3)])
def test_masses_and_moments(kind: str, h: float, halvings: int) -> None:
    """Against a quadrature of triangles; masses are as small as 1e-20."""
    z = vectors(12, 0)
    c, cell, kernel = centres_of(z, kind), torch.arange(12), kernels(12, h)
    cells = cells_of(z, c)
    expected = by_triangles(z.numpy(), c.numpy(), h, halvings)
    found = cells.log_mass(cell, kernel), *cells.moments(cell, kernel)
    for value, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("h", [30.0, 1.0, 0.2, 0.05])
def test_masses_of_one_kernel_add_up_to_one(h: float) -> None:
    """All cells have the same kernel, so that together they have all of it."""
    z, c = vectors(15, 2), vectors(1, 3).expand(15, 3)
    cell, kernel = torch.arange(15), kernels(15, h)
    cells = cells_of(z, c)
    mass = cells.log_mass(cell, kernel).exp()
    assert mass.sum().item() == pytest.approx(1, abs=1e-10)
    first, second = cells.moments(cell, kernel)
    mean = (mass[:, None] * (first + z)).sum(0)
    square = (mass[:, None] * (second + 2 * z * first + z**2)).sum(0)
    step, steps = sphere_moments(VonMisesFisher(h), c[0])
    torch.testing.assert_close(mean, step + c[0], atol=1e-9, rtol=0)
    expected = steps + 2 * c[0] * step + c[0] ** 2
    torch.testing.assert_close(square, expected, atol=1e-9, rtol=0)


def test_limits() -> None:
    """A wide kernel has a cell's share of the area; a narrow one lies inside a single cell."""
    z, c, cell = vectors(10, 4), vectors(10, 5), torch.arange(10)
    cells = cells_of(z, c)
    area = SphericalVoronoi(z.numpy()).calculate_areas()
    share = torch.from_numpy(area / (4 * math.pi))
    torch.testing.assert_close(cells.log_mass(cell, kernels(10, 1e5)).exp(), share)
    narrow = cells.log_mass(cell, kernels(10, 1e-3))
    home = (c[:, None] * z).sum(-1).argmax(-1) == cell
    assert torch.allclose(narrow[home], torch.zeros_like(narrow[home]), atol=1e-9)
    assert (narrow[~home] < -100).all()
    assert narrow.isfinite().all()


@pytest.mark.parametrize(("degrees", "h"), [(89, 0.05), (40, 0.1), (1, 0.02), (0, 0.3), (-30, 0.5)])
def test_hemispheres(degrees: float, h: float) -> None:
    """On one whose border is some degrees away from the centre, integrate over circles about z."""
    sin, cos = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    z = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]], dtype=torch.float64)
    c = torch.tensor([[cos, 0.0, -sin]] * 2, dtype=torch.float64)
    kappa, least = h**-2, 1 - cos if degrees > 0 else 0.0

    def on_circle(t: float) -> float:
        x = kappa * cos * math.sqrt(1 - t**2)
        return float(i0e(x) * math.exp(x - kappa * (1 + t * sin - least)))

    reach = min(1.0, 45 * h**2 / max(sin, h))
    value = quad(on_circle, 0, reach, epsabs=0, epsrel=1e-11, limit=500)[0]
    expected = math.log(value * kappa / -math.expm1(-2 * kappa)) - kappa * least
    found = cells_of(z, c).log_mass(torch.arange(2), kernels(2, h))[0].item()
    assert found == pytest.approx(expected, abs=1e-9 if degrees else 1e-7)  # on the border: moved


def test_lunes() -> None:
    """They share the laws about the poles, where all of them meet, by their angles."""
    angle = torch.tensor([0.0, 2.0, 4.0], dtype=torch.float64)
    z = torch.stack([angle.cos(), angle.sin(), 0 * angle], -1)
    pole = torch.tensor([[0.0, 0.0, 1.0]] * 3, dtype=torch.float64)
    for h in (0.1, 0.4, 5.0):
        mass = cells_of(z, pole).log_mass(torch.arange(3), kernels(3, h)).exp()
        expected = torch.tensor([math.pi - 1, 2.0, math.pi - 1]).double() / (2 * math.pi)
        torch.testing.assert_close(mass, expected, atol=1e-7, rtol=0)


def test_the_whole_sphere() -> None:
    z, c = vectors(1, 6), vectors(1, 7)
    cells, cell, kernel = cells_of(z, c), torch.tensor([0]), kernels(1, 0.3)
    assert cells.log_mass(cell, kernel).item() == 0
    expected, _ = sphere_moments(kernel, c)
    torch.testing.assert_close(cells.moments(cell, kernel)[0] + z, expected + c)
    y = cells.sample(cell, kernel, torch.zeros(4000).long(), torch.Generator().manual_seed(0))
    assert (y.mean(0) - expected - c).abs().max() < 0.02


def test_tiny_cells() -> None:
    """Those of atoms 1e-7 apart, with a kernel that lies elsewhere."""
    source = torch.Generator().manual_seed(0)
    z = unit(vectors(1, 8) + 1e-7 * torch.randn(20, 3, generator=source).double())
    mass = cells_of(z, vectors(1, 7).expand(20, 3)).log_mass(torch.arange(20), kernels(20, 0.5))
    assert mass.exp().sum().item() == pytest.approx(1, abs=1e-9)
    assert mass.min() < -20


@pytest.mark.parametrize("h", [0.05, 0.4, 3.0])
def test_samples(h: float) -> None:
    """They lie in their cells, and have the moments of the cut kernels."""
    z, n = vectors(9, 9), 3000
    cell, kernel, source = torch.arange(9), kernels(9, h), torch.Generator().manual_seed(0)
    for kind in ("anywhere", "near", "opposite"):
        cells = cells_of(z, centres_of(z, kind))
        which = cell.repeat(n)
        y = cells.sample(cell, kernel, which, source)
        assert torch.equal(cells.cells.nearest(y, torch.zeros_like(which)), which)
        first, second = cells.moments(cell, kernel)
        step = y.view(n, 9, 3) - z
        for power, mean in ((1, first), (2, second)):
            value = step**power
            assert ((value.mean(0) - mean).abs() < 5 * value.std(0) / math.sqrt(n) + 1e-12).all()


@pytest.mark.parametrize("kind", ["lattice", "cluster of 1e-3", "cluster of 1e-6"])
def test_samples_of_degenerate_cells(kind: str) -> None:
    """Cells that meet in one corner, and tiny ones that are seen from far away."""
    source = torch.Generator().manual_seed(3)
    noise = torch.randn(25, 3, dtype=torch.float64, generator=source)
    if kind == "lattice":
        z = unit(torch.unique(torch.round(noise), dim=0))
        z = torch.unique(z[z.norm(dim=-1) > 0.5], dim=0)
        centre = z[:1]
    else:
        z, centre = unit(vectors(1, 4) + float(kind.split()[-1]) * noise), vectors(1, 5)
    K = len(z)
    cells, cell = cells_of(z, centre.expand(K, 3)), torch.arange(K)
    for h in (0.01, 0.2, 80.0):
        y = cells.sample(cell, kernels(K, h), cell.repeat(20), source).view(20, K, 3)
        nearest = torch.cdist(y, z).amin(-1)
        assert (torch.linalg.vector_norm(y - z, dim=-1) - nearest).abs().max() < 1e-9
        mass = cells.log_mass(cell, kernels(K, h)).exp()
        assert mass.sum().item() == pytest.approx(1, abs=1e-7)


def test_samples_about_centres_on_great_circles_of_borders() -> None:
    """Such a circle lets meridians out at the centre or nowhere; its edge may lie elsewhere."""
    signs = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    z, cell = unit(torch.cartesian_prod(signs, signs, signs)), torch.arange(8)
    steps = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
    for centre in unit(torch.cartesian_prod(steps, steps, steps)[[1, 4, 9, 10, 12, 18, 22]]):
        cells = cells_of(z, centre.expand(8, 3))
        y = cells.sample(cell, kernels(8, 1.0), cell.repeat(20), torch.Generator().manual_seed(1))
        gap = torch.linalg.vector_norm(y - z.repeat(20, 1), dim=-1) - torch.cdist(y, z).amin(-1)
        assert gap.max() < 1e-9
