"""Deposits of trained networks, from a folder, an address or a record of Zenodo."""

from __future__ import annotations

__all__ = ["fetch_deposit"]

import re
from pathlib import Path

from vwta.io.errors import Mismatch, Unavailable
from vwta.io.storage import sha256
from vwta.paper.downloads.archives import unpack
from vwta.paper.downloads.fetch import File, Source, fetch
from vwta.paper.downloads.transfer import Policy
from vwta.paper.downloads.zenodo import lock_record, read_lock

ZENODO = "https://zenodo.org/api/records/"
DOI = re.compile(r"(?:doi:|https?://doi\.org/)?10\.5281/zenodo\.(\d+)")
RECORD = re.compile(r"https?://[^/]+/api/records/\d+")
ADDRESS = re.compile(r"https?://.*")


def fetch_deposit(
    source: str,
    name: str,
    digest: str | None,
    folder: Path,
    cache: Path,
    policy: Policy | None = None,
) -> None:
    """Unpacks the archive of a deposit into a folder.

    Arguments:
        source: a DOI of Zenodo, the address of one of its records or of the archive, the archive,
            or a folder that has it.
        name: name of the archive in a record or folder.
        digest: sha256 of the archive, required for an address.
        folder: where its content goes; must not exist, or be empty.
        cache: folder for downloads; the archive is not kept.
        policy: how patient downloads are.
    """
    doi = DOI.fullmatch(source)
    record = f"{ZENODO}{doi[1]}" if doi else source
    path = Path(source).expanduser()
    if RECORD.fullmatch(record):
        lock = f"deposits/{record.rpartition('/')[2]}.lock.json"
        place = lock_record(record, [name], lock, cache, policy=policy)
        archive = fetch(read_lock(place, [name], "deposits")[name], cache, policy=policy)
    elif ADDRESS.fullmatch(source):
        if digest is None:
            raise Mismatch(
                f"{source}: nothing says what its content must be. Remedy: set networks.sha256 in "
                "the configuration to what `make deposit` has printed"
            )
        file = File(f"deposits/{name}", (Source(source),), (f"sha256:{digest}",))
        archive = fetch(file, cache, policy=policy)
    else:
        archive = path / name if path.is_dir() else path
        if not archive.is_file():
            raise Unavailable(
                f"{archive} does not exist. Remedy: set networks.source in the configuration to a "
                "DOI of Zenodo, an address, an archive, or a folder that has one"
            )
    try:
        if digest is not None and sha256(archive) != digest:
            raise Mismatch(
                f"{archive} has the sha256 {sha256(archive)} in place of {digest}. Remedy: fetch "
                "it again, or correct networks.sha256"
            )
        unpack(archive, folder)
    finally:
        if archive.is_relative_to(cache / "deposits"):
            archive.unlink(missing_ok=True)
