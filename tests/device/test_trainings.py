"""Trainings of all studies on the pretended device: networks of the CPU, steps without waits."""

import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from device.pretended import DEVICE, home, places, pretended, told
from device.studies import MODELS, train, write_data
from torch import Tensor

from vwta.io.errors import Interrupted
from vwta.io.storage import read_tensors
from vwta.nn import losses
from vwta.nn.networks import WTANetwork, initialise
from vwta.training.checkpoints import Resumable
from vwta.training.loop import Fit, FixedData, Schedule, fit
from vwta.training.stacking import Plan, StackedFit, fit_stacked

# Of a whole training and its files, whatever its steps.
WAITS = {"synthetic": 140, "uci": 290, "audio": 65}
WAITS_OF_LOCAL = {"synthetic": 330, "uci": 225, "audio": 250}
# Of a single step: the likelihood of local kernels finds cells corner by corner, and published
# formulas choose the targets that there are. All others: none.
WITHIN = {
    ("synthetic_ours", "local"): 38,
    ("audio_ours", "local"): 31,
    ("audio_released", "m_vmf"): 2,
    ("audio_printed_density", "m_vmf"): 2,
}
# A batch normalisation takes this bias away: its gradient is rounding, its step by Adam is noise.
NORMALISED = ".0.bias"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


@pytest.mark.parametrize(("study", "kind"), MODELS)
def test_training_gives_the_networks_of_the_cpu_and_steps_do_not_wait(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: str, kind: str
) -> None:
    expected = train(data, study, kind, tmp_path / "cpu", "cpu")
    with pretended() as waits:
        within = watch(monkeypatch, waits)
        found = train(data, study, kind, tmp_path / "away", str(DEVICE))
    assert within
    worst = max(within, key=len)
    assert len(worst) <= WITHIN.get((study, kind), 0), told(worst)
    for one, other in zip(found, expected, strict=True):
        tensors, facts = read_tensors(one)
        assert facts["provenance"]["device"] == DEVICE.type
        for name, value in read_tensors(other)[0].items():
            if not ("convolutions" in name and name.endswith(NORMALISED)):
                torch.testing.assert_close(tensors[name], value, rtol=1e-3, atol=1e-4)
    most = WAITS_OF_LOCAL if kind == "local" else WAITS
    assert len(waits) <= most[study.partition("_")[0]], told(waits)


def watch(monkeypatch: pytest.MonkeyPatch, waits: list[str]) -> list[list[str]]:
    """Collects the waits of each step but for an epoch's first, whose rows have to come first."""
    within: list[list[str]] = []
    step, seen = Resumable.step, 0

    def watched(self: Resumable, loss: Tensor, rate: float) -> None:
        nonlocal seen
        start = seen if self.batch else len(waits)  # of the output and the loss, or of the gradient
        step(self, loss, rate)
        within.append(waits[start:])
        seen = len(waits)

    monkeypatch.setattr(Resumable, "step", watched)
    return within


@pytest.mark.parametrize(
    ("study", "kind", "step"),
    [
        ("synthetic", "wta", 3),
        ("synthetic_ours", "local", 3),
        ("uci", "wta", 6),
        ("uci_ours", "local", 6),
        ("audio", "wta", 1),
        ("audio_ours", "local", 1),
    ],
)
def test_resumed_training_of_each_study_gives_the_same_bits(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, study: str, kind: str, step: int
) -> None:
    taken = 0
    run = Resumable.step

    def counted(self: Resumable, loss: Tensor, rate: float) -> None:
        nonlocal taken
        run(self, loss, rate)
        taken += 1
        if taken == step:
            signal.raise_signal(signal.SIGTERM)

    with pretended():
        expected = train(data, study, kind, tmp_path / "whole", str(DEVICE))
        monkeypatch.setattr(Resumable, "step", counted)
        with pytest.raises(Interrupted):
            train(data, study, kind, tmp_path / "parts", str(DEVICE))
        assert taken == step
        found = train(data, study, kind, tmp_path / "parts", str(DEVICE))
    for one, other in zip(found, expected, strict=True):
        tensors = read_tensors(one)[0]
        for name, value in read_tensors(other)[0].items():
            assert torch.equal(tensors[name], value), name


X, Y = torch.rand(64, 1, generator=torch.Generator().manual_seed(0)), torch.linspace(-1, 1, 64)
SPECIFICATION = {"inputs": 1, "outputs": 1, "hypotheses": 4, "widths": [8], "bounded": True}
LOSS = partial(losses.wta, beta=1.0, score_reduction="sum")


def alone(loss: Any, checkpoint: Path) -> Fit:
    rows = X[:48], Y[:48, None]
    network = initialise(SPECIFICATION, 0, WTANetwork)
    data = FixedData(rows, (X[48:], Y[48:, None]))
    return fit(network, loss, {"loss": LOSS}, data, Schedule(2, 16, 0.01), 0, DEVICE, checkpoint)


def stacked(loss: Any, checkpoint: Path) -> StackedFit:
    x, y = X.expand(2, -1, -1), Y[:, None].expand(2, -1, -1)
    networks = [initialise(SPECIFICATION, seed, WTANetwork) for seed in (0, 1)]
    data = FixedData((x[:, :48], y[:, :48]), (x[:, 48:], y[:, 48:]))
    return fit_stacked(
        networks, loss, {"loss": LOSS}, data, Plan(2, 16, 0.01), (0, 1), DEVICE, checkpoint
    )


@pytest.mark.parametrize("run", [alone, stacked])
@pytest.mark.parametrize("call", [2, 5])
def test_resumed_training_gives_the_same_bits(tmp_path: Path, run: Any, call: int) -> None:
    calls = 0

    def loss(out: Any, y: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == call:
            signal.raise_signal(signal.SIGTERM)
        return LOSS(out, y)

    with pretended():
        expected = run(LOSS, tmp_path / "whole")
        with pytest.raises(Interrupted):
            run(loss, tmp_path / "checkpoint")
        resumed = run(LOSS, tmp_path / "checkpoint")
        for name, weight in weights(resumed).items():
            assert places(weight) == {DEVICE.type}
            assert torch.equal(home(weight), home(weights(expected)[name]))


def weights(done: Fit | StackedFit) -> dict[str, Tensor]:
    return done.selected["loss"].weights if isinstance(done, Fit) else done.weights["loss"]
