"""Who works in a folder: a lock that a killed run leaves behind goes, one that is in use stays.

Snakemake marks the files of a run in `.snakemake/locks`, and a run that is killed leaves its marks
there. Whether it still lives they do not say. So every run, and every job, also holds a lock of the
operating system on `.snakemake/at_work`, which ends with the process however it ends. Who gets it
for itself alone knows that all others are gone, and may clear up after them.

Usage: python workflow/turns.py   (ends with a message if a run is at work in this folder)
"""

import contextlib
import fcntl
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TextIO

__all__ = ["at_work", "attend", "begin", "clear_up"]

STATE = Path(".snakemake")
LEFT = re.compile(r"\..+\.\d+\.tmp")  # see vwta.storage.atomic, vwta.data.folders.atomic_folder

held: list[TextIO] = []  # until the process ends


def begin(results: Path) -> None:
    """Takes part in the work of this folder; if nobody else does, clears up first.

    What a run on another machine left stays, as the system's locks may not reach that machine.

    Arguments:
        results: where files under temporary names may be left.
    """
    _take_part(partial(_clear_if_alone, results=results))


def attend() -> None:
    """Takes part in the work of this folder, as a job that may outlive its run."""
    _take_part()


def clear_up(results: Path) -> None:
    """Removes the marks of runs that are gone, and files they left under temporary names."""
    shutil.rmtree(STATE / "locks", ignore_errors=True)
    for folder, folders, files in os.walk(results):
        for name in filter(LEFT.fullmatch, files):
            Path(folder, name).unlink(missing_ok=True)
        for name in filter(LEFT.fullmatch, list(folders)):
            shutil.rmtree(Path(folder, name), ignore_errors=True)
            folders.remove(name)


def at_work() -> str | None:
    """Who works in this folder, in words; None if nobody does, or nobody can tell.

    A dry run does not count: it marks no files.
    """
    with contextlib.suppress(OSError), _open() as file:
        if any(STATE.glob("locks/*.lock")) and not _alone(file):
            file.seek(0)
            return file.read().strip() or "another process"
    return None


def _take_part(first: Callable[[TextIO], None] = lambda file: None) -> None:
    """Holds the lock until the process ends, after something was done with its file."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:  # some disks know no locks
        file = stack.enter_context(_open())
        first(file)
        fcntl.flock(file, fcntl.LOCK_SH)
        held.append(file)
        stack.pop_all()


def _clear_if_alone(file: TextIO, results: Path) -> None:
    marked = any(STATE.glob("locks/*.lock"))
    if _alone(file) and not (marked and _host(file) not in ("", socket.gethostname())):
        clear_up(results)
        file.truncate(0)
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        file.write(f"{socket.gethostname()} process {os.getpid()} since {now}\n")
        file.flush()


def _open() -> TextIO:
    STATE.mkdir(exist_ok=True)
    return (STATE / "at_work").open("a+")


def _alone(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _host(file: TextIO) -> str:
    """Machine of the last run that cleared up."""
    file.seek(0)
    return file.read().partition(" ")[0]


if __name__ == "__main__":
    if who := at_work():
        sys.exit(
            f"A run is at work in this folder ({who}), or a job that it left behind. Nothing was "
            "started. Remedy: wait until it ends, or stop it; it goes on from where it was."
        )
