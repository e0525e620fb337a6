"""Downloads of one address: resumed where they stopped, tried again when the server asks for it."""

from __future__ import annotations

__all__ = ["Failed", "Policy", "download"]

import json
import logging
import random
import time
from dataclasses import dataclass
from pathlib import Path

from vwta.io.errors import NoSpace
from vwta.io.storage import atomic, check_space, full_disk, size
from vwta.paper.downloads.answers import (
    complete_length,
    is_continuation,
    retry_after,
    total_length,
    validator,
    version,
)
from vwta.paper.downloads.connection import Response, answer, blocks
from vwta.paper.downloads.patience import Failed, Policy, Retry, Watch
from vwta.paper.downloads.progress import Progress

BUSY = {408, 425, 429, 500, 502, 503, 504}  # worth another try

log = logging.getLogger(__name__)


def download(
    url: str,
    partial: Path,
    policy: Policy | None = None,
    progress: Progress | None = None,
    expected: int = 0,
    extra: int = 0,
) -> bool:
    """Downloads an address to a file, resuming what an earlier attempt left there.

    Beside `partial` lies a file with what the server said about the version that it is a part of.
    If the address fails, a part stays only if a later attempt can resume it.

    Arguments:
        url: https, or http on this machine.
        partial: the file; complete when this returns.
        policy: how patient to be.
        progress: where to show how far it is.
        expected: about how many bytes, if that is known; much more are refused.
        extra: bytes that must fit on the disk besides the file.

    Returns:
        Whether the file was put together from several answers.
    """
    policy, progress = policy or Policy(), progress or Progress()
    partial.parent.mkdir(parents=True, exist_ok=True)
    state = _State(partial)
    task = _Task(url, state, policy, progress, expected, extra)
    try:
        return _persist(task, Watch(policy, policy.limit(expected)))
    except Failed:
        if not state.size():
            state.forget()
        raise
    finally:
        progress.end(partial.name)


class _State:
    """A partial file, and what is known of the version that it is a part of."""

    def __init__(self, partial: Path) -> None:
        self.partial = partial
        self.record = partial.with_name(f"{partial.name}.json")

    def size(self) -> int:
        """Bytes that can be kept: none unless the server can tell whether they are still valid."""
        return self.partial.stat().st_size if self.partial.exists() and self.validator() else 0

    def validator(self) -> str | None:
        """The server's name of the version: its ETag, else the time of its last change."""
        try:
            known = json.loads(self.record.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return validator(known)

    def begin(self, response: Response) -> None:
        """Forgets what was there, and notes the version that now comes."""
        self.record.unlink(missing_ok=True)
        self.partial.write_bytes(b"")
        known = version(response.headers)
        if known:
            with atomic(self.record) as temporary:
                temporary.write_text(json.dumps(known), encoding="utf-8")

    def forget(self) -> None:
        """Removes all."""
        self.partial.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)


@dataclass(frozen=True)
class _Task:
    """A download; see :func:`download`."""

    url: str
    state: _State
    policy: Policy
    progress: Progress
    expected: int
    extra: int


def _persist(task: _Task, watch: Watch) -> bool:
    """Attempts until the file is complete, or too many in a row were in vain."""
    state, policy = task.state, task.policy
    most, failures, unreached = state.size(), 0, 0
    while True:
        try:
            with full_disk(state.partial.parent):
                return _attempt(task, watch) > 0
        except Retry as retry:
            unreached = unreached + 1 if retry.unreached else 0
            failures = 0 if state.size() >= most + retry.gained else failures + 1
            most = max(most, state.size())
            if failures >= policy.attempts or unreached >= policy.unreachable:
                raise Failed(str(retry)) from retry
            wait = _wait(retry, max(failures, 1), policy)
            watch.left(time.monotonic() + wait)
            log.info("%s: %s; next attempt in %.1f s", state.partial.name, retry, wait)
            policy.sleep(wait)


def _attempt(task: _Task, watch: Watch) -> int:
    """One request, whose answer goes to the end of the partial file, or in its place.

    Returns:
        At which byte the answer started.
    """
    state, policy = task.state, task.policy
    have = state.size()
    headers = {"Accept-Encoding": "identity", "User-Agent": "vwta"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": str(state.validator())}
    with answer(task.url, headers, policy, watch) as response:
        if response.status_code == 416 and have and complete_length(response.headers) == have:
            return have  # nothing is missing
        start = _start(response, state, have)
        total = total_length(response.headers, start)
        if total is not None:
            _check_length(task, total)
            watch.expect_length(total)
        _check_room(task, start, total)
        _receive(task, watch, response, start, total)
        return start


def _start(response: Response, state: _State, have: int) -> int:
    """At which byte the answer starts; the partial file is ready for it."""
    status = response.status_code
    if status == 206 and have and is_continuation(response.headers, state.validator(), have):
        return have
    if status == 200:
        state.begin(response)
        return 0
    if status in (206, 416):
        state.forget()
        raise Retry(f"status {status} does not fit the part that is there, which is dropped")
    if status in BUSY:
        raise Retry(f"status {status} {response.reason}", after=retry_after(response.headers))
    raise Failed(f"status {status} {response.reason}")


def _receive(task: _Task, watch: Watch, response: Response, start: int, total: int | None) -> None:
    done, partial = start, task.state.partial
    with partial.open("ab") as file:
        for block in blocks(response, watch):
            _check_length(task, done + len(block))
            _check_room(task, done, total)
            file.write(block)
            done += len(block)
            file.flush()  # what has come outlives this process
            task.progress.update(partial.name, done, total)
    if total is not None and done != total:
        raise Retry(f"{done} of {total} bytes came")


def _check_length(task: _Task, length: int) -> None:
    """Gives the address up if it has more bytes than the file may have."""
    limit = task.policy.limit(task.expected)
    if length > limit:
        task.state.forget()
        known = (
            f"{size(task.expected)} are expected" if task.expected else "their number is unknown"
        )
        raise Failed(f"it sends {size(length)} or more; {known}, and {size(limit)} are the limit")


def _check_room(task: _Task, done: int, total: int | None) -> None:
    """Makes sure that the rest of the file fits on the disk.

    A file of unknown size may have no end, so that a disk it fills speaks against the address.
    """
    known = total or task.expected
    missing = max(known - done, 0) + task.extra
    try:
        check_space(task.state.partial.parent, missing, task.policy.margin)
    except NoSpace as error:
        if known or not done:
            raise
        task.state.forget()
        raise Failed(f"after {size(done)} of a file of unknown size, {error}") from error


def _wait(retry: Retry, failures: int, policy: Policy) -> float:
    """Seconds before the next attempt: longer and longer, with random jitter, never too early."""
    backoff = min(policy.first * 2.0 ** (failures - 1), policy.longest) * random.uniform(0.5, 1.0)
    if retry.after is None:
        return backoff
    if retry.after > policy.patience:
        raise Failed(f"{retry}, which asks to wait for {retry.after:.0f} s") from retry
    return retry.after + backoff / 2
