"""Local kernels in the UCI study: their recipe, the settings tried, and the factor chosen."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import yaml
from loading import ROOT
from tuned import evaluate_uci as evaluate

from vwta.geometry.spaces import Box
from vwta.io.storage import below, read_table, read_tensors, write_tensors
from vwta.nn.densities import Background, LocalDensity, local, local_nll
from vwta.nn.networks import initialise, restore
from vwta.paper.local import build
from vwta.paper.training import Job
from vwta.paper.uci.regression import splits
from vwta.paper.uci.splits import divide
from vwta.paper.uci.train import Settings, train
from vwta.paper.uci.tune import Settings as Tuning
from vwta.seeds import stream
from vwta.training.loop import FixedData
from vwta.training.stacking import Plan, Rows, fit_stacked

N, COUNT = 60, 2
LINE = Box(-math.inf, math.inf)
OWN: dict[str, Any] = {
    "form": "continuous",
    "distance": 10.0,
    "background": {"share": 0.01, "h": 1.5},
    "plan": {"learning_rate": 0.005, "rate": "warm_cosine", "clip": 5.0, "average": 0.08},
}
OURS = Settings(
    plan={"epochs": 12, "batch_size": 16, "learning_rate": 0.01, "rate": "one_cycle"},
    widths=[8],
    restarts=2,
    seed=7,
    held_out=0.2,
    steps=None,
    betas=[1.0, 0.033],
    score_reduction="softmax",
    mixture_loss="exact",
    selected_by="last",
    retrained=True,
    bins={"low": -1.0, "high": 1.0},
    weight_decays=[0.3, 100.0],  # the second one leaves nothing of what is learnt
)
MEASURE = Tuning(
    seed=7,
    held_out=0.2,
    selected_by=None,
    search={},  # of bandwidths, which nothing here has
    domain="line",
    ensembles=True,
    factor={"low": 0.25, "high": 4.0, "tolerance": 0.01},
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "toy.safetensors"
    source = torch.Generator().manual_seed(0)
    x = torch.randn(N, 2, generator=source, dtype=torch.float64)
    y = 50 * (x[:, 0] + 0.3 * torch.randn(N, generator=source, dtype=torch.float64))
    write_tensors(path, {"inputs": x, "target": y}, {"discrete": False})
    return path


def run(folder: Path, data: Path, model: str, settings: Settings) -> list[Path]:
    files = {split: folder / model / f"split{split}" for split in range(COUNT)}
    train(Job("toy", model, 3, files, folder / "unfinished", "cpu", "code"), data, settings)
    return list(files.values())


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return run(tmp_path_factory.mktemp("trained"), data, "local", replace(OURS, own=OWN))


def test_the_recipe_is_that_of_the_settings(data: Path, trained: list[Path]) -> None:
    """The first restart of both splits, trained again by the library alone."""
    raw, _ = read_tensors(data)
    parts = divide(raw["inputs"], raw["target"], splits(N, COUNT), 0.2, seed=7)
    stored = [read_tensors(path) for path in trained]
    seeds = [stream(7, "network", split) for split in range(COUNT)]
    networks = [initialise(stored[0][1]["network"], seed, build) for seed in seeds]
    rows, whole, held_out = (
        Rows(*(part.float() for part in rows))
        for rows in (parts.train, parts.whole, parts.validation)
    )
    wide = Background(0.01, 1.5)
    loss = partial(local, space=LINE, distance=10.0, background=wide)
    nll = partial(local_nll, space=LINE, background=wide)
    plan = Plan(12, 16, 0.005, "warm_cosine", weight_decay=0.3, clip=5.0, average=0.08)
    goals = {"loss": loss, "nll": nll}
    first = fit_stacked(networks, loss, goals, FixedData(rows, held_out), plan, seeds)
    stops = first.epochs["nll"]
    again = fit_stacked(networks, loss, goals, FixedData(whole, held_out), plan, seeds, stops=stops)
    for split, (tensors, metadata) in enumerate(stored):
        assert (metadata["selected"], metadata["weight_decay"]) == ("nll", 0.3)
        assert metadata["epochs"]["nll"][0] == stops[split].item()
        for name, value in below("nll.0.", tensors).items():
            assert torch.equal(value, first.weights["nll"][name][split])
            assert torch.equal(tensors[f"final.0.{name}"], again.last[name][split])


@pytest.mark.parametrize("model", ["local", "mdn", "hist"])
def test_each_split_takes_the_weight_decay_that_suits_it(
    data: Path, trained: list[Path], tmp_path: Path, model: str
) -> None:
    own = OWN if model == "local" else {}
    both = trained if model == "local" else run(tmp_path / "both", data, model, OURS)
    alone = run(tmp_path / "alone", data, model, replace(OURS, own=own, weight_decays=[0.3]))
    for path, other in zip(both, alone, strict=True):
        tensors, metadata = read_tensors(path)
        assert metadata["weight_decay"] == 0.3
        expected, _ = read_tensors(other)
        assert all(torch.equal(tensors[name], expected[name]) for name in tensors)


def test_splits_that_choose_differently_are_trained_apart(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = iter([0, 1])
    monkeypatch.setattr("vwta.paper.uci.train.choose", lambda *_: next(chosen))
    settings = replace(OURS, restarts=1)
    files = run(tmp_path / "both", data, "mdn", settings)
    for split, decay in enumerate(settings.weight_decays):
        tensors, metadata = read_tensors(files[split])
        assert metadata["weight_decay"] == decay
        alone = replace(settings, weight_decays=[decay])
        other, _ = read_tensors(run(tmp_path / f"{split}", data, "mdn", alone)[split])
        for name, value in below("final.", tensors).items():
            assert torch.allclose(value, other[f"final.{name}"], atol=1e-4)


def measured(folder: Path, data: Path, files: list[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    metrics, searches = folder / "evaluation", folder / "searches"
    evaluate({"local": files}, data, metrics, searches, MEASURE, "code", "ours", "toy", 3)
    return read_table(metrics), read_table(searches)


def test_numbers_are_those_of_the_law_at_the_factor_found(
    data: Path, trained: list[Path], tmp_path: Path
) -> None:
    table, searches = measured(tmp_path, data, trained)
    assert set(table["method"]) == {"local", "local_v_wta", "local_v_wta_ensemble"}
    raw, _ = read_tensors(data)
    parts = divide(raw["inputs"], raw["target"], splits(N, COUNT), 0.2, seed=7)
    tensors, metadata = read_tensors(trained[1])
    one = table.query("split == 1 and seed == 8").set_index("metric")
    search = searches.query("split == 1 and seed == 8 and method == 'local_v_wta'")
    scale = parts.scale[1].item()

    def law(weights: str, x: torch.Tensor, factor: float) -> Any:
        network = restore(metadata["network"], below(weights, tensors), build)
        return LocalDensity(network, LINE, Background(0.01, 1.5))(x).with_width_factor(factor)

    with torch.no_grad():
        for row in search.itertuples():
            held_out = law("nll.1.", parts.validation.x[1], row.h)
            nll = -held_out.log_prob(parts.validation.y[1]).mean().item()
            assert row.nll == pytest.approx(nll + math.log(scale), abs=1e-9)
        best = search.loc[search["nll"].idxmin()]
        assert search["h"].tolist()[0] == 1.0
        assert best["chosen"]
        assert search["chosen"].sum() == 1
        tested, y = law("final.1.", parts.test.x[1], best["h"]), parts.test.y[1]
        expected = -tested.log_prob(y).mean().item() + math.log(scale)
        points = tested.laws[0].points
        error = (tested.mean - y).square().mean().sqrt().item()
    assert one.loc["nll", "value"] == pytest.approx(expected, abs=1e-9)
    assert (one.loc["nll", "h"], one.loc["nll", "tuned"]) == (best["h"], True)
    assert one.loc["rmse", "value"] == pytest.approx(scale * error)
    nearest = (points - y[:, None]).square().sum(-1).amin(-1).mean().item()
    assert one.loc["risk", "value"] == pytest.approx(scale**2 * nearest)
    assert one.loc["risk", "method"] == "local"


def test_a_factor_needs_a_search(data: Path, trained: list[Path], tmp_path: Path) -> None:
    places = tmp_path / "evaluation", tmp_path / "searches"
    without = replace(MEASURE, factor=None)
    with pytest.raises(ValueError, match=r"no search for a factor; add evaluation\.factor"):
        evaluate({"local": trained}, data, *places, without, "code", "ours", "toy", 3)


def test_every_method_tries_as_many_settings() -> None:
    """Under the protocol in which they are compared."""
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())["uci"]
    training = yaml.safe_load((ROOT / "config/protocols/uci/ours.yaml").read_text())["training"]
    own = config["own"]
    tried = {
        **dict.fromkeys(config["models"], training["weight_decays"]),
        "wta": training["betas"],
        "ngboost": own["ngboost"]["learning_rates"],
    }
    assert {len(set(settings)) for settings in tried.values()} == {3}
    assert training["weight_decay"] in training["weight_decays"]
