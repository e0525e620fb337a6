"""The wheel holds the package and nothing else, and works with its base requirements alone."""

import os
import pkgutil
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
import yaml
from loading import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import vwta

README = (ROOT / "README.md").read_text()
BASE = {"numpy", "safetensors", "scipy", "torch"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Distribution:
    (folder,) = [p for p in zipfile.Path(wheel).iterdir() if p.name.endswith(".dist-info")]
    return PathDistribution(folder)


@pytest.fixture(scope="module")
def environment(
    wheel: Path, metadata: Distribution, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A new environment outside the clone, with the wheel and what it requires without extras.

    The requirements are links to those of the running environment: nothing is downloaded.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    for name in needed(metadata.requires or []):
        for place in contents(distribution(name)):
            if not (packages / place.name).exists():
                (packages / place.name).symlink_to(place)
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--no-index"]
    subprocess.run([*pip, "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    return folder


def needed(requirements: Iterable[str]) -> set[str]:
    """Names of what some requirements ask for without extras, and of what that needs in turn."""
    names: set[str] = set()
    waiting = [Requirement(line) for line in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        asked = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if asked and name not in names:
            names.add(name)
            waiting += map(Requirement, distribution(name).requires or [])
    return names


def contents(package: Distribution) -> set[Path]:
    """Files and folders that a package put into its environment's folder of packages."""
    tops = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
    return {Path(str(package.locate_file(top))) for top in tops if not top.endswith(".pth")}


def run(environment: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the Python of an environment in a folder, shielded from the caller's own packages."""
    command = [str(environment / "bin/python"), "-I", *arguments]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


def test_wheel_holds_the_package_alone(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {path for path in (ROOT / "src").rglob("*") if path.is_file()}
    source = {str(path.relative_to(ROOT / "src")) for path in files if path.suffix != ".pyc"}
    assert names == source
    assert {"vwta/py.typed", "vwta/paper/page/assets/page.html"} <= names
    assert {name.split("/")[0] for name in names} == {"vwta"}


def test_base_requirements(metadata: Distribution) -> None:
    lines = [Requirement(line) for line in metadata.requires or []]
    assert {line.name for line in lines if line.marker is None} == BASE
    extras = set(metadata.metadata.get_all("Provides-Extra") or [])
    assert extras >= {"sklearn", "paper", "workflow", "cluster", "dev"}


def test_version_stands_in_one_place(metadata: Distribution) -> None:
    assert metadata.version == vwta.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(citation["version"]) == vwta.__version__


def test_extras_are_not_there(environment: Path, tmp_path: Path) -> None:
    for name in ("pandas", "matplotlib", "snakemake"):
        assert "ModuleNotFoundError" in run(environment, tmp_path, "-c", f"import {name}").stderr


def test_page_about_networks(environment: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs/networks.md").read_text()
    (tmp_path / "example.py").write_text(
        "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    )
    done = run(environment, tmp_path, "example.py")
    assert done.returncode == 0, done.stderr


def test_everything_offered_is_there(environment: Path, tmp_path: Path) -> None:
    names = set(vwta.__all__) - {"VoronoiRegressor", "load", "plot"}
    lines = ["import vwta", *(f"vwta.{name}" for name in names)]
    done = run(environment, tmp_path, "-c", "\n".join(lines))
    assert done.returncode == 0, done.stderr
    done = run(environment, tmp_path, "-c", "import vwta; vwta.load")
    assert (
        "VoronoiRegressor needs the package sklearn. Remedy: pip install 'vwta[skl" in done.stderr
    )
    done = run(environment, tmp_path, "-c", "import vwta; vwta.plot")
    assert "vwta.plot needs the package matplotlib. Remedy: pip install 'vwta[plot]'" in done.stderr


def test_version_is_recorded_where_there_is_no_git(environment: Path, tmp_path: Path) -> None:
    line = "from vwta.io.provenance import provenance; print(provenance()['revision'])"
    done = run(environment, tmp_path, "-c", line)
    assert done.stdout == f"v{vwta.__version__}\n", done.stderr


def test_command_says_what_is_missing(environment: Path, tmp_path: Path) -> None:
    done = run(environment, tmp_path, "-m", "vwta", "--help")
    assert done.returncode == 0, done.stderr
    assert "verdicts" in done.stdout
    done = run(environment, tmp_path, "-m", "vwta", "verdicts")
    assert done.returncode == 1
    assert "Remedy: run this command in a clone of the repository" in done.stderr
    done = run(environment, tmp_path, "-m", "vwta", "verdicts", str(ROOT / "docs/results"))
    assert done.returncode == 1
    assert "Remedy: pip install 'vwta[paper]'" in done.stderr
    done = run(environment, tmp_path, "-m", "vwta", "fit", "houses.csv", "--target", "price")
    assert done.returncode == 1
    assert "Remedy: pip install 'vwta[sklearn]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_import_is_lazy(environment: Path, tmp_path: Path) -> None:
    lines = "import vwta, sys; sys.exit(' '.join(sys.modules.keys() & {'numpy', 'torch'}) or 0)"
    done = run(environment, tmp_path, "-c", lines)
    assert done.returncode == 0, done.stderr


def test_names_of_the_readme() -> None:
    imported = re.findall(r"from vwta import ([\w, ]+)", README)
    names = {name.strip() for line in imported for name in line.split(",")}
    assert names <= set(vwta.__all__)
    for name in re.findall(r"`(vwta(?:\.\w+)+)", README):
        assert pkgutil.resolve_name(name)


def test_types_know_every_name() -> None:
    source = (ROOT / "src/vwta/__init__.py").read_text()
    assert sorted(re.findall(r" as (\w+)$", source, re.MULTILINE)) == vwta.__all__


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        vwta.nothing  # noqa: B018
    assert dir(vwta) == vwta.__all__
