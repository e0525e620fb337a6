r"""Integrals over cells by other mathematics than the library's, slow and simple.

Cells in the plane are cut from their box by exact rational arithmetic, and Gaussians are integrated
over them in Cartesian coordinates, slab by slab: by Gauss-Legendre rules in float64 for every cell,
by error functions in 30 digits where that rule is itself to be checked. The line has error
functions in 60 digits. The sphere has polar coordinates about the atom, with an adaptive rule
between directions of corners that are found from all pairs of neighbours.

A cell is star-shaped about its atom. Beyond `REACH` bandwidths each ray from the atom has less than
:math:`e^{-REACH^2 / 2}` = 3e-20 of its mass, so that an endless cell may be cut there.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np

Point = tuple[Fraction, Fraction]
Polygon = list[Point]
REACH = 9.5
PANEL = 3.0  # bandwidths that one rule covers
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
DIGITS = 60


@dataclass(frozen=True)
class Moments:
    """A kernel's integrals over a cell: mass, and means of `y - z` and of its squares, `(e,)`."""

    mass: float
    first: np.ndarray
    second: np.ndarray

    @property
    def log_mass(self) -> float:
        return math.log(self.mass)


def nearest(points: np.ndarray, y: np.ndarray, slack: float = 0.0, blur: float = 0.0) -> list[int]:
    """Atoms `(K, e)` nearest to a point `(e,)`, in exact arithmetic, and those nearly as near.

    Arguments:
        slack: how much further than the nearest one an atom may be, as a length; an atom counts if
            the point is within `slack` of the border between the two.
        blur: how much larger its squared distance may be whatever the border.
    """
    rough = np.linalg.norm(points - y, axis=-1)
    candidates = np.flatnonzero(rough <= rough.min() * (1 + 1e-9) + 3 * slack)
    apart = {int(k): _difference(points[k], y) for k in candidates}
    square = {k: sum(x * x for x in difference) for k, difference in apart.items()}
    best = min(square, key=square.__getitem__)
    found = []
    for k, difference in apart.items():
        gap = sum((a - b) ** 2 for a, b in zip(difference, apart[best], strict=True))
        # The distance to the border is (square - least square) / 2 sqrt(gap).
        if float(square[k] - square[best]) <= 2 * slack * math.sqrt(float(gap)) + blur:
            found.append(k)
    return found


def _difference(a: np.ndarray, b: np.ndarray) -> list[Fraction]:
    """The difference of two points, exact."""
    return [Fraction(float(x)) - Fraction(float(y)) for x, y in zip(a, b, strict=True)]


def twins(points: np.ndarray, k: int) -> list[int]:
    """Atoms `(K, e)` that coincide with one of them, which is among them."""
    return [int(j) for j in np.flatnonzero((points == points[k]).all(-1))]


def plane_cell(
    points: np.ndarray, k: int, low: np.ndarray, high: np.ndarray, h: float = math.inf
) -> Polygon:
    """Corners of a Voronoi cell, counter-clockwise, relative to the atom, without any rounding.

    Arguments:
        points: atoms, `(K, 2)`.
        k: whose cell; it has no corners if an earlier atom coincides with this one.
        low: lower ends of the box, `(2,)`; may be infinite.
        high: upper ends.
        h: bandwidth: nothing further than `REACH` bandwidths along an axis is kept.
    """
    if twins(points, k)[0] < k:
        return []
    z = [Fraction(float(x)) for x in points[k]]
    window = None if math.isinf(h) else Fraction(REACH) * Fraction(h)
    sides = []
    for at, ends in zip(z, zip(low, high, strict=True), strict=True):
        reach = [None if math.isinf(end) else abs(Fraction(float(end)) - at) for end in ends]
        left, right = (min(x for x in (r, window) if x is not None) for r in reach)
        sides.append((-left, right))
    (left, right), (bottom, top) = sides
    cell = [(left, bottom), (right, bottom), (right, top), (left, top)]
    rough = ((points - points[k]) ** 2).sum(-1)
    for j in np.argsort(rough):
        if rough[j] > 4.001 * max(float(p) ** 2 + float(q) ** 2 for p, q in cell):
            break  # neither this bisector nor those further away meet the cell
        a, b = _difference(points[j], points[k])
        if a or b:
            cell = clip(cell, (a, b), (a * a + b * b) / 2)
    return cell


def clip(polygon: Polygon, normal: Point, offset: Fraction) -> Polygon:
    """The part of a convex polygon where `normal @ p <= offset`, by Sutherland and Hodgman."""
    height = [normal[0] * p + normal[1] * q - offset for p, q in polygon]
    clipped: Polygon = []
    for i, (p, q) in enumerate(polygon):
        here, there = height[i], height[(i + 1) % len(polygon)]
        if here <= 0:
            clipped.append((p, q))
        if (here < 0 < there) or (there < 0 < here):
            r, s = polygon[(i + 1) % len(polygon)]
            t = here / (here - there)
            clipped.append((p + t * (r - p), q + t * (s - q)))
    return clipped


def area(polygon: Polygon) -> Fraction:
    """Area of a polygon, exact."""
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return sum((p * s - r * q for (p, q), (r, s) in pairs), Fraction(0)) / 2


def aspect(polygon: Polygon) -> float:
    """Square of a polygon's diameter by its area: 1.3 for a disc, large for what is thin."""
    corners = np.array([[float(x) for x in corner] for corner in polygon])
    apart = corners[:, None] - corners
    return float((apart**2).sum(-1).max()) / float(area(polygon))


@dataclass(frozen=True)
class Slab:
    """A trapezium with vertical sides at `left` and `right`, from `low` to `high` there."""

    left: Fraction
    right: Fraction
    low: tuple[Fraction, Fraction]
    high: tuple[Fraction, Fraction]


def slabs(polygon: Polygon) -> Iterable[Slab]:
    """A convex polygon, cut along vertical lines through its corners."""
    stops = sorted({p for p, _ in polygon})
    for left, right in pairwise(stops):
        ends = []
        for (p, q), (r, s) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
            if min(p, r) <= left and right <= max(p, r):
                slope = (s - q) / (r - p)
                ends.append((q + slope * (left - p), q + slope * (right - p)))
        low, high = sorted(ends, key=sum)
        yield Slab(left, right, low, high)


def plane_nodes(polygon: Polygon, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes `(n, 2)` and weights `(n,)` that integrate a Gaussian at the origin over a polygon.

    All is in units of `h`, or as it stands if `h` is infinite. Weights are positive and all lengths
    come from rational numbers, so that nothing cancels.
    """
    flat = math.isinf(h)
    parts = [_slab_nodes(slab, Fraction(1 if flat else h), flat) for slab in slabs(polygon)]
    nodes, weights = (np.concatenate(x) for x in zip(*parts, strict=True))
    return nodes, weights


def plane_moments(polygon: Polygon, h: float) -> Moments:
    """Integrals of a Gaussian at the origin over a convex polygon; of 1 if `h` is infinite."""
    nodes, weights = plane_nodes(polygon, h)
    unit = 1.0 if math.isinf(h) else h
    if not math.isinf(h):
        weights = weights * np.exp(-(nodes**2).sum(-1) / 2) / (2 * math.pi)
    mass = weights.sum()
    first, second = weights @ nodes / mass, weights @ nodes**2 / mass
    return Moments(float(mass), first * unit, second * unit**2)


def _slab_nodes(slab: Slab, scale: Fraction, flat: bool) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for one slab, in units of a length."""
    left, length = float(slab.left / scale), float((slab.right - slab.left) / scale)
    low = [float(x / scale) for x in slab.low]
    width = [float((b - a) / scale) for a, b in zip(slab.low, slab.high, strict=True)]
    climb = [float((x[1] - x[0]) / scale) for x in (slab.low, slab.high)]
    t, weight_t = rule(1 if flat else max(length, *map(abs, climb)) / PANEL)
    s, weight_s = rule(1 if flat else max(width) / PANEL)
    across = width[0] * (1 - t) + width[1] * t
    y = (low[0] + t * climb[0])[:, None] + across[:, None] * s
    x = np.broadcast_to((left + t * length)[:, None], y.shape)
    weight = (weight_t * length * across)[:, None] * weight_s
    return np.stack([x, y], -1).reshape(-1, 2), weight.ravel()


def rule(panels: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a Gauss-Legendre rule on [0, 1], repeated on panels of equal length."""
    count = max(1, math.ceil(panels))
    start = np.arange(count)[:, None]
    nodes = (start + (NODES + 1) / 2) / count
    return nodes.ravel(), np.tile(WEIGHTS / (2 * count), count)


def plane_mass_precise(polygon: Polygon, h: float) -> float:
    """Mass of a Gaussian at the origin in a convex polygon, by error functions in 30 digits."""
    with mpmath.workdps(30):
        scale, total = Fraction(h), mpmath.mpf(0)
        for slab in slabs(polygon):
            left, right = (_number(x / scale) for x in (slab.left, slab.right))
            ends = [[_number(x / scale) for x in pair] for pair in (slab.low, slab.high)]

            def strip(x, left=left, right=right, ends=ends):  # type: ignore[no-untyped-def]
                t = (x - left) / (right - left)
                low, high = (a + (b - a) * t for a, b in ends)
                return mpmath.npdf(x) * _between(low, high)

            climb = max(abs(b - a) for a, b in ends)
            count = math.ceil(max(right - left, climb) / PANEL)
            stops = mpmath.linspace(left, right, max(count, 1) + 1)
            total += mpmath.quad(strip, stops)
        return float(total)


def line_cell(points: np.ndarray, k: int, low: float, high: float) -> tuple[Fraction | float, ...]:
    """Ends of a cell of the line relative to its atom, exact or infinite; nothing for a twin.

    Arguments:
        points: atoms, `(K,)`.
    """
    if twins(points[:, None], k)[0] < k:
        return ()
    z = Fraction(float(points[k]))
    below = points[points < points[k]].max(initial=-math.inf)
    above = points[points > points[k]].min(initial=math.inf)
    ends: list[Fraction | float] = []
    for neighbour, side in ((below, low), (above, high)):
        if math.isfinite(neighbour):
            ends.append((Fraction(float(neighbour)) - z) / 2)
        else:
            ends.append(side if math.isinf(side) else Fraction(float(side)) - z)
    return tuple(ends)


def line_moments(ends: tuple[Fraction | float, ...], h: float) -> Moments:
    """Integrals of a Gaussian at 0 between two numbers; of 1 if `h` is infinite."""
    with mpmath.workdps(DIGITS):
        a, b = (_number(x) for x in ends)
        if math.isinf(h):
            first, second = (b**2 - a**2) / 2, (b**3 - a**3) / 3
            return _moments(b - a, first / (b - a), second / (b - a))
        scale = mpmath.mpf(h)
        a, b = a / scale, b / scale
        mass = _between(a, b)
        first = (mpmath.npdf(a) - mpmath.npdf(b)) / mass
        edges = [mpmath.mpf(0) if mpmath.isinf(x) else x * mpmath.npdf(x) for x in (a, b)]
        second = 1 + (edges[0] - edges[1]) / mass
        return _moments(mass, first * scale, second * scale**2)


def line_mass(ends: tuple[Fraction | float, ...], h: float) -> mpmath.mpf:
    """Mass of a Gaussian at 0 between two numbers, in many digits; length if `h` is infinite."""
    with mpmath.workdps(DIGITS):
        a, b = (_number(x) for x in ends)
        return b - a if math.isinf(h) else _between(a / mpmath.mpf(h), b / mpmath.mpf(h))


def block_moments(frame: np.ndarray, ends: list[tuple[Fraction | float, ...]], h: float) -> Moments:
    """Integrals of a Gaussian at the origin over a block, a product of intervals in some frame.

    Arguments:
        frame: directions of the block's sides as orthonormal rows, `(d, d)`.
        ends: where it begins and ends along each of them.
    """
    sides = [line_moments(pair, h) for pair in ends]
    first = np.array([side.first[0] for side in sides])
    variance = np.array([side.second[0] - side.first[0] ** 2 for side in sides])
    mean = first @ frame
    mass = math.prod(side.mass for side in sides)
    return Moments(mass, mean, variance @ frame**2 + mean**2)


@dataclass(frozen=True)
class SphereCell:
    """A Voronoi cell of the sphere, seen from its atom.

    Attributes:
        frame: two tangents and the atom itself as rows, `(3, 3)`.
        normals: normals of the bisecting great circles in that frame, away from the atom.
    """

    frame: np.ndarray
    normals: np.ndarray

    @classmethod
    def around(cls, points: np.ndarray, k: int) -> "SphereCell":
        """The cell of one of some unit vectors `(K, 3)`, which are brought to length 1 anew."""
        precise = points.astype(np.longdouble)
        precise /= np.sqrt((precise**2).sum(-1, keepdims=True))
        z, others = precise[k], precise[(points != points[k]).any(-1)]
        first = np.cross(z, np.eye(3, dtype=np.longdouble)[np.abs(z).argmin()])
        first /= np.sqrt(first @ first)
        frame = np.stack([first, np.cross(z, first), z])
        normals = (others - z) @ frame.T
        normals[:, 2] = -(normals**2).sum(-1) / 2  # as unit vectors have it; nothing cancels
        return cls(frame.astype(float), normals.astype(float))

    def moments(
        self, h: float, start: float = -math.pi, stop: float = math.pi, within: float = math.pi
    ) -> Moments:
        """Integrals of a von Mises-Fisher law, or of 1 if its bandwidth is infinite.

        Arguments:
            h: bandwidth; the concentration is `h^-2`.
            start: directions of rays, as angles in the frame, begin here.
            stop: and end here.
            within: largest angle from the atom.
        """

        def along(s: np.ndarray) -> np.ndarray:
            return _along_rays(s, np.minimum(_ends_of_rays(self.normals, s), within), h)

        corners = _corner_directions(self.normals)
        inner = corners[(start < corners) & (corners < stop)]
        stops = np.unique(np.concatenate([inner, np.linspace(start, stop, 9)]))
        total = adaptive(along, stops)
        mass = float(total[0])
        second = total[4:].reshape(3, 3) / mass
        second = np.einsum("ia,ij,ja->a", self.frame, second, self.frame)
        return Moments(mass, total[1:4] / mass @ self.frame, second)


def _ends_of_rays(normals: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Angle at which rays of directions `(n,)` leave the cell: at the first bisecting circle.

    On the ray `cos(t) z + sin(t) u` a circle of normal `n` is met once in half a turn, where
    `cot t = -(n @ u) / (n @ z)`.
    """
    slopes = normals[:, :2] / -normals[:, 2:]
    cotangent = np.stack([np.cos(s), np.sin(s)], 1) @ slopes.T
    return np.arctan2(1.0, cotangent.max(1, initial=-math.inf))


def _along_rays(s: np.ndarray, ends: np.ndarray, h: float) -> np.ndarray:
    """Integrals along rays of 1, of `y - z` and of its products, in the atom's frame, `(n, 13)`."""
    half = REACH * h / 2  # sine of half the angle that holds all mass
    reach = np.minimum(ends, 2 * math.asin(half)) if half < 1 else ends
    nodes, weight = rule(3)
    t = reach[:, None] * nodes
    sine, down = np.sin(t), -2 * np.sin(t / 2) ** 2  # a step of the ray is sine * u + down * z
    density = sine * reach[:, None] * weight
    if not math.isinf(h):
        kappa = h**-2
        density *= np.exp(kappa * down) * kappa / (2 * math.pi * -math.expm1(-2 * kappa))
    one, out, below = density.sum(1), (density * sine).sum(1), (density * down).sum(1)
    square, mixed, deep = ((density * x).sum(1) for x in (sine**2, sine * down, down**2))
    u, v = np.cos(s), np.sin(s)
    first = [out * u, out * v, below]
    second = [square * u * u, square * u * v, mixed * u]
    second += [square * u * v, square * v * v, mixed * v]
    second += [mixed * u, mixed * v, deep]
    return np.stack([one, *first, *second], 1)


def _corner_directions(normals: np.ndarray) -> np.ndarray:
    """Directions of a cell's corners seen from its atom: where two circles meet and none is nearer.

    A few too many do no harm; many that are nearly the same are taken as one.
    """
    reach = _ends_of_rays(normals, np.linspace(0, 2 * math.pi, 512)).max()
    foot = np.arctan2(-normals[:, 2], np.hypot(normals[:, 0], normals[:, 1]))
    unit = normals[foot <= 1.5 * reach + 1e-6]  # the others do not come near the cell
    unit = unit / np.linalg.norm(unit, axis=-1, keepdims=True)
    i, j = np.triu_indices(len(unit), 1)
    meet = np.cross(unit[i], unit[j])
    length = np.linalg.norm(meet, axis=-1)
    meet = meet[length > 0] / length[length > 0, None]
    meet = np.concatenate([meet, -meet])
    corners = meet[(meet @ unit.T <= 1e-6).all(1)]
    return np.unique(np.round(np.arctan2(corners[:, 1], corners[:, 0]), 7))


def adaptive(
    function: Callable[[np.ndarray], np.ndarray], stops: np.ndarray, tolerance: float = 1e-13
) -> np.ndarray:
    """Integral between stops of a function of numbers `(n,)` with values `(n, m)`.

    Panels between the stops are halved until the first value of each changes by no more than a
    small part of the whole; below a width of 1e-9 only rounding is left.
    """
    left, right = stops[:-1], stops[1:]
    done = np.zeros(function(stops[:1]).shape[1])
    whole = _panels(function, left, right)
    for _ in range(60):
        middle = (left + right) / 2
        halves = _panels(function, left, middle), _panels(function, middle, right)
        size = abs(done[0]) + np.abs(whole[:, 0]).sum()
        open_ = np.abs(halves[0][:, 0] + halves[1][:, 0] - whole[:, 0]) > tolerance * size
        open_ &= right - left > 1e-9
        done = done + (halves[0] + halves[1])[~open_].sum(0)
        left, middle, right = left[open_], middle[open_], right[open_]
        if not len(left):
            return done
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        whole = np.concatenate([half[open_] for half in halves])
    raise RuntimeError("the rule did not converge")


def _panels(
    function: Callable[[np.ndarray], np.ndarray], left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Gauss-Legendre rules on intervals, `(p, m)`."""
    half = (right - left) / 2
    s = ((left + right) / 2)[:, None] + half[:, None] * NODES
    values = function(s.ravel()).reshape(len(left), len(NODES), -1)
    return np.einsum("pnm,n,p->pm", values, WEIGHTS, half)


def _moments(mass: mpmath.mpf, first: mpmath.mpf, second: mpmath.mpf) -> Moments:
    return Moments(float(mass), np.array([float(first)]), np.array([float(second)]))


def _number(x: Fraction | float) -> mpmath.mpf:
    if isinstance(x, Fraction):
        return mpmath.mpf(x.numerator) / mpmath.mpf(x.denominator)
    return mpmath.mpf(x)


def _between(low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
    """Mass of a standard Gaussian, without cancellation far from 0."""
    if low > 0:
        low, high = -high, -low
    root = mpmath.sqrt(2)
    return (mpmath.erfc(-high / root) - mpmath.erfc(-low / root)) / 2
