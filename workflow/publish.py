"""Put the small outcome of a study below docs/results: metrics, figures, where they come from.

Usage: python workflow/publish.py TIER STUDY

Copies what is finished of results/TIER: the study's metrics/*.parquet, the figures as PNG, and
writes provenance.json: revisions, packages, processors, hashes of the data, and what the jobs cost.
No weights, no data.
"""

import json
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from safetensors import safe_open

from vwta.storage import read_metadata


def main(tier: str, study: str) -> None:
    """Copy the outcome of a study at a tier, and say what was copied."""
    results, place = Path("results", tier), Path("docs", "results", study)
    tables = sorted(Path(results, study, "metrics").glob("*.parquet"))
    if not tables:
        sys.exit(
            f"{results / study / 'metrics'} has no tables. Remedy: make reproduce TIER={tier}, "
            f"or snakemake {study}"
        )
    pictures = sorted(Path(results, "figures").glob("*.png"))
    (place / "figures").mkdir(parents=True, exist_ok=True)
    for file in tables:
        shutil.copy(file, place / file.name)
    for file in pictures:
        shutil.copy(file, place / "figures" / file.name)
    record = {"tier": tier, **facts(tables), "cost": cost(results / study)}
    text = json.dumps(record, indent=1, sort_keys=True)
    (place / "provenance.json").write_text(text + "\n", encoding="utf-8")
    print(f"{place}: {len(tables)} tables, {len(pictures)} figures, provenance.json")


def facts(tables: list[Path]) -> dict[str, list]:
    """What all records in the tables' metadata say of how they came about, each value once."""
    found = defaultdict(set)
    for record in records([read_metadata(table) for table in tables]):
        for name in ("revision", "python", "processor", "accelerator", "data"):
            found[name].add(record.get(name))
        packages = record.get("packages", {})
        found["packages"].add(", ".join(f"{k} {v}" for k, v in sorted(packages.items())))
    return {name: sorted(filter(None, values)) for name, values in found.items()}


def records(value: object) -> Iterator[dict]:
    """All records of provenance within a value, at any depth."""
    if isinstance(value, dict):
        if "revision" in value:
            yield value
        for inner in value.values():
            yield from records(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from records(inner)


def cost(folder: Path) -> dict[str, dict[str, float]]:
    """Files of each kind and the CPU hours of the jobs that made them, by their own records.

    Kinds are the files' names without their numbers. A job that makes several files says in each
    how long it had taken so far; files without a record of it are counted as `unknown`.
    """
    found: dict[str, list[float | None]] = defaultdict(list)
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".parquet", ".safetensors") and file.parent.name != "metrics":
            read = read_metadata if file.suffix == ".parquet" else read_tensors_metadata
            kind = f"{file.parent.parent.name} " if file.stem.startswith("seed") else ""
            kind += re.sub(r"_?seed\d+", "", file.stem) or "network"
            found[kind].append(read(file).get("provenance", {}).get("cpu_seconds"))
    return {
        kind: {
            "files": len(values),
            "cpu_hours": round(sum(filter(None, values)) / 3600, 3),
            "unknown": values.count(None),
        }
        for kind, values in sorted(found.items())
    }


def read_tensors_metadata(path: Path) -> dict:
    """Metadata of a file of tensors, without the tensors."""
    with safe_open(path, framework="np") as file:
        return {name: json.loads(value) for name, value in (file.metadata() or {}).items()}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
