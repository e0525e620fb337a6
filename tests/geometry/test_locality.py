"""Cells found among the nearest atoms are those found among all of them."""

import math

import pytest
import torch
from torch import Tensor

from vwta.geometry import polygons
from vwta.geometry.neighbours import TREE, Neighbours
from vwta.geometry.polygons import walk, walk_all, walk_near
from vwta.geometry.spaces import Box, Space, Sphere

DOUBLE = torch.float64
SPHERE = Sphere()
BOXES = {
    "square": Box(-1.0, 1.0),
    "unbounded": Box(-math.inf, math.inf),
    "half": Box([-1.0, -math.inf], [math.inf, 1.0]),
    "wide": Box(-1e9, 1e9),
}
COUNT = 240


@pytest.fixture(autouse=True)
def _to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not take all atoms because only few cells are left."""
    monkeypatch.setattr(polygons, "REST", 0)


def plane() -> dict[str, Tensor]:
    """Atoms in the square, `(B, K, 2)`."""
    source = torch.Generator().manual_seed(0)

    def scatter(*shape: int) -> Tensor:
        return torch.rand(*shape, 2, dtype=DOUBLE, generator=source) * 2 - 1

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, 2, dtype=DOUBLE, generator=source)

    side, line = torch.linspace(-0.9, 0.8, 15, dtype=DOUBLE), scatter(1, COUNT)[..., :1]
    grid = torch.cartesian_prod(side, side)[None]
    turn, axis = math.pi * line, torch.tensor([1.0, 0.5], dtype=DOUBLE)
    twins, many = scatter(1, COUNT), scatter(1, COUNT)
    twins[:, ::3] = twins[:, 1::3]
    many[:, : COUNT // 2] = many[:, -1:]
    cases = {f"scattered {rows}": scatter(rows, COUNT) for rows in (1, 3)}
    for size in (1e-2, 1e-5, 1e-9, 1e-12):
        tight = 0.9 * scatter(1, 6, 1) + size * noise(1, 6, COUNT // 6)
        cases[f"clusters of {size}"] = tight.flatten(1, 2).clamp(-1, 1)
        lone = 0.1 + size * noise(1, COUNT - 20)
        cases[f"far cells around {size}"] = torch.cat([scatter(1, 20), lone], 1).clamp(-1, 1)
    return cases | {
        "grid": grid,
        "grid askew": grid @ torch.tensor([[0.8, 0.6], [-0.6, 0.8]], dtype=DOUBLE) * 0.7,
        "on a line": line * axis,
        "nearly on a line": (line * axis + 1e-9 * noise(1, COUNT)).clamp(-1, 1),
        "on two lines": torch.cat([line * axis, line * axis + 1e-7], 1).clamp(-1, 1),
        "on a circle": 0.9 * torch.cat([turn.cos(), turn.sin()], -1),
        "twins": twins,
        "many twins": many,
        "pairs": torch.cat([grid, grid + 1e-13 * noise(1, 225)], 1),
        "coarse": torch.randint(-8, 9, (1, COUNT, 2), generator=source).double() / 8,
        "of all sizes": torch.exp(20 * (line - 1)) * scatter(1, COUNT),
    }


def sphere() -> dict[str, Tensor]:
    """Atoms on the sphere, `(B, K, 3)`."""
    source = torch.Generator().manual_seed(1)

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, 3, dtype=DOUBLE, generator=source)

    flat, north, many = noise(1, COUNT), noise(1, COUNT), noise(1, COUNT)
    flat[..., 2] = 0
    north[..., 2] = north[..., 2].abs() + 0.5
    many[:, : COUNT // 2] = many[:, -1:]
    cases = {"scattered 1": noise(1, COUNT), "scattered 3": noise(3, COUNT)}
    for size in (1e-2, 1e-5):
        tight = SPHERE.project(noise(1, 6, 1)) + size * noise(1, 6, COUNT // 6)
        cases[f"clusters of {size}"] = tight.flatten(1, 2)
        lone = SPHERE.project(noise(1, 1)) + size * noise(1, COUNT - 20)
        cases[f"far cells around {size}"] = torch.cat([SPHERE.project(noise(1, 20)), lone], 1)
    cases |= {"on a ring": flat, "on a half": north, "many twins": many}
    return {name: SPHERE.snap(SPHERE.project(atoms)) for name, atoms in cases.items()}


def every_cell(points: Tensor) -> tuple[Tensor, Tensor]:
    cell = torch.arange(points.shape[0] * points.shape[1])
    return cell // points.shape[1], cell % points.shape[1]


def check(points: Tensor, row: Tensor, atom: Tensor, space: Space) -> None:
    """Compare the cells found near and among all: bits in the plane, 1e-12 on the sphere."""
    near, twin, empty = walk_near(points, row, atom, space)
    edges, twins, empties = walk_all(points, row, atom, space)
    assert torch.equal(twin, twins)
    assert torch.equal(empty, empties)
    assert torch.equal(near.cell, edges.cell)
    assert torch.equal(near.line, edges.line)
    atol = 1e-12 if isinstance(space, Sphere) else 0.0
    for name in ("a", "b", "s1", "s2", "normal", "foot", "tangent"):
        found, right = getattr(near, name), getattr(edges, name)
        torch.testing.assert_close(found, right, rtol=0, atol=atol, equal_nan=True)


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("name", plane())
def test_cells_in_the_plane_have_the_same_bits(name: str, box: str) -> None:
    points = plane()[name]
    check(points, *every_cell(points), BOXES[box])


@pytest.mark.parametrize("name", sphere())
def test_cells_on_the_sphere_are_the_same(name: str) -> None:
    points = sphere()[name]
    check(points, *every_cell(points), SPHERE)


@pytest.mark.parametrize("space", [BOXES["square"], SPHERE], ids=str)
def test_some_cells_in_any_order(space: Space) -> None:
    """A few cells of one tessellation, compared with all, and many of another, by its tree."""
    points = (sphere() if isinstance(space, Sphere) else plane())["scattered 3"]
    source = torch.Generator().manual_seed(2)
    row = torch.cat([torch.zeros(TREE - 1), torch.ones(3 * TREE), torch.tensor([2.0, 0.0])]).long()
    row = row[torch.randperm(len(row), generator=source)]
    check(points, row, torch.randint(COUNT, row.shape, generator=source), space)


@pytest.mark.parametrize("space", [BOXES["square"], SPHERE], ids=str)
@pytest.mark.parametrize("name", ["scattered 1", "far cells around 0.01"])
def test_the_nearest_alone_would_not_do(
    name: str, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the certificate, big cells beside tight clusters lose borders."""
    points = (sphere() if isinstance(space, Sphere) else plane())[name]
    row, atom = every_cell(points)
    edges, _, _ = walk_all(points, row, atom, space)
    monkeypatch.setattr(polygons, "MARGIN", 0.0)
    careless, _, _ = walk_near(points, row, atom, space)
    assert len(careless.cell) != len(edges.cell) or (careless.line != edges.line).any()


def test_far_lines_that_face_the_same_way_are_not_told_apart_among_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where lines hide one another, cells are found among all lines."""
    points = plane()["on two lines"]
    sizes = []

    def spy(points: Tensor, row: Tensor, atom: Tensor, space: Space) -> object:
        sizes.append(len(row))
        return walk_all(points, row, atom, space)

    monkeypatch.setattr(polygons, "walk_all", spy)
    walk_near(points, *every_cell(points), BOXES["unbounded"])
    assert sizes == [points.shape[1]]


def test_many_cells_are_looked_for_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    source = torch.Generator().manual_seed(3)
    points = 2 * torch.rand(1, 1000, 2, dtype=DOUBLE, generator=source) - 1
    row, atom = every_cell(points)
    seen = []

    def spy(points: Tensor, row: Tensor, atom: Tensor, space: Space) -> object:
        seen.append(len(row))
        return walk_all(points, row, atom, space)

    monkeypatch.setattr(polygons, "walk_all", spy)
    walk(points, row, atom, BOXES["square"])
    walk(points, row[:50], atom[:50], BOXES["square"])
    assert seen == [0, 50]


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("e", [2, 3])
def test_neighbours(rows: int, e: int) -> None:
    """By tree and by comparison, the atoms up to a distance, in ascending order."""
    source = torch.Generator().manual_seed(e)
    points = torch.randn(rows, 60, e, dtype=DOUBLE, generator=source)
    row = torch.randint(rows, (80,), generator=source)
    atom = torch.randint(60, (80,), generator=source)
    chosen = torch.randperm(80, generator=source)[:50]
    found, square = Neighbours(points, row, atom).nearest(chosen, 7)
    z = points[row[chosen], atom[chosen]]
    distance, order = ((points[row[chosen]] - z[:, None]) ** 2).sum(-1).sort(1)
    assert torch.equal(found, order[:, :7].sort(1).values)
    torch.testing.assert_close(square, distance[:, 6])
