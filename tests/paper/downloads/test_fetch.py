"""Downloads from a server that misbehaves on purpose: what arrives is right, or is not there."""

import gzip
import hashlib
import io
import logging
import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from loading import ROOT

from vwta.io import storage
from vwta.io.errors import NoSpace, Unavailable
from vwta.io.storage import size
from vwta.paper.downloads import transfer
from vwta.paper.downloads.fetch import MIRROR, File, Source, fetch, fetch_all
from vwta.paper.downloads.progress import Progress
from vwta.paper.downloads.transfer import Policy

CONTENT = bytes(range(256)) * 4096  # 1 MiB
OTHER = CONTENT[::-1]
Answer = Callable[[BaseHTTPRequestHandler], None]


class Server(ThreadingHTTPServer):
    """Answers each request for a path by the next of its answers, the last one for ever."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.daemon_threads = True
        self.answers: dict[str, list[Answer]] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []

    def url(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return f"http://127.0.0.1:{self.server_port}{path}"

    @property
    def ranges(self) -> list[str | None]:
        return [headers.get("Range") for _, headers in self.seen]

    def handle_error(self, *_: object) -> None:
        """A client that is gone is no news."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers)))
        answers = self.server.answers[self.path]
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: object) -> None:
    handler.send_response(status)
    for name, value in {"Content_Length": len(body), **headers}.items():
        if value is not None:
            handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()
    handler.wfile.write(body)


def good(content: bytes, etag: str | None = '"1"', part: float = 1.0, **headers: object) -> Answer:
    """As a server should: parts on demand, if the version is still the same.

    It can stop after a part of what it promised.
    """

    def answer(handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        version = handler.headers.get("If-Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if version is not None and version not in (etag, headers.get("Last_Modified")):
            start, wanted = 0, None
        if start >= len(content):
            reply(handler, 416, b"", Content_Range=f"bytes */{len(content)}")
            return
        body = content[start:]
        extra = dict(headers)
        if wanted:
            extra["Content_Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        extra.setdefault("Content_Length", len(body))
        reply(handler, 206 if wanted else 200, body[: int(part * len(body))], ETag=etag, **extra)

    return answer


def status(number: int, **headers: object) -> Answer:
    return lambda handler: reply(handler, number, b"not this time", **headers)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRROR, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def file_of(*urls: str, content: bytes = CONTENT, member: str | None = None) -> File:
    sources = tuple(Source(url, member) for url in urls)
    return File("uci/file.data", sources, (sha256(content),), len(content))


def is_clean(cache: Path) -> bool:
    """Nothing half done is left, but for locks."""
    left = [path for path in cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return left in ([], [cache / "uci/file.data"])


def test_plain_download(server: Server, tmp_path: Path, policy: Policy, waits: list) -> None:
    file = file_of(server.url("/file", good(CONTENT)))
    path = fetch(file, tmp_path, policy=policy)
    assert path == tmp_path / "uci/file.data"
    assert path.read_bytes() == CONTENT
    assert is_clean(tmp_path)
    assert waits == []
    assert fetch(file, tmp_path, policy=policy) == path
    assert len(server.seen) == 1, "what is in the cache is not asked for again"


def test_spoilt_cache_is_noticed(server: Server, tmp_path: Path, policy: Policy) -> None:
    file = file_of(server.url("/file", good(CONTENT)))
    fetch(file, tmp_path, policy=policy).write_bytes(b"spoilt")
    assert fetch(file, tmp_path, policy=policy).read_bytes() == CONTENT


@pytest.mark.parametrize("version", [{}, {"etag": None, "Last_Modified": "yesterday"}])
def test_resumes_after_a_dropped_connection(
    server: Server, tmp_path: Path, policy: Policy, waits: list, version: dict
) -> None:
    answers = [good(CONTENT, part=0.4, **version), good(CONTENT, part=0.5, **version)]
    url = server.url("/file", *answers, good(CONTENT, **version))
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    starts = [int((text or "bytes=0-")[6:-1]) for text in server.ranges]
    assert starts[0] == 0
    assert 0 < starts[1] <= 0.4 * len(CONTENT) < starts[2] < len(CONTENT)
    assert {headers.get("If-Range") for _, headers in server.seen[1:]} == {
        "yesterday" if version else '"1"'
    }
    assert len(waits) == 2


def test_long_transfers_may_break_often(server: Server, tmp_path: Path, policy: Policy) -> None:
    broken = [good(CONTENT, part=0.3)] * 8
    url = server.url("/file", *broken, good(CONTENT))
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    assert len(server.seen) == 9 > policy.attempts, "each attempt brought something new"


def test_server_that_ignores_ranges(server: Server, tmp_path: Path, policy: Policy) -> None:
    def whole(part: float) -> Answer:
        return lambda handler: reply(
            handler, 200, CONTENT[: int(part * len(CONTENT))], ETag='"1"', Content_Length=2**20
        )

    url = server.url("/file", whole(0.4), whole(1.0))
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    assert server.ranges[1] is not None

    url = server.url("/other", whole(0.4))
    with pytest.raises(Unavailable, match="Tried"):
        fetch(file_of(url), tmp_path / "other", policy=policy)
    asked = [path for path, _ in server.seen].count("/other")
    assert asked == 1 + policy.attempts, "the same part again and again is no progress"


def test_server_without_versions_starts_again(
    server: Server, tmp_path: Path, policy: Policy
) -> None:
    weak = 'W/"1"'
    broken = good(CONTENT, etag=None, part=0.4), good(CONTENT, etag=weak, part=0.4)
    url = server.url("/file", *broken, good(CONTENT, etag=weak))
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    assert server.ranges == [None] * 3, "nothing tells whether the parts fit"


def test_new_version_starts_again(server: Server, tmp_path: Path, policy: Policy) -> None:
    url = server.url("/file", good(OTHER, etag='"old"', part=0.4), good(CONTENT, etag='"new"'))
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    first, second = (headers for _, headers in server.seen)
    assert "If-Range" not in first
    assert second["If-Range"] == '"old"'
    assert second["Range"].startswith("bytes=")


def test_part_of_another_version_is_dropped(
    server: Server, tmp_path: Path, policy: Policy, waits: list
) -> None:
    """A server that knows Range but not If-Range."""

    def ignorant(handler: BaseHTTPRequestHandler) -> None:
        del handler.headers["If-Range"]
        good(CONTENT, etag='"new"')(handler)

    url = server.url("/file", good(OTHER, etag='"old"', part=0.4), ignorant)
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    assert [text is None for text in server.ranges] == [True, False, True]
    assert len(waits) == 2, "the part was not even taken"


def test_parts_that_do_not_fit_are_fetched_once_more(
    server: Server, tmp_path: Path, policy: Policy, waits: list
) -> None:
    """A server that changes its file and says nothing."""
    url = server.url("/file", good(OTHER, part=0.4), good(CONTENT))
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    assert [text is None for text in server.ranges] == [True, False, True]
    assert len(waits) == 1, "only the checksum told"


def test_length_that_is_too_large(server: Server, tmp_path: Path, policy: Policy) -> None:
    lie = good(CONTENT, Content_Length=len(CONTENT) + 1000)
    url = server.url("/file", lie)
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    assert server.ranges[-1] == f"bytes={len(CONTENT)}-", "the server said that this is all"


def test_length_that_is_too_small(server: Server, tmp_path: Path, policy: Policy) -> None:
    url = server.url("/file", good(CONTENT, Content_Length=1000))
    with pytest.raises(Unavailable) as error:
        fetch(file_of(url), tmp_path, policy=policy)
    assert f"{sha256(CONTENT)} is expected, {sha256(CONTENT[:1000])} was found" in str(error.value)
    assert is_clean(tmp_path)


def test_compressed_on_the_way(server: Server, tmp_path: Path, policy: Policy) -> None:
    squeezed = gzip.compress(CONTENT)
    url = server.url("/file", good(squeezed, Content_Encoding="gzip"))
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT


@pytest.mark.parametrize("number", [429, 503])
def test_waits_as_long_as_the_server_asks(
    server: Server, tmp_path: Path, policy: Policy, waits: list, number: int
) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    url = server.url(
        "/file", status(number, Retry_After=7), status(number, Retry_After=later), good(CONTENT)
    )
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    first, second = waits
    assert 7 <= first < 9
    assert 30 < second < 43


def test_waits_longer_and_longer(
    server: Server, tmp_path: Path, policy: Policy, waits: list
) -> None:
    url = server.url("/file", status(503))
    with pytest.raises(Unavailable, match="status 503 Service Unavailable"):
        fetch(file_of(url), tmp_path, policy=policy)
    assert len(server.seen) == policy.attempts
    for wait, longest in zip(waits, (1, 2, 4, 8), strict=True):
        assert longest / 2 <= wait <= longest


def test_impatient_with_a_server_that_asks_for_hours(
    server: Server, tmp_path: Path, policy: Policy, waits: list
) -> None:
    urls = server.url("/busy", status(429, Retry_After=9000)), server.url("/file", good(CONTENT))
    assert fetch(file_of(*urls), tmp_path, policy=policy).read_bytes() == CONTENT
    assert waits == []


def test_wrong_content_never_reaches_the_cache(
    server: Server, tmp_path: Path, policy: Policy
) -> None:
    wrong, missing = server.url("/wrong", good(OTHER)), server.url("/missing", status(404))
    with pytest.raises(Unavailable) as error:
        fetch(file_of(wrong, missing), tmp_path, policy=policy)
    text = str(error.value)
    assert text.startswith("uci/file.data could not be downloaded. Tried:\n")
    assert f"{wrong}: its content differs: {sha256(CONTENT)} is expected, " in text
    assert f"{sha256(OTHER)} was found" in text
    assert f"{missing}: status 404 Not Found" in text
    assert "set data.mirror in the configuration, or the environment variable VWTA_MIRROR" in text
    assert not (tmp_path / "uci/file.data").exists()
    assert is_clean(tmp_path)
    assert len(server.seen) == 2, "neither is worth another attempt"

    right = server.url("/right", good(CONTENT))
    path = fetch(file_of(wrong, missing, right), tmp_path, policy=policy)
    assert path.read_bytes() == CONTENT


def test_several_contents_and_other_hashes(server: Server, tmp_path: Path) -> None:
    md5 = f"md5:{hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()}"
    url = server.url("/file", good(CONTENT))
    file = File("uci/file.data", (Source(url),), (sha256(OTHER), md5))
    assert fetch(file, tmp_path).read_bytes() == CONTENT


def zipped(name: str, content: bytes = CONTENT) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("README", "Read me")
        archive.writestr(name, content)
    return buffer.getvalue()


def test_member_of_an_archive(server: Server, tmp_path: Path, policy: Policy) -> None:
    archive = zipped("folder/file.data")
    url = server.url("/file.zip", good(archive, part=0.4), good(archive))
    path = fetch(file_of(url, member="folder/file.data"), tmp_path, policy=policy)
    assert path.read_bytes() == CONTENT
    assert is_clean(tmp_path), "the archive is gone"
    assert server.ranges[1] is not None


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (zipped("file.data")[:-500], "is damaged"),
        (zipped("../evil"), r"'\.\./evil' would be outside of its folder"),
        (zipped("file.data", OTHER), "its content differs"),
        (zipped("another.data"), r"no member 'file\.data'"),
        (b"<html>", "is damaged"),
    ],
)
def test_bad_archives(
    server: Server, tmp_path: Path, policy: Policy, archive: bytes, why: str
) -> None:
    bad, right = server.url("/bad.zip", good(archive)), server.url("/file", good(CONTENT))
    with pytest.raises(Unavailable, match=why):
        fetch(file_of(bad, member="file.data"), tmp_path / "cache", policy=policy)
    assert is_clean(tmp_path / "cache")
    assert not list(tmp_path.rglob("evil"))

    sources = (Source(bad, "file.data"), Source(right))
    file = File("uci/file.data", sources, (sha256(CONTENT),))
    assert fetch(file, tmp_path / "cache", policy=policy).read_bytes() == CONTENT


def test_redirects(server: Server, tmp_path: Path, policy: Policy) -> None:
    url = server.url("/old", status(302, Location="/new"))
    server.url("/new", good(CONTENT, part=0.4), good(CONTENT))
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    assert [path for path, _ in server.seen] == ["/old", "/new"] * 2
    assert server.ranges[-1] is not None


@pytest.mark.parametrize("target", ["http://192.0.2.1/file", "ftp://192.0.2.1/file"])
def test_leaves_https_for_nobody(
    server: Server, tmp_path: Path, policy: Policy, waits: list, target: str
) -> None:
    redirected = server.url("/old", status(302, Location=target))
    for url in (redirected, target):
        with pytest.raises(Unavailable, match=rf"{url}: .*({target} is not https|No connection)"):
            fetch(file_of(url), tmp_path, policy=policy)
    assert waits == []


@pytest.fixture
def certificate(server: Server, tmp_path: Path) -> Path:
    """Of a server that speaks https; nobody knows who signed it."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1"
    make += " -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        [*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return certificate


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes downloads trust the certificate."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))


@pytest.mark.usefixtures("trusted")
def test_resumes_over_https(server: Server, tmp_path: Path, policy: Policy) -> None:
    url = server.url("/file", good(CONTENT, part=0.4), good(CONTENT)).replace("http:", "https:")
    assert fetch(file_of(url), tmp_path / "cache", policy=policy).read_bytes() == CONTENT
    assert [text is None for text in server.ranges] == [True, False]


@pytest.mark.usefixtures("trusted")
def test_slow_over_https(server: Server, tmp_path: Path, policy: Policy) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 200, b"", Content_Length=len(CONTENT))
        for _ in range(200):
            handler.wfile.write(b"x")
            time.sleep(0.02)

    url = server.url("/file", slow).replace("http:", "https:")
    hasty = replace(policy, attempts=1, window=0.2)
    with pytest.raises(Unavailable, match=r"came in 0.* s, at least 5.0 kB a second are expected"):
        fetch(file_of(url), tmp_path / "cache", policy=hasty)


def test_certificates_are_checked(
    server: Server, tmp_path: Path, policy: Policy, waits: list, certificate: Path
) -> None:
    url = server.url("/file", good(CONTENT)).replace("http:", "https:")
    with pytest.raises(Unavailable, match="certificate verify failed"):
        fetch(file_of(url), tmp_path / "cache", policy=policy)
    assert server.seen == []
    assert waits == []


def closed_port() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        return other.server_port


def test_offline(tmp_path: Path, policy: Policy, waits: list) -> None:
    url = f"http://127.0.0.1:{closed_port()}/file"
    with pytest.raises(Unavailable) as error:
        fetch(file_of(url), tmp_path, tmp_path / "mirror", policy)
    tried, first, second, remedy = str(error.value).splitlines()
    assert tried == "uci/file.data could not be downloaded. Tried:"
    assert first == f"  {tmp_path}/mirror/uci/file.data (mirror): No such file or directory"
    assert second == f"  {url}: Connection refused"
    assert remedy.startswith("Remedy: check the network")
    assert "FOLDER/uci/file.data" in remedy
    assert len(waits) == 1, "offline is noticed soon"


def test_one_missing_file_does_not_stop_the_others(server: Server, tmp_path: Path) -> None:
    """And no more than two are fetched at once."""
    running, most = 0, 0
    lock = threading.Lock()

    def slow(content: bytes) -> Answer:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.1)
            with lock:
                running -= 1
            good(content)(handler)

        return answer

    def file(index: int, answer: Answer) -> File:
        source = Source(server.url(f"/{index}", answer))
        return File(f"uci/{index}", (source,), (sha256(bytes([index])),))

    files = {str(index): file(index, slow(bytes([index]))) for index in range(6)}
    files["2"] = file(2, status(404))
    found = fetch_all(files, tmp_path)
    assert list(found) == list(files)
    assert isinstance(found.pop("2"), Unavailable)
    assert all(isinstance(path, Path) and path.exists() for path in found.values())
    assert most == 2


def test_mirror_comes_first(
    server: Server, tmp_path: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = file_of(server.url("/file", good(CONTENT)))
    for name, content in (("good", CONTENT), ("bad", OTHER)):
        (tmp_path / name / "uci").mkdir(parents=True)
        (tmp_path / name / "uci/file.data").write_bytes(content)
    assert fetch(file, tmp_path / "1", tmp_path / "good", policy).read_bytes() == CONTENT
    monkeypatch.setenv(MIRROR, str(tmp_path / "good"))
    assert fetch(file, tmp_path / "2", policy=policy).read_bytes() == CONTENT
    assert server.seen == []

    path = fetch(file, tmp_path / "3", tmp_path / "bad", policy)
    assert path.read_bytes() == CONTENT
    assert len(server.seen) == 1, "the mirror that is named counts, but not against the checksum"
    assert (tmp_path / "bad/uci/file.data").read_bytes() == OTHER


def test_mirrors_have_plain_files_only(tmp_path: Path, policy: Policy) -> None:
    """A device may have no end."""
    (tmp_path / "mirror/uci").mkdir(parents=True)
    (tmp_path / "mirror/uci/file.data").symlink_to("/dev/zero")
    with pytest.raises(Unavailable, match=r"\(mirror\): it is not a regular file"):
        fetch(file_of(), tmp_path / "cache", tmp_path / "mirror", policy)
    assert is_clean(tmp_path / "cache")


def test_room_is_asked_for_first(
    server: Server, tmp_path: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = SimpleNamespace(free=len(CONTENT) - 1)
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda folder: free)
    url = server.url("/file", good(CONTENT))
    with pytest.raises(NoSpace, match=r"1\.0 MB and a margin of 0 B are needed.*data\.cache"):
        fetch(file_of(url, url + "2"), tmp_path, policy=policy)
    assert len(server.seen) == 1, "another address does not help"
    assert not (tmp_path / "uci/file.data").exists()

    free.free = len(CONTENT)
    fetch(file_of(url), tmp_path, policy=policy)
    url = server.url("/file.zip", good(zipped("file.data")))
    with pytest.raises(NoSpace, match=r"2\.1 MB"):  # the archive and its member
        fetch(file_of(url, member="file.data"), tmp_path / "2", policy=policy)


def test_unknown_length_takes_the_expected_one(
    server: Server, tmp_path: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        storage.shutil, "disk_usage", lambda folder: SimpleNamespace(free=5 * 10**5)
    )
    url = server.url("/file", good(CONTENT, Content_Length=None))
    with pytest.raises(NoSpace, match=r"1\.0 MB"):
        fetch(file_of(url), tmp_path, policy=policy)
    monkeypatch.undo()
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT


def test_disk_that_fills_up(
    server: Server, tmp_path: Path, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transfer, "_receive", fail)
    url = server.url("/file", good(CONTENT))
    with pytest.raises(NoSpace, match=r"No space left on device\. Remedy: free some space"):
        fetch(file_of(url), tmp_path, policy=policy)


def test_only_one_fetches_a_file(server: Server, tmp_path: Path, policy: Policy) -> None:
    file = file_of(server.url("/file", good(CONTENT)))
    fetchers = [
        threading.Thread(target=fetch, args=(file, tmp_path, None, policy)) for _ in range(4)
    ]
    for fetcher in fetchers:
        fetcher.start()
    for fetcher in fetchers:
        fetcher.join()
    assert (tmp_path / "uci/file.data").read_bytes() == CONTENT
    assert len(server.seen) == 1


PROGRAM = """
import sys
from pathlib import Path
from vwta.paper.downloads.fetch import File, Source, fetch
url, checksum, cache = sys.argv[1:]
fetch(File("uci/file.data", (Source(url),), (checksum,)), Path(cache))
"""


def test_goes_on_after_a_kill(server: Server, tmp_path: Path, policy: Policy) -> None:
    let_go = threading.Event()
    sent = 6 * 2**16

    def stall(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, 200, CONTENT[:sent], ETag='"1"', Content_Length=len(CONTENT))
        handler.wfile.flush()
        let_go.wait(60)

    url = server.url("/file", stall, good(CONTENT))
    command = [sys.executable, "-c", PROGRAM, url, sha256(CONTENT), str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(command, env=env) as process:
        deadline = time.monotonic() + 60
        while not any(path.stat().st_size == sent for path in tmp_path.rglob("file.data")):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    let_go.set()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "uci/file.data").exists()

    (tmp_path / "uci").mkdir(exist_ok=True)
    (tmp_path / "uci/.file.data.99.tmp").write_bytes(b"of a copy that was killed")
    assert fetch(file_of(url), tmp_path, policy=policy).read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={sent}-"]
    assert is_clean(tmp_path)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal(server: Server, tmp_path: Path, policy: Policy) -> None:
    stream = Terminal()
    url = server.url("/file", good(CONTENT))
    fetch(file_of(url), tmp_path, policy=policy, progress=Progress(stream))
    line, *_, last = stream.getvalue().split("\r\x1b[K")[1:]
    assert line.startswith("file.data [")
    assert " of 1.0 MB, " in line
    assert last == "", "the line is removed at the end"


def test_progress_elsewhere(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, now = io.StringIO(), 0.0
    monkeypatch.setattr("vwta.paper.downloads.progress.time.monotonic", lambda: now)
    progress = Progress(stream)
    with caplog.at_level(logging.INFO, "vwta.paper.downloads.progress"):
        for second in range(65):
            now = float(second)
            progress.update("file.data", 10**6 * second, 10**8)
            progress.update("other", second, None)
    assert stream.getvalue() == ""
    assert [record.getMessage() for record in caplog.records] == [
        "file.data: 30.0 MB of 100.0 MB, 30 %",
        "other: 30 B",
        "file.data: 60.0 MB of 100.0 MB, 60 %",
        "other: 60 B",
    ]
    assert size(28.6e9) == "28.6 GB"
