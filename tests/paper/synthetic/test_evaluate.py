"""Evaluation of trained networks: all methods, on points in the domain, at tuned bandwidths too."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from tuned import TUNING
from tuned import evaluate_synthetic as evaluate

from vwta.geometry.spaces import Box
from vwta.io.storage import read_metadata, read_table, read_tensors, write_tensors
from vwta.paper.collection import collect_curves
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.methods import networks_in
from vwta.paper.metrics import MetricsFile
from vwta.paper.synthetic.estimators import estimators
from vwta.paper.synthetic.evaluate import Settings, beyond, load_network
from vwta.paper.synthetic.train import Settings as Training
from vwta.paper.synthetic.train import train
from vwta.paper.synthetic.true_laws import SingleGaussian
from vwta.paper.training import Job
from vwta.seeds import generator

BINS = {"grid": [3, 2], "low": [-1.0, -1.0], "high": [1.0, 1.0]}
SETTINGS = Settings(
    h=[0.2, 0.5],
    capped={"epsilon": 1e-7, "cap": 16.1},
    tuned=TUNING["methods"],
    low=BINS["low"],
    high=BINS["high"],
    selected_by="loss",
    large={"rows": 300, "seed": 3},
    outside="zero",
)
DOMAIN = Box(SETTINGS.low, SETTINGS.high)
METHODS = {
    "wta": {"v_wta", "k_wta", "unweighted_k_wta", "unif_v_wta"},
    "hist": {"tk_hist", "unif_hist"},
    "mdn": {"mdn"},
}
COMMON: dict[str, Any] = {
    "epochs": 2,
    "batch_size": 64,
    "learning_rate": 1e-2,
    "widths": [16],
    "beta": 1.0,
    "score_reduction": "sum",
    "epochs_see": "the same rows",
    "clouds": False,
    "sharing": {"kind": "winner"},
    "start": "default",
}
KINDS = [kind for kind in networks_in("synthetic") if kind != "local"]  # see test_local.py


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points of a wide Gaussian, a part of which lies outside the square."""
    path = tmp_path_factory.mktemp("data") / "data.safetensors"
    source, tensors = generator(0), {}
    for split, n in {"train": 512, "validation": 256, "test": 200}.items():
        tensors[f"x_{split}"] = torch.rand(n, 1, generator=source)
        tensors[f"y_{split}"] = 0.6 * torch.randn(n, 2, generator=source)
    write_tensors(path, tensors, {})
    return path


@pytest.fixture(scope="module")
def networks(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A trained network of each kind."""
    folder = tmp_path_factory.mktemp("networks")
    for kind in KINDS:
        settings = Training(**COMMON, bins=BINS if kind == "hist" else None)
        train(job(kind, folder / f"{kind}.safetensors"), data, {}, settings)
    return {kind: folder / f"{kind}.safetensors" for kind in KINDS}


def job(kind: str, path: Path) -> Job:
    return Job("single_gaussian", kind, 6, {5: path}, path.parent / ".unfinished", "cpu", "code")


def test_a_plan_takes_the_place_of_common_settings(data: Path, tmp_path: Path) -> None:
    plans = {"plan": {"learning_rate": 1e-3}, "rate": {"rate": "warm_cosine"}}
    train(job("mdn", tmp_path / "alone"), data, {}, Training(**{**COMMON, "learning_rate": 1e-3}))
    for name, plan in plans.items():
        train(job("mdn", tmp_path / name), data, {}, Training(**COMMON, plan=plan))
    found = {name: read_tensors(tmp_path / name) for name in ("alone", *plans)}
    curves = {name: tensors["curve"] for name, (tensors, _) in found.items()}
    assert torch.equal(curves["plan"], curves["alone"])
    assert not torch.equal(curves["rate"], curves["alone"])
    recorded = {name: facts["provenance"]["settings"] for name, (_, facts) in found.items()}
    assert "plan" not in recorded["alone"]
    assert recorded["plan"]["plan"] == plans["plan"]


@pytest.fixture(scope="module")
def tables(
    networks: dict[str, Path], data: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("metrics")
    out = {}
    for kind, network in networks.items():
        path = folder / f"{kind}.parquet"
        law = SingleGaussian((0.0, 0.0), 0.6)
        output = MetricsFile(path, "synthetic", "paper", "single_gaussian", "code")
        evaluate([network], data, law, SETTINGS, output)
        out[kind] = read_table(path)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_is_measured(tables: dict[str, pd.DataFrame], kind: str) -> None:
    table = tables[kind]
    risk = table[table["metric"] == "risk"]
    assert risk["method"].tolist() == [kind]
    for metric in ("nll", "nll_capped"):
        rows = table[(table["metric"] == metric) & (table["method"] != "truth")]
        assert set(rows["method"]) == METHODS[kind]
        assert (rows["K"] == 6).all()
        for method, mine in rows.groupby("method"):
            given = mine.loc[~mine["tuned"], "h"]
            if ESTIMATORS[str(method)].swept:
                assert given.tolist() == [0.2, 0.5]
            else:
                assert given.isna().tolist() == [True]
            assert mine["tuned"].sum() == (method in SETTINGS.tuned)


@pytest.mark.parametrize("kind", KINDS)
def test_points_outside_count_for_the_capped_metric_alone(
    tables: dict[str, pd.DataFrame], data: Path, kind: str
) -> None:
    y = read_tensors(data)[0]["y_test"]
    inside = int((y.abs() <= 1).all(-1).sum())
    assert 0 < inside < len(y)
    table = tables[kind]
    assert set(table.loc[table["metric"] == "nll", "n"]) == {inside}
    assert set(table.loc[table["metric"] == "nll_capped", "n"]) == {len(y)}
    assert table["value"].map(math.isfinite).all()
    outside = table[table["metric"] == "outside"]
    assert outside[["value", "n"]].values.tolist() == [[len(y) - inside, len(y)]]


@pytest.mark.parametrize("kind", KINDS)
def test_excess_is_measured_on_the_same_points(tables: dict[str, pd.DataFrame], kind: str) -> None:
    """On the large set too, whose points are others."""
    table = tables[kind]
    for ending in ("", "_large"):
        rows = table[table["metric"] == f"nll{ending}"]
        truth = rows.loc[rows["method"] == "truth", "value"].item()
        others = rows[rows["method"] != "truth"]
        excess = table[table["metric"] == f"excess{ending}"]
        assert np.allclose(excess["value"], others["value"].to_numpy() - truth, atol=1e-12)
        assert excess["n"].tolist() == others["n"].tolist()
    assert table.loc[table["metric"] == "nll_capped_large", "n"].unique().tolist() == [300]


def test_large_sets_are_measured_in_chunks(
    networks: dict[str, Path], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for chunk in (1000, 70):
        monkeypatch.setattr("vwta.paper.synthetic.evaluate.CHUNK", chunk)
        path, law = tmp_path / f"{chunk}.parquet", SingleGaussian((0.0, 0.0), 0.6)
        output = MetricsFile(path, "synthetic", "paper", "single_gaussian", "code")
        evaluate([networks["wta"]], data, law, SETTINGS, output)
        found.append(read_table(path)["value"])
    assert np.allclose(*found, rtol=1e-12)


def test_published_kernels_go_on_outside(networks: dict[str, Path], data: Path) -> None:
    """By hand: score times kernel of the nearest atom, over the kernel's mass in its cell."""
    network, _ = load_network(networks["wta"], "loss")
    tensors = {name: rows.double() for name, rows in read_tensors(data)[0].items()}
    x, y = tensors["x_test"], tensors["y_test"]
    with torch.no_grad():
        law = estimators("wta", network, DOMAIN)["v_wta"](x).with_bandwidth(0.5)
    outside = ~DOMAIN.contains(y)
    found = beyond(law, y, outside)
    assert found.isfinite().all()
    for index, value in zip(outside.nonzero().flatten(), found, strict=True):
        distance = (law.points[index] - y[index]).square().sum(-1)
        k = distance.argmin()
        kernel = stats.multivariate_normal(law.points[index, k], 0.25).pdf(y[index])
        density = law.masses[index, k] * kernel / law.log_cell_mass[index, k].exp()
        assert value.exp().item() == pytest.approx(density.item(), rel=1e-9)


def test_outside_changes_the_capped_metric_of_cut_kernels_alone(
    tables: dict[str, pd.DataFrame], networks: dict[str, Path], data: Path, tmp_path: Path
) -> None:
    law, settings = SingleGaussian((0.0, 0.0), 0.6), replace(SETTINGS, outside="kernel")
    path = tmp_path / "metrics.parquet"
    output = MetricsFile(path, "synthetic", "paper", "single_gaussian", "code")
    evaluate([networks["wta"]], data, law, settings, output)
    other = read_table(path)["value"].to_numpy() != tables["wta"]["value"].to_numpy()
    changed = tables["wta"].loc[other, ["method", "metric"]].drop_duplicates()
    capped = [["v_wta", "nll_capped"], ["v_wta", "nll_capped_large"]]
    assert changed.to_numpy().tolist() == capped


def test_truth_by_hand(tables: dict[str, pd.DataFrame], data: Path) -> None:
    y = read_tensors(data)[0]["y_test"].numpy()
    y = y[(abs(y) <= 1).all(-1)]
    expected = -stats.norm(0, 0.6).logpdf(y).sum(-1).mean()
    for table in tables.values():
        row = table[(table["method"] == "truth") & (table["metric"] == "nll")]
        assert row["value"].item() == pytest.approx(expected, rel=1e-9)
        assert row["K"].isna().all()


def test_uniform_histogram_by_hand(
    tables: dict[str, pd.DataFrame], networks: dict[str, Path], data: Path
) -> None:
    """Its density is the normalised score of the bin over the bin's area, 4 / 6."""
    tensors = read_tensors(data)[0]
    network, _ = load_network(networks["hist"], "loss")
    scores = network(tensors["x_test"].double()).logits.sigmoid()
    total, count = 0.0, 0
    for score, (u, v) in zip(scores.tolist(), tensors["y_test"].tolist(), strict=True):
        if max(abs(u), abs(v)) <= 1:
            own = 2 * int((u + 1) / 2 * 3) + int((v + 1) / 2 * 2)
            total -= math.log(score[own] / sum(score) * 6 / 4)
            count += 1
    table = tables["hist"]
    row = table[(table["method"] == "unif_hist") & (table["metric"] == "nll")]
    assert row["value"].item() == pytest.approx(total / count, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "method"),
    [("wta", "v_wta"), ("wta", "k_wta"), ("hist", "tk_hist")],
)
def test_bandwidth_is_tuned_on_validation_rows(
    tables: dict[str, pd.DataFrame], networks: dict[str, Path], data: Path, kind: str, method: str
) -> None:
    tensors = {name: rows.double() for name, rows in read_tensors(data)[0].items()}
    network, _ = load_network(networks[kind], "loss")
    law, y = {}, {}
    for split in ("validation", "test"):
        inside = (tensors[f"y_{split}"].abs() <= 1).all(-1)
        y[split] = tensors[f"y_{split}"][inside]
        law[split] = estimators(kind, network, DOMAIN)[method](tensors[f"x_{split}"][inside])
    grid = [0.01 * 200 ** (i / 100) for i in range(101)]
    best = min(grid, key=lambda h: nll(law["validation"], y["validation"], h))
    table = tables[kind]
    row = table[(table["method"] == method) & (table["metric"] == "nll") & table["tuned"]]
    h, value = row["h"].item(), row["value"].item()
    assert math.log(h) == pytest.approx(math.log(best), abs=0.07)
    assert value == pytest.approx(nll(law["test"], y["test"], h))


def nll(law: Any, y: torch.Tensor, h: float) -> float:
    with torch.no_grad():
        return -law.with_bandwidth(h).log_prob(y).mean().item()


def test_large_bandwidths_approach_the_uniform_methods(networks: dict[str, Path]) -> None:
    x, y = torch.rand(50, 1, dtype=torch.float64), 2 * torch.rand(50, 2, dtype=torch.float64) - 1
    for kind, cut, uniform in (("wta", "v_wta", "unif_v_wta"), ("hist", "tk_hist", "unif_hist")):
        models = estimators(kind, load_network(networks[kind], "loss")[0], DOMAIN)
        wide = models[cut](x).with_bandwidth(100.0).log_prob(y)
        assert torch.allclose(wide, models[uniform](x).log_prob(y), atol=1e-3)


def test_curves_are_gathered(networks: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "curves.parquet"
    collect_curves({"paper": list(networks.values())}, path)
    table = read_table(path)
    assert len(table) == 2 * len(networks)
    assert set(table["model"]) == set(networks)
    assert set(table["protocol"]) == {"paper"}
    assert (table.groupby("model")["selected_by_loss"].sum() == 1).all()
    tensors, metadata = read_tensors(networks["mdn"])
    mine = table[table["model"] == "mdn"]
    assert mine["epoch"].tolist() == [1, 2]
    assert mine["loss"].tolist() == tensors["curve"][:, 1].tolist()
    assert mine.loc[mine["selected_by_loss"], "epoch"].item() == metadata["selected"]["loss"] + 1
    assert table["distance"].notna().sum() == (table["model"] == "wta").sum() == 2
    assert read_metadata(path)["parts"].keys() == {str(file) for file in networks.values()}


@pytest.mark.parametrize("bins", [None, {**BINS, "grid": [3, 3]}])
def test_wrong_grid_is_named(data: Path, tmp_path: Path, bins: Any) -> None:
    winner = {"kind": "winner"}
    settings = Training(
        1, 64, 1e-2, [16], 1.0, "sum", "the same rows", False, winner, "default", bins
    )
    outputs = {0: tmp_path / "x.safetensors"}
    job = Job("single_gaussian", "hist", 6, outputs, tmp_path, "cpu", "code")
    with pytest.raises(ValueError, match="K=6 needs a grid of 6 bins"):
        train(job, data, {}, settings)


def test_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="'histogram'"):
        estimators("histogram", torch.nn.Identity(), DOMAIN)
