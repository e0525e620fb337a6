"""Networks trained side by side come out as if trained alone."""

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vwta.io.errors import Interrupted
from vwta.io.storage import read_tensors
from vwta.nn import losses
from vwta.nn.networks import HistogramNetwork, MixtureNetwork, WTANetwork, initialise
from vwta.nn.stacks import stack, unstack
from vwta.training import checkpoints
from vwta.training.loop import FixedData, Schedule, fit
from vwta.training.stacking import Plan, Rows, StackedFit, fit_stacked

LOSS = partial(losses.wta, beta=1.0, score_reduction="sum")
CRITERIA = {"loss": LOSS, "distance": losses.winner_distance}
PLAN = Plan(epochs=6, batch_size=32, learning_rate=1e-2)
MAKERS: dict[str, tuple[Callable[[], nn.Module], Any]] = {
    "wta": (lambda: WTANetwork(3, 1, 5, [20], bounded=False), LOSS),
    "hist": (
        lambda: HistogramNetwork(3, [20], [5], [-1.0], [1.0]),
        partial(losses.scoring, score_reduction="sum"),
    ),
    "mdn": (lambda: MixtureNetwork(3, 1, 5, [20, 20], bounded=False), losses.mixture),
    "shares": (
        lambda: WTANetwork(3, 1, 5, [20], bounded=False, scores="softmax"),
        partial(losses.wta, beta=0.1, score_reduction="softmax"),
    ),
}


SINGLE_INPUT: dict[str, tuple[Callable[[], nn.Module], Any, list[str]]] = {
    "wta": (lambda: WTANetwork(1, 2, 4, [16, 16], bounded=True), LOSS, ["loss", "distance"]),
    "hist": (
        lambda: HistogramNetwork(1, [16, 16], [2, 2], [-1.0, -1.0], [1.0, 1.0]),
        partial(losses.scoring, score_reduction="sum"),
        ["loss"],
    ),
    "mdn": (lambda: MixtureNetwork(1, 2, 4, [16, 16], bounded=True), losses.mixture, ["loss"]),
}


def plane_rows(n: int, seed: int) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(seed)
    return torch.rand(n, 1, generator=source), torch.randn(n, 2, generator=source) / 4


def rows(networks: int, n: int, seed: int) -> Rows:
    source = torch.Generator().manual_seed(seed)
    x = torch.randn(networks, n, 3, generator=source)
    return Rows(
        x, x.sum(-1, keepdim=True).sin() + 0.1 * torch.randn(networks, n, 1, generator=source)
    )


TRAIN, HELD_OUT = rows(4, 100, 0), rows(4, 40, 1)
DATA = FixedData(TRAIN, HELD_OUT)


def part(which: slice) -> FixedData:
    """The rows of some of the networks."""
    train, held_out = (Rows(x[which], y[which]) for x, y in (TRAIN, HELD_OUT))
    return FixedData(train, held_out)


def make(kind: str, count: int = 4) -> list[nn.Module]:
    torch.manual_seed(0)
    return [MAKERS[kind][0]() for _ in range(count)]


def run(checkpoint: Path | None = None, loss: Any = LOSS, plan: Plan = PLAN) -> StackedFit:
    seeds = [10, 11, 12, 13]
    return fit_stacked(make("wta"), loss, CRITERIA, DATA, plan, seeds, checkpoint=checkpoint)


def same(a: StackedFit, b: StackedFit) -> bool:
    weights = all(
        torch.equal(value, b.weights[name][key])
        for name, kept in a.weights.items()
        for key, value in kept.items()
    )
    epochs = all(torch.equal(value, b.epochs[name]) for name, value in a.epochs.items())
    curves = all(torch.equal(value, b.curves[name]) for name, value in a.curves.items())
    return weights and epochs and curves and torch.equal(a.training, b.training)


@pytest.mark.parametrize("kind", MAKERS)
def test_stacked_outputs_are_those_of_each_network(kind: str) -> None:
    networks = make(kind)
    together = stack(networks)(TRAIN.x)
    for index, network in enumerate(networks):
        for both, alone in zip(together, network(TRAIN.x[index]), strict=True):
            assert torch.allclose(both[index], alone, atol=1e-6)


def test_weights_that_cannot_be_stacked_are_named() -> None:
    networks = [nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)) for _ in range(2)]
    with pytest.raises(TypeError, match="1 is a LayerNorm: stacks have linear layers alone"):
        stack(networks)


def test_each_network_needs_a_seed() -> None:
    with pytest.raises(ValueError, match="3 seeds for 4 networks"):
        fit_stacked(make("wta"), LOSS, CRITERIA, DATA, PLAN, [1, 2, 3])


@pytest.mark.parametrize("kind", MAKERS)
def test_stacked_and_alone_agree(kind: str) -> None:
    """Each network by a plain loop of torch's plainest Adam, with its own rows and order."""
    networks, loss = make(kind), MAKERS[kind][1]
    seeds = [3, 4, 5, 6]
    done = fit_stacked(networks, loss, {"loss": loss}, DATA, PLAN, seeds)
    for index, network in enumerate(networks):
        adam = torch.optim.Adam(network.parameters(), lr=1e-2, foreach=False, fused=False)
        x, y = TRAIN.x[index], TRAIN.y[index]
        curve = []
        for epoch in range(PLAN.epochs):
            order = torch.randperm(100, generator=_generator(seeds[index], epoch))
            for start in range(0, 100, 32):
                batch = order[start : start + 32]
                adam.zero_grad()
                loss(network(x[batch]), y[batch]).backward()
                adam.step()
            curve.append(loss(network(HELD_OUT.x[index]), HELD_OUT.y[index]).item())
        assert done.curves["loss"][:, index].tolist() == pytest.approx(curve, rel=1e-4)
        last = unstack(done.last, index)
        for name, value in network.state_dict().items():
            assert torch.allclose(last[name], value, atol=1e-4), name


@pytest.mark.parametrize("kind", SINGLE_INPUT)
@pytest.mark.parametrize("together", [1, 3])
def test_seeds_of_networks_with_a_single_input(kind: str, together: int) -> None:
    """Such networks are evaluated by their linear segments, of which each has a number of its own.

    A stack of seeds gives what :func:`fit` gives for each, up to rounding: 1e-5 in losses, 1e-4 in
    weights after 4 epochs. So does a stack of one.
    """
    maker, loss, names = SINGLE_INPUT[kind]
    criteria = {name: {"loss": loss, "distance": losses.winner_distance}[name] for name in names}
    seeds = [3, 4, 5]
    networks = [initialise({}, seed, maker) for seed in seeds]
    train, held_out = (plane_rows(n, seed) for n, seed in ((300, 0), (100, 1)))
    shared = FixedData(
        *(Rows(*(t.expand(together, -1, -1) for t in rows)) for rows in (train, held_out))
    )
    plan = Plan(epochs=4, batch_size=64, learning_rate=1e-2)
    done = fit_stacked(networks[:together], loss, criteria, shared, plan, seeds[:together])
    for index in range(together):
        schedule = Schedule(epochs=4, batch_size=64, learning_rate=1e-2)
        own = FixedData(train, held_out)
        alone = fit(networks[index], loss, criteria, own, schedule, seeds[index])
        found = done.of(index)
        torch.testing.assert_close(found.curve, alone.curve, rtol=1e-5, atol=1e-5)
        for name, best in alone.selected.items():
            assert found.selected[name].epoch == best.epoch
            for weight, value in best.weights.items():
                torch.testing.assert_close(
                    found.selected[name].weights[weight], value, rtol=0, atol=1e-4
                )


def test_training_losses_are_means_over_the_epoch_of_each_network() -> None:
    done, plan = run(), Plan(epochs=1, batch_size=100, learning_rate=1e-9)
    assert done.training.shape == (6, 4)
    at_first = run(plan=plan).training[0]
    for index, network in enumerate(make("wta")):
        value = LOSS(network(TRAIN.x[index]), TRAIN.y[index]).item()
        assert at_first[index].item() == pytest.approx(value, rel=1e-5)
    assert (done.training[-1] < done.training[0]).all()


def _generator(seed: int, epoch: int) -> torch.Generator:
    from vwta.seeds import generator

    return generator(seed, "batches", epoch)


def test_a_network_does_not_depend_on_its_neighbours() -> None:
    networks = make("wta")
    pair = fit_stacked(networks[1:3], LOSS, CRITERIA, part(slice(1, 3)), PLAN, [11, 12])
    for name, curve in run().curves.items():
        assert torch.allclose(curve[:, 1:3], pair.curves[name], atol=1e-5)


def test_each_network_keeps_its_own_best_epoch() -> None:
    done = run(plan=Plan(epochs=30, batch_size=32, learning_rate=0.05))
    for name, criterion in CRITERIA.items():
        assert torch.equal(done.epochs[name], done.curves[name].argmin(0) + 1)
        for index, network in enumerate(make("wta")):
            network.load_state_dict(unstack(done.weights[name], index))
            value = criterion(network(HELD_OUT.x[index]), HELD_OUT.y[index]).item()
            assert value == pytest.approx(done.curves[name][:, index].min().item(), rel=1e-5)
    assert len(set(done.epochs["distance"].tolist())) > 1


def test_networks_may_end_at_different_epochs() -> None:
    """The learning rate is that of the whole plan, so each is as it was after that epoch."""
    plan = Plan(epochs=6, batch_size=32, learning_rate=1e-2, rate="one_cycle")
    arguments = (make("wta"), LOSS, CRITERIA, DATA, plan, [10, 11, 12, 13])
    ends = torch.tensor([2, 6, 1, 4])
    done = fit_stacked(*arguments, stops=ends)
    assert same(done, fit_stacked(*arguments))
    for index, network in enumerate(make("wta")):
        network.load_state_dict(unstack(done.last, index))
        value = LOSS(network(HELD_OUT.x[index]), HELD_OUT.y[index]).item()
        assert value == pytest.approx(done.curves["loss"][ends[index] - 1, index].item(), rel=1e-5)


@pytest.mark.parametrize("call", [1, 9, 24])
def test_interrupted_training_gives_the_same_bits(tmp_path: Path, call: int) -> None:
    checkpoint, calls = tmp_path / "checkpoint", 0

    def loss(out: Any, y: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == call:
            signal.raise_signal(signal.SIGTERM)
        return LOSS(out, y)

    with pytest.raises(Interrupted, match="SIGTERM at epoch"):
        run(checkpoint, loss)
    assert same(run(checkpoint), run())
    assert not same(run(), run(plan=Plan(epochs=6, batch_size=32, learning_rate=2e-2)))


def test_killed_training_gives_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No signal reaches a killed process: the last regular checkpoint serves, within an epoch."""
    monkeypatch.setattr(checkpoints, "SAVE_EVERY", 0.0)
    checkpoint, calls = tmp_path / "checkpoint", 0

    def loss(out: Any, y: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == 11:
            raise KeyboardInterrupt
        return LOSS(out, y)

    with pytest.raises(KeyboardInterrupt):
        run(checkpoint, loss)
    _, place = read_tensors(checkpoint)
    assert (place["epoch"], place["batch"]) == (2, 2)
    assert same(run(checkpoint), run())


def test_one_cycle_rises_and_falls() -> None:
    plan = Plan(epochs=1, batch_size=1, learning_rate=2.0, rate="one_cycle")
    rates = [plan.rate_at(step, 1000) for step in range(1000)]
    assert max(rates) == pytest.approx(2.0, rel=1e-4)
    assert rates.index(max(rates)) in range(295, 305)
    assert rates[0] < 1e-3
    assert rates[-1] < 1e-3
    assert rates[:300] == sorted(rates[:300])


def test_weight_decay_shrinks_the_weights() -> None:
    norms = [
        sum(value.square().sum().item() for value in run(plan=plan).last.values())
        for plan in (PLAN, Plan(6, 32, 1e-2, weight_decay=1.0))
    ]
    assert norms[1] < norms[0]


def test_checks_can_be_rare() -> None:
    done = run(plan=Plan(epochs=5, batch_size=32, learning_rate=1e-2, check_every=2))
    assert done.curves["loss"].shape == (3, 4)  # after epochs 2, 4 and 5
    assert set(done.epochs["loss"].tolist()) <= {2, 4, 5}


def test_divergence_is_explained() -> None:
    with pytest.raises(FloatingPointError, match="lower the learning rate"):
        run(plan=Plan(epochs=3, batch_size=32, learning_rate=1e30))


def test_no_epochs_are_named() -> None:
    with pytest.raises(ValueError, match="check_every is 0: expected at least 1"):
        Plan(epochs=3, batch_size=32, learning_rate=1e-2, check_every=0)
