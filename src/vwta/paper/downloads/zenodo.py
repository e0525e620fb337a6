"""Records of Zenodo: their lists of files, downloaded once and stored in a lock file."""

from __future__ import annotations

__all__ = ["lock_record", "read_lock"]

import json
import logging
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vwta.io.errors import Mismatch, Unavailable, foreign
from vwta.io.storage import atomic
from vwta.paper.downloads.fetch import MIRROR, File, Source
from vwta.paper.downloads.transfer import Failed, Policy, download

RECORD = 10**7  # bytes that a record may have, Zenodo's take some thousand
LARGEST = 10**12  # bytes that a file may have
ADDRESS = re.compile(r"https?://[!-~]{1,2000}")

log = logging.getLogger(__name__)


def lock_record(
    url: str,
    names: Sequence[str],
    lock: str,
    cache: Path,
    mirror: Path | None = None,
    policy: Policy | None = None,
) -> Path:
    """Makes sure that a lock file has sizes and checksums of a Zenodo record's files.

    A lock that is there is taken, whatever has become of the record; else one in the mirror; else
    the record is asked.

    Arguments:
        url: the record, such as `https://zenodo.org/api/records/1237703`.
        names: files that it must have; others are left out.
        lock: where the lock lies below the cache, and below a mirror.
        cache: folder for files from elsewhere.
        mirror: folder with copies.
        policy: how patient a download is.

    Returns:
        Where the lock is.
    """
    path = cache / lock
    if path.exists():
        _entries(path, names)
        return path
    if mirror is not None and (mirror / lock).exists():
        source = str(mirror / lock)
        _entries(mirror / lock, names)
        text = (mirror / lock).read_text(encoding="utf-8")
    else:
        source = url
        content = {"record": url, "files": _ask(url, names, lock, path.parent, policy)}
        text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    log.info("%s: from %s", path, source)
    return path


def read_lock(path: Path, names: Sequence[str], folder: str) -> dict[str, File]:
    """Files of a Zenodo record by name, from a lock file.

    Arguments:
        path: the lock of :func:`lock_record`.
        names: files that it must have.
        folder: where they lie below the cache, and below a mirror.
    """
    return {
        name: File(
            path=f"{folder}/{name}",
            sources=tuple(Source(url) for url in entry["urls"]),
            checksums=(entry["checksum"],),
            bytes=entry["bytes"],
        )
        for name, entry in _entries(path, names).items()
    }


def _entries(path: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Entries of a lock, as sound as those of a record."""
    remedy = f"Remedy: delete {path}, and it is made again"
    files = _json(path, str(path), remedy).get("files")
    if not isinstance(files, dict):
        raise Mismatch(f"{path} has no files. {remedy}")
    return _checked({name: files.get(name) for name in names}, str(path), remedy)


def _ask(
    url: str, names: Sequence[str], lock: str, folder: Path, policy: Policy | None
) -> dict[str, dict[str, Any]]:
    """Entries for a lock, from a record."""
    folder.mkdir(parents=True, exist_ok=True)
    copied = (
        f"copy {Path(lock).name} from a machine that has it to some folder as FOLDER/{lock}, and "
        f"set data.mirror in the configuration, or the environment variable {MIRROR}, to FOLDER"
    )
    with TemporaryDirectory(dir=folder, prefix=".record") as temporary:
        answer = Path(temporary, "record.json")
        try:
            download(url, answer, replace(policy or Policy(), largest=RECORD))
        except Failed as error:
            raise Unavailable(
                f"The list of files {url} could not be downloaded: {error}\n"
                f"Remedy: check the network and run again; or {copied}"
            ) from error
        remedy = f"Remedy: open it in a browser and run again when it looks right; or {copied}"
        record = _json(answer, url, remedy)
    files = record.get("files")
    if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
        raise Mismatch(f"{url} has no list of files. {remedy}")
    found = {file["key"]: file for file in files if isinstance(file.get("key"), str)}
    entries = {name: _entry(url, name, found[name]) if name in found else None for name in names}
    return _checked(entries, url, remedy)


def _entry(url: str, name: str, file: Mapping[str, Any]) -> dict[str, Any]:
    """Entry of a lock for a file of a record: the page's address precedes the record's own.

    The record's own address may be missing, or no address at all.
    """
    page = f"{url.replace('/api/records/', '/records/')}/files/{name}"
    links = file.get("links")
    own = links.get("self") if isinstance(links, dict) else None
    urls = [page, own] if _is_address(own) and own != page else [page]
    return {"bytes": file.get("size"), "checksum": file.get("checksum"), "urls": urls}


def _json(path: Path, place: str, remedy: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Mismatch(f"{place} is not JSON: {foreign(error)}. {remedy}") from error
    if not isinstance(content, dict):
        raise Mismatch(f"{place} is JSON of another kind. {remedy}")
    return content


def _checked(entries: Mapping[str, Any], place: str, remedy: str) -> dict[str, dict[str, Any]]:
    """The entries, if each is complete."""
    wrong = [f"{name} {why}" for name, entry in entries.items() for why in _faults(entry)]
    if wrong:
        raise Mismatch(f"{place} cannot be used: {'; '.join(wrong)}. {remedy}")
    return dict(entries)


def _faults(entry: Any) -> Iterator[str]:
    """Faults of an entry."""
    if not isinstance(entry, dict):
        yield "is missing"
        return
    size, checksum, urls = (entry.get(key) for key in ("bytes", "checksum", "urls"))
    if type(size) is not int or not 0 < size <= LARGEST:
        yield f"has {reprlib.repr(size)} bytes"
    if not isinstance(checksum, str) or not re.fullmatch(r"md5:[0-9a-f]{32}", checksum):
        yield f"has the checksum {reprlib.repr(checksum)}, no md5"
    if not isinstance(urls, list) or not urls or not all(map(_is_address, urls)):
        yield f"has the addresses {reprlib.repr(urls)}"


def _is_address(url: Any) -> bool:
    return isinstance(url, str) and ADDRESS.fullmatch(url) is not None
