"""Pictures of predictions show what was predicted."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure

from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors, write_table, write_tensors
from vwta.paper.estimators import measured_in
from vwta.paper.figures.nll_against_h import nll_against_h
from vwta.paper.figures.qualitative import DRAWN, SCORES, dirac_limits, qualitative
from vwta.paper.figures.training_curves import training_curves
from vwta.paper.methods import networks_in
from vwta.paper.metrics import tidy
from vwta.paper.networks import build
from vwta.paper.synthetic.predict import predict

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
X = [0.1, 0.9]


def make(folder: Path, K: int, dataset: str = "single_gaussian") -> Path:
    """File of the predictions of an untrained network."""
    shape = {"inputs": 1, "outputs": 2, "hypotheses": K, "widths": [8], "bounded": True}
    specification = {"kind": "wta", **shape}
    torch.manual_seed(K)
    weights = {f"loss.{k}": v for k, v in build(**specification).state_dict().items()}
    network, path = folder / "network", folder / f"{dataset}{K}"
    write_tensors(network, weights, {"network": specification, "provenance": {"K": K}})
    predict({network: path}, "loss", {}, X, 50, 0, code="", dataset=dataset)
    return path


def panels(figure: Figure) -> list[Axes]:
    return [axis for axis in figure.axes if axis.get_label() != "<colorbar>"]


def atoms_of(axis: Axes) -> PathCollection:
    return [c for c in axis.collections if isinstance(c, PathCollection)][-1]


def test_predictions_are_those_of_the_network(tmp_path: Path) -> None:
    tensors, facts = read_tensors(make(tmp_path, 5))
    stored, metadata = read_tensors(tmp_path / "network")
    network = build(**metadata["network"])
    network.load_state_dict({k.removeprefix("loss."): v for k, v in stored.items()})
    with torch.no_grad():
        points, logits = network.double()(torch.tensor(X).double()[:, None])
    assert torch.allclose(tensors["points"], points, atol=1e-6)
    scores = logits.sigmoid()
    assert torch.allclose(tensors["masses"], scores / scores.sum(-1, keepdim=True), atol=1e-6)
    assert tensors["targets"].shape == (2, 50, 2)
    assert (facts["dataset"], facts["model"], facts["K"]) == ("single_gaussian", "wta", 5)


def test_targets_do_not_depend_on_the_network(tmp_path: Path) -> None:
    first, second = (read_tensors(make(tmp_path, K))[0] for K in (5, 7))
    assert torch.equal(first["targets"], second["targets"])
    assert not torch.equal(first["targets"][0], first["targets"][1])


def test_panels_show_atoms_cells_and_targets(tmp_path: Path, drawn: list[Figure]) -> None:
    path = make(tmp_path, 6)
    tensors, _ = read_tensors(path)
    dirac_limits(path, [], X, SQUARE)
    for index, axis in enumerate(panels(drawn[0])):
        targets, cells, atoms = axis.collections
        assert np.allclose(targets.get_offsets(), tensors["targets"][index])
        assert np.allclose(atoms.get_offsets(), tensors["points"][index])
        assert isinstance(cells, PolyCollection)
        assert len(cells.get_paths()) == 6
        for outline, atom in zip(cells.get_paths(), tensors["points"][index], strict=True):
            assert outline.contains_point(atom)
            assert np.abs(outline.vertices).max() <= 1 + 1e-9
        assert axis.get_title() == f"$x = {X[index]:g}$"


def test_darker_is_more(tmp_path: Path, drawn: list[Figure]) -> None:
    path = make(tmp_path, 6)
    masses = read_tensors(path)[0]["masses"]
    dirac_limits(path, [], X, SQUARE)
    shades = [atoms_of(axis).get_facecolors()[:, :3].sum(1) for axis in panels(drawn[0])]
    order = np.argsort(masses.flatten().numpy())
    assert (np.diff(np.concatenate(shades)[order]) <= 1e-9).all()
    assert np.isclose(np.concatenate(shades).min(), sum(SCORES(1.0)[:3]))


def test_a_row_for_each_K_and_a_column_for_each_problem(
    tmp_path: Path, drawn: list[Figure]
) -> None:
    problems = ["changing_damier", "single_gaussian"]
    files = [make(tmp_path, K, name) for K in (9, 4) for name in problems]
    qualitative(files, [], 0.9, SQUARE)
    shown = panels(drawn[0])
    assert [len(atoms_of(axis).get_offsets()) for axis in shown] == [4, 4, 9, 9]
    assert [axis.get_ylabel() for axis in shown] == ["$K = 4$", "", "$K = 9$", ""]
    titles = [axis.get_title().partition("\n")[0] for axis in shown]
    assert titles == ["Changing Damier", "Single Gaussian", "", ""]


def test_missing_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"x = 0\.5: no prediction, there are \[0\.1, 0\.9\]"):
        dirac_limits(make(tmp_path, 3), [], [0.5], SQUARE)


def test_every_kind_of_network_has_a_column() -> None:
    shown = networks_in("synthetic")
    assert shown.keys() == {recipe.network for recipe in measured_in("synthetic").values()}
    assert {network.drawn for network in shown.values()} <= DRAWN.keys()


def test_missing_panels_are_named(tmp_path: Path) -> None:
    """An empty panel would look like a result."""
    facts = {"protocol": "paper", "dataset": "single_gaussian", "method": "v_wta", "K": 9}
    rows = [{"metric": "nll", "n": 1, "h": h, "value": h} for h in (0.1, 0.2)]
    write_table(tmp_path / "metrics", tidy(rows, **facts), {})
    curve = {**facts, "model": "wta", "epoch": [1], "training": 0.5, "loss": 0.5}
    write_table(tmp_path / "curves", pd.DataFrame({**curve, "selected_by_loss": True}), {})
    both = ["single_gaussian", "rotating_moons"]
    reported = tmp_path / "reported.csv"
    reported.write_text("dataset,metric,method,K,h,value\n")
    with pytest.raises(ValueError, match="no NLL of paper on rotating_moons at K=9"):
        nll_against_h(tmp_path / "metrics", reported, [], "paper", "paper", {}, both, 9)
    with pytest.raises(ValueError, match="no curve of paper, wta on rotating_moons at K=9"):
        training_curves(tmp_path / "curves", [], "paper", both, ["wta"], 9)
    plt.close("all")
