"""Randomness: one independent stream for each purpose, whatever happened before."""

from __future__ import annotations

__all__ = ["generator", "stream"]

import hashlib

import torch


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
