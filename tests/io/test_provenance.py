"""Provenance names the revision of the code, or its version where git does not track it."""

import subprocess
from pathlib import Path

import pytest

import vwta
from vwta.io import provenance


def git(folder: Path, *arguments: str) -> None:
    author = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)


def test_revision_of_tracked_code_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "provenance.py"
    module.write_text("")
    monkeypatch.setattr(provenance, "__file__", str(module))
    revision = provenance.revision.__wrapped__
    version = f"v{vwta.__version__}"
    assert revision() == version, "no repository"

    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "Start")
    assert revision() == version, "a repository of something else"

    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "Add")
    assert len(revision()) == 40
    module.write_text("changed")
    assert revision().endswith("-dirty")

    monkeypatch.setenv("PATH", "")
    assert revision() == version, "no git"


def test_facts_and_what_the_caller_adds() -> None:
    record = provenance.provenance(seed=3)
    assert record["seed"] == 3
    assert {"revision", "made", "packages", "processor", "threads"} <= record.keys()
    assert {"torch", "numpy"} <= record["packages"].keys()
