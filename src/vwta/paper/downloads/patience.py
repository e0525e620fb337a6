"""How patient a download is, and when it gives up on a server."""

from __future__ import annotations

__all__ = ["Failed", "Policy", "Retry", "Watch"]

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from vwta.io.errors import foreign
from vwta.io.storage import size

UNUSED = 2**22  # bytes of headers, or between two blocks of a file, which libraries hold in memory


class Failed(Exception):
    """An address did not give its file; the message says why, with what the server said escaped."""

    def __init__(self, why: str) -> None:
        super().__init__(foreign(why))


class Retry(Exception):
    """An attempt of a download failed in a way that another one may not.

    Arguments:
        why: the reason; what the server said is escaped.
        after: seconds that the server asks to wait for.
        unreached: the server was not even reached.
        gained: an attempt that brought fewer new bytes was in vain.
    """

    def __init__(
        self, why: str, after: float | None = None, unreached: bool = False, gained: float = 1.0
    ) -> None:
        super().__init__(foreign(why))
        self.after, self.unreached, self.gained = after, unreached, gained


@dataclass(frozen=True)
class Policy:
    """How patient a download is.

    Arguments:
        attempts: so many in a row may bring nothing new.
        unreachable: so many in a row may not even reach the server.
        first: seconds before the second attempt; each further wait is twice as long.
        longest: seconds that a wait grows to.
        patience: seconds that a server may ask for; beyond, the address is given up.
        timeout: seconds to connect, and between two blocks of an answer.
        headers: seconds that all headers of an answer may take.
        window: seconds over which the rate is measured.
        slowest: bytes a second that must come in each window.
        grace: seconds that all attempts may take, besides those that the slowest rate takes.
        slack: bytes that a file may have beyond its known size, which may be rounded.
        largest: bytes that a file of unknown size may have.
        redirects: so many are followed.
        margin: bytes of the disk that stay free.
        sleep: waits so many seconds.
    """

    attempts: int = 5
    unreachable: int = 2
    first: float = 1.0
    longest: float = 60.0
    patience: float = 900.0
    timeout: tuple[float, float] = (10.0, 60.0)
    headers: float = 60.0
    window: float = 60.0
    slowest: float = 5000.0
    grace: float = 3600.0
    slack: int = 2**20
    largest: int = 2**30
    redirects: int = 10
    margin: int = 200 * 10**6
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def limit(self, expected: int) -> int:
        """Bytes that a file may have, from its known size (0 if it is unknown)."""
        return expected + self.slack if expected else self.largest

    def seconds(self, length: int) -> float:
        """Seconds that so many bytes may take, with all attempts."""
        return self.grace + length / self.slowest


class Watch:
    """Times and counts what comes over the connections of a download.

    Arguments:
        policy: how patient to be.
        length: bytes that are to come at most.
    """

    def __init__(self, policy: Policy, length: int) -> None:
        self.policy = policy
        self.began = time.monotonic()
        self.allowed = policy.seconds(length)
        self._in_headers, self._since = True, self.began
        self._came = self._unused = 0

    def expect_length(self, length: int) -> None:
        """Allows no more time than a file of this many bytes takes."""
        self.allowed = min(self.allowed, self.policy.seconds(length))

    def expect_headers(self) -> None:
        """Says that an answer begins."""
        self._in_headers = True
        self._restart()

    def expect_body(self) -> None:
        """Says that all headers of an answer have come."""
        self._in_headers = False
        self._restart()

    def use(self) -> None:
        """Says that what came since the last call was of use."""
        self._unused = 0

    def seconds(self) -> float:
        """Seconds that the next read may take; raises if the time is over."""
        now = time.monotonic()
        left = self.left(now)
        if self._in_headers:
            left = min(left, self._since + self.policy.headers - now)
            if left <= 0:
                raise Retry(f"its headers take longer than {self.policy.headers:g} s")
        return min(left, self.policy.timeout[1])

    def left(self, now: float) -> float:
        """Seconds that are left for all attempts; raises if none are."""
        left = self.began + self.allowed - now
        if left <= 0:
            raise Failed(f"it takes longer than {self.allowed:.0f} s in all")
        return left

    def count(self, number: int) -> None:
        """Says that so many bytes came; raises if they come too slowly or are of no use."""
        self._unused += number
        self._came += number
        if self._unused > UNUSED:
            raise Failed(f"{size(self._unused)} arrived that are no part of a file")
        passed = time.monotonic() - self._since
        if self._in_headers or passed < self.policy.window or not number:
            return
        if self._came < self.policy.slowest * passed:
            raise Retry(
                f"{size(self._came)} came in {passed:.1f} s, at least "
                f"{size(self.policy.slowest)} a second are expected",
                gained=self.policy.slowest * self.policy.window,
            )
        self._since, self._came = time.monotonic(), 0

    def _restart(self) -> None:
        self._since = time.monotonic()
        self._came = self._unused = 0
