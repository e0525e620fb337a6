"""Densities for any atoms, masses and bandwidths: finite, of mass 1, sampled in their own cells."""

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from vwta import Box, Gaussian, KernelMixture, Sphere, Uniform, VonMisesFisher, VoronoiMixture
from vwta.geometry.kernels import Kernel
from vwta.geometry.spaces import Space

DOUBLE = torch.float64
SPACES: dict[str, tuple[Space, int]] = {
    "line": (Box(-1.0, 1.0), 1),
    "square": (Box(-1.0, 1.0), 2),
    "sphere": (Sphere(), 3),
}
COORDINATES = st.floats(-1, 1, width=32)  # borders, the origin and coincident atoms among them
BANDWIDTHS = st.floats(-3, 3).map(lambda power: 10**power)
NODES = 160  # along each side of a grid


@st.composite
def points(draw: st.DrawFn, name: str, count: int) -> Tensor:
    """Any points of a space, `(count, e)`."""
    space, event = SPACES[name]
    rows = draw(st.lists(st.tuples(*[COORDINATES] * event), min_size=count, max_size=count))
    found = torch.tensor(rows, dtype=DOUBLE)
    if isinstance(space, Sphere):
        found[found.norm(dim=-1) < 1e-3] = torch.tensor([1.0, 0.0, 0.0], dtype=DOUBLE)
        found = space.project(found)
    return found


@st.composite
def apart(draw: st.DrawFn, name: str, count: int) -> Tensor:
    """Points of a space whose cells a grid can see: near some of the nodes of a coarse one."""
    coarse, _ = grid(name, 4)
    chosen = draw(st.permutations(range(len(coarse))))[:count]
    seed = draw(st.integers(0, 2**31))
    noise = torch.rand(count, coarse.shape[1], dtype=DOUBLE, generator=source(seed)) - 0.5
    return SPACES[name][0].project(coarse[chosen] + 0.2 * noise)


@st.composite
def masses(draw: st.DrawFn, count: int) -> Tensor:
    """Masses `(count,)`, some of which may be 0."""
    weights = draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    assume(sum(weights) > 0)
    found = torch.tensor(weights, dtype=DOUBLE)
    return found / found.sum()


def source(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def kernel(name: str, h: float | None) -> Kernel:
    if h is None:
        return Uniform()
    return VonMisesFisher(h) if isinstance(SPACES[name][0], Sphere) else Gaussian(h)


def grid(name: str, count: int) -> tuple[Tensor, Tensor]:
    """Nodes `(N, e)` and weights `(N,)` of a midpoint rule over a space."""
    middle = (torch.arange(count, dtype=DOUBLE) + 0.5) / count
    if name == "line":
        middle = (torch.arange(count**2, dtype=DOUBLE) + 0.5) / count**2
        return 2 * middle[:, None] - 1, torch.full((count**2,), 2 / count**2, dtype=DOUBLE)
    first, second = torch.cartesian_prod(2 * middle - 1, 2 * middle - 1).T
    if name == "square":
        return torch.stack([first, second], -1), torch.full((count**2,), 4 / count**2, dtype=DOUBLE)
    ring, turn = (1 - first**2).sqrt(), math.pi * second
    y = torch.stack([ring * turn.cos(), ring * turn.sin(), first], -1)
    return y, torch.full((count**2,), 4 * math.pi / count**2, dtype=DOUBLE)


def distance(y: Tensor, atoms: Tensor) -> Tensor:
    """From each of `(n, e)` to each of `(K, e)`, `(n, K)`; on the sphere, chords."""
    return torch.cdist(y, atoms, compute_mode="donot_use_mm_for_euclid_dist")


@pytest.mark.parametrize("name", SPACES)
@given(data=st.data())
def test_log_densities_are_numbers(name: str, data: st.DataObject) -> None:
    """Finite, or -inf outside of the domain and where the mass is 0; for any atoms and h."""
    count = data.draw(st.integers(1, 6))
    atoms, weights = data.draw(points(name, count)), data.draw(masses(count))
    h = data.draw(BANDWIDTHS | st.none())
    law = VoronoiMixture(atoms, weights, kernel(name, h), SPACES[name][0])
    y = torch.cat([data.draw(points(name, 4)), atoms])
    log_prob = law.log_prob(y)
    assert not (log_prob.isnan() | log_prob.isposinf()).any()
    nearest = (atoms[law.cell_of(y)][:, None] == atoms).all(-1)  # the atom and its twins
    assert torch.equal(log_prob.isneginf(), (nearest * weights).sum(-1) == 0)
    if name != "sphere":
        assert law.log_prob(y + 3).isneginf().all()
    if h is not None:
        uncut = KernelMixture(atoms, weights, kernel(name, h)).log_prob(y)
        assert not (uncut.isnan() | uncut.isposinf()).any()


@settings(max_examples=15)
@pytest.mark.parametrize("name", SPACES)
@given(data=st.data())
def test_each_cell_integrates_to_its_mass(name: str, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 5))
    atoms, weights = data.draw(apart(name, count)), data.draw(masses(count))
    h = data.draw(st.floats(0.15, 5) | st.none())
    law = VoronoiMixture(atoms, weights, kernel(name, h), SPACES[name][0])
    y, size = grid(name, NODES)
    within = law.log_prob(y).exp() * size
    found = torch.zeros(count, dtype=DOUBLE).index_add(0, law.cell_of(y), within)
    torch.testing.assert_close(found, weights, atol=0.02, rtol=0)
    torch.testing.assert_close(found.sum().item(), 1.0, atol=0.02, rtol=0)


@settings(max_examples=15)
@given(data=st.data(), h=st.floats(0.15, 3))
@pytest.mark.parametrize("name", SPACES)
def test_kernels_integrate_to_one(name: str, data: st.DataObject, h: float) -> None:
    count = data.draw(st.integers(1, 4))
    law = KernelMixture(data.draw(points(name, count)), data.draw(masses(count)), kernel(name, h))
    y, size = grid(name, 3 * NODES if name == "sphere" else NODES)  # narrow kernels at a pole
    if name != "sphere":
        reach = 1 + 6 * h  # of the kernels, beyond the square that atoms are in
        y, size = reach * y, reach ** SPACES[name][1] * size
    total = (law.log_prob(y).exp() * size).sum().item()
    assert total == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("name", SPACES)
@given(data=st.data())
def test_samples_lie_in_their_own_cells(name: str, data: st.DataObject) -> None:
    """All mass on one atom: each sample is in the domain, and no other atom is nearer to it."""
    count = data.draw(st.integers(1, 6))
    atoms = data.draw(points(name, count))
    chosen = data.draw(st.integers(0, count - 1))
    weights = torch.nn.functional.one_hot(torch.tensor(chosen), count).double()
    h = data.draw(BANDWIDTHS | st.none())
    space = SPACES[name][0]
    law = VoronoiMixture(atoms, weights, kernel(name, h), space)
    y = law.sample((20,), source(data.draw(st.integers(0, 99))))
    assert y.isfinite().all()
    assert space.contains(y).all()
    reach = distance(y, atoms)
    assert (reach[:, chosen] <= reach.min(1).values + 1e-6).all()


@settings(max_examples=20)
@pytest.mark.parametrize("name", SPACES)
@given(data=st.data())
def test_the_order_of_atoms_does_not_matter(name: str, data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 6))
    atoms, weights = data.draw(points(name, count)), data.draw(masses(count))
    h = data.draw(st.floats(0.05, 20) | st.none())
    order = data.draw(st.permutations(range(count)))
    y = data.draw(points(name, 4))
    two = distance(y, atoms.unique(dim=0)).sort(1).values[:, :2]
    clear = (
        torch.ones(len(y), dtype=torch.bool) if two.shape[1] < 2 else two.diff(dim=1)[:, 0] > 1e-6
    )
    first, second = (
        VoronoiMixture(atoms[chosen], weights[chosen], kernel(name, h), SPACES[name][0])
        for chosen in (list(range(count)), order)
    )
    torch.testing.assert_close(
        first.log_prob(y)[clear], second.log_prob(y)[clear], rtol=1e-7, atol=1e-7
    )


@settings(max_examples=20)
@pytest.mark.parametrize("name", SPACES)
@given(data=st.data())
def test_a_batch_is_a_loop(name: str, data: st.DataObject) -> None:
    count, rows = data.draw(st.integers(1, 5)), 3
    atoms = torch.stack([data.draw(points(name, count)) for _ in range(rows)])
    weights = torch.stack([data.draw(masses(count)) for _ in range(rows)])
    y, h = data.draw(points(name, rows)), data.draw(st.floats(0.05, 20) | st.none())
    space = SPACES[name][0]
    batch = VoronoiMixture(atoms, weights, kernel(name, h), space).log_prob(y)
    loop = [
        VoronoiMixture(atoms[row], weights[row], kernel(name, h), space).log_prob(y[row])
        for row in range(rows)
    ]
    torch.testing.assert_close(batch, torch.stack(loop), rtol=1e-9, atol=1e-9)
