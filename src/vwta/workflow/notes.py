"""Notes on files that could not be downloaded, by which the next run knows to do without them."""

from __future__ import annotations

__all__ = ["noted"]

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vwta.io.errors import Unavailable


@contextmanager
def noted(note: str, until: str) -> Iterator[None]:
    """Leaves a note for the next run if data are absent, and says what that means for now.

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
        raise Unavailable(f"{error}\nUntil it is there, {until}.") from error
