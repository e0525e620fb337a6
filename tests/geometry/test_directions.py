import math

import pytest
import torch
from torch import Tensor

from vwta import Box, Directions, Gaussian, Uniform, VoronoiMixture

DOUBLE = torch.float64


def cloud(d: int, count: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, d, dtype=DOUBLE, generator=generator) * 2 - 1


def even(count: int) -> Tensor:
    return torch.full((count,), 1 / count, dtype=DOUBLE)


@pytest.mark.parametrize("d", [3, 5])
@pytest.mark.parametrize("h", [0.05, 0.4, 3.0, 1e4])
def test_one_atom_in_closed_form_within_the_stated_error(d: int, h: float) -> None:
    z = cloud(d, 1)
    estimate = VoronoiMixture(z, even(1), Gaussian(h), Box(-1.0, 1.0))
    ends = torch.erf((1 - z) / h / 2**0.5) + torch.erf((1 + z) / h / 2**0.5)
    exact = (ends / 2).log().sum()
    error = estimate.log_cell_mass_error.item()
    assert error < 0.01 * d**2
    assert abs(estimate.log_cell_mass.item() - exact.item()) < 5 * error + 1e-12


@pytest.mark.parametrize("d", [3, 4])
def test_volumes_tile_the_box_within_the_stated_error(d: int) -> None:
    flat = VoronoiMixture(cloud(d, 12), even(12), Uniform(), Box(-1.0, 1.0), Directions())
    volume = flat.log_cell_mass.exp()
    error = (volume * flat.log_cell_mass_error).square().sum().sqrt()
    assert abs(volume.sum().item() - 2**d) < 5 * error.item()
    assert error < 0.01 * 2**d


def test_mass_by_counting_gaussian_draws() -> None:
    points = cloud(3, 8)
    d = VoronoiMixture(points, even(8), Gaussian(0.5), Box(-1.0, 1.0))
    generator = torch.Generator().manual_seed(1)
    y = points[3] + 0.5 * torch.randn(200_000, 3, dtype=DOUBLE, generator=generator)
    inside = (d.cell_of(y) == 3) & d.space.contains(y)
    mass = inside.double().mean().item()
    assert d.log_cell_mass[3].exp().item() == pytest.approx(mass, abs=5 * math.sqrt(mass / 2e5))


def test_more_directions_have_a_smaller_error_and_exact_ones_none() -> None:
    points = cloud(3, 8)
    errors = [
        VoronoiMixture(
            points, even(8), Gaussian(0.5), Box(-1.0, 1.0), Directions(n)
        ).log_cell_mass_error
        for n in (64, 4096)
    ]
    assert (errors[1] > 0).all()
    assert errors[1].mean() < errors[0].mean() / 8
    for d in (1, 2):
        exact = VoronoiMixture(cloud(d, 8), even(8), Gaussian(0.5), Box(-1.0, 1.0))
        assert (exact.log_cell_mass_error == 0).all()


def test_moments_of_one_atom_are_those_of_truncated_normals() -> None:
    z = torch.tensor([[0.5, -0.2, 0.9]], dtype=DOUBLE)
    cube = VoronoiMixture(z, even(1), Gaussian(0.6), Box(-1.0, 1.0), Directions(2**14))
    for axis in range(3):
        line = VoronoiMixture(z[:, axis : axis + 1], even(1), Gaussian(0.6), Box(-1.0, 1.0))
        assert cube.mean[axis].item() == pytest.approx(line.mean.item(), abs=1e-12)
        assert cube.variance[axis].item() == pytest.approx(line.variance.item(), abs=1e-12)


@pytest.mark.parametrize("d", [3, 5])
@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-4, 0.01, 0.04])
def test_gradient_of_an_atom_at_a_side_in_closed_form(d: int, gap: float) -> None:
    z = torch.full((1, d), 0.04, dtype=DOUBLE)
    z[0, 0] = 0.1 - gap
    z.requires_grad_()
    ends = torch.erf((0.1 - z) / 0.05 / 2**0.5) + torch.erf(z / 0.05 / 2**0.5)
    (exact,) = torch.autograd.grad((ends / 2).log().sum(), z)
    estimate = VoronoiMixture(z, even(1), Gaussian(0.05), Box(0.0, 0.1))
    (gradient,) = torch.autograd.grad(estimate.log_cell_mass.sum(), z)
    torch.testing.assert_close(gradient, exact, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("h", [0.3, 3.0, None])
def test_gradient_of_two_slabs_of_a_cube_in_closed_form(h: float | None) -> None:
    """Atoms apart along the first axis; one of them lies on a side."""
    where = torch.tensor([-0.2, 1.0], dtype=DOUBLE, requires_grad=True)
    rest = torch.tensor([[0.1, 0.3], [0.1, 0.3]], dtype=DOUBLE)
    kernel = Uniform() if h is None else Gaussian(h)
    middle = where.mean()
    for i, (low, high) in enumerate(((-1.0, middle), (middle, 1.0))):
        line = VoronoiMixture(
            torch.cat([where[:, None], rest], 1), even(2), kernel, Box(-1.0, 1.0), Directions(2**14)
        )
        (gradient,) = torch.autograd.grad(line.log_cell_mass[i], where)
        ends = high - where[i], where[i] - low
        mass = sum(ends) if h is None else sum(torch.erf(end / h / 2**0.5) for end in ends)
        (exact,) = torch.autograd.grad(torch.log(mass), where, retain_graph=True)
        torch.testing.assert_close(gradient, exact, atol=1e-9, rtol=1e-9)


def test_narrow_kernels_in_space_feel_no_border() -> None:
    z = cloud(3, 1).mul_(0.5).requires_grad_()
    law = VoronoiMixture(z, even(1), Gaussian(1e-3), Box(-1.0, 1.0))
    (gradient,) = torch.autograd.grad(law.log_cell_mass.sum(), z)
    assert gradient.abs().max() < 1e-9


def test_unbounded_cells_in_space() -> None:
    points = torch.zeros(2, 4, dtype=DOUBLE)
    points[1, 0] = 0.5
    d = VoronoiMixture(points, even(2), Gaussian(0.3), Box(-math.inf, math.inf))
    half_space = (1 + math.erf(0.25 / 0.3 / math.sqrt(2))) / 2
    error = (d.log_cell_mass - math.log(half_space)).abs()
    assert (error <= 5 * d.log_cell_mass_error + 1e-12).all()
    assert (error < 0.01).all()
    torch.manual_seed(0)
    y = d.sample((4000,))
    assert (y[:, 0] > 0.25).double().mean().item() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("count", [0, 7, 41])
def test_bad_counts_are_named(count: int) -> None:
    with pytest.raises(ValueError, match=f"multiple of 8, found {count}"):
        Directions(count)


def test_a_thin_cell_askew_can_be_sampled() -> None:
    """A slab 1e-6 thick along the diagonal: boxes along the axes would never hit it."""
    step = torch.full((3,), 1e-6, dtype=DOUBLE)
    points = torch.stack([0 * step, step, -step])
    masses = torch.tensor([1.0, 0.0, 0.0], dtype=DOUBLE)
    torch.manual_seed(0)
    for law in (Gaussian(0.1), Uniform()):
        y = VoronoiMixture(points, masses, law, Box(-1.0, 1.0)).sample((200,))
        assert (y.sum(-1).abs() / math.sqrt(3) <= 0.5e-6 * math.sqrt(3) + 1e-12).all()
        assert y.std() > 0.05
