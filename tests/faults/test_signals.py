"""A training that is asked to stop saves its work, ends soon, and resumes to the same bits."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import psutil
import pytest
from disturbed import Tree, wait_for_job

LONGER = """
synthetic: { training: { epochs: 400 } }
uci: { training: { ours: { epochs: 300 } } }
audio: { training: { epochs: 60 } }
"""
STUDIES = {
    "synthetic": "synthetic/paper/single_gaussian/wta/K9/seed1234.safetensors",
    "uci": "uci/ours/diabetes/wta/K5/splits.zip",
    "audio": "audio/paper/synthetic/wta/K9/seed1234.safetensors",
}


@pytest.fixture
def longer(tree: Tree) -> Tree:
    """Trainings last long enough to be met at work."""
    (tree.folder / "longer.yaml").write_text(LONGER)
    tree.overlays = ("longer.yaml",)
    return tree


@pytest.mark.parametrize(
    ("study", "number"),
    [("synthetic", signal.SIGUSR1), ("uci", signal.SIGTERM), ("audio", signal.SIGUSR1)],
)
def test_training_resumes(longer: Tree, study: str, number: signal.Signals) -> None:
    target = f"results/smoke/{STUDIES[study]}"
    rule = f"train_{study}"
    process = longer.start(target)
    job = wait_for_job(process, rule)
    while "epoch " not in longer.log(rule):
        assert process.poll() is None, longer.output()
        time.sleep(0.05)
    asked = time.monotonic()
    job.send_signal(number)
    psutil.wait_procs([job], timeout=60)
    seconds = time.monotonic() - asked
    assert process.wait() != 0
    assert seconds < 10
    assert f"{number.name} at epoch" in longer.log(rule)
    assert "run again to continue" in longer.output()
    longer.finish(target)
    assert "resumed at epoch" in longer.log(rule)
    resumed = longer.content()[STUDIES[study]]
    Path(longer.folder, target).unlink()
    longer.finish(target)
    assert "resumed at epoch" not in longer.log(rule)
    assert longer.content()[STUDIES[study]] == resumed
