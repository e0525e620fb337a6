"""Provenance names the revision of the code, or its version where git does not track it."""

import json
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


def test_revision_that_pip_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, version = "a" * 40, f"v{vwta.__version__}"
    about = tmp_path / "vwta-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: vwta\nVersion: 0.1.0\n")
    origin = {"url": "https://example.org/vwta", "vcs_info": {"vcs": "git", "commit_id": commit}}
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "vwta/io/provenance.py"))
    (tmp_path / "vwta/io").mkdir(parents=True)
    revision = provenance.revision.__wrapped__
    assert revision() == version, "a wheel"
    (about / "direct_url.json").write_text(json.dumps(origin))
    assert revision() == commit
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "other/vwta/io/provenance.py"))
    (tmp_path / "other/vwta/io").mkdir(parents=True)
    assert revision() == version, "another copy than pip's"


def test_facts_and_what_the_caller_adds() -> None:
    record = provenance.provenance(seed=3)
    assert record["seed"] == 3
    assert {"revision", "made", "packages", "processor", "threads"} <= record.keys()
    assert {"torch", "numpy"} <= record["packages"].keys()
