"""Bounds on gradients and averages of weights."""

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vwta.io.errors import Interrupted
from vwta.nn import losses
from vwta.nn.networks import WTANetwork, initialise
from vwta.nn.stacks import stack, unstack
from vwta.training.checkpoints import Smoothing
from vwta.training.loop import FixedData, Schedule, fit
from vwta.training.stacking import Plan, Rows, fit_stacked

LOSS = partial(losses.wta, beta=1.0, score_reduction="sum")


def network(seed: int) -> nn.Module:
    specification = {"inputs": 3, "outputs": 1, "hypotheses": 4, "widths": [8], "bounded": False}
    return initialise(specification, seed, WTANetwork)


def rows(networks: int, n: int, seed: int) -> Rows:
    source = torch.Generator().manual_seed(seed)
    x = torch.randn(networks, n, 3, generator=source)
    return Rows(x, x.sum(-1, keepdim=True).sin())


def test_each_network_has_a_bound_of_its_own() -> None:
    together = stack([network(0), network(1), network(2)])
    for index, parameter in enumerate(together.parameters()):
        parameter.grad = torch.ones_like(parameter)
        parameter.grad[1] *= 1e-3
        if index == 0:
            parameter.grad[2, 0] = torch.inf
    Smoothing(clip=1.0, stacked=True).bound(together)
    norms = sum(p.grad.flatten(1).square().sum(1) for p in together.parameters()).sqrt()
    size = sum(p[0].numel() for p in together.parameters())
    assert norms[0].item() == pytest.approx(1, rel=1e-5)
    assert norms[1].item() == pytest.approx(1e-3 * size**0.5, rel=1e-5)
    assert norms[2] == 0


def test_bound_of_one_network_is_that_of_torch() -> None:
    first, second = network(0), network(0)
    for each in (first, second):
        LOSS(each(torch.ones(4, 3)), 9 * torch.ones(4, 1)).backward()
    Smoothing(clip=0.5).bound(first)
    torch.nn.utils.clip_grad_norm_(second.parameters(), 0.5)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, rtol=1e-4)


def test_average_of_all_weights() -> None:
    """With a rate of 1 it is the mean of the weights after each step."""
    average, source = nn.Linear(2, 1), torch.Generator().manual_seed(0)
    seen: list[Tensor] = []
    for step in range(5):
        weights = nn.Linear(2, 1)
        weights.weight.data = torch.rand(1, 2, generator=source)
        Smoothing(average=1.0).add(average, weights, step)
        seen.append(weights.weight.data)
    assert torch.allclose(average.weight, torch.stack(seen).mean(0))


def test_criteria_see_the_average() -> None:
    data = FixedData(rows(2, 64, 0), rows(2, 30, 1))
    plan = Plan(4, 16, 1e-2, average=0.3, clip=5.0)
    done = fit_stacked([network(0), network(1)], LOSS, {"loss": LOSS}, data, plan, [0, 1])
    for i in range(2):
        selected = network(0)
        selected.load_state_dict(unstack(done.weights["loss"], i))
        x, y = (part[i] for part in data.held_out)
        assert LOSS(selected(x), y).item() == pytest.approx(done.curves["loss"][:, i].min().item())
    plain = fit_stacked(
        [network(0), network(1)], LOSS, {"loss": LOSS}, data, Plan(4, 16, 1e-2), [0, 1]
    )
    assert all(not torch.equal(done.last[name], value) for name, value in plain.last.items())


def test_single_networks_have_averages_too() -> None:
    data = FixedData(*(tuple(part[0] for part in rows(1, n, n)) for n in (64, 30)))
    schedule = Schedule(4, 16, 1e-2, average=0.3, clip=5.0)
    done = fit(network(0), LOSS, {"loss": LOSS}, data, schedule, seed=0)
    selected = network(0)
    selected.load_state_dict(done.selected["loss"].weights)
    x, y = data.held_out
    assert LOSS(selected(x), y).item() == pytest.approx(done.curve[:, 1].min().item())


def test_resumed_training_has_the_same_average(tmp_path: Path) -> None:
    plan = Plan(4, 16, 1e-2, average=0.3, clip=1.0)
    data = FixedData(rows(2, 64, 0), rows(2, 30, 1))

    def train(loss: Callable[[Any, Tensor], Tensor], checkpoint: Path | None) -> dict[str, Tensor]:
        networks = [network(0), network(1)]
        return fit_stacked(
            networks, loss, {"loss": LOSS}, data, plan, [0, 1], checkpoint=checkpoint
        ).last

    calls = 0

    def stops(atoms: object, y: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == 7:
            signal.raise_signal(signal.SIGTERM)
        return LOSS(atoms, y)

    expected = train(LOSS, None)
    with pytest.raises(Interrupted):
        train(stops, tmp_path / "state")
    resumed = train(LOSS, tmp_path / "state")
    assert all(torch.equal(resumed[name], value) for name, value in expected.items())


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="clip -1"):
        Smoothing(clip=-1)
