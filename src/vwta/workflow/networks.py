"""Networks that a job reads: each must be the one that its path says, as it was trained.

A network's file tells what it is, and so does its path. If files were exchanged, copied from
another tier or protocol, or trained on other data, the two differ, and the job ends with a message.
"""

from __future__ import annotations

__all__ = ["check_networks", "records"]

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from vwta.io.errors import BadArchive, BadWeights, Damaged
from vwta.io.storage import DIGEST, sha256

PLACE = re.compile(
    r"(?:.*/)?(?P<tier>[^/]+)/(?:synthetic|uci|audio)/(?P<protocol>[^/]+)/(?P<dataset>[^/]+)/"
    r"(?P<model>[^/]+)/K(?P<K>\d+)/(?:seed(?P<seed>\d+)\.safetensors|splits\.zip)"
)
SPLIT = re.compile(r"split(\d+)\.safetensors")
NUMBERS = ("K", "seed", "split")
LONGEST = 2**27  # bytes of a header
REMEDY = "Remedy: delete it and run again, and the network is trained again"


def check_networks(paths: Iterable[str], data: str | None = None) -> None:
    """Raises :class:`~vwta.io.errors.BadWeights` unless networks are those of their paths.

    Arguments:
        paths: files of which some are networks of a study.
        data: file of the data on which they must have been trained, if that is known.
    """
    digest = None
    for path in dict.fromkeys(paths):
        place = PLACE.fullmatch(path)
        if place is None:
            continue
        if data is not None and digest is None:
            digest = sha256(Path(data))
        named = {name: value for name, value in place.groupdict().items() if value is not None}
        for file, wanted, metadata in _members(Path(path), named):
            _compare(file, {**wanted, "data": digest} if digest else wanted, metadata)


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The record of each network of a file."""
    for name, _, metadata in _members(path, {}):
        try:
            record: dict[str, Any] = json.loads(metadata["provenance"])
        except (KeyError, ValueError) as error:
            raise Damaged(name, f"it does not say how it was trained: {error}") from error
        yield record


def _compare(file: str, wanted: dict[str, Any], metadata: dict[str, str]) -> None:
    """Compares the record of a network with what it must be."""
    if DIGEST not in metadata:
        raise BadWeights(f"{file} has no hash of its weights. {REMEDY}")
    try:
        record = json.loads(metadata["provenance"])
        found = {name: record.get(name) for name in wanted}
    except (KeyError, ValueError, AttributeError) as error:
        raise Damaged(file, f"it does not say whose network it is: {error}") from error
    for name, value in wanted.items():
        if found[name] != value:
            raise BadWeights(
                f"{file} has the network of another job: its {name} is {found[name]!r} in place "
                f"of {value!r}. {REMEDY}"
            )


def _members(
    path: Path, named: dict[str, str]
) -> Iterator[tuple[str, dict[str, Any], dict[str, str]]]:
    """Each network of a file: its name, what it must be, and its metadata."""
    wanted: dict[str, Any] = {
        name: int(value) if name in NUMBERS else value for name, value in named.items()
    }
    if path.suffix != ".zip":
        with path.open("rb") as file:
            yield str(path), wanted, _metadata(file, str(path))
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                name = f"{path}/{member}"
                split = SPLIT.fullmatch(member)
                if split is None:
                    raise BadWeights(f"{name} is no network of a split. {REMEDY}")
                with archive.open(member) as file:
                    yield name, {**wanted, "split": int(split[1])}, _metadata(file, name)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise BadArchive(f"{path} is damaged. {REMEDY}") from error


def _metadata(file: IO[bytes], name: str) -> dict[str, str]:
    """Metadata in the header of a safetensors file, which begins with its length."""
    length = int.from_bytes(file.read(8), "little")
    try:
        header = json.loads(file.read(min(length, LONGEST)))
        return {str(key): str(value) for key, value in header["__metadata__"].items()}
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(name, f"it has no metadata: {error}") from error
