"""Scenarios against brute force on fine grids, against laws with known modes, and by outcomes."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree
from torch import Tensor
from torch.distributions import Distribution, MultivariateNormal

from vwta import Average, Box, Gaussian, KernelMixture, Sphere, Uniform, VonMisesFisher
from vwta.distributions.joining import join
from vwta.distributions.line import cdf
from vwta.distributions.mixtures import VoronoiMixture
from vwta.distributions.scenarios import Scenarios, scenarios
from vwta.distributions.summaries import mode as mode_of
from vwta.geometry.directions import Directions
from vwta.geometry.spaces import Space

BOX = Box(-6.0, 6.0)


def climb(log_p: np.ndarray, pairs: np.ndarray, valley: float) -> np.ndarray:
    """Modes of a density on the nodes of a graph: from the highest node down, basins meet."""
    neighbours: list[list[int]] = [[] for _ in log_p]
    for a, b in pairs.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    root = np.full(len(log_p), -1)

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    for node in np.argsort(-log_p, kind="stable").tolist():
        if log_p[node] == -math.inf:
            break
        root[node] = node
        for other in {find(k) for k in neighbours[node] if root[k] >= 0} - {node}:
            low, high = sorted((find(node), other), key=lambda k: log_p[k])
            if low != high and (log_p[node] > log_p[low] + math.log(valley) or low == node):
                root[low] = high
    return np.array([find(k) if root[k] >= 0 else -1 for k in range(len(log_p))])


def random_laws(rows: int, count: int, size: int, seed: int, width: float) -> list[Distribution]:
    """Laws of each kind, with bandwidths of different sizes."""
    g = torch.Generator().manual_seed(seed)
    draw = {"generator": g, "dtype": torch.float64}
    points = (torch.randn(2, rows, count, size, **draw) * 1.5).clamp(-5, 5)
    masses = torch.rand(2, rows, count, **draw) + 0.1
    masses /= masses.sum(-1, keepdim=True)
    h = width * torch.exp(torch.rand(rows, count, **draw) - 0.5)
    cut = [VoronoiMixture(z, m, Gaussian(h), BOX) for z, m in zip(points, masses, strict=True)]
    uncut = KernelMixture(points[0], masses[0], Gaussian(h))
    flat = VoronoiMixture(points[1], masses[1], Uniform(), BOX)
    return [cut[0], uncut, flat, Average(cut), Average([cut[1], uncut])]


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("valley", [0.2, 0.6])
def test_line_agrees_with_grid(kind: int, valley: float) -> None:
    law = random_laws(3, 5, 1, kind, 0.4)[kind]
    found = scenarios(law, min_mass=0.0, valley=valley)
    y = torch.linspace(-9, 9, 9001, dtype=torch.float64)
    log_p = law.log_prob(y[:, None, None]).numpy()
    path = np.stack([np.arange(len(y) - 1), np.arange(1, len(y))], 1)
    for row in range(3):
        mode = climb(log_p[:, row], path, valley)
        density = np.exp(log_p[:, row]) * float(y[1] - y[0])
        names = [k for k in dict.fromkeys(mode.tolist()) if k >= 0]
        mass = np.array([density[mode == k].sum() for k in names])
        mean = np.array([(density * y.numpy())[mode == k].sum() for k in names]) / mass
        mine = found.row == row
        order = found.peak[mine, 0].argsort()
        assert int(mine.sum()) == len(names)
        np.testing.assert_allclose(found.log_density[mine][order], log_p[names, row], atol=5e-3)
        if kind != 2:  # the lowest part of a valley can be a whole cell, which either may have
            np.testing.assert_allclose(found.probability[mine][order], mass, atol=5e-3)
            np.testing.assert_allclose(found.mean[mine][order, 0], mean, atol=2e-2)


def clear(law: Distribution, valley: float) -> Tensor:
    """Rows whose modes do not hang on the last digits of the rule."""
    counts = [scenarios(law, 0.0, v).count for v in (valley / 1.2, valley, valley * 1.2)]
    return (counts[0] == counts[1]) & (counts[1] == counts[2])


def assert_same_groups(
    found: Scenarios, row: int, cell: np.ndarray, log_p: np.ndarray, path: np.ndarray, valley: float
) -> None:
    """The highest nodes of two cells share a mode of the graph if these cells share a scenario."""
    assert found.group is not None
    mode = climb(log_p, path, valley)
    count = found.group.shape[1]
    tops = [int(np.where(cell == k, log_p, -math.inf).argmax()) for k in range(count)]
    theirs, group = mode[tops], found.group[row].numpy()
    np.testing.assert_array_equal(theirs[:, None] == theirs[None], group[:, None] == group[None])


@pytest.mark.parametrize("valley", [0.2, 0.5])
def test_cells_of_the_plane_agree_with_grid(valley: float) -> None:
    law = random_laws(10, 6, 2, 5, 0.8)[0]
    assert isinstance(law, VoronoiMixture)
    found = scenarios(law, 0.0, valley)
    side = 201
    axis = torch.linspace(-4, 4, side, dtype=torch.float64)
    y = torch.cartesian_prod(axis, axis)
    number = np.arange(side**2).reshape(side, side)
    pairs = [number[1:], number[:-1]], [number[:, 1:], number[:, :-1]]
    pairs += [number[1:, 1:], number[:-1, :-1]], [number[1:, :-1], number[:-1, 1:]]
    path = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])
    log_p, cell = law.log_prob(y[:, None]).numpy(), law.cell_of(y[:, None]).numpy()
    rows = torch.nonzero(clear(law, valley))[:, 0].tolist()
    assert len(rows) >= 4
    for row in rows:
        assert_same_groups(found, row, cell[:, row], log_p[:, row], path, valley)


def sphere_law(rows: int, count: int, h: float, seed: int) -> VoronoiMixture:
    g = torch.Generator().manual_seed(seed)
    points = torch.randn(rows, count, 3, generator=g, dtype=torch.float64)
    masses = torch.rand(rows, count, generator=g, dtype=torch.float64) + 0.1
    masses /= masses.sum(-1, keepdim=True)
    return VoronoiMixture(Sphere().project(points), masses, VonMisesFisher(h), Sphere())


@pytest.mark.parametrize("count", [2, 7])
def test_cells_of_the_sphere_agree_with_graph(count: int) -> None:
    valley, law = 0.3, sphere_law(12, count, 0.35, count)
    found = scenarios(law, 0.0, valley)
    n = 12_000
    height = 1 - (2 * np.arange(n) + 1) / n
    turn = math.pi * (1 + math.sqrt(5)) * np.arange(n)
    ring = np.sqrt(1 - height**2)
    y = np.stack([ring * np.cos(turn), ring * np.sin(turn), height], 1)
    path = cKDTree(y).query_pairs(
        2.2 * math.sqrt(4 * math.pi / n) / math.sqrt(2), output_type="ndarray"
    )
    nodes = torch.from_numpy(y)[:, None]
    log_p, cell = law.log_prob(nodes).numpy(), law.cell_of(nodes).numpy()
    rows = torch.nonzero(clear(law, valley))[:, 0].tolist()
    assert len(rows) >= 4
    for row in rows:
        assert_same_groups(found, row, cell[:, row], log_p[:, row], path, valley)


def test_join_takes_highest_saddles_first() -> None:
    # A small peak between two high ones joins the nearer one and does not bridge the valley.
    peak = torch.tensor([[1.0, 0.1, 1.0]], dtype=torch.float64).log()
    saddle = torch.full((1, 3, 3), 0.0, dtype=torch.float64)
    saddle[0, 0, 1] = saddle[0, 1, 0] = 0.09
    saddle[0, 1, 2] = saddle[0, 2, 1] = 0.05
    group = join(peak, saddle.log(), 0.2)[0]
    assert group[0] == group[1] != group[2]
    assert len(join(peak, saddle.log(), 0.04)[0].unique()) == 1


def bimodal(rows: int, space: Space, size: int, seed: int) -> KernelMixture:
    """Laws with two modes, at least six bandwidths apart, of any masses."""
    g = torch.Generator().manual_seed(seed)
    draw = {"generator": g, "dtype": torch.float64}
    ray = torch.randn(rows, 1, size, **draw)
    apart = ray / ray.norm(dim=-1, keepdim=True) * (0.8 + torch.rand(rows, 1, 1, **draw))
    h = 0.1 + 0.15 * torch.rand(rows, 2, **draw)
    centre = torch.randn(rows, 1, size, **draw) / 2
    share = 0.1 + 0.8 * torch.rand(rows, 1, **draw)
    points = torch.cat([centre - apart, centre + apart], 1)
    masses = torch.cat([share, 1 - share], 1)
    if isinstance(space, Sphere):
        across = torch.linalg.cross(ray, torch.randn(rows, 1, size, **draw))
        return KernelMixture(space.project(torch.cat([ray, across], 1)), masses, VonMisesFisher(h))
    return KernelMixture(points, masses, Gaussian(h))


def quantised(
    truth: KernelMixture, space: Space, count: int, h: float, seed: int
) -> VoronoiMixture:
    """Voronoi mixtures that an ideal WTA network would give: Lloyd's algorithm on samples."""
    torch.manual_seed(seed)
    y = truth.sample(torch.Size((1000,))).transpose(0, 1)
    z = y[:, :count].clone()
    for _ in range(12):
        apart = sum((y[..., None, i] - z[:, None, :, i]) ** 2 for i in range(y.shape[-1]))
        hits = torch.zeros_like(apart).scatter_(-1, apart.argmin(-1, keepdim=True), 1.0)
        number = hits.sum(1)
        z = torch.where(number[..., None] > 0, hits.mT @ y / number.clamp_min(1)[..., None], z)
        z = space.project(z)
    kernel = VonMisesFisher(h) if isinstance(space, Sphere) else Gaussian(h)
    masses = number / number.sum(-1, keepdim=True)
    few = Directions(count=64) if y.shape[-1] > 3 else None  # masses do not depend on volumes
    return VoronoiMixture(z, masses, kernel, space, few)


def test_three_atoms_of_one_mode_are_one_scenario() -> None:
    points = torch.tensor([[-2.0], [0.0], [0.25], [0.5], [-2.1], [-1.9], [-0.2], [0.7]])
    masses = torch.tensor([0.02, 0.52, 0.27, 0.11, 0.01, 0.01, 0.04, 0.02])
    law = VoronoiMixture(points, masses, Gaussian(0.15), BOX)
    found = scenarios(law, min_mass=0.03)
    np.testing.assert_allclose(found.probability, [0.96, 0.04], atol=1e-6)
    np.testing.assert_allclose(found.rest, 0.0, atol=1e-6)
    np.testing.assert_allclose(found.mean[0], [0.12], atol=0.1)
    assert found.region is not None
    np.testing.assert_allclose(found.region, [[-1.05, math.inf], [-math.inf, -1.05]], rtol=1e-6)
    assert scenarios(law).count == 1
    np.testing.assert_allclose(scenarios(law).rest, 0.04, atol=1e-6)


def assert_calibrated(law: Distribution, found: Scenarios, y: Tensor) -> None:
    """Scenarios of a stated probability happen as often as it says."""
    won = found.assign(law, y)[found.row] == found.rank
    for low, high in pairwise([0.0, 0.25, 0.5, 0.75, 1.01]):
        some = (found.probability >= low) & (found.probability < high)
        stated, happened = found.probability[some], won[some].double()
        error = (stated * (1 - stated)).mean().div(len(stated)).sqrt()
        assert len(stated) > 50
        # Quantised laws have their masses from 1000 samples, hence the small margin.
        assert abs(float(stated.mean() - happened.mean())) < 4 * float(error) + 0.005


@pytest.mark.parametrize(
    ("space", "size"), [(BOX, 1), (BOX, 2), (Sphere(), 3), (BOX, 3), (BOX, 5)], ids=str
)
def test_odds_of_quantised_laws_are_right(space: Space, size: int) -> None:
    truth = bimodal(400 if size <= 3 else 150, space, size, size)
    torch.manual_seed(7)
    y = truth.sample()
    laws: list[Distribution] = [quantised(truth, space, 8, 0.2, seed) for seed in (0, 1)]
    for law in (laws[0], Average(laws), truth):
        found = scenarios(law)
        assert (found.count == 2).double().mean() > 0.97
        assert_calibrated(law, found, y)
        two = (found.count == 2)[found.row] & (found.rank == 0)
        likelier = truth.masses.amax(-1)[found.row[two]]
        assert (found.probability[two] - likelier).abs().mean() < 0.02


def test_samples_fall_into_scenarios_by_their_probabilities() -> None:
    sphere = sphere_law(1, 5, 0.2, 1)
    solid = random_laws(1, 4, 3, 1, 0.4)
    for law in (sphere, solid[0], *random_laws(1, 6, 2, 3, 0.3), *random_laws(1, 6, 1, 3, 0.3)):
        found = scenarios(law, min_mass=0.1)
        assert found.probability.sum() + found.rest[0] == pytest.approx(1)
        torch.manual_seed(0)
        rank = found.assign(law, law.sample(torch.Size((4000,)))).flatten()
        share = torch.stack([(rank == k).double().mean() for k in range(-1, len(found))])
        stated = torch.cat([found.rest, found.probability])
        uncut = found.group is not None and not isinstance(law, VoronoiMixture)
        # Components overlap a little: a target belongs to the likelier one.
        np.testing.assert_allclose(share, stated, atol=0.06 if uncut else 0.03)


def test_other_laws_are_stood_for_by_samples() -> None:
    law = MultivariateNormal(torch.zeros(1, 2), torch.eye(2))
    found = scenarios(law)
    assert found.count.tolist() == [1]
    assert torch.equal(found.probability, torch.ones(1, dtype=torch.float64))
    assert found.mean.abs().max() < 0.3


@pytest.mark.parametrize("size", [1, 2])
def test_scenarios_follow_scale_and_order(size: int) -> None:
    for law in random_laws(4, 6, size, 8, 0.3)[:2]:
        assert isinstance(law, VoronoiMixture | KernelMixture)
        order = torch.tensor([3, 1, 0, 5, 2, 4])
        points, h = law.points[:, order] * 10 + 3, law.kernel.h[:, order] * 10
        if isinstance(law, VoronoiMixture):
            other: Distribution = VoronoiMixture(
                points, law.masses[:, order], Gaussian(h), Box(-57.0, 63.0)
            )
        else:
            other = KernelMixture(points, law.masses[:, order], Gaussian(h))
        one, two = scenarios(law), scenarios(other)
        np.testing.assert_allclose(one.probability, two.probability, atol=1e-9)
        np.testing.assert_allclose(one.mean * 10 + 3, two.mean, atol=1e-7)


def test_atoms_that_coincide_share_a_scenario() -> None:
    points = torch.tensor([[0.0, 0.0], [3.0, 3.0], [0.0, 0.0]])
    law = VoronoiMixture(points, torch.tensor([0.3, 0.4, 0.3]), Gaussian(0.3), BOX)
    found = scenarios(law)
    np.testing.assert_allclose(found.probability, [0.6, 0.4], atol=1e-6)
    assert found.members(0).tolist() == [0, 2]


def test_table_has_a_column_for_each_coordinate() -> None:
    line = scenarios(random_laws(3, 5, 1, 0, 0.3)[0]).columns()
    assert [*line] == [
        *("row", "scenario", "probability", "mean", "peak", "low", "high", "lower", "upper")
    ]
    assert (line["lower"] >= line["low"]).all()
    assert (line["upper"] <= line["high"]).all()
    plane = scenarios(random_laws(3, 5, 2, 0, 0.3)[0])
    assert [*plane.columns()][3:] == ["mean_0", "mean_1", "peak_0", "peak_1"]
    assert plane.count.tolist() == np.bincount(plane.columns()["row"]).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"valley": 1.0}, "valley 1.0"), ({"min_mass": 1.0}, "min_mass 1.0")],
)
def test_bad_arguments_are_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scenarios(random_laws(1, 3, 1, 0, 0.3)[0], **options)


def test_centres_far_beside_their_cells() -> None:
    """Two cells whose kernels have their centres 60 and 80 bandwidths beyond the border."""
    points, centres = torch.tensor([[-1.0], [1.0]]).double(), torch.tensor([[0.6], [-0.8]]).double()
    masses = torch.tensor([0.3, 0.7]).double()
    law = VoronoiMixture(points, masses, Gaussian(0.01), Box(-9.0, 9.0), centres=centres)
    found = scenarios(law)  # both pile up at 0: one peak
    torch.testing.assert_close(found.probability, torch.ones(1).double())
    assert found.central is not None
    low, high = cdf(law, found.central[0])
    torch.testing.assert_close(high - low, torch.tensor(0.9).double())
    assert abs(found.peak.item()) < 1e-6
    torch.testing.assert_close(mode_of(law), found.peak[0], atol=1e-6, rtol=0)
