"""Who works in a folder: what killed runs leave goes, what is in use stays."""

import fcntl
import importlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from types import ModuleType
from typing import Any

import pytest

LOCK = Path(".snakemake/locks/0.output.lock")
KEPT = ["smoke/.unfinished/abc/seed1.checkpoint", "smoke/tables/a.tmp", "smoke/.b.tmp"]
LEFT = ["smoke/.a.parquet.123.tmp", "smoke/audio/.ov1.77.tmp/scene.wav"]


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module, in a folder that a killed run left."""
    module = importlib.import_module("vwta.workflow.lock")
    monkeypatch.setattr(module, "held", [])
    monkeypatch.chdir(tmp_path)
    for name in (LOCK, *(Path("results", name) for name in KEPT + LEFT)):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text("something")
    yield module
    for file in module.held:
        file.close()


def mark() -> None:
    """Marks files as Snakemake does, beside the marks that are there."""
    LOCK.parent.mkdir(exist_ok=True)
    number = len(list(LOCK.parent.iterdir()))
    LOCK.with_name(f"{number}.output.lock").write_text("of this run")


def left() -> list[str]:
    return [name for name in LEFT if Path("results", name).exists()]


def test_killed_run_is_cleared_up_after(lock: ModuleType) -> None:
    assert lock.at_work() is None
    lock.remove_marks()
    assert not LOCK.exists()
    assert left() == LEFT
    mark()
    lock.begin(Path("results"))
    assert LOCK.exists(), "the run's own"
    assert left() == []
    assert all(Path("results", name).exists() for name in KEPT)
    assert not Path("results/smoke/audio/.ov1.77.tmp").exists()


@pytest.mark.parametrize("who", ["begin", "attend"])
def test_run_and_job_at_work_are_left_in_peace(lock: ModuleType, who: str) -> None:
    lock.begin(Path("results")) if who == "begin" else lock.attend()
    mark()
    Path("results", LEFT[0]).write_text("half")
    assert lock.at_work()
    lock.remove_marks()
    lock.begin(Path("results"))
    assert LOCK.exists()
    assert LEFT[0] in left()
    for file in lock.held:
        file.close()
    assert lock.at_work() is None
    lock.remove_marks()
    assert not LOCK.exists()


def test_who_is_at_work_is_named(lock: ModuleType) -> None:
    lock.remove_marks()
    lock.begin(Path("results"))
    assert lock.at_work() is None  # a dry run marks no files
    mark()
    said = lock.at_work()
    assert said.startswith(socket.gethostname())
    assert f"process {os.getpid()} since 2" in said


def test_another_machine_s_lock_stays(lock: ModuleType) -> None:
    """The system's locks may not reach it."""
    Path(".snakemake/at_work").write_text("elsewhere process 1 since 2024-07-21 10:00:00\n")
    mark()
    for _ in range(2):
        lock.remove_marks()
        lock.begin(Path("results"))
        assert LOCK.exists()
        assert left() == LEFT


def test_files_of_another_machine_s_run_go_with_its_marks(lock: ModuleType) -> None:
    """Such as after `snakemake --unlock`."""
    Path(".snakemake/at_work").write_text("elsewhere process 1 since 2024-07-21 10:00:00\n")
    shutil.rmtree(LOCK.parent)
    mark()
    lock.begin(Path("results"))
    assert left() == []
    assert Path(".snakemake/at_work").read_text().startswith(socket.gethostname())


def test_another_machine_s_mark_is_named(lock: ModuleType) -> None:
    Path(".snakemake/at_work").write_text("elsewhere process 1 since 2024-07-21 10:00:00\n")
    assert lock.at_work() == "elsewhere process 1 since 2024-07-21 10:00:00"


def test_lock_is_held_even_if_clearing_up_fails(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(results: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lock, "remove_temporaries", forbidden)
    lock.begin(Path("results"))
    assert len(lock.held) == 1
    assert lock.at_work()


def test_jobs_in_slurm_s_queue_are_named(
    lock: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of this folder that belong to the workflow; without an answer there are none."""
    here, program = Path.cwd(), tmp_path / "bin/squeue"
    program.parent.mkdir()
    lines = [
        f"17|rule_uci|{here}",
        f"18|mine|{here}",
        f"19|rule_uci|{here}/a",
        f"21_3|rule_a|{here}",
    ]
    answers = {"\n".join(lines): ["17", "21_3"], "": [], "squeue: error|x|y|z": []}
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for text, jobs in answers.items():
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        program.chmod(0o755)
        assert lock.queued() == jobs
        assert lock.at_work() == ("in the queue of Slurm: 17, 21_3" if jobs else None)
    program.write_text(f"#!/bin/sh\necho '{lines[0]}'\n")
    with pytest.raises(SystemExit, match=r"in the queue of Slurm: 17\).*scancel"):
        lock.main(["true"])


@pytest.mark.skipif(not shutil.which("flock"), reason="there is no command flock")
def test_a_job_is_at_work_from_its_first_moment(lock: ModuleType) -> None:
    """Before it has imported anything: what its shell starts has the lock."""
    waiting = f"{lock.IN_SHELL} read line; exit 3"
    with subprocess.Popen(["bash", "-c", waiting], stdin=PIPE, text=True) as job:
        deadline = time.monotonic() + 60
        while not lock.at_work() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert lock.at_work() == "another process"
        job.communicate("go on\n")
    assert job.returncode == 3
    assert lock.at_work() is None


def test_a_shell_goes_on_without_the_lock(lock: ModuleType) -> None:
    """Where there is no folder for it, no such command, or no locks."""
    shutil.rmtree(".snakemake")
    for path in (os.environ["PATH"], ""):
        command = [
            shutil.which("bash") or "bash",
            "-c",
            f"{lock.IN_SHELL} echo on; false; echo off",
        ]
        done = subprocess.run(
            command, env={"PATH": path}, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (1, "on\n", ""), "false ends it"


def test_one_command_at_a_time(lock: ModuleType) -> None:
    """From the start to the end of a command, whatever marks there are."""
    line = [sys.executable, "-m", "vwta.workflow.lock", sys.executable, "-c"]
    waiting = "import sys; print('on', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [*line, waiting], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stderr is not None
        assert first.stdout.readline() == "on\n", first.stderr.read()
        assert not LOCK.exists(), "a stale mark goes before the command begins"
        second = subprocess.run(
            [*line, "print('too')"], capture_output=True, text=True, check=False
        )
        assert second.returncode == 1
        assert second.stdout == ""
        assert f"process {first.pid} since" in second.stderr
        assert "Remedy: wait until it ends" in second.stderr
        with pytest.raises(BlockingIOError):
            lock.hold()
        first.communicate("")
    done = subprocess.run([*line, "raise SystemExit(3)"], capture_output=True, check=False)
    assert done.returncode == 3


def test_disk_without_locks(lock: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*arguments: Any) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    lock.begin(Path("results"))
    lock.attend()
    lock.hold()
    lock.remove_marks()
    assert lock.at_work() is None
    assert LOCK.exists()
    assert left() == LEFT
    monkeypatch.setattr(lock, "STATE", Path("results/smoke/tables/a.tmp"))  # cannot be a folder
    lock.begin(Path("results"))
    assert lock.held == []
