"""A bar that is redrawn on a terminal, and nothing elsewhere."""

from __future__ import annotations

__all__ = ["Bar"]

import sys
import time
from typing import TextIO

REDRAW_EVERY = 0.1  # seconds
WIDTH = 30  # characters


class Bar:
    """Progress of a number of steps on one line, with the time that is left.

    Arguments:
        title: what stands before the bar.
        total: number of steps.
        shown: whether to draw; None draws if the stream is a terminal.
        stream: where to draw, by default stderr.
    """

    def __init__(
        self, title: str, total: int, shown: bool | None = None, stream: TextIO | None = None
    ) -> None:
        self.title, self.total = title, total
        self.stream = stream or sys.stderr
        self.shown = self.stream.isatty() if shown is None else shown
        self._begun = time.monotonic()
        self._drawn = 0.0

    def update(self, done: int) -> None:
        """Shows that some steps are done."""
        now = time.monotonic()
        if self.shown and now - self._drawn >= REDRAW_EVERY:
            self._drawn = now
            filled = WIDTH * done // self.total
            left = (now - self._begun) / max(done, 1) * (self.total - done)
            time_left = f"{left:.0f} s left" if done else ""
            bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}]"
            self._write(f"{self.title} {bar} {100 * done // self.total:3d} % {time_left}")

    def end(self) -> None:
        """Removes the bar."""
        if self.shown:
            self._write("")

    def _write(self, text: str) -> None:
        self.stream.write(f"\r\x1b[K{text}")
        self.stream.flush()
