"""Jobs ask for a GPU where there is one, and for a share of its memory; here by a pretended one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from loading import snakemake

from vwta.workflow import gpu
from vwta.workflow.gpu import GPU

RUN = "results/smoke/{}/paper/{}/wta/K{}/"
TARGETS = [
    RUN.format("synthetic", "single_gaussian", 9) + "seed1234.safetensors",
    RUN.format("uci", "diabetes", 5) + "splits.zip",
    RUN.format("audio", "synthetic", 9) + "predictions_seed1234.safetensors",
]
GENERIC = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", "true"]
# Prints the environment of each rule, by its name.
SHOW = """
for rule in workflow.rules:
    print("RULE", rule.name, rule.conda_env)
"""


def pretend(folder: Path, answer: str) -> str:
    """A PATH with a command that tells the memory of each of two GPUs."""
    command = folder / "nvidia-smi"
    command.write_text(f"#!/bin/sh\n{answer}\n")
    command.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


TWO = 'case "$*" in *--id=0) echo 16000 ;; *--id=1) echo 8000 ;; *) exit 6 ;; esac'


@pytest.mark.parametrize(
    ("answer", "visible", "megabytes"),
    [
        (TWO, None, 16000),
        (TWO, "1,0", 8000),
        (TWO, "", 0),
        (TWO, "-1", 0),
        (TWO, "7", 0),
        ("echo [N/A]", None, 0),
        ("exit 9", None, 0),
    ],
)
def test_memory_is_that_of_the_first_gpu_that_jobs_see(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    visible: str | None,
    megabytes: int,
) -> None:
    monkeypatch.setenv("PATH", pretend(tmp_path, answer))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpu.memory() == megabytes


@pytest.mark.parametrize(
    ("device", "here", "found", "limit", "asked", "total"),
    [
        ("auto", True, 16000, None, 1, 16000),
        ("auto", True, 16000, 4000, 1, 4000),
        ("auto", True, 0, None, 0, 0),
        ("auto", False, 16000, None, 0, 0),  # a login node is not where jobs run
        ("cpu", True, 16000, None, 0, 0),
        ("cuda", True, 16000, None, 1, 16000),
        ("cuda", True, 0, None, 1, 1),  # one at a time
        ("cuda", False, 0, None, 1, 0),
    ],
)
def test_what_is_asked_for_follows_from_device_and_place(
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    here: bool,
    found: int,
    limit: int | None,
    asked: int,
    total: int,
) -> None:
    monkeypatch.setattr(gpu, "memory", lambda: found)
    hardware = GPU(device, here, limit)
    assert (hardware.asked, hardware.whole) == (asked, total)
    assert hardware.share(1500)(None, 2) == min(3000, total)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]) -> Path:
    folder = copy_repository(tmp_path_factory.mktemp("tree"))
    with (folder / "Snakefile").open("a") as file:
        file.write(SHOW)
    config = folder / "config/smoke.yaml"
    config.write_text(config.read_text().replace("device: cpu", "device: auto"))
    return folder


def asked(tree: Path, folder: Path, *arguments: str) -> dict[str, tuple[int, int, str]]:
    """Of each rule that may use a GPU: how many, how much memory, and its environment."""
    folder.mkdir()
    smoke = ["--configfile", "config/smoke.yaml", "--dry-run", "--cores", "2"]
    path = pretend(folder, TWO)
    done = snakemake(tree, *smoke, *arguments, "--", *TARGETS, PATH=path, CUDA_VISIBLE_DEVICES="0")
    assert done.returncode == 0, done.stdout
    environments = dict(re.findall(r"^RULE (\w+) \S*envs/(\w+)\.yaml$", done.stdout, re.MULTILINE))
    found = {}
    for rule, text in re.findall(r"^rule (\w+):\n((?: {4}.*\n)+)", done.stdout, re.MULTILINE):
        if numbers := dict(re.findall(r"\b(gpu|gpu_mb)=(\d+)", text)):
            found[rule] = int(numbers["gpu"]), int(numbers["gpu_mb"]), environments[rule]
    return found


def test_small_trainings_share_a_gpu_and_audio_does_not(tree: Path, tmp_path: Path) -> None:
    found = asked(tree, tmp_path / "here")
    assert found == {
        "train_synthetic": (1, 1500, "gpu"),
        "train_uci": (1, 3000, "gpu"),
        "train_audio": (1, 16000, "gpu"),
        "predict_audio": (1, 16000, "gpu"),
    }
    less = asked(tree, tmp_path / "less", "--resources", "gpu_mb=2000")
    assert {rule: numbers[1] for rule, numbers in less.items()} == {
        rule: min(numbers[1], 2000) for rule, numbers in found.items()
    }


def test_through_a_scheduler_auto_asks_for_none(tree: Path, tmp_path: Path) -> None:
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    found = asked(tree, tmp_path / "away", "--jobs", "2", *GENERIC)
    assert set(found.values()) == {(0, 0, "cpu")}
