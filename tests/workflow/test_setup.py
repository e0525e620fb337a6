"""The set-up installs once, notices changes by content, and says what to do when it cannot."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from loading import ROOT, load_module

TORCH = "torch==2.13.0 \\\n    --hash=sha256:2 \\\n    --hash=sha256:3"
NUMPY = "numpy==2.0.0 \\\n    --hash=sha256:0 \\\n    --hash=sha256:1"
LOCK = f"# comment\n{NUMPY}\n{TORCH}\nscipy==1.0\n"
INSTALLED = ["download", "--no-index", "-r", "pins", "-e"]
NASTY = "a b'c\"d$(touch pwned);e&f`g`|h"


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
        self.made: Path | None = None

    def run(self, python: Path | str, *arguments: str) -> str | None:
        self.commands.append(arguments)
        words = " ".join(arguments)
        for what in ("venv --clear", "pip --version", "download", "--no-index", "-r", "-e", "-c"):
            if f"{what} " in f"{words} ":
                break
        else:
            what = "pins"
        self.asked.append(what)
        if what == "venv --clear":
            self.made = Path(arguments[-1])
            self.made.mkdir(exist_ok=True, parents=True)
            (self.made / "stamp").unlink(missing_ok=True)
        elif not (self.root / ".venv").exists() or self.made is None:
            return "no such file"
        return self.failures.get(what)

    def take(self) -> list[str]:
        asked, self.asked = self.asked, []
        return asked


@pytest.fixture
def machine(bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(checkout(tmp_path))
    monkeypatch.setattr(bootstrap, "run", machine.run)
    return machine


def checkout(root: Path) -> Path:
    """A folder with what the set-up reads."""
    root.mkdir(exist_ok=True, parents=True)
    (root / "requirements.lock").write_text(LOCK)
    (root / "pyproject.toml").write_text("[project]\n")
    return root


def test_sets_up_once_and_follows_content(bootstrap: ModuleType, machine: Machine) -> None:
    bootstrap.main(machine.root)
    assert machine.take() == ["pip --version", "venv --clear", *INSTALLED]

    bootstrap.main(machine.root)
    assert machine.take() == ["-c"], "a second call only checks"

    for name in ("requirements.lock", "pyproject.toml"):
        os.utime(machine.root / name, (1, 1))
        bootstrap.main(machine.root)
        assert machine.take() == ["-c"], "times do not matter"

        with (machine.root / name).open("a") as file:
            file.write("\n")
        bootstrap.main(machine.root)
        assert machine.take() == ["pip --version", *INSTALLED], "contents do"


def test_only_the_lock_chooses_versions(bootstrap: ModuleType, machine: Machine) -> None:
    bootstrap.main(machine.root)
    (project,) = [command for command in machine.commands if "-e" in command]
    assert "--no-deps" in project, "pyproject.toml allows other versions of torch than the lock"


def test_packages_are_installed_by_hash(bootstrap: ModuleType, machine: Machine) -> None:
    bootstrap.main(machine.root)
    hashed = [command for command in machine.commands if "-r" in command]
    assert len(hashed) == 2, "torch, then all"
    assert all({"--require-hashes", "--no-deps"} <= set(command) for command in hashed)
    (rest,) = [command for command in machine.commands if command[-1:] == ("scipy==1.0",)]
    assert rest[-3:] == ("numpy==2.0.0", "torch==2.13.0", "scipy==1.0"), (
        "torch's CUDA packages, in exact versions"
    )
    assert machine.asked.index("-r") < machine.asked.index("pins")


def test_pip_chooses_the_build_of_torch_and_the_lock_checks_it(
    bootstrap: ModuleType, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []

    def run(python: Path | str, *arguments: str) -> str | None:
        if "--no-index" in arguments:
            checked.append((arguments[arguments.index("--find-links") + 1], arguments[-1]))
            assert Path(arguments[-1]).read_text() == TORCH, "its hashes, and nothing else"
        return machine.run(python, *arguments)

    monkeypatch.setattr(bootstrap, "run", run)
    bootstrap.main(machine.root)
    (download,) = [command for command in machine.commands if "download" in command]
    assert download[-1] == "torch==2.13.0"
    ((folder, part),) = checked
    assert folder in download, "what pip took by its own settings is what the lock checks"
    assert not Path(part).exists(), "nothing is left"


def test_the_lock_has_hashes_of_all_packages(bootstrap: ModuleType) -> None:
    for name in sorted(path.name for path in ROOT.glob("requirements*.lock")):
        lines = lines_of(name)
        assert [words[0] for words in lines] == bootstrap.pins(ROOT / name)
        for pin, *hashes in lines:
            assert hashes, pin
            assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), pin
    (torch,) = [words for words in lines_of("requirements.lock") if words[0].startswith("torch==")]
    assert len(torch) > 10, "files for all systems"


def lines_of(name: str) -> list[list[str]]:
    text = (ROOT / name).read_text().replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if not line.startswith("#")]


def test_environment_is_reached_by_a_path_that_a_shell_can_read(
    bootstrap: ModuleType, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    machine.root = checkout(tmp_path / NASTY / "x")
    (machine.root / ".venv/bin").mkdir(parents=True)  # it came with the folder from elsewhere
    bootstrap.main(machine.root)
    assert machine.take() == ["pip --version", "venv --clear", *INSTALLED]
    assert machine.made is not None
    assert machine.made.parent == tmp_path / "cache/vwta"
    assert (machine.root / ".venv").readlink() == machine.made
    bootstrap.main(machine.root)
    assert machine.take() == ["-c"], "a second call only checks"
    other = checkout(tmp_path / NASTY / "y")
    assert bootstrap.environment(other) != machine.made


@pytest.mark.parametrize(
    ("folder", "cache"), [(NASTY, "a b"), (NASTY, ""), (NASTY, "not/absolute"), ("a\nb", "good")]
)
def test_a_path_in_which_nothing_would_work_is_refused(
    bootstrap: ModuleType,
    machine: Machine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    cache: str,
) -> None:
    monkeypatch.delenv("HOME", raising=False)
    absolute = cache if "/" in cache else str(tmp_path / cache) * bool(cache)
    monkeypatch.setenv("XDG_CACHE_HOME", absolute)
    root = checkout(tmp_path / folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit, match=r"Nothing was installed\. Remedy: move the folder"):
        bootstrap.main(root)
    assert machine.take() == []
    assert sorted(tmp_path.rglob("*")) == before


FAKE = """#!/bin/sh
printf '%s\\n' "$0" "cache ${XDG_CACHE_HOME-}"
"""


@pytest.mark.parametrize(("home", "below"), [("/proc", True), (None, True), ("home", False)])
def test_make_in_a_place_with_any_name_and_without_a_home(
    tmp_path: Path, home: str | None, below: bool
) -> None:
    """Nothing in the folder's name is run, and caches are where they can be written."""
    root, safe = tmp_path / NASTY, tmp_path / "environment"
    (safe / "bin").mkdir(parents=True)
    (safe / "bin/python").write_text(FAKE)
    (safe / "bin/python").chmod(0o755)
    root.mkdir()
    (root / ".venv").symlink_to(safe)
    shutil.copy(ROOT / "Makefile", root)
    env = {"PATH": os.environ["PATH"]}
    env |= {} if home is None else {"HOME": home if home == "/proc" else str(tmp_path / home)}
    done = subprocess.run(
        ["make", "plan", "TIER=full", "PYTHON=true"],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    cache = f"{root}/.snakemake/cache" if below else ""
    assert done.stdout.splitlines() == [f"{safe}/bin/python", f"cache {cache}"]
    assert not list(tmp_path.rglob("pwned"))


def test_heals_what_is_broken(bootstrap: ModuleType, machine: Machine) -> None:
    bootstrap.main(machine.root)
    machine.take()
    machine.failures["-c"] = "numpy"
    bootstrap.main(machine.root)
    assert machine.take() == ["-c", "pip --version", *INSTALLED], "a package is missing"

    machine.failures["pip --version"] = "not found"
    bootstrap.main(machine.root)
    assert machine.take() == ["-c", "pip --version", "venv --clear", *INSTALLED], "Python is gone"


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
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM", "pip hash FILE"),
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
    assert machine.take() == ["pip --version", "venv --clear", *INSTALLED], "cut short: start anew"


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
