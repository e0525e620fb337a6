"""Locks on a folder that end with their process, unlike Snakemake's own.

Snakemake marks the files of a run in `.snakemake/locks`, and a run that is killed leaves its marks
there; they do not say whether it still lives. So every run and every job also holds a lock of the
operating system on `.snakemake/at_work`, which ends with the process however it ends. A process
that gets this lock for itself alone knows that all others are gone, and may clear up after them.
A job has it from its first moment, before Python starts: the shell that starts it takes it, if the
system has the command `flock`. Otherwise its script takes it once it has imported all it needs.

`make reproduce` holds a second lock, `.snakemake/reproduce`, from its start to its end, which no
other process can hold at the same time: Snakemake's marks come late, and go with any run that ends.

Where the system's locks do not reach other machines, the marks of a run elsewhere count until they
are removed. Jobs that wait in a queue hold no lock yet: Slurm is asked for those of this folder.

Reading the workflow takes no lock and removes nothing. The command below removes the marks of a run
that is gone, and a run that starts removes the temporary files of runs that are gone.

Usage: python -m vwta.workflow.lock [COMMAND ARGUMENT ...]

Ends with a message if a run is at work in this folder. Otherwise clears up, holds the lock and
becomes the command.
"""

from __future__ import annotations

__all__ = [
    "IN_SHELL",
    "at_work",
    "attend",
    "begin",
    "hold",
    "queued",
    "remove_marks",
    "remove_temporaries",
]

import contextlib
import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TextIO

STATE = Path(".snakemake")
# What a job's shell does first: Snakemake's own default, and the shared lock if it can be had.
IN_SHELL = (
    f"set -euo pipefail; if exec 9>>{STATE}/at_work; then flock -s 9 || true; fi 2>/dev/null; "
)
TEMPORARY = re.compile(r"\..+\.\d+\.tmp")  # see atomic and atomic_folder of vwta.io.storage

held: list[TextIO] = []  # until the process ends


def begin(results: Path) -> None:
    """Takes part in the work of this folder as a run that Snakemake has let in.

    If nobody else does, temporary files are removed first. Those of a run on another machine stay
    while its marks do, as the system's locks may not reach that machine.

    Arguments:
        results: folder of the files that may be left under temporary names.
    """
    _take_part(partial(_begin_alone, results=results))


def attend() -> None:
    """Takes part in the work of this folder as a job, which may outlive its run."""
    _take_part()


def remove_marks() -> None:
    """Removes the marks of runs of the workflow that are gone; those of another machine stay."""
    with contextlib.suppress(OSError), _open("at_work") as file:
        if _alone(file) and _is_of_this_machine(file):
            shutil.rmtree(STATE / "locks", ignore_errors=True)


def remove_temporaries(results: Path) -> None:
    """Removes files and folders that runs of the workflow left under temporary names."""
    for folder, folders, files in os.walk(results):
        for name in filter(TEMPORARY.fullmatch, files):
            Path(folder, name).unlink(missing_ok=True)
        for name in filter(TEMPORARY.fullmatch, list(folders)):
            shutil.rmtree(Path(folder, name), ignore_errors=True)
            folders.remove(name)


def at_work() -> str | None:
    """Who holds the lock of this folder or works in it, in words; None if nobody, or unknown.

    A dry run does not count: it marks no files and holds no lock. The marks of another machine
    count, as the system's locks may not tell whether its run is gone.
    """
    with contextlib.suppress(OSError), _open("reproduce") as file:
        if not _alone(file):
            return _said(file) or "another process"
    with contextlib.suppress(OSError), _open("at_work") as file:
        if _marks() and not (_alone(file) and _is_of_this_machine(file)):
            return _said(file) or "another process"
    if jobs := queued():
        return f"in the queue of Slurm: {', '.join(jobs)}"
    return None


def queued() -> list[str]:
    """Submissions of the workflow from this folder that Slurm still has; none without Slurm.

    Snakemake's plugin, and our script for other schedulers, comment them `rule_...`.
    """
    states = "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"
    command = ["squeue", "--me", "--noheader", states, "--format=%i|%k|%Z"]  # id, comment, place
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
        parts = [line.split("|", 2) for line in said.splitlines() if line.count("|") >= 2]
        ours = ("rule_", str(Path.cwd()))
        return [job for job, comment, place in parts if (comment[:5], place) == ours]
    return []


def hold() -> None:
    """Holds the lock of `make reproduce` until the process ends, whatever it becomes.

    Raises :class:`BlockingIOError` if another process holds it. On a disk without locks every
    process holds it.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_open("reproduce"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _sign(file)
        except BlockingIOError:
            raise
        except OSError:
            return
        os.set_inheritable(file.fileno(), True)
        held.append(file)
        stack.pop_all()


def _take_part(first: Callable[[TextIO], None] = lambda file: None) -> None:
    """Holds the shared lock until the process ends, after something was done with its file."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:  # some disks know no locks
        file = stack.enter_context(_open("at_work"))
        with contextlib.suppress(OSError):
            first(file)
        fcntl.flock(file, fcntl.LOCK_SH)
        held.append(file)
        stack.pop_all()


def _begin_alone(file: TextIO, results: Path) -> None:
    """Removes temporary files and signs, if no other run or job is at work."""
    others = _marks() > 1  # beside this run's own
    if _alone(file) and (_is_of_this_machine(file) or not others):
        remove_temporaries(results)
        _sign(file)


def _marks() -> int:
    """How many runs have marked the files that they make."""
    return len(list(STATE.glob("locks/*.output.lock")))


def _sign(file: TextIO) -> None:
    """Writes who holds a lock."""
    file.truncate(0)
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    file.write(f"{socket.gethostname()} process {os.getpid()} since {now}\n")
    file.flush()


def _open(name: str) -> TextIO:
    STATE.mkdir(exist_ok=True)
    return (STATE / name).open("a+")


def _alone(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _said(file: TextIO) -> str:
    file.seek(0)
    return file.read().strip()


def _is_of_this_machine(file: TextIO) -> bool:
    """Whether this machine signed last, or none has."""
    return _said(file).partition(" ")[0] in ("", socket.gethostname())


def main(command: list[str]) -> None:
    """Becomes a command that holds the lock; ends with a message if another process does."""
    who = at_work()
    try:
        if command and not who:
            hold()
    except BlockingIOError:
        who = at_work() or "another process"
    if who:
        sys.exit(
            f"A run is at work in this folder ({who}), or a job that it left behind. Nothing was "
            "started. Remedy: wait until it ends, or stop it (what waits in a queue: scancel and "
            "its number); it continues from where it was. If "
            f"its machine no longer runs it: rm -r {STATE}/locks {STATE}/at_work {STATE}/reproduce"
        )
    if command:
        remove_marks()
        os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
