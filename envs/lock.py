"""Write requirements*.lock from a fresh environment, and the conda environments from them.

Usage: python envs/lock.py [--environments]   (only the conda environments)
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

HEADER = """\
# Exact versions of everything that the project, its pipeline and its tests need.
# Made by `make lock` from pyproject.toml; do not edit.
# No hashes, and torch's own CUDA packages are left out: torch comes in a CPU and in CUDA builds,
# each of which names the packages it needs by exact version.
"""

CLUSTER_HEADER = """\
# What clusters need besides requirements.lock; `make cluster` installs it.
# Made by `make lock` from pyproject.toml; do not edit.
"""

# Results are compared bit by bit, so the lock keeps this version, whatever pyproject.toml allows.
TORCH = "torch==2.13.0"

# Packages that torch brings for CUDA only.
CUDA = re.compile(r"(nvidia|cuda|triton)\b")

# conda-forge's CPU build of torch, and numpy beside it, so that pip replaces neither.
FROM_CONDA = {"numpy": "numpy", "torch": "pytorch-cpu"}


def freeze() -> dict[str, str]:
    """Install the newest versions that pyproject.toml allows, and return the locks by file."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        main = installed(folder, "sklearn,paper,opencv,workflow,dev")
        more = installed(folder, "sklearn,paper,opencv,workflow,dev,cluster")
    added = [pin for pin in more if pin not in main]
    if len(more) != len(main) + len(added):
        sys.exit(f"plugins for clusters want other versions than the rest: {' '.join(added)}")
    return {
        "requirements.lock": HEADER + "".join(f"{pin}\n" for pin in main),
        "requirements-cluster.lock": CLUSTER_HEADER + "".join(f"{pin}\n" for pin in added),
    }


def installed(folder: str, extras: str) -> list[str]:
    """Install the project with extras into an environment, and return what is there."""
    pip = [f"{folder}/bin/python", "-I", "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-qq", f"{ROOT}[{extras}]", TORCH], check=True)
    # With --all, as setuptools is left out else, and torch needs it.
    listed = [*pip, "freeze", "--all", "--exclude", "pip", "--exclude", "vwta"]
    frozen = subprocess.run(listed, check=True, capture_output=True, text=True)
    return clean(frozen.stdout.splitlines())


def clean(frozen: list[str]) -> list[str]:
    """Drop the local parts of versions (`+cpu`) and torch's CUDA packages."""
    return [line.split("+")[0] for line in frozen if not CUDA.match(line)]


def read_lock(path: Path) -> dict[str, str]:
    """Return the locked versions by canonical name."""
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in (x.split("==") for x in lines)}


def declared(*extras: str) -> list[str]:
    """Return the requirements of the project and of some of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    more = (project["optional-dependencies"][extra] for extra in extras)
    return [*project["dependencies"], *(line for lines in more for line in lines)]


def runtime(lock: dict[str, str], conda: dict[str, str]) -> dict[str, str]:
    """Return the part of the lock that jobs need, by following the requirements.

    What conda provides is not followed: conda also brings what that needs.
    """
    needed: dict[str, str] = {}
    waiting = declared("paper", "opencv")
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        asked = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if asked and name in lock and name not in needed:
            needed[name] = lock[name]
            waiting += (requires(name) or []) if name not in conda else []
    return dict(sorted(needed.items()))


def environment(lock: dict[str, str], conda: dict[str, str]) -> str:
    """Return a conda environment: `conda` maps what conda provides to its name there."""
    versions = runtime(lock, conda)
    lines = [
        "# Made from requirements.lock by `make envs`; do not edit.",
        "channels:",
        "  - conda-forge",
        "  - nodefaults",
        "dependencies:",
        "  - python=3.11",
        "  - pip",
        *(f"  - {conda[name]}={versions[name]}" for name in conda),
        "  - pip:",
        *(f"      - {name}=={versions[name]}" for name in versions if name not in conda),
    ]
    return "\n".join(lines) + "\n"


def environments(lock: dict[str, str]) -> dict[str, str]:
    """Return the text of every file `envs/*.yaml` by its name."""
    return {
        "cpu.yaml": environment(lock, FROM_CONDA),
        "gpu.yaml": environment(lock, {}),  # pip's torch brings its CUDA libraries
    }


if __name__ == "__main__":
    if sys.argv[1:] != ["--environments"]:
        for name, text in freeze().items():
            (ROOT / name).write_text(text)
    for name, text in environments(read_lock(ROOT / "requirements.lock")).items():
        (ROOT / "envs" / name).write_text(text)
