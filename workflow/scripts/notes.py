"""What is left of a file that cannot be had: a note for the next run, and one clear message."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vwta.data.errors import DataError, Unavailable

__all__ = ["noted"]


@contextmanager
def noted(note: str, until: str) -> Iterator[None]:
    """Ends the script with a message if data cannot be used, and leaves a note if they are absent.

    Arguments:
        note: file of the note; an older one is removed.
        until: what holds until the data are there.
    """
    path = Path(note)
    path.unlink(missing_ok=True)
    try:
        yield
    except Unavailable as error:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{error}\n", encoding="utf-8")
        sys.exit(f"{error}\nUntil it is there, {until}.")
    except DataError as error:
        sys.exit(str(error))
