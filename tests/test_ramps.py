"""Layers of ramps against the matrix products they stand for."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear

from vwta.networks import MLP
from vwta.ramps import ramp_layers


def plain(x: Tensor, w: Tensor, b: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return linear(torch.relu(x.unsqueeze(-1) * w + b), weight, bias)


def layers(p: int, q: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    source = torch.Generator().manual_seed(p)
    shapes = ((p,), (p,), (q, p), (q,))
    return [torch.randn(shape, generator=source, dtype=dtype).requires_grad_() for shape in shapes]


def inputs(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


def knots_at(value: float) -> list[Tensor]:
    """All ramps turn at the same place."""
    weights = layers(8, 3)
    weights[1] = (-value * weights[0]).detach().requires_grad_()
    return weights


def without_slope() -> list[Tensor]:
    """Some ramps are constant, on or off."""
    weights = layers(8, 3)
    weights[0] = torch.cat([torch.zeros(4), torch.ones(4)]).double().requires_grad_()
    return weights


CASES = {
    "many knots": (inputs(50), layers(64, 5)),
    "batch of batches": (inputs(3, 7), layers(8, 3)),
    "one input": (inputs(1), layers(8, 3)),
    "equal inputs": (torch.full((4,), 0.3, dtype=torch.float64), layers(8, 3)),
    "no knot among the inputs": (inputs(9) + 1e6, layers(8, 3)),
    "one unit": (inputs(9) - 0.5, layers(1, 3)),
    "one output": (inputs(9) - 0.5, layers(8, 1)),
    "the same knot": (inputs(50), knots_at(0.5)),
    "a knot at the lowest input": (torch.tensor([0.5, 0.7, 0.9]).double(), knots_at(0.5)),
    "a knot at the highest input": (torch.tensor([0.1, 0.3, 0.5]).double(), knots_at(0.5)),
    "no slope": (inputs(50) - 0.5, without_slope()),
    "large and small": (10 ** (6 * inputs(50) - 3), layers(8, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_matrix_products(name: str) -> None:
    x, weights = CASES[name]
    x = x.clone().requires_grad_()
    expected, found = plain(x, *weights), ramp_layers(x, *weights)
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    if "a knot at" in name:
        return  # there is no gradient
    towards = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1)).double()
    variables = [x, *weights]
    slopes = torch.autograd.grad(expected, variables, towards, retain_graph=True)
    for ours, theirs in zip(torch.autograd.grad(found, variables, towards), slopes, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_gradients_by_finite_differences() -> None:
    assert torch.autograd.gradcheck(ramp_layers, (inputs(9).requires_grad_(), *layers(6, 3)))


def test_rounding_is_no_worse_than_that_of_matrix_products() -> None:
    """Width and batch of the synthetic study, against the same in double precision."""
    torch.manual_seed(0)
    trunk, x = MLP(1, [256, 256]), inputs(1024, dtype=torch.float32)
    weights = (trunk[0].weight.squeeze(-1), trunk[0].bias, trunk[2].weight, trunk[2].bias)
    exact = plain(x.double(), *(weight.double() for weight in weights))
    ours, theirs = ramp_layers(x, *weights), plain(x, *weights)
    assert (ours - exact).abs().max() <= 2 * (theirs - exact).abs().max()


def test_no_inputs() -> None:
    weights = layers(8, 3)
    found = ramp_layers(inputs(0, 2), *weights)
    assert found.shape == (0, 2, 3)
    assert torch.autograd.grad(found.sum(), weights[-1])[0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("widths", [[7], [7, 5], [7, 5, 3]])
def test_trunk_with_one_input_is_its_layers_one_after_the_other(widths: list[int]) -> None:
    torch.manual_seed(0)
    trunk, x = MLP(1, widths).double(), inputs(20, 1) - 0.5
    expected = x
    for layer in trunk:
        expected = layer(expected)
    torch.testing.assert_close(trunk(x), expected)
    trunk(x).square().sum().backward()
    assert all(weight.grad is not None for weight in trunk.parameters())
