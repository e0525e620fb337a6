"""Outlines of cells against known squares, the library's volumes, and steps along rays."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.angles import from_angles
from vwta.geometry.grids import bin_centres
from vwta.geometry.kernels import Uniform
from vwta.geometry.outlines import Outlines, sphere_borders
from vwta.geometry.polygons import corners
from vwta.geometry.spaces import Box, unit
from vwta.seeds import generator

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])


def scattered(rows: int, K: int) -> Tensor:
    return torch.rand(rows, K, 2, generator=generator(K), dtype=torch.float64) * 2 - 1


@pytest.mark.parametrize("side", [2, 5])
def test_squares(side: int) -> None:
    points = bin_centres([side, side], [-1.0, -1.0], [1.0, 1.0])[None]
    cells, edge = Outlines(points, SQUARE), 2 / side
    every = torch.ones(1, side**2, dtype=torch.float64)
    assert torch.allclose(cells.areas, edge**2 * every)
    assert torch.allclose(cells.diameters, math.sqrt(2) * edge * every)
    assert torch.allclose(cells.radii, edge / math.sqrt(2) * every)
    along = torch.tensor([[1.0, 0.0], [math.sqrt(0.5), math.sqrt(0.5)]], dtype=torch.float64)
    expected = torch.tensor([edge / 2, edge / math.sqrt(2)], dtype=torch.float64)
    assert torch.allclose(cells.reach(along), expected.expand(1, side**2, 2))


@pytest.mark.parametrize("K", [1, 2, 7, 60])
def test_areas_are_the_volumes_of_the_library(K: int) -> None:
    points = scattered(3, K)
    masses = torch.full((3, K), 1 / K, dtype=torch.float64)
    volumes = VoronoiMixture(points, masses, Uniform(), SQUARE).log_cell_mass.exp()
    areas = Outlines(points, SQUARE).areas
    assert torch.allclose(areas, volumes, atol=1e-14)
    assert torch.allclose(areas.sum(1), torch.full((3,), 4.0, dtype=torch.float64))


def test_sizes_against_corners_one_by_one() -> None:
    points = scattered(2, 9)
    cells = Outlines(points, SQUARE)
    for row in range(2):
        for k, outline in enumerate(corners(points[row], SQUARE)):
            ends = outline.tolist()
            widest = max(math.dist(a, b) for a in ends for b in ends)
            farthest = max(math.dist(a, points[row, k].tolist()) for a in ends)
            assert cells.diameters[row, k].item() == pytest.approx(widest, abs=1e-12)
            assert cells.radii[row, k].item() == pytest.approx(farthest, abs=1e-12)


def test_rays_end_where_the_cell_does() -> None:
    points = scattered(2, 11)
    angle = torch.rand(40, generator=generator(0), dtype=torch.float64) * 2 * math.pi
    directions = torch.stack([angle.cos(), angle.sin()], -1)
    reach = Outlines(points, SQUARE).reach(directions)
    for step, within in ((1 - 1e-9, True), (1 + 1e-9, False)):
        y = points[:, :, None] + step * reach[..., None] * directions
        nearest = torch.cdist(y.flatten(1, 2), points).argmin(-1).view(2, 11, 40)
        own = (nearest == torch.arange(11)[:, None]) & SQUARE.contains(y)
        assert (own == within).all()


def test_the_farthest_point_against_a_fine_grid() -> None:
    points = scattered(3, 8)
    line = torch.linspace(-1, 1, 301, dtype=torch.float64)
    y = torch.cartesian_prod(line, line)
    distance, best = torch.cdist(y.expand(3, -1, -1), points).amin(-1).max(1)
    found, radius = Outlines(points, SQUARE).farthest()
    assert (radius >= distance - 1e-12).all()
    assert torch.allclose(radius, distance, atol=0.01)
    assert torch.allclose(torch.cdist(found[:, None], points).amin(-1)[:, 0], radius)
    assert (found - y[best]).square().sum(-1).sqrt().max() < 0.02


def test_a_twin_has_no_cell() -> None:
    points = torch.tensor([[[0.3, 0.1], [-0.5, 0.0], [0.3, 0.1]]], dtype=torch.float64)
    cells = Outlines(points, SQUARE)
    assert cells.areas[0, 2] == cells.diameters[0, 2] == cells.radii[0, 2] == 0
    assert (cells.reach(torch.eye(2, dtype=torch.float64))[0, 2] == 0).all()
    assert cells.areas.sum().item() == pytest.approx(4)


@pytest.mark.parametrize("K", [5, 9, 30])
def test_borders_on_the_sphere_are_halfway_between_the_two_nearest_atoms(K: int) -> None:
    points = unit(torch.randn(K, 3, generator=generator(0), dtype=torch.float64))
    found = sphere_borders(points, 0.5)
    assert len(found) == 3 * K - 6  # Euler: three borders meet in each corner
    for border in (arc.numpy() for arc in found):
        cosines = border @ points.numpy().T
        nearest = np.sort(cosines, axis=1)
        assert np.allclose(nearest[:, -1], nearest[:, -2], atol=1e-9)
        inner = np.argsort(cosines, axis=1)[1:-1, -2:]
        assert len({tuple(sorted(pair)) for pair in inner.tolist()}) == 1
        steps = np.linalg.norm(np.diff(border, axis=0), axis=1)
        assert np.rad2deg(steps).max() <= 0.5


def test_two_atoms_on_the_sphere_share_a_great_circle() -> None:
    angles = torch.tensor([[20.0, 10.0], [70.0, -30.0]], dtype=torch.float64).deg2rad()
    atoms = from_angles(angles)
    border = torch.cat(sphere_borders(atoms, 0.5)).numpy()
    normal = (atoms[0] - atoms[1]).numpy()
    assert np.allclose(border @ normal, 0, atol=1e-9)
    assert np.allclose(border.min(0), -border.max(0), atol=1e-3)  # all the way around
