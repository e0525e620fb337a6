"""A change of code that changes no bits is adopted: its digest is that of the code before."""

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from loading import load_module, snakemake

from vwta.io.errors import DataError
from vwta.io.storage import write_table, write_tensors
from vwta.paper.studies import STUDIES
from vwta.workflow import adopt as adopting
from vwta.workflow.adopt import adopt, differences

GENERATE = "src/vwta/paper/synthetic/generate.py"
# A smaller run than that of config/adopt.yaml; two seeds and a K at which the smoke tier has none.
SIZES = "synthetic: { K: [9, 16], seeds: [1234, 1244] }\n"


def git(tree: Path, *arguments: str) -> None:
    about = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *about, *arguments], cwd=tree, check=True, capture_output=True)


def digest(tree: Path, stage: str) -> str:
    """The digest of a stage, by a module that has read nothing yet."""
    module = load_module(tree / "src/vwta/workflow/digest.py")
    found: str = module.digest(tree / f"workflow/scripts/{stage}.py")
    return found


@pytest.fixture
def clone(tmp_path: Path, copy_repository: Callable[[Path], Path]) -> Path:
    """A repository with one revision."""
    tree = copy_repository(tmp_path / "clone")
    (tree / "config/adopt.yaml").write_text(SIZES)
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "-m", "first")
    return tree


def test_a_change_without_effect_is_adopted_and_another_refused(clone: Path) -> None:
    calls: list[Sequence[str]] = []

    def run(tree: Path, arguments: Sequence[str]) -> None:
        calls.append(arguments)
        done = snakemake(tree, "--cores", "1", *arguments)
        assert done.returncode == 0, done.stdout

    stage, table = "generate_synthetic", clone / "config/adopted.csv"
    before, nothing = digest(clone, stage), table.read_text()
    with (clone / GENERATE).open("a") as file:
        file.write("\n\nTOY = 1\n")
    changed = digest(clone, stage)
    assert changed != before
    (line,) = adopt(clone, "HEAD", [stage], run)
    assert line.startswith(f"{stage}: {changed} equals {before} in ")
    assert int(line.split()[-2]) >= 2  # of the protocols that draw data of their own
    assert digest(clone, stage) == before
    assert f"\n{stage},{changed},{before}," in table.read_text()
    assert len(calls) == 2
    git(clone, "commit", "--quiet", "-am", "second")

    recorded = table.read_text()
    with (clone / GENERATE).open("a") as file:
        file.write("_old = generate\n\n\ndef generate(*given, **named):\n")
        file.write("    _old(*given, **{**named, 'seed': named['seed'] + 1})\n")
    with pytest.raises(DataError, match=r"data\.safetensors has other tensors[\s\S]*run again"):
        adopt(clone, "HEAD", [stage], run)
    assert table.read_text() == recorded != nothing
    assert digest(clone, stage) != before


def test_adoptions_follow_each_other_and_are_of_a_stage(clone: Path) -> None:
    stages = ("generate_synthetic", "predict_synthetic")
    before = {stage: digest(clone, stage) for stage in stages}
    module = clone / "src/vwta/paper/synthetic/true_laws.py"  # of both
    known = dict(before)
    for number in range(2):
        with module.open("a") as file:
            file.write(f"\n\nTOY_{number} = 1\n")
        changed = digest(clone, stages[0])
        assert changed != known[stages[0]]
        adopting.record(clone, stages[0], changed, known[stages[0]], "a" * 40, 1)
        assert digest(clone, stages[0]) == before[stages[0]]
        known[stages[0]] = changed  # as if the revision had been compared by its own digest
    assert digest(clone, stages[1]) != before[stages[1]]


def test_unchanged_stages_are_not_run(clone: Path) -> None:
    assert adopt(clone, "HEAD", ["judge"], lambda *_: pytest.fail("nothing has changed")) == []
    with pytest.raises(DataError, match="'nowhere' is no revision of"):
        adopt(clone, "nowhere", [])


def test_every_network_of_every_study_is_compared(
    tmp_path: Path, copy_repository: Callable[[Path], Path]
) -> None:
    """A stage has one digest: what it does with one network is no evidence for another."""
    tree = copy_repository(tmp_path / "tree")
    sizes = ["--configfile", "config/smoke.yaml", "config/adopt.yaml"]
    done = snakemake(tree, "--dry-run", "--cores", "1", *sizes)
    assert done.returncode == 0, done.stdout
    job = r"^rule (train_\w+):\n(?: {4}.*\n)*?.*model=(\w+)"
    found = {
        (rule.removesuffix("_stack"), model)
        for rule, model in re.findall(job, done.stdout, re.MULTILINE)
    }
    config = yaml.safe_load((tree / "config/config.yaml").read_text())
    networks = {(f"train_{study}", name) for study in STUDIES for name in config[study]["models"]}
    assert found == networks | {("train_synthetic_local", "local"), ("train_audio_local", "local")}


def test_records_are_no_difference_and_bits_are(tmp_path: Path) -> None:
    rows = pd.DataFrame({"value": [1.0, float("nan")]})
    weights = {"w": torch.tensor([1.0, float("nan")])}
    for name, seconds in (("one", 1), ("two", 2)):
        facts = {"provenance": {"cpu_seconds": seconds}, "kind": "a"}
        (tmp_path / name).mkdir()
        write_table(tmp_path / name / "a.parquet", rows, facts)
        write_tensors(tmp_path / name / "a.safetensors", weights, facts)
    one, two = tmp_path / "one", tmp_path / "two"
    for file in ("a.parquet", "a.safetensors"):
        assert differences(one / file, two / file) == []
    write_table(two / "a.parquet", rows + 2**-52, {"kind": "b"})
    assert differences(one / "a.parquet", two / "a.parquet") == [
        "has other rows",
        "has other metadata",
    ]
    write_tensors(two / "a.safetensors", {"w": -weights["w"]}, {"kind": "a"})
    assert differences(one / "a.safetensors", two / "a.safetensors") == ["has other tensors"]
    assert differences(one / "b", two / "b") == ["is made by the new code alone"]
