"""Recurrent units in both directions, against those of torch."""

import pytest
import torch
from torch import Tensor, nn

from vwta.nn.recurrent import both_ways


def both(units: nn.GRU, x: Tensor, how: int) -> tuple[Tensor, list[Tensor]]:
    """States, and gradients by inputs and weights of a function that tells all states apart."""
    x = x.clone().requires_grad_()
    states = both_ways(units, x) if how else units(x)[0]
    weights = torch.linspace(-1, 2, states.numel(), dtype=states.dtype).view_as(states)
    loss = (states * weights).sum() + states.square().sum()
    return states.detach(), [*torch.autograd.grad(loss, [x, *units.parameters()])]


@pytest.mark.parametrize(
    ("inputs", "width", "layers", "times", "batch"),
    [(6, 5, 2, 7, 3), (1, 1, 1, 1, 1), (4, 3, 4, 12, 2), (9, 16, 1, 100, 5)],
)
def test_states_and_gradients_are_those_of_torch(
    inputs: int, width: int, layers: int, times: int, batch: int
) -> None:
    torch.manual_seed(0)
    units = nn.GRU(inputs, width, layers, batch_first=True, bidirectional=True).double()
    x = torch.randn(batch, times, inputs, dtype=torch.float64)
    (ours, slopes), (theirs, wanted) = both(units, x, 1), both(units, x, 0)
    assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    for found, expected in zip(slopes, wanted, strict=True):
        assert torch.allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_single_precision_and_no_gradients() -> None:
    torch.manual_seed(1)
    units = nn.GRU(8, 32, 2, batch_first=True, bidirectional=True)
    x = torch.randn(4, 50, 8)
    with torch.no_grad():
        ours, theirs = both_ways(units, x), units(x)[0]
    assert ours.dtype == torch.float32
    assert ours.shape == (4, 50, 64)
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_each_direction_sees_its_own_side() -> None:
    torch.manual_seed(2)
    units = nn.GRU(3, 4, 1, batch_first=True, bidirectional=True)
    x = torch.randn(1, 6, 3)
    other = x.clone()
    other[0, 3] += 1
    changed = (both_ways(units, x) != both_ways(units, other))[0]
    assert changed[:, :4].any(-1).tolist() == [False] * 3 + [True] * 3
    assert changed[:, 4:].any(-1).tolist() == [True] * 4 + [False] * 2
