"""Servers that fill the disk, hang the client or end it, if they can: the next one is asked."""

import gzip
import hashlib
import io
import logging
import os
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vwta.io import storage
from vwta.io.errors import NoSpace, Unavailable
from vwta.paper.downloads.fetch import MIRROR, File, Source, fetch
from vwta.paper.downloads.progress import Progress
from vwta.paper.downloads.transfer import Policy, download

CONTENT = bytes(range(256)) * 256  # 64 KiB
CHECKSUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
OK = b"HTTP/1.1 200 OK\r\n"
SECONDS = 20.0  # for any answer: servers stop by themselves, whatever the client does
MOST = 32 * 2**20  # bytes of any answer
GOOD = OK + b"Content-Length: %d\r\n\r\n" % len(CONTENT) + CONTENT
Script = Callable[[socket.socket], None]


class Server(socketserver.ThreadingTCPServer):
    """Answers connection after connection by the next script, the last one from then on."""

    daemon_threads = True

    def __init__(self, *scripts: Script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scripts = list(scripts)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/file.data"
        self.requests: list[str] = []
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self.thread.start()

    def stop(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()


class Handler(socketserver.BaseRequestHandler):
    server: Server

    def handle(self) -> None:
        scripts = self.server.scripts
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        self.request.settimeout(SECONDS)
        with suppress(OSError):  # the client is gone
            self.server.requests.append(self.request.recv(2**16).decode("latin-1"))
            script(self.request)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts a server by what it answers."""
    servers: list[Server] = []

    def serve(*answers: bytes | Script) -> Server:
        scripts = [whole(answer) if isinstance(answer, bytes) else answer for answer in answers]
        servers.append(Server(*scripts))
        return servers[-1]

    yield serve
    for server in servers:
        server.stop()


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """One for all examples of a test, which set its scripts."""
    return serve(GOOD)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of a part is kept when the rest does not come."""
    monkeypatch.setattr("vwta.paper.downloads.connection.BLOCK", 10_000)


@pytest.fixture(autouse=True)
def _this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is looked up, wherever a redirect leads to."""
    look_up = socket.getaddrinfo

    def refuse(host: str, *args: object, **kwargs: object) -> object:
        if host != "127.0.0.1":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.delenv(MIRROR, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def hasty() -> Policy:
    """Gives up within fractions of a second."""
    return Policy(
        attempts=2,
        sleep=lambda seconds: None,
        timeout=(1.0, 0.5),
        headers=0.5,
        window=0.2,
        slowest=1000.0,
        grace=3.0,
        slack=1000,
        margin=0,
    )


def whole(answer: bytes) -> Script:
    return lambda connection: connection.sendall(answer)


def endless(start: bytes, again: bytes, pause: float = 0.0) -> Script:
    """A start, and then the same again and again, until the client is gone."""

    def script(connection: socket.socket) -> None:
        connection.sendall(start)
        end, sent = time.monotonic() + SECONDS, 0
        while time.monotonic() < end and sent < MOST:
            connection.sendall(again)
            sent += len(again)
            time.sleep(pause)

    return script


def file_of(*urls: str, known: int | None = len(CONTENT)) -> File:
    return File("uci/file.data", tuple(map(Source, urls)), (CHECKSUM,), known)


def left(cache: Path) -> list[str]:
    """Names of all files below a folder, except locks."""
    files = (path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock")
    return sorted(path.name for path in files)


def why(file: File, cache: Path, policy: Policy) -> str:
    """Why a file could not be fetched, on one line that can be printed."""
    began = time.monotonic()
    with pytest.raises(Unavailable, match="Remedy: check the network") as error:
        fetch(file, cache, policy=policy)
    assert time.monotonic() - began < SECONDS / 2
    _, line, remedy = str(error.value).split("\n")
    assert remedy.startswith("Remedy: ")
    assert line.isprintable()
    assert len(line) < 400
    return line


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"
BOMB = gzip.compress(bytes(2**24))
ENDLESS = {
    "no length": endless(OK + b'ETag: "1"\r\n\r\n', bytes(2**16)),
    "chunks": endless(CHUNKED + b'ETag: "1"\r\n\r\n', b"10000\r\n" + bytes(2**16) + b"\r\n"),
    "a length of 9 EB": endless(OK + b"Content-Length: 9" + b"0" * 17 + b"\r\n\r\n", bytes(2**16)),
    "a length beyond all": endless(OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", bytes(99)),
    "compressed zeros": whole(
        OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB
    ),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_endless_bodies_do_not_fill_the_disk(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy, case: str
) -> None:
    bad, good = serve(ENDLESS[case]), serve(GOOD)
    line = why(file_of(bad.url), tmp_path, hasty)
    assert "or more; 65.5 kB are expected, and 66.5 kB are the limit" in line
    assert left(tmp_path) == [], "nothing is kept of it"
    assert len(bad.requests) == 1, "another attempt would end alike"
    path = fetch(file_of(bad.url, good.url), tmp_path, policy=hasty)
    assert path.read_bytes() == CONTENT
    assert left(tmp_path) == ["file.data"]


def test_files_of_unknown_size_have_a_limit_too(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy
) -> None:
    bad = serve(ENDLESS["no length"])
    policy = replace(hasty, largest=10**6)
    line = why(file_of(bad.url, known=None), tmp_path, policy)
    assert "their number is unknown, and 1.0 MB are the limit" in line
    assert left(tmp_path) == []


def test_margin_is_watched_while_a_file_of_unknown_size_comes(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = serve(ENDLESS["no length"]), serve(GOOD)
    most = 0

    def usage(folder: Path) -> SimpleNamespace:
        nonlocal most
        used = sum(path.stat().st_size for path in tmp_path.rglob("*.data"))
        most = max(most, used)
        return SimpleNamespace(free=10**6 - used)

    monkeypatch.setattr(storage.shutil, "disk_usage", usage)
    policy = replace(hasty, margin=500_000)
    line = why(file_of(bad.url, known=None), tmp_path, policy)
    assert "of a file of unknown size" in line
    assert "margin of 500.0 kB are needed" in line
    assert 400_000 < most < 600_000
    assert left(tmp_path) == []
    assert fetch(file_of(bad.url, good.url, known=None), tmp_path, policy=policy).exists()


def test_sizes_that_only_the_server_names_may_be_lies(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another address is asked before the disk is said to be too small."""
    bad, good = serve(OK + b"Content-Length: 900000000\r\n\r\n"), serve(GOOD)
    monkeypatch.setattr(
        storage.shutil, "disk_usage", lambda folder: SimpleNamespace(free=500_000_000)
    )
    path = fetch(file_of(bad.url, good.url, known=None), tmp_path / "1", policy=hasty)
    assert path.read_bytes() == CONTENT
    with pytest.raises(NoSpace, match=r"900\.0 MB.*Remedy: free some space"):
        fetch(file_of(bad.url, known=None), tmp_path / "2", policy=hasty)


def test_others_may_fill_the_disk_meanwhile(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(OK + b'ETag: "1"\r\n' + GOOD.removeprefix(OK))
    free = iter([10**6, 10**6])
    monkeypatch.setattr(
        storage.shutil, "disk_usage", lambda folder: SimpleNamespace(free=next(free, 0))
    )
    with pytest.raises(NoSpace, match="Remedy: free some space"):
        fetch(file_of(server.url), tmp_path, policy=hasty)
    assert left(tmp_path) == ["file.data", "file.data.json"], "it goes on when there is room"


def test_parts_of_addresses_that_failed_are_dropped_in_the_end(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy
) -> None:
    half = serve(OK + b'ETag: "1"\r\n' + GOOD.removeprefix(OK)[:-1000], b"HTTP/1.1 404 No\r\n\r\n")
    assert "status 404" in why(file_of(half.url), tmp_path, hasty)
    assert left(tmp_path) == ["file.data", "file.data.json"], "a later run may go on with it"
    fetch(file_of(half.url, serve(GOOD).url), tmp_path, policy=hasty)
    assert left(tmp_path) == ["file.data"]


def test_parts_that_nothing_can_go_on_with_are_dropped(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy
) -> None:
    half = serve(GOOD[:-1000], b"HTTP/1.1 404 No\r\n\r\n")
    assert "status 404" in why(file_of(half.url), tmp_path, hasty)
    assert left(tmp_path) == []


SLOW = {
    "a byte now and then": (endless(OK + b"\r\n", b"x", 0.05), "a second are expected"),
    "promised bytes now and then": (
        endless(OK + b'ETag: "1"\r\nContent-Length: 65536\r\n\r\n', b"x", 0.05),
        "a second are expected",
    ),
    "small chunks": (endless(CHUNKED + b"\r\n", b"1\r\nx\r\n", 0.05), "a second are expected"),
    "headers byte by byte": (endless(OK, b"x", 0.05), "headers take longer than 0.5 s"),
    "a status byte by byte": (endless(b"H", b"T", 0.05), "headers take longer than 0.5 s"),
    "go on": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.02), "headers take longer"),
    "go on, fast": (
        endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 999),
        "headers take longer|no part of a file",
    ),
    "silence": (endless(b"", b"", 0.05), "headers take longer than 0.5 s"),
    "silence after headers": (endless(OK + b"\r\n", b"", 0.05), "timed out"),
    "a chunk's length without an end": (
        endless(CHUNKED + b"\r\n", b"1" * 9999),
        "no part of a file|chunk size line exceeded",
    ),
    "trailers without an end": (
        endless(CHUNKED + b"\r\n1\r\nx\r\n0\r\n", b"A: b\r\n" * 999),
        "no part of a file",
    ),
    "a compressed file's name without an end": (
        endless(OK + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08" + bytes(6), b"x" * 9999),
        "no part of a file",
    ),
    "a redirect's body without an end": (
        endless(b"HTTP/1.1 302 Found\r\nLocation: /a\r\n\r\n", bytes(2**16)),
        "redirects more than 10 times",
    ),
}


@pytest.mark.parametrize("case", SLOW)
def test_slow_answers_are_given_up(
    serve: Callable[..., Server],
    tmp_path: Path,
    hasty: Policy,
    case: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    script, reason = SLOW[case]
    bad, good = serve(script), serve(GOOD)
    began = time.monotonic()
    with caplog.at_level(logging.INFO, "vwta"):
        path = fetch(file_of(bad.url, good.url), tmp_path, policy=hasty)
    assert time.monotonic() - began < SECONDS / 2
    assert path.read_bytes() == CONTENT
    assert re.search(rf"{bad.url}: .*({reason})", caplog.text), caplog.text
    assert len(bad.requests) <= 1 + hasty.redirects


def test_slow_handshakes_are_given_up(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy
) -> None:
    bad = serve(endless(b"\x16\x03\x03\x40\x00", b"\x02", 0.05))
    url = bad.url.replace("http:", "https:")
    line = why(file_of(url), tmp_path, replace(hasty, timeout=(0.3, 0.3)))
    assert "timed out" in line


def test_all_attempts_together_have_a_deadline(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that gives one more byte on each connection makes progress, for ever."""

    def one_more(connection: socket.socket) -> None:
        found = re.search(r"Range: bytes=(\d+)-", bad.requests[-1])
        start = int(found[1]) if found else 0
        about = f'ETag: "1"\r\nContent-Length: {len(CONTENT) - start}\r\n'
        if start:
            about = f"HTTP/1.1 206 Part\r\nContent-Range: bytes {start}-9/65536\r\n{about}"
        connection.sendall(b"" if start else OK)
        connection.sendall(f"{about}\r\n".encode() + CONTENT[start : start + 1])

    monkeypatch.setattr("vwta.paper.downloads.connection.BLOCK", 1)
    bad = serve(one_more)
    policy = replace(hasty, grace=0.5, slowest=10.0**6, first=0.02, sleep=time.sleep)
    assert "it takes longer than 1 s in all" in why(file_of(bad.url), tmp_path, policy)
    assert hasty.attempts < len(bad.requests) < 100


def test_slow_answers_may_recover(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy
) -> None:
    server = serve(SLOW["a byte now and then"][0], GOOD)
    assert fetch(file_of(server.url), tmp_path, policy=hasty).read_bytes() == CONTENT


def test_fast_enough_is_fast_enough(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy
) -> None:
    """For several windows."""

    def steady(connection: socket.socket) -> None:
        connection.sendall(OK + b"\r\n")
        for start in range(0, len(CONTENT), 4096):
            connection.sendall(CONTENT[start : start + 4096])
            time.sleep(0.04)

    policy = replace(hasty, window=0.1, slowest=10_000.0)
    path = fetch(file_of(serve(steady).url), tmp_path, policy=policy)
    assert path.read_bytes() == CONTENT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_whoever_waits_is_told(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    """On a terminal, and in a log at once."""
    let_go = threading.Event()

    def later(connection: socket.socket) -> None:
        connection.sendall(GOOD[:-9])
        let_go.wait(SECONDS)
        connection.sendall(GOOD[-9:])

    server = serve(later)
    streams = [io.StringIO(), Terminal(), io.StringIO()]
    policy = replace(hasty, window=SECONDS, timeout=(SECONDS, SECONDS))
    fetchers = [
        threading.Thread(
            target=fetch, args=(file_of(server.url), tmp_path, None, policy, Progress(stream))
        )
        for stream in streams
    ]
    text = f"waiting for process {os.getpid()} on {socket.gethostname()}, which fetches the same"
    with caplog.at_level(logging.INFO, "vwta"):
        for fetcher in fetchers:
            fetcher.start()
            _until(lambda: len(server.requests) == 1)
        _until(lambda: f"uci/file.data: {text}" in caplog.text)
        _until(lambda: text[:40] in streams[1].getvalue())
        let_go.set()
        for fetcher in fetchers:
            fetcher.join(SECONDS)
    assert caplog.text.count(text) == 1, "and not again and again"
    assert len(server.requests) == 1
    assert streams[1].getvalue().endswith("\r\x1b[K"), "the line is removed at the end"


def _until(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.01)


LATIN = "\u00b2".encode("latin-1")  # a superscript, which is a digit to Python
BUSY = b"HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: "
FOUND = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
PART = OK + b'ETag: "1"\r\n' + GOOD.removeprefix(OK)[:-1000]
BEYOND = b"HTTP/1.1 416 No\r\nContent-Length: 0\r\nContent-Range: bytes */"
MALFORMED: dict[str, tuple[bytes, ...]] = {
    "superscript length": (OK + b"Content-Length: " + LATIN + b"\r\n\r\nx",),
    "5,000 digits of length": (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nx",),
    "two lengths": (OK + b"Content-Length: 1, 2\r\n\r\nx",),
    "superscript range": (PART, BEYOND + LATIN + b"\r\n\r\n"),
    "5,000 digits of range": (PART, BEYOND + b"9" * 5000 + b"\r\n\r\n"),
    "superscript wait": (BUSY + LATIN + b"\r\n\r\n",),
    "5,000 digits of wait": (BUSY + b"9" * 5000 + b"\r\n\r\n",),
    "year 0": (BUSY + b"Mon, 01 Jan 0000 00:00:00 GMT\r\n\r\n",),
    "year 9999 and a zone": (BUSY + b"Fri, 31 Dec 9999 23:59:59 -2359\r\n\r\n",),
    "year 1 and a zone": (BUSY + b"Mon, 01 Jan 0001 00:00:00 +2359\r\n\r\n",),
    "a zone of days": (BUSY + b"Mon, 01 Jan 2001 00:00:00 +999900000000\r\n\r\n",),
    "a zone of ages": (BUSY + b"Mon, 01 Jan 2001 0:0:0 +" + b"9" * 18 + b"\r\n\r\n",),
    "a year of many digits": (BUSY + b"Mon, 01 Jan 999999999999 0:0:0 GMT\r\n\r\n",),
    "a day of many digits": (BUSY + b"Mon, " + b"9" * 4999 + b" Jan 2001 0:0:0 GMT\r\n\r\n",),
    "redirect to no host": (FOUND + b"http://\r\n\r\n",),
    "redirect to half an IPv6 address": (FOUND + b"http://[::1/\r\n\r\n",),
    "redirect to a wrong IPv6 address": (FOUND + b"https://[v1.x]/\r\n\r\n",),
    "redirect to a port of letters": (FOUND + b"http://127.0.0.1:x/\r\n\r\n",),
    "redirect to a port too high": (FOUND + b"http://127.0.0.1:99999/\r\n\r\n",),
    "redirect to no UTF-8": (FOUND + b"/\xff\xfe\r\n\r\n",),
    "redirect to a broken escape": (FOUND + b"/%zz%\r\n\r\n",),
    "redirect to an empty label": (FOUND + b"https://a..b/\r\n\r\n",),
    "redirect to a long label": (FOUND + b"https://" + b"a" * 999 + b"/\r\n\r\n",),
    "redirect to no ASCII": (FOUND + "https://\u2100.\u00e9/".encode() + b"\r\n\r\n",),
    "redirect in circles": (FOUND + b"/\r\n\r\n",),
    "status of letters": (b"HTTP/1.1 abc OK\r\n\r\n",),
    "status of many digits": (b"HTTP/1.1 " + b"9" * 5000 + b" OK\r\n\r\n",),
    "status with an escape": (b"HTTP/1.1 404 \x1b[2J\x07" + b"x" * 9999 + b"\r\n\r\n",),
    "no HTTP": (b"\x00\xff" * 99 + b"\r\n\r\n",),
    "nothing": (b"",),
    "chunks of superscripts": (CHUNKED + b"\r\n" + LATIN + b"\r\nx\r\n",),
    "chunks of negative length": (CHUNKED + b"\r\n-5\r\nx\r\n",),
    "chunks of many digits": (CHUNKED + b"\r\n" + b"f" * 6000 + b"\r\nx\r\n",),
    "an unknown encoding": (OK + b"Content-Encoding: \x1b[2J\r\n\r\nx",),
    "no gzip": (OK + b"Content-Encoding: gzip\r\n\r\nx\x1b[2J",),
    "gzip upon gzip": (OK + b"Content-Encoding: " + b"gzip," * 999 + b"\r\n\r\nx",),
    "a header without a name": (OK + b": x\r\n : y\r\n\r\nx",),
    "many headers": (OK + b"A: b\r\n" * 999 + b"\r\nx",),
    "an odd cookie": (OK + b"Set-Cookie: a=b; expires=\xff; max-age=\xb2\r\n\r\nx",),
    "an ETag for the terminal": (PART.replace(b'"1"', b'"\x1b[2J\xe9"'),),
    "a date of no day": (PART.replace(b'ETag: "1"', b"Last-Modified: \xb2\x00"),),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_answers_fail_their_address(
    serve: Callable[..., Server], tmp_path: Path, hasty: Policy, case: str
) -> None:
    bad = serve(*MALFORMED[case])
    why(file_of(bad.url), tmp_path, hasty)
    path = fetch(file_of(bad.url, serve(GOOD).url), tmp_path, policy=hasty)
    assert path.read_bytes() == CONTENT


NUMBERS = st.sampled_from(
    ["0", "-1", "+5", "1_0", "\u00b2", "\u00bd", "1e9", " 7", "9" * 5000, "65536"]
)
DATES = st.builds(
    "{}, {} {} {} {}:{}:{} {}".format,
    st.sampled_from(["Mon", "", "\u00b2"]),
    st.integers(-1, 10**6) | NUMBERS,
    st.sampled_from(["Jan", "Foo", ""]),
    st.integers(-1, 10**12) | NUMBERS,
    *[st.integers(-1, 99) | NUMBERS] * 3,
    st.sampled_from(["GMT", "+9999", "-2359", "+" + "9" * 18, "?"]),
)
ADDRESSES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["http://", "https://", "//", "/", "", "ftp://", "file:///", "data:,"]),
    st.sampled_from(["127.0.0.1", "[::1]", "[::1", "a@b@c", "..", "\u00e9", "%00", "a" * 300]),
    st.sampled_from(["", ":", ":x", ":-1", ":99999", ":1"]),
    st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=6),
)
WORDS = st.text(st.characters(min_codepoint=0, max_codepoint=255), max_size=20)
RANGES = st.builds("{}{}-{}/{}".format, st.sampled_from(["bytes ", "bytes */", ""]), *[NUMBERS] * 3)
NAMES = ["Content-Length", "Content-Range", "Retry-After", "Location", "ETag", "Last-Modified"]
NAMES += ["Content-Encoding", "Transfer-Encoding", "Set-Cookie", "Connection", "Content-Type"]
KINDS = ["gzip", "deflate", "br", "zstd", "identity", "chunked", "close", "keep-alive", '"1"']
VALUES = NUMBERS | DATES | ADDRESSES | RANGES | WORDS | st.sampled_from(KINDS)
HEADERS = st.lists(st.tuples(st.sampled_from(NAMES) | WORDS, VALUES), max_size=5)
STATUSES = st.sampled_from(
    [200, 200, 206, 301, 302, 303, 307, 308, 404, 416, 429, 503, 100, 101, 0]
)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """A status, some headers and a body, none of which need make sense."""
    lines = [f"HTTP/1.1 {draw(STATUSES | NUMBERS)} {draw(WORDS)}"]
    lines += [f"{name}: {value}" for name, value in draw(HEADERS)]
    head = "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1", "replace")
    return head + draw(st.sampled_from([b"", b"x", b"1\r\nx\r\n0\r\n\r\n", CONTENT, BOMB[:99]]))


@settings(max_examples=100)
@given(first=answers() | st.just(PART), second=answers() | st.binary(max_size=60))
@example(first=PART, second=BEYOND + LATIN + b"\r\n\r\n")
def test_no_answer_ends_in_a_traceback(
    first: bytes, second: bytes, server: Server, tmp_path: Path, hasty: Policy
) -> None:
    """The file is the right one, or its address has failed with a message."""
    server.scripts[:] = whole(first), whole(second)
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    try:
        path = fetch(file_of(server.url), folder, policy=hasty)
    except Unavailable as error:
        lines = str(error).split("\n")
        assert len(lines) == 3
        assert all(line.isprintable() and len(line) < 600 for line in lines)
        assert "file.data" not in left(folder) or "file.data.json" in left(folder)
    else:
        assert path.read_bytes() == CONTENT
        assert left(folder) == ["file.data"]


@settings(max_examples=40)
@given(
    content=st.binary(max_size=40) | st.sampled_from([b"[1]", b'{"etag": [1]}', b'{"etag": "\\n"}'])
)
def test_damaged_notes_on_a_part_are_passed_over(
    content: bytes, server: Server, tmp_path: Path, hasty: Policy
) -> None:
    partial = tmp_path / "part"
    partial.write_bytes(b"x")
    (tmp_path / "part.json").write_bytes(content)
    download(server.url, partial, hasty)
    assert partial.read_bytes() == CONTENT
