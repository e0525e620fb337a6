"""Theory on networks: identities hold, noise has the right size, and every row is there."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from vwta.geometry.grids import bin_centres
from vwta.geometry.outlines import Outlines
from vwta.geometry.spaces import Box
from vwta.io.storage import read_metadata, read_table, write_table, write_tensors
from vwta.nn.heads import Hypotheses
from vwta.paper.metrics import COLUMNS, MetricsFile, tidy
from vwta.paper.networks import NETWORKS, build
from vwta.paper.synthetic.trained import load_network
from vwta.paper.synthetic.true_laws import ChangingDamier, SingleGaussian
from vwta.paper.theory.evaluate import Settings, evaluate_properties
from vwta.paper.theory.identities import direction_rows, identity_rows
from vwta.paper.theory.zador import effective_area, zador_risk
from vwta.seeds import generator

SQUARE = Box([-1.0, -1.0], [1.0, 1.0])
QUADRANT = {"name": "quadrant", "shape": "box", "low": [0.0, 0.0], "high": [1.0, 1.0]}
DISC = {"name": "disc", "shape": "disc", "centre": [0.2, 0.2], "radius": 0.3}
SETTINGS = Settings(
    seed=3,
    inputs=4,
    points=300,
    negligible=0.2,
    bins=4,
    directions={"count": 40, "repeat": 2},
    optimum={"inputs": 2, "starts": 1, "steps": 20},
    sets=[QUADRANT, DISC],
    h=[0.1, 0.5],
    low=[-1.0, -1.0],
    high=[1.0, 1.0],
    selected_by="distance",
)
BOX = {"low": [-1.0, -1.0], "high": [1.0, 1.0]}
KINDS: dict[str, dict[str, Any]] = {
    "wta": {"outputs": 2, "hypotheses": 6, "bounded": True},
    "hist": {"grid": [3, 2], **BOX},
    "mdn": {"outputs": 2, "components": 6, "bounded": True},
}


class Fixed(nn.Module):
    """The same atoms for every input."""

    def __init__(self, points: Tensor, logits: Tensor) -> None:
        super().__init__()
        self.points, self.logits = points, logits

    def forward(self, x: Tensor) -> Hypotheses:
        shape = x.shape[:-1]
        return Hypotheses(
            self.points.expand(*shape, -1, -1), self.logits.expand(*shape, len(self.logits))
        )


def values(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in rows}


@pytest.fixture(scope="module")
def identity() -> dict[str, float]:
    """Cells of a chessboard's squares, with scores that are wrong."""
    x = torch.tensor([[0.1], [0.3]], dtype=torch.float64)
    source = generator(0)
    first, second = (ChangingDamier().sample(x, m, source).transpose(0, 1) for m in (4000, 6000))
    points = bin_centres([4, 4], [-1.0, -1.0], [1.0, 1.0]).expand(2, 16, 2)
    masses = torch.rand(2, 16, generator=source, dtype=torch.float64).softmax(-1)
    areas = Outlines(points, SQUARE).areas
    return values(identity_rows(points, masses, areas, first, second, SQUARE))


def test_identity_is_algebra_on_the_same_points(identity: dict[str, float]) -> None:
    for name in ("nll_identity", "nll_optimal"):
        same = identity[f"{name}_right_same_points"]
        assert identity[f"{name}_left"] == pytest.approx(same, abs=1e-12)


def test_identity_holds_up_to_noise_on_others(identity: dict[str, float]) -> None:
    noise = identity["nll_identity_noise"]
    assert 0 < noise < 0.01
    for name in ("nll_identity", "nll_optimal"):
        difference = identity[f"{name}_left"] - identity[f"{name}_right"]
        assert 1e-6 < abs(difference) < 4 * noise  # other points, so not by algebra


def test_noise_is_the_scatter_of_the_difference() -> None:
    """Over 60 repetitions, with one cell far less likely than the other."""
    points = torch.tensor([[-0.8, 0.0], [0.4, 0.0]], dtype=torch.float64).expand(3, 2, 2)
    masses = torch.tensor([0.05, 0.95], dtype=torch.float64).expand(3, 2)
    areas, source = Outlines(points, SQUARE).areas, generator(5)
    scaled = []
    for _ in range(60):
        first, second = (
            torch.rand(3, m, 2, generator=source, dtype=torch.float64) * 2 - 1 for m in (100, 300)
        )
        found = values(identity_rows(points, masses, areas, first, second, SQUARE))
        difference = found["nll_identity_left"] - found["nll_identity_right"]
        scaled.append(difference / found["nll_identity_noise"])
    assert 0.75 < torch.tensor(scaled).std().item() < 1.3
    assert abs(torch.tensor(scaled).mean().item()) < 0.5


def test_exact_scores_have_the_entropy_of_the_law(identity: dict[str, float]) -> None:
    """The chessboard is uniform on its squares: nothing but the scores could be wrong."""
    entropy = sum(-(1 - x) * math.log((1 - x) / 2) - x * math.log(x / 2) for x in (0.1, 0.3)) / 2
    assert identity["nll_optimal_right"] == pytest.approx(entropy, abs=0.02)
    assert identity["nll_identity_left"] > identity["nll_optimal_left"] + 0.1


def test_points_outside_do_not_count() -> None:
    points = torch.tensor([[[-0.5, 0.0], [0.5, 0.0]]], dtype=torch.float64)
    masses = torch.tensor([[0.25, 0.75]], dtype=torch.float64)
    y = torch.tensor([[[-0.3, 0.1], [0.2, 0.1], [0.3, 0.2], [0.1, 5.0]]], dtype=torch.float64)
    areas = Outlines(points, SQUARE).areas
    rows = identity_rows(points, masses, areas, y, y, SQUARE)
    expected = -(math.log(0.25 / 2) + 2 * math.log(0.75 / 2)) / 3
    found = values(rows)
    assert found["nll_identity_left"] == pytest.approx(expected)
    assert found["nll_identity_right"] == pytest.approx(expected)
    assert {row["n"] for row in rows} == {3}


def test_random_directions_flatter() -> None:
    """By half the relative variance of the volume, for large numbers of directions."""
    source = generator(1)
    points = torch.rand(8, 2, generator=source, dtype=torch.float64) * 2 - 1
    network = Fixed(points, torch.zeros(8, dtype=torch.float64))
    y = torch.rand(400, 2, generator=source, dtype=torch.float64) * 2.2 - 1.1
    rows = [*direction_rows(network, torch.zeros(400, 1), y, SQUARE, [0.3, 1.0], 40, range(30))]
    table = pd.DataFrame(rows)
    assert set(table["n"]) == {int(SQUARE.contains(y).sum())}
    bias = table[table["metric"] == "nll_directions_bias"]
    assert bias["method"].tolist() == ["unif_v_wta", "v_wta", "v_wta"]
    assert (bias["value"] < 0).all()
    angle = 2 * math.pi * (torch.arange(2000, dtype=torch.float64) + 0.5) / 2000
    reach = Outlines(points[None], SQUARE).reach(torch.stack([angle.cos(), angle.sin()], -1))[0]
    area = reach**2
    variance = area.var(1) / area.mean(1) ** 2 / 40
    inside = y[SQUARE.contains(y)]
    cell = torch.cdist(inside, points).argmin(1)
    expected = -(variance / 2)[cell].mean().item()
    assert bias["value"].iloc[0] == pytest.approx(expected, rel=0.2)
    scatter = table.loc[table["metric"] == "nll_directions_scatter", "value"]
    assert (scatter.to_numpy() > 0).all()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Untrained networks of all kinds, test points, and Lloyd's risk."""
    folder = tmp_path_factory.mktemp("files")
    out = {}
    for kind, arguments in KINDS.items():
        specification = {"kind": kind, "inputs": 1, "widths": [8], **arguments}
        torch.manual_seed(0)
        weights = build(**specification).state_dict()
        prefix = "distance" if kind == "wta" else "loss"
        record = {"network": specification, "provenance": {"K": 6, "seed": 7}}
        out[kind] = folder / kind
        write_tensors(out[kind], {f"{prefix}.{k}": v for k, v in weights.items()}, record)
    out["data"], out["theory"] = folder / "data", folder / "theory"
    y = 0.4 * torch.randn(50, 2, generator=generator(1))
    write_tensors(out["data"], {"x_test": torch.rand(50, 1), "y_test": y}, {})
    best = [
        {"method": m, "K": 6, "metric": "risk", "value": v}
        for m, v in (("lloyd", 0.1), ("zador", 9))
    ]
    write_table(out["theory"], tidy(best), {})
    return out


def run(files: dict[str, Path], path: Path, settings: Settings = SETTINGS) -> pd.DataFrame:
    networks = [files[kind] for kind in KINDS]
    data, theory = files["data"], files["theory"]
    output = MetricsFile(path, "synthetic", "paper", "single_gaussian", "code")
    evaluate_properties(networks, data, theory, SingleGaussian(), settings, output)
    return read_table(path)


@pytest.fixture(scope="module")
def table(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return run(files, tmp_path_factory.mktemp("table") / "properties.parquet")


def test_rows_are_tidy_and_complete(table: pd.DataFrame) -> None:
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert not table.duplicated(list(COLUMNS)[:-2]).any()
    assert table["value"].notna().all()
    errors = table[table["metric"] == "set_error"]
    swept, fixed = ["v_wta", "k_wta"], ["unif_v_wta", "dirac_wta", "unif_hist", "mdn"]
    lloyd = ["v_lloyd", "k_lloyd"], ["unif_v_lloyd", "dirac_lloyd"]
    assert errors.groupby("method").size().to_dict() == {
        **dict.fromkeys(swept + lloyd[0], 2),
        **dict.fromkeys(fixed + lloyd[1], 1),
    }
    for metric, methods in {
        "dead": {"wta", "hist", "mdn", "lloyd"},
        "never_wins": {"wta", "hist", "mdn", "lloyd"},
        "zador_ratio": {"wta", "hist", "mdn", "lloyd"},
        "lloyd_ratio": {"wta", "hist", "mdn"},
        "score_tv": {"wta", "hist"},
        "score_tv_floor": {"wta", "hist"},
        "centroid_rms": {"wta", "hist", "lloyd"},
        "largest_diameter": {"wta", "hist", "lloyd"},
        "point_density_tv_half": {"wta", "lloyd"},
        "nll_identity_left": {"unif_v_wta"},
        "nll_directions_bias": {"unif_v_wta", "v_wta"},
        "set_error_floor": {"truth"},
    }.items():
        assert set(table.loc[table["metric"] == metric, "method"]) == methods
    assert set(table.loc[table["method"].isin(NETWORKS), "seed"]) == {7}


def number(table: pd.DataFrame, method: str, metric: str, h: float | None = None) -> float:
    rows = table[(table["method"] == method) & (table["metric"] == metric)]
    rows = rows[rows["h"].isna() if h is None else rows["h"] == h]
    return rows["value"].item()


def test_means_over_sets(table: pd.DataFrame) -> None:
    each = [number(table, "v_wta", f"set_error_{name}", 0.5) for name in ("quadrant", "disc")]
    assert number(table, "v_wta", "set_error", 0.5) == pytest.approx(sum(each) / 2)


def test_known_numbers_of_a_grid(table: pd.DataFrame) -> None:
    assert number(table, "hist", "largest_diameter") == pytest.approx(math.hypot(2 / 3, 1))
    assert number(table, "hist", "largest_radius") == pytest.approx(math.hypot(1 / 3, 1 / 2))


def test_kernels_on_the_quadrant_by_erf(files: dict[str, Path], table: pd.DataFrame) -> None:
    """The error of K-WTA, with the true probability in closed form instead of by points."""
    network, _ = load_network(files["wta"], "distance")
    with torch.no_grad():
        atoms = network((torch.arange(4, dtype=torch.float64)[:, None] + 0.5) / 4)

    def side(mean: Tensor, h: float) -> Tensor:
        return (torch.erf((1 - mean) / (h * 2**0.5)) - torch.erf(-mean / (h * 2**0.5))) / 2

    found = (atoms.masses * side(atoms.points, 0.5).prod(-1)).sum(-1)
    truth = side(torch.tensor([0.25, 0.25]).double(), 0.2).prod()
    error = (found - truth).abs().mean().item()
    noise = math.sqrt(truth.item() * (1 - truth.item()) / 600)
    assert number(table, "k_wta", "set_error_quadrant", 0.5) == pytest.approx(error, abs=3 * noise)
    floor = number(table, "truth", "set_error_floor")
    assert 0 < floor < noise


def test_ratios_go_together(table: pd.DataFrame) -> None:
    risk = number(table, "wta", "zador_ratio") * zador_risk(effective_area(SingleGaussian()), 6)
    assert number(table, "wta", "lloyd_ratio") == pytest.approx(risk / 0.1)
    assert number(table, "lloyd", "zador_ratio") < number(table, "wta", "zador_ratio")


def test_light_components_are_dead(files: dict[str, Path], table: pd.DataFrame) -> None:
    network, _ = load_network(files["mdn"], "loss")
    with torch.no_grad():
        weights = network((torch.arange(4, dtype=torch.float64)[:, None] + 0.5) / 4).masses
    expected = (weights < 0.2).sum(-1).double().mean().item()
    assert 0 < expected < 6
    assert number(table, "mdn", "dead") == pytest.approx(expected)


def test_same_settings_same_numbers(
    files: dict[str, Path], table: pd.DataFrame, tmp_path: Path
) -> None:
    pd.testing.assert_frame_equal(run(files, tmp_path / "again"), table)
    other = run(files, tmp_path / "other", replace(SETTINGS, seed=4))
    assert number(other, "wta", "score_tv") != number(table, "wta", "score_tv")
    assert read_metadata(tmp_path / "again")["provenance"]["code"] == "code"
