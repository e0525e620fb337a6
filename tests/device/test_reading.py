"""Features that a thread reads ahead for a GPU: the same rows, in the same order."""

import threading

import numpy as np
import pytest
import torch
from device.pretended import DEVICE, home, places, pretended
from torch import Tensor

from vwta.paper.audio.frames import MappedRows
from vwta.paper.audio.symmetries import TurnedRows

MAIN = threading.get_ident()
STORED = np.random.default_rng(0).normal(size=(11, 8, 3, 4)).astype(np.float16)
ORDER = torch.randperm(11, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """Rows that were read, and whether by another thread."""
    found: list[tuple[int, bool]] = []
    row = MappedRows._row

    def watched(self: MappedRows, number: int) -> np.ndarray:
        found.append((number, threading.get_ident() != MAIN))
        return row(self, number)

    monkeypatch.setattr(MappedRows, "_row", watched)
    return found


def rows(device: torch.device | str) -> MappedRows:
    return MappedRows([STORED[:5], STORED[5:]])[ORDER].to(device)


def batches(found: MappedRows | TurnedRows, starts: range, size: int) -> list[Tensor]:
    return [found[start : start + size] for start in starts]


def test_batches_are_those_of_the_cpu_and_read_ahead(read: list[tuple[int, bool]]) -> None:
    expected = batches(rows("cpu"), range(0, 11, 4), 4)
    assert not any(ahead for _, ahead in read)
    read.clear()
    with pretended() as waits:
        found = batches(rows(DEVICE), range(0, 11, 4), 4)
        assert waits == []
    assert places(found) == {DEVICE.type}
    for one, other in zip(home(found), expected, strict=True):
        assert torch.equal(one, other)
    assert read == [(number, place >= 4) for place, number in enumerate(ORDER.tolist())]


def test_another_slice_than_the_next_one_is_read_when_asked_for() -> None:
    expected = rows("cpu")
    with pretended():
        found = rows(DEVICE)
        for which in (slice(4, 8), slice(0, 2), slice(0, 2), slice(2, 4), slice(9, 99), slice(4)):
            assert torch.equal(home(found[which]), expected[which])


def test_turned_rows_are_read_ahead(read: list[tuple[int, bool]]) -> None:
    which = torch.arange(11)
    expected = batches(TurnedRows(rows("cpu"), which), range(0, 11, 3), 3)
    read.clear()
    with pretended() as waits:
        found = batches(TurnedRows(rows("cpu"), which).to(DEVICE), range(0, 11, 3), 3)
        assert waits == []
    for one, other in zip(home(found), expected, strict=True):
        assert torch.equal(one, other)
    assert sum(ahead for _, ahead in read) == 8


def test_memory_is_pinned_for_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[Tensor] = []
    monkeypatch.setattr(Tensor, "pin_memory", lambda tensor: pinned.append(tensor) or tensor)
    rows("cpu")[0:2]
    with pretended():
        rows(DEVICE)[0:2]
    assert pinned == []
    read = rows("cuda")._read(slice(0, 2))
    assert len(pinned) == 1
    assert torch.equal(read.float(), rows("cpu")[0:2])


def test_an_error_of_the_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    with pretended():
        found = rows(DEVICE)
        found[0:4]
        assert found._ahead is not None
        found._ahead.rows.result()
        monkeypatch.setattr(MappedRows, "_row", lambda self, number: 1 / 0)
        found[4:8]
        with pytest.raises(ZeroDivisionError):
            found[8:11]
