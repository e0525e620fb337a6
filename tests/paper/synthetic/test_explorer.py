"""Predictions for the page: those of the networks, at every input, in the form it reads."""

from pathlib import Path
from typing import Any

import pytest
import torch

from vwta.io.storage import read_tensors, write_tensors
from vwta.paper.networks import build
from vwta.paper.synthetic.explorer import export
from vwta.paper.synthetic.trained import load_network

BOX = {"low": [-1.0, -1.0], "high": [1.0, 1.0]}
KINDS: dict[str, dict[str, Any]] = {
    "wta": {"outputs": 2, "hypotheses": 6, "bounded": True},
    "hist": {"grid": [3, 2], **BOX},
    "mdn": {"outputs": 2, "components": 6, "bounded": True},
}


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A network of each kind, with other weights by the distance than by the loss."""
    folder, paths = tmp_path_factory.mktemp("networks"), {}
    for kind, shape in KINDS.items():
        settings = {"kind": kind, "inputs": 1, "widths": [8], **shape}
        states = {selected: build(**settings).state_dict() for selected in ("loss", "distance")}
        tensors = {
            f"{selected}.{k}": v for selected, state in states.items() for k, v in state.items()
        }
        training = {"dataset": "single_gaussian", "model": kind, "K": 6, "revision": "abc"}
        paths[kind] = folder / f"{kind}.safetensors"
        write_tensors(paths[kind], tensors, {"network": settings, "provenance": training})
    return paths


@pytest.fixture
def exported(networks: dict[str, Path], tmp_path: Path) -> Path:
    export(
        tmp_path / "explorer.safetensors",
        {"paper": list(networks.values()), "literal": [networks["wta"]]},
        {"paper": "loss", "literal": "distance"},
        {"single_gaussian": {}},
        BOX,
        inputs=5,
        targets=30,
        seed=3,
        code="c0de",
    )
    return tmp_path / "explorer.safetensors"


def test_atoms_are_those_of_the_networks(exported: Path, networks: dict[str, Path]) -> None:
    tensors, metadata = read_tensors(exported)
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}
    assert tensors["x"].tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert tensors["single_gaussian/targets"].shape == (5, 30, 2)
    x = tensors["x"].double()[:, None]
    for protocol, selected, kinds in (("paper", "loss", KINDS), ("literal", "distance", ["wta"])):
        for kind in kinds:
            with torch.no_grad():
                atoms = load_network(networks[kind], selected)[0](x)
            name = f"{protocol}/single_gaussian/{kind}/K6"
            assert torch.equal(tensors[f"{name}/masses"], atoms.masses.float())
            points = tensors[f"{name}/points"].expand(5, 6, 2)
            assert torch.equal(points, atoms.points.float())
            assert (f"{name}/scales" in tensors) == (kind == "mdn")
    assert metadata["domain"] == BOX
    assert [one["revision"] for one in metadata["provenance"]["trainings"]] == ["abc"] * 4


def test_same_seed_same_targets(exported: Path) -> None:
    targets = read_tensors(exported)[0]["single_gaussian/targets"]
    assert targets.mean((0, 1)).sub(0.25).abs().max() < 0.1
    assert len({tuple(point.tolist()) for point in targets.flatten(0, 1)}) == 150
