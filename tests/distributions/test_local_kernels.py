"""Voronoi mixtures whose kernels have centres and bandwidths of their own."""

import math

import pytest
import torch
from torch import Tensor

from vwta.distributions.average import Average
from vwta.distributions.calibration import crps
from vwta.distributions.continuous import ContinuousMixture
from vwta.distributions.line import cdf, log_mass_between
from vwta.distributions.mixtures import VoronoiMixture
from vwta.distributions.robust import Robust
from vwta.geometry.directions import Directions
from vwta.geometry.kernels import Gaussian, Uniform, VonMisesFisher
from vwta.geometry.spaces import Box, Sphere, unit

SPACES = {"line": Box(-1.0, 1.0), "plane": Box([-1.0, -1.0], [1.0, 1.0]), "sphere": Sphere()}
KERNELS = {"line": Gaussian, "plane": Gaussian, "sphere": VonMisesFisher}
Parts = tuple[Tensor, Tensor, Tensor, Tensor]


def draw(name: str, B: int = 3, K: int = 5, seed: int = 0) -> Parts:
    """Atoms, masses, bandwidths and centres; some of these lie outside their cells."""
    d, source = {"line": 1, "plane": 2, "sphere": 3}[name], torch.Generator().manual_seed(seed)
    z, c = (torch.rand(B, K, d, dtype=torch.float64, generator=source) for _ in range(2))
    masses, h = (torch.rand(B, K, dtype=torch.float64, generator=source) for _ in range(2))
    if name == "sphere":
        return unit(2 * z - 1), masses.softmax(-1), 0.1 + 0.4 * h, unit(2 * c - 1)
    return 2 * z - 1, masses.softmax(-1), 0.1 + 0.4 * h, 3 * c - 1.5


def law_of(name: str, parts: Parts) -> VoronoiMixture:
    z, masses, h, c = parts
    return VoronoiMixture(z, masses, KERNELS[name](h), SPACES[name], centres=c)


def draw_roots(B: int = 3, K: int = 5, seed: int = 0) -> Tensor:
    """Lower triangular roots of covariances that are up to five times as long as wide."""
    source = torch.Generator().manual_seed(seed)
    shear, stretch = torch.randn(2, B, K, dtype=torch.float64, generator=source)
    zero, stretch = torch.zeros_like(shear), (stretch / 2).exp()
    rows = torch.stack([stretch, zero, shear, 1 / stretch], -1)
    return rows.unflatten(-1, (2, 2))


def shaped_law(z: Tensor, masses: Tensor, h: Tensor, c: Tensor, roots: Tensor) -> VoronoiMixture:
    return VoronoiMixture(z, masses, Gaussian(h), SPACES["plane"], centres=c, roots=roots)


def grid(name: str, n: int) -> tuple[Tensor, float]:
    """Midpoints `(N, 1, d)` of a grid of the domain, and the volume of each."""
    x = (2 * torch.arange(n, dtype=torch.float64) + 1) / n - 1
    if name == "sphere":  # bands of the same height, turned against each other
        turn = math.pi * (1 + math.sqrt(5)) * torch.arange(n * n)
        height = (2 * torch.arange(n * n, dtype=torch.float64) + 1) / (n * n) - 1
        y = torch.stack([turn.cos(), turn.sin(), height], -1)
        y[:, :2] *= (1 - height**2).sqrt()[:, None]
        return y[:, None], 4 * math.pi / (n * n)
    y = x[:, None] if name == "line" else torch.cartesian_prod(x, x)
    return y[:, None], (2 / n) ** y.shape[-1]


@pytest.mark.parametrize(
    ("name", "n", "close"), [("line", 40_000, 1e-4), ("plane", 300, 2e-3), ("sphere", 400, 2e-3)]
)
def test_sums_over_a_grid(name: str, n: int, close: float) -> None:
    """Masses of cells, mean and variance are those of the density."""
    z, masses, h, c = draw(name)
    parts = z, masses, 2 * h, c  # none as steep as the grid is fine
    law = law_of(name, parts)
    y, size = grid(name, n)
    p = law.log_prob(y).exp() * size
    which = law.cell_of(y)
    for k in range(5):
        assert torch.allclose((p * (which == k)).sum(0), parts[1][:, k], atol=close)
    mean = (p[..., None] * y).sum(0)
    assert torch.allclose(law.mean, mean, atol=close)
    assert torch.allclose(law.variance, (p[..., None] * (y - mean) ** 2).sum(0), atol=close)


@pytest.mark.parametrize("name", SPACES)
def test_samples(name: str) -> None:
    torch.manual_seed(0)
    law, n = law_of(name, draw(name)), 4000
    y = law.sample((n,))
    error = (law.variance / n).sqrt()
    assert ((y.mean(0) - law.mean).abs() < 4.5 * error).all()
    for k in range(5):
        share, mass = (law.cell_of(y) == k).double().mean(0), law.masses[:, k]
        assert ((share - mass).abs() < 4.5 * (mass * (1 - mass) / n).sqrt()).all()
    assert not law.space.outside(y).any()


@pytest.mark.parametrize("name", SPACES)
def test_gradients(name: str) -> None:
    z, masses, h, c = draw(name, B=1 if name == "sphere" else 3)
    y = SPACES[name].project(torch.rand(3, z.shape[-1], dtype=torch.float64) - 0.5)

    def log_prob(z: Tensor, logits: Tensor, h: Tensor, c: Tensor) -> Tensor:
        kernel = KERNELS[name](h)
        law = VoronoiMixture(z, logits.softmax(-1), kernel, SPACES[name], None, False, c)
        return law.log_prob(y)

    inputs = [x.requires_grad_() for x in (z, masses.log(), h, c)]
    assert torch.autograd.gradcheck(log_prob, inputs)
    detached = [z.detach(), *inputs[1:]]
    gradients = torch.autograd.grad(log_prob(*detached).sum(), inputs[1:])  # cells are constant
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_shaped_kernels_on_a_grid() -> None:
    """Density, masses of cells, mean and variance of kernels with any covariance."""
    z, masses, h, c = draw("plane")
    h, roots = 2 * h, draw_roots()
    law = shaped_law(z, masses, h, c, roots)
    y, size = grid("plane", 300)
    which, covariance = (
        law.cell_of(y),
        (h[..., None, None] * roots) @ (h[..., None, None] * roots).mT,
    )
    uncut = torch.distributions.MultivariateNormal(c, covariance).log_prob(y[:, :, None]).exp()
    mass = torch.stack([(uncut[..., k] * (which == k)).sum(0) * size for k in range(5)], -1)
    assert torch.allclose(law.log_cell_mass.exp(), mass, rtol=1e-2)
    chosen = (uncut / law.log_cell_mass.exp() * masses).take_along_dim(which[..., None], -1)[..., 0]
    p = law.log_prob(y).exp()
    assert torch.allclose(p, chosen, rtol=1e-9)
    p = p * size
    for k in range(5):
        assert torch.allclose((p * (which == k)).sum(0), masses[:, k], atol=2e-3)
    mean = (p[..., None] * y).sum(0)
    assert torch.allclose(law.mean, mean, atol=2e-3)
    assert torch.allclose(law.variance, (p[..., None] * (y - mean) ** 2).sum(0), atol=2e-3)


def test_samples_of_shaped_kernels() -> None:
    torch.manual_seed(0)
    law, n = shaped_law(*draw("plane"), draw_roots()), 4000
    y = law.sample((n,))
    error = (law.variance / n).sqrt()
    assert ((y.mean(0) - law.mean).abs() < 4.5 * error).all()
    left = law.cell_of(y) == 0
    mean = law._moments()[1][:, 0] + law._moments()[2][:, 0]
    for b in range(3):
        own = y[left[:, b], b]
        assert ((own.mean(0) - mean[b]).abs() < 4.5 * own.std(0) / len(own) ** 0.5).all()
    assert not law.space.outside(y).any()


def test_gradients_of_shaped_kernels() -> None:
    z, masses, h, c = draw("plane")
    y = torch.rand(3, 2, dtype=torch.float64) - 0.5

    def log_prob(z: Tensor, logits: Tensor, h: Tensor, c: Tensor, roots: Tensor) -> Tensor:
        space, kernel = SPACES["plane"], Gaussian(h)
        law = VoronoiMixture(z, logits.softmax(-1), kernel, space, None, False, c, roots.tril())
        return law.log_prob(y)

    inputs = [x.requires_grad_() for x in (z, masses.log(), h, c, draw_roots())]
    assert torch.autograd.gradcheck(log_prob, inputs)


def test_limits_of_shaped_kernels() -> None:
    """Isotropic ones for multiples of the unit matrix, flat wide ones, and peaks of narrow ones."""
    z, masses, h, c = draw("plane")
    roots, y = draw_roots(), grid("plane", 20)[0]
    round_ones = 1.7 * torch.eye(2).double().expand(3, 5, 2, 2)
    law = shaped_law(z, masses, h, c, round_ones)
    plain = law_of("plane", (z, masses, 1.7 * h, c))
    assert torch.allclose(law.log_prob(y), plain.log_prob(y), atol=1e-9)
    assert torch.allclose(law.variance, plain.variance, atol=1e-9)
    wide = shaped_law(z, masses, 1e5 * h, c, roots).log_prob(y)
    flat = VoronoiMixture(z, masses, Uniform(), SPACES["plane"]).log_prob(y)
    assert torch.allclose(wide, flat, atol=1e-8)
    narrow = shaped_law(z, masses, 1e-6 * h, z, roots)
    assert torch.allclose(narrow.log_cell_mass, torch.zeros(3, 5).double(), atol=1e-9)
    far = shaped_law(z, masses, h / 50, 3 * c, roots)
    assert far.log_prob(y).isfinite().all()
    twice = far.with_width_factor(2.0).log_prob(y)
    assert torch.allclose(twice, shaped_law(z, masses, h / 25, 3 * c, roots).log_prob(y))
    assert torch.allclose(twice, shaped_law(z, masses, h / 50, 3 * c, 2 * roots).log_prob(y))
    assert torch.equal(far.expand((2, 3)).log_prob(y[:, None])[:, 0], far.log_prob(y))
    about_atoms = VoronoiMixture(z, masses, Gaussian(h), SPACES["plane"], roots=roots)
    assert torch.equal(about_atoms.log_prob(y), shaped_law(z, masses, h, z, roots).log_prob(y))


@pytest.mark.parametrize("name", SPACES)
def test_centres_at_the_atoms_change_nothing(name: str) -> None:
    z, masses, h, _ = draw(name)
    plain = VoronoiMixture(z, masses, KERNELS[name](h), SPACES[name])
    centred = VoronoiMixture(z, masses, KERNELS[name](h), SPACES[name], centres=z)
    y = grid(name, 20)[0]
    assert torch.allclose(plain.log_prob(y), centred.log_prob(y), atol=1e-9)
    assert torch.allclose(plain.log_cell_mass, centred.log_cell_mass, atol=1e-9)
    assert torch.allclose(plain.mean, centred.mean, atol=1e-9)
    assert torch.allclose(plain.variance, centred.variance, atol=1e-8)
    assert (centred.log_cell_mass_error == 0).all()
    assert (centred.mean_error == 0).all()


@pytest.mark.parametrize("name", SPACES)
def test_far_centres_in_float32(name: str) -> None:
    """A kernel hundreds of bandwidths away becomes an exponential law, also in float32."""
    z, masses, h, c = draw(name)
    c = SPACES[name].project(3 * c) if name == "sphere" else 3 * c
    precise = law_of(name, (z, masses, h / 50, c))
    rough = law_of(name, tuple(x.float().double() for x in (z, masses, h / 50, c)))
    single = VoronoiMixture(
        *(x.float() for x in (z, masses)),
        KERNELS[name]((h / 50).float()),
        SPACES[name],
        centres=c.float(),
    )
    y = grid(name, 12)[0].float()
    assert precise.log_prob(y.double()).isfinite().all()
    expected = rough.log_prob(y.double())
    assert torch.allclose(single.log_prob(y).double(), expected, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("name", SPACES)
def test_twins_share_the_cell_of_the_first(name: str) -> None:
    z, masses, h, c = draw(name)
    z[:, 3] = z[:, 1]
    law = law_of(name, (z, masses, h, c))
    keep = [0, 1, 2, 4]
    both = masses[:, keep].clone()
    both[:, 1] += masses[:, 3]
    alone = law_of(name, (z[:, keep], both, h[:, keep], c[:, keep]))
    y = grid(name, 15)[0]
    assert torch.allclose(law.log_prob(y), alone.log_prob(y), atol=1e-12)
    assert torch.allclose(law.mean, alone.mean)
    assert law.sample((50,)).isfinite().all()


@pytest.mark.parametrize("name", SPACES)
def test_shapes_and_changes(name: str) -> None:
    z, masses, h, c = draw(name)
    law = law_of(name, (z, masses, h, c))
    y = grid(name, 4)[0]
    assert law.expand((2, 3)).log_prob(y[:, None]).shape == (len(y), 2, 3)
    wider = law_of(name, (z, masses, 2 * h, c))
    assert torch.equal(law.with_width_factor(2.0).log_prob(y), wider.log_prob(y))
    factors = torch.tensor([1.0, 2.0]).double().view(2, 1, 1)
    assert torch.equal(law.with_width_factor(factors).log_prob(y[:, None])[:, 1], wider.log_prob(y))
    cold = law.with_temperature(0.5)
    assert torch.allclose(cold.masses, masses**2 / (masses**2).sum(-1, keepdim=True))
    one = VoronoiMixture(z[0], masses[0], KERNELS[name](h), SPACES[name], centres=c)
    assert one.batch_shape == (3,)
    single = VoronoiMixture(z[0], masses[0], KERNELS[name](h[1]), SPACES[name], centres=c[1])
    assert torch.allclose(one.log_prob(y)[:, 1], single.log_prob(y[:, 0]))


def test_distribution_function() -> None:
    law, n = law_of("line", draw("line")), 40_000
    y, size = grid("line", n)
    total = law.log_prob(y).exp().cumsum(0) * size
    ends = y[::500, :, 0] + 1 / n
    assert torch.allclose(cdf(law, ends), total[::500], atol=2e-4)
    low, high = torch.tensor([-0.9, 0.1]).double().unsqueeze(1), torch.tensor(0.4).double()
    expected = cdf(law, high) - cdf(law, low)
    assert torch.allclose(log_mass_between(law, low, high).exp(), expected, atol=1e-12)
    target = torch.tensor([0.3, -0.5, 0.9]).double()
    score = (total - (y[..., 0] + 1 / n >= target).double()).square().sum(0) * size
    assert torch.allclose(crps(law, target), score, atol=2e-4)


def test_score_of_a_law_whose_centres_lie_far_away() -> None:
    """A kernel 60 bandwidths beside its cell is an exponential law of scale h^2 / 60 h."""
    h = 0.01
    z = torch.zeros(1, 1, 1, dtype=torch.float64)
    kernel, c = Gaussian(h), z - 1 - 60 * h
    law = VoronoiMixture(z, torch.ones(1, 1).double(), kernel, SPACES["line"], centres=c)
    mean = law.mean.item() + 1
    assert mean == pytest.approx(h / 60, rel=1e-2)
    assert crps(law, torch.tensor([-1.0]).double()).item() == pytest.approx(mean / 2, rel=1e-3)


def test_robust_law() -> None:
    law = law_of("line", draw("line"))
    robust = Robust.over(law, 0.01, 1.5)
    y, size = grid("line", 20_000)
    p = robust.log_prob(y).exp()
    assert torch.allclose(p.sum(0) * size, torch.ones(3).double(), atol=2e-3)
    wide = robust.laws[1].log_prob(y).exp()
    assert torch.allclose(p, 0.99 * law.log_prob(y).exp() + 0.01 * wide)
    assert torch.allclose(robust.with_width_factor(2.0).laws[1].log_prob(y).exp(), wide)
    mixed = 0.99 * cdf(law, 0.2) + 0.01 * cdf(robust.laws[1], 0.2)
    assert torch.allclose(cdf(robust, 0.2), mixed)
    assert torch.allclose(log_mass_between(robust, -math.inf, 0.2).exp(), mixed)
    assert torch.allclose(robust.mean, 0.99 * law.mean + 0.01 * robust.laws[1].mean)
    assert robust.sample((7,)).shape == (7, 3, 1)


def test_refusals() -> None:
    z, masses, h, c = draw("plane")
    cube = Box(-1.0, 1.0)
    with pytest.raises(ValueError, match="centres have shape"):
        VoronoiMixture(z, masses, Gaussian(h), SPACES["plane"], centres=c[:, :2])
    with pytest.raises(ValueError, match="centres must be finite"):
        VoronoiMixture(z, masses, Gaussian(h), SPACES["plane"], centres=c * math.nan)
    with pytest.raises(TypeError, match="cannot have centres"):
        VoronoiMixture(z, masses, Uniform(), SPACES["plane"], centres=c)
    with pytest.raises(ValueError, match="leave out the centres"):
        VoronoiMixture(z, masses, Gaussian(h), SPACES["plane"], Directions(40), centres=c)
    solid = torch.zeros(1, 3).double()
    with pytest.raises(ValueError, match="in dimension 3"):
        VoronoiMixture(solid, torch.ones(1), Gaussian(0.1), cube, centres=solid)
    up = torch.tensor([[0.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match=r"centres \[.*\] is not a unit vector"):
        VoronoiMixture(up, torch.ones(1), VonMisesFisher(0.1), Sphere(), centres=2 * up)
    with pytest.raises(ValueError, match="leave out the centres"):
        VoronoiMixture(up, torch.ones(1), VonMisesFisher(0.1), Sphere(), Directions(8), centres=up)
    with pytest.raises(ValueError, match="lower triangular"):
        shaped_law(z, masses, h, c, draw_roots().mT)
    with pytest.raises(ValueError, match="roots have shape"):
        shaped_law(z, masses, h, c, draw_roots()[:, :2])
    line = draw("line")
    with pytest.raises(ValueError, match="in the plane alone"):
        VoronoiMixture(
            *line[:2], Gaussian(line[2]), SPACES["line"], roots=torch.ones(3, 5, 1, 1).double()
        )
    with pytest.raises(ValueError, match="weights"):
        Average([law_of("plane", (z, masses, h, c))], weights=[0.5])


CONTINUOUS = [None, Box(-1.0, 1.0)]


@pytest.mark.parametrize("space", CONTINUOUS)
def test_continuous_mixture(space: Box | None) -> None:
    """It is a Voronoi mixture with its masses, and has no jumps at its borders."""
    z, _, h, c = draw("line", K=6)
    law = ContinuousMixture(z, h, c, space)
    same = VoronoiMixture(z, law.masses, Gaussian(h), law.space, centres=c)
    y = torch.linspace(-2, 2, 41).double().view(-1, 1, 1)
    assert torch.allclose(law.log_prob(y), same.log_prob(y), atol=1e-9)
    assert torch.allclose(law.masses.sum(-1), torch.ones(3).double())
    order = z.sort(1).values
    borders = (order[:, 1:] + order[:, :-1]) / 2
    for k in range(5):
        left, right = (law.log_prob(borders[:, k] + e) for e in (-1e-9, 1e-9))
        assert torch.allclose(left, right, atol=1e-6)
    assert torch.allclose(cdf(law, 0.1), cdf(same, 0.1))
    wider = ContinuousMixture(z, 2 * h, c, space)
    assert torch.allclose(law.with_width_factor(2.0).log_prob(y), wider.log_prob(y))
    assert torch.equal(law.expand((2, 3)).log_prob(y[:, None])[:, 0], law.log_prob(y))
    assert law.sample((4,)).shape == (4, 3, 1)
    with pytest.raises(TypeError, match="no scores"):
        law.with_temperature(0.5)


def test_continuous_mixture_of_one_gaussian() -> None:
    """Kernels that are all the same Gaussian give that Gaussian, whatever the cells."""
    z = draw("line", K=7)[0]
    law = ContinuousMixture(z, 0.3, torch.full_like(z, 0.2))
    normal = torch.distributions.Normal(0.2, 0.3)
    y = torch.linspace(-3, 3, 31).view(-1, 1, 1).double()
    assert torch.allclose(law.log_prob(y), normal.log_prob(y[..., 0]).double())
    assert torch.allclose(law.mean, torch.full((3, 1), 0.2).double())
    assert torch.allclose(law.variance, torch.full((3, 1), 0.09).double())
    assert torch.allclose(cdf(law, y[..., 0]), normal.cdf(y[..., 0]).double(), atol=1e-7)


def test_gradients_of_continuous_mixtures() -> None:
    z, _, h, c = (x.requires_grad_() for x in draw("line"))
    y = torch.tensor([[0.3], [-0.4], [0.7]]).double()
    inside = Box(-1.0, 1.0)
    assert torch.autograd.gradcheck(
        lambda z, h, c: ContinuousMixture(z, h, c, inside, False).log_prob(y), (z, h, c)
    )
    a, b = (torch.tensor(x).double().requires_grad_() for x in ([0.1, 0.2, 0.3], [0.5, 2.0, 0.3]))
    fixed = z.detach()
    assert torch.autograd.gradcheck(
        lambda a, b, h, c: ContinuousMixture.shared(a, b, fixed, h, c).log_prob(y), (a, b, h, c)
    )
    law = ContinuousMixture.shared(a, b, z, h, c)
    plain = ContinuousMixture(z, h, c).log_prob((y - a[:, None]) / b[:, None]) - b.log()
    assert torch.allclose(law.log_prob(y), plain)


def test_continuous_mixtures_of_twins() -> None:
    """Atoms that coincide share a cell with the kernel of the first; gradients are finite."""
    z, _, h, c = draw("line")
    z[:, 3] = z[:, 1]
    keep = [0, 1, 2, 4]
    law, alone = ContinuousMixture(z, h, c), ContinuousMixture(z[:, keep], h[:, keep], c[:, keep])
    y = torch.linspace(-2, 2, 41).double().view(-1, 1, 1)
    assert torch.allclose(law.log_prob(y), alone.log_prob(y), atol=1e-12)
    assert torch.allclose(law.mean, alone.mean)
    inputs = [x.requires_grad_() for x in (h, c)]
    gradients = torch.autograd.grad(ContinuousMixture(z, *inputs).log_prob(y).sum(), inputs)
    assert all(gradient.isfinite().all() for gradient in gradients)
    with pytest.raises(ValueError, match="laws on the line"):
        ContinuousMixture(torch.zeros(3, 2), 0.1)
