"""Files are written completely or not at all, and finished chunks survive a failure."""

from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
import torch

from vwta.io import storage
from vwta.io.errors import Damaged


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


@pytest.mark.parametrize("name", ["a.safetensors", "b.parquet", "c.npy"])
def test_wrong_bytes_are_damage_or_do_no_harm(name: str, tmp_path: Path) -> None:
    """Whatever happens to bytes: a reader says that the file is damaged, or gives the right values.

    An array has no checksum: its bytes are not changed here, only cut.
    """
    path = tmp_path / name
    tensors = {"w": torch.randn(3, 2), "n": torch.arange(3), "none": torch.empty(0)}
    storage.write_tensors(tmp_path / "a.safetensors", tensors, {"provenance": {"K": 3}})
    table = pd.DataFrame({"a": np.random.default_rng(0).normal(size=60), "b": ["x", "y"] * 30})
    storage.write_table(tmp_path / "b.parquet", table, {"provenance": {"K": 3}})
    np.save(tmp_path / "c.npy", np.ones((4, 3)))
    random = Random(name)
    whole = path.read_bytes()
    contents = [whole[:length] for length in range(0, len(whole), max(1, len(whole) // 100))]
    for position in range(0, len(whole), 7) if name != "c.npy" else []:
        content = bytearray(whole)
        content[position] ^= 1 << random.randrange(8)
        contents.append(bytes(content))
    said = []
    for content in contents:
        path.write_bytes(content)
        try:
            _compare_with(path, tensors, table)
        except Damaged as error:
            said.append(str(error))
    assert len(said) > 0.6 * len(contents)
    assert all(text.startswith(f"{path} is damaged: ") for text in said)
    assert not any("\n" in text for text in said)


def _compare_with(path: Path, tensors: dict[str, torch.Tensor], table: pd.DataFrame) -> None:
    if path.suffix == ".safetensors":
        found, facts = storage.read_tensors(path, hashed=True)
        assert facts == {"provenance": {"K": 3}}
        assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    elif path.suffix == ".parquet":
        pd.testing.assert_frame_equal(storage.read_table(path), table)
    else:
        assert np.array_equal(storage.read_array(path), np.ones((4, 3)))


def test_missing_files_are_not_damaged(tmp_path: Path) -> None:
    for read in (storage.read_tensors, storage.read_table, storage.read_array):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")
