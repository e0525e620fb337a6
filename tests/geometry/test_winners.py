"""A k-d tree, and bisection on the line, find the same atoms as exact arithmetic does."""

import math
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from vwta import Box, Gaussian, Sphere, VonMisesFisher, VoronoiMixture
from vwta.geometry.cells import SEARCHED, Tessellation
from vwta.geometry.winners import nearest_of_rows, nearest_of_shared, place_tree


def exact(atoms: Tensor, y: Tensor) -> list[int]:
    """The first of the nearest atoms to each point, in rational arithmetic."""
    places = [[Fraction(x) for x in atom] for atom in atoms.tolist()]
    found = []
    for point in y.tolist():
        target = [Fraction(x) for x in point]
        squares = [sum((a - b) ** 2 for a, b in zip(z, target, strict=True)) for z in places]
        found.append(squares.index(min(squares)))
    return found


@pytest.mark.parametrize("e", [1, 2, 3, 5])
def test_the_tree_finds_the_nearest_atom(e: int) -> None:
    generator = torch.Generator().manual_seed(e)
    atoms = torch.rand(80, e, dtype=torch.float64, generator=generator)
    y = torch.rand(200, e, dtype=torch.float64, generator=generator)
    assert nearest_of_shared(place_tree(atoms), atoms, y).tolist() == exact(atoms, y)


@pytest.mark.parametrize("e", [1, 2, 3])
def test_the_first_of_equals_is_taken(e: int) -> None:
    """On a coarse grid most points have several nearest atoms, and atoms coincide."""
    generator = torch.Generator().manual_seed(e)
    atoms = torch.randint(-4, 5, (100, e), generator=generator).double()
    y = torch.randint(-8, 9, (200, e), generator=generator).double() / 2
    assert nearest_of_shared(place_tree(atoms), atoms, y).tolist() == exact(atoms, y)


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("count", [2, 70])
def test_points_within_some_roundings_of_a_border_on_the_line(count: int, shift: float) -> None:
    atoms = torch.rand(count, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    atoms = atoms + shift
    line = atoms[:, 0].sort().values
    near = [(line[1:] + line[:-1]) / 2]
    for end in (-math.inf, math.inf):
        near += [near[0].nextafter(torch.full_like(near[0], end))]
        near += [near[-1].nextafter(torch.full_like(near[0], end))]
    y = torch.cat([*near, line - 1e20, line + 1e20])[:, None]
    assert nearest_of_shared(place_tree(atoms), atoms, y).tolist() == exact(atoms, y)


@pytest.mark.parametrize("e", [1, 2])
def test_points_far_away_from_close_atoms(e: int) -> None:
    """Squares are too coarse to tell the atoms apart, their difference is not."""
    generator = torch.Generator().manual_seed(3)
    atoms = torch.rand(70, e, dtype=torch.float64, generator=generator) * 1e-7
    y = torch.randn(100, e, dtype=torch.float64, generator=generator) * 1e4
    assert nearest_of_shared(place_tree(atoms), atoms, y).tolist() == exact(atoms, y)


@pytest.mark.parametrize("e", [1, 2])
def test_points_that_are_not_finite_are_treated_as_without_a_tree(e: int) -> None:
    atoms = torch.rand(70, e, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    y = torch.tensor([[math.nan, 0.0], [0.5, 0.5], [math.inf, 1.0]], dtype=torch.float64)[:, :e]
    with_all = nearest_of_rows(atoms[None], y, torch.zeros(3, dtype=torch.long))
    assert torch.equal(nearest_of_shared(place_tree(atoms), atoms, y), with_all)


@pytest.mark.parametrize("e", [1, 2])
def test_atoms_that_all_coincide(e: int) -> None:
    atoms = torch.full((70, e), 0.3, dtype=torch.float64)
    assert not nearest_of_shared(place_tree(atoms), atoms, torch.rand(5, e).double()).any()


@pytest.mark.parametrize("space", [Box(-1.0, 1.0), Sphere()])
def test_a_law_is_the_same_with_and_without_a_tree(space: Box | Sphere) -> None:
    """Points one by one are compared with all atoms, many at once go through the tree."""
    generator = torch.Generator().manual_seed(5)
    e, kernel = (3, VonMisesFisher(0.2)) if isinstance(space, Sphere) else (2, Gaussian(0.2))
    atoms = space.project(torch.randn(SEARCHED, e, dtype=torch.float64, generator=generator))
    y = space.project(torch.randn(SEARCHED, e, dtype=torch.float64, generator=generator))
    law = VoronoiMixture(atoms, torch.full((SEARCHED,), 1 / SEARCHED).double(), kernel, space)
    cells = torch.cat([law.cell_of(point[None]) for point in y])
    apart = torch.cat([law.log_prob(point[None]) for point in y])
    assert law._cells._tree is None
    assert torch.equal(law.cell_of(y), cells)
    assert law._cells._tree is not None
    # Processors may round sums over the edges of one cell and of many in another order.
    assert torch.allclose(law.log_prob(y), apart, rtol=1e-14, atol=1e-14)


def spied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many points each search for nearest atoms was for."""
    sizes: list[int] = []
    find = Tessellation._find_nearest

    def spy(cells: Tessellation, y: Tensor, row: Tensor) -> Tensor:
        sizes.append(len(y))
        return find(cells, y, row)

    monkeypatch.setattr(Tessellation, "_find_nearest", spy)
    return sizes


@pytest.mark.parametrize("rows", [(), (30,)])
def test_a_sweep_over_bandwidths_searches_once(
    rows: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(6)
    atoms = torch.rand(*rows, 7, 2, generator=generator)
    y = torch.rand(30, 2, generator=generator)
    law = VoronoiMixture(atoms, torch.full((*rows, 7), 1 / 7), Gaussian(0.2), Box(0.0, 1.0))
    bandwidths = torch.tensor([0.1, 0.2, 0.4])
    apart = torch.stack(
        [
            VoronoiMixture(atoms, law.masses, Gaussian(float(h)), law.space).log_prob(y)
            for h in bandwidths
        ]
    )
    sizes = spied(monkeypatch)
    assert torch.equal(torch.stack([law.with_bandwidth(h).log_prob(y) for h in bandwidths]), apart)
    axes = (-1, *(1 for _ in range(1 + len(rows))))
    both = law.with_bandwidth(bandwidths.view(axes))
    swept = both.log_prob(y) if rows else both.log_prob(y[:, None]).T
    torch.testing.assert_close(swept, apart)
    assert sizes == [30]


def test_targets_changed_in_place_are_searched_again() -> None:
    atoms = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    law = VoronoiMixture(atoms, torch.full((2,), 0.5).double(), Gaussian(0.2), Box(0.0, 1.0))
    y = torch.full((3, 2), 0.1, dtype=torch.float64)
    assert law.cell_of(y).tolist() == [0, 0, 0]
    y[1] = 0.9
    found = law.cell_of(y)
    assert found.tolist() == [0, 1, 0]
    found += 5
    assert law.cell_of(y).tolist() == [0, 1, 0]
