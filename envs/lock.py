"""Write requirements*.lock from a fresh environment, and the conda environments from them.

Usage: python envs/lock.py [--hashes | --environments | --extra NAME]

With --hashes the versions stay, and only the hashes of their files are asked for again; with
--environments only the conda environments are written; with --extra only the lock of an extra is,
and all other versions stay. Hashes come from uv, which asks PyPI, or the index that
UV_DEFAULT_INDEX names.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

HEADER = """\
# Exact versions of everything that the project, its pipeline and its tests need.
# Made by `make lock` from pyproject.toml; do not edit.
# The hashes are those of all files of a version, for all systems; a CPU build of torch has one of
# its own. Torch's CUDA packages are left out: only some of its builds need them, each of which
# names them by exact version.
"""

CLUSTER_HEADER = """\
# What clusters need besides requirements.lock; `make cluster` installs it.
# Made by `make lock` from pyproject.toml; do not edit.
"""

DOCS_HEADER = """\
# What the site of the documentation needs besides requirements.lock; `make docs` installs it.
# Made by `make lock` from pyproject.toml; do not edit.
"""

CLOUD_HEADER = """\
# What clouds need besides the locks for all and for clusters; `make cloud` installs it.
# Made by `make lock` from pyproject.toml; do not edit.
"""

BENCH_HEADER = """\
# What `make bench` compares with besides requirements.lock; it installs this.
# Made by `make lock` from pyproject.toml; do not edit.
"""

# Locks that add an extra to requirements.lock.
ADDED = {
    "cluster": CLUSTER_HEADER,
    "cloud": CLOUD_HEADER,
    "docs": DOCS_HEADER,
    "bench": BENCH_HEADER,
}
EXTRAS = "sklearn,plot,paper,opencv,rivals,workflow,dev"

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
        main = known = installed(folder, EXTRAS)
        added = {}
        for extra in ADDED:
            more = installed(folder, f"{EXTRAS},{extra}")
            added[extra] = [pin for pin in more if pin not in known]
            if len(more) != len(known) + len(added[extra]):
                sys.exit(f"{extra} wants other versions than the rest: {' '.join(added[extra])}")
            known = more
    return with_hashes(main, added)


def with_hashes(main: list[str], added: dict[str, list[str]]) -> dict[str, str]:
    """Return the locks by file: pins, and the hashes of their files."""
    with fresh_uv() as uv:
        found = hashes([*main, *(pin for pins in added.values() for pin in pins)], uv)
    found[TORCH].add(hash_of_torch([sys.executable, "-I", "-m", "pip"]))
    locks = {
        f"requirements-{extra}.lock": ADDED[extra] + lines(pins, found)
        for extra, pins in added.items()
    }
    return {"requirements.lock": HEADER + lines(main, found), **locks}


def extended(extra: str) -> dict[str, str]:
    """Return the lock of an extra by file; what the locks before it pin stays."""
    before = [*ADDED][: [*ADDED].index(extra)]
    locks = ["requirements.lock", *(f"requirements-{name}.lock" for name in before)]
    kept = [pin for lock in locks for pin in read_pins(ROOT / lock)]
    names = {canonicalize_name(split(pin)[0]) for pin in kept}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = "\n".join(project["optional-dependencies"][extra])
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints, fresh_uv() as uv:
        constraints.write("\n".join(kept))
        constraints.flush()
        told = compiled(uv, asked, "--constraints", constraints.name)
        pins = clean([line.split()[0] for line in whole_lines(told)])
        pins = [pin for pin in pins if canonicalize_name(split(pin)[0]) not in names]
        found = hashes(pins, uv)
    return {f"requirements-{extra}.lock": ADDED[extra] + lines(pins, found)}


def lines(pins: list[str], found: dict[str, set[str]]) -> str:
    """Return the text of a lock: pins, each with its hashes."""
    return "".join(
        " \\\n    ".join([pin, *(f"--hash={one}" for one in sorted(found[pin]))]) + "\n"
        for pin in pins
    )


@contextmanager
def fresh_uv() -> Iterator[list[str]]:
    """Give the command for uv, in an environment of its own for a while."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = [f"{folder}/bin/python", "-I", "-m"]
        subprocess.run([*python, "pip", "install", "-qq", "uv"], check=True)
        yield [*python, "uv"]


def compiled(uv: list[str], asked: str, *options: str) -> str:
    """Return the pins that uv finds for some requirements."""
    command = [*uv, "pip", "compile", "--quiet", "--no-annotate", "--no-header", *options, "-"]
    done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def hashes(pins: list[str], uv: list[str]) -> dict[str, set[str]]:
    """Return the hashes of all files of each pinned version, for all systems."""
    told = compiled(uv, "\n".join(pins), "--no-deps", "--generate-hashes")
    names = {(canonicalize_name(name), version): set() for name, version in map(split, pins)}
    found: dict[tuple[str, str], set[str]] = names
    for line in whole_lines(told):
        pin, *options = line.split()
        found[canonicalize_name(split(pin)[0]), split(pin)[1]] = {
            option.removeprefix("--hash=") for option in options
        }
    return {pin: found[canonicalize_name(split(pin)[0]), split(pin)[1]] for pin in pins}


def hash_of_torch(pip: list[str]) -> str:
    """Return the hash of the file of torch that pip takes here, perhaps a CPU build."""
    command = [*pip, "install", "-qq", "--dry-run", "--ignore-installed", "--no-deps"]
    told = subprocess.run(
        [*command, "--report", "-", TORCH], check=True, capture_output=True, text=True
    )
    (item,) = json.loads(told.stdout)["install"]
    url = item["download_info"]["url"]
    known = item["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
    if known is None:
        with open(unquote(urlsplit(url).path), "rb") as file:
            known = hashlib.file_digest(file, "sha256").hexdigest()
    return f"sha256:{known}"


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


def read_pins(path: Path) -> list[str]:
    """Return the pins of a lock, without their hashes."""
    return [line.split()[0] for line in whole_lines(path.read_text())]


def read_lock(path: Path) -> dict[str, str]:
    """Return the locked versions by canonical name."""
    return {canonicalize_name(name): version for name, version in map(split, read_pins(path))}


def whole_lines(text: str) -> list[str]:
    """Return the lines of a file of requirements: without comments, and those that go on joined."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def split(pin: str) -> tuple[str, str]:
    """Return name and version of a pin."""
    name, _, version = pin.partition("==")
    return name, version


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
    waiting = declared("paper", "opencv", "rivals")
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


def locks(arguments: list[str]) -> dict[str, str]:
    """Return the locks to write, by file."""
    if arguments == ["--environments"]:
        return {}
    if arguments == ["--hashes"]:
        added = {extra: read_pins(ROOT / f"requirements-{extra}.lock") for extra in ADDED}
        return with_hashes(read_pins(ROOT / "requirements.lock"), added)
    if arguments[:1] == ["--extra"]:
        return extended(*arguments[1:])
    return freeze()


if __name__ == "__main__":
    for name, text in locks(sys.argv[1:]).items():
        (ROOT / name).write_text(text)
    for name, text in environments(read_lock(ROOT / "requirements.lock")).items():
        (ROOT / "envs" / name).write_text(text)
