"""Reading the workflow changes nothing: neither files that killed runs left, nor locks."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from loading import environment
from warm import python

STALE = {
    ".snakemake/locks/0.output.lock": "results/smoke/verdicts.parquet\n",
    ".snakemake/at_work": "elsewhere process 1 since 2024-07-21 10:00:00\n",
    "results/smoke/.a.parquet.123.tmp": "half",
    "results/smoke/audio/.ov1.77.tmp/scene.wav": "half",
    "data/.absent/yacht": "status 404\n",
}


def state(tree: Path) -> dict[str, tuple[bytes, int]]:
    """Contents and times of all files, without Snakemake's own log and cache of times."""
    files = (path for path in tree.rglob("*") if path.is_file())
    names = {str(path.relative_to(tree)): path for path in files}
    return {
        name: (path.read_bytes(), path.stat().st_mtime_ns)
        for name, path in names.items()
        if not name.startswith((".snakemake/log/", ".snakemake/iocache/"))
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]) -> Path:
    """A copy of the repository, in which a killed run left files."""
    tree = copy_repository(tmp_path_factory.mktemp("tree"))
    for name, text in STALE.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return tree


@pytest.mark.parametrize("option", ["--dry-run", "--list-rules", "--lint"])
def test_nothing_changes(tree: Path, option: str) -> None:
    before = state(tree)
    assert before.keys() >= STALE.keys()
    done = subprocess.run(
        [*python(), "-m", "snakemake", "--configfile", "config/smoke.yaml", option],
        cwd=tree,
        env=environment(tree, PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert state(tree) == before


def test_every_rule_says_what_it_does(tree: Path) -> None:
    listed = subprocess.run(
        [*python(), "-m", "snakemake", "--list-rules"],
        cwd=tree,
        env=environment(tree, PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in listed.stdout.splitlines() if not line.startswith("Using")]
    assert len(lines) > 40
    assert [line for line in lines if not line.endswith(".)") and ".) " not in line] == []
