"""Who works in a folder: what killed runs leave goes, what is in use stays."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from types import ModuleType
from typing import Any

import pytest
from loading import ROOT, load_module

LOCK = Path(".snakemake/locks/0.output.lock")
KEPT = ["smoke/.unfinished/abc/seed1.checkpoint", "smoke/tables/a.tmp", "smoke/.b.tmp"]
LEFT = ["smoke/.a.parquet.123.tmp", "smoke/audio/.ov1.77.tmp/scene.wav"]


@pytest.fixture
def turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module, in a folder that a killed run left."""
    module = load_module("workflow/turns.py")
    monkeypatch.chdir(tmp_path)
    for name in (LOCK, *(Path("results", name) for name in KEPT + LEFT)):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text("something")
    yield module
    for file in module.held:
        file.close()


def left() -> list[str]:
    return [name for name in LEFT if Path("results", name).exists()]


def test_killed_run_is_cleared_up_after(turns: ModuleType) -> None:
    assert turns.at_work() is None
    turns.begin(Path("results"))
    assert not LOCK.exists()
    assert left() == []
    assert all(Path("results", name).exists() for name in KEPT)
    assert not Path("results/smoke/audio/.ov1.77.tmp").exists()


@pytest.mark.parametrize("who", ["begin", "attend"])
def test_run_and_job_at_work_are_left_in_peace(turns: ModuleType, who: str) -> None:
    turns.begin(Path("results")) if who == "begin" else turns.attend()
    LOCK.parent.mkdir(exist_ok=True)
    LOCK.write_text("of this run")
    Path("results", LEFT[0]).write_text("half")
    assert turns.at_work()
    turns.begin(Path("results"))
    assert LOCK.exists()
    assert LEFT[0] in left()
    for file in turns.held:
        file.close()
    assert turns.at_work() is None
    turns.begin(Path("results"))
    assert not LOCK.exists()


def test_who_is_at_work_is_named(turns: ModuleType) -> None:
    turns.begin(Path("results"))
    assert turns.at_work() is None  # a dry run marks no files
    LOCK.parent.mkdir(exist_ok=True)
    LOCK.write_text("of this run")
    said = turns.at_work()
    assert said.startswith(turns.socket.gethostname())
    assert f"process {turns.os.getpid()} since 2" in said


def test_another_machine_s_lock_stays(turns: ModuleType) -> None:
    """The system's locks may not reach it."""
    Path(".snakemake/at_work").write_text("elsewhere process 1 since 2024-07-21 10:00:00\n")
    for _ in range(2):
        turns.begin(Path("results"))
        assert LOCK.exists()
        assert left() == LEFT


def test_another_machine_s_mark_is_named(turns: ModuleType) -> None:
    Path(".snakemake/at_work").write_text("elsewhere process 1 since 2024-07-21 10:00:00\n")
    assert turns.at_work() == "elsewhere process 1 since 2024-07-21 10:00:00"


def test_lock_is_held_even_if_clearing_up_fails(
    turns: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(results: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(turns, "clear_up", forbidden)
    turns.begin(Path("results"))
    assert len(turns.held) == 1
    assert turns.at_work()


def test_one_turn_at_a_time(turns: ModuleType) -> None:
    """From the start to the end of a command, whatever marks there are."""
    shutil.rmtree(LOCK.parent)
    line = [sys.executable, str(ROOT / "workflow/turns.py"), sys.executable, "-c"]
    waiting = "import sys; print('on', flush=True); sys.stdin.read()"
    with subprocess.Popen([*line, waiting], stdin=PIPE, stdout=PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "on\n"
        second = subprocess.run(
            [*line, "print('too')"], capture_output=True, text=True, check=False
        )
        assert second.returncode == 1
        assert second.stdout == ""
        assert f"process {first.pid} since" in second.stderr
        assert "Remedy: wait until it ends" in second.stderr
        with pytest.raises(BlockingIOError):
            turns.take_turn()
        first.communicate("")
    done = subprocess.run([*line, "raise SystemExit(3)"], capture_output=True, check=False)
    assert done.returncode == 3


def test_disk_without_locks(turns: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*arguments: Any) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    turns.begin(Path("results"))
    turns.attend()
    turns.take_turn()
    assert turns.at_work() is None
    assert LOCK.exists()
    monkeypatch.setattr(turns, "STATE", Path("results/smoke/tables/a.tmp"))  # cannot be a folder
    turns.begin(Path("results"))
    assert turns.held == []
