"""Progress of downloads: one line that is redrawn on a terminal, log lines elsewhere."""

from __future__ import annotations

__all__ = ["Progress"]

import logging
import shutil
import sys
import threading
import time
from typing import TextIO

from vwta.io.storage import size

REDRAW_EVERY = 0.1  # seconds
LOG_EVERY = 30.0  # seconds, for each file
BAR = 20  # characters

log = logging.getLogger(__name__)


class Progress:
    """Shows all downloads of a process; threads can share it.

    Arguments:
        stream: where to draw, by default stderr; if it is no terminal, log lines are written.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.draws = self.stream.isatty()
        self._lock = threading.Lock()
        self._state: dict[str, str] = {}
        self._shown: dict[str, float] = {}
        self._drawn = 0.0

    def update(self, name: str, done: int, total: int | None) -> None:
        """Shows that `done` bytes of a file have arrived, of `total` if that is known."""
        amount = _amount(done, total)
        self._show(name, f"{_bar(done, total)}{amount}", amount, at_once=False)

    def wait(self, name: str, whom: str) -> None:
        """Shows that a file waits for another process."""
        self._show(name, f"waiting for {whom}", f"waiting for {whom}", at_once=True)

    def end(self, name: str) -> None:
        """Stops showing a file."""
        with self._lock:
            known = self._state.pop(name, None) is not None
            self._shown.pop(name, None)
            if self.draws and known:
                self._draw()

    def _show(self, name: str, drawn: str, logged: str, at_once: bool) -> None:
        """Draws or logs a state of a file if it is time; the first may be logged at once."""
        now = time.monotonic()
        with self._lock:
            self._state[name] = drawn
            if self.draws:
                if now - self._drawn >= REDRAW_EVERY:
                    self._draw()
                    self._drawn = now
            elif now - self._shown.setdefault(name, -LOG_EVERY if at_once else now) >= LOG_EVERY:
                log.info("%s: %s", name, logged)
                self._shown[name] = now

    def _draw(self) -> None:
        """Redraws the line, cut to the width of the terminal."""
        text = "   ".join(f"{name} {state}" for name, state in self._state.items())
        width = shutil.get_terminal_size().columns - 1
        self.stream.write(f"\r\x1b[K{text[:width]}")
        self.stream.flush()


def _amount(done: int, total: int | None) -> str:
    """How much has arrived, in bytes and in per cent."""
    if not total:
        return size(done)
    return f"{size(done)} of {size(total)}, {100 * done // total} %"


def _bar(done: int, total: int | None) -> str:
    """A bar of :data:`BAR` characters, empty if the total is unknown."""
    if not total:
        return ""
    filled = min(BAR * done // total, BAR)
    return f"[{'#' * filled}{'.' * (BAR - filled)}] "
