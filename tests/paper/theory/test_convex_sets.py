"""Probabilities of sets against brute force, closed forms and samples."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.geometry.kernels import Gaussian, Kernel, Uniform
from vwta.geometry.outlines import Outlines
from vwta.geometry.spaces import Box
from vwta.paper.theory.convex_sets import (
    Disc,
    HalfPlane,
    Rectangle,
    Region,
    cut_probability,
    dirac_probability,
    kernel_probability,
    partition,
    region,
)
from vwta.seeds import generator

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
SETS: dict[str, Region] = {
    "quadrant": Rectangle([0.0, 0.0], [1.0, 1.0]),
    "box": Rectangle([-0.7, -0.2], [0.3, 0.4]),
    "half plane": HalfPlane(angle=0.9, offset=-0.15),
    "disc": Disc([0.2, -0.1], 0.45),
}


def atoms(K: int, rows: int = 2) -> tuple[Tensor, Tensor]:
    source = generator(K)
    points = torch.rand(rows, K, 2, generator=source, dtype=torch.float64) * 2 - 1
    return points, torch.rand(rows, K, generator=source, dtype=torch.float64).softmax(-1)


def grid(n: int, reach: float = 1.0) -> tuple[Tensor, float]:
    """Middles of n x n squares that fill [-reach, reach]^2, and a square's area."""
    step = 2 * reach / n
    line = -reach + step * (torch.arange(n, dtype=torch.float64) + 0.5)
    return torch.cartesian_prod(line, line), step**2


@pytest.mark.parametrize("name", SETS)
def test_chords_against_steps_along_rays(name: str) -> None:
    points, _ = atoms(30)
    angle = torch.rand(2, 30, generator=generator(1), dtype=torch.float64) * 2 * math.pi
    direction = torch.stack([angle.cos(), angle.sin()], -1)
    enter, leave = SETS[name].chord(points, direction)
    assert (enter >= 0).all()
    assert (leave >= enter).all()
    t = torch.linspace(0, 4, 4001, dtype=torch.float64)
    inside = SETS[name].contains(points[..., None, :] + t[:, None] * direction[..., None, :])
    steps = inside.sum(-1) * (t[1] - t[0])
    assert (steps > 0).any()
    assert (steps == 0).any()
    assert torch.allclose(leave.clamp_max(4) - enter.clamp_max(4), steps, atol=2.1e-3)


def test_rays_along_the_border_of_a_half_plane() -> None:
    z = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    up = torch.tensor([0.0, 1.0], dtype=torch.float64)
    enter, leave = HalfPlane(angle=0.0, offset=0.5).chord(z, up)
    assert (leave - enter)[0] == math.inf
    assert enter[1] == leave[1]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("h", [0.05, 0.3])
def test_gaussians_against_a_fine_grid(name: str, h: float) -> None:
    points, masses = atoms(5, rows=1)
    y, area = grid(800, reach=2.6)
    p = KernelMixture(points[0], masses[0], Gaussian(h)).log_prob(y).exp()
    expected = (p * SETS[name].contains(y)).sum().item() * area
    found = kernel_probability(points, masses, h, [SETS[name]]).item()
    assert found == pytest.approx(expected, abs=3e-3)


def test_boxes_under_gaussians_are_products_of_erf() -> None:
    points, masses = atoms(9)
    scales = torch.rand(2, 9, generator=generator(4), dtype=torch.float64) + 0.05
    box = SETS["box"]
    assert isinstance(box, Rectangle)

    def axis(z: float, h: float, i: int) -> float:
        low, high = ((end - z) / (h * math.sqrt(2)) for end in (box.low[i], box.high[i]))
        return (math.erf(high) - math.erf(low)) / 2

    for row in range(2):
        terms = (
            mass * axis(z[0], h, 0) * axis(z[1], h, 1)
            for z, h, mass in zip(
                points[row].tolist(), scales[row].tolist(), masses[row].tolist(), strict=True
            )
        )
        found = kernel_probability(points, masses, scales, [box])[row].item()
        assert found == pytest.approx(sum(terms), abs=1e-14)


@pytest.mark.parametrize("K", [3, 30])
@pytest.mark.parametrize("h", [0.1, 0.5, None])
def test_cut_kernels_against_a_fine_grid(K: int, h: float | None) -> None:
    points, masses = atoms(K)
    kernel: Kernel = Uniform() if h is None else Gaussian(h)
    y, area = grid(700)
    p = VoronoiMixture(points, masses, kernel, SQUARE).log_prob(y[:, None]).exp()
    assert torch.allclose(p.sum(0) * area, torch.ones(2, dtype=torch.float64), atol=2e-3)
    found = cut_probability(Outlines(points, SQUARE), masses, [h], [*SETS.values()])[0]
    for index, one in enumerate(SETS.values()):
        expected = p[one.contains(y)].sum(0) * area
        assert torch.allclose(found[:, index], expected, atol=2e-3)


@pytest.mark.parametrize("cut", [True, False])
def test_samples_agree(cut: bool) -> None:
    points, masses = atoms(12)
    n, sets = 20_000, [*SETS.values()]
    if cut:
        y = VoronoiMixture(points, masses, Gaussian(0.3), SQUARE).sample((n,), generator(0))
        exact = cut_probability(Outlines(points, SQUARE), masses, [0.3], sets)[0]
    else:
        y = KernelMixture(points, masses, Gaussian(0.3)).sample((n,), generator(0))
        exact = kernel_probability(points, masses, 0.3, sets)
    drawn = torch.stack([one.contains(y).double().mean(0) for one in sets], -1)
    noise = (exact * (1 - exact) / n).sqrt()
    assert ((drawn - exact).abs() < 4.5 * noise + 1e-3).all()


def test_limits_of_the_bandwidth() -> None:
    points, masses = atoms(8)
    sets, cells = [*SETS.values()], Outlines(points, SQUARE)
    narrow, wide, flat = cut_probability(cells, masses, [1e-5, 1e4, None], sets)
    assert torch.allclose(narrow, dirac_probability(points, masses, sets), atol=1e-9)
    assert torch.allclose(wide, flat, atol=1e-6)
    assert not torch.allclose(narrow, flat, atol=1e-2)


def test_all_of_the_square_and_nothing_of_it() -> None:
    points, masses = atoms(8)
    sets = [Rectangle([-1.0, -1.0], [1.0, 1.0]), HalfPlane(0.3, 3.0), Disc([3.0, 3.0], 1.0)]
    expected = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64).expand(2, 3)
    for found in cut_probability(Outlines(points, SQUARE), masses, [0.2, None], sets):
        assert torch.allclose(found, expected, atol=1e-12)


def test_a_twin_counts_as_a_point() -> None:
    points = torch.tensor([[[0.5, 0.5], [0.5, 0.5], [-0.5, -0.5]]], dtype=torch.float64)
    masses = torch.tensor([[0.2, 0.3, 0.5]], dtype=torch.float64)
    sets = [HalfPlane(math.pi / 4, 0.0)]
    found = cut_probability(Outlines(points, SQUARE), masses, [0.2, None], sets)
    assert torch.allclose(found, torch.full((2, 1, 1), 0.5, dtype=torch.float64), atol=1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("K", [1, 6, 40])
def test_partition_against_a_fine_grid(name: str, K: int) -> None:
    points, _ = atoms(K, rows=1)
    inside, cut = partition(Outlines(points, SQUARE), SETS[name])
    y, area = grid(600)
    owner, within = torch.cdist(y, points[0]).argmin(1), SETS[name].contains(y)
    size = torch.bincount(owner, minlength=K)
    share = torch.bincount(owner, weights=within.double(), minlength=K) / size
    sliver = 40 * area  # of a cell or of the set, which the grid may miss
    clear = (share * size * area > sliver) & ((1 - share) * size * area > sliver)
    assert (cut[0] | ~clear).all()
    assert (share[inside[0]] == 1).all()
    outside = ~(inside | cut)[0]
    assert (share[outside] * size[outside] * area < sliver).all()
    assert not (inside & cut).any()


@pytest.mark.parametrize(
    ("shape", "arguments", "kind"),
    [
        ("box", {"low": [0.0, 0.0], "high": [1.0, 1.0]}, Rectangle),
        ("disc", {"centre": [0.0, 0.0], "radius": 0.5}, Disc),
        ("half_plane", {"angle": 0.3, "offset": 0.0}, HalfPlane),
    ],
)
def test_sets_by_shape(shape: str, arguments: dict[str, Any], kind: type[Region]) -> None:
    assert isinstance(region(shape, **arguments), kind)


def test_unknown_shape_is_named() -> None:
    with pytest.raises(ValueError, match="unknown shape 'ring': expected one of box,"):
        region("ring", radius=1.0)
