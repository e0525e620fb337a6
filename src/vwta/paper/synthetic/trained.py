"""Trained networks, read back from their files."""

from __future__ import annotations

__all__ = ["load_network"]

from pathlib import Path
from typing import Any

from torch import nn

from vwta.io.errors import restored_from
from vwta.io.storage import below, read_tensors
from vwta.nn.networks import restore


def load_network(path: Path, kept_by: str) -> tuple[nn.Module, dict[str, Any]]:
    """Network of a file of trained weights, in float64, and the file's metadata.

    Arguments:
        path: the file.
        kept_by: criterion of the kept weights, `loss` or `distance`. Networks other than WTA have
            no winner's distance: theirs are kept by the loss in any case.
    """
    tensors, metadata = read_tensors(path)
    with restored_from(path):
        prefix = "loss." if metadata["network"]["kind"] != "wta" else f"{kept_by}."
        return restore(metadata["network"], below(prefix, tensors)), metadata
