"""Exact masses, gradients and moments of cells in three dimensions, against other mathematics."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from vwta import Box, Directions, Gaussian, Uniform, VoronoiMixture
from vwta.geometry import memory, nearby, solid_cells
from vwta.geometry.blocks import cross_boxes
from vwta.geometry.cells import Tessellation
from vwta.geometry.cones import Sectors, cone_masses, units
from vwta.geometry.decays import decay, differences, taylor
from vwta.geometry.facets import Facets
from vwta.geometry.solid_cells import SolidCells

DOUBLE = torch.float64
CUBE = Box([-1.0, -1.0, -1.0], [1.0, 1.0, 1.0])
SPACE = Box(-math.inf, math.inf)


def cloud(count: int, seed: int = 0, rows: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(rows, count, 3, dtype=DOUBLE, generator=generator) * 2 - 1


def lattice(count: int) -> Tensor:
    steps = (torch.arange(count, dtype=DOUBLE) + 0.5) / count * 2 - 1
    return torch.cartesian_prod(steps, steps, steps)[None]


def sphere(count: int) -> Tensor:
    """Atoms at one distance from their centre, which is one, too: it has all as neighbours."""
    points = torch.nn.functional.normalize(cloud(count, 3), dim=-1) / 2
    return torch.cat([points, torch.zeros(1, 1, 3, dtype=DOUBLE)], 1)


def axes() -> Tensor:
    """Corners of a cube and of an octahedron: many atoms on spheres, corners of many planes."""
    corners = torch.cartesian_prod(*3 * [torch.tensor([-0.5, 0.5], dtype=DOUBLE)])
    return torch.cat([corners, 0.5 * torch.eye(3), -0.5 * torch.eye(3)])[None].to(DOUBLE)


def twins() -> Tensor:
    points = cloud(20, 5)
    return torch.cat([points, points[:, 3:6], points[:, 3:4]], 1)


def on_sides() -> Tensor:
    points = cloud(30, 6)
    return torch.where(points > 0.5, 1.0, torch.where(points < -0.6, -1.0, points))


POSITIONS: dict[str, Callable[[], Tensor]] = {
    "general": lambda: cloud(40),
    "grid": lambda: lattice(4),
    "turned grid": lambda: lattice(3) @ turn() / 2,
    "cospherical": lambda: sphere(40),
    "cube and octahedron": axes,
    "twins": twins,
    "on sides": on_sides,
    "collinear": lambda: (
        torch.linspace(-0.9, 0.9, 12, dtype=DOUBLE)[None, :, None]
        * torch.tensor([0.5, -0.7, 0.3], dtype=DOUBLE)
    ),
    "coplanar": lambda: cloud(30) * torch.tensor([1.0, 1.0, 0.0], dtype=DOUBLE) @ turn() / 2,
    "nearly coplanar": lambda: (
        cloud(30) * torch.tensor([1.0, 1.0, 1e-9], dtype=DOUBLE) @ turn() / 2
    ),
    "clusters": lambda: (cloud(2, 7)[:, :, None] / 2 + 1e-5 * cloud(24).view(1, 2, 12, 3)).view(
        1, 24, 3
    ),
    "batch": lambda: cloud(10, 8, rows=5),
}


def turn() -> Tensor:
    return torch.linalg.qr(cloud(3, 9)[0]).Q


def all_cells(points: Tensor, box: Box = CUBE) -> tuple[SolidCells, Tensor]:
    return SolidCells(points, box), torch.arange(points.shape[0] * points.shape[1])


def law(points: Tensor, kernel: Gaussian | Uniform, box: Box = CUBE) -> VoronoiMixture:
    return VoronoiMixture(points, torch.full(points.shape[:-1], 1 / points.shape[-2]), kernel, box)


@pytest.mark.parametrize("position", POSITIONS)
def test_cells_tile_the_box(position: str) -> None:
    """Volumes add up to that of the box; an atom whose twin comes first has none."""
    points = POSITIONS[position]()
    volumes = law(points, Uniform()).log_cell_mass.exp()
    assert torch.allclose(volumes.sum(-1), torch.tensor(8.0, dtype=DOUBLE), rtol=1e-13)
    assert (volumes >= 0).all()


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("h", [0.01, 0.3, 20.0])
def test_one_kernel_over_all_cells(position: str, h: float) -> None:
    """The mass of one kernel in its own cell, and what is left of it in the others: integrals over
    faces. A kernel that goes round all faces of all cells is that of the box: faces that two cells
    share cancel.
    """
    points = POSITIONS[position]()
    cells, cell = all_cells(points)
    for part, facets in cells.facets(cell):
        row, atom = part // points.shape[1], part % points.shape[1]
        found = _flux(facets, points[row, atom], points[row, 0], h)
        empty = Tessellation(points, CUBE, None).is_empty(part)
        total = torch.zeros(len(points), dtype=DOUBLE).index_add_(0, row, found * ~empty)
        ends = [torch.erf((side - points[:, 0]) / h / math.sqrt(2)) for side in (-1.0, 1.0)]
        assert torch.allclose(total, ((ends[1] - ends[0]) / 2).prod(-1), rtol=1e-9)


def _flux(facets: Facets, z: Tensor, centre: Tensor, h: float) -> Tensor:
    """Mass in each cell of a kernel about another centre, by the same cones seen from there."""
    shift = centre - z
    cell = facets.cell[facets.face]
    here, step = shift[cell], facets.p - (facets.normal * shift[facets.cell]).sum(-1)
    along = (facets.tangent * here).sum(-1)
    side = torch.where(step < 0, -1.0, 1.0)  # a plane that the centre lies beyond
    facets = Facets(
        torch.full_like(facets.size, 10.0),
        facets.cell,
        facets.line,
        step.abs(),
        facets.normal,
        facets.face,
        facets.d - (facets.outward * here).sum(-1),
        facets.s1 - along,
        facets.s2 - along,
        facets.tangent,
        facets.outward,
    )
    unit, e = units(Gaussian(torch.full_like(facets.size, h)), facets.size)
    sectors = Sectors.of(facets, unit, e)
    sectors.d = sectors.d * side[facets.face]
    return cone_masses(facets, sectors) * e**3


@pytest.mark.parametrize("h", [1e-4, 0.05, 0.2, 1.0, 30.0, 1e4, 1e50])
@pytest.mark.parametrize(
    "z", [(0.0, 0.0, 0.0), (0.3, 0.2, -0.9), (1.0, 0.5, -0.2), (1.0, 1.0, 1.0)]
)
def test_a_lone_atom_in_closed_form(z: tuple[float, ...], h: float) -> None:
    """Mass, moments and gradients in a box, also of atoms on its sides."""
    points = torch.tensor([[z]], dtype=DOUBLE, requires_grad=True)
    bandwidth = torch.tensor([h], dtype=DOUBLE, requires_grad=True)
    kernel, none = Gaussian(1.0).at(bandwidth), torch.zeros(1, dtype=torch.long)
    block, _ = cross_boxes(points.detach(), none, none, CUBE)
    expected = block.log_mass(kernel)
    (by_h,) = torch.autograd.grad(expected.sum(), bandwidth)
    cells = SolidCells(points.detach(), CUBE)
    found = cells.log_mass(points, none, kernel)
    found.sum().backward()
    assert points.grad is not None
    assert bandwidth.grad is not None
    kernel = kernel.at(bandwidth.detach())
    assert torch.allclose(found, expected, rtol=1e-14, atol=1e-13)
    assert torch.allclose(bandwidth.grad, by_h, rtol=1e-12, atol=1e-14 / h)
    assert torch.allclose(points.grad[0], block.slope(kernel, 1)[0], atol=1e-13 / min(h, 1))
    size = min(h, 1.0)
    if h < 1e3:  # else the closed form itself cancels
        for p, (x, y) in enumerate(
            zip(cells.moments(none, kernel), block.moments(kernel), strict=True)
        ):
            assert torch.allclose(x, y, rtol=0, atol=1e-10 * size ** (p + 1))


@pytest.mark.parametrize("h", [0.02, 0.4, 5.0])
@pytest.mark.parametrize("box", [CUBE, Box([-1.0, -1.0, -math.inf], [1.0, 1.0, math.inf])])
def test_prisms_over_the_plane(box: Box, h: float) -> None:
    """Atoms at one height: mass and moments are those of the plane, times those of the line."""
    points = cloud(20, 2)
    points[..., 2] = 0.3
    square, line = Box(box.low[:2], box.high[:2]), Box(box.low[2:], box.high[2:])
    flat, up = law(points[..., :2], Gaussian(h), square), law(points[:, :1, 2:], Gaussian(h), line)
    found = law(points, Gaussian(h), box)
    assert torch.allclose(found.log_cell_mass, flat.log_cell_mass + up.log_cell_mass, atol=1e-9)
    assert torch.allclose(found.mean[:, :2], flat.mean, atol=1e-9)
    assert torch.allclose(found.variance[:, :2], flat.variance, atol=1e-9)
    assert torch.allclose(found.mean[:, 2:], up.mean, atol=1e-9)
    assert torch.allclose(found.variance[:, 2:], up.variance, atol=1e-9)


def test_endless_prisms_in_any_direction() -> None:
    """Turned, and without any side: edges are long, and all that is known of them is near."""
    points = cloud(25, 4)
    points[..., 2] = 0.0
    flat = law(points[..., :2], Gaussian(0.3), SPACE)
    found = law(points @ turn(), Gaussian(0.3), SPACE)
    assert torch.allclose(found.log_cell_mass, flat.log_cell_mass, atol=1e-9)
    for far in (1e6, 1e10, 1e14):
        found = law(points @ turn(), Gaussian(0.3), Box(-far, far))
        assert torch.allclose(found.log_cell_mass, flat.log_cell_mass, atol=1e-9)


@pytest.mark.parametrize("position", ["general", "on sides", "grid", "cospherical"])
@pytest.mark.parametrize("h", [0.03, 0.3, 3.0, math.inf])
def test_gradients_by_finite_differences(position: str, h: float) -> None:
    """By atoms, wherever they may move, and by the bandwidth."""
    points = POSITIONS[position]()[:, :30].clone()
    direction = torch.randn(points.shape, dtype=DOUBLE, generator=torch.Generator().manual_seed(4))
    if position == "on sides":  # these stay on their side
        direction = torch.where(points.abs() == 1, 0.0, direction)
    which = torch.arange(0, 30, 5)
    log_h = torch.tensor(math.log(min(h, 1.0)), dtype=DOUBLE)

    def value(t: Tensor, log_h: Tensor) -> Tensor:
        moved = points + t * direction
        bandwidth = log_h.exp().expand(len(which))
        kernel = Uniform().at(bandwidth) if math.isinf(h) else Gaussian(1.0).at(bandwidth)
        return SolidCells(moved.detach(), CUBE).log_mass(moved, which, kernel)

    start = torch.zeros((), dtype=DOUBLE)
    degenerate = position in ("grid", "cospherical")  # faces come and go
    size = (1e-6 if degenerate else 1e-4) * min(h, 1)
    slopes = torch.autograd.functional.jacobian(value, (start, log_h))
    for found, step in zip(slopes, ((size, 0.0), (0.0, 1e-4)), strict=True):
        ends = [value(start + i * step[0], log_h + i * step[1]) for i in (-2, -1, 1, 2)]
        expected = (8 * (ends[2] - ends[1]) - ends[3] + ends[0]) / (12 * max(step))
        scale = 1 + expected.abs()
        tolerance = 2e-5 if degenerate else 2e-6
        assert ((found - expected).abs() <= tolerance * scale / min(h, 1)).all()


@pytest.mark.parametrize("h", [0.05, 0.5, 50.0, math.inf])
def test_moments_are_slopes_of_masses(h: float) -> None:
    """The mean of y - z by counting points of the kernel that fall into the cell."""
    points = cloud(6, 11)
    cells, cell = all_cells(points)
    kernel = Gaussian(1.0) if math.isfinite(h) else Uniform()
    first, second = cells.moments(cell, kernel.at(torch.full((6,), h, dtype=DOUBLE)))
    nodes = 40
    x = (torch.arange(2 * nodes, dtype=DOUBLE) + 0.5) / nodes - 1
    y = torch.cartesian_prod(x, x, x)
    owner = torch.cdist(y, points[0]).argmin(1)
    for k in range(6):
        step = y[owner == k] - points[0, k]
        weight = torch.exp(-(step**2).sum(-1) / (2 * h**2))
        weight = weight / weight.sum()
        assert torch.allclose(first[k], weight @ step, atol=4e-3)
        assert torch.allclose(second[k], weight @ step**2, atol=4e-3)


@pytest.mark.parametrize("scale", [1e-90, 1e-9, 1e9])
def test_any_scale(scale: float) -> None:
    """Everything scales with the atoms: nothing underflows."""
    points = cloud(20, 12)
    for h in (0.05, 0.5, 1e4):
        one = law(points, Gaussian(h))
        other = law(points * scale, Gaussian(h * scale), Box(-scale, scale))
        assert torch.allclose(one.log_cell_mass, other.log_cell_mass, atol=1e-11)
        assert torch.allclose(one.mean, other.mean / scale, atol=1e-12)
        assert torch.allclose(one.variance, other.variance / scale / scale, atol=1e-12)


@pytest.mark.parametrize("count", [100, 1000])
def test_atoms_on_a_slanted_line_without_end(count: int) -> None:
    """Slabs, whose borders are parallel but for the rounding of the atoms."""
    source = torch.Generator().manual_seed(count)
    step, start = torch.randn(2, 3, generator=source, dtype=torch.float64)
    place = torch.rand(count, generator=source, dtype=torch.float64).sort().values
    space, h = Box(-math.inf, math.inf), 0.2
    cells = Tessellation((start + place[:, None] * step)[None], space, None)
    found = cells.log_mass(
        torch.arange(count), Gaussian(torch.full((count,), h, dtype=torch.float64))
    )
    gaps = place.diff() * step.norm() / 2 / h
    wide = torch.full((1,), math.inf, dtype=torch.float64)
    ends = torch.cat([wide, gaps]), torch.cat([gaps, wide])  # of each slab, below and above
    masses = sum(torch.erf(end / math.sqrt(2)) / 2 for end in ends)
    torch.testing.assert_close(found.exp(), masses, rtol=1e-9, atol=0.0)


def test_wide_kernels_are_uniform_and_narrow_ones_whole() -> None:
    points = cloud(20, 13)
    volumes = law(points, Uniform()).log_cell_mass
    wide = (
        law(points, Gaussian(1e9)).log_cell_mass + 3 * math.log(1e9) + 1.5 * math.log(2 * math.pi)
    )
    assert torch.allclose(wide, volumes, atol=1e-12)
    assert law(points, Gaussian(1e-9)).log_cell_mass.abs().max() < 1e-14


def test_a_sector_behind_its_foot_counts_against_it() -> None:
    """One of ten does; cells would be too large without their signs."""
    cells, cell = all_cells(cloud(40))
    for _, facets in cells.facets(cell):
        unit, e = units(Uniform(), facets.size)
        sectors = Sectors.of(facets, unit, e)
        assert 0.05 < (sectors.d < 0).double().mean() < 0.5
        right = cone_masses(facets, sectors)
        sectors.d = sectors.d.abs()
        assert (cone_masses(facets, sectors) > 1.2 * right).any()


def test_directions_that_are_given_still_estimate() -> None:
    points = cloud(12, 14)
    masses = torch.full((1, 12), 1 / 12, dtype=DOUBLE)
    rough = VoronoiMixture(points, masses, Gaussian(0.4), CUBE, Directions())
    fine = law(points, Gaussian(0.4))
    assert (rough.log_cell_mass_error > 0).all()
    assert not fine.log_cell_mass_error.any()
    assert not fine.mean_error.any()
    assert not fine.variance_error.any()
    off = (rough.log_cell_mass - fine.log_cell_mass).abs()
    assert (off <= 4 * rough.log_cell_mass_error).all()
    assert ((rough.mean - fine.mean).abs() <= 4 * rough.mean_error).all()


def test_locality_and_parts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours from a k-d tree or by comparison, cells kept or cut anew in small parts."""
    points = torch.cat([cloud(260, 15), cloud(260, 15)[:, :2]], 1).requires_grad_()

    def answers() -> list[Tensor]:
        d = law(points, Gaussian(0.2))
        value = d.log_cell_mass
        finite = torch.where(value.isfinite(), value, 0.0)
        return [value, *torch.autograd.grad(finite.sum(), points), d.mean]

    by_tree = answers()
    monkeypatch.setattr(nearby, "MANY", 10**6)
    by_comparison = answers()
    monkeypatch.setattr(memory, "MEMORY", 2**23)
    monkeypatch.setattr(solid_cells, "KEPT", 10)
    in_parts = answers()
    for x, y, z in zip(by_tree, by_comparison, in_parts, strict=True):
        assert torch.allclose(x, y, rtol=1e-11, atol=1e-11)
        assert torch.allclose(y, z, rtol=1e-11, atol=1e-11)


def test_cells_asked_for_twice_and_in_any_order() -> None:
    cells, cell = all_cells(cloud(8, 16, rows=3))
    kernel = Gaussian(1.0)
    h = torch.full((24,), 0.3, dtype=DOUBLE)
    whole = cells.log_mass(cells.points, cell, kernel.at(h))
    some = torch.tensor([17, 3, 3, 20, 0])
    assert torch.allclose(
        cells.log_mass(cells.points, some, kernel.at(h[some])), whole[some], rtol=1e-14
    )


@pytest.mark.parametrize("m", [0, 1])
def test_differences_join(m: int) -> None:
    """Taylor's series and the direct difference agree where both are good, up to v = 32."""
    v = torch.linspace(0, 32, 60, dtype=DOUBLE)
    x = torch.linspace(0.7, 1.0, 5, dtype=DOUBLE).expand(60, 5)
    direct = (decay(m, v)[:, None] - decay(m, v[:, None] + x)) / x
    assert torch.allclose(differences(taylor(m, v), x), direct, rtol=2e-13)
