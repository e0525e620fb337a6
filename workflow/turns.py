"""Who works in a folder: a lock that a killed run leaves behind goes, one that is in use stays.

Snakemake marks the files of a run in `.snakemake/locks`, and a run that is killed leaves its marks
there. Whether it still lives they do not say. So every run, and every job, also holds a lock of the
operating system on `.snakemake/at_work`, which ends with the process however it ends. Who gets it
for itself alone knows that all others are gone, and may clear up after them.

`make reproduce` holds a second lock, `.snakemake/turn`, from its start to its end, which no other
can hold at the same time: Snakemake's marks come late, and go with any run that ends.

Usage: python workflow/turns.py [COMMAND ARGUMENT ...]

Ends with a message if a run is at work in this folder; else holds the turn and becomes the command.
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

__all__ = ["at_work", "attend", "begin", "clear_up", "take_turn"]

STATE = Path(".snakemake")
LEFT = re.compile(r"\..+\.\d+\.tmp")  # see vwta.io.storage.atomic, vwta.io.storage.atomic_folder

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

    A dry run does not count: it marks no files and has no turn. What another machine has marked
    counts, as the system's locks may not tell whether it is gone.
    """
    with contextlib.suppress(OSError), _open("turn") as file:
        if not _alone(file):
            return _said(file) or "another process"
    with contextlib.suppress(OSError), _open("at_work") as file:
        marked = any(STATE.glob("locks/*.lock"))
        if marked and not (_alone(file) and _is_of_this_machine(file)):
            return _said(file) or "another process"
    return None


def take_turn() -> None:
    """Holds the turn until the process ends, whatever it becomes; :class:`BlockingIOError` if not.

    A disk that knows no locks gives every one a turn.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_open("turn"))
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
    """Holds the lock until the process ends, after something was done with its file."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:  # some disks know no locks
        file = stack.enter_context(_open("at_work"))
        with contextlib.suppress(OSError):
            first(file)
        fcntl.flock(file, fcntl.LOCK_SH)
        held.append(file)
        stack.pop_all()


def _clear_if_alone(file: TextIO, results: Path) -> None:
    marked = any(STATE.glob("locks/*.lock"))
    if _alone(file) and (_is_of_this_machine(file) or not marked):
        clear_up(results)
        _sign(file)


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
    """Becomes a command that has the turn; ends with a message if another has it."""
    who = at_work()
    try:
        if command and not who:
            take_turn()
    except BlockingIOError:
        who = at_work() or "another process"
    if who:
        sys.exit(
            f"A run is at work in this folder ({who}), or a job that it left behind. Nothing was "
            "started. Remedy: wait until it ends, or stop it; it goes on from where it was. If its "
            f"machine no longer runs it: rm -r {STATE}/locks {STATE}/at_work {STATE}/turn"
        )
    if command:
        os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
