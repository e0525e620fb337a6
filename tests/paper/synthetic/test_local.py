"""Local kernels in the synthetic study: trained in the domain, adjusted, and measured."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from tuned import evaluate_synthetic

from vwta.geometry.spaces import Box
from vwta.io.storage import read_table, read_tensors, write_tensors
from vwta.nn.densities import LocalDensity
from vwta.paper.collection import collect_curves
from vwta.paper.metrics import MetricsFile
from vwta.paper.synthetic import evaluate as measuring
from vwta.paper.synthetic import transport
from vwta.paper.synthetic.generate import generate
from vwta.paper.synthetic.local import Settings, train
from vwta.paper.synthetic.predict import predict
from vwta.paper.synthetic.trained import load_network
from vwta.paper.synthetic.true_laws import SingleGaussian
from vwta.paper.training import Job

CORNERS: dict[str, Any] = {"low": [-1.0, -1.0], "high": [1.0, 1.0]}
LOCAL = Settings(
    plan={"epochs": 3, "batch_size": 32, "learning_rate": 0.01, "rate": "warm_cosine", "clip": 5.0},
    widths=[8],
    form="scores",
    log_scale=-1.2,
    distance=10.0,
    background=None,
    covariance=False,
    **CORNERS,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, some of them outside the square, and a network trained on them."""
    folder = tmp_path_factory.mktemp("local")
    rows = {"train": 96, "validation": 40, "test": 12}
    generate("single_gaussian", {}, False, rows, 0, folder / "data", "code")
    tensors, metadata = read_tensors(folder / "data")
    for split in ("train", "validation"):
        tensors[f"y_{split}"][::10] = 1.5
    write_tensors(folder / "data", tensors, metadata)
    train(job(folder / "network", folder), folder / "data", LOCAL)
    return folder


def job(path: Path, folder: Path) -> Job:
    return Job("single_gaussian", "local", 4, {1: path}, folder / "open", "cpu", "")


def test_rows_outside_the_domain_are_not_trained_on(folder: Path, tmp_path: Path) -> None:
    tensors, metadata = read_tensors(folder / "data")
    for split in ("train", "validation"):
        inside = (tensors[f"y_{split}"].abs() <= 1).all(-1)
        assert not inside.all()
        for axis in "xy":
            tensors[f"{axis}_{split}"] = tensors[f"{axis}_{split}"][inside]
    write_tensors(tmp_path / "data", tensors, metadata)
    train(job(tmp_path / "network", tmp_path), tmp_path / "data", LOCAL)
    whole, part = (read_tensors(where / "network")[0] for where in (folder, tmp_path))
    assert all(torch.equal(whole[name], part[name]) for name in whole)
    assert whole["curve"].isfinite().all()


def test_settings_reach_the_training(folder: Path, tmp_path: Path) -> None:
    first = read_tensors(folder / "network")[0]["curve"][0]
    for name, other in {
        "distance": {"distance": 20.0},
        "background": {"background": {"share": 0.5, "h": 0.5}},
        "scale": {"log_scale": -0.5},
        "covariance": {"covariance": True},
    }.items():
        settings = replace(LOCAL, plan={**LOCAL.plan, "epochs": 1}, **other)
        train(job(tmp_path / name, tmp_path), folder / "data", settings)
        assert not torch.allclose(read_tensors(tmp_path / name)[0]["curve"][0], first)


def law(folder: Path, x: Tensor) -> Any:
    network, _ = load_network(folder / "network", "distance")
    return LocalDensity(network, Box(**CORNERS))(x)


def test_numbers_are_those_of_the_law(folder: Path) -> None:
    """As it was trained, and at the factor and temperature that validation rows choose."""
    output = MetricsFile(folder / "metrics", "synthetic", "ours", "single_gaussian", code="")
    settings = measuring.Settings(
        h=[0.2],
        capped={"epsilon": 1e-7, "cap": 16.1},
        tuned=[],
        **CORNERS,
        selected_by="distance",
        large={"rows": 30, "seed": 3},
        outside="zero",
        factors=[0.5],
    )
    evaluate_synthetic([folder / "network"], folder / "data", SingleGaussian(), settings, output)
    table = read_table(output.path)
    own = table[table["method"] == "local_v_wta"]
    at_half = ~own["tuned"] & (own["h"] == 0.5)
    halved, own = own[at_half].set_index("metric"), own[~at_half].set_index(["metric", "tuned"])
    x, y = (read_tensors(folder / "data")[0][f"{axis}_test"].double() for axis in "xy")
    with torch.no_grad():
        trained, inside = law(folder, x), (y.abs() <= 1).all(-1)
        factor, heat = own.loc[("temperature", True), ["h", "value"]]
        changed = trained.with_width_factor(factor).with_temperature(heat)
        for tuned, one in ((False, trained), (True, changed)):
            nll = -one.log_prob(y)[inside].mean().item()
            assert own.loc[("nll", tuned), "value"] == pytest.approx(nll, abs=1e-9)
            truth = SingleGaussian().log_density(x, y)[inside].mean().item()
            assert own.loc[("excess", tuned), "value"] == pytest.approx(nll + truth, abs=1e-9)
        nll = -trained.with_width_factor(0.5).log_prob(y)[inside].mean().item()
        assert halved.loc["nll", "value"] == pytest.approx(nll, abs=1e-6)
        assert math.isnan(own.loc[("nll", False), "h"])
        assert own.loc[("nll", True), "h"] == factor
        points = trained.points
    (risk,) = table.loc[(table["metric"] == "risk") & (table["method"] == "local"), "value"]
    nearest = (points - y[:, None]).square().sum(-1).amin(-1).mean().item()
    assert risk == pytest.approx(nearest)


def test_distances_curves_and_predictions(folder: Path) -> None:
    """The other stages take the network as they take those of other methods."""
    settings = transport.Settings(
        seed=1,
        inputs=2,
        samples=20,
        clouds=False,
        h=[0.2],
        **CORNERS,
        selected_by="distance",
        sampler="exact",
        unif_emd="cells",
        emd_solver="exact",
        opencv_inputs=1,
    )
    output = MetricsFile(folder / "emd", "synthetic", "ours", "single_gaussian", code="")
    place = folder / "network", folder / "data", {}
    transport.evaluate_emd(*place, settings, output, model="local", K=4)
    table = read_table(output.path)
    assert table["method"].tolist() == ["local_v_wta"]
    assert 0 < table["value"].item() < 1
    collect_curves({"ours": [folder / "network"]}, folder / "curves")
    curves = read_table(folder / "curves")
    assert curves["selected_by_nll"].sum() == 1
    assert curves.loc[curves["selected_by_nll"], "nll"].item() == curves["nll"].min()
    outputs = {folder / "network": folder / "prediction"}
    predict(outputs, "distance", {}, [0.5], 10, 0, "code", "single_gaussian")
    assert (read_tensors(folder / "prediction")[0]["scales"] > 0).all()
