"""Checkpoints: hashed, checked, the one before kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from vwta.training.checkpoints import Selection, read_checkpoint, write_checkpoint

PLACES = ({"epoch": 1, "curve": [0.1, 1e300]}, {"epoch": 2, "curve": []})


def tensors(seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "weight": torch.randn(5, 3, generator=generator).t(),  # not contiguous
        "half": torch.randn(7, generator=generator).half(),
        "step": torch.tensor(seed),
        "none": torch.empty(0, 4),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two checkpoints were written, one after the other."""
    path = tmp_path / "folder" / "seed1.checkpoint"
    for seed, place in enumerate(PLACES):
        write_checkpoint(path, tensors(seed), place)
    return path


def is_checkpoint(found: tuple[dict[str, Tensor], object] | None, seed: int) -> bool:
    if found is None:
        return False
    wanted = tensors(seed)
    same = all(torch.equal(value, wanted[name]) for name, value in found[0].items())
    return same and found[0].keys() == wanted.keys() and found[1] == PLACES[seed]


def test_newest_is_read(path: Path) -> None:
    assert is_checkpoint(read_checkpoint(path), 1)


def test_none_is_none(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path / "nothing") is None


@pytest.mark.parametrize("length", [0, 5, 8, 100, -1])
def test_truncated(path: Path, length: int, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(path.read_bytes()[:length])
    assert is_checkpoint(read_checkpoint(path), 0)
    assert f"{path} is damaged" in caplog.text


def test_any_flipped_bit_is_noticed(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever bit flips: the file is either left aside, or what is read is right."""
    whole = path.read_bytes()
    noticed = 0
    for position in range(0, len(whole), 3):
        content = bytearray(whole)
        content[position] ^= 1 << position % 8
        path.write_bytes(content)
        caplog.clear()
        found = read_checkpoint(path)
        assert is_checkpoint(found, 1) or is_checkpoint(found, 0)
        noticed += is_checkpoint(found, 0)
    assert noticed > len(whole) // 6  # nearly all; padding and blanks carry nothing


def test_changed_value_is_noticed(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The file is a sound one for its format, and yet not what was written."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    changed = load_file(path)
    changed["weight"][0, 0] += 1e-3
    save_file(changed, path, metadata)
    assert is_checkpoint(read_checkpoint(path), 0)
    assert "its hash does not match" in caplog.text


def test_both_damaged(path: Path) -> None:
    for file in path.parent.iterdir():
        file.write_bytes(b"nothing of use")
    assert read_checkpoint(path) is None


def test_damaged_file_never_takes_the_place_of_a_whole_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if the next one cannot be written."""

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    path.write_bytes(b"nothing of use")
    assert is_checkpoint(read_checkpoint(path), 0)
    monkeypatch.setattr("vwta.training.checkpoints.write_tensors", full)
    with pytest.raises(OSError, match="No space left"):
        write_checkpoint(path, tensors(1), PLACES[1])
    assert is_checkpoint(read_checkpoint(path), 0)


def test_killed_between_the_two(path: Path) -> None:
    """The old file has its new name already, the new one is not there yet."""
    path.unlink()
    assert is_checkpoint(read_checkpoint(path), 0)


def test_selection_of_one_network() -> None:
    """Buffers without axes, such as counts of batches, are selected as well."""
    best = Selection(
        torch.tensor(torch.inf, dtype=torch.float64),
        torch.tensor(0),
        {"weight": torch.zeros(2, 3), "count": torch.tensor(0)},
    )
    for epoch, value in enumerate([3.0, 1.0, 2.0, 1.0]):
        state = {"weight": torch.full((2, 3), float(epoch)), "count": torch.tensor(epoch)}
        best.update(torch.tensor(value, dtype=torch.float64), epoch, state)
    assert (best.lowest.item(), best.epoch.item()) == (1.0, 1)
    assert torch.equal(best.weights["weight"], torch.ones(2, 3))
    assert best.weights["count"].item() == 1


def test_selection_of_each_of_some_networks() -> None:
    values = torch.tensor([[3.0, 1.0, 2.0], [2.0, 5.0, torch.nan], [4.0, 0.5, 1.0]])
    best = Selection(
        torch.full((3,), torch.inf), torch.zeros(3, dtype=torch.long), {"weight": torch.zeros(3, 2)}
    )
    for epoch, row in enumerate(values):
        best.update(row, epoch, {"weight": torch.full((3, 2), float(epoch))})
    assert best.epoch.tolist() == [1, 2, 2]
    assert best.lowest.tolist() == [2.0, 0.5, 1.0]
    assert torch.equal(best.weights["weight"], torch.tensor([[1.0] * 2, [2.0] * 2, [2.0] * 2]))
