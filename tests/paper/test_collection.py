"""Tables of several parts: rows know where they come from, and the newest chunk counts."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from vwta.io.storage import read_metadata, read_table, write_table
from vwta.paper.collection import collect, cost, merge, read_parts, write_parts
from vwta.paper.metrics import COLUMNS, tidy


def chunk(folder: Path, code: str, *rows: dict[str, Any], dataset: str = "moons") -> Path:
    """A collected table of one part, whose path is the same in all chunks."""
    table = tidy([{"metric": "nll", "n": 10, **row} for row in rows], dataset=dataset)
    path = folder / f"{code}.parquet"
    write_parts(path, {"results/metrics.parquet": (table, {"provenance": {"code": code}})})
    return path


def merged(folder: Path, *chunks: Path) -> Path:
    path = folder / "-".join(chunk.stem for chunk in chunks)
    for one in chunks:
        merge(path, one, path)
    return path


def owners(path: Path) -> dict[str, list[float]]:
    """Values by the code that found them."""
    parts = read_parts(path).values()
    return {facts["provenance"]["code"]: rows["value"].tolist() for rows, facts in parts}


def test_parts_say_which_rows_are_theirs(tmp_path: Path) -> None:
    for name, seeds in (("a", [2, 1, None]), ("b", [3])):
        table = tidy([{"seed": seed, "value": 0.5} for seed in seeds], protocol=name)
        write_table(tmp_path / name, table, {"provenance": {"code": name}})
    collect([tmp_path / "a", tmp_path / "b"], tmp_path / "both")
    first, second = read_metadata(tmp_path / "both")["parts"].values()
    assert first["rows"] == {"count": 3, "protocol": ["a"], "seed": [1, 2]}
    assert second == {
        "provenance": {"code": "b"},
        "rows": {"count": 1, "protocol": ["b"], "seed": [3]},
    }
    rows, facts = read_parts(tmp_path / "both")[str(tmp_path / "b")]
    assert rows["seed"].tolist() == [3]
    assert facts == {"provenance": {"code": "b"}}


def test_rows_about_the_same_are_replaced(tmp_path: Path) -> None:
    old = chunk(tmp_path, "old", {"seed": 1, "value": 1.0}, {"value": 2.0}, {"h": 0.1, "value": 3})
    new = chunk(tmp_path, "new", {"seed": 2, "value": 4.0}, {"value": 5.0, "n": 20})
    path = merged(tmp_path, old, new)
    assert owners(path) == {"old": [1.0, 3.0], "new": [4.0, 5.0]}
    assert read_table(path).dtypes.astype(str).to_dict() == COLUMNS
    assert len(read_metadata(path)["parts"]) == 2
    assert all(name.startswith("results/metrics.parquet ") for name in read_parts(path))


def test_part_without_rows_is_dropped(tmp_path: Path) -> None:
    row = {"seed": 1, "value": 1.0}
    path = merged(tmp_path, chunk(tmp_path, "old", row), chunk(tmp_path, "new", row))
    assert owners(path) == {"new": [1.0]}


def test_tuned_bandwidth_takes_the_place_of_another(tmp_path: Path) -> None:
    def found(h: float, tuned: bool) -> dict[str, Any]:
        return {"h": h, "tuned": tuned, "value": h}

    old = chunk(tmp_path, "old", found(0.11, True), found(0.1, False))
    new = chunk(tmp_path, "new", found(0.12, True), found(0.2, False))
    assert owners(merged(tmp_path, old, new)) == {"old": [0.1], "new": [0.12, 0.2]}


def test_curve_is_replaced_as_a_whole(tmp_path: Path) -> None:
    for name, epochs in (("old", 3), ("new", 2)):
        facts = {"protocol": "paper", "dataset": "moons", "model": "wta", "K": 9}
        seeds = (1, 2) if name == "old" else (2,)
        table = pd.DataFrame(
            [
                {**facts, "seed": seed, "epoch": epoch, "loss": 0.5}
                for seed in seeds
                for epoch in range(epochs)
            ]
        )
        write_parts(tmp_path / name, {"a": (table, {"provenance": {"code": name}})})
    table = read_table(merged(tmp_path, tmp_path / "old", tmp_path / "new"))
    assert table.groupby("seed")["epoch"].agg(list).to_dict() == {1: [0, 1, 2], 2: [0, 1]}


def test_order_and_repetition_do_not_matter(tmp_path: Path) -> None:
    chunks = [
        chunk(tmp_path, code, {"seed": seed, "value": seed}, {"seed": seed, "K": 9, "value": 0.5})
        for code, seed in (("a", 1), ("b", 2), ("c", 3))
    ]
    chunks.append(chunk(tmp_path, "d", {"seed": 1, "value": 0.0}, dataset="gaussian"))
    once = merged(tmp_path, *chunks).read_bytes()
    assert merged(tmp_path, *chunks[::-1]).read_bytes() == once
    assert merged(tmp_path, *chunks, *chunks[:2]).read_bytes() == once


def test_unaccounted_rows_are_named(tmp_path: Path) -> None:
    table = tidy([{"value": 0.5}])
    write_table(tmp_path / "old", table, {"parts": {"a": {"provenance": {}}}})
    with pytest.raises(ValueError, match=r"account for 0 of 1 rows\. Remedy: collect it again"):
        merge(tmp_path / "none", tmp_path / "old", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_job_with_two_tables_is_counted_once(tmp_path: Path) -> None:
    job = {"revision": "abc", "made": "noon", "cpu_seconds": 36}
    training = {**job, "cpu_seconds": 360, "model": "wta", "settings": {}}
    records = {"evaluation": {**job, "trainings": [training]}, "searches": job}
    for name, record in records.items():
        part = tidy([{"value": 0.5}]), {"provenance": record}
        write_parts(tmp_path / name, {f"results/{name}.parquet": part})
    assert cost([tmp_path / name for name in records]) == {
        "evaluation": {"files": 1, "cpu_hours": 0.01, "unknown": 0},
        "wta network": {"files": 1, "cpu_hours": 0.1, "unknown": 0},
    }
