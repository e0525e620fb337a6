"""Heads on trunks that are not ours."""

from functools import partial

import pytest
import torch
from torch import nn

from vwta.geometry.kernels import Gaussian
from vwta.geometry.spaces import Box
from vwta.nn.heads import Head, HistogramHead, Hypotheses, MixtureHead, SoftmaxHypotheses, WTAHead
from vwta.nn.losses import wta
from vwta.nn.models import Estimator
from vwta.nn.networks import MLP, Network, WTANetwork
from vwta.nn.stacks import stack
from vwta.training.loop import FixedData, Schedule, fit

HEADS = {
    "wta": partial(WTAHead, outputs=2, hypotheses=5),
    "hist": partial(HistogramHead, centres=torch.rand(5, 2)),
    "mixture": partial(MixtureHead, outputs=2, components=5),
}


def convolutions() -> nn.Module:
    """Features `(n, 32)` of signals `(n, 3, 8)`."""
    return nn.Sequential(nn.Conv1d(3, 8, 5), nn.GELU(), nn.Flatten())


@pytest.mark.parametrize("name", HEADS)
def test_gradients_reach_a_trunk_of_any_kind(name: str) -> None:
    torch.manual_seed(0)
    network = Network(convolutions(), HEADS[name](32))
    atoms = network(torch.rand(4, 3, 8))
    assert atoms.points.shape == (4, 5, 2)
    sum(part.square().sum() for part in atoms).backward()
    for parameter, value in network.named_parameters():
        assert value.grad.abs().sum() > 0, parameter


def test_a_trunk_of_any_kind_trains() -> None:
    torch.manual_seed(0)
    x, y = torch.rand(64, 3, 8), torch.rand(64, 2)
    network = Network(convolutions(), WTAHead(32, outputs=2, hypotheses=5))
    loss = partial(wta, beta=1.0, score_reduction="sum")
    done = fit(network, loss, {"loss": loss}, FixedData((x, y), (x, y)), Schedule(5, 16, 1e-2), 0)
    assert done.curve[-1, 0] < done.curve[0, 0]
    law = Estimator(network, Gaussian(0.2), Box(-5.0, 5.0))(x)
    assert torch.isfinite(law.log_prob(y)).all()


def test_our_networks_are_heads_on_a_trunk() -> None:
    """The same seed gives the same weights, by the same names."""
    torch.manual_seed(0)
    ours = WTANetwork(1, 2, hypotheses=5, widths=[8], bounded=True).state_dict()
    torch.manual_seed(0)
    made = Network(MLP(1, [8]), WTAHead(8, 2, hypotheses=5, bounded=True)).state_dict()
    assert list(ours) == ["trunk.0.weight", "trunk.0.bias", "heads.weight", "heads.bias"]
    assert list(made) == list(ours)
    assert all(torch.equal(made[name], value) for name, value in ours.items())


@pytest.mark.parametrize("trunk", [nn.Linear(1, 8), nn.Sequential(nn.Linear(1, 8), nn.Tanh())])
def test_single_inputs_of_other_trunks(trunk: nn.Module) -> None:
    """Only chains of linear layers and ReLUs are computed by their linear segments."""
    network, x = Network(trunk, WTAHead(8, 2, hypotheses=5)), torch.rand(20, 1)
    expected = network.heads.linear(trunk(x))
    assert torch.equal(network(x).logits, expected[:, 10:])


@pytest.mark.parametrize("name", HEADS)
def test_heads_are_stacked(name: str) -> None:
    networks = [Network(nn.Sequential(nn.Linear(3, 8), nn.Tanh()), HEADS[name](8)) for _ in "abc"]
    x = torch.rand(3, 7, 3)
    together = stack(networks)(x)
    for index, network in enumerate(networks):
        for both, alone in zip(together, network(x[index]), strict=True):
            assert torch.allclose(both[index], alone, atol=1e-6)


def test_scores_are_a_sigmoid_or_a_softmax() -> None:
    x = torch.rand(4, 8)
    assert type(WTAHead(8, 2, 5)(x)) is Hypotheses
    assert type(WTAHead(8, 2, 5, scores="softmax")(x)) is SoftmaxHypotheses
    with pytest.raises(ValueError, match=r"'softmin'.*sigmoid, softmax"):
        WTAHead(8, 2, 5, scores="softmin")


def test_a_head_must_say_how_it_is_read() -> None:
    with pytest.raises(TypeError, match="read"):
        Head(8, [5])
