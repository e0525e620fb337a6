"""Randomness: one independent stream for each purpose, whatever happened before."""

from __future__ import annotations

__all__ = ["generator", "seeded", "stream"]

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import torch

ONE_AT_A_TIME = RLock()  # threads that give torch's own generator a seed


def stream(seed: int, *purpose: str | int) -> int:
    """Seed of the random stream that serves a purpose.

    Streams with other purposes are independent, so that the order in which they are drawn from does
    not matter: epoch 7 has the same batches whether or not epochs 0 to 6 ran in this process.

    Example:
        >>> stream(1234, "batches", 7) == stream(1234, "batches", 8)
        False
    """
    text = "/".join(map(str, (seed, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def generator(seed: int, *purpose: str | int) -> torch.Generator:
    """Random generator on the CPU for a purpose, see :func:`stream`."""
    return torch.Generator().manual_seed(stream(seed, *purpose))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Gives torch's own generator a seed, for one thread at a time; then it is as it was before.

    This is for code that takes no generator. All other threads that draw from torch's own meanwhile
    share it, so pass :func:`generator` wherever it is taken.
    """
    with ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
