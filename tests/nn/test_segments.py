"""Networks by their linear segments, against the same layers one after the other."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from vwta.nn import segments
from vwta.nn.networks import HistogramNetwork, MixtureNetwork, WTANetwork
from vwta.nn.segments import by_segments
from vwta.nn.stacks import stack


def layers(*widths: int, seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    linear = [nn.Linear(a, b) for a, b in pairwise([1, *widths])]
    chain = [part for layer in linear[:-1] for part in (layer, nn.ReLU(inplace=True))]
    return nn.Sequential(*chain, linear[-1]).double()


def inputs(*shape: int) -> Tensor:
    return torch.rand(*shape, 1, generator=torch.Generator().manual_seed(0)).double() * 2 - 1


def turning_at(value: float) -> nn.Sequential:
    """All units of the first layer turn at the same place."""
    chain = layers(8, 8, 3)
    with torch.no_grad():
        chain[0].bias.copy_(-value * chain[0].weight.squeeze(-1))
    return chain


def without_slope() -> nn.Sequential:
    """Some units are constant, on or off."""
    chain = layers(8, 8, 3)
    with torch.no_grad():
        chain[0].weight[:4] = 0
    return chain


CASES = {
    "one layer": (layers(3), inputs(9)),
    "two layers": (layers(64, 5), inputs(50)),
    "three layers": (layers(64, 64, 5), inputs(500)),
    "four layers": (layers(32, 32, 32, 5), inputs(500)),
    "more segments than rows": (layers(256, 256, 5), inputs(20)),
    "batch of batches": (layers(8, 8, 3), inputs(3, 7)),
    "one row": (layers(8, 8, 3), inputs(1)),
    "equal rows": (layers(8, 8, 3), torch.full((4, 1), 0.3).double()),
    "rows that come twice": (layers(64, 64, 3), inputs(50).repeat(2, 1)),
    "one segment": (layers(8, 8, 3), inputs(9) + 1e6),
    "one unit": (layers(1, 3), inputs(9)),
    "one bend": (turning_at(0.5), inputs(50)),
    "a bend at the lowest row": (turning_at(0.5), torch.tensor([[0.5], [0.7], [0.9]]).double()),
    "a bend at the highest row": (turning_at(0.5), torch.tensor([[0.5], [0.1], [0.3]]).double()),
    "no slope": (without_slope(), inputs(50)),
    "large and small": (layers(8, 8, 3), 10 ** (3 * inputs(50))),
}


def gradients(out: Tensor, chain: nn.Module) -> Sequence[Tensor]:
    towards = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(out)
    return torch.autograd.grad(out, list(chain.parameters()), towards)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_layers(name: str) -> None:
    chain, x = CASES[name]
    expected, found = chain(x), by_segments(list(chain), x)
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    for ours, theirs in zip(gradients(found, chain), gradients(expected, chain), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", [(7,), (300,), (1,)])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_networks_of_a_stack_have_segments_of_their_own(
    shape: tuple[int, ...], scale: float
) -> None:
    """They differ in number, and rows of one lie above or below those of another."""
    networks = [WTANetwork(1, 2, 3, [9, 8], bounded=False).double() for _ in range(3)]
    with torch.no_grad():
        networks[1].trunk[0].weight.zero_()  # a single segment
    places = torch.tensor([0.0, 0.0, 5.0])[:, None, None].double()
    x = (torch.stack([inputs(*shape)] * 3) + places) * scale
    x[0] = x[0].flip(0) / 3
    together = stack(networks)
    found = together(x)
    expected = together(x.clone().requires_grad_())  # which segments do not offer
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10 * scale)
    ours, theirs = (gradients(atoms.points, together) for atoms in (found, expected))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10 * scale)
    for index, network in enumerate(networks):
        torch.testing.assert_close(found.points[index], network(x[index]).points)


def test_few_rows_go_through_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, x, seen = layers(16, 16, 3), inputs(10_000), []
    through = segments._through
    monkeypatch.setattr(
        segments, "_through", lambda *given: seen.append(given[2].numel()) or through(*given)
    )
    by_segments(list(chain), x)
    assert seen[0] == 2
    assert seen[-1] < 200


@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_that_of_the_layers(seed: int) -> None:
    """Width and batch of the synthetic study, against the same in double precision.

    A row on the wrong side of a bend would be off by far more: by all that a unit adds for it.
    """
    chain, x = layers(256, 256, 48, seed=seed), inputs(1024).float()
    exact = [chain(x.double()), *gradients(chain(x.double()), chain)]
    chain.float()
    ours, theirs = (
        [out, *gradients(out, chain)] for out in (by_segments(list(chain), x), chain(x))
    )
    for true, a, b in zip(exact, ours, theirs, strict=True):
        assert (a - true).abs().max() <= 4 * (b - true).abs().max()


NETWORKS = {
    "wta": WTANetwork(1, 2, 5, [7, 6], bounded=True),
    "hist": HistogramNetwork(1, [7, 6], [2, 2], [-1.0, -1.0], [1.0, 1.0]),
    "mdn": MixtureNetwork(1, 2, 5, [7, 6], bounded=True),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_with_one_input(name: str) -> None:
    network, x = NETWORKS[name].double(), inputs(40)
    plain = network(x.clone().requires_grad_())  # which segments do not offer
    for ours, theirs in zip(network(x), plain, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert network(inputs(0)).points.shape == (0, *plain.points.shape[1:])
    (slope,) = torch.autograd.grad(network(x.requires_grad_()).logits.sum(), x)
    assert slope.abs().sum() > 0
