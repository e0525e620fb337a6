import itertools
import math

import pytest
import torch
from torch import Tensor

from vwta.geometry.polygons import corners, walk
from vwta.geometry.spaces import Box, Space, Sphere
from vwta.geometry.surfaces import Edges

DOUBLE = torch.float64
SQUARE, SPHERE = Box(-1.0, 1.0), Sphere()


def all_cells(points: Tensor, space: Space) -> tuple[Edges, Tensor, Tensor]:
    batch, count = points.shape[:2]
    row = torch.arange(batch).repeat_interleave(count)
    return walk(points, row, torch.arange(count).repeat(batch), space)


def areas(points: Tensor, space: Space) -> Tensor:
    """Areas by the shoelace formula in the plane, by Girard's theorem on the sphere, `(B, K)`."""
    edges, _, _ = all_cells(points, space)
    area = torch.zeros(points.shape[0] * points.shape[1], dtype=DOUBLE)
    if isinstance(space, Box):
        area.index_add_(0, edges.cell, edges.a * (edges.s2 - edges.s1) / 2)
        return area.view(points.shape[:2])
    corners = edges.foot * edges.s2.cos()[:, None] + edges.tangent * edges.s2.sin()[:, None]
    for cell in range(len(area)):
        mine = edges.cell == cell
        normal, corner = edges.normal[mine], corners[mine]
        after = normal.roll(-1, 0)
        turn = torch.atan2(
            (corner * torch.linalg.cross(normal, after)).sum(-1), (normal * after).sum(-1)
        )
        area[cell] = 2 * math.pi - turn.sum()
    return area.view(points.shape[:2])


def stress(space: Space) -> dict[str, Tensor]:
    """Configurations that break careless geometry."""
    generator = torch.Generator().manual_seed(0)

    def scatter(*shape: int) -> Tensor:
        if isinstance(space, Sphere):
            return space.project(torch.randn(*shape, 3, dtype=DOUBLE, generator=generator))
        return torch.rand(*shape, 2, dtype=DOUBLE, generator=generator) * 2 - 1

    def cluster(size: float) -> Tensor:
        middle = scatter(20, 1)
        noise = torch.randn(20, 8, middle.shape[-1], dtype=DOUBLE, generator=generator)
        return torch.cat([space.project(middle * 0.9 + size * noise), scatter(20, 8)], 1)

    cases = {f"scattered {k}": scatter(20, k) for k in (4, 5, 9, 49)}
    cases |= {f"cluster of {size}": cluster(size) for size in (1e-2, 1e-4, 1e-6)}
    if isinstance(space, Sphere):
        for rows in (4, 9):
            north = torch.linspace(-math.pi / 2, math.pi / 2, rows, dtype=DOUBLE)
            east = torch.arange(2 * rows, dtype=DOUBLE) * math.pi / rows
            a, b = torch.cartesian_prod(north[1:-1], east).T
            globe = torch.stack([a.cos() * b.cos(), a.cos() * b.sin(), a.sin()], -1)
            cases[f"globe of {rows}"] = space.project(globe)[None]
        turn = torch.arange(8, dtype=DOUBLE) * math.pi / 4
        for height in (0.0, 0.5):
            ring = torch.stack([turn.cos(), turn.sin(), 0 * turn + height], -1)
            cases[f"ring at {height}"] = space.project(ring)[None]
            cases[f"half a ring at {height}"] = space.project(ring[::2])[None]
        near = -scatter(40, 1)
        noise = 1e-12 * torch.randn(40, 1, 3, dtype=DOUBLE, generator=generator)
        cases["nearly antipodal"] = torch.cat([space.project(noise - near), near], 1)
        cases["octahedron"] = torch.cat([torch.eye(3), -torch.eye(3)])[None].double()
        cube = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=3)), dtype=DOUBLE)
        cases["cube"] = space.project(cube)[None]
    else:
        for size in (4, 10):
            side = torch.linspace(-0.93, 0.77, size, dtype=DOUBLE)
            cases[f"grid of {size}"] = torch.cartesian_prod(side, side)[None]
            around = torch.tensor([[0.8, 0.6], [-0.6, 0.8]], dtype=DOUBLE)
            cases[f"grid of {size} askew"] = cases[f"grid of {size}"] @ around * 0.7
        saturated = torch.randn(400, 20, 2, generator=generator)
        cases["saturated"] = _distinct(torch.tanh(100 * saturated).double())
        pairs = scatter(40, 10)
        for apart in (1e-8, 1e-12, 1e-14):
            noise = apart * torch.randn(40, 10, 2, dtype=DOUBLE, generator=generator)
            cases[f"pairs {apart} apart"] = torch.cat([pairs, space.project(pairs + noise)], 1)
        cases["diagonal"] = torch.linspace(-1, 1, 7, dtype=DOUBLE)[None, :, None].expand(1, 7, 2)
        cases["corners"] = torch.cartesian_prod(*2 * [torch.tensor([-1.0, 0.0, 1.0])])[
            None
        ].double()
        near = torch.tensor([0.0, 1e-7, -1e-7], dtype=DOUBLE)[None, :, None] + 0.1
        cases["slab"] = torch.cat([near.expand(1, 3, 2), scatter(1, 1)], 1)
    return cases


def _distinct(points: Tensor) -> Tensor:
    """Move coincident atoms far from each other, into the middle."""
    count = points.shape[1]
    same = (points[:, :, None] == points[:, None]).all(-1).tril(-1).any(-1)
    spare = torch.linspace(-0.1, 0.1, count, dtype=DOUBLE)
    return torch.where(same[..., None], torch.stack([spare, spare**2], -1), points)


CASES = [(space, name) for space in (SQUARE, SPHERE) for name in stress(space)]


@pytest.mark.parametrize(("space", "name"), CASES, ids=str)
def test_cells_tile_the_domain(space: Space, name: str) -> None:
    points = stress(space)[name]
    whole = 4 * math.pi if isinstance(space, Sphere) else 4.0
    area = areas(points, space)
    assert (area >= 0).all()
    torch.testing.assert_close(area.sum(1), torch.full_like(area[:, 0], whole), rtol=1e-10, atol=0)


@pytest.mark.parametrize(("space", "name"), CASES, ids=str)
def test_neighbours_share_their_edge(space: Space, name: str) -> None:
    points = stress(space)[name]
    edges, _, _ = all_cells(points, space)
    count = points.shape[1]
    shared = (edges.line < count) & (edges.s2 - edges.s1 > 1e-9) & (edges.a > 1e-10)
    mine = edges[shared]
    length = {
        (int(c) // count, int(c) % count, int(line)): float(s)
        for c, line, s in zip(mine.cell, mine.line, mine.s2 - mine.s1, strict=True)
    }
    assert length
    near = (points[:, :, None] - points[:, None]).norm(dim=-1) < 1e-6  # where edges can blur
    blurred = (near.sum(-1) > 1).any(-1)
    for (row, here, there), size in length.items():
        if not blurred[row]:
            assert length[row, there, here] == pytest.approx(size, abs=1e-8)


@pytest.mark.parametrize(("space", "name"), CASES, ids=str)
def test_corners_are_as_near_to_no_other_atom(space: Space, name: str) -> None:
    points = stress(space)[name]
    edges, _, _ = all_cells(points, space)
    row, atom = edges.cell // points.shape[1], edges.cell % points.shape[1]
    z = points[row, atom]
    s = edges.s2[:, None]
    if isinstance(space, Sphere):
        corner = edges.foot * s.cos() + edges.tangent * s.sin()
    else:
        corner = z + edges.foot + edges.tangent * s
    distance = torch.linalg.vector_norm(corner[:, None] - points[row], dim=-1)
    own = torch.linalg.vector_norm(corner - z, dim=-1)
    assert (own - distance.amin(1)).max() < 1e-8  # 1e-9 is what distances of 1e-6 can tell there
    assert space.contains(space.project(corner)).all()


def test_one_atom_has_the_whole_box_and_the_whole_sphere() -> None:
    edges, twin, empty = all_cells(torch.tensor([[[0.3, -1.0]]], dtype=DOUBLE), SQUARE)
    assert len(edges.a) == 4
    assert not twin.any()
    assert not empty.any()
    edges, _, empty = all_cells(torch.tensor([[[0.0, 0.0, 1.0]]], dtype=DOUBLE), SPHERE)
    assert len(edges.a) == 0
    assert not empty.any()


def test_two_atoms_on_the_sphere_have_a_hemisphere_each() -> None:
    for second in ([0.0, 0.0, -1.0], [0.0, math.sin(1e-6), math.cos(1e-6)], [0.6, 0.8, 0.0]):
        points = torch.tensor([[[0.0, 0.0, 1.0], second]], dtype=DOUBLE)
        edges, _, _ = all_cells(points, SPHERE)
        turn = torch.zeros(2, dtype=DOUBLE).index_add_(0, edges.cell, edges.s2 - edges.s1)
        torch.testing.assert_close(turn, torch.full((2,), 2 * math.pi, dtype=DOUBLE))


def test_the_first_of_coincident_atoms_has_the_cell() -> None:
    points = torch.tensor([[[0.2, 0.1], [0.5, 0.5], [0.2, 0.1], [0.5, 0.5], [-0.3, 0.0]]]).double()
    _, twin, empty = all_cells(points, SQUARE)
    assert twin.tolist() == [True, True, True, True, False]
    assert empty.tolist() == [False, False, True, True, False]
    torch.testing.assert_close(areas(points, SQUARE).sum(), torch.tensor(4.0, dtype=DOUBLE))
    alone = areas(points[:, [0, 1, 4]], SQUARE)
    torch.testing.assert_close(areas(points, SQUARE)[:, [0, 1, 4]], alone)


def test_no_cells_no_edges() -> None:
    nothing = torch.empty(0, dtype=torch.long)
    edges, twin, empty = walk(torch.zeros(0, 3, 2, dtype=DOUBLE), nothing, nothing, SQUARE)
    assert len(edges.a) == len(twin) == len(empty) == 0


def area(polygon: Tensor) -> float:
    """Area of a polygon `(C, 2)` by the shoelace formula; positive if counter-clockwise."""
    x, y = polygon.T
    return float((x * y.roll(-1) - y * x.roll(-1)).sum()) / 2


@pytest.mark.parametrize("count", [1, 2, 5, 30])
def test_corners_surround_the_nearest_points(count: int) -> None:
    source = torch.Generator().manual_seed(count)
    points = 2 * torch.rand(count, 2, generator=source) - 1
    cells = corners(points, Box(-1.0, 1.0))
    line = (torch.arange(400, dtype=torch.float64) + 0.5) / 200 - 1
    owner = torch.cdist(torch.cartesian_prod(line, line), points.double()).argmin(1)
    shares = torch.bincount(owner, minlength=count) * 4 / 400**2
    assert [area(cell) for cell in cells] == pytest.approx(shares.tolist(), abs=5e-3)
    assert sum(map(area, cells)) == pytest.approx(4, rel=1e-12)


def test_corners_lie_on_three_lines() -> None:
    """As far from the cell's atom as from the nearest one, and from two more atoms or sides."""
    points = 2 * torch.rand(12, 2, generator=torch.Generator().manual_seed(0)).double() - 1
    for atom, cell in enumerate(corners(points, Box(-1.0, 1.0))):
        apart = torch.cdist(cell, points)
        assert torch.allclose(apart[:, atom], apart.amin(1))
        neighbours = ((apart - apart.amin(1, keepdim=True)).abs() < 1e-9).sum(1) - 1
        sides = ((cell.abs() - 1).abs() < 1e-9).sum(1)
        assert (neighbours + sides >= 2).all()


def test_twins_have_no_corners() -> None:
    first, second, third = corners(torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.5, 0.0]]), Box(-1, 1))
    assert second.shape == (0, 2)
    assert area(first) == pytest.approx(2.5)
    assert area(third) == pytest.approx(1.5)
