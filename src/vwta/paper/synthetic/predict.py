"""Predictions of a trained network at chosen inputs, for pictures."""

from __future__ import annotations

__all__ = ["predict"]

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from vwta.io.provenance import provenance
from vwta.io.storage import write_tensors
from vwta.paper.synthetic.trained import load_network
from vwta.paper.synthetic.true_laws import problem
from vwta.seeds import generator


@torch.no_grad()
def predict(
    outputs: Mapping[Path, Path],
    selected_by: str,
    constants: Mapping[str, Any],
    x: Sequence[float],
    targets: int,
    seed: int,
    code: str,
    dataset: str,
) -> None:
    """Writes atoms of the synthetic study's networks at some inputs, beside points of the true law.

    Each file holds `x` with shape `(n, 1)`, `points` `(n, K, 2)`, `masses` `(n, K)`, `scales` `(n,
    K)` (0 for atoms without a scale of their own) and `targets` `(n, m, 2)`; its metadata say which
    problem, model and K these are. All networks of a problem get the same targets.

    Arguments:
        outputs: file to write for each file of a trained network.
        selected_by: criterion of the weights to take.
        constants: the problem's constants.
        x: inputs.
        targets: number m of points of the true law for each input.
        seed: seed of these points.
        code: digest of the code.
        dataset: name of the problem.
    """
    inputs = torch.tensor(x, dtype=torch.float64)[:, None]
    source = generator(seed, dataset, "targets")
    y = problem(dataset, **constants).sample(inputs, targets, source)
    for network, path in outputs.items():
        trained, metadata = load_network(network, selected_by)
        atoms, training = trained(inputs), metadata["provenance"]
        tensors = {
            "x": inputs,
            "points": atoms.points,
            "masses": atoms.masses,
            "scales": getattr(atoms, "scales", torch.zeros_like(atoms.masses)),
            "targets": y.transpose(0, 1),
        }
        facts = {"dataset": dataset, "model": metadata["network"]["kind"], "K": training["K"]}
        record = provenance(code=code, training=training)
        write_tensors(path, tensors, {**facts, "provenance": record})
