"""RO-Crate metadata of published results: inputs, code, actions and outputs, for machines to read.

Usage: python -m vwta.workflow.crate [FOLDER]

FOLDER is docs/results if none is given; its ro-crate-metadata.json is written. Each study is an
action: files from elsewhere with their checksums go in, revisions of this workflow are its
instruments, and metrics, figures and tables with their sha256 come out.
"""

from __future__ import annotations

__all__ = ["METADATA", "describe", "differing", "write_crate"]

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from vwta.io.errors import DataError, explained
from vwta.io.storage import atomic, sha256
from vwta.paper.collection import records
from vwta.workflow.catalogue import published_runs
from vwta.workflow.digest import SOURCE

METADATA = "ro-crate-metadata.json"
VERSION = "1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"  # that of runs of any program
TYPES = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".safetensors": "application/octet-stream",
    ".tex": "application/x-tex",
}


def write_crate(folder: Path, root: Path) -> Path:
    """Writes the metadata of published results; the same results give the same bytes.

    Arguments:
        folder: of all that is published.
        root: folder of the workflow's sources.
    """
    path = folder / METADATA
    text = json.dumps(describe(folder, root), indent=1, ensure_ascii=False, sort_keys=True)
    with atomic(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")
    return path


def describe(folder: Path, root: Path) -> dict[str, Any]:
    """The metadata of published results as JSON-LD.

    Arguments:
        folder: of all that is published.
        root: folder of the workflow's sources.
    """
    from rocrate.rocrate import ROCrate

    runs = published_runs(folder)
    if not runs:
        raise DataError(f"{folder} has no published results. Remedy: make publish")
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    crate = ROCrate(version=VERSION)
    crate.name = f"Results of {citation['title']}"
    crate.description = (
        f"Reproduction of the paper: {citation['preferred-citation']['title']}. Metrics, figures "
        "and tables, with the actions that made them."
    )
    crate.license = f"https://spdx.org/licenses/{citation['license']}"
    crate.root_dataset["conformsTo"] = {"@id": PROFILE}
    _add(crate, PROFILE, {"@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"})
    times = {study: _times(folder / study) for study in runs}
    crate.root_dataset["datePublished"] = max(end for _, end in times.values())
    actions = [
        _add_action(crate, folder, root, study, record, times[study])
        for study, record in runs.items()
    ]
    crate.root_dataset["mentions"] = actions
    found: dict[str, Any] = crate.metadata.generate()
    found["@graph"].sort(key=lambda entity: entity["@id"])
    return found


def differing(folder: Path) -> list[str]:
    """Published files that the metadata beside them do not describe as they are, by name.

    Arguments:
        folder: of all that is published, with its metadata.
    """
    graph = json.loads((folder / METADATA).read_text(encoding="utf-8"))["@graph"]
    said = {entity["@id"]: entity["sha256"] for entity in graph if "contentSize" in entity}
    files = (path for study in published_runs(folder) for path in _published(folder / study))
    here = {path.relative_to(folder).as_posix(): sha256(path) for path in files}
    return sorted(name for name in said.keys() | here.keys() if said.get(name) != here.get(name))


def _published(folder: Path) -> list[Path]:
    """The files of a published study."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _add_action(
    crate: Any,
    folder: Path,
    root: Path,
    study: str,
    record: Mapping[str, Any],
    times: tuple[str, str],
) -> Any:
    """The action that made the results of a study."""
    results = []
    for path in _published(folder / study):
        properties = {
            "name": path.stem,
            "encodingFormat": TYPES.get(path.suffix, "application/octet-stream"),
            "contentSize": str(path.stat().st_size),
            "sha256": sha256(path),
        }
        name = path.relative_to(folder).as_posix()
        results.append(crate.add_file(path, name, properties=properties))
    about = {
        "@type": "CreateAction",
        "name": f"Study {study}, tier {record['tier']}",
        "description": f"snakemake {study}; Python {', '.join(record['python'])}; "
        f"{'; '.join(record['packages'])}; on {', '.join(record['processor'])}",
        "startTime": times[0],
        "endTime": times[1],
        "instrument": [_add_code(crate, name) for name in record["revision"]],
        "object": [_add_input(crate, entry) for entry in _inputs(root, record)],
        "result": results,
    }
    return _add(crate, f"#{study}", about)


def _add_code(crate: Any, revision: str) -> Any:
    """A revision of the workflow; `-dirty` says that files differed from it."""
    about = {"@type": "SoftwareSourceCode", "name": "vwta", "version": revision}
    about |= {"programmingLanguage": "Python, Snakemake"}
    return _add(crate, f"#vwta-{revision}", about)


def _inputs(root: Path, record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Entries of config/data.yaml whose content is among the data of a study's record."""
    table = yaml.safe_load((root / "config/data.yaml").read_text(encoding="utf-8"))
    known = " ".join(record["data"])
    for entries in table.values():
        for name, entry in entries.items():
            sums = [one.partition(":")[2] for one in entry.get("file", {}).get("checksums", ())]
            here = [one for one in sums if one in known]
            if here:
                yield {**entry, "name": name, "sha256": here[0]}


def _add_input(crate: Any, entry: Mapping[str, Any]) -> Any:
    """A file from elsewhere, by its first address."""
    urls = [source["url"] for source in entry["file"]["sources"] if "url" in source]
    about = {"name": entry["name"], "sha256": entry["sha256"]}
    about |= {name: entry[name] for name in ("citation",) if name in entry}
    about |= {"conditionsOfAccess": entry["licence"]} if "licence" in entry else {}
    if not urls:  # it comes with a package
        return _add(crate, f"#{entry['name']}", {"@type": "CreativeWork", **about})
    return crate.get(urls[0]) or crate.add_file(urls[0], properties=about)


def _times(folder: Path) -> tuple[str, str]:
    """When the first and the last record behind a study's tables were made."""
    made = [record["made"] for _, record in records(sorted(folder.glob("*.parquet")))]
    return min(made), max(made)


def _add(crate: Any, name: str, about: Mapping[str, Any]) -> Any:
    """An entity of the crate, once."""
    from rocrate.model.contextentity import ContextEntity

    return crate.get(name) or crate.add(ContextEntity(crate, name, properties=dict(about)))


def main(arguments: list[str]) -> None:
    """Writes the metadata and says where they are."""
    folder = Path(arguments[0]) if arguments else SOURCE.parent / "docs/results"
    print(write_crate(folder, SOURCE.parent))


if __name__ == "__main__":
    with explained("crate"):
        main(sys.argv[1:])
