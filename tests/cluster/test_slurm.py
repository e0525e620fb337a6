"""A part of the smoke tier through a real Slurm: requests, a cancelled job, the results."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
import torch
import warm
from loading import environment
from slurm_jobs import Submission, pretend_gpu, submissions

from vwta.io.storage import read_table, read_tensors

CONFIG = ["--configfile", "config/smoke.yaml", str(Path(__file__).with_name("overlay.yaml"))]
RESULTS = Path("results/smoke")
NETWORK = RESULTS / "synthetic/paper/single_gaussian/wta/K9/seed1234.safetensors"
TRAINED = RESULTS / "audio/paper/synthetic/wta/K9/seed1234.safetensors"
TARGETS = [
    NETWORK,
    RESULTS / "synthetic/metrics/evaluation.parquet",
    RESULTS / "uci/paper/diabetes/evaluation.parquet",
    TRAINED.with_name("predictions_seed1234.safetensors"),
]
LOG = RESULTS / "logs/train_audio/paper/synthetic/wta/K9/seed1234.log"
LIMIT = 1800  # seconds
# Rules of each submission, by the comment that Slurm keeps, and how many submissions of the kind.
ASKED = {
    "rule_generate_generate_synthetic": 1,
    "rule_synthetic_training_train_synthetic": 1,
    "rule_synthetic_evaluation_evaluate_synthetic_tune_synthetic": 1,
    "rule_prepare_uci": 1,
    "rule_uci_evaluate_uci_train_uci_tune_uci": 1,
    "rule_audio_features_features_audio_make_scenes": 3,
    "rule_train_audio": 2,  # the first is cancelled
    "rule_audio_prediction_predict_audio": 1,
}
ON_GPU = ("rule_synthetic_training", "rule_uci", "rule_train_audio", "rule_audio_prediction")


class Outcome(NamedTuple):
    """A folder in which the targets were made through Slurm, and Slurm's record of it."""

    tree: Path
    submissions: list[Submission]
    ended: str


def snakemake(
    tree: Path, *arguments: str | Path, python: Sequence[str] = (sys.executable,)
) -> None:
    """Make some targets in a tree; what was said is shown on failure."""
    command = [*python, "-m", "snakemake", *CONFIG, *map(str, arguments)]
    with (tree / "said").open("w") as said:
        done = subprocess.run(
            command, cwd=tree, env=environment(tree), stdout=said, stderr=said, timeout=LIMIT
        )
    assert done.returncode == 0, (tree / "said").read_text()[-8000:]


def cancel_training(tree: Path, end: float) -> None:
    """Cancels the training of the audio study once it has finished an epoch."""
    while time.monotonic() < end:
        log = (tree / LOG).read_text() if (tree / LOG).exists() else ""
        if "epoch 1/" in log:
            running = [
                job.number
                for job in submissions()
                if job.asked == "rule_train_audio" and job.state == "RUNNING"
            ]
            subprocess.run(["scancel", *running], check=True)
            return
        time.sleep(0.2)


@pytest.fixture(scope="module")
def local(
    ended: Path, tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]
) -> Path:
    """A tree in which the targets were made with no cluster."""
    tree = pretend_gpu(copy_repository(tmp_path_factory.mktemp("local")))
    snakemake(tree, "--cores", "2", "--", *TARGETS, python=warm.python())
    return tree


@pytest.fixture(scope="module")
def through_slurm(
    ended: Path, tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]
) -> Outcome:
    tree = pretend_gpu(copy_repository(tmp_path_factory.mktemp("slurm")))
    before = submissions()
    arguments = (tree, time.monotonic() + LIMIT)
    canceller = threading.Thread(target=cancel_training, args=arguments, daemon=True)
    canceller.start()
    often = ["--slurm-init-seconds-before-status-checks", "3"]
    snakemake(tree, "--workflow-profile", "profiles/slurm", *often, "--", *TARGETS)
    canceller.join(5)
    own = [job for job in submissions() if job not in before]
    return Outcome(tree, own, ended.read_text())


def test_every_job_went_through_slurm_and_small_ones_together(through_slurm: Outcome) -> None:
    asked = [job.asked for job in through_slurm.submissions]
    assert {kind: asked.count(kind) for kind in asked} == ASKED
    logs = (through_slurm.tree / RESULTS / "logs").rglob("*.log")
    jobs = [path for path in logs if "collect" not in path.parts]
    assert (len(jobs), len(asked)) == (26, 11)


def test_slurm_noted_the_end_of_every_job(through_slurm: Outcome) -> None:
    own = {job.number for job in through_slurm.submissions}
    noted = {
        number: state
        for number, state in re.findall(r"JobId=(\d+) .*?JobState=(\w+)", through_slurm.ended)
        if number in own
    }
    assert noted == {job.number: job.state for job in through_slurm.submissions}
    assert set(noted.values()) == {"COMPLETED", "CANCELLED"}


def test_rules_that_train_ask_for_a_gpu_and_others_do_not(through_slurm: Outcome) -> None:
    for job in through_slurm.submissions:
        wanted = job.asked.startswith(ON_GPU)
        assert (job.gpu, job.partition) == ((True, "gpu") if wanted else (False, "cpu")), job


def test_a_cancelled_training_is_submitted_again_and_resumes(through_slurm: Outcome) -> None:
    first, second = (job for job in through_slurm.submissions if job.asked == "rule_train_audio")
    assert (first.state, second.state) == ("CANCELLED", "COMPLETED")
    assert (first.memory, second.memory) == (6000, 12000), "it asks for more"
    assert (first.minutes, second.minutes) == (720, 1440)
    log = (through_slurm.tree / LOG).read_text()
    resumed = re.search(r"resumed at epoch (\d+)", log)
    assert resumed is not None, log
    assert 1 < int(resumed[1]) < 40
    assert "epoch 40/40" in log
    assert not list((through_slurm.tree / RESULTS / ".unfinished").rglob("*.*"))


def test_results_equal_those_of_a_local_run(through_slurm: Outcome, local: Path) -> None:
    tables = sorted(path.relative_to(local) for path in (local / RESULTS).rglob("*.parquet"))
    assert len(tables) == 9
    for path in tables:
        ours, theirs = (read_table(tree / path) for tree in (through_slurm.tree, local))
        assert ours.equals(theirs), path
    networks = sorted(path.relative_to(local) for path in (local / RESULTS).rglob("*.safetensors"))
    assert TRAINED in networks
    for path in networks:
        assert same_tensors(through_slurm.tree / path, local / path), path


def same_tensors(one: Path, other: Path) -> bool:
    """Whether two files hold the same tensors, to the bit."""
    (ours, _), (theirs, _) = read_tensors(one), read_tensors(other)
    same = [torch.equal(ours[name], theirs[name]) for name in ours.keys() & theirs.keys()]
    return ours.keys() == theirs.keys() and all(same)


def test_any_scheduler_will_do(
    ended: Path, local: Path, tmp_path: Path, copy_repository: Callable[[Path], Path]
) -> None:
    tree = pretend_gpu(copy_repository(tmp_path / "tree"))
    before = {job.number for job in submissions()}
    snakemake(tree, "--workflow-profile", "profiles/cluster-generic", "--", NETWORK)
    first, second = (job for job in submissions() if job.number not in before)
    assert (first.state, first.gpu, first.partition) == ("COMPLETED", False, "cpu")
    assert (second.state, second.gpu, second.partition) == ("COMPLETED", True, "gpu")
    assert (second.memory, second.minutes) == (2000, 20)
    assert same_tensors(tree / NETWORK, local / NETWORK)


def test_no_slurm_is_started_where_there_is_one(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=yours\n")
    reason = script.obstacle(tmp_path / "slurm.conf")
    assert reason is not None
    assert "configured here already" in reason or "apt-get install" in reason or "root" in reason
