"""requirements.lock fits pyproject.toml, and the conda environments fit the lock."""

import json
import re
from importlib.metadata import version
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml
from loading import ROOT, load_module
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pins import unpinned

SNAKEFILE = ROOT / "workflow/Snakefile"
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    return load_module("envs/lock.py")


@pytest.fixture(scope="module")
def locked(lock: ModuleType) -> dict[str, str]:
    return lock.read_lock(ROOT / "requirements.lock")


def test_lock_satisfies_pyproject(lock: ModuleType, locked: dict[str, str]) -> None:
    for line in lock.declared("sklearn", "paper", "workflow", "dev"):
        requirement = Requirement(line)
        version = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{line}, but {version} is locked"


def test_lock_pins_all_that_is_needed(lock: ModuleType, locked: dict[str, str]) -> None:
    lines = lock.declared("sklearn", "paper", "workflow", "dev")
    assert unpinned(lines, locked, lock.CUDA) == []


def test_lock_keeps_the_one_torch(lock: ModuleType, locked: dict[str, str]) -> None:
    assert f"torch=={locked['torch']}" == lock.TORCH


def test_new_lock_asks_for_the_one_torch(lock: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        asked.append(command)
        if "compile" in command:
            return SimpleNamespace(stdout="torch==2.13.0 \\\n    --hash=sha256:aa\n")
        if "--report" in command:
            return SimpleNamespace(stdout=json.dumps({"install": [{"download_info": FILE}]}))
        return SimpleNamespace(stdout="torch==2.13.0+cpu\n")

    monkeypatch.setattr(lock.subprocess, "run", run)
    files = lock.freeze()
    (line,) = lock.whole_lines(files["requirements.lock"])
    hashes = ["--hash=sha256:aa", "--hash=sha256:bb"]
    assert line.split() == [lock.TORCH, *hashes], (
        "files for all systems, and the one that pip takes here"
    )
    installs = [command for command in asked if "install" in command and "uv" not in command]
    assert len(installs) == 2 + len(lock.ADDED)
    assert all(lock.TORCH in command for command in installs)


def test_an_extra_is_locked_beside_what_is_locked_before(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    found = "numpy==2.0 \\\n    --hash=sha256:aa\nFresh_One==1 \\\n    --hash=sha256:bb\n"

    def run(command: list[str], **_: object) -> SimpleNamespace:
        if "--constraints" in command:
            kept.extend(Path(command[command.index("--constraints") + 1]).read_text().split())
        return SimpleNamespace(stdout=found)

    monkeypatch.setattr(lock.subprocess, "run", run)
    ((name, text),) = lock.extended("cloud").items()
    assert name == "requirements-cloud.lock"
    assert lock.whole_lines(text) == ["Fresh_One==1      --hash=sha256:bb"], "numpy is locked"
    before = ("requirements.lock", "requirements-cluster.lock")
    assert kept == [pin for lines in before for pin in lock.read_pins(ROOT / lines)]


FILE = {"url": "file:///torch.whl", "archive_info": {"hashes": {"sha256": "bb"}}}


def test_what_has_no_pin_is_found(lock: ModuleType, locked: dict[str, str]) -> None:
    assert unpinned(["numpy>=99"], locked, lock.CUDA) == [
        f"pyproject.toml needs numpy>=99, but {locked['numpy']} is locked"
    ]
    fewer = {name: pin for name, pin in locked.items() if name != "numpy"}
    assert "scipy needs numpy" in "".join(unpinned(["scipy"], fewer, lock.CUDA))


def test_installed_versions_are_the_locked_ones(locked: dict[str, str]) -> None:
    """Or else the requirements that are followed above are those of other versions."""
    found = {name: version(name).split("+")[0] for name in locked}
    assert found == locked


@pytest.mark.parametrize("extra", ["cluster", "cloud", "docs", "bench"])
def test_lock_of_an_extra_adds_to_the_lock(
    lock: ModuleType, locked: dict[str, str], extra: str
) -> None:
    added = lock.read_lock(ROOT / f"requirements-{extra}.lock")
    assert not added.keys() & locked.keys()
    for line in set(lock.declared(extra)) - set(lock.declared()):
        requirement = Requirement(line)
        assert requirement.specifier.contains(added[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("name", sorted(path.name for path in ROOT.glob("requirements*.lock")))
def test_lock_is_portable(name: str) -> None:
    for line in (ROOT / name).read_text().splitlines():
        exact = r"#.*|[\w.-]+==[\w.]+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?"
        assert re.fullmatch(exact, line), f"{line}: neither comment, exact pin nor hash"


def test_freeze_drops_builds_and_cuda(lock: ModuleType) -> None:
    frozen = ["numpy==2.0.0", "nvidia-cublas==13.1", "torch==2.13.0+cpu", "triton==3.5.0"]
    assert lock.clean(frozen) == ["numpy==2.0.0", "torch==2.13.0"]


def test_environments_are_up_to_date(lock: ModuleType, locked: dict[str, str]) -> None:
    made = lock.environments(locked)
    assert {path.name: path.read_text() for path in ENVIRONMENTS} == made, "call `make envs`"


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.name)
def test_environment_pins_equal_the_lock(path: Path, lock: ModuleType, locked: dict) -> None:
    names = {conda: name for name, conda in lock.FROM_CONDA.items()}
    *conda, pip = yaml.safe_load(path.read_text())["dependencies"]
    pins = [pin.split("=") for pin in conda if pin not in ("python=3.11", "pip")]
    pins += [pin.split("==") for pin in pip["pip"]]
    versions = {names.get(name, name): version for name, version in pins}
    assert versions == {name: locked[name] for name in versions}
    assert {Requirement(line).name for line in lock.declared("paper")} <= versions.keys()


def test_rules_name_existing_environments() -> None:
    """One for rules that ask for a GPU, and one for all others; the Snakefile names them once."""
    names = re.findall(r'(?:cpu|gpu)="([^"]+)"', SNAKEFILE.read_text())
    assert sorted(ROOT / name for name in names) == ENVIRONMENTS
    for rules in [SNAKEFILE, *(ROOT / "workflow").rglob("*.smk")]:
        assert "conda:" not in rules.read_text(), rules
