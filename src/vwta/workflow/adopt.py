"""Evidence that a change of code changes no bits, so that nothing has to be made again.

Usage: python -m vwta.workflow.adopt REVISION [STAGE ...]

A stage is a script of the workflow, such as train_synthetic. The jobs of each stage whose digest
differs from that at the revision are run with both codes, on the same inputs, at the smoke tier and
with the sizes of config/adopt.yaml. If all files that they make have the same content, a row of
config/adopted.csv says that the two digests are equal: commit it with the change. Adopt a change
before you run with it, since results that carry the new digest would count as stale afterwards.
"""

from __future__ import annotations

__all__ = ["adopt", "differences", "digests", "record", "stages_of"]

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

from vwta.io.errors import DataError, explained
from vwta.io.storage import read_metadata, read_table
from vwta.workflow.checkout import check_out
from vwta.workflow.digest import ADOPTED, SOURCE

RULES = {  # others as the stage
    name: (name, f"{name}_stack") for name in ("train_synthetic", "train_synthetic_local")
}
PARTS = ("CITATION.cff", "Snakefile", "config", "envs", "profiles", "src", "workflow")
COLUMNS = ("stage", "digest", "equals", "revision", "files")
RECORDS = {"provenance", "costs", "sha256"}  # metadata that say how content came about
UNCOMPARED = {"logs", "benchmarks", ".unfinished"}
DIGESTS = """
import json, sys
from pathlib import Path
from vwta.workflow.digest import digest
print(json.dumps({name: digest(Path("workflow/scripts", f"{name}.py")) for name in sys.argv[1:]}))
"""
Run = Callable[[Path, Sequence[str]], None]


def adopt(root: Path, revision: str, stages: Sequence[str], run: Run | None = None) -> list[str]:
    """Compares stages at a revision with those of today; gives a line for each that has changed.

    Those without a difference are recorded. Raises :class:`~vwta.io.errors.DataError` if some have
    one, after all have been compared.

    Arguments:
        root: folder of a clone, with the change in it.
        revision: name of the revision to compare with.
        stages: names of scripts, all whose digest has changed if there are none.
        run: runs Snakemake in a folder.
    """
    lines, wrong = [], []
    with TemporaryDirectory(prefix="adopt") as place:
        old, new = Path(place, "old"), Path(place, "new")
        commit = check_out(root, revision, old, PARTS)
        _copy_sources(root, new)
        before, after = (digests(tree, stages or stages_of(old, new)) for tree in (old, new))
        changed = [name for name in after if before[name] != after[name]]
        for stage in changed:
            files = list(_compare(stage, old, new, run or snakemake))
            found = [line for _, why in files for line in why]
            if found or not files:
                wrong.append(f"{stage}: {'; '.join(found) or 'no job of it was run'}")
                continue
            record(root, stage, after[stage], before[stage], commit, len(files))
            lines.append(f"{stage}: {after[stage]} equals {before[stage]} in {len(files)} files")
    if wrong:
        text = "\n".join([*lines, *wrong])
        raise DataError(f"{text}\nRemedy: these stages have to be run again")
    return lines


def _compare(stage: str, old: Path, new: Path, run: Run) -> Iterator[tuple[Path, list[str]]]:
    """Files that a stage makes with the new code, and their differences from the old one's."""
    sizes = Path("config", "adopt.yaml")
    settings = ["--configfile", "config/smoke.yaml", str(new / sizes)]
    rules = RULES.get(stage, (stage,))
    run(old, [*settings, "--until", *rules])
    for name in ("results", "data"):
        shutil.rmtree(new / name, ignore_errors=True)
        if (old / name).exists():
            shutil.copytree(old / name, new / name)
    begun = {path: path.stat().st_mtime_ns for path in _made(new)}
    forced = ["--rerun-triggers", "mtime", "--forcerun", *rules, "--until", *rules]
    run(new, [*settings, *forced])
    for path in _made(new):
        if begun.get(path) != path.stat().st_mtime_ns:
            inner = path.relative_to(new)
            yield inner, [f"{inner} {why}" for why in differences(old / inner, path)]


def _made(tree: Path) -> list[Path]:
    """Files of results in a tree, without logs."""
    files = (path for path in (tree / "results").rglob("*") if path.is_file())
    return sorted(p for p in files if not UNCOMPARED & {*p.relative_to(tree).parts})


def differences(one: Path, other: Path) -> list[str]:
    """In what the content of two files of results differs, whatever made them.

    Arguments:
        one: a table, tensors, a bundle of them, or any other file.
        other: a file of the same kind.
    """
    if not one.exists():
        return ["is made by the new code alone"]
    if one.suffix == ".parquet":
        same = read_table(one).equals(read_table(other))
        facts = [_content(read_metadata(path)) for path in (one, other)]
        return ["has other rows"] * (not same) + ["has other metadata"] * (facts[0] != facts[1])
    if one.suffix == ".safetensors":
        return _tensor_differences(one.read_bytes(), other.read_bytes())
    if one.suffix == ".zip":
        with ZipFile(one) as first, ZipFile(other) as second:
            if sorted(first.namelist()) != sorted(second.namelist()):
                return ["has other members"]
            names = first.namelist()
            return [
                f"/{name} {why}"
                for name in names
                for why in _tensor_differences(first.read(name), second.read(name))
            ]
    return ["has other bytes"] * (one.read_bytes() != other.read_bytes())


def _tensor_differences(one: bytes, other: bytes) -> list[str]:
    """In what two files of safetensors differ: a header of some length, then the numbers."""
    found = []
    headers, numbers = [], []
    for content in (one, other):
        end = 8 + int.from_bytes(content[:8], "little")
        headers.append(json.loads(content[8:end]))
        numbers.append(content[end:])
    facts = [_content(header.pop("__metadata__", {})) for header in headers]
    if headers[0] != headers[1] or numbers[0] != numbers[1]:
        found.append("has other tensors")
    if facts[0] != facts[1]:
        found.append("has other metadata")
    return found


def _content(value: Any) -> Any:
    """Metadata without records of how they came about, at any depth."""
    if isinstance(value, Mapping):
        return {key: _content(inner) for key, inner in value.items() if key not in RECORDS}
    return value


def record(root: Path, stage: str, digest: str, equals: str, revision: str, files: int) -> None:
    """Adds a row to the table of adopted digests.

    Arguments:
        root: folder of the workflow's sources.
        stage: name of the script.
        digest: that of the new code.
        equals: that of the old one.
        revision: the revision of the old one.
        files: how many files were compared.
    """
    path = root / ADOPTED
    rows = []
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["digest"] != digest]
    rows.append(dict(zip(COLUMNS, (stage, digest, equals, revision, str(files)), strict=True)))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: [row[name] for name in COLUMNS[:2]]))


def _copy_sources(root: Path, tree: Path) -> None:
    """Copies the sources as they are, with changes that are not committed."""
    tree.mkdir()
    for name in PARTS:
        copy: Callable[..., Any] = shutil.copytree if (root / name).is_dir() else shutil.copy2
        copy(root / name, tree / name)


def stages_of(*trees: Path) -> list[str]:
    """Scripts that all trees have; a figure's digest depends on what it shows."""
    names = [{path.stem for path in (tree / "workflow/scripts").glob("*.py")} for tree in trees]
    return sorted(set.intersection(*names) - {"figure"})


def digests(tree: Path, stages: Sequence[str]) -> dict[str, str]:
    """Digests of stages by the code of a tree itself, which results carry."""
    command = [sys.executable, "-c", DIGESTS, *stages]
    done = subprocess.run(
        command, cwd=tree, env=_environment(tree), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DataError(f"There are no digests of {', '.join(stages)}: {done.stderr[-500:]}")
    found: dict[str, str] = json.loads(done.stdout)
    return found


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree / "src")}


def snakemake(tree: Path, arguments: Sequence[str]) -> None:
    """Runs Snakemake with the code of a tree, to adopt or refuse it."""
    command = [sys.executable, "-m", "snakemake", "--quiet", "all", *arguments]
    done = subprocess.run(
        command, cwd=tree, env=_environment(tree), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DataError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def main(arguments: list[str]) -> None:
    """Compares stages with those of a revision, and prints what was adopted."""
    if not arguments:
        sys.exit(__doc__)
    revision, *stages = arguments
    lines = adopt(SOURCE.parent, revision, stages)
    print("\n".join(lines) or f"No digest has changed since {revision}.")


if __name__ == "__main__":
    with explained("adopt"):
        main(sys.argv[1:])
