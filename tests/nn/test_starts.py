"""Starts of the hypotheses."""

from collections import Counter

import pytest
import torch

from vwta.nn.networks import WTANetwork
from vwta.nn.starts import k_means_plus_plus, start_at


def test_next_pick_follows_squared_distances() -> None:
    """Of two more picks after the first, the second has probabilities in proportion to D^2."""
    y, n = torch.tensor([[0.0], [1.0], [3.0]]), 4000
    source = torch.Generator().manual_seed(0)
    pairs = Counter(tuple(k_means_plus_plus(y, 2, source).flatten().tolist()) for _ in range(n))
    for first, shares in {
        0.0: {1.0: 1 / 10, 3.0: 9 / 10},
        1.0: {0.0: 1 / 5, 3.0: 4 / 5},
        3.0: {0.0: 9 / 13, 1.0: 4 / 13},
    }.items():
        for second, share in shares.items():
            assert pairs[first, second] / n == pytest.approx(share / 3, abs=0.03)
        assert pairs[first, first] == 0


def test_distance_is_to_the_nearest_pick() -> None:
    """The third pick's shares come from the nearest of both picks, not from the last."""
    y, n = torch.tensor([[0.0], [10.0], [1.0], [7.0]], dtype=torch.float64), 3000
    source = torch.Generator().manual_seed(1)
    thirds: Counter[float] = Counter()
    for _ in range(n):
        a, b, third = k_means_plus_plus(y, 3, source).flatten().tolist()
        if {a, b} == {0.0, 10.0}:
            thirds[third] += 1
    assert thirds[7.0] / thirds.total() == pytest.approx(0.9, abs=0.05)


def test_every_cluster_is_met() -> None:
    source = torch.Generator().manual_seed(0)
    centres = torch.cartesian_prod(torch.arange(4.0), torch.arange(4.0))
    y = centres.repeat(50, 1) + 1e-3 * torch.randn(800, 2, generator=source)
    assert len(k_means_plus_plus(y, 16, source).round().unique(dim=0)) == 16


def test_too_few_targets_are_named() -> None:
    with pytest.raises(ValueError, match="only 2 of the 6 targets differ, but K = 3"):
        k_means_plus_plus(torch.tensor([[0.0], [1.0]]).repeat(3, 1), 3)


@pytest.mark.parametrize("bounded", [True, False])
def test_hypotheses_start_at_points(bounded: bool) -> None:
    torch.manual_seed(0)
    network = WTANetwork(inputs=1, outputs=2, hypotheses=9, widths=[256, 256], bounded=bounded)
    points = 1.6 * torch.rand(9, 2) - 0.8
    x = torch.rand(20, 1)
    before = network(x)
    start_at(network.heads, points)
    after = network(x)
    assert torch.allclose(after.points, points.expand(20, 9, 2), atol=1e-6)
    assert torch.equal(before.logits, after.logits)
    after.points.square().sum().backward()
    assert (network.heads.weight.grad[:18].abs().sum(-1) > 0).all()


def test_points_out_of_reach_are_named() -> None:
    network = WTANetwork(inputs=1, outputs=1, hypotheses=2, widths=[4], bounded=True)
    with pytest.raises(ValueError, match=r"points reach 1\.5"):
        start_at(network.heads, torch.tensor([[0.0], [1.5]]))


def test_a_point_for_each_hypothesis() -> None:
    network = WTANetwork(inputs=1, outputs=1, hypotheses=2, widths=[4], bounded=True)
    with pytest.raises(ValueError, match=r"\(3, 1\).*2 hypotheses of dimension 1"):
        start_at(network.heads, torch.zeros(3, 1))
