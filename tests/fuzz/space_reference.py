r"""Integrals over cells of space by positive quadrature of their faces, slow and simple.

With the integral :math:`R_k(r)` of :math:`t^{k + 2} K_h(t)` up to r, the integral of y to the
power k over a cell is one of :math:`y^k R_k(r) / r^{k + 3}` over its faces, times the distance of
each from the atom. Faces are found one by one: a square in the plane of each, cut by all other
planes. They are divided into triangles that are small beside the kernel, or beside their distance
from the atom. Unlike the library, no edge is looked at, no foot matters, and all terms are
positive: what is missed or doubled here is only what has no area.
"""

import math
from dataclasses import dataclass

import numpy as np
from fuzz.reference import REACH, Moments
from scipy.special import gammainc

NODES, WEIGHTS = (x / 2 for x in np.polynomial.legendre.leggauss(10))
FINE = 1.2  # largest side of a triangle, beside the kernel or its distance from the atom


@dataclass(frozen=True)
class Solid:
    """Faces of a cell about its atom: distances of their planes, and their corners, `(n, 3)`."""

    distances: list[float]
    faces: list[np.ndarray]

    @property
    def aspect(self) -> float:
        """Radius times surface by volume: 9 for a ball, large for what is thin."""
        areas = [_triangles(face)[1].sum() for face in self.faces]
        radius = max(float(np.linalg.norm(face, axis=-1).max()) for face in self.faces)
        volume = sum(p * a for p, a in zip(self.distances, areas, strict=True)) / 3
        return radius * float(sum(areas)) / volume


def solid(points: np.ndarray, k: int, low: np.ndarray, high: np.ndarray, h: float) -> Solid:
    """The cell of an atom, ended where the kernel is not felt any more."""
    apart = np.unique(points - points[k], axis=0)
    length = np.linalg.norm(apart, axis=-1)
    apart, length = apart[length > 0], length[length > 0]
    reach = math.inf if math.isinf(h) else REACH * h
    sides = np.minimum(np.concatenate([high - points[k], points[k] - low]), reach)
    normals = np.concatenate([apart / length[:, None], np.eye(3), -np.eye(3)])
    offsets = np.concatenate([length / 2, sides])
    order = np.argsort(offsets, kind="stable")
    normals, offsets = normals[order], offsets[order]
    widest = float(np.linalg.norm(np.maximum(sides[:3], sides[3:])))
    distances, faces = [], []
    for i in np.flatnonzero(offsets < widest):
        face = _face(normals, offsets, int(i), widest)
        if len(face) > 2:
            distances.append(float(offsets[i]))
            faces.append(face)
    return Solid(distances, faces)


def _face(normals: np.ndarray, offsets: np.ndarray, i: int, widest: float) -> np.ndarray:
    """Corners `(n, 3)` of the part of a plane within all half-spaces."""
    n, p = normals[i], offsets[i]
    across = np.linalg.svd(n[None])[2][1:]
    face = p * n + 2 * widest * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) @ across
    for j in range(len(normals)):
        if j == i:
            continue
        height = face @ normals[j] - offsets[j]
        if (height <= 0).all():
            continue
        kept = []
        for a, b, s, t in zip(face, np.roll(face, -1, 0), height, np.roll(height, -1), strict=True):
            if s <= 0:
                kept.append(a)
            if s * t < 0:
                kept.append(a + s / (s - t) * (b - a))
        face = np.array(kept)
        if len(face) < 3:
            break
    return face


def space_moments(cell: Solid, h: float) -> Moments:
    """Integrals of a Gaussian at the origin over a cell; of 1 if `h` is infinite."""
    total = np.zeros(7)
    for p, face in zip(cell.distances, cell.faces, strict=True):
        if p:
            y, weight = _face_nodes(face, p, h)
            r = np.linalg.norm(y, axis=-1)
            flat = math.isinf(h)
            u = r if flat else r**2 / (2 * h**2)
            mean = math.sqrt(8 / math.pi) * h
            radial = [
                r**3 / 3 if flat else gammainc(1.5, u) / (4 * math.pi),
                r**4 / 4 if flat else mean * gammainc(2.0, u) / (4 * math.pi),
                r**5 / 5 if flat else 3 * h**2 * gammainc(2.5, u) / (4 * math.pi),
            ]
            scaled = [p * weight * x / r ** (3 + i) for i, x in enumerate(radial)]
            total += np.concatenate([[scaled[0].sum()], scaled[1] @ y, scaled[2] @ y**2])
    return Moments(float(total[0]), total[1:4] / total[0], total[4:] / total[0])


def _triangles(face: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A convex polygon as triangles `(t, 3, 3)`, and their areas."""
    first = np.broadcast_to(face[0], (len(face) - 2, 3))
    found = np.stack([first, face[1:-1], face[2:]], 1)
    return found, np.linalg.norm(np.cross(found[:, 1] - first, found[:, 2] - first), axis=-1) / 2


def _face_nodes(face: np.ndarray, p: float, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes `(n, 3)` and weights `(n,)` on a face at the distance `p`."""
    done, todo = [], _triangles(face)[0]
    while len(todo):
        sides = np.linalg.norm(todo - np.roll(todo, -1, 1), axis=-1)
        nearest = np.linalg.norm(todo, axis=-1).min(1) - sides.max(1)
        coarse = sides.max(1) > FINE * np.maximum(np.maximum(nearest, p), h)
        done.append(todo[~coarse])
        todo, longest = todo[coarse], sides[coarse].argmax(1)
        each = np.arange(len(todo))
        a, b, c = (todo[each, (longest + i) % 3] for i in range(3))
        middle = (a + b) / 2
        todo = np.concatenate([np.stack([a, middle, c], 1), np.stack([middle, b, c], 1)])
    small = np.concatenate(done)
    s, t = (NODES + 0.5)[:, None], (NODES + 0.5)[None]
    one, two = (s * (1 - t)).ravel(), (s * t + 0 * s).ravel()
    rule = (s * WEIGHTS[:, None] * WEIGHTS[None]).ravel()
    a, b, c = (small[:, i, None] for i in range(3))
    y = a + one[:, None] * (b - a) + two[:, None] * (c - a)
    double = np.linalg.norm(np.cross(small[:, 1] - small[:, 0], small[:, 2] - small[:, 0]), axis=-1)
    return y.reshape(-1, 3), (double[:, None] * rule).ravel()
