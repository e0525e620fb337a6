"""Trained networks, read back from their files."""

from __future__ import annotations

__all__ = ["load_network"]

from pathlib import Path
from typing import Any

from torch import nn

from vwta.io.errors import restored_from
from vwta.io.storage import below, read_tensors
from vwta.nn.networks import restore
from vwta.paper import local, networks
from vwta.paper.registry import named


def load_network(path: Path, selected_by: str) -> tuple[nn.Module, dict[str, Any]]:
    """Trained network of the synthetic study from its file, in float64, and the file's metadata.

    Arguments:
        path: the file.
        selected_by: criterion of early stopping, `loss` or `distance`. Networks other than WTA have
            no winner's distance: the loss selects theirs in any case, or the likelihood if they
            have local kernels.
    """
    tensors, metadata = read_tensors(path)
    with restored_from(path):
        specification = metadata["network"]
        kinds = {**networks.NETWORKS, **local.NETWORKS}
        selected = named(specification["kind"], kinds).criterion(selected_by)
        return restore(specification, below(f"{selected}.", tensors), local.build), metadata
