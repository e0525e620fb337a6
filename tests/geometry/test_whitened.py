"""Gaussians about any centre cut to polygons, against integrals in 30 digits and finite steps."""

import math

import mpmath
import pytest
import torch
from torch import Tensor

from vwta.geometry import whitened
from vwta.geometry.chords import sample_polygons
from vwta.geometry.polygons import corners, walk
from vwta.geometry.spaces import Box
from vwta.geometry.surfaces import Edges
from vwta.geometry.whitened import Sides, log_masses, means, whiten

BOX = Box([-1.0, -1.0], [1.0, 1.0])
FAMILIES = {"random": (1.0, 1.0), "tiny": (1e-3, 1e-3), "flat": (1.0, 1e-5)}
PLACES = [(0.2, 0.3), (1.0, 0.1), (3.0, 0.2), (0.001, 0.5), (0.3, 0.05)]  # shift, h


def draw(name: str, count: int, seed: int = 0) -> tuple[Tensor, Edges]:
    """Nine atoms in each of some squares, and the cells of the first atoms."""
    source = torch.Generator().manual_seed(seed)
    z = 2 * torch.rand(count, 9, 2, dtype=torch.float64, generator=source) - 1
    z = z * torch.tensor(FAMILIES[name], dtype=torch.float64)
    row = torch.arange(count)
    return z, walk(z, row, torch.zeros_like(row), BOX)[0]


def placed(name: str, full: bool, seed: int = 0) -> tuple[Tensor, Edges, Tensor, Tensor]:
    """Atoms, cells, and a centre and a root for each: a multiple of the identity, or any."""
    source = torch.Generator().manual_seed(seed + 1)
    z, edges = draw(name, len(PLACES), seed)
    shift, h = torch.tensor(PLACES, dtype=torch.float64).unbind(1)
    centre = torch.randn(len(h), 2, dtype=torch.float64, generator=source) * shift[:, None]
    root = h[:, None, None] * torch.eye(2, dtype=torch.float64)
    if full:
        root = root + 0.5 * h[:, None, None] * torch.tensor([[0.0, 0.0], [1.0, 0.6]]).double()
    return z, edges, centre, root if full else h


def signed_area_mass(polygon: Tensor, centre: Tensor, root: Tensor) -> float:
    """Log-mass of a polygon by Green's theorem with error functions, in 30 digits."""
    if root.dim() == 0:
        root = root * torch.eye(2, dtype=torch.float64)
    with mpmath.workdps(30):
        inverse = mpmath.inverse(mpmath.matrix(root.tolist()))
        at = [
            inverse * (mpmath.matrix(p) - mpmath.matrix(centre.tolist())) for p in polygon.tolist()
        ]
        total = mpmath.mpf(0)
        for p, q in zip(at, at[1:] + at[:1], strict=True):
            total += _strip(p, q)
        return float(mpmath.log(total))


def _strip(p: mpmath.matrix, q: mpmath.matrix) -> mpmath.mpf:
    r"""Integral of :math:`\varphi(x) \Phi(-y)` along an edge: the mass above it, signed."""
    low, high = sorted([p[0], q[0]])
    if high == low:
        return mpmath.mpf(0)
    slope = (q[1] - p[1]) / (q[0] - p[0])
    low, high = max(low, mpmath.mpf(-70)), min(high, mpmath.mpf(70))
    cuts = [low + (high - low) * i / 8 for i in range(9)]

    def density(x: mpmath.mpf) -> mpmath.mpf:
        y = p[1] + slope * (x - p[0])
        return mpmath.npdf(x) * mpmath.erfc(y / mpmath.sqrt(2)) / 2

    return mpmath.quad(density, cuts, maxdegree=4) * (1 if q[0] > p[0] else -1)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_masses(name: str, full: bool) -> None:
    z, edges, centre, root = placed(name, full)
    found = log_masses(whiten(edges, centre, root))
    for i in (0, 2, 3):
        value, here, middle = found[i].item(), root[i], centre[i]
        cell = corners(z[i], BOX)[0] - z[i, 0]
        expected = signed_area_mass(cell, middle, here)
        assert value == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_mass_of_everything_and_of_its_parts() -> None:
    """Masses of all cells about one centre add up to that of the square."""
    source = torch.Generator().manual_seed(3)
    z = 2 * torch.rand(1, 12, 2, dtype=torch.float64, generator=source) - 1
    atom = torch.arange(12)
    edges = walk(z, 0 * atom, atom, BOX)[0]
    for place, h in (([0.3, -0.2], 0.4), ([1.7, 0.4], 0.2), ([-4.0, 3.0], 0.1)):
        at = torch.tensor(place, dtype=torch.float64)
        found = log_masses(whiten(edges, at - z[0], torch.full((12,), h, dtype=torch.float64)))
        whole = mpmath.mpf(1)
        with mpmath.workdps(60):
            for x in place:
                a, b = ((s - mpmath.mpf(x)) / mpmath.mpf(h) / mpmath.sqrt(2) for s in (-1, 1))
                a, b = (a, b) if a > 0 else (-b, -a)  # the lower tail as an upper one
                whole *= (mpmath.erfc(a) - mpmath.erfc(b)) / 2
            expected = float(mpmath.log(whole))
        assert torch.logsumexp(found, 0).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_means_are_gradients(name: str, full: bool) -> None:
    """Means of `u` and `u u^T` are what finite steps of centres and roots say."""
    _, edges, centre, root = placed(name, full)
    matrix = root if full else root[:, None, None] * torch.eye(2, dtype=torch.float64)
    inverse, one = torch.linalg.inv(matrix), torch.eye(2, dtype=torch.float64)
    log_mass, found, _, _ = means(whiten(edges, centre, root))
    assert torch.allclose(log_mass, log_masses(whiten(edges, centre, root)), rtol=1e-13)
    scale = torch.linalg.det(matrix).sqrt()
    by_centre = torch.einsum("cij,ci->cj", inverse, found.origin) * scale[:, None]
    by_root = torch.einsum("cij,cik->cjk", inverse, found.origin_square - one)
    for i in range(2):
        step = 1e-6 * scale[:, None] * one[i]
        change = _change(edges, centre + step, matrix, centre - step, matrix)
        assert torch.allclose(by_centre[:, i], change / 2e-6, rtol=1e-6, atol=1e-5)
        for j in range(2):
            step = 1e-6 * scale[:, None, None] * torch.outer(one[i], one[j])
            change = _change(edges, centre, matrix + step, centre, matrix - step)
            expected = by_root[:, i, j] * scale
            assert torch.allclose(expected, change / 2e-6, rtol=1e-6, atol=1e-4)


def _change(edges: Edges, c1: Tensor, r1: Tensor, c2: Tensor, r2: Tensor) -> Tensor:
    return log_masses(whiten(edges, c1, r1)) - log_masses(whiten(edges, c2, r2))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_samples(name: str, full: bool) -> None:
    """Samples lie in their cells, and have the mean and the products that cells have."""
    _, edges, centre, root = placed(name, full)
    sides = whiten(edges, centre, root)
    log_mass, found, _, _ = means(sides)
    n = 2000
    which = torch.arange(len(log_mass)).repeat_interleave(n)
    source = torch.Generator().manual_seed(0)
    u = sample_polygons(sides, log_mass, which, source).view(-1, n, 2)
    for i in range(len(log_mass)):
        a, normal = sides.about_origin()[0][sides.cell == i], sides.normal[sides.cell == i]
        assert (u[i] @ normal.T <= a + 1e-9 * (1 + a.abs())).all()
    step = u - sides.atom[:, None]
    _agree(step, found.atom, n)
    _agree(step[..., :, None] * step[..., None, :], found.atom_square, n)


def _agree(samples: Tensor, expected: Tensor, n: int) -> None:
    error = (samples.var(1) / n).sqrt()
    assert ((samples.mean(1) - expected).abs() <= 4.5 * error + 1e-12).all()


def test_few_nodes_suffice_for_flat_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Just where cells begin to count as flat, as many nodes as elsewhere change nothing."""
    source = torch.Generator().manual_seed(4)
    _, edges = draw("random", 300)
    centre = torch.randn(300, 2, dtype=torch.float64, generator=source)
    centre *= torch.logspace(-2, 2, 300, dtype=torch.float64)[:, None]
    far = torch.hypot(edges.a, torch.maximum(edges.s1.abs(), edges.s2.abs()))
    r = torch.zeros(300, dtype=torch.float64).scatter_reduce(0, edges.cell, far, "amax")
    h = 1.0001 * (2 * r * (centre.norm(dim=-1) + r / 2)).sqrt()
    sides = whiten(edges, centre, h)
    few, found, _, _ = means(sides)
    monkeypatch.setattr(whitened, "FEW", 24)
    many, expected, _, _ = means(sides)
    assert not torch.equal(few, many)
    assert torch.allclose(few, many, rtol=0, atol=1e-10)
    assert torch.allclose(found.atom, expected.atom, rtol=1e-8, atol=1e-10)
    assert torch.allclose(found.atom_square, expected.atom_square, rtol=1e-8, atol=1e-10)


def test_cells_without_edges() -> None:
    z, edges = draw("random", 2)
    some = edges[edges.cell == 1]
    h = torch.ones(2, dtype=torch.float64)
    sides: Sides = whiten(some, torch.zeros(2, 2, dtype=torch.float64), h)
    assert log_masses(sides)[0] == -math.inf
    assert log_masses(sides)[1].isfinite()
    assert len(z) == 2
