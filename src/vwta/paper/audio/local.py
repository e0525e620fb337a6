"""Third stage, for networks with local kernels: trained by the exact likelihood on the sphere.

They have a table of their own, besides that of :mod:`vwta.paper.audio.networks`: a change to a law
trains them anew, and no other network.
"""

from __future__ import annotations

__all__ = ["NETWORKS", "build", "train"]

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from vwta.nn import densities
from vwta.nn.local_directions import LocalDirectionNetwork
from vwta.paper.audio import networks
from vwta.paper.audio.train import Settings, train_any
from vwta.paper.registry import Training
from vwta.paper.training import Job

# Losses are those of :mod:`vwta.nn.densities`.
LOCAL: dict[str, Training] = {
    "local": Training(
        LocalDirectionNetwork, "sphere_local", {"nll": "sphere_local_nll"}, selected_by="nll"
    ),
}
NETWORKS: dict[str, Training] = {**networks.NETWORKS, **LOCAL}
build = partial(networks.build, table=NETWORKS)


def train(job: Job, folds: Mapping[str, Sequence[Path]], settings: Settings) -> None:
    """Trains audio networks with local kernels, one for each seed.

    Arguments:
        job: what to train.
        folds: files of features of `train` and `validation`.
        settings: the protocol and the sizes; those of local kernels are in `local`.
    """
    train_any(job, folds, settings, LOCAL, densities)
