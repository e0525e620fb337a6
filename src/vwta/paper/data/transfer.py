"""Downloads of one address: resumed where they stopped, tried again when the server asks for it."""

from __future__ import annotations

__all__ = ["Failed", "Policy", "download"]

import json
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import NewConnectionError

from vwta.io.progress import Progress
from vwta.io.storage import atomic, check_space, full_disk

BUSY = {408, 425, 429, 500, 502, 503, 504}  # worth another try
CHUNK = 2**16

log = logging.getLogger(__name__)


class Failed(Exception):
    """An address did not give its file; the message says why."""


@dataclass(frozen=True)
class Policy:
    """How patient a download is.

    Arguments:
        attempts: so many in a row may bring nothing new.
        unreachable: so many in a row may not even reach the server.
        first: seconds before the second attempt; each further wait is twice as long.
        longest: seconds that a wait grows to.
        patience: seconds that a server may ask for; beyond, the address is given up.
        timeout: seconds to connect, and between two pieces of an answer.
        margin: bytes of the disk that stay free.
        sleep: waits so many seconds.
    """

    attempts: int = 5
    unreachable: int = 2
    first: float = 1.0
    longest: float = 60.0
    patience: float = 900.0
    timeout: tuple[float, float] = (10.0, 60.0)
    margin: int = 200 * 10**6
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)


def download(
    url: str,
    partial: Path,
    policy: Policy | None = None,
    progress: Progress | None = None,
    expected: int = 0,
    extra: int = 0,
) -> bool:
    """Downloads an address to a file, going on with what an earlier attempt left there.

    Beside `partial` lies a file with what the server said about the version that it is a part of.

    Arguments:
        url: https, or http on this very machine.
        partial: the file; complete when this returns.
        policy: how patient to be.
        progress: where to show how far it is.
        expected: about how many bytes, in case that the server does not say.
        extra: bytes that must fit on the disk besides the file.

    Returns:
        Whether the file was put together from several answers.
    """
    policy, progress = policy or Policy(), progress or Progress()
    partial.parent.mkdir(parents=True, exist_ok=True)
    state = _State(partial)
    most, failures, unreached = state.size(), 0, 0
    try:
        while True:
            try:
                with full_disk(partial.parent):
                    return _attempt(url, state, policy, progress, expected, extra) > 0
            except _Retry as retry:
                unreached = unreached + 1 if retry.unreached else 0
                failures = 0 if state.size() > most else failures + 1
                most = max(most, state.size())
                if failures >= policy.attempts or unreached >= policy.unreachable:
                    raise Failed(str(retry)) from retry
                wait = _wait(retry, max(failures, 1), policy)
                log.info("%s: %s; next attempt in %.1f s", partial.name, retry, wait)
                policy.sleep(wait)
    finally:
        progress.end(partial.name)


class _Retry(Exception):
    """An attempt failed in a way that another one may not."""

    def __init__(self, why: str, after: float | None = None, unreached: bool = False) -> None:
        super().__init__(why)
        self.after, self.unreached = after, unreached


class _State:
    """A partial file, and what is known of the version that it is a part of."""

    def __init__(self, partial: Path) -> None:
        self.partial = partial
        self.record = partial.with_name(f"{partial.name}.json")

    def size(self) -> int:
        """Bytes that can be kept: none unless the server can tell whether they are still valid."""
        return self.partial.stat().st_size if self.partial.exists() and self.validator() else 0

    def validator(self) -> str | None:
        """What the server called the version: its ETag, else the time of its last change."""
        try:
            known: dict[str, Any] = json.loads(self.record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return known.get("etag") or known.get("modified")

    def begin(self, response: requests.Response) -> None:
        """Forgets what was there, and notes the version that now comes."""
        self.record.unlink(missing_ok=True)
        self.partial.write_bytes(b"")
        known = _version(response)
        if known:
            with atomic(self.record) as temporary:
                temporary.write_text(json.dumps(known), encoding="utf-8")

    def forget(self) -> None:
        """Removes all."""
        self.partial.unlink(missing_ok=True)
        self.record.unlink(missing_ok=True)


class _Loopback(HTTPAdapter):
    """Plain http, to this very machine only: redirects come through here too."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> Any:
        host = urlsplit(request.url or "").hostname
        if not _is_loopback(str(host)):
            raise Failed(f"{request.url} is not https")
        return super().send(request, *args, **kwargs)


def _attempt(
    url: str, state: _State, policy: Policy, progress: Progress, expected: int, extra: int
) -> int:
    """One request, whose answer goes to the end of the partial file, or in its place.

    Returns:
        At which byte the answer started.
    """
    have = state.size()
    headers = {"Accept-Encoding": "identity", "User-Agent": "vwta"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": str(state.validator())}
    with requests.Session() as session:
        session.mount("http://", _Loopback())
        try:
            with session.get(url, headers=headers, stream=True, timeout=policy.timeout) as response:
                if response.status_code == 416 and have and _length_of(response) == have:
                    return have  # nothing is missing
                start = _start(response, state, have)
                total = _total(response, start)
                missing = max((total or expected) - start, 0)
                check_space(state.partial.parent, missing + extra, policy.margin)
                _receive(response, state.partial, start, total, progress)
                return start
        except requests.exceptions.SSLError as error:
            raise Failed(_reason(error)) from error
        except (
            requests.exceptions.ChunkedEncodingError,
            requests.exceptions.ConnectionError,
            requests.exceptions.Timeout,
        ) as error:
            raise _Retry(_reason(error), unreached=_is_unreached(error)) from error
        except requests.exceptions.RequestException as error:
            raise Failed(_reason(error)) from error


def _start(response: requests.Response, state: _State, have: int) -> int:
    """At which byte the answer starts; the partial file is ready for it."""
    status = response.status_code
    if status == 206 and have and _fits(response, state, have):
        return have
    if status == 200:
        state.begin(response)
        return 0
    if status in (206, 416):
        state.forget()
        raise _Retry(f"status {status} does not fit the part that is there, which is dropped")
    if status in BUSY:
        after = _retry_after(response)
        raise _Retry(f"status {status} {response.reason}", after=after)
    raise Failed(f"status {status} {response.reason}")


def _fits(response: requests.Response, state: _State, have: int) -> bool:
    """Whether a part starts where the file ends, and is of the same version."""
    version = _version(response)
    named = version.get("etag") or version.get("modified")
    same = named is None or state.validator() in version.values()
    return same and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _version(response: requests.Response) -> dict[str, str]:
    """What a server calls the version that it sends; a weak ETag promises no equal bytes."""
    if "Content-Encoding" in response.headers:
        return {}  # the bytes of the file are not those on the way
    etag, modified = response.headers.get("ETag", ""), response.headers.get("Last-Modified", "")
    known = {"etag": "" if etag.startswith("W/") else etag, "modified": modified}
    return {name: value for name, value in known.items() if value}


def _receive(
    response: requests.Response, partial: Path, start: int, total: int | None, progress: Progress
) -> None:
    done = start
    with partial.open("ab") as file:
        for chunk in response.iter_content(CHUNK):
            file.write(chunk)
            done += len(chunk)
            file.flush()  # what has come outlives this process
            progress.update(partial.name, done, total)
    if total is not None and done != total:
        raise _Retry(f"{done} of {total} bytes came")


def _total(response: requests.Response, start: int) -> int | None:
    """Bytes of the whole file, if the server says so."""
    if "Content-Encoding" in response.headers:
        return None
    length = response.headers.get("Content-Length", "")
    return start + int(length) if length.isdigit() else None


def _length_of(response: requests.Response) -> int | None:
    """Bytes of the whole file, from the answer to a request beyond its end."""
    length = response.headers.get("Content-Range", "").removeprefix("bytes */")
    return int(length) if length.isdigit() else None


def _retry_after(response: requests.Response) -> float | None:
    """Seconds that a server asks to wait for: it may give them, or a date."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


def _wait(retry: _Retry, failures: int, policy: Policy) -> float:
    """Seconds before the next attempt: longer and longer, spread at random, never too early."""
    backoff = min(policy.first * 2.0 ** (failures - 1), policy.longest) * random.uniform(0.5, 1.0)
    if retry.after is None:
        return backoff
    if retry.after > policy.patience:
        raise Failed(f"{retry}, which asks to wait for {retry.after:.0f} s") from retry
    return retry.after + backoff / 2


def _is_unreached(error: requests.exceptions.RequestException) -> bool:
    """Whether the server was not even reached: this machine is offline, or the server is."""
    cause = getattr(error.args[0], "reason", None) if error.args else None
    never = (requests.exceptions.ProxyError, requests.exceptions.ConnectTimeout)
    return isinstance(error, never) or isinstance(cause, NewConnectionError)


def _reason(error: BaseException) -> str:
    """The innermost cause, without the addresses of objects."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
