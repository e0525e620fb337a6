"""Signals that ask a job to save its work and stop."""

from __future__ import annotations

__all__ = ["Interruption"]

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """Turns SIGTERM, SIGUSR1 and SIGINT into a flag for as long as it is entered.

    Clusters send the first two some time before they kill a job. A second SIGINT acts as usual.

    Example:
        >>> with Interruption() as interruption:
        ...     signal.raise_signal(signal.SIGUSR1)
        ...     print(interruption.reason)
        SIGUSR1
    """

    signals = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)

    def __init__(self) -> None:
        self.reason: str | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():  # elsewhere there are no signals
            self._before = {each: signal.signal(each, self._note) for each in self.signals}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
        self._before = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.reason = signal.Signals(number).name
        if number == signal.SIGINT:
            signal.signal(number, self._before[signal.SIGINT])
