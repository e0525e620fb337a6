"""Trained networks, read back from their files."""

from __future__ import annotations

__all__ = ["load_network"]

from pathlib import Path
from typing import Any

from torch import nn

from vwta.networks import build
from vwta.storage import read_tensors


def load_network(path: Path) -> tuple[nn.Module, dict[str, Any]]:
    """Network of a file of trained weights, in float64, and the file's metadata."""
    tensors, metadata = read_tensors(path)
    network = build(**metadata["network"])
    prefix = "network."
    weights = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    network.load_state_dict(weights)
    return network.double().eval(), metadata
