"""The training loop: it learns, selects the best, and gives the same bits if interrupted."""

import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from vwta.io.errors import Interrupted
from vwta.io.storage import read_tensors
from vwta.nn.losses import winner_distance, wta
from vwta.nn.networks import WTANetwork, initialise
from vwta.paper.synthetic.generate import generate
from vwta.paper.synthetic.train import Annealing, FreshData, Settings, train
from vwta.paper.synthetic.true_laws import problem
from vwta.paper.training import Job
from vwta.training import checkpoints
from vwta.training import loop as training
from vwta.training.loop import Fit, FixedData, Schedule, fit
from vwta.training.signals import Interruption

SPECIFICATION = {
    "inputs": 1,
    "outputs": 2,
    "hypotheses": 4,
    "widths": [16, 16],
    "bounded": True,
}
SCHEDULE = Schedule(epochs=4, batch_size=64, learning_rate=1e-2)
LOSS = partial(wta, beta=1.0, score_reduction="sum")
SETTINGS = Settings(
    epochs=3,
    batch_size=64,
    learning_rate=1e-2,
    widths=[16],
    beta=1.0,
    score_reduction="sum",
    epochs_see="the same rows",
    clouds=False,
    sharing={"kind": "winner"},
    start="default",
)
SHARINGS: list[dict[str, Any]] = [
    {"kind": "relaxed", "epsilon": 0.1},
    {"kind": "top", "n": 2},
    {"kind": "annealed", "initial": 0.5, "decay": 0.5, "lowest": 0.2},
]


def rows(n: int, seed: int) -> tuple[Tensor, Tensor]:
    source = torch.Generator().manual_seed(seed)
    return torch.rand(n, 1, generator=source), torch.randn(n, 2, generator=source) / 4


DATA = FixedData(rows(300, 0), rows(100, 1))  # 5 batches, the last of them short


def run(
    seed: int = 0,
    checkpoint: Path | None = None,
    loss: Any = LOSS,
    data: training.Data = DATA,
) -> Fit:
    network = initialise(SPECIFICATION, seed, WTANetwork)
    criteria = {"loss": LOSS if isinstance(loss, Annealing) else loss, "distance": winner_distance}
    return fit(network, loss, criteria, data, SCHEDULE, seed, checkpoint=checkpoint)


def same(a: Fit, b: Fit) -> bool:
    epochs = [{name: best.epoch for name, best in fit.selected.items()} for fit in (a, b)]
    weights = all(
        torch.equal(value, b.selected[name].weights[weight])
        for name, best in a.selected.items()
        for weight, value in best.weights.items()
    )
    return weights and torch.equal(a.curve, b.curve) and epochs[0] == epochs[1]


def test_same_seed_same_bits() -> None:
    assert same(run(0), run(0))
    assert not same(run(0), run(1))


def test_it_learns() -> None:
    curve = run().curve
    assert curve.shape == (4, 3)
    assert curve[-1, 0] < curve[0, 0]


def test_agrees_with_a_plain_loop() -> None:
    """The same steps, written out with torch's plainest Adam."""
    network = initialise(SPECIFICATION, 0, WTANetwork)
    adam = torch.optim.Adam(network.parameters(), lr=1e-2, foreach=False, fused=False)
    (x, y), held_out, losses = DATA.train, DATA.held_out, []
    for epoch in range(4):
        order = torch.randperm(300, generator=training.generator(0, "batches", epoch)).tolist()
        for start in range(0, 300, 64):
            batch = order[start : start + 64]
            adam.zero_grad()
            LOSS(network(x[batch]), y[batch]).backward()
            adam.step()
        losses.append(LOSS(network(held_out[0]), held_out[1]).item())
    assert run().curve[:, 1].tolist() == pytest.approx(losses, rel=1e-4)


def test_selected_weights_are_those_of_the_lowest_criterion() -> None:
    """Each criterion selects its own: the second is lowest where the first is highest."""
    criteria = {"distance": winner_distance, "opposite": lambda out, y: -winner_distance(out, y)}
    network = initialise(SPECIFICATION, 0, WTANetwork)
    done = fit(network, LOSS, criteria, DATA, SCHEDULE, 0)
    assert done.selected["distance"].epoch != done.selected["opposite"].epoch
    x, y = DATA.held_out
    for column, (name, criterion) in enumerate(criteria.items(), 1):
        assert done.selected[name].epoch == done.curve[:, column].argmin()
        network.load_state_dict(done.selected[name].weights)
        lowest = done.curve[:, column].min().item()
        assert criterion(network(x), y).item() == pytest.approx(lowest)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
@pytest.mark.parametrize("call", [1, 7, 12, 23])
def test_interrupted_training_gives_the_same_bits(
    tmp_path: Path, number: signal.Signals, call: int
) -> None:
    """A signal during any call of the loss: mid-epoch, in validation, in the last batch."""
    checkpoint, calls = tmp_path / "checkpoint", 0

    def loss(out: Any, y: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == call:
            signal.raise_signal(number)
        return LOSS(out, y)

    with pytest.raises(Interrupted, match=number.name):
        run(checkpoint=checkpoint, loss=loss)
    resumed = run(checkpoint=checkpoint)
    assert same(resumed, run())
    assert list(resumed.selected) == ["loss", "distance"]


@pytest.mark.parametrize("damaged", [False, True])
def test_killed_training_gives_the_same_bits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    damaged: bool,
) -> None:
    """No signal reaches a killed process: the last regular checkpoint serves, or the one before."""
    monkeypatch.setattr(checkpoints, "SAVE_EVERY", 0.0)
    checkpoint, calls = tmp_path / "checkpoint", 0

    def loss(out: Any, y: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == 15:
            raise KeyboardInterrupt
        return LOSS(out, y)

    with pytest.raises(KeyboardInterrupt):
        run(checkpoint=checkpoint, loss=loss)
    _, place = read_tensors(checkpoint)
    assert place["epoch"] == 2
    if damaged:
        checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    assert same(run(checkpoint=checkpoint), run())
    assert (f"{checkpoint} is damaged" in caplog.text) == damaged


def test_signals_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_diverging_training_is_an_error() -> None:
    def loss(out: Any, y: Tensor) -> Tensor:
        return LOSS(out, y) * torch.inf

    with pytest.raises(FloatingPointError, match=r"epoch 1: .*learning rate \(now 0.01\)"):
        run(loss=loss)


def test_no_rows_and_no_epochs_are_named() -> None:
    none = (DATA.train[0][:0], DATA.train[1][:0])
    with pytest.raises(ValueError, match="training_rows is 0"):
        run(data=FixedData(none, DATA.held_out))
    with pytest.raises(ValueError, match="validation_rows is 0"):
        run(data=FixedData(DATA.train, none))
    with pytest.raises(ValueError, match="epochs is 0: expected at least 1"):
        replace(SCHEDULE, epochs=0)


def test_unavailable_device_is_named() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert training.pick_device("auto") == torch.device("cpu")
    with pytest.raises(RuntimeError, match="'cuda'"):
        training.pick_device("cuda")


def test_fresh_rows_follow_from_seed_and_epoch() -> None:
    data = FreshData(problem("single_gaussian"), 300, 100, seed=0, clouds=False)
    assert torch.equal(data.training(3)[1], data.training(3)[1])
    assert not torch.equal(data.training(3)[1], data.training(4)[1])
    assert not torch.equal(data.training(3)[0][:100], data.validation(3)[0])
    assert same(run(data=data), run(data=data))


def test_fresh_rows_of_a_cloud_come_from_the_same_points() -> None:
    moons = problem("rotating_moons", low=[-1.356, -0.873], high=[2.356, 1.373])
    data = FreshData(moons, 40, 20, seed=0, clouds=True)
    radii = [data.training(epoch)[1].norm(dim=-1) for epoch in range(2)]  # turning keeps them
    assert len(torch.unique((radii[0] * 1e4).round())) < 40
    assert torch.cdist(radii[0][:, None], radii[1][:, None]).min(-1).values.median() < 1e-5


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.safetensors"
    sizes = {"train": 300, "validation": 100, "test": 50}
    generate("single_gaussian", {}, False, sizes, seed=0, path=path, code="code")
    return path


def train_seeds(
    data: Path, folder: Path, seeds: list[int], settings: Settings = SETTINGS
) -> dict[int, Path]:
    outputs = {seed: folder / f"seed{seed}.safetensors" for seed in seeds}
    job = Job("single_gaussian", "wta", 4, outputs, folder / ".unfinished", "cpu", "code")
    train(job, data, {}, settings)
    return outputs


def test_seeds_of_a_chunk_are_independent(data: Path, tmp_path: Path) -> None:
    chunk = train_seeds(data, tmp_path / "chunk", [1, 2])
    alone = train_seeds(data, tmp_path / "alone", [2])
    together, facts = read_tensors(chunk[2])
    single, _ = read_tensors(alone[2])
    assert together.keys() == single.keys()
    for name, value in single.items():  # up to rounding
        torch.testing.assert_close(together[name], value, rtol=1e-5, atol=1e-5)
    assert facts["network"]["hypotheses"] == 4
    record = facts["provenance"]
    assert {"revision", "code", "data", "packages", "processor", "seed", "seconds"} <= record.keys()
    assert (record["seed"], record["stack"]) == (2, 2)
    assert not list((tmp_path / "chunk" / ".unfinished").iterdir())


@pytest.mark.parametrize("sharing", SHARINGS, ids=lambda sharing: sharing["kind"])
def test_sharing_changes_the_training(data: Path, tmp_path: Path, sharing: dict[str, Any]) -> None:
    plain = train_seeds(data, tmp_path / "plain", [1])
    shared = train_seeds(data, tmp_path / "shared", [1], replace(SETTINGS, sharing=sharing))
    curves = [read_tensors(outputs[1])[0]["curve"] for outputs in (plain, shared)]
    assert (curves[0][:, 0] < curves[1][:, 0]).any()
    assert not torch.equal(curves[0][:, 1], curves[1][:, 1])


def test_annealing_follows_the_epoch_after_an_interruption(tmp_path: Path) -> None:
    """The temperature comes from the epoch alone, and is 0 in the end."""
    annealing = Annealing(LOSS, initial=0.5, decay=0.5, lowest=0.2)
    out, y = initialise(SPECIFICATION, 0, WTANetwork)(DATA.train[0]), DATA.train[1]
    losses = [annealing.at(epoch)(out, y).item() for epoch in range(3)]
    assert losses[0] > losses[1] > losses[2] == pytest.approx(LOSS(out, y).item())
    checkpoint, calls = tmp_path / "checkpoint", 0

    def heat(out: Any, y: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == 8:
            signal.raise_signal(signal.SIGTERM)
        return LOSS(out, y)

    with pytest.raises(Interrupted):
        run(checkpoint=checkpoint, loss=replace(annealing, plain=_sharing_of(heat)))
    assert same(run(checkpoint=checkpoint, loss=annealing), run(loss=annealing))


def _sharing_of(heat: Callable[[Any, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The loss with a sharing, after a call of a function that may raise a signal."""

    def loss(out: Any, y: Tensor, sharing: Any) -> Tensor:
        heat(out, y)
        return LOSS(out, y, sharing=sharing)

    return loss


def test_k_means_plus_plus_starts_at_targets(data: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, start="k_means_plus_plus", learning_rate=1e-9, epochs=1)
    outputs = train_seeds(data, tmp_path / "start", [1], settings)
    weights, _ = read_tensors(outputs[1])
    starts = weights["loss.heads.bias"][:8].tanh().view(4, 2)
    y = read_tensors(data)[0]["y_train"]
    assert torch.cdist(starts, y.float()).min(-1).values.max() < 1e-4
    assert weights["loss.heads.weight"][:8].abs().max() < 1e-6


def test_sets_do_not_depend_on_each_other(tmp_path: Path, data: Path) -> None:
    other = tmp_path / "other.safetensors"
    sizes = {"train": 10, "validation": 20, "test": 50}
    generate("single_gaussian", {}, False, sizes, seed=0, path=other, code="code")
    assert torch.equal(read_tensors(data)[0]["y_test"], read_tensors(other)[0]["y_test"])
    assert read_tensors(other)[0]["x_train"].shape == (10, 1)


def test_arrays_are_refused_as_data() -> None:
    with pytest.raises(TypeError, match="FixedData has tensors, found ndarray"):
        FixedData(rows(3, 0), (torch.zeros(3, 1), np.zeros((3, 2))))  # type: ignore[arg-type]
