"""Loaders for tests: programs that belong to no package, and the sources of a copy."""

import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

from warm import python

ROOT = Path(__file__).resolve().parents[1]


def load_module(path: Path | str) -> ModuleType:
    """A new module of a file, whose path is below the repository if it is not absolute."""
    path = ROOT / path
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def environment(tree: Path, **variables: str) -> dict[str, str]:
    """Variables for a process that imports vwta from a copy of the repository."""
    return {**os.environ, "PYTHONPATH": str(tree / "src"), **variables}


def snakemake(tree: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs Snakemake in a copy of the repository; `stdout` has all that it says."""
    return subprocess.run(
        [*python(), "-m", "snakemake", *arguments],
        cwd=tree,
        env=environment(tree, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def hosted(tree: Path, place: Path) -> dict[str, str]:
    """Makes a repository of a tree; gives variables with which git finds it at a host's address.

    Arguments:
        tree: a copy of the repository; it is only read.
        place: an empty folder. The repository is someone/wta in it, and has the tag v1.
    """
    repository = place / "someone/wta"
    repository.mkdir(parents=True)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    git += ["--git-dir", str(repository), "--work-tree", str(tree)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"], ["tag", "v1"]):
        subprocess.run([*git, *command], cwd=tree, check=True)
    variables = {"XDG_CACHE_HOME": str(place / "cache"), "GIT_CONFIG_COUNT": "2"}
    for number, host in enumerate(("github.com", "gitlab.com")):
        variables[f"GIT_CONFIG_KEY_{number}"] = f"url.{place.as_uri()}/.insteadOf"
        variables[f"GIT_CONFIG_VALUE_{number}"] = f"https://{host}/"
    return variables
