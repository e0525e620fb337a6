"""Jobs on cells of one tessellation: areas and volumes."""

from __future__ import annotations

__all__ = ["PLANE", "PLANES", "SPACE", "SPACE_5", "SPHERE"]

import math
from itertools import pairwise
from typing import NamedTuple

import multivoro
import numpy as np
import shapely
import torch
from fuzz.reference import SphereCell, area, plane_cell
from fuzz.space_reference import solid, space_moments
from job import Array, Job
from scipy.spatial import ConvexHull, HalfspaceIntersection, SphericalVoronoi, Voronoi

from vwta import Box, Sphere, Uniform, VoronoiMixture
from vwta.geometry.cells import Tessellation
from vwta.geometry.spaces import Space

SIZES = (10, 100, 1000, 10_000)
CHECKED = 10  # cells whose volume is known exactly
LAWS = 200  # tessellations at once
FEW = 5  # cells asked for in five dimensions


class Cells(NamedTuple):
    """Atoms `(K, e)`, and the cells asked for."""

    points: Array
    cells: Array


def _box(count: int, dim: int, asked: int | None = None) -> Cells:
    points = np.random.default_rng(count).random((count, dim))
    return Cells(points, np.arange(count if asked is None else asked))


def _sphere(count: int) -> Cells:
    points = np.random.default_rng(count).normal(size=(count, 3))
    return Cells(points / np.linalg.norm(points, axis=1, keepdims=True), np.arange(count))


def _all(data: Cells) -> Array:
    points = torch.from_numpy(data.points)
    even = torch.full_like(points[..., 0], 1 / points.shape[-2])
    law = VoronoiMixture(points, even, Uniform(), Box(0.0, 1.0))
    return law.log_cell_mass.numpy().ravel()


def _ours(data: Cells, space: Space) -> Array:
    cells = Tessellation(torch.from_numpy(data.points)[None], space, None)
    kernel = Uniform()
    kernel = kernel.at(kernel.h.expand(len(data.cells)))
    return cells.log_mass(torch.from_numpy(data.cells), kernel).numpy()


def _shapely(data: Cells) -> Array:
    points = shapely.MultiPoint(data.points)
    cells = shapely.voronoi_polygons(points, extend_to=shapely.box(0, 0, 1, 1), ordered=True)
    return np.log(shapely.area(shapely.clip_by_rect(shapely.get_parts(cells), 0, 0, 1, 1)))


def _each_by_shapely(data: Cells) -> Array:
    return np.concatenate([_shapely(Cells(points, data.cells)) for points in data.points])


def _mirrored(points: Array) -> Array:
    """Atoms, then their images behind each side of the unit box: cells end at the sides."""
    axes = np.eye(points.shape[1], dtype=bool)
    images = [np.where(axis, 2 * end - points, points) for axis in axes for end in (0, 1)]
    return np.concatenate([points, *images])


def _qhull_plane(data: Cells) -> Array:
    found = Voronoi(_mirrored(data.points))
    regions = [found.regions[i] for i in found.point_region[: len(data.points)]]
    sizes = np.array([len(region) for region in regions])
    start = np.concatenate([[0], sizes.cumsum()[:-1]])
    place = np.concatenate(regions)
    after = np.arange(1, len(place) + 1)
    after[start + sizes - 1] = start
    atom = np.repeat(data.points, sizes, axis=0)
    p, q = found.vertices[place] - atom, found.vertices[place[after]] - atom
    return np.log(np.abs(np.add.reduceat(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], start)) / 2)


def _voro(data: Cells) -> Array:
    """Voro++, which gives corners and faces: volumes as sums of cones over triangles."""
    found = multivoro.compute_voronoi(
        points=data.points, radii=np.ones(len(data.points)), limits=[[0.0] * 3, [1.0] * 3]
    )
    volumes = np.empty(len(found))
    for k, cell in enumerate(found):
        faces, corners = cell.get_face_vertices(), cell.get_vertices() - data.points[k]
        triangles, start = [], 0
        while start < len(faces):
            face = faces[start + 1 : start + 1 + faces[start]]
            triangles += [(face[0], b, c) for b, c in pairwise(face[1:])]
            start += 1 + faces[start]
        volumes[k] = np.abs(np.linalg.det(corners[np.array(triangles)])).sum() / 6
    return np.log(volumes)


def _qhull_cell(points: Array, k: int) -> float:
    """Log-volume of a cell in the unit box of any dimension, by convex hulls of duals."""
    apart = np.delete(points, k, axis=0) - points[k]
    length = np.linalg.norm(apart, axis=1)
    eye = np.eye(points.shape[1])
    normals = np.concatenate([apart / length[:, None], eye, -eye])
    offsets = np.concatenate([length / 2, 1 - points[k], points[k]])
    corners = HalfspaceIntersection(
        np.concatenate([normals, -offsets[:, None]], axis=1), np.zeros(points.shape[1])
    ).intersections
    return math.log(ConvexHull(corners).volume)


def _qhull(data: Cells) -> Array:
    return np.array([_qhull_cell(data.points, int(k)) for k in data.cells])


def _exact_areas(data: Cells) -> tuple[Array, Array]:
    cells = data.cells[:CHECKED]
    low, high = np.zeros(2), np.ones(2)
    areas = [float(area(plane_cell(data.points, int(k), low, high))) for k in cells]
    return cells, np.log(areas)


def _exact_sphere(data: Cells) -> tuple[Array, Array]:
    cells = data.cells[:CHECKED]
    areas = []
    for k in cells:
        # Only the nearest atoms bound a cell: 60 are ample for points drawn evenly.
        near = np.argsort(-(data.points @ data.points[k]))[:60]
        areas.append(SphereCell.around(data.points[near], 0).moments(math.inf).mass)
    return cells, np.log(areas)


def _exact_volumes(data: Cells) -> tuple[Array, Array]:
    cells = data.cells[:CHECKED]
    volumes = []
    for k in cells:
        near = np.argsort(np.linalg.norm(data.points - data.points[k], axis=1))[:200]
        cell = solid(data.points[near], 0, np.zeros(3), np.ones(3), math.inf)
        volumes.append(space_moments(cell, math.inf).mass)
    return cells, np.log(volumes)


PLANE = Job(
    "areas of K cells",
    "square",
    "K",
    SIZES,
    lambda count: _box(count, 2),
    {
        "vwta": lambda data: _ours(data, Box(0.0, 1.0)),
        "shapely": _shapely,
        "scipy Voronoi": _qhull_plane,
    },
    _exact_areas,
)
PLANES = Job(
    f"{LAWS} times areas of K cells",
    "square",
    "K",
    SIZES,
    lambda count: Cells(np.random.default_rng(count).random((LAWS, count, 2)), np.arange(count)),
    {"vwta": _all, "shapely": _each_by_shapely},
    lambda data: _exact_areas(Cells(data.points[0], data.cells)),
)
SPHERE = Job(
    "areas of K cells",
    "sphere",
    "K",
    SIZES,
    _sphere,
    {
        "vwta": lambda data: _ours(data, Sphere()),
        "SphericalVoronoi": lambda data: np.log(SphericalVoronoi(data.points).calculate_areas()),
    },
    _exact_sphere,
)
SPACE = Job(
    "volumes of K cells",
    "d = 3",
    "K",
    SIZES,
    lambda count: _box(count, 3),
    {"vwta": lambda data: _ours(data, Box(0.0, 1.0)), "Voro++": _voro},
    _exact_volumes,
)
SPACE_5 = Job(
    f"volumes of {FEW} of K cells",
    "d = 5",
    "K",
    SIZES,
    lambda count: _box(count, 5, FEW),
    {"vwta": lambda data: _ours(data, Box(0.0, 1.0)), "Qhull": _qhull},
    lambda data: (data.cells, _qhull(data)),
    reference="Qhull",
)
