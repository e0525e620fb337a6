"""A disk that is full: it is named, what was done stays, and the run goes on when there is room."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from disturbed import Tree

TARGETS = ("synthetic", "results/smoke/uci/metrics/evaluation.parquet")


def mount(folder: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted: {done.stderr.strip()}")


@pytest.fixture
def small(tree: Tree) -> Iterator[Tree]:
    """Results go to a disk of a given size."""
    disk = tree.folder / "results"
    disk.mkdir()
    mount(disk, "size=100k")
    yield tree
    subprocess.run(["umount", str(disk)], check=True)


def test_run_goes_on_when_there_is_room(
    small: Tree, tmp_path: Path, copy_repository: Callable[[Path], Path]
) -> None:
    """The disk grows step by step, so that it is full in one stage after the other."""
    messages = 0
    kept: dict[str, str] = {}
    for size in (100, 200, 300, 400, 600, 800, 1200, 1600, 20000):  # kB
        mount(small.folder / "results", f"remount,size={size}k")
        status = small.start(*TARGETS).wait()
        found = small.content()
        assert kept.items() <= found.items()  # nothing that was done is lost
        kept = {name: content for name, content in found.items() if "unfinished" not in name}
        if status == 0:
            break
        said = small.output()
        assert "No space left on device" in said
        messages += "Remedy: free some space" in said
    assert status == 0, small.output()
    assert messages >= 3
    assert small.left_behind() == []
    other = Tree(copy_repository(tmp_path / "other"))
    other.finish(*TARGETS)
    assert small.content() == other.content()
