"""Connections to servers that may be hostile: every call ends in time, or in an error of ours."""

from __future__ import annotations

__all__ = ["Response", "answer", "blocks"]

import io
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.client import HTTPResponse
from ipaddress import ip_address
from socket import socket
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests import Response
from requests.adapters import HTTPAdapter
from requests.utils import requote_uri
from urllib3.exceptions import NewConnectionError

from vwta.paper.downloads.patience import Failed, Policy, Retry, Watch

BLOCK = 2**16

# It writes a traceback with the server's own text when it cannot parse a header.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)


@contextmanager
def answer(
    url: str, headers: Mapping[str, str], policy: Policy, watch: Watch
) -> Iterator[Response]:
    """The answer of a server, or of the one that it redirects to; its body has not been read.

    Arguments:
        url: https, or http on this machine.
        headers: of the request.
        policy: how patient to be.
        watch: for the connections.
    """
    with _Session(watch) as session:
        for _ in range(policy.redirects + 1):
            with _translated():
                response = session.get(
                    url, headers=dict(headers), stream=True, timeout=policy.timeout
                )
            with response:
                if not response.is_redirect:
                    yield response
                    return
                with _translated("its redirect is broken"):
                    url = _target(response)
    raise Failed(f"it redirects more than {policy.redirects} times")


def blocks(response: Response, watch: Watch) -> Iterator[bytes]:
    """The body of a server's answer, block by block."""
    body = response.iter_content(BLOCK)
    while True:
        with _translated():
            block = next(body, None)
        if block is None:
            return
        watch.use()
        yield block


class _Session(requests.Session):
    """Follows no redirect by itself: it would read all of a redirect's body into memory."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(watch))

    def get_redirect_target(self, resp: Response) -> None:
        """None, whatever the answer is."""


class _Adapter(HTTPAdapter):
    """Opens connections that are watched; plain http is for this machine only."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> Any:
        address = urlsplit(request.url or "")
        if address.scheme != "https" and not _is_loopback(str(address.hostname)):
            raise Failed(f"{request.url} is not https")
        return super().send(request, *args, **kwargs)

    def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **kwargs)
        pool.ConnectionCls = partial(_watched, type(pool).ConnectionCls, self.watch)
        return pool


def _watched(connect: Callable[..., Any], watch: Watch, **settings: Any) -> Any:
    """A connection of urllib3 whose answers are watched."""
    connection = connect(**settings)
    connection.response_class = partial(_Answer, watch)
    return connection


class _Answer(HTTPResponse):
    """An answer whose bytes are counted and timed as they come, its headers too."""

    def __init__(self, watch: Watch, sock: socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.watch = watch
        self.fp = io.BufferedReader(_Metered(self.fp.detach(), sock, watch))
        watch.expect_headers()

    def begin(self) -> None:
        super().begin()
        for name in ("Set-Cookie", "Set-Cookie2"):
            del self.headers[name]  # none is used, and their parser is not made for any text
        self.watch.expect_body()


class _Metered(io.RawIOBase):
    """Bytes from a socket, as long as a watch allows."""

    def __init__(self, raw: io.RawIOBase, sock: socket, watch: Watch) -> None:
        super().__init__()
        self.raw, self.sock, self.watch = raw, sock, watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self.sock.settimeout(self.watch.seconds())
        try:
            number = self.raw.readinto(buffer)
        except TimeoutError:
            self.watch.seconds()  # says which time is over
            raise
        self.watch.count(number or 0)
        return number

    def close(self) -> None:
        self.raw.close()
        super().close()


@contextmanager
def _translated(why: str = "") -> Iterator[None]:
    """Turns whatever a library makes of an answer into an error of ours."""
    try:
        yield
    except (Failed, Retry, MemoryError):
        raise
    except requests.exceptions.SSLError as error:
        raise Failed(_reason(error)) from error
    except (
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ConnectionError,
        requests.exceptions.Timeout,
    ) as error:
        raise Retry(_reason(error), unreached=_is_unreached(error)) from error
    except Exception as error:  # no answer, whatever is in it, may end the program
        raise Failed(f"{why}: {_reason(error)}" if why else _reason(error)) from error


def _target(response: Response) -> str:
    """Where a redirect leads to: servers mean UTF-8, whereas headers are read as Latin-1."""
    location = response.headers["Location"].encode("latin-1").decode("utf-8")
    return urljoin(response.url, requote_uri(location))


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
