"""The hypothesis of the narrow Gaussian, in predictions as they are stored for the page."""

import math
from pathlib import Path

import pytest
import torch

from vwta.io.storage import write_tensors
from vwta.paper.verdicts import evidence
from vwta.paper.verdicts.placement import distances

INPUTS = 11  # 0, .1, ..., 1
ELSEWHERE = [[-0.5, 0.5], [-0.5, -0.5], [0.5, 0.5]]


def write(path: Path, lone: list[float], other: list[float]) -> None:
    """Four hypotheses at every input, of which the last is elsewhere at x = .9."""
    points = torch.tensor([[*ELSEWHERE, lone]] * INPUTS)
    points[9, 3] = torch.tensor(other)
    tensors = {"x": torch.linspace(0, 1, INPUTS), "uniform_to_gaussians/targets": points}
    for name in ("uniform_to_gaussians/wta", "uniform_to_gaussians/mdn", "rotating_moons/wta"):
        tensors[f"paper/{name}/K4/points"] = points.clone()
        tensors[f"paper/{name}/K4/masses"] = torch.ones(INPUTS, 4)
    write_tensors(path, tensors, {})


@pytest.mark.parametrize(
    ("lone", "other", "value"),
    [
        ([0.5, -0.49], [0.5, -0.5], 0.2),
        ([0.5, -0.49], [0.52, -0.5], 0.4),
        ([0.5, -0.49], [-0.1, -0.5], math.inf),  # there is none
    ],
)
def test_the_farther_of_both_inputs_counts(
    tmp_path: Path, lone: list[float], other: list[float], value: float
) -> None:
    write(tmp_path / "explorer.safetensors", lone, other)
    (row,) = distances(tmp_path / "explorer.safetensors")
    assert (row["protocol"], row["method"], row["K"]) == ("paper", "wta", 4)
    assert row["value"] == pytest.approx(value, rel=1e-5)


def test_two_hypotheses_are_not_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ELSEWHERE", [*ELSEWHERE[:2], [0.9, -0.9]])
    write(tmp_path / "explorer.safetensors", [0.5, -0.5], [0.5, -0.5])
    (row,) = distances(tmp_path / "explorer.safetensors")
    assert row["value"] == math.inf


def test_predictions_are_evidence(tmp_path: Path) -> None:
    """Beside tables of metrics; alone they are no results of a study."""
    path = tmp_path / "synthetic/explorer.safetensors"
    write(path, [0.5, -0.5], [0.5, -0.5])
    with pytest.raises(FileNotFoundError, match="no tables of metrics"):
        evidence.find(tmp_path)
    table = evidence.read([path])
    assert table["metric"].tolist() == ["lone_hypothesis"]
    assert table["table"].tolist() == ["synthetic/explorer"]
    assert table["value"].tolist() == pytest.approx([0.0])
