"""Distances of estimators from the true law: what is compared, and with what."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import chi2_contingency, chisquare, ks_2samp

from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.kernels import Gaussian
from vwta.geometry.spaces import Box
from vwta.io.storage import read_table, read_tensors, write_tensors
from vwta.paper.estimators import measured_in
from vwta.paper.metrics import MetricsFile
from vwta.paper.networks import NETWORKS, build
from vwta.paper.synthetic.generate import generate
from vwta.paper.synthetic.transport import (
    Reference,
    Settings,
    as_published,
    evaluate_emd,
    evaluate_emd_truth,
)
from vwta.paper.synthetic.true_laws import problem
from vwta.seeds import generator

SETTINGS = Settings(
    seed=5,
    inputs=4,
    samples=30,
    clouds=False,
    h=[0.1, 0.3],
    low=[-1.0] * 2,
    high=[1.0] * 2,
    selected_by="loss",
    sampler="exact",
    unif_emd="cells",
)
ATOMS = [[-0.5, 0.0], [0.5, 0.5], [0.5, -0.5]]
NETWORK = {
    "kind": "wta",
    "inputs": 1,
    "outputs": 2,
    "hypotheses": 3,
    "widths": [4],
    "bounded": True,
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Data of a problem and a network that puts three atoms on given places, whatever x."""
    rows = {"train": 1, "validation": 1, "test": 6}
    generate("changing_damier", {}, False, rows, 0, tmp_path / "data", "")
    network = build(**NETWORK)
    for weight in network.parameters():
        torch.nn.init.zeros_(weight)
    bias = [*torch.tensor(ATOMS).atanh().flatten().tolist(), 9.0, 0.0, 0.0]
    network.heads.bias.data = torch.tensor(bias)
    weights = {f"loss.{name}": value for name, value in network.state_dict().items()}
    write_tensors(tmp_path / "network", weights, {"network": NETWORK, "provenance": {"seed": 1234}})
    return {name: tmp_path / name for name in ("data", "network")}


def measure(files: dict[str, Path], path: Path, settings: Settings = SETTINGS) -> pd.DataFrame:
    output = MetricsFile(path, "synthetic", "paper", "changing_damier", code="")
    evaluate_emd(**files, constants={}, settings=settings, output=output, model="wta", K=3)
    return read_table(path)


def test_rows_say_what_was_measured(files: dict[str, Path], tmp_path: Path) -> None:
    table = measure(files, tmp_path / "emd")
    assert table["method"].tolist() == ["dirac_wta", "unif_v_wta", "v_wta", "v_wta"]
    assert table["h"].isna().tolist() == [True, True, False, False]
    assert set(table["metric"]) == {"emd"}
    assert (table["n"] == 4).all()
    assert (table["seed"] == 1234).all()
    assert table["value"].between(0.01, 3).all()


def test_dirac_distance_against_an_assignment(files: dict[str, Path], tmp_path: Path) -> None:
    """Masses are all but a half and two quarters: 30, 15 and 15 of 60 points."""
    value = measure(files, tmp_path / "emd").set_index("method").loc["dirac_wta", "value"]
    x = read_tensors(files["data"])[0]["x_test"][:4].double()
    source = generator(SETTINGS.seed, "changing_damier", "reference")
    y = problem("changing_damier").sample(x, 30, source)
    atoms = np.repeat(ATOMS, [30, 15, 15], axis=0)
    expected = []
    for index in range(4):
        cost = cdist(y[:, index].repeat_interleave(2, 0), atoms)
        expected.append(cost[linear_sum_assignment(cost)].mean())
    assert value == pytest.approx(np.mean(expected), abs=1e-3)


def test_distances_can_be_had_again(files: dict[str, Path], tmp_path: Path) -> None:
    first, second = (measure(files, tmp_path / name)["value"] for name in ("a", "b"))
    assert first.equals(second)
    other = measure(files, tmp_path / "c", replace(SETTINGS, seed=6))["value"]
    assert (first != other).all()


def test_small_h_is_near_the_dirac_mixture(files: dict[str, Path], tmp_path: Path) -> None:
    settings = replace(SETTINGS, h=[1e-4, 1e4], samples=400)
    dirac, uniform, small, large = measure(files, tmp_path / "emd", settings)["value"]
    assert small == pytest.approx(dirac, abs=0.03)
    assert large == pytest.approx(uniform, abs=0.03)
    assert abs(dirac - uniform) > 0.1


def drawn_with_rejection(
    law: VoronoiMixture, attempts: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Points and their cells: an attempt that leaves its cell is lost, with its choice of one."""
    z, h = law.points.numpy(), law.kernel.h.item()
    atom = rng.choice(len(z), size=attempts, p=law.masses.numpy())
    y = z[atom] + h * rng.normal(size=(attempts, 2))
    kept = (cdist(y, z).argmin(1) == atom) & (np.abs(y) <= 1).all(1)
    return y[kept], atom[kept]


def test_published_sampler_against_rejection() -> None:
    points = torch.tensor([[-0.6, -0.6], [-0.5, -0.4], [0.7, 0.1], [0.1, 0.9]], dtype=torch.double)
    masses = torch.tensor([0.3, 0.3, 0.3, 0.1], dtype=torch.double)
    exact = VoronoiMixture(points, masses, Gaussian(0.5), Box([-1.0] * 2, [1.0] * 2))
    published = as_published(exact)
    y, cell = drawn_with_rejection(exact, 100_000, np.random.default_rng(0))
    n = np.bincount(cell, minlength=4)
    assert chisquare(n, len(cell) * published.masses.numpy()).pvalue > 0.01
    assert chisquare(n, len(cell) * masses.numpy()).pvalue < 1e-100
    ours = published.sample((50_000,), generator=generator(0))
    ours_n = np.bincount(published.cell_of(ours), minlength=4)
    assert chi2_contingency([n, ours_n]).pvalue > 0.01
    for axis in (0, 1):
        assert ks_2samp(y[:, axis], ours[:, axis].numpy()).pvalue > 0.01


def test_published_sampler_leaves_atoms_alone(files: dict[str, Path], tmp_path: Path) -> None:
    settings = replace(SETTINGS, h=[0.3, 0.6])  # below, cells have all of their kernels' masses
    exact = measure(files, tmp_path / "a", settings)["value"]
    published = measure(files, tmp_path / "b", replace(settings, sampler="published"))["value"]
    assert (exact == published).tolist() == [True, False, False, False]


def test_gaussian_stands_for_uniform(files: dict[str, Path], tmp_path: Path) -> None:
    settings = replace(SETTINGS, h=[1.0], samples=400)
    cells = measure(files, tmp_path / "a", settings)["value"]
    gaussian = measure(files, tmp_path / "b", replace(settings, unif_emd="gaussian"))
    assert gaussian["method"].tolist() == ["dirac_wta", "unif_v_wta", "v_wta"]
    assert gaussian["h"].isna().tolist() == [True, True, False]
    assert (cells == gaussian["value"]).tolist() == [True, False, True]
    assert gaussian["value"][1] == pytest.approx(cells[2], abs=0.03)


def test_gaussian_stands_for_uniform_bins(files: dict[str, Path], tmp_path: Path) -> None:
    box = {"low": SETTINGS.low, "high": SETTINGS.high}
    bins = {"kind": "hist", "inputs": 1, "widths": [4], "grid": [1, 1], **box}
    weights = {f"loss.{name}": value for name, value in build(**bins).state_dict().items()}
    write_tensors(tmp_path / "hist", weights, {"network": bins, "provenance": {"seed": 1234}})
    output = MetricsFile(tmp_path / "emd", "synthetic", "paper", "changing_damier", code="")
    values = []
    for unif_emd in ("cells", "gaussian"):
        settings = replace(SETTINGS, samples=400, unif_emd=unif_emd)
        evaluate_emd(tmp_path / "hist", files["data"], {}, settings, output, model="hist", K=1)
        values += read_table(tmp_path / "emd")["value"].tolist()
    assert values[0] != values[1]
    assert values[0] == pytest.approx(values[1], abs=0.05)


def test_truth_is_nearer_with_more_points(files: dict[str, Path], tmp_path: Path) -> None:
    values = []
    for samples in (30, 400):
        settings = replace(SETTINGS, samples=samples)
        output = MetricsFile(tmp_path / "truth", "synthetic", "paper", "changing_damier", code="")
        evaluate_emd_truth(files["data"], {}, settings, output)
        table = read_table(output.path)
        assert table["method"].tolist() == ["truth"]
        values += table["value"].tolist()
    assert 0 < values[1] < 0.5 * values[0]


def test_every_kind_of_network_is_measured() -> None:
    measured = measured_in("synthetic").values()
    assert {recipe.network for recipe in measured if recipe.emd} == NETWORKS.keys()


def test_clouds_are_further_from_the_truth(tmp_path: Path) -> None:
    constants = {"low": [-1.356, -0.873], "high": [2.356, 1.373]}
    rows = {"train": 1, "validation": 1, "test": 20}
    generate("rotating_moons", constants, False, rows, 0, tmp_path / "data", "")
    values = []
    for clouds in (False, True):
        settings = Reference(seed=5, inputs=20, samples=300, clouds=clouds)
        output = MetricsFile(tmp_path / "truth", "synthetic", "paper", "rotating_moons", code="")
        evaluate_emd_truth(tmp_path / "data", constants, settings, output)
        values += read_table(output.path)["value"].tolist()
    assert 0.02 < values[1] - values[0] < 0.08
