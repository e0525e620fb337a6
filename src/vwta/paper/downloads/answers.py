"""Headers of a server's answer, none of which is trusted to be well formed."""

from __future__ import annotations

__all__ = [
    "complete_length",
    "is_continuation",
    "retry_after",
    "total_length",
    "validator",
    "version",
]

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

NUMBER = re.compile(r"[0-9]{1,18}")  # str.isdigit takes superscripts, int no more than 4300 digits
VERSION = re.compile(r"[ -~]{1,500}")  # goes back to the server in a header
Headers = Mapping[str, str]


def total_length(headers: Headers, start: int) -> int | None:
    """Bytes of a whole file whose part from a byte on comes, if the server says so."""
    if "Content-Encoding" in headers:
        return None  # the bytes of the file are not those on the way
    length = _number(headers.get("Content-Length", ""))
    return None if length is None else start + length


def complete_length(headers: Headers) -> int | None:
    """Bytes of the whole file, from the answer to a request beyond its end."""
    return _number(headers.get("Content-Range", "").removeprefix("bytes */"))


def is_continuation(headers: Headers, known: str | None, have: int) -> bool:
    """Whether a server's part starts where the file ends, and is of the same version.

    Arguments:
        headers: of the answer.
        known: what the server called the version before.
        have: bytes that are there.
    """
    named = version(headers)
    same = not named or known in named.values()
    return same and headers.get("Content-Range", "").startswith(f"bytes {have}-")


def version(headers: Headers) -> dict[str, str]:
    """Names that a server gives the version it sends; a weak ETag promises no equal bytes.

    Example:
        >>> version({"ETag": 'W/"1"', "Last-Modified": "yesterday"})
        {'modified': 'yesterday'}
    """
    if "Content-Encoding" in headers:
        return {}  # the bytes of the file are not those on the way
    etag, modified = headers.get("ETag", ""), headers.get("Last-Modified", "")
    known = {"etag": "" if etag.startswith("W/") else etag, "modified": modified}
    return {name: value for name, value in known.items() if VERSION.fullmatch(value)}


def validator(known: object) -> str | None:
    """Name to ask a server for a version by: its ETag, else the time of its last change.

    Arguments:
        known: what :func:`version` gave, or whatever a damaged file says instead.
    """
    named = [known.get("etag"), known.get("modified")] if isinstance(known, dict) else []
    texts = (text for text in named if isinstance(text, str))
    return next(filter(VERSION.fullmatch, texts), None)


def retry_after(headers: Headers) -> float | None:
    """Seconds that a server asks to wait for: it may give them, or a date.

    Example:
        >>> retry_after({"Retry-After": "7"})
        7.0
    """
    value = headers.get("Retry-After", "").strip()
    if NUMBER.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(seconds, 0.0)


def _number(text: str) -> int | None:
    return int(text) if NUMBER.fullmatch(text) else None
