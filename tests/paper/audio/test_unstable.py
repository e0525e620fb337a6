"""Published formulas of the likelihood of M-vMF: the same function, until it overflows."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from vwta.io.storage import read_tensors
from vwta.nn import losses
from vwta.nn.heads import Components
from vwta.paper.audio import unstable
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.audio.frames import AudioData, Fold, MappedRows, active
from vwta.paper.audio.networks import build
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.training import Job, Recipe, train_seeds
from vwta.training import checkpoints
from vwta.training.loop import Schedule

FORMULAS: tuple[unstable.Formula, ...] = ("printed", "log_sinh")
NARROW = Perturbation(dict.fromkeys(CLASSES, 1.0))  # a concentration of 3,300
SIZES = {"channels": 8, "frames": 100, "bands": 4, "filters": 2, "pools": [4], "width": 2}
NETWORK = {"kind": "m_vmf", "components": 2, "layers": 1, **SIZES}
FEW = Schedule(epochs=4, batch_size=1, learning_rate=0.3, validation_rows=4)


def atoms(kappa: float, dtype: torch.dtype = torch.float64) -> Components:
    """Three components of a frame, all with one concentration."""
    log_variances = torch.full((1, 3), -math.log(kappa), dtype=dtype)
    logits = torch.tensor([[0.0, 1.0, -1.0]], dtype=dtype)
    return Components(torch.eye(3, dtype=dtype)[None], logits, log_variances)


def one_target(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Targets of a frame: one, and two places without any."""
    y = torch.tensor([[[0.6, 0.8, 0.0], [0.0, 0.0, 0.0], [math.nan] * 3]], dtype=dtype)
    return y, torch.tensor([[True, False, False]])


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("kappa", [0.01, 1.0, 30.0, 300.0])
def test_formulas_are_the_same_function(formula: unstable.Formula, kappa: float) -> None:
    y, there = one_target()
    found = unstable.sphere_mixture(atoms(kappa), y, there, formula)
    torch.testing.assert_close(found, losses.sphere_mixture(atoms(kappa), y, there))


def test_the_density_overflows_first() -> None:
    y, there = one_target(torch.float32)
    finite = [
        [
            bool(unstable.sphere_mixture(atoms(kappa, torch.float32), y, there, one).isfinite())
            for kappa in (80.0, 150.0, 1e5)
        ]
        for one in FORMULAS
    ]
    assert finite == [[True, False, False], [True, True, True]]


def test_no_targets_are_no_divergence() -> None:
    y, there = one_target()
    assert unstable.sphere_mixture(atoms(2.0), y, ~there & there, "printed") == 0


def data(noise: Perturbation) -> AudioData:
    """Four chunks of silence, with a sound in front."""
    features = np.zeros((4, 8, 100, 4), np.float16)
    kind = torch.zeros(4, 100, 1, dtype=torch.long)
    direction = torch.tensor([1.0, 0.0, 0.0]).expand(4, 100, 1, 3).contiguous()
    fold = Fold(MappedRows([features]), kind, direction, [])
    return AudioData(fold, fold, noise, 1, "noised")


def trained(
    folder: Path, train: Any, loss: Any, schedule: Schedule = FEW, noise: Perturbation = NARROW
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The file of a network."""
    job = Job(
        "synthetic", "m_vmf", 2, {5: folder / "5.safetensors"}, folder / "open", "cpu", "code"
    )
    objective = partial(_objective, loss=loss)
    recipe = Recipe(NETWORK, objective, {"loss": objective})
    train(job, job.begin("data", {}), recipe, build, lambda seed: data(noise), schedule)
    return read_tensors(job.outputs[5])


def _objective(out: Components, y: Tensor, loss: Any) -> Tensor:
    value: Tensor = loss(out, y, active=active(y))
    return value


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_a_training_that_diverges_ends_with_the_epoch_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Whether it is trained anew until then, or has a checkpoint with weights that are lost."""
    monkeypatch.setattr(checkpoints, "SAVE_EVERY", seconds)
    printed = partial(unstable.sphere_mixture, likelihood="printed")
    tensors, metadata = trained(tmp_path / "ended", unstable.train_while_finite, printed)
    last = metadata["provenance"]["diverged_at"] - 1
    assert 0 < last < FEW.epochs
    with pytest.raises(FloatingPointError, match=f"epoch {last + 1}: "):
        trained(tmp_path / "raised", train_seeds, printed)
    short = replace(FEW, epochs=last)
    expected, other = trained(tmp_path / "short", train_seeds, printed, short)
    assert metadata["selected"] == other["selected"]
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    assert all(value.isfinite().all() for value in tensors.values())


def test_one_that_does_not_is_as_any_other(tmp_path: Path) -> None:
    stable = partial(unstable.sphere_mixture, likelihood="log_sinh")
    tensors, metadata = trained(tmp_path / "whole", unstable.train_while_finite, stable)
    assert metadata["provenance"]["diverged_at"] is None
    expected, _ = trained(tmp_path / "other", train_seeds, stable)
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)


def test_one_that_diverges_at_once_has_the_weights_of_the_start(tmp_path: Path) -> None:
    def lost(out: Components, y: Tensor, active: Tensor) -> Tensor:
        return out.logits.sum() * math.nan

    tensors, metadata = trained(tmp_path, unstable.train_while_finite, lost)
    assert metadata["provenance"]["diverged_at"] == 1
    assert tensors["curve"].shape == (0, 2)
    weights = {name: value for name, value in tensors.items() if name.startswith("loss.")}
    assert weights
    assert all(value.isfinite().all() for value in weights.values())
