"""CI and hooks are well formed, and name scripts, targets and tools that exist."""

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from loading import ROOT
from packaging.requirements import Requirement

import vwta

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.y*ml"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def read(path: Path) -> dict[str, Any]:
    return yaml.load(path.read_text(), yaml.BaseLoader)  # in which `on` is a word, not a truth


JOBS = {
    f"{path.name}: {name}": job for path in WORKFLOWS for name, job in read(path)["jobs"].items()
}


def missing(text: str) -> list[str]:
    """Files of this repository and targets of make that are named in a text and do not exist."""
    paths = re.findall(r"(?<![\w/.])\.?[\w-]+(?:/[\w.-]+)+", text)
    targets = re.findall(r"\bmake ([a-z-]+)", text)
    gone = [path for path in paths if not (ROOT / path).exists()]
    return gone + [f"make {target}" for target in targets if target not in TARGETS]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_is_well_formed(path: Path) -> None:
    content = read(path)
    assert content.keys() <= {"name", "on", "permissions", "concurrency", "env", "jobs"}
    assert content.keys() >= {"name", "on", "permissions", "jobs"}
    assert set(content["on"]) <= {"push", "pull_request", "schedule", "workflow_dispatch"}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_job_is_well_formed(job: dict[str, Any]) -> None:
    assert job.keys() <= {"runs-on", "timeout-minutes", "strategy", "needs", "env", "steps"}
    assert job.keys() >= {"runs-on", "timeout-minutes", "steps"}
    assert int(job["timeout-minutes"]) > 0
    for step in job["steps"]:
        assert len(step.keys() & {"uses", "run"}) == 1, step
        assert step.keys() <= {"name", "if", "uses", "with", "run", "env"}, step
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@v\d+(\.\d+)*", step.get("uses", "a/b@v1")), step
        assert missing(step.get("run", "")) == []
    dimensions = set(job.get("strategy", {}).get("matrix", ()))
    assert set(re.findall(r"\$\{\{ *matrix\.(\w+) *\}\}", str(job))) == dimensions


def test_a_workflow_runs_ci() -> None:
    commands = [step.get("run", "") for job in JOBS.values() for step in job["steps"]]
    assert any(command.endswith(" .ci/run") for command in commands)
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert missing((ROOT / ".ci/run").read_text()) == []


def test_missing_files_and_targets_are_found() -> None:
    text = "sudo .ci/run && ./x && make test && pytest tests/io tests/nowhere >/dev/null; make tset"
    assert missing(text) == ["tests/nowhere", "make tset"]


def test_matrix_begins_with_the_oldest_versions() -> None:
    (matrix,) = [job["strategy"]["matrix"] for job in JOBS.values() if "strategy" in job]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    (torch,) = [line for line in PROJECT["dependencies"] if Requirement(line).name == "torch"]
    assert matrix["torch"] == [f"{torch.replace('>=', '==')}.*", "torch"]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hook_is_a_tool_of_the_environment(hook: dict[str, Any]) -> None:
    assert hook.keys() >= {"id", "name", "entry", "language"}
    assert hook["language"] == "system"
    tool = Path(hook["entry"].split()[0])
    assert tool.parent == Path(".venv/bin")
    assert os.access(Path(sys.executable).with_name(tool.name), os.X_OK)
    re.compile(hook.get("files", ""))


def test_changelog_has_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$", text, re.MULTILINE)
    assert releases[:2] == ["Unreleased", vwta.__version__]
