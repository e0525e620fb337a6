"""The line that ends a ray, compared with how far all lines are along it, one after another."""

import math

import pytest
import torch
from torch import Tensor

from vwta.geometry import ends
from vwta.geometry.directions import cube
from vwta.geometry.ends import first_lines
from vwta.geometry.spaces import Box, Space, Sphere, unit

DOUBLE = torch.float64
COUNT, CELLS, RAYS = 150, 12, 40
SPACES = {
    "square": (Box(0.0, 1.0), 2),
    "five axes": (Box(0.0, 1.0), 5),
    "no sides": (Box(-math.inf, math.inf), 4),
    "sphere": (Sphere(), 3),
}


@pytest.fixture(params=["among the nearest", "among all"])
def near(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "NEAREST", 12 if request.param == "among the nearest" else 1000)


def atoms(size: int, space: Space, kind: str) -> Tensor:
    source = torch.Generator().manual_seed(size)
    points = torch.rand(2, COUNT, size, dtype=DOUBLE, generator=source)
    if kind == "cluster":  # whose rays go far beyond their nearest atoms
        points[:, : COUNT // 2] = 0.4 + 1e-6 * points[:, : COUNT // 2]
    if kind == "twins":
        points[:, 1::2] = points[:, ::2]
        points[:, : COUNT // 4] = points[:, :1].clone()
    if kind == "half" and not isinstance(space, Sphere):
        points[..., 0] = 0.0  # on a side
    return space.project(unit(points) if isinstance(space, Sphere) else points)


def rays(z: Tensor, space: Space) -> Tensor:
    source = torch.Generator().manual_seed(1)
    ray = torch.randn(len(z), RAYS, z.shape[1], dtype=DOUBLE, generator=source)
    if isinstance(space, Sphere):
        ray = ray - (ray * z[:, None]).sum(-1, keepdim=True) * z[:, None]
    return unit(ray)


def reaches(points: Tensor, z: Tensor, ray: Tensor, space: Space) -> Tensor:
    """How far each line is along each ray, `(S, K + sides)`: infinite if it is not met."""
    apart = points - z
    if isinstance(space, Sphere):
        # The points cos(t) z + sin(t) r that are as far from w as from z: half a turn at most.
        reach = torch.atan2(((apart**2).sum(-1) / 2).expand(len(ray), -1), ray @ apart.T)
        return reach.masked_fill((apart == 0).all(-1), math.inf)
    reach = (apart**2).sum(-1) / 2 / (ray @ apart.T)
    reach = reach.masked_fill((reach <= 0) | reach.isnan(), math.inf)
    normals, to_side = space.sides(z)
    speed = ray @ normals.T
    return torch.cat([reach, torch.where(speed > 0, to_side / speed, math.inf)], 1)


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("where", SPACES)
@pytest.mark.parametrize("kind", ["scattered", "cluster", "twins", "half"])
def test_the_first_of_all_lines(where: str, kind: str) -> None:
    space, size = SPACES[where]
    points = atoms(size, space, kind)
    row, atom = torch.arange(CELLS) % 2, 5 * torch.arange(CELLS)
    ray = rays(points[row, atom], space)
    slowest = -math.inf if isinstance(space, Sphere) else 0.0
    line = first_lines(points, row, atom, space, ray, slowest)
    for c in range(CELLS):
        z = points[row[c], atom[c]]
        reach = reaches(points[row[c]], z, ray[c], space)
        least = reach.amin(1)
        assert torch.equal(line[c] < 0, least.isinf())
        met = line[c] >= 0
        found = reach.gather(1, line[c].clamp_min(0)[:, None])[:, 0]
        torch.testing.assert_close(found[met], least[met], rtol=1e-9, atol=1e-13)


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize("where", SPACES)
def test_no_cells_and_lone_atoms(where: str) -> None:
    space, size = SPACES[where]
    points = atoms(size, space, "scattered")
    nothing = torch.arange(0)
    slowest = -math.inf if isinstance(space, Sphere) else 0.0
    ray = rays(points[0, :1], space)
    assert first_lines(points, nothing, nothing, space, ray, slowest).shape == (0, RAYS)
    first = torch.zeros(1, dtype=torch.long)
    line = first_lines(points[:1, :1], first, first, space, ray, slowest)
    bounded = isinstance(space, Box) and space.bounded
    assert bool((line >= 1).all() if bounded else (line == -1).all())


def test_atoms_next_to_each_other_have_a_border() -> None:
    """Squares of distances below the least normal float."""
    points = torch.tensor([[[0.0, 0.0, 0.0, 0.0], [1e-160, 0.0, 0.0, 0.0]]], dtype=DOUBLE)
    first = torch.zeros(1, dtype=torch.long)
    ray = torch.eye(4, dtype=DOUBLE)[None]
    line = first_lines(points, first, first, Box(-1.0, 1.0), ray, 0.0)
    assert line.tolist() == [[1, 3, 4, 5]]


def test_the_nearest_alone_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the certificate rays from a tight cluster miss the atoms around it."""
    points = atoms(5, SPACES["five axes"][0], "cluster")
    row, atom = torch.zeros(CELLS, dtype=torch.long), torch.arange(CELLS)
    ray = rays(points[row, atom], SPACES["five axes"][0])
    right = first_lines(points, row, atom, Box(0.0, 1.0), ray, 0.0)
    monkeypatch.setattr(ends, "NEAREST", 12)
    monkeypatch.setattr(ends, "MARGIN", 0.0)
    assert (first_lines(points, row, atom, Box(0.0, 1.0), ray, 0.0) != right).any()


def test_sobol_points_are_kept() -> None:
    assert cube(64, 3, 5) is cube(64, 3, 5)
    assert not torch.equal(cube(64, 3, 5), cube(64, 4, 5))
