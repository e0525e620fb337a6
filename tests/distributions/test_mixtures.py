import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from vwta.distributions.mixtures import DiracMixture, KernelMixture, VoronoiMixture
from vwta.geometry.directions import Directions
from vwta.geometry.kernels import Gaussian, Kernel, Uniform, VonMisesFisher
from vwta.geometry.spaces import Box, Space, Sphere

DOUBLE = torch.float64
SPACES: dict[str, tuple[Space, int]] = {
    "line": (Box(-1.0, 1.0), 1),
    "open line": (Box(-math.inf, math.inf), 1),
    "square": (Box(-1.0, 1.0), 2),
    "open plane": (Box(-math.inf, math.inf), 2),
    "cube": (Box(-1.0, 1.0), 3),
    "sphere": (Sphere(), 3),
}
EXACT = ["line", "open line", "square", "open plane", "sphere"]
BOUNDED = ["line", "square", "cube", "sphere"]


def atoms(
    name: str, *shape: int, seed: int = 0, dtype: torch.dtype = DOUBLE
) -> tuple[Tensor, Tensor]:
    """Points `(*, K, e)` and masses `(*, K)`."""
    space, event = SPACES[name]
    generator = torch.Generator().manual_seed(seed)
    if isinstance(space, Sphere):
        points = space.project(torch.randn(*shape, event, dtype=dtype, generator=generator))
    else:
        points = torch.rand(*shape, event, dtype=dtype, generator=generator) * 2 - 1
    masses = torch.rand(*shape, dtype=dtype, generator=generator) + 0.1
    return points, masses / masses.sum(-1, keepdim=True)


def kernel(name: str, h: Tensor | float) -> Kernel:
    return VonMisesFisher(h) if isinstance(SPACES[name][0], Sphere) else Gaussian(h)


def voronoi(
    name: str, *shape: int, h: Tensor | float | None = 0.3, **options: int
) -> VoronoiMixture:
    points, masses = atoms(name, *shape, **options)
    return VoronoiMixture(
        points, masses, Uniform() if h is None else kernel(name, h), SPACES[name][0]
    )


def targets(name: str, *shape: int, seed: int = 1) -> Tensor:
    return atoms(name, *shape, 1, seed=seed)[0][..., 0, :]


def grid(name: str, count: int) -> tuple[Tensor, Tensor]:
    """Nodes `(N, e)` and weights `(N,)` of a midpoint rule over a bounded space."""
    middle = (torch.arange(count, dtype=DOUBLE) + 0.5) / count
    if name != "sphere":
        d = SPACES[name][1]
        y = torch.cartesian_prod(*d * [2 * middle - 1]).view(-1, d)
        return y, torch.full((len(y),), (2 / count) ** d, dtype=DOUBLE)
    height, turn = torch.cartesian_prod(2 * middle - 1, 2 * math.pi * middle).T
    ring = (1 - height**2).sqrt()
    y = torch.stack([ring * turn.cos(), ring * turn.sin(), height], -1)
    return y, torch.full((len(y),), 4 * math.pi / len(y), dtype=DOUBLE)


# Properties of a density


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("h", [0.1, 0.3, 1.0, 1e4, None])
def test_cells_have_the_mass_of_their_atoms_at_every_bandwidth(name: str, h: float | None) -> None:
    d = voronoi(name, 2, 5, h=h)
    y, weight = grid(name, {"line": 20000, "square": 1000, "sphere": 1000, "cube": 90}[name])
    density = d.log_prob(y[:, None]).exp() * weight[:, None]
    cell = d.cell_of(y[:, None])
    share = torch.zeros(2, 5, dtype=DOUBLE)
    for b in range(2):
        share[b].index_add_(0, cell[:, b], density[:, b])
    torch.testing.assert_close(share, d.masses, rtol=0, atol=0.01 if name == "cube" else 1e-3)
    total = torch.ones(2, dtype=DOUBLE)
    torch.testing.assert_close(density.sum(0), total, rtol=0, atol=0.02 if name == "cube" else 1e-3)


def test_density_on_the_open_line_integrates_to_one() -> None:
    y = torch.linspace(-60, 60, 1_200_001, dtype=DOUBLE)
    d = voronoi("open line", 4, h=5.0)
    assert torch.trapezoid(d.log_prob(y[:, None]).exp(), y).item() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", SPACES)
def test_a_small_bandwidth_gives_the_uncut_mixture(name: str) -> None:
    points, masses = atoms(name, 3, 5)
    nearby = points[:, 2] + 1e-4 * torch.randn(3, points.shape[-1], dtype=DOUBLE)
    y = SPACES[name][0].project(nearby)
    cut = VoronoiMixture(points, masses, kernel(name, 1e-4), SPACES[name][0])
    uncut = KernelMixture(points, masses, kernel(name, 1e-4))
    torch.testing.assert_close(cut.log_prob(y), uncut.log_prob(y), rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", BOUNDED)
def test_a_large_bandwidth_gives_the_uniform_kernel(name: str) -> None:
    y = targets(name, 50, 3)
    wide, flat = voronoi(name, 3, 5, h=1e4), voronoi(name, 3, 5, h=None)
    torch.testing.assert_close(wide.log_prob(y), flat.log_prob(y), rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", SPACES)
def test_the_order_of_the_atoms_does_not_matter(name: str) -> None:
    points, masses = atoms(name, 3, 6)
    order, y = torch.randperm(6), targets(name, 20, 3)
    space = SPACES[name][0]
    d = VoronoiMixture(points, masses, kernel(name, 0.3), space)
    e = VoronoiMixture(points[:, order], masses[:, order], kernel(name, 0.3), space)
    torch.testing.assert_close(d.log_prob(y), e.log_prob(y), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(d.log_cell_mass[:, order], e.log_cell_mass, rtol=1e-10, atol=1e-10)


def test_rotating_the_sphere_changes_nothing() -> None:
    points, masses = atoms("sphere", 3, 6)
    y = targets("sphere", 20, 3)
    turn = torch.linalg.qr(
        torch.randn(3, 3, dtype=DOUBLE, generator=torch.Generator().manual_seed(3))
    )[0]
    for law in (VonMisesFisher(0.3), VonMisesFisher(3.0), Uniform()):
        d = VoronoiMixture(points, masses, law, Sphere())
        e = VoronoiMixture(points @ turn, masses, law, Sphere())
        torch.testing.assert_close(d.log_prob(y), e.log_prob(y @ turn), rtol=0, atol=1e-9)
        torch.testing.assert_close(d.mean @ turn, e.mean, rtol=0, atol=1e-9)


def test_kernel_mixture_is_a_mixture_of_normals() -> None:
    points, masses = atoms("square", 4, 7)
    h = torch.rand(4, 7, dtype=DOUBLE) + 0.1
    d = KernelMixture(points, masses, Gaussian(h))
    scale = h[..., None].expand_as(points)
    e = MixtureSameFamily(Categorical(masses), Independent(Normal(points, scale), 1))
    y = targets("square", 10, 4)
    torch.testing.assert_close(d.log_prob(y), e.log_prob(y))
    torch.testing.assert_close(d.mean, e.mean)
    torch.testing.assert_close(d.variance, e.variance)


def test_a_cell_on_the_line_is_a_truncated_normal() -> None:
    points = torch.tensor([[-0.6], [0.2], [0.5]], dtype=DOUBLE)
    masses = torch.tensor([0.2, 0.5, 0.3], dtype=DOUBLE)
    d = VoronoiMixture(points, masses, Gaussian(0.4), Box(-1.0, math.inf))
    normal = Normal(points[:, 0], torch.tensor(0.4, dtype=DOUBLE))
    ends = torch.tensor([-1.0, -0.2, 0.35, math.inf], dtype=DOUBLE)
    volume = normal.cdf(ends[1:]) - normal.cdf(ends[:-1])
    torch.testing.assert_close(d.log_cell_mass.exp(), volume)
    y = torch.tensor([-0.5, 0.0, 4.0], dtype=DOUBLE)
    expected = masses.log() + normal.log_prob(y) - volume.log()
    torch.testing.assert_close(d.log_prob(y[:, None]), expected)


# Samples


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("h", [0.05, 0.5, 10.0, 1e4])
def test_samples_follow_the_density_over_cells_and_radii(name: str, h: float) -> None:
    """Chi-square over cells and, within each, quantiles of the distance along the ray."""
    torch.manual_seed(5)
    d = voronoi(name, 6, h=h)
    y = d.sample((20000,))
    assert d.space.contains(y).all()
    cell = d.cell_of(y)
    counts = torch.bincount(cell, minlength=6)
    assert chisquare(counts, 20000 * d.masses).pvalue > 1e-3
    share = _radial_quantile(d, y, cell)
    table = torch.histc(share, 20, 0, 1)
    assert table.sum() == 20000
    assert chisquare(table).pvalue > 1e-3


def _radial_quantile(d: VoronoiMixture, y: Tensor, cell: Tensor) -> Tensor:
    """F_h(distance) / F_h(reach) along the ray through each sample: uniform if all is right."""
    z = d.points[cell]
    if isinstance(d.space, Sphere):
        ray = y - (y * z).sum(-1, keepdim=True) * z
        ray = ray / ray.norm(dim=-1, keepdim=True)
        cot = (d.points @ ray.mT).mT / (1 - d.points @ z.mT).mT
        cot[torch.arange(len(cell)), cell] = -math.inf
        reach = math.pi / 2 - torch.atan(cot.amax(1))
        r = torch.atan2((y * ray).sum(-1), (y * z).sum(-1))
        return d.kernel.mass(r, 2) / d.kernel.mass(reach, 2)
    r = (y - z).norm(dim=-1)
    ray = (y - z) / r[:, None]
    apart = d.points - z[:, None]
    inverse = 2 * (apart * ray[:, None]).sum(-1) / (apart**2).sum(-1)
    inverse[torch.arange(len(cell)), cell] = 0
    low, high = d.space.bounds(z)  # type: ignore[attr-defined]
    side = torch.where(ray > 0, (high - z) / ray, (low - z) / ray).amin(-1)
    reach = torch.minimum(1 / inverse.amax(1).clamp_min(0), side)
    dim = y.shape[-1]
    return d.kernel.mass(r, dim) / d.kernel.mass(reach, dim)


@pytest.mark.parametrize("name", ["square", "sphere"])
@pytest.mark.parametrize("h", [0.05, 0.5, 1e4, None])
def test_samples_follow_the_density_over_a_grid(name: str, h: float | None) -> None:
    torch.manual_seed(2)
    d = voronoi(name, 5, h=h)
    node, weight = grid(name, 600)
    y = d.sample((50000,))

    def patch(x: Tensor) -> Tensor:
        if name == "sphere":
            turn = torch.atan2(x[:, 1], x[:, 0]) / 2 / math.pi + 0.5
            x = torch.stack([x[:, 2], 2 * turn - 1], -1)
        side = ((x[:, :2] + 1) * 5).long().clamp_max(9)
        return side[:, 0] * 10 + side[:, 1]

    expected = torch.zeros(100, dtype=DOUBLE)
    expected.index_add_(0, patch(node), d.log_prob(node).exp() * weight)
    found = torch.bincount(patch(y), minlength=100).double() / 50000
    z = (found - expected) / (expected * (1 - expected) / 50000 + 4e-8).sqrt()
    assert z.abs().max() < 5


@pytest.mark.parametrize("name", SPACES)
def test_mean_and_variance_are_those_of_the_samples(name: str) -> None:
    torch.manual_seed(1)
    for h in (0.1, 1.0):
        d = voronoi(name, 3, 5, h=h)
        y = d.sample((20000,))
        assert ((y.mean(0) - d.mean) / (d.variance / 20000).sqrt()).abs().max() < 4.5
        torch.testing.assert_close(y.var(0), d.variance, rtol=0.06, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize(
    ("point", "h", "side"), [([0.9, 0.7], 1e-4, 1.0), ([900.0], 0.01, 1e3), ([9e4], 1e-4, 1e5)]
)
def test_narrow_kernels_far_from_0_keep_their_variance(
    point: list[float], h: float, side: float, dtype: torch.dtype
) -> None:
    points, masses = torch.tensor([point], dtype=dtype), torch.ones(1, dtype=dtype)
    cut = VoronoiMixture(points, masses, Gaussian(h), Box(-side, side))
    for law in (cut, KernelMixture(points, masses, Gaussian(h))):
        assert law.variance.tolist() == pytest.approx([h**2] * len(point), rel=1e-6)


def test_masses_that_sum_to_one_within_rounding_keep_the_variance() -> None:
    points, masses = torch.full((10, 1), 1e4, dtype=DOUBLE), torch.full((10,), 0.1)
    cut = VoronoiMixture(points, masses, Gaussian(1e-5), Box(0.0, 2e4))
    for law in (cut, KernelMixture(points, masses, Gaussian(1e-5))):
        assert law.mean.item() == pytest.approx(1e4, rel=1e-7)
        assert law.variance.item() == pytest.approx(1e-10, rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("h", [1e-5, 1e-3, 0.1, 1.0, 30.0])
def test_variance_of_one_atom_on_the_sphere_by_integration(h: float, dtype: torch.dtype) -> None:
    """Around the pole, over its height `1 - w` and the turn; then for narrow kernels anywhere."""
    x, weight = np.polynomial.legendre.leggauss(200)
    w = (x + 1) / 2 * min(2.0, 40 * h**2)
    density = weight * np.exp(-w / h**2)
    spread, square = (np.sum(density * w**p) / np.sum(density) for p in (1, 2))
    pole, one = torch.tensor([[0.0, 0.0, 1.0]], dtype=dtype), torch.ones(1, dtype=dtype)
    exact = [spread - square / 2] * 2 + [np.sum(density * (w - spread) ** 2) / np.sum(density)]
    askew = Sphere().project(torch.tensor([[0.3, 0.5, 0.8]], dtype=dtype))
    for make in (KernelMixture, lambda *atoms: VoronoiMixture(*atoms, Sphere())):
        law = make(pole, one, VonMisesFisher(h))
        assert law.variance.tolist() == pytest.approx(exact, rel=2e-6)
        if h < 1e-2:
            narrow = (h**2 * (1 - askew**2)).tolist()[0]
            law = make(askew, one, VonMisesFisher(h))
            assert law.variance.tolist() == pytest.approx(narrow, rel=1e-5)


@pytest.mark.parametrize("h", [1e-5, 1e-3])
def test_variance_of_a_narrow_kernel_in_its_cell_on_the_sphere(h: float) -> None:
    points, _ = atoms("sphere", 7)
    masses = torch.eye(7, dtype=DOUBLE)[0]
    law = VoronoiMixture(points, masses, VonMisesFisher(h), Sphere())
    exact = (h**2 * (1 - points[0] ** 2)).tolist()
    assert law.variance.tolist() == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("name", ["square", "sphere"])
def test_moments_are_exact_when_volumes_are_not(name: str) -> None:
    points, masses = atoms(name, 2, 6)
    for law in (Uniform(), kernel(name, 0.3)):
        exact = VoronoiMixture(points, masses, law, SPACES[name][0])
        rough = VoronoiMixture(points, masses, law, SPACES[name][0], Directions(40, random=True))
        torch.testing.assert_close(rough.mean, exact.mean)
        torch.testing.assert_close(rough.variance, exact.variance)


def test_samples_of_the_uncut_mixtures() -> None:
    torch.manual_seed(0)
    for name in ("square", "sphere"):
        points, masses = atoms(name, 3, 5)
        for d in (
            DiracMixture(points, masses),
            KernelMixture(points, masses, kernel(name, 0.4)),
            KernelMixture(points, masses, kernel(name, torch.rand(3, 5, dtype=DOUBLE) + 0.1)),
        ):
            y = d.sample((20000,))
            assert ((y.mean(0) - d.mean) / (d.variance / 20000).sqrt()).abs().max() < 4.5
            torch.testing.assert_close(y.var(0), d.variance, rtol=0.06, atol=0)


def test_sampling_a_cell_of_no_size_ends() -> None:
    points = torch.tensor([[0.0, 0.0], [1e-6, 0], [-1e-6, 0], [0, 1e-6], [0, -1e-6]], dtype=DOUBLE)
    masses = torch.tensor([1.0, 0, 0, 0, 0], dtype=DOUBLE)
    y = VoronoiMixture(points, masses, Gaussian(1e4), Box(-1.0, 1.0)).sample((1000,))
    assert y.abs().max() <= 0.5e-6
    more = torch.cat([points, torch.tensor([[0.5, 0.5]], dtype=DOUBLE)])
    cube = torch.cat([torch.cat([more, more[:, :1] * 0], 1), torch.eye(3)[2:] * 1e-6])
    masses = torch.tensor([1.0] + 6 * [0], dtype=DOUBLE)
    y = VoronoiMixture(cube, masses, Gaussian(1.0), Box(-1.0, 1.0)).sample((100,))
    assert y[:, :2].abs().max() <= 0.5e-6
    assert y[:, 2].max() <= 0.5e-6
    assert y[:, 2].min() < -0.5


def test_seeds_and_generators_fix_the_samples() -> None:
    d = voronoi("square", 3, 5)
    first = d.sample((7,), generator=torch.Generator().manual_seed(3))
    assert torch.equal(first, d.sample((7,), generator=torch.Generator().manual_seed(3)))
    assert not torch.equal(first, d.sample((7,), generator=torch.Generator().manual_seed(4)))


# Hard cases


def test_coincident_atoms_share_a_cell_that_has_the_sum_of_their_masses() -> None:
    for name in SPACES:
        points, masses = atoms(name, 2, 4)
        twice = torch.cat([points, points[:, :2]], 1)
        halves = torch.cat([masses[:, :2] * 0.25, masses[:, 2:], masses[:, :2] * 0.75], 1)
        space, y = SPACES[name][0], targets(name, 30, 2)
        for law in (kernel(name, 0.3), *([Uniform()] if SPACES[name][0].bounded else [])):
            d = VoronoiMixture(points, masses, law, space)
            e = VoronoiMixture(twice, halves, law, space)
            torch.testing.assert_close(d.log_prob(y), e.log_prob(y))
            torch.testing.assert_close(d.mean, e.mean)
            torch.testing.assert_close(d.variance, e.variance)
            assert (e.log_cell_mass[:, 4:] == -math.inf).all()
            assert e.cell_of(y).max() < 4
            torch.manual_seed(0)
            found = torch.bincount(e.cell_of(e.sample((4000,)))[:, 0], minlength=6)[:4]
            assert chisquare(found, 4000 * masses[0]).pvalue > 1e-3


def test_all_atoms_in_one_place_are_one_atom() -> None:
    for name in SPACES:
        points, masses = atoms(name, 1, 1)
        d = VoronoiMixture(points, masses, kernel(name, 0.3), SPACES[name][0])
        e = VoronoiMixture(
            points.expand(1, 5, -1),
            torch.full((1, 5), 0.2, dtype=DOUBLE),
            kernel(name, 0.3),
            SPACES[name][0],
        )
        y = targets(name, 30, 1)
        torch.testing.assert_close(d.log_prob(y), e.log_prob(y))
        torch.testing.assert_close(d.mean, e.mean)


def test_antipodal_atoms() -> None:
    z = torch.tensor([[0.0, 0.6, 0.8], [0.0, -0.6, -0.8]], dtype=DOUBLE)
    masses = torch.tensor([0.3, 0.7], dtype=DOUBLE)
    flat = VoronoiMixture(z, masses, Uniform(), Sphere())
    torch.testing.assert_close(
        flat.log_cell_mass.exp(), torch.full((2,), 2 * math.pi, dtype=DOUBLE)
    )
    torch.testing.assert_close(flat.log_prob(z).exp(), masses / (2 * math.pi))
    torch.testing.assert_close(flat.mean, (z * masses[:, None]).sum(0) / 2)
    torch.manual_seed(0)
    wide = VoronoiMixture(z, masses, VonMisesFisher(2.0), Sphere())
    assert (wide.sample((9000,)) @ z[0] > 0).double().mean().item() == pytest.approx(0.3, abs=0.02)


def test_atoms_on_the_border() -> None:
    corner = torch.tensor([[1.0, 1.0], [-1.0, -1.0]], dtype=DOUBLE)
    half = torch.full((2,), 0.5, dtype=DOUBLE)
    d = VoronoiMixture(corner, half, Gaussian(0.01), Box(-1.0, 1.0))
    torch.testing.assert_close(d.log_cell_mass.exp(), torch.full((2,), 0.25, dtype=DOUBLE))
    assert d.log_prob(corner).isfinite().all()
    assert d.sample((100,)).abs().max() <= 1
    end = VoronoiMixture(
        torch.ones(1, 1, dtype=DOUBLE), torch.ones(1), Gaussian(0.1), Box(-1.0, 1.0)
    )
    assert end.log_cell_mass.item() == pytest.approx(-math.log(2))


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
@pytest.mark.parametrize("h", [1e-4, 1e-2, 1e4])
def test_extreme_bandwidths_neither_overflow_nor_vanish(
    name: str, dtype: torch.dtype, h: float
) -> None:
    d = voronoi(name, 4, 9, h=torch.tensor(h, dtype=dtype), dtype=dtype)
    y = targets(name, 4).to(dtype)
    assert d.log_prob(y).isfinite().all()
    assert d.log_cell_mass.isfinite().all()
    assert (d.log_cell_mass <= 1e-6).all()
    assert d.sample((5,)).isfinite().all()
    assert d.mean.isfinite().all()
    assert (d.variance >= 0).all()


def test_masses_of_zero() -> None:
    points, _ = atoms("square", 3)
    masses = torch.tensor([0.0, 1.0, 0.0], dtype=DOUBLE, requires_grad=True)
    for d in (
        VoronoiMixture(points, masses, Gaussian(0.3), Box(-1.0, 1.0)),
        KernelMixture(points, masses, Gaussian(0.3)),
    ):
        lone = d.log_prob(points[1])
        (gradient,) = torch.autograd.grad(lone, masses)
        assert lone.isfinite()
        assert gradient[1].item() == pytest.approx(1)
        assert (d.sample((100,)).isfinite()).all()
        everywhere = d.log_prob(points)
        (gradient,) = torch.autograd.grad(everywhere[1], masses)
        assert gradient.isfinite().all()
    cut = VoronoiMixture(points, masses.detach(), Gaussian(0.3), Box(-1.0, 1.0))
    assert cut.log_prob(points).tolist()[0] == -math.inf
    assert (cut.cell_of(cut.sample((100,))) == 1).all()


def test_y_on_the_border_between_cells_and_of_the_domain() -> None:
    points = torch.tensor([[-0.5, 0.0], [0.5, 0.0]], dtype=DOUBLE)
    masses = torch.tensor([0.4, 0.6], dtype=DOUBLE)
    d = VoronoiMixture(points, masses, Uniform(), Box(-1.0, 1.0))
    y = torch.tensor([[0.0, 0.3], [1.0, 1.0], [1.0, 1.0 + 1e-9], [-5.0, 0.0]], dtype=DOUBLE)
    assert d.cell_of(y).tolist() == [0, 1, 1, 0]
    assert d.log_prob(y).exp().tolist() == pytest.approx([0.2, 0.3, 0, 0])


def test_an_empty_batch_and_no_samples() -> None:
    for name in SPACES:
        points, masses = atoms(name, 0, 4)
        d = VoronoiMixture(points, masses, kernel(name, 0.3), SPACES[name][0])
        assert d.log_prob(targets(name, 0)).shape == (0,)
        assert d.log_cell_mass.shape == (0, 4)
        assert d.sample((3,)).shape == (3, 0, points.shape[-1])
        assert d.mean.shape == d.variance.shape == (0, points.shape[-1])
        assert voronoi(name, 2, 4).sample((0,)).shape == (0, 2, points.shape[-1])
        assert KernelMixture(points, masses, kernel(name, 0.3)).sample((3,)).shape[:2] == (3, 0)


@pytest.mark.parametrize("name", EXACT)
def test_float32_is_close_to_float64(name: str) -> None:
    points, masses = atoms(name, 50, 20, dtype=torch.float32)
    y = targets(name, 50).float()
    for h in (1e-3, 0.1, 1e3):
        d = VoronoiMixture(points, masses, kernel(name, h), SPACES[name][0])
        precise = points.double() / (
            points.double().norm(dim=-1, keepdim=True) if name == "sphere" else 1
        )
        exact = masses.double() / masses.double().sum(-1, keepdim=True)
        e = VoronoiMixture(precise, exact, kernel(name, h), SPACES[name][0])
        assert d.log_prob(y).dtype == d.mean.dtype == d.sample().dtype == torch.float32
        torch.testing.assert_close(d.log_cell_mass.double(), e.log_cell_mass, rtol=0, atol=1e-4)


# Gradients


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("h", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_gradients_by_finite_differences(name: str, h: float, count: int) -> None:
    points, masses = atoms(name, 2, count, seed=count)
    y, space = targets(name, 3, 2), SPACES[name][0]

    def evaluate(points: Tensor, logits: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        z = space.project(points) if isinstance(space, Sphere) else points
        d = (
            VoronoiMixture(
                z, logits.softmax(-1), kernel(name, h), space, Directions(64), validate_args=False
            )
            if name == "cube"
            else VoronoiMixture(z, logits.softmax(-1), kernel(name, h), space, validate_args=False)
        )
        return d.log_prob(y), d.log_cell_mass

    inputs = points, masses.log(), torch.tensor(h, dtype=DOUBLE)
    inputs = tuple(x.clone().requires_grad_() for x in inputs)
    if name == "cube":  # the gradient by points estimates that of the exact masses
        inputs[0].requires_grad_(False)
    # noise of the differences: slopes are up to 1e4 at .01, masses good to 1e-10 in the open plane
    noise = 1e-3 if h < 0.1 or name == "open plane" else 1e-6
    assert torch.autograd.gradcheck(evaluate, inputs, eps=1e-6, atol=noise, rtol=1e-4)


def test_gradient_of_areas() -> None:
    for name in ("line", "square", "sphere"):
        points, masses = atoms(name, 5)
        space = SPACES[name][0]

        def areas(points: Tensor, masses: Tensor = masses, space: Space = space) -> Tensor:
            z = space.project(points) if isinstance(space, Sphere) else points
            return VoronoiMixture(z, masses, Uniform(), space, validate_args=False).log_cell_mass

        assert torch.autograd.gradcheck(areas, points.clone().requires_grad_())


def test_gradients_for_a_bandwidth_of_each_atom() -> None:
    points, masses = atoms("square", 2, 4)
    h = (torch.rand(2, 4, dtype=DOUBLE) + 0.2).requires_grad_()
    y = targets("square", 2)

    def evaluate(h: Tensor) -> Tensor:
        return VoronoiMixture(points, masses, Gaussian(h), Box(-1.0, 1.0)).log_prob(y)

    assert torch.autograd.gradcheck(evaluate, h)


# The interface of torch.distributions


@pytest.mark.parametrize("name", SPACES)
def test_shapes(name: str) -> None:
    e = SPACES[name][1]
    d = voronoi(name, 2, 3, 5)
    assert d.batch_shape == (2, 3)
    assert d.event_shape == (e,)
    assert d.log_prob(targets(name, 2, 3)).shape == (2, 3)
    assert d.log_prob(targets(name, 7, 2, 3)).shape == (7, 2, 3)
    assert d.log_prob(targets(name, 7, 1, 1)).shape == (7, 2, 3)
    assert d.log_prob(targets(name, 1)[0]).shape == (2, 3)
    assert d.sample((4, 6)).shape == (4, 6, 2, 3, e)
    assert d.sample().shape == (2, 3, e)
    assert d.mean.shape == d.variance.shape == (2, 3, e)
    assert d.log_cell_mass.shape == (2, 3, 5)
    assert d.support.check(d.sample((9,))).all()
    lone = voronoi(name, 5)
    assert lone.batch_shape == ()
    assert lone.log_prob(targets(name, 4)).shape == (4,)
    assert lone.sample((4,)).shape == (4, e)


@pytest.mark.parametrize("make", [VoronoiMixture, KernelMixture, DiracMixture])
def test_expand(make: Callable[..., DiracMixture]) -> None:
    points, masses = atoms("square", 3, 5)
    rest = {VoronoiMixture: (Gaussian(0.3), Box(-1.0, 1.0)), KernelMixture: (Gaussian(0.3),)}
    d = make(points, masses, *rest.get(make, ()))
    e = d.expand(torch.Size((4, 3)))
    assert type(e) is make
    assert e.batch_shape == (4, 3)
    assert e.sample((2,)).shape == (2, 4, 3, 2)
    torch.testing.assert_close(e.mean, d.mean.expand(4, 3, 2))
    torch.testing.assert_close(e.variance, d.variance.expand(4, 3, 2))
    if make is not DiracMixture:
        y = targets("square", 4, 3)
        torch.testing.assert_close(e.log_prob(y), d.log_prob(y))


@pytest.mark.parametrize("name", SPACES)
def test_bandwidths_broadcast_against_the_masses(name: str) -> None:
    points, masses = atoms(name, 3, 5)
    y, space = targets(name, 3), SPACES[name][0]
    h = torch.tensor([0.1, 0.5, 2.0], dtype=DOUBLE)
    sweep = VoronoiMixture(points, masses, kernel(name, h[:, None, None]), space)
    assert sweep.batch_shape == (3, 3)
    each = VoronoiMixture(points, masses, kernel(name, h[:, None]), space)
    assert each.batch_shape == (3,)
    for i in range(3):
        one = VoronoiMixture(points, masses, kernel(name, h[i]), space)
        torch.testing.assert_close(sweep.log_prob(y)[i], one.log_prob(y))
        torch.testing.assert_close(each.log_prob(y)[i], one.log_prob(y)[i])
        torch.testing.assert_close(sweep.mean[i], one.mean)
    atomwise = VoronoiMixture(points, masses, kernel(name, h[torch.tensor([0, 1, 2, 0, 1])]), space)
    cell = atomwise.cell_of(y)
    for b in range(3):
        own = VoronoiMixture(points, masses, kernel(name, h[cell[b] % 3]), space)
        torch.testing.assert_close(atomwise.log_prob(y)[b], own.log_prob(y)[b])
    assert atomwise.sample((2,)).shape == (2, 3, points.shape[-1])


@pytest.mark.parametrize("name", SPACES)
def test_with_bandwidth_equals_a_new_mixture_and_keeps_the_cells(name: str) -> None:
    d = voronoi(name, 3, 5, h=0.3)
    y = targets(name, 3)
    d.log_prob(y)
    e = d.with_bandwidth(0.7)
    assert e._cells is d._cells
    torch.testing.assert_close(e.log_prob(y), voronoi(name, 3, 5, h=0.7).log_prob(y))
    k = KernelMixture(d.points, d.masses, kernel(name, 0.3)).with_bandwidth(0.7)
    torch.testing.assert_close(
        k.log_prob(y), KernelMixture(d.points, d.masses, kernel(name, 0.7)).log_prob(y)
    )


def test_points_and_masses_of_different_batches() -> None:
    points, masses = atoms("square", 3, 5)
    y = targets("square", 3)
    for p, m in ((points[0], masses), (points, masses[0]), (points[:, None], masses)):
        shape = torch.broadcast_shapes(p.shape[:-1], m.shape)
        for make, rest in (
            (VoronoiMixture, (Gaussian(0.3), Box(-1.0, 1.0))),
            (KernelMixture, (Gaussian(0.3),)),
        ):
            d = make(p, m, *rest)
            full = make(p.expand(*shape, 2), m.expand(shape), *rest)
            assert d.batch_shape == full.batch_shape == shape[:-1]
            torch.testing.assert_close(d.log_prob(y), full.log_prob(y))
            torch.testing.assert_close(d.mean, full.mean)
            assert d.sample((2,)).shape == (2, *shape[:-1], 2)


def test_types_and_names() -> None:
    square = Box(-1.0, 1.0)
    whole = VoronoiMixture(torch.zeros(1, 2).long(), torch.ones(1).long(), Gaussian(0.3), square)
    assert whole.log_prob(torch.zeros(2)).isfinite()
    with pytest.raises(TypeError, match="float16 is too coarse"):
        DiracMixture(torch.zeros(1, 2).half(), torch.ones(1).half())
    assert repr(whole) == "VoronoiMixture(K=1, batch_shape=(), Gaussian(0.3), Box(-1.0, 1.0))"
    unchecked = VoronoiMixture(
        whole.points, whole.masses, Gaussian(0.3), square, validate_args=False
    )
    assert unchecked.log_prob(torch.tensor([math.nan, 0.0])).isnan()


@pytest.mark.parametrize("make", [VoronoiMixture, KernelMixture, DiracMixture])
def test_impossible_expansions_are_refused(make: Callable[..., DiracMixture]) -> None:
    rest = {VoronoiMixture: (Gaussian(0.3), Box(-1.0, 1.0)), KernelMixture: (Gaussian(0.3),)}
    d = make(*atoms("square", 3, 5), *rest.get(make, ()))
    for shape in ((2,), (2, -1)):
        with pytest.raises((ValueError, RuntimeError), match=r"expand|broadcast|shape"):
            d.expand(shape)


def test_with_bandwidth_keeps_the_batch() -> None:
    h = torch.tensor([0.1, 0.5], dtype=DOUBLE)
    points, masses = atoms("square", 3, 5)
    y = targets("square", 3)
    for d in (
        VoronoiMixture(points, masses, Gaussian(0.3), Box(-1.0, 1.0)),
        KernelMixture(points, masses, Gaussian(0.3)),
    ):
        assert d.expand((2, 3)).with_bandwidth(0.5).batch_shape == (2, 3)
        sweep = d.with_bandwidth(h[:, None, None])
        assert sweep.batch_shape == (2, 3)
        torch.testing.assert_close(sweep.log_prob(y)[1], d.with_bandwidth(0.5).log_prob(y))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": torch.full((3, 2), math.nan)}, r"points must be finite, found nan at \[0, 0\]"),
        ({"points": torch.full((3, 2), 2.0)}, r"points \[2.0, 2.0\] lies outside Box"),
        ({"points": np.zeros((3, 2))}, "points must be a tensor, found ndarray. Remedy: torch.as"),
        ({"masses": [0.5, 0.25, 0.25]}, "masses must be a tensor, found list. Remedy: torch.as"),
        ({"points": torch.zeros(3)}, "points are"),
        ({"points": torch.zeros(4, 2)}, "need the same K|do not fit"),
        ({"points": torch.zeros(0, 2), "masses": torch.zeros(0)}, "K > 0"),
        (
            {"masses": torch.tensor([0.5, 0.5, 0.5])},
            "masses must sum to 1 over K, found a sum of 1.5",
        ),
        ({"masses": torch.tensor([1.5, -0.5, 0.0])}, "masses must not be negative, found -0.5"),
        ({"masses": torch.tensor([math.inf, 0.5, 0.0])}, "masses must be finite, found inf"),
        ({"kernel": Gaussian(torch.ones(4))}, "do not fit together"),
        ({"kernel": VonMisesFisher(0.3)}, "needs a Gaussian or Uniform kernel"),
        ({"space": Sphere()}, "needs a VonMisesFisher or Uniform kernel"),
        ({"space": Sphere(), "kernel": Uniform()}, "unit vectors"),
        ({"space": Box([0.0] * 3, [1.0] * 3)}, "2 coordinates"),
        ({"space": Box(-math.inf, 1.0), "kernel": Uniform()}, "bounded"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Tensor], message: str) -> None:
    arguments = {
        "points": torch.rand(3, 2),
        "masses": torch.full((3,), 1 / 3),
        "kernel": Gaussian(0.3),
        "space": Box(-1.0, 1.0),
    }
    with pytest.raises((ValueError, TypeError), match=message):
        VoronoiMixture(**(arguments | change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make", [voronoi, lambda *shape: KernelMixture(*atoms(*shape), Gaussian(1))]
)
def test_targets_and_bandwidths_of_other_shapes_are_named(
    make: Callable[..., DiracMixture],
) -> None:
    law = make("square", 3, 5)
    with pytest.raises(
        ValueError, match=r"y has shape \(4, 2\), but the law has batch shape \(3,\)"
    ):
        law.log_prob(torch.zeros(4, 2))
    with pytest.raises(TypeError, match=r"y must be a tensor, found ndarray\. Remedy"):
        law.log_prob(np.zeros((3, 2)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"h has shape \(4,\).* batch shape \(3,\) and K = 5"):
        law.with_bandwidth(torch.ones(4))
    with pytest.raises(ValueError, match=r"h has shape \(3,\).* batch shape \(2,\) and K = 1"):
        make("square", 2, 1).with_bandwidth(torch.ones(3))


@pytest.mark.parametrize("name", ["line", "square", "cube"])
def test_whole_targets_are_those_of_floating_point(name: str) -> None:
    points, masses = atoms(name, 4)
    y = torch.tensor([-1, 0, 1, 2])[:, None].expand(-1, points.shape[-1])
    for law in (
        VoronoiMixture(points, masses, Gaussian(0.5), Box(-1.5, 1.5)),
        KernelMixture(points, masses, Gaussian(0.5)),
    ):
        assert torch.equal(law.log_prob(y), law.log_prob(y.to(DOUBLE)))


@pytest.mark.parametrize("h", [1e-4, 1e-2])
def test_norms_of_unit_vectors_do_not_matter(h: float) -> None:
    points, masses = atoms("sphere", 3)
    y = SPACES["sphere"][0].project(points + h * torch.eye(3, dtype=DOUBLE))
    for make in (KernelMixture, lambda *law: VoronoiMixture(*law, Sphere())):
        exact = make(points, masses, VonMisesFisher(h)).log_prob(y)
        for law, target in (
            (make(points * 1.00009, masses, VonMisesFisher(h)), y),
            (make(points, masses, VonMisesFisher(h)), y * 0.99991),
        ):
            torch.testing.assert_close(law.log_prob(target), exact)


def test_atoms_outside_the_box_stand_at_its_sides_if_nothing_is_checked() -> None:
    points, masses = torch.tensor([[1.5], [0.0]], dtype=DOUBLE), torch.full((2,), 0.5, dtype=DOUBLE)
    laws = [
        VoronoiMixture(at, masses, Gaussian(0.2), Box(-1.0, 1.0), validate_args=False)
        for at in (points, points.clamp_max(1.0))
    ]
    y = torch.linspace(-1, 1, 9, dtype=DOUBLE)[:, None]
    assert torch.equal(laws[0].log_prob(y), laws[1].log_prob(y))


@pytest.mark.parametrize("d", [1, 2])
def test_gradient_of_an_atom_on_a_side_that_was_rounded(d: int) -> None:
    """In float32 .1 is more than .1: the atom's gradient is that of one just inside."""
    z = torch.full((1, d), 0.04)
    z[0, 0] = 0.1
    z.requires_grad_()
    law = VoronoiMixture(z, torch.ones(1), Gaussian(0.05), Box(0.0, 0.1))
    (gradient,) = torch.autograd.grad(law.log_prob(torch.full((d,), 0.05)), z)
    slope = math.exp(-2) - 1  # of the mass, in units of its density at 0
    mass = math.erf(2 / math.sqrt(2)) / 2
    exact = -0.05 / 0.05**2 - slope / math.sqrt(2 * math.pi) / 0.05 / mass
    assert gradient[0, 0].item() == pytest.approx(exact, rel=1e-4)


def test_bad_targets_are_named() -> None:
    d = voronoi("square", 3, 5)
    with pytest.raises(ValueError, match=r"y must be finite, found nan at \[1, 0\]"):
        d.log_prob(torch.tensor([[0.0, 0.0], [math.nan, 0.0], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="last axis"):
        d.log_prob(torch.zeros(3, 3))
    with pytest.raises(ValueError, match="is not a unit vector"):
        voronoi("sphere", 3, 5).log_prob(torch.ones(3, 3))
    with pytest.raises(NotImplementedError, match="no density"):
        DiracMixture(*atoms("square", 3)).log_prob(torch.zeros(2))
    with pytest.raises(TypeError, match="must be cut"):
        KernelMixture(*atoms("square", 3), Uniform())


@pytest.mark.parametrize("name", ["square", "sphere"])
def test_the_papers_random_directions_scatter_around_the_exact_volumes(name: str) -> None:
    points, masses = atoms(name, 200, 9)
    space, law = SPACES[name][0], kernel(name, 0.3)
    exact = VoronoiMixture(points, masses, law, space).log_cell_mass
    rough = VoronoiMixture(points, masses, law, space, Directions(40, seed=1, random=True))
    again = VoronoiMixture(points, masses, law, space, Directions(40, seed=1, random=True))
    assert torch.equal(rough.log_cell_mass, again.log_cell_mass)
    error = rough.log_cell_mass - exact
    assert 0.02 < error.std() < 0.2
    assert abs((rough.log_cell_mass.exp() / exact.exp()).mean().item() - 1) < 0.01
    y = targets(name, 200)
    assert not torch.equal(
        rough.log_prob(y), VoronoiMixture(points, masses, law, space).log_prob(y)
    )
