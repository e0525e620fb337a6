"""Predictions of trained networks over the range of inputs, small enough for a page."""

from __future__ import annotations

__all__ = ["export"]

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vwta.io.provenance import provenance
from vwta.io.storage import write_tensors
from vwta.paper.networks import NETWORKS
from vwta.paper.synthetic.trained import load_network
from vwta.paper.synthetic.true_laws import problem
from vwta.seeds import generator

RECORDED = ("dataset", "model", "K", "seed", "revision", "code", "data", "made")


@torch.no_grad()
def export(
    path: Path,
    networks: Mapping[str, Sequence[Path]],
    selected_by: Mapping[str, str],
    constants: Mapping[str, Mapping[str, Any]],
    domain: Mapping[str, Sequence[float]],
    inputs: int,
    targets: int,
    seed: int,
    code: str,
) -> None:
    """Writes atoms of the synthetic study's networks at equally spaced inputs, for the explorer.

    Points of the true laws are written beside them.
    All is in float32. `x` has shape `(n,)` and `<dataset>/targets` `(n, m, 2)`. A network is named
    by `<protocol>/<dataset>/<model>/K<K>`; below its name stand `points` `(n, K, 2)`, or `(K, 2)`
    if they are the same for every input, `masses` `(n, K)`, and `scales` `(n, K)` if it has any.

    Arguments:
        path: file to write.
        networks: files of trained networks, by protocol.
        selected_by: criterion of the weights to take, by protocol.
        constants: the problems' constants, by dataset.
        domain: box in which y lies, `low` and `high`.
        inputs: number n of inputs, from 0 to 1.
        targets: number m of points for each input and problem.
        seed: seed of these points.
        code: digest of the code.
    """
    x = torch.linspace(0.0, 1.0, inputs, dtype=torch.float64)[:, None]
    tensors: dict[str, Tensor] = {"x": x[:, 0]}
    trainings = []
    for protocol, files in networks.items():
        for file in files:
            trained, metadata = load_network(file, selected_by[protocol])
            record = {name: metadata["provenance"].get(name) for name in RECORDED}
            name = f"{protocol}/{record['dataset']}/{record['model']}/K{record['K']}"
            trainings.append({"network": name, **record})
            atoms = trained(x)
            fixed = NETWORKS[metadata["network"]["kind"]].fixed
            tensors[f"{name}/points"] = atoms.points[0] if fixed else atoms.points
            tensors[f"{name}/masses"] = atoms.masses
            if hasattr(atoms, "scales"):
                tensors[f"{name}/scales"] = atoms.scales
    for dataset, own in constants.items():
        source = generator(seed, dataset, "explorer")
        y = problem(dataset, **own).sample(x, targets, source)
        tensors[f"{dataset}/targets"] = y.transpose(0, 1)
    small = {name: tensor.to(torch.float32) for name, tensor in tensors.items()}
    facts = {"domain": dict(domain), "provenance": provenance(code=code, trainings=trainings)}
    write_tensors(path, small, facts)
