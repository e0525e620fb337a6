"""The set-up installs once, notices changes by content, and says what to do when it cannot."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from loading import ROOT, load_module


@pytest.fixture
def bootstrap() -> ModuleType:
    return load_module("envs/bootstrap.py")


class Machine:
    """Stands in for the Pythons that the set-up runs: notes what was asked, fails on demand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[str] = []
        self.commands: list[tuple[str, ...]] = []
        self.failures: dict[str, str] = {}

    def run(self, python: Path | str, *arguments: str) -> str | None:
        self.commands.append(arguments)
        words = " ".join(arguments)
        for what in ("venv --clear", "pip --version", "-r", "-e", "-c"):
            if f"{what} " in f"{words} ":
                break
        self.asked.append(what)
        if what == "venv --clear":
            (self.root / ".venv").mkdir(exist_ok=True)
            (self.root / ".venv/stamp").unlink(missing_ok=True)
        elif not (self.root / ".venv").is_dir():
            return "no such file"
        return self.failures.get(what)

    def take(self) -> list[str]:
        asked, self.asked = self.asked, []
        return asked


@pytest.fixture
def machine(bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    (tmp_path / "requirements.lock").write_text("# comment\nnumpy==2.0.0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    machine = Machine(tmp_path)
    monkeypatch.setattr(bootstrap, "run", machine.run)
    return machine


def test_sets_up_once_and_follows_content(bootstrap: ModuleType, machine: Machine) -> None:
    bootstrap.main(machine.root)
    assert machine.take() == ["pip --version", "venv --clear", "-r", "-e"]

    bootstrap.main(machine.root)
    assert machine.take() == ["-c"], "a second call only checks"

    for name in ("requirements.lock", "pyproject.toml"):
        os.utime(machine.root / name, (1, 1))
        bootstrap.main(machine.root)
        assert machine.take() == ["-c"], "times do not matter"

        with (machine.root / name).open("a") as file:
            file.write("\n")
        bootstrap.main(machine.root)
        assert machine.take() == ["pip --version", "-r", "-e"], "contents do"


def test_only_the_lock_chooses_versions(bootstrap: ModuleType, machine: Machine) -> None:
    bootstrap.main(machine.root)
    (project,) = [command for command in machine.commands if "-e" in command]
    assert "--no-deps" in project, "pyproject.toml allows other versions of torch than the lock"


def test_heals_what_is_broken(bootstrap: ModuleType, machine: Machine) -> None:
    bootstrap.main(machine.root)
    machine.take()
    machine.failures["-c"] = "numpy"
    bootstrap.main(machine.root)
    assert machine.take() == ["-c", "pip --version", "-r", "-e"], "a package is missing"

    machine.failures["pip --version"] = "not found"
    bootstrap.main(machine.root)
    assert machine.take() == ["-c", "pip --version", "venv --clear", "-r", "-e"], "Python is gone"


def test_plugins_for_clusters_are_added_once(bootstrap: ModuleType, machine: Machine) -> None:
    (machine.root / "requirements-cluster.lock").write_text("plugin==1.0\n")
    bootstrap.main(machine.root)
    machine.take()
    machine.failures["-c"] = "plugin"
    bootstrap.add(machine.root, "cluster")
    assert machine.take() == ["-c", "-r"], "they are missing"

    machine.failures.clear()
    bootstrap.main(machine.root, "cluster")
    assert machine.take() == ["-c", "-c"], "the environment is ready, and so are they"
    bootstrap.main(machine.root)
    assert machine.take() == ["-c"], "without them it is no less so"


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("NewConnectionError(host='pypi.secret.example'): Failed", "check the network"),
        ("Temporary failure in name resolution for https://me:pw@secret.example/", "network"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: Could not find a version for x==2 (from versions: none)", "network"),
        ("ERROR: Could not find a version for x==2 (from versions: 0.9, 1.0)", "PYTHON=python3.11"),
        ("something never seen before", "delete the folder .venv"),
    ],
)
def test_failure_names_the_remedy(
    bootstrap: ModuleType, machine: Machine, said: str, remedy: str
) -> None:
    machine.failures["-r"] = said
    with pytest.raises(SystemExit, match=remedy) as stop:
        bootstrap.main(machine.root)
    assert "secret" not in str(stop.value), "addresses of package indexes stay private"

    machine.failures.clear()
    machine.take()
    bootstrap.main(machine.root)
    assert machine.take() == ["pip --version", "venv --clear", "-r", "-e"], "cut short: start anew"


def test_missing_venv_module(
    bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="python3-venv"):
        bootstrap.main(tmp_path)


def test_probe_compares_with_the_lock(bootstrap: ModuleType) -> None:
    pins = bootstrap.pins(ROOT / "requirements.lock")
    probe = ("-c", bootstrap.PROBE, str(ROOT))
    assert bootstrap.run(sys.executable, *probe, *pins) is None
    assert (
        bootstrap.run(sys.executable, *probe, "torch==0.1", "NumPy==0.1").strip() == "torch, NumPy"
    )
    assert bootstrap.run(sys.executable, "-c", bootstrap.PROBE, "/elsewhere").strip() == "vwta"
    assert "No such file" in bootstrap.run("/no/such/python")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Call make as a user would, not as a part of `make test`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("python", ["false", "no-such-python"])
def test_unfit_python_gets_one_message(python: str) -> None:
    done = make("setup", f"PYTHON={python}")
    assert done.returncode != 0
    assert f"PYTHON={python} is not Python 3.11 or newer" in done.stderr
    assert "Remedy" in done.stderr


def test_unknown_tier_names_the_known() -> None:
    done = make("plan", "TIER=huge")
    assert done.returncode != 0
    assert re.search(r"TIER=huge is unknown; choose one of: .*full", done.stderr)


def test_help_lists_every_target() -> None:
    listed = make().stdout
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    for target in set(phony[1].split()) - {"tier"}:
        assert f"make {target} " in listed
