"""A disk that is full: it is named, what was done stays, and the run goes on when there is room."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from disturbed import Tree

from vwta.io.errors import NoSpace
from vwta.paper.downloads.fetch import File, Source, fetch
from vwta.paper.downloads.transfer import Policy

TARGETS = ("synthetic", "results/smoke/uci/metrics/evaluation.parquet")


def mount(folder: Path, options: str) -> None:
    if shutil.which("mount") is None:
        pytest.skip("a small disk cannot be mounted: there is no mount")
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
    small: Tree, undisturbed: tuple[dict[str, str], float]
) -> None:
    """The disk grows step by step, so that it is full in one stage after the other."""
    messages = 0
    kept: dict[str, str] = {}
    for size in (100, 300, 600, 1200, 20000):  # kB
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
    wanted, _ = undisturbed
    declared = small.declared(*TARGETS)
    assert small.content() == {name: wanted[name] for name in wanted if name in declared}


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB for downloads, with a file that is there already."""
    disk = tmp_path / "cache"
    disk.mkdir()
    mount(disk, "size=1m")
    (disk / "earlier").write_bytes(b"kept")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("told", [True, False], ids=["size known", "size not known"])
def test_download_goes_on_when_there_is_room(
    cache: Path, website: Any, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the server says in advance that it will not fit, or the disk does on the way."""
    content = bytes(range(256)) * 12_000  # 3 MB
    website.answers["/big"] = [(200, content)]
    file = File(
        "big",
        (Source(f"{website.address}/big"),),
        (f"sha256:{hashlib.sha256(content).hexdigest()}",),
    )
    policy = Policy(attempts=1, sleep=lambda _: None, margin=0)
    if not told:
        monkeypatch.setattr("vwta.paper.downloads.transfer.check_space", lambda *arguments: None)
    with pytest.raises(NoSpace, match="Remedy: free some space"):
        fetch(file, cache, None, policy)
    assert not (cache / "big").exists()
    mount(cache, "remount,size=8m")
    fetch(file, cache, None, policy)
    assert (cache / "big").read_bytes() == content
    assert (cache / "earlier").read_bytes() == b"kept"
