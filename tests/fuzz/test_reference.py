"""The references agree with one another, and with what is known."""

import math
from fractions import Fraction

import numpy as np
import pytest
from fuzz import reference
from fuzz.laws import flat_law, unit
from fuzz.reference import SphereCell

INFINITE = np.full(2, math.inf)


@pytest.mark.parametrize(
    "category", ["general", "nearly collinear", "clustered", "on sides", "unbounded", "elongated"]
)
def test_slabs_agree_with_many_digits(category: str) -> None:
    law = flat_law(category, 1, 2)
    h = float(law.h[0, 0])
    cell = reference.plane_cell(law.points[0], 0, law.low, law.high, h)
    if not cell:
        pytest.skip("a twin has the cell")
    precise = reference.plane_mass_precise(cell, h)
    assert reference.plane_moments(cell, h).mass == pytest.approx(precise, rel=1e-13)


def test_cells_tile_their_box_exactly() -> None:
    points = np.random.default_rng(0).uniform(0, 1, (20, 2))
    low, high = np.zeros(2), np.ones(2)
    cells = [reference.plane_cell(points, k, low, high) for k in range(len(points))]
    assert sum(reference.area(cell) for cell in cells) == Fraction(1)


def test_an_endless_plane_has_mass_one() -> None:
    cell = reference.plane_cell(np.zeros((1, 2)), 0, -INFINITE, INFINITE, 0.3)
    found = reference.plane_moments(cell, 0.3)
    assert found.mass == pytest.approx(1, rel=1e-14)
    assert found.second == pytest.approx(np.full(2, 0.09), rel=1e-13)


def test_a_rectangle_is_a_product() -> None:
    low, high, h = np.array([-1.0, -0.2]), np.array([3.0, 0.1]), 0.7
    cell = reference.plane_cell(np.zeros((1, 2)), 0, low, high, h)
    sides = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(low, high, strict=True)]
    product = reference.block_moments(np.eye(2), sides, h)
    found = reference.plane_moments(cell, h)
    for name in ("mass", "first", "second"):
        assert getattr(found, name) == pytest.approx(getattr(product, name), rel=1e-12)


@pytest.mark.parametrize("h", [1e-3, 0.1, 1.0, 100.0, math.inf])
def test_masses_of_the_sphere(h: float) -> None:
    """One atom has all of it, two opposite ones have known halves, six have equal cells."""
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    whole = 4 * math.pi if math.isinf(h) else 1.0
    assert SphereCell.around(axes[:1], 0).moments(h).mass == pytest.approx(whole, rel=1e-13)
    half = SphereCell.around(axes[[0, 3]], 0).moments(h).mass
    share = 0.5 if math.isinf(h) else 1 / (1 + math.exp(-(h**-2)))
    assert half == pytest.approx(whole * share, rel=1e-13)
    sixths = [SphereCell.around(axes, k).moments(h).mass for k in range(6)]
    assert sixths == pytest.approx([sixths[0]] * 6, rel=1e-12)
    if math.isinf(h):
        assert sum(sixths) == pytest.approx(whole, rel=1e-13)


def test_small_cells_of_the_sphere_are_flat() -> None:
    """A cell of size 1e-4 has the mass of its gnomonic image in the plane, to 1e-8."""
    size, h = 1e-4, 1e-4
    flat = np.random.default_rng(1).uniform(-1, 1, (9, 2)) * size
    flat[0] = 0
    points = unit(np.concatenate([flat, np.ones((9, 1))], 1))
    cell = reference.plane_cell(flat, 0, -INFINITE, INFINITE, h)
    expected = reference.plane_moments(cell, h).mass
    assert SphereCell.around(points, 0).moments(h).mass == pytest.approx(expected, rel=1e-7)


def test_the_nearest_atom_is_found_without_rounding() -> None:
    """A point that float64 cannot tell from the border, and one on the border."""
    points = np.array([[0.0, 0.0], [1.0, 0.0]])
    beyond = np.array([0.5, 1e9])
    assert reference.nearest(points, beyond) == [0, 1]
    beyond[0] = math.nextafter(0.5, 1)
    assert reference.nearest(points, beyond) == [1]
    assert reference.nearest(points, beyond, 1e-12) == [0, 1]
