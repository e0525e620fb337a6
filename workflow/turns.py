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
from pathlib import Path
from typing import TextIO

__all__ = ["at_work", "attend", "begin", "clear_up"]

STATE = Path(".snakemake")
LEFT = re.compile(r"\..+\.\d+\.tmp")  # see vwta.storage.atomic, vwta.data.folders.atomic_folder

held: list[TextIO] = []  # until the process ends


def begin(results: Path) -> None:
    """Takes part in the work of this folder; if nobody else does, clears up first.

    Arguments:
        results: where files under temporary names may be left.
    """
    with contextlib.suppress(OSError):  # some network disks know no locks: all stays as it is
        file = _open()
        if _alone(file):
            if _host(file) in ("", socket.gethostname()):  # locks may not reach other machines
                clear_up(results)
            file.seek(0)
            file.truncate()
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            file.write(f"{socket.gethostname()} process {os.getpid()} since {now}\n")
            file.flush()
        fcntl.flock(file, fcntl.LOCK_SH)
        held.append(file)


def attend() -> None:
    """Takes part in the work of this folder, as a job that may outlive its run."""
    with contextlib.suppress(OSError):
        file = _open()
        fcntl.flock(file, fcntl.LOCK_SH)
        held.append(file)


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
