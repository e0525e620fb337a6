"""Errors: one message with a remedy if the user can fix the cause, a traceback for a bug.

A message for users is that of a :class:`DataError`, or of any error whose text says `Remedy:`.
Errors of the system, of torch and of damaged files get their remedy here. If the environment
variable `VWTA_DEBUG` is 1, every error shows its traceback.
"""

from __future__ import annotations

__all__ = [
    "DEBUG",
    "DISK_FULL",
    "FREE_SPACE",
    "BadArchive",
    "BadRecording",
    "BadTable",
    "BadWeights",
    "Damaged",
    "DataError",
    "Interrupted",
    "Mismatch",
    "NoSpace",
    "Unavailable",
    "debugging",
    "explain",
    "explained",
    "foreign",
    "is_memory",
    "restored_from",
    "system_number",
]

import errno
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

DEBUG = "VWTA_DEBUG"
DISK_FULL = {errno.ENOSPC, errno.EDQUOT}
NO_ACCESS = {errno.EACCES, errno.EPERM, errno.EROFS}
FREE_SPACE = "Remedy: free some space there and run again; finished work is kept"
PERMISSIONS = "Remedy: check the permissions of this file and its folder, or choose another place"
MEMORY = (
    "Remedy: run fewer jobs at once (--cores), ask for more mem_mb, or lower the batch size or the "
    "number of rows in the configuration"
)
# torch and the C++ library name no type of error for memory that the system does not give.
NO_MEMORY = re.compile(r"can't allocate memory|[Cc]annot allocate memory|std::bad_alloc")
# Libraries in other languages give the system's error number in the text of an error alone.
SYSTEM_NUMBER = re.compile(r"\((?:os error|errno) (\d+)\)|\[errno (\d+)\]", re.IGNORECASE)


class Interrupted(RuntimeError):
    """Error for users: a job was asked to stop, and has saved its work."""


class DataError(RuntimeError):
    """Error for users about data that cannot be used."""


class Unavailable(DataError):
    """Error for users: a file was found at none of its sources."""


class NoSpace(DataError):
    """Error for users: a file does not fit on the disk."""


class Mismatch(DataError):
    """Error for users: the content of a file is not the expected one."""


class BadArchive(DataError):
    """Error for users: an archive is damaged, or unsafe to unpack."""


class BadTable(DataError):
    """Error for users: a table cannot be read as numbers."""


class BadRecording(DataError):
    """Error for users: a recording cannot be read as expected."""


class Damaged(DataError):
    """Error for users: a file that this code wrote is not as it was written.

    Arguments:
        path: the file.
        why: what is wrong with it, in any words.
    """

    def __init__(self, path: Path | str, why: object) -> None:
        self.why = foreign(why)
        remedy = "Remedy: delete it and run again, and it is made again"
        super().__init__(f"{path} is damaged: {self.why}. {remedy}")


class BadWeights(DataError):
    """Error for users: weights do not fit their network."""


def debugging() -> bool:
    """Whether the environment asks for tracebacks in place of messages for users."""
    return os.environ.get(DEBUG, "") not in ("", "0")


@contextmanager
def explained(
    name: str = "",
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    debug: bool | None = None,
) -> Iterator[None]:
    """Ends the program with one message if its body fails for a reason that the user can fix.

    Arguments:
        name: name of the program, put before the message.
        inputs: files that the body reads.
        outputs: files that it writes.
        debug: whether to show every traceback; by default what the environment says.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        shown = debugging() if debug is None else debug
        message = None if shown else explain(error, inputs, outputs)
        if message is None:
            raise
        sys.exit(f"{name}: {message}" if name else message)


def explain(
    error: BaseException, inputs: Iterable[str] = (), outputs: Iterable[str] = ()
) -> str | None:
    """The message for the user, None if the error is a bug.

    Arguments:
        error: the exception.
        inputs: files that were read; a damaged one explains any error.
        outputs: files to be written, for an error that does not name its file.
    """
    text = str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; run again to continue"
    if isinstance(error, DataError | Interrupted) or "Remedy:" in text:
        return text
    if isinstance(error, FloatingPointError):
        return f"{text}. Remedy: change this in the configuration"
    if is_memory(error):
        return f"there is not enough memory{f' ({foreign(text)})' if text else ''}. {MEMORY}"
    number = system_number(error)
    if number in DISK_FULL | NO_ACCESS:
        remedy = FREE_SPACE if number in DISK_FULL else PERMISSIONS
        return f"{_place(error, outputs)}: {os.strerror(number)}. {remedy}"
    return next(filter(None, map(_damage, map(Path, inputs))), None)


def is_memory(error: BaseException) -> bool:
    """Whether an error says that there is not enough memory."""
    typed = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    told = isinstance(error, RuntimeError) and NO_MEMORY.search(str(error)) is not None
    return typed or told or system_number(error) == errno.ENOMEM


def system_number(error: BaseException) -> int:
    """The system's error number, 0 if the error has none."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    found = SYSTEM_NUMBER.search(str(error))
    return int(found[1] or found[2]) if found else 0


def foreign(text: object, longest: int = 300) -> str:
    """Text from elsewhere as it may stand in a message: on one line, escaped and not too long.

    Arguments:
        text: what a server or a file says.
        longest: characters; the rest is left out.

    Example:
        >>> foreign("a\\n\\x1b[2J" + "b" * 9, longest=8)
        'a\\\\n\\\\x1b[2Jbb ...'
    """
    whole = str(text)
    kept = whole[:longest]
    shown = "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in kept
    )
    return f"{shown} ..." if len(whole) > longest else shown


@contextmanager
def restored_from(path: Path) -> Iterator[None]:
    """Turns errors about the weights or the metadata of a file into :class:`BadWeights`.

    Arguments:
        path: the file whose network the body restores.

    Example:
        >>> with restored_from(Path("seed1.safetensors")):
        ...     {}["network"]
        Traceback (most recent call last):
        ...
        vwta.io.errors.BadWeights: seed1.safetensors has no network to restore: 'network'. ...
    """
    try:
        yield
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        if is_memory(error) or isinstance(error, DataError):
            raise
        why = " ".join(str(error).split())
        raise BadWeights(
            f"{path} has no network to restore: {foreign(why)}. "
            "Remedy: delete it and run again, and the network is trained again"
        ) from error


def _place(error: BaseException, outputs: Iterable[str]) -> str:
    """The file or folder that an error is about."""
    if isinstance(error, OSError) and error.filename:
        return str(error.filename)
    folders = dict.fromkeys(str(Path(file).parent) for file in outputs)
    return ", ".join(folders) or str(Path.cwd())


def _damage(path: Path) -> str | None:
    """The message about a file whose content is not what its suffix says, None if it is.

    :mod:`vwta.io.storage` finds more, and says so when it reads a file.
    """
    check = {".safetensors": _tensors, ".parquet": _table, ".npy": _array}.get(path.suffix)
    if check is None or not path.is_file():
        return None
    try:
        check(path)
    except Exception as error:  # readers raise all kinds of errors on wrong bytes
        unreadable = is_memory(error) or system_number(error)  # now, which is no damage
        return None if unreadable else str(Damaged(path, error))
    return None


def _tensors(path: Path) -> None:
    from safetensors import safe_open

    with safe_open(path, framework="numpy"):
        pass


def _table(path: Path) -> None:
    from pyarrow import parquet

    parquet.read_table(path, page_checksum_verification=True)


def _array(path: Path) -> None:
    from numpy import load

    load(path, mmap_mode="r", allow_pickle=False)
