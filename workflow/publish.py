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

from vwta.storage import read_metadata

CPU = re.compile(r"done, ([0-9.]+) s of CPU time")


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
    record = {"tier": tier, **facts(tables), "cost": cost(results)}
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


def cost(results: Path) -> dict[str, dict[str, float]]:
    """Jobs and CPU hours of each rule, from what finished jobs say at the end of their logs."""
    found: dict[str, list[float]] = defaultdict(list)
    for log in Path(results, "logs").rglob("*.log"):
        rule = log.relative_to(results / "logs").parts[0].removesuffix(".log")
        seconds = CPU.search(log.read_text(encoding="utf-8", errors="replace"))
        if seconds:
            found[rule].append(float(seconds[1]))
    return {
        rule: {"jobs": len(values), "cpu_hours": round(sum(values) / 3600, 3)}
        for rule, values in sorted(found.items())
    }


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
