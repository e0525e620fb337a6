"""Files are written completely or not at all, and finished chunks survive a failure."""

from pathlib import Path

import pandas as pd
import pytest
import torch

from vwta.io import storage


def test_tensors_come_back(tmp_path: Path) -> None:
    tensors = {"a": torch.randn(3, 2), "b": torch.arange(4)[::2]}
    metadata = {"seed": 3, "settings": {"widths": [2, 3]}, "none": None}
    storage.write_tensors(tmp_path / "deep" / "file", tensors, metadata)
    found, facts = storage.read_tensors(tmp_path / "deep" / "file")
    assert facts == metadata
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_tables_come_back(tmp_path: Path) -> None:
    table = pd.DataFrame({"K": pd.array([9, None], dtype="Int64"), "h": [0.1, None]})
    storage.write_table(tmp_path / "t.parquet", table, {"provenance": {"seed": 1}})
    pd.testing.assert_frame_equal(storage.read_table(tmp_path / "t.parquet"), table)
    assert storage.read_metadata(tmp_path / "t.parquet") == {"provenance": {"seed": 1}}


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with storage.atomic(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_finished_chunks_survive_a_failure(tmp_path: Path) -> None:
    outputs = {seed: tmp_path / "declared" / f"seed{seed}.txt" for seed in (1, 2, 3)}
    made = []

    def make(seed: int, path: Path) -> None:
        made.append(seed)
        if made == [1, 2]:
            raise RuntimeError("the job is killed")
        with storage.atomic(path) as temporary:
            temporary.write_text(str(seed))

    folder = tmp_path / "unfinished" / "key"
    with pytest.raises(RuntimeError):
        storage.in_chunks(outputs, make, folder)
    assert not any(path.exists() for path in outputs.values())
    storage.in_chunks(outputs, make, folder)
    assert made == [1, 2, 2, 3]
    assert [path.read_text() for path in outputs.values()] == ["1", "2", "3"]
    assert not folder.exists()


def test_copies_where_links_are_impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(storage.os, "link", refuse)
    out = tmp_path / "out.txt"
    storage.in_chunks({1: out}, lambda seed, path: _write(path), tmp_path / "chunks")
    assert out.read_text() == "content"


def _write(path: Path) -> None:
    with storage.atomic(path) as temporary:
        temporary.write_text("content")


def test_key_depends_on_every_setting() -> None:
    assert storage.key(a=1, b={"c": [1, 2]}) == storage.key(b={"c": [1, 2]}, a=1)
    assert storage.key(a=1, b={"c": [1, 2]}) != storage.key(a=1, b={"c": [2, 1]})
