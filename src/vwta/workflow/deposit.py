"""Deposits: trained networks that travel as an archive, and take the place of trainings.

Usage: python -m vwta.workflow.deposit RESULTS [STUDY ...]

RESULTS is the folder of a tier, such as results/full. Its networks, or those of some studies,
become RESULTS/networks.zip, with a manifest: for each network its sha256, the digest of the code,
the settings and the hash of the data that it was trained with. A network of a deposit is taken in
place of a training only if all of these are those of the training.
"""

from __future__ import annotations

__all__ = ["ARCHIVE", "Deposit", "data_of", "take", "write_deposit"]

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from vwta.io.bundles import MOMENT
from vwta.io.errors import BadWeights, Damaged, DataError, explained
from vwta.io.storage import atomic, key, sha256, size
from vwta.workflow.networks import check_networks, records

ARCHIVE, MANIFEST = "networks.zip", "manifest.json"
STUDIES = ("synthetic", "uci", "audio")
PATTERNS = ("seed*.safetensors", "splits.zip")
FORMAT = 1


def write_deposit(results: Path, studies: Sequence[str] = STUDIES) -> Path:
    """Writes the archive of all networks of some studies; the same networks give the same bytes.

    Arguments:
        results: folder of a tier.
        studies: their names.
    """
    files = [
        file
        for study in studies
        for pattern in PATTERNS
        for file in sorted((results / study).rglob(pattern))
        if not file.is_relative_to(results / ".unfinished")
    ]
    if not files:
        raise DataError(
            f"{results} has no networks of {', '.join(studies)}. "
            f"Remedy: make reproduce TIER={results.name}"
        )
    check_networks(map(str, files))
    entries = {file.relative_to(results).as_posix(): _entry(file) for file in files}
    manifest = {"format": FORMAT, "tier": results.name, "files": entries}
    path = results / ARCHIVE
    with atomic(path) as temporary, ZipFile(temporary, "w") as archive:
        text = json.dumps(manifest, indent=1, sort_keys=True)
        archive.writestr(ZipInfo(MANIFEST, MOMENT), text)
        for name in entries:
            archive.writestr(ZipInfo(name, MOMENT), (results / name).read_bytes())
    return path


def _entry(file: Path) -> dict[str, Any]:
    """The manifest's entry of a file; the networks of all splits have the same record."""
    found = list(records(file))
    facts = {name: found[0][name] for name in ("code", "data", "settings")}
    return {**facts, "sha256": sha256(file), "bytes": file.stat().st_size, "networks": len(found)}


class Deposit:
    """A deposit that was fetched, as rules see it.

    Arguments:
        folder: where its content is; there is none if the folder does not exist.
        tier: name of the tier whose networks are wanted.
    """

    def __init__(self, folder: Path, tier: str) -> None:
        self.folder, self.tier = folder, tier

    @cached_property
    def files(self) -> dict[str, dict[str, Any]]:
        """Entries of the manifest; none of another tier."""
        path = self.folder / MANIFEST
        if not path.is_file():
            return {}
        manifest = _manifest(path)
        return manifest["files"] if manifest["tier"] == self.tier else {}

    def offers(
        self,
        name: str,
        data: Callable[[Any], str | list[str]],
        code: str,
        settings: Callable[[Any], Mapping[str, Any]],
        networks: Callable[[Any], int] = lambda wildcards: 1,
    ) -> Callable[[Any], str | list[str]]:
        """Input function: the data of a job that takes a network of the deposit.

        If there is none that was trained by the same code with the same settings, it is a file that
        nothing makes, so that Snakemake takes the rule that trains.

        Arguments:
            name: pattern of the network's path below the results of a tier.
            data: input function of the data.
            code: digest of the training.
            settings: its settings, for the wildcards of a job.
            networks: how many networks the file must have.
        """

        def of(wildcards: Any) -> str | list[str]:
            entry = self.files.get(name.format(**wildcards))
            if entry is None or entry["code"] != code or entry["networks"] != networks(wildcards):
                return "no deposit"
            if entry["settings"] != json.loads(json.dumps(settings(wildcards))):
                return "no deposit"
            return data(wildcards)

        return of


def data_of(name: str, files: Sequence[Path]) -> str:
    """The hash of data, as networks name it.

    Arguments:
        name: path of a network below the results of a tier.
        files: its data; in the audio study the files of labels, which have the hashes of features.
    """
    if name.startswith("audio/"):
        return key(labels=[sha256(file) for file in sorted(files)])
    (file,) = files
    return sha256(file)


def take(folder: Path, name: str, output: Path, files: Sequence[Path]) -> None:
    """Takes a network of a deposit in place of a training.

    Arguments:
        folder: the deposit's.
        name: path of the network below the results of a tier.
        output: file to write.
        files: the data on which it must have been trained, as for :func:`data_of`.
    """
    data = data_of(name, files)
    entry, remedy = _manifest(folder / MANIFEST)["files"][name], f"Remedy: delete {folder}"
    if sha256(folder / name) != entry["sha256"]:
        raise Damaged(folder / name, f"its hash is not that of the manifest. {remedy}")
    if entry["data"] != data or {record["data"] for record in records(folder / name)} != {data}:
        where = ", ".join(map(str, files))
        raise BadWeights(
            f"{folder / name} was trained on other data than {where}. {remedy}, and it is trained"
        )
    with atomic(output) as temporary:
        temporary.write_bytes((folder / name).read_bytes())
    try:
        check_networks([str(output)])
    except DataError:
        output.unlink()
        raise


def check(folder: Path) -> int:
    """Checks all files of a deposit by its manifest, and gives their number."""
    files = _manifest(folder / MANIFEST)["files"]
    for name, entry in files.items():
        path = folder / name
        if not path.is_file() or sha256(path) != entry["sha256"]:
            raise Damaged(path, "it is not the file that the deposit's manifest names")
    return len(files)


def _manifest(path: Path) -> dict[str, Any]:
    """The manifest of a deposit, if it is one."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        wrong = [*_faults(found)]
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        wrong = [str(error)]
    if wrong:
        raise Damaged(path, f"it is no manifest of a deposit: {'; '.join(wrong)}")
    return found


def _faults(manifest: Mapping[str, Any]) -> Iterator[str]:
    if manifest["format"] != FORMAT:
        yield f"its format is {manifest['format']!r} in place of {FORMAT}"
    for name, entry in manifest["files"].items():
        lacking = {"code", "data", "settings", "sha256", "bytes", "networks"} - entry.keys()
        if lacking or ".." in Path(name).parts or Path(name).is_absolute():
            yield f"the entry {name!r} is wrong"


def main(arguments: list[str]) -> None:
    """Writes a deposit and says where it is."""
    if not arguments:
        sys.exit(__doc__)
    results, *studies = arguments
    path = write_deposit(Path(results), studies or STUDIES)
    print(f"{path}: {size(path.stat().st_size)}, sha256 {sha256(path)}")


if __name__ == "__main__":
    with explained("deposit"):
        main(sys.argv[1:])
