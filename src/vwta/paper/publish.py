"""What is published of studies: their metrics, figures and tables, and where these come from.

A study may run in chunks, say a seed on each machine: the metrics of each are merged into those
that are published already, row by row (see :func:`~.collection.merge`), and figures and tables are
drawn from the merged ones. Weights and data are not published.
"""

from __future__ import annotations

__all__ = ["place_of", "publish", "read_notes"]

import filecmp
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from vwta.io.storage import atomic
from vwta.paper.collection import cost, facts
from vwta.paper.studies import study_of

RECORD = "provenance.json"
SHOWN = ("figures", "tables")  # folders of what readers see


def place_of(file: Path) -> Path:
    """Where a file of results is published, below the folder of all that is.

    Example:
        >>> place_of(Path("results/full/uci/metrics/sizes.parquet")).as_posix()
        'uci/sizes.parquet'
        >>> place_of(Path("results/full/figures/cells.png")).as_posix()
        'synthetic/figures/cells.png'
        >>> place_of(Path("results/full/synthetic/explorer.safetensors")).as_posix()
        'synthetic/explorer.safetensors'
    """
    kind = file.parent.name
    if kind in SHOWN:
        return Path(study_of(file.name), kind, file.name)
    return Path(file.parent.parent.name if kind == "metrics" else kind, file.name)


def read_notes(notes: Iterable[Path]) -> dict[str, str]:
    """What could not be drawn, and why: by names such as `figures/cells` or `tables/unused`.

    Arguments:
        notes: files of JSON, one of each job that draws; an empty object if all is well.
    """
    found: dict[str, str] = {}
    for note in notes:
        found |= json.loads(note.read_text(encoding="utf-8"))
    return found


def publish(
    files: Sequence[Path],
    missing: Mapping[str, str],
    place: Path,
    tier: str,
    pages: Callable[[Path], Mapping[str, str]],
) -> list[str]:
    """Puts files of studies in their places, with a record of each study and pages about all.

    The record (provenance.json) tells the revisions, packages, processors, hashes of data and CPU
    hours of all metrics, and the figures that are older than these. Nothing is changed before all
    is ready, and each file is replaced as a whole.

    Arguments:
        files: merged metrics, figures and tables, by their places in the results of a tier.
        missing: why figures and tables could not be drawn, by names such as `figures/cells`. They
            are not copied.
        place: folder of all that is published.
        tier: the tier that the files come from.
        pages: makes texts, such as that of README.md, by their names, from a folder like `place`.

    Returns:
        What was done, in lines for people.
    """
    there = [file for file in files if f"{file.parent.name}/{file.stem}" not in missing]
    found = {place_of(file): file for file in there}
    told, made = [], list(found)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, place.name)
        if place.exists():
            shutil.copytree(place, tree)
        for study in sorted({path.parts[0] for path in found}):
            own = {name: why for name, why in missing.items() if _study(Path(name)) == study}
            old = sorted(name for name in own if any(tree.glob(f"{study}/{name}.*")))
            new = {tree / path: file for path, file in found.items() if path.parts[0] == study}
            for target, file in new.items():
                _copy(file, target)
            _write(tree / study / RECORD, _record(tree / study, tier, old))
            made.append(Path(study, RECORD))
            told.append(f"{place / study}: {len(new) + 1} files")
            for name, why in own.items():
                stays = ", the old one stays" * (name in old)
                told.append(f"  {name} could not be drawn{stays}: {why}")
        texts = pages(tree)
        for name, text in texts.items():
            _write(tree / name, text)
        for path in (*made, *map(Path, texts)):
            _replace(tree / path, place / path)
    return told


def _study(file: Path) -> str:
    return place_of(file).parts[0]


def _record(folder: Path, tier: str, outdated: list[str]) -> str:
    """Where the metrics of a study come from, as JSON."""
    tables = sorted(folder.glob("*.parquet"))
    record = {"tier": tier, "outdated": outdated, **facts(tables), "cost": cost(tables)}
    return json.dumps(record, indent=1, sort_keys=True) + "\n"


def _replace(source: Path, target: Path) -> None:
    """Copies a file, unless it is there already."""
    if not target.exists() or not filecmp.cmp(source, target, shallow=False):
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    with atomic(target) as temporary:
        shutil.copyfile(source, temporary)


def _write(path: Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
