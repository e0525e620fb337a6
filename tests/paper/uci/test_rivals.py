"""Rivals of the UCI study: a spline flow and NGBoost, trained and measured as all others are."""

import math
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.distributions import Distribution
from tuned import evaluate_uci as evaluate

from vwta.distributions.line import cdf
from vwta.io.storage import below, read_metadata, read_table, read_tensors, write_tensors
from vwta.nn.networks import restore
from vwta.paper.training import Job
from vwta.paper.uci.boosting import Boosting, Sizes
from vwta.paper.uci.flow import FlowLaw, FlowNetwork, Spline, likelihood
from vwta.paper.uci.networks import build
from vwta.paper.uci.regression import splits
from vwta.paper.uci.splits import divide
from vwta.paper.uci.train import Settings, train
from vwta.paper.uci.tune import Settings as Measure

if find_spec("zuko") is None:  # not imported here: it switches off checks of arguments
    pytest.skip("zuko is not installed", allow_module_level=True)
ngboost = pytest.importorskip("ngboost")

N, COUNT = 150, 2
OURS = Settings(
    plan={"epochs": 15, "batch_size": 32, "learning_rate": 0.01},
    widths=[16],
    restarts=2,
    seed=7,
    held_out=0.2,
    steps=None,
    betas=[1.0, 0.1],
    score_reduction="softmax",
    mixture_loss="exact",
    selected_by="last",
    retrained=True,
    bins={"low": -1.0, "high": 1.0},
)
MEASURE = Measure(seed=7, held_out=0.2, selected_by=None, search={}, domain="line", ensembles=True)
SEARCH = {"units": "standardised", "low": 0.01, "high": 2.0, "scale": "log", "tolerance": 0.1}
OWN = {
    "flow": {"bins": 5},
    "ngboost": {"trees": 12, "depth": 2, "learning_rates": [0.01, 0.3], "patience": 20},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose target has few values, in steps of 10."""
    source = torch.Generator().manual_seed(0)
    x = torch.randn(N, 3, generator=source, dtype=torch.float64)
    noise = torch.randn(N, generator=source, dtype=torch.float64)
    y = 10 * (4 * x[:, 0] + noise).round()
    path = tmp_path_factory.mktemp("data") / "toy.safetensors"
    write_tensors(path, {"inputs": x, "target": y}, {"discrete": True})
    return path


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    folder, files = tmp_path_factory.mktemp("trained"), {}
    for model, own in OWN.items():
        count = COUNT if model == "flow" else COUNT - 1  # a model may have fewer splits
        outputs = {split: folder / model / f"{split}.safetensors" for split in range(count)}
        job = Job("toy", model, 5, outputs, folder / "unfinished", "cpu", "code")
        train(job, data, replace(OURS, own=own))
        files[model] = list(outputs.values())
    return files


@pytest.fixture(scope="module")
def measured(
    data: Path, trained: dict[str, list[Path]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[pd.DataFrame, dict[str, dict[str, float]]]:
    path = tmp_path_factory.mktemp("measured") / "evaluation.parquet"
    searched = replace(MEASURE, search={**SEARCH, "takes": "lowest"})
    evaluate(trained, data, path, path.with_name("s"), searched, "code", "ours", "toy", 5)
    return read_table(path), read_metadata(path)["costs"]


def test_a_flow_is_a_density_with_its_distribution_function() -> None:
    torch.manual_seed(0)
    law = Spline(*(torch.randn(2, q, dtype=torch.float64) for q in (2, 8, 8, 7))).law
    t = torch.linspace(-60, 60, 400_001, dtype=torch.float64)
    density = law.log_prob(t[:, None, None].expand(-1, 2, 1)).exp()
    assert torch.allclose(torch.trapezoid(density, t, dim=0), torch.ones(2).double(), atol=1e-5)
    at = torch.tensor([0.5, -1.0], dtype=torch.float64)
    for row in range(2):
        mass = torch.trapezoid(torch.where(t <= at[row], density[:, row], 0.0), t)
        assert cdf(law, at)[row].item() == pytest.approx(mass.item(), abs=1e-3)
    u = torch.linspace(-6, 6, 25, dtype=torch.float64)[:, None].expand(-1, 2)
    assert torch.allclose(law.to_normal(law.from_normal(u))[0], u)
    normal = torch.linspace(-9, 9, 500_001, dtype=torch.float64)
    weights = torch.exp(-(normal**2) / 2) / math.sqrt(2 * math.pi)
    quantiles = law.from_normal(normal[:, None].expand(-1, 2))
    mean = torch.trapezoid(quantiles * weights[:, None], normal, dim=0)
    assert torch.allclose(law.mean[:, 0], mean, atol=1e-5)


def test_flows_leave_checks_of_arguments_on() -> None:
    FlowNetwork(inputs=2, widths=[8], bins=4)(torch.rand(3, 2)).law.log_prob(torch.zeros(3, 1))
    assert "zuko" in sys.modules
    assert Distribution._validate_args


def test_gradients_reach_every_weight_of_a_flow() -> None:
    network = FlowNetwork(3, [8], bins=4)
    likelihood(network(torch.randn(50, 3)), torch.randn(50, 1)).backward()
    assert all(bool((weight.grad != 0).any()) for weight in network.parameters())


def test_a_flow_has_the_spline_of_its_settings(data: Path, trained: dict[str, list[Path]]) -> None:
    raw, _ = read_tensors(data)
    parts = divide(raw["inputs"], raw["target"], splits(N, COUNT), 0.2, seed=7)
    for split, file in enumerate(trained["flow"]):
        tensors, metadata = read_tensors(file)
        assert metadata["network"]["bins"] == 5
        assert metadata["restarts"] == 2
        rows = parts.validation.x[split], parts.validation.y[split]
        for name in ("loss", "final"):
            network = restore(metadata["network"], below(f"{name}.1.", tensors), build)
            law = network(rows[0]).law
            assert isinstance(law, FlowLaw)
            assert law.log_prob(rows[1]).isfinite().all()
        assert metadata["diverged"] == [0, 0, 0, 0]


def test_boosted_trees_are_those_of_the_library(data: Path) -> None:
    raw, _ = read_tensors(data)
    parts = divide(raw["inputs"], raw["target"], splits(N, COUNT), 0.2, seed=7)
    boosting = Boosting(parts, Sizes(**OWN["ngboost"]), retrained=True, seed=7)  # type: ignore[arg-type]
    tensors, facts = boosting.of_split(1)
    network = restore(facts["network"], below("last.0.", tensors), build)
    x = parts.test.x[1]
    components = network(x)
    whole = parts.whole.x[1].numpy(), parts.whole.y[1, :, 0].numpy()
    again = boosting._grow(1, facts["learning_rate"], facts["network"]["trees"], whole)  # type: ignore[arg-type]
    law = again.pred_dist(x.numpy())
    assert np.allclose(components.points[:, 0, 0], law.loc, rtol=1e-9, atol=1e-12)
    assert np.allclose(components.scales[:, 0], law.scale, rtol=1e-9)
    assert facts["learning_rate"] == 0.3  # .01 cannot come far in 12 steps


def test_every_rival_has_every_metric(
    measured: tuple[pd.DataFrame, dict[str, dict[str, float]]],
) -> None:
    metrics, costs = measured
    wanted = {"nll", "rmse", "crps", "coverage90", "pit", "nll_dequantised"}
    counts = {"flow": 2 * COUNT, "flow_ensemble": COUNT, "ngboost": 1}
    for method, count in counts.items():
        own = metrics[metrics["method"] == method].groupby("metric")["value"]
        assert wanted <= set(own.groups)
        assert all(own.get_group(metric).size == count for metric in wanted)
        assert np.isfinite(own.mean()).all()
        assert costs[method].keys() == {"training", "prediction"}
        assert all(value > 0 for value in costs[method].values())
    atoms = metrics.loc[metrics["metric"] == "risk", "method"]
    assert set(atoms) == {"ngboost"}  # whose one atom is its mean
    bound = metrics.loc[metrics["metric"] == "nll_dequantised", "value"]
    assert (bound >= math.log(10)).all()
    assert costs["flow_ensemble"]["training"] == pytest.approx(2 * costs["flow"]["training"])


def test_one_atom_has_the_squared_error_as_its_risk(
    measured: tuple[pd.DataFrame, dict[str, dict[str, float]]],
) -> None:
    own = measured[0].query("method == 'ngboost'").set_index("metric")["value"]
    assert own["risk"] == pytest.approx(own["rmse"] ** 2)
