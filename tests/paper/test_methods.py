"""The registries: their tables agree, import lightly, and one entry each adds a method."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import yaml
from torch import Tensor, nn
from tuned import evaluate_synthetic

from vwta.geometry.spaces import Box
from vwta.io.storage import read_table, write_table
from vwta.nn import losses
from vwta.nn.heads import Hypotheses
from vwta.nn.networks import MLP
from vwta.paper import collection, estimators, local, methods, networks, problems, studies
from vwta.paper.audio import local as sphere
from vwta.paper.estimators import ESTIMATORS, Recipe
from vwta.paper.figures.against_K import quantitative
from vwta.paper.figures.nll_against_h import nll_against_h
from vwta.paper.figures.qualitative import qualitative
from vwta.paper.figures.training_curves import training_curves
from vwta.paper.methods import METHODS, Method, Network, in_panel, networks_in
from vwta.paper.metrics import MetricsFile, tidy
from vwta.paper.networks import build
from vwta.paper.registry import Training
from vwta.paper.synthetic import evaluate as measuring
from vwta.paper.synthetic import transport
from vwta.paper.synthetic.generate import generate
from vwta.paper.synthetic.predict import predict
from vwta.paper.synthetic.tables import protocols_side_by_side
from vwta.paper.synthetic.train import Settings, train
from vwta.paper.synthetic.true_laws import SingleGaussian
from vwta.paper.training import Job
from vwta.paper.uci import networks as uci_networks
from vwta.paper.uci.tables import write_tables

ROOT = Path(__file__).parents[2]
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())["$defs"]
CORNERS: dict[str, Any] = {"low": [-1.0, -1.0], "high": [1.0, 1.0]}
EVALUATION = measuring.Settings(
    h=[0.2, 0.5],
    capped={"epsilon": 1e-7, "cap": 16.1},
    tuned=["toy"],
    **CORNERS,
    selected_by="loss",
    large={"rows": 100, "seed": 3},
    outside="zero",
)


class ToyNetwork(nn.Module):
    """K points on a circle that turns with x, all with the same score."""

    def __init__(self, inputs: int, widths: list[int], hypotheses: int) -> None:
        super().__init__()
        self.trunk = MLP(inputs, widths)
        self.heads = nn.Linear(widths[-1], 1)
        self.K = hypotheses

    def forward(self, x: Tensor) -> Hypotheses:
        step = 2 * torch.pi / self.K
        angle = self.heads(self.trunk(x)) + step * torch.arange(self.K, device=x.device)
        return Hypotheses(0.5 * torch.stack([angle.cos(), angle.sin()], -1), 0 * angle)


def toy_loss(hypotheses: Hypotheses, y: Tensor, beta: float) -> Tensor:
    """Squared distance to the winner, times a weight."""
    return beta * (hypotheses.points - y.unsqueeze(-2)).square().sum(-1).amin(-1).mean(-1)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> str:
    """A method with a network of its own, in all tables while a test runs."""
    recipe = Recipe("toy", "bandwidth", cut=True, emd=True, studies=("synthetic", "uci"))
    panels = {"nll": 9, "emd": 9, "risk": 9, "nll against h": 9, "uci": 9}
    network = Network("Toy", outputs=1, studies=("synthetic", "uci"), drawn="cells")
    monkeypatch.setattr(losses, "toy_loss", toy_loss, raising=False)
    monkeypatch.setitem(networks.NETWORKS, "toy", Training(ToyNetwork, "toy_loss"))
    monkeypatch.setitem(ESTIMATORS, "toy", recipe)
    monkeypatch.setitem(METHODS, "toy", Method("Toy method", "#AA0000", "*", panels=panels))
    monkeypatch.setitem(methods.NETWORKS, "toy", network)
    return "toy"


@pytest.fixture
def trained(toy: str, tmp_path: Path) -> Path:
    """A folder with data and a toy network trained on them."""
    data, rows = tmp_path / "data", {"train": 64, "validation": 32, "test": 8}
    generate("single_gaussian", {}, False, rows, 0, data, "code")
    winner = {"kind": "relaxed", "epsilon": 0.1}  # which the toy's loss knows nothing of
    settings = Settings(2, 32, 1e-2, [8], 1.0, "sum", "the same rows", False, winner, "default")
    job = Job("single_gaussian", toy, 4, {1: tmp_path / "network"}, tmp_path / "open", "cpu", "")
    train(job, data, {}, settings)
    return tmp_path


def test_a_toy_method_is_trained_and_measured(trained: Path) -> None:
    network, data = trained / "network", trained / "data"
    output = MetricsFile(trained / "metrics", "synthetic", "paper", "single_gaussian", code="")
    evaluate_synthetic([network], data, SingleGaussian(), EVALUATION, output)
    table = read_table(output.path)
    nll = table[(table["metric"] == "nll") & (table["method"] == "toy")]
    assert nll["h"].tolist()[:2] == [0.2, 0.5]
    assert nll["tuned"].tolist() == [False, False, True]
    assert set(table.loc[table["metric"] == "risk", "method"]) == {"toy"}
    distances = transport.Settings(
        seed=1,
        inputs=2,
        samples=20,
        clouds=False,
        h=[0.2],
        **CORNERS,
        selected_by="distance",  # of which it has none: the loss selects
        sampler="exact",
        unif_emd="cells",
        emd_solver="exact",
        opencv_inputs=1,
    )
    transport.evaluate_emd(network, data, {}, distances, output, model="toy", K=4)
    assert read_table(output.path)["method"].tolist() == ["toy"]


def test_a_toy_method_is_drawn(trained: Path) -> None:
    where: dict[str, Any] = {"protocol": "paper", "datasets": ["single_gaussian"], "K": 4}
    curves, metrics = trained / "curves", trained / "tidy"
    collection.collect_curves({"paper": [trained / "network"]}, curves)
    training_curves(curves, [trained / "curves.png"], models=["toy"], **where)
    outputs = {trained / "network": trained / "prediction"}
    predict(outputs, "loss", {}, [0.5], 10, 0, "code", "single_gaussian")
    qualitative([trained / "prediction"], [trained / "atoms.png"], 0.5, Box(**CORNERS))
    measured = {
        "nll": [("toy", 0.1), ("toy", 0.2), ("truth", None)],
        "emd": [("toy", 0.1), ("truth", None)],
        "risk": [(name, None) for name in ("toy", "zador", "zador_hist", "lloyd")],
    }
    rows = [tidy(_numbers(numbers), **_common(name)) for name, numbers in measured.items()]
    write_table(metrics, pd.concat(rows), {})
    printed = trained / "reported.csv"
    printed.write_text("dataset,metric,method,K,h,value\nsingle_gaussian,nll,toy,4,0.1,1.5\n")
    settings: dict[str, Any] = {"otherwise": "paper", "measured_as": {}}
    nll_against_h(metrics, printed, [trained / "h.png"], **settings, **where)
    bandwidths = {"single_gaussian": [0.1]}
    against = [trained / "K.png"]
    settings |= {"protocol": "paper", "models": ["toy"], "K": [4], "band": "range"}
    quantitative([metrics], printed, against, h=bandwidths, **settings)
    assert {path.stem for path in trained.glob("*.png")} == {"curves", "atoms", "h", "K"}


def _common(metric: str) -> dict[str, Any]:
    names = {"study": "synthetic", "protocol": "paper", "dataset": "single_gaussian"}
    return {**names, "metric": metric, "n": 8}


def _numbers(measured: Sequence[tuple[str, float | None]]) -> list[dict[str, Any]]:
    """A number for each method and bandwidth; the true law has no K."""
    return [
        {"method": method, "h": h, "value": 1.0 + place, "seed": 1}
        | ({} if method == "truth" else {"K": 4})
        for place, (method, h) in enumerate(measured)
    ]


def test_a_toy_method_is_tabulated(toy: str, tmp_path: Path) -> None:
    rows = [{"method": toy, "value": 1.0 + split, "split": split} for split in range(2)]
    common = {"study": "uci", "protocol": "paper", "dataset": "boston", "metric": "nll", "n": 8}
    table = tidy(rows, **common, K=5, seed=1)
    sizes = pd.DataFrame([{"dataset": "boston", "rows": 506, "inputs": 13, "splits": 20}])
    reported = pd.DataFrame(columns=["dataset", "metric", "method", "mean", "std"])
    searches = pd.DataFrame(columns=["protocol", "dataset", "method", "chosen", "border"])
    searches = searches.astype({"chosen": bool, "border": bool})
    place = (tmp_path, "paper", ["boston"])
    write_tables(table, searches, sizes.assign(discrete=False), reported, *place)
    text = (tmp_path / "uci_nll_paper.md").read_text()
    assert text.splitlines()[2].endswith("| Toy method |")
    assert "1.50 ± 0.71" in text
    beside = protocols_side_by_side(table, ["paper"], ["paper"])
    assert beside["method"].tolist() == [toy]


def test_tables_know_the_same_names() -> None:
    assert {recipe.network for recipe in ESTIMATORS.values()} == methods.NETWORKS.keys()
    assert {*ESTIMATORS, *methods.NETWORKS} <= METHODS.keys()
    assert methods.PROPOSED in ESTIMATORS
    assert {recipe.limit_of for recipe in ESTIMATORS.values()} - {None} <= ESTIMATORS.keys()
    points, rivals = {**networks.NETWORKS, **local.NETWORKS}, uci_networks.NETWORKS
    trained = {"synthetic": points, "uci": {**points, **rivals}, "audio": sphere.NETWORKS}
    assert trained.keys() == studies.STUDIES.keys()
    for study, table in trained.items():
        assert networks_in(study).keys() <= table.keys()
        on_grid = {name for name, network in networks_in(study).items() if network.on_grid}
        assert on_grid == {name for name in networks_in(study) if table[name].fixed}
        measured = {recipe.network for recipe in estimators.measured_in(study).values()}
        assert measured == networks_in(study).keys()
    shown = networks_in("synthetic").keys() | networks_in("uci").keys()
    assert shown == points.keys() | rivals.keys()
    assert networks_in("audio").keys() == sphere.NETWORKS.keys()
    assert {problem.study for problem in problems.PROBLEMS.values()} == trained.keys()


def test_places_in_a_panel_are_unique() -> None:
    panels = {panel for method in METHODS.values() for panel in method.panels}
    for panel in panels:
        places = [METHODS[name].panels[panel] for name in in_panel(panel)]
        assert places == list(range(len(places)))
    with pytest.raises(ValueError, match="no method is shown in 'nothing'"):
        in_panel("nothing")


def test_looks_differ_within_a_panel() -> None:
    for panel in ("nll", "emd", "nll against h", "uci"):
        looks = [(METHODS[name].color, METHODS[name].line) for name in in_panel(panel)]
        assert len(set(looks)) == len(looks)


def test_the_configuration_knows_the_registered_names() -> None:
    assert {*SCHEMA["model"]["enum"]} == networks_in("synthetic").keys()
    assert {*SCHEMA["uci_model"]["enum"]} == networks_in("uci").keys()
    assert networks_in("synthetic").keys() < networks_in("uci").keys()
    assert {*SCHEMA["audio_model"]["enum"]} == networks_in("audio").keys()
    for study in ("synthetic", "audio"):
        assert {*SCHEMA["swept"]["items"]["enum"]} == {*estimators.swept_in(study)}
    assert {*SCHEMA["dataset"]["enum"]} == problems.of_study("synthetic").keys()
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    desktop = yaml.safe_load((ROOT / "config/desktop.yaml").read_text())
    for study in studies.STUDIES:
        models = {*config[study]["models"]}
        if study in ("synthetic", "audio"):  # a protocol may name others, also that of a tier
            named = {**config[study]["protocols"], **desktop.get(study, {}).get("protocols", {})}
            models |= {*named["ours"]["models"]}
        assert models == networks_in(study).keys()


def test_registries_import_nothing_heavy() -> None:
    code = (
        "import sys, vwta.paper.methods, vwta.paper.problems, vwta.paper.studies\n"
        "print({'torch', 'pandas', 'numpy', 'matplotlib'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_unknown_network_is_named() -> None:
    with pytest.raises(ValueError, match=r"unknown network 'wtaa': expected one of wta, hist, mdn"):
        build("wtaa")
