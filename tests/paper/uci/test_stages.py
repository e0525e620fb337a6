"""The UCI study: rows of splits, trainings side by side, bandwidths, metrics."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from tuned import evaluate_uci as evaluate

from vwta.distributions.bandwidth import golden_section
from vwta.distributions.mixtures import KernelMixture
from vwta.geometry.kernels import Gaussian
from vwta.io.storage import below, read_metadata, read_table, read_tensors, write_tensors
from vwta.nn import losses
from vwta.nn.heads import Components
from vwta.nn.networks import initialise
from vwta.paper.networks import build
from vwta.paper.searches import COLUMNS as SEARCH_COLUMNS
from vwta.paper.training import Job
from vwta.paper.uci.prepare import prepare_own
from vwta.paper.uci.regression import splits
from vwta.paper.uci.search import Search, find
from vwta.paper.uci.splits import divide
from vwta.paper.uci.train import Settings, train
from vwta.paper.uci.tune import Settings as Measure
from vwta.seeds import stream
from vwta.training.loop import FixedData
from vwta.training.stacking import Plan, Rows, fit_stacked

N, COUNT = 120, 3
PAPER = Settings(
    plan={"epochs": 30, "batch_size": 32, "learning_rate": 0.01},
    widths=[20],
    restarts=2,
    seed=7,
    held_out=0.2,
    steps=None,
    betas=[1.0],
    score_reduction="sum",
    mixture_loss="exact",
    selected_by="loss",
    retrained=False,
    bins={"low": -1.0, "high": 1.0},
)
SEARCH: dict[str, Any] = {
    "units": "standardised",
    "low": 0.1,
    "high": 2.0,
    "scale": "linear",
    "tolerance": 0.1,
    "takes": "lowest",
}
MEASURE = Measure(
    seed=7,
    held_out=0.2,
    selected_by=None,
    search=SEARCH,
    domain="line",
    ensembles=True,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a constant column, its target in units of a thousand."""
    path = tmp_path_factory.mktemp("data") / "toy.safetensors"
    source = torch.Generator().manual_seed(0)
    x = torch.randn(N, 3, generator=source, dtype=torch.float64) * 5 + 2
    x[:, 1] = 4.0
    noise = torch.randn(N, generator=source, dtype=torch.float64)
    y = 1000 * (x[:, 0] + 0.3 * noise) + 5000
    write_tensors(path, {"inputs": x, "target": y}, {"discrete": False})
    return path


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    folder = tmp_path_factory.mktemp("trained")
    files = {}
    for model in ("wta", "hist", "mdn"):
        outputs = {split: folder / model / f"split{split}.safetensors" for split in range(COUNT)}
        train(Job("toy", model, 5, outputs, folder / "unfinished", "cpu", "code"), data, PAPER)
        files[model] = list(outputs.values())
    assert not list((folder / "unfinished").iterdir())
    return files


@pytest.fixture(scope="module")
def measured(
    data: Path, trained: dict[str, list[Path]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[pd.DataFrame, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("measured")
    metrics, searches = folder / "evaluation.parquet", folder / "searches.parquet"
    evaluate(trained, data, metrics, searches, MEASURE, "code", "paper", "toy", 5)
    record = read_metadata(metrics)["provenance"]
    assert [training["model"] for training in record["trainings"]] == ["wta", "hist", "mdn"]
    return read_table(metrics), read_table(searches)


def test_rows_are_standardised_by_the_training_side() -> None:
    x = torch.arange(40, dtype=torch.float64).view(20, 2) ** 1.5
    x[:, 1] = 0.1
    y = torch.linspace(-3, 9, 20, dtype=torch.float64)
    official = splits(20, 4)
    parts = divide(x, y, official, 0.25, seed=1)
    for index, (kept, left) in enumerate(official):
        whole = y[torch.from_numpy(kept)]
        assert parts.mean[index].item() == pytest.approx(whole.mean().item())
        assert parts.scale[index].item() == pytest.approx(whole.std(correction=0).item())
        back = parts.test.y[index, :, 0] * parts.scale[index] + parts.mean[index]
        assert torch.allclose(back, y[torch.from_numpy(left)])
        assert parts.whole.x[index, :, 0].mean().item() == pytest.approx(0, abs=1e-12)
        assert parts.whole.x[index, :, 0].std(correction=0).item() == pytest.approx(1)
    assert (parts.whole.x[..., 1].abs() < 1e-12).all()  # constant: centred, not divided by 0


def test_validation_rows_are_some_of_the_training_rows_and_no_others() -> None:
    x = torch.arange(50, dtype=torch.float64)[:, None]
    parts = divide(x, x[:, 0], splits(50, 5), 0.2, seed=1)

    def numbers(rows: Rows, split: int) -> set[int]:
        return set(
            (rows.y[split, :, 0] * parts.scale[split] + parts.mean[split]).round().int().tolist()
        )

    for split in range(5):
        train_rows, held_out = numbers(parts.train, split), numbers(parts.validation, split)
        assert len(held_out) == 9
        assert train_rows.isdisjoint(held_out)
        assert train_rows | held_out == numbers(parts.whole, split)
        assert numbers(parts.test, split).isdisjoint(train_rows | held_out)
    assert numbers(parts.validation, 0) != numbers(parts.validation, 1)
    other = divide(x, x[:, 0], splits(50, 5), 0.2, seed=2)
    assert not torch.equal(other.validation.y, parts.validation.y)


def test_the_published_code_validates_on_the_test_rows() -> None:
    x = torch.rand(30, 2, dtype=torch.float64)
    parts = divide(x, x[:, 0], splits(30, 2), None, seed=1)
    assert torch.equal(parts.validation.x, parts.test.x)
    assert torch.equal(parts.train.y, parts.whole.y)


def test_networks_are_those_of_one_stack(data: Path, trained: dict[str, list[Path]]) -> None:
    """The second restart of the last split, trained alone."""
    tensors, metadata = read_tensors(trained["wta"][2])
    assert metadata["provenance"]["split"] == 2
    raw, _ = read_tensors(data)
    parts = divide(raw["inputs"], raw["target"], splits(N, COUNT), 0.2, seed=7)
    seed = stream(8, "network", 2)
    network = initialise(metadata["network"], seed, build)
    loss = partial(losses.wta, beta=1.0, score_reduction="sum")
    one, held_out = (
        Rows(*(part[2:].float() for part in rows)) for rows in (parts.train, parts.validation)
    )
    rows, plan = FixedData(one, held_out), Plan(**PAPER.plan)
    alone = fit_stacked([network], loss, {"loss": loss}, rows, plan, [seed])
    assert metadata["epochs"]["loss"][1] == alone.epochs["loss"].item()
    for name, value in below("loss.1.", tensors).items():
        assert torch.allclose(value, alone.weights["loss"][name][0], atol=1e-4)
    assert torch.allclose(tensors["curve.loss.1"], alone.curves["loss"][:, 0], atol=1e-4)


def test_training_again_gives_the_same_bits(
    data: Path, trained: dict[str, list[Path]], tmp_path: Path
) -> None:
    outputs = {split: tmp_path / f"{split}.safetensors" for split in range(COUNT)}
    train(Job("toy", "mdn", 5, outputs, tmp_path / "unfinished", "cpu", "code"), data, PAPER)
    for split, path in outputs.items():
        again, before = read_tensors(path)[0], read_tensors(trained["mdn"][split])[0]
        assert again.keys() == before.keys()
        assert all(torch.equal(again[name], before[name]) for name in again)


def test_networks_can_be_trained_anew_on_all_rows(data: Path, tmp_path: Path) -> None:
    """Their last weights are tested; the bandwidth is that of the validated ones."""
    settings = replace(PAPER, score_reduction="softmax", selected_by="last", retrained=True)
    files = {split: tmp_path / f"{split}.safetensors" for split in range(2)}
    train(Job("toy", "wta", 5, files, tmp_path / "unfinished", "cpu", "code"), data, settings)
    tensors, metadata = read_tensors(files[1])
    raw, _ = read_tensors(data)
    parts = divide(raw["inputs"], raw["target"], splits(N, 2), 0.2, seed=7)
    seeds = [stream(7, "network", split) for split in range(2)]
    networks = [initialise(metadata["network"], seed, build) for seed in seeds]
    loss = partial(losses.wta, beta=1.0, score_reduction="softmax")
    whole, held_out = (
        Rows(*(part.float() for part in rows)) for rows in (parts.whole, parts.validation)
    )
    plan = Plan(**PAPER.plan)
    done = fit_stacked(networks, loss, {"loss": loss}, FixedData(whole, held_out), plan, seeds)
    for name, value in below("final.0.", tensors).items():
        assert torch.equal(value, done.last[name][1])
        assert not torch.equal(value, tensors[f"last.0.{name}"])

    both, alone = tmp_path / "both.parquet", tmp_path / "alone.parquet"
    networks_of = {"wta": list(files.values())}
    searches = tmp_path / "searches.parquet"
    evaluate(networks_of, data, both, searches, MEASURE, "code", "ours", "toy", 5)
    for file in files.values():
        tensors, metadata = read_tensors(file)
        write_tensors(file, tensors, {**metadata, "retrained": False})
    evaluate(networks_of, data, alone, searches, MEASURE, "code", "ours", "toy", 5)
    first, second = (read_table(path).query("metric == 'nll'") for path in (both, alone))
    assert np.array_equal(first["h"], second["h"])
    assert (first["value"].to_numpy() != second["value"].to_numpy()).all()


def test_one_training_stores_what_each_criterion_selects(
    data: Path, trained: dict[str, list[Path]], tmp_path: Path
) -> None:
    tensors, metadata = read_tensors(trained["wta"][0])
    for criterion in ("loss", "distance"):
        lowest = tensors[f"curve.{criterion}.0"].argmin().item() + 1
        assert metadata["epochs"][criterion][0] == lowest
    assert read_tensors(trained["mdn"][0])[1]["epochs"].keys() == {"loss"}

    found = {}
    files = {"wta": trained["wta"][:1], "mdn": trained["mdn"][:1]}
    for selected_by in (None, "loss", "distance", "last"):
        path = tmp_path / f"{selected_by}.parquet"
        settings = replace(MEASURE, selected_by=selected_by)
        evaluate(files, data, path, tmp_path / "searches", settings, "code", "any", "toy", 5)
        table = read_table(path).query("metric == 'nll' and seed == 7")
        table = table.set_index("method")["value"]
        found[selected_by] = (table["k_wta"], table["mdn"])
    assert found[None] == found["loss"]
    assert len({k_wta for k_wta, _ in found.values()}) == 3
    assert len({mdn for _, mdn in found.values()}) == 1  # the loss selects its weights


def test_each_split_takes_the_weight_of_scores_that_suits_it(data: Path, tmp_path: Path) -> None:
    """Scores that learn nothing lose wherever others have learnt anything."""
    settings = replace(PAPER, betas=[0.0, 1.0], retrained=True)
    files = {split: tmp_path / f"{split}.safetensors" for split in range(COUNT)}
    train(Job("toy", "wta", 5, files, tmp_path / "unfinished", "cpu", "code"), data, settings)
    single = replace(settings, betas=[1.0])
    others = {split: tmp_path / f"single{split}.safetensors" for split in range(COUNT)}
    train(Job("toy", "wta", 5, others, tmp_path / "unfinished", "cpu", "code"), data, single)
    for split in range(COUNT):
        tensors, metadata = read_tensors(files[split])
        assert metadata["beta"] == 1.0
        alone, _ = read_tensors(others[split])
        assert all(torch.equal(tensors[name], alone[name]) for name in tensors)


def test_networks_trained_anew_stop_where_the_selected_ones_did(data: Path, tmp_path: Path) -> None:
    files = {split: tmp_path / f"{split}.safetensors" for split in range(COUNT)}
    fast = {**PAPER.plan, "learning_rate": 0.3}  # so that it overfits
    settings = replace(PAPER, plan=fast, retrained=True)
    train(Job("toy", "hist", 5, files, tmp_path / "unfinished", "cpu", "code"), data, settings)
    raw, _ = read_tensors(data)
    parts = divide(raw["inputs"], raw["target"], splits(N, COUNT), 0.2, seed=7)
    whole, held_out = (
        Rows(*(part.float() for part in rows)) for rows in (parts.whole, parts.validation)
    )
    lowest = [read_tensors(path)[1]["epochs"]["loss"][0] for path in files.values()]
    assert len(set(lowest)) > 1
    for split, epochs in enumerate(lowest):
        tensors, metadata = read_tensors(files[split])
        seed = stream(7, "network", split)
        network = initialise(metadata["network"], seed, build)
        one, other = (Rows(*(part[[split]] for part in rows)) for rows in (whole, held_out))
        plan = Plan(**{**fast, "epochs": epochs})
        loss = partial(losses.scoring, score_reduction="sum")
        done = fit_stacked([network], loss, {"loss": loss}, FixedData(one, other), plan, [seed])
        for name, value in below("final.0.", tensors).items():
            assert torch.allclose(value, done.last[name][0], atol=1e-3)


def test_steps_are_limited_in_whole_epochs(data: Path, tmp_path: Path) -> None:
    """Of 86 rows in batches of 32, three steps make an epoch."""
    for steps, epochs in ((7, 2), (1, 1), (1000, 30)):
        settings = replace(PAPER, steps=steps, restarts=1)
        path = tmp_path / f"{steps}.safetensors"
        train(
            Job("toy", "hist", 5, {0: path}, tmp_path / "unfinished", "cpu", "code"), data, settings
        )
        assert len(read_tensors(path)[0]["curve.loss.0"]) == epochs


def test_the_published_mixture_loss_has_the_normaliser_of_the_plane() -> None:
    components = Components(torch.zeros(4, 1, 1), torch.zeros(4, 1), torch.full((4, 1), 0.7))
    y = torch.tensor([[0.1], [0.5], [-1.0], [2.0]])
    exact, published = losses.mixture(components, y), losses.mixture(components, y, dimension=2)
    scale = math.exp(0.35)
    reference = -stats.norm(0, scale).logpdf(y.numpy()).mean()
    assert exact.item() == pytest.approx(reference, rel=1e-6)
    extra = math.log(scale * math.sqrt(2 * math.pi))
    assert (published - exact).item() == pytest.approx(extra, rel=1e-5)


def laws(deviation: float) -> tuple[KernelMixture, torch.Tensor]:
    source = torch.Generator().manual_seed(0)
    y = deviation * torch.randn(500, 1, generator=source, dtype=torch.float64)
    points = torch.zeros(500, 1, 1, dtype=torch.float64)
    return KernelMixture(points, torch.ones(500, 1, dtype=torch.float64), Gaussian(1.0)), y


def test_the_bandwidth_is_found_in_the_units_of_the_protocol() -> None:
    law, y = laws(0.5)
    best = y.square().mean().sqrt().item()
    plain = find(law, y, Search(**SEARCH), deviation=40.0)
    assert plain.h == pytest.approx(best, abs=0.1)
    assert not plain.border
    fine = find(law, y, Search(**{**SEARCH, "scale": "log", "tolerance": 1e-4}), deviation=40.0)
    assert fine.h == pytest.approx(best, rel=1e-3)
    original = {**SEARCH, "units": "original", "low": 4.0, "high": 80.0, "tolerance": 4.0}
    assert find(law, y, Search(**original), 40.0).h == pytest.approx(plain.h)
    up_to_sd = {**original, "high": None, "takes": "middle"}
    middle = find(law, y, Search(**up_to_sd), 40.0)
    assert middle.h == pytest.approx(best, abs=0.1)
    assert middle.tried[-1][0] == middle.h


def test_a_search_that_ends_at_the_border_says_so() -> None:
    law, y = laws(0.02)
    low = find(law, y, Search(**SEARCH), 1.0)
    assert low.border
    assert low.h == pytest.approx(0.1, abs=0.1)
    wide = {**SEARCH, "high": 0.3, "low": 0.01, "tolerance": 0.001}
    assert not find(law, y, Search(**wide), 1.0).border
    assert find(*laws(3.0), Search(**SEARCH), 1.0).border


def test_an_interval_that_is_upside_down_gives_the_printed_row() -> None:
    """Targets that deviate by .0147, h between .1 and that: -1.94 is log(h sqrt(2 pi))."""
    deviation = 0.0147
    law, y = laws(0.001)
    released = {**SEARCH, "units": "original", "high": None, "takes": "middle"}
    found = find(law, y, Search(**released), deviation)
    assert found.h * deviation == pytest.approx(0.0573, abs=1e-4)
    assert found.border
    assert [h for h, _ in found.tried] == [found.h]
    nll = -law.with_bandwidth(found.h).log_prob(y).mean().item() + math.log(deviation)
    assert nll == pytest.approx(-1.94, abs=0.005)


def test_a_search_remembers_what_it_saw() -> None:
    found = golden_section(lambda t: (t - 0.3) ** 2, 0.0, 1.0, 0.05)
    assert found.evaluations == len(found.tried)
    assert found.value == min(value for _, value in found.tried)
    low, high = found.interval
    assert low < 0.3 < high
    assert high - low <= 0.05
    assert all(0 < point < 1 for point, _ in found.tried)


def test_every_method_is_measured_on_every_split(
    measured: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    metrics, searches = measured
    counts = metrics.groupby(["method", "metric"]).size()
    twice = ["v_wta", "k_wta", "mdn"]  # each restart alone
    once = ["tk_hist", "v_wta_ensemble", "k_wta_ensemble", "mdn_ensemble"]
    wanted = ["nll", "rmse", "crps", "coverage90", "pit"]
    assert all(counts[method, metric] == 2 * COUNT for method in twice for metric in wanted)
    assert all(counts[method, metric] == COUNT for method in once for metric in wanted)
    assert set(metrics.loc[metrics["method"].isin(twice), "seed"]) == {7, 8}
    assert set(metrics.loc[metrics["method"].isin(once), "seed"]) == {7}
    assert all(counts[method, "odds"] == 2 * COUNT for method in twice)
    assert counts["tk_hist", "odds"] == COUNT
    assert not any((method, "odds") in counts for method in once[1:])
    assert counts["mdn", "diverged"] == COUNT
    assert "nll_dequantised" not in set(metrics["metric"])
    swept = {"v_wta", "k_wta", "tk_hist", "v_wta_ensemble", "k_wta_ensemble"}
    assert set(metrics.loc[metrics["tuned"], "method"]) == swept
    assert metrics.loc[metrics["method"].isin(swept), "tuned"].all()
    columns = {
        name: kind for name, kind in SEARCH_COLUMNS.items() if name not in ("K", "temperature")
    }
    assert searches.dtypes.astype(str).to_dict() == columns
    assert set(searches["method"]) == swept
    chosen = searches[searches["chosen"]]
    assert len(chosen) == (2 + 2 + 1 + 1 + 1) * COUNT
    keys = ["method", "seed", "split"]
    lowest = searches.groupby(keys)["nll"].min()
    assert np.allclose(chosen.set_index(keys)["nll"].sort_index(), lowest)


def test_ensembles_are_measured_only_if_asked_for(
    data: Path, trained: dict[str, list[Path]], tmp_path: Path
) -> None:
    path, settings = tmp_path / "evaluation.parquet", replace(MEASURE, ensembles=False)
    files = {"mdn": trained["mdn"][:1]}
    evaluate(files, data, path, tmp_path / "s.parquet", settings, "code", "paper", "toy", 5)
    assert set(read_table(path)["method"]) == {"mdn"}


def test_metrics_are_in_the_targets_own_units(
    data: Path, trained: dict[str, list[Path]], measured: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    """K-WTA of a split by scipy, from the weights, with targets in thousands."""
    tensors, metadata = read_tensors(trained["wta"][1])
    raw, _ = read_tensors(data)
    kept, left = splits(N, COUNT)[1]
    x, y = raw["inputs"].numpy(), raw["target"].numpy()
    centre, deviation = x[kept].mean(0), x[kept].std(0)
    deviation[1] = 1.0
    network = build(**metadata["network"])
    network.load_state_dict(below("loss.0.", tensors))
    with torch.no_grad():
        atoms = network.double()(torch.from_numpy((x[left] - centre) / deviation))
    scale, mean = y[kept].std(), y[kept].mean()
    z, gamma = atoms.points[..., 0].numpy() * scale + mean, atoms.masses.numpy()
    own = measured[0].query("method == 'k_wta' and seed == 7 and split == 1").set_index("metric")
    h = own.loc["nll", "h"] * scale
    density = (gamma * stats.norm.pdf(y[left][:, None], z, h)).sum(-1)
    assert own.loc["nll", "value"] == pytest.approx(-np.log(density).mean(), rel=1e-9)
    rmse = np.sqrt((((gamma * z).sum(-1) - y[left]) ** 2).mean())
    assert own.loc["rmse", "value"] == pytest.approx(rmse, rel=1e-9)
    below_y = (gamma * stats.norm.cdf(y[left][:, None], z, h)).sum(-1)
    assert own.loc["coverage90", "value"] == ((below_y >= 0.05) & (below_y <= 0.95)).mean()
    assert own.loc["pit", "value"] == pytest.approx(stats.kstest(below_y, "uniform").statistic)
    z_sorted = np.sort(z, axis=1)
    middle, infinite = (z_sorted[:, 1:] + z_sorted[:, :-1]) / 2, np.full((len(z), 1), np.inf)
    ends = np.hstack([-infinite, middle, infinite])
    mass_below = (gamma[:, None] * stats.norm.cdf(ends[..., None], z[:, None], h)).sum(-1)
    won = (y[left][:, None] >= ends[:, :-1]) & (y[left][:, None] < ends[:, 1:])
    pairs = sorted(zip(np.diff(mass_below).ravel(), won.ravel(), strict=True))
    bins = [np.array(part) for part in np.array_split(np.array(pairs), 10)]
    apart = [len(part) * abs(part[:, 0].mean() - part[:, 1].mean()) for part in bins]
    assert own.loc["odds", "value"] == pytest.approx(sum(apart) / won.size, rel=1e-9)


def test_discrete_targets_get_a_second_likelihood(
    data: Path, trained: dict[str, list[Path]], tmp_path: Path
) -> None:
    tensors, _ = read_tensors(data)
    rounded = tmp_path / "toy.safetensors"
    tensors["target"] = (tensors["target"] / 500).round() * 500
    write_tensors(rounded, tensors, {"discrete": True})
    metrics = tmp_path / "evaluation.parquet"
    files = {"wta": trained["wta"]}
    small = replace(MEASURE, search={**SEARCH, "low": 1e-3})
    evaluate(files, rounded, metrics, tmp_path / "s.parquet", small, "code", "paper", "toy", 5)
    values = read_table(metrics).groupby(["method", "metric"])["value"].mean()
    assert values["v_wta", "nll_dequantised"] >= math.log(500)  # no spike can do better
    assert math.isfinite(values["k_wta", "nll_dequantised"])


@pytest.mark.parametrize("factor", [1.0, 1e4])
def test_the_published_domain_cuts_where_atoms_and_targets_still_fit(
    data: Path, trained: dict[str, list[Path]], tmp_path: Path, factor: float
) -> None:
    tensors, metadata = read_tensors(data)
    tensors["target"][0] *= factor  # far out where it is not a row of training
    changed = tmp_path / "toy.safetensors"
    write_tensors(changed, tensors, metadata)
    metrics = tmp_path / "evaluation.parquet"
    settings = replace(MEASURE, domain="published")
    place = changed, metrics, tmp_path / "s.parquet"
    evaluate({"wta": trained["wta"]}, *place, settings, "code", "released", "toy", 5)
    table = read_table(metrics)
    assert set(table["protocol"]) == {"released"}
    assert table["value"].map(math.isfinite).all()


def test_a_bandwidth_at_the_border_is_warned_of(
    data: Path,
    trained: dict[str, list[Path]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = replace(MEASURE, search={**SEARCH, "low": 1.5})
    searches = tmp_path / "searches.parquet"
    files = {"hist": trained["hist"][:1]}
    path = tmp_path / "evaluation.parquet"
    evaluate(files, data, path, searches, settings, "code", "paper", "toy", 5)
    assert read_table(searches)["border"].all()
    assert "tk_hist: the search for h ends at the interval's border, 1.5" in caplog.text


def test_networks_that_are_lost_have_no_metric(
    data: Path, trained: dict[str, list[Path]], tmp_path: Path
) -> None:
    tensors, metadata = read_tensors(trained["mdn"][0])
    tensors["loss.0.heads.bias"][3] = math.nan
    lost = tmp_path / "lost.safetensors"
    write_tensors(lost, tensors, metadata)
    path, searches = tmp_path / "evaluation.parquet", tmp_path / "searches.parquet"
    files = {"mdn": [lost, *trained["mdn"][1:]]}
    evaluate(files, data, path, searches, MEASURE, "code", "paper", "toy", 5)
    nll = read_table(path).query("metric == 'nll'").set_index(["method", "seed", "split"])["value"]
    lost_ones = set(nll.index[nll.isna()])
    assert lost_ones == {("mdn", 7, 0), ("mdn_ensemble", 7, 0)}  # the second restart is fine


def test_an_own_table_becomes_a_set(tmp_path: Path) -> None:
    source, path = tmp_path / "houses.csv", tmp_path / "houses.safetensors"
    source.write_text("rooms;price\n3;1.5\n4;2.5\n5;4.0\n")
    prepare_own(source, "price", ";", path, "code")
    tensors, facts = read_tensors(path)
    assert tensors["target"].tolist() == [1.5, 2.5, 4.0]
    assert facts["columns"] == ["rooms"]
    assert facts["provenance"]["dataset"] == "houses"
