"""The audio study: features, trainings, predictions and metrics, on a few made scenes."""

import math
import shutil
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import logsumexp
from torch import Tensor

from vwta.io.errors import Damaged, Interrupted
from vwta.io.storage import read_metadata, read_tensors, write_tensors
from vwta.nn import losses
from vwta.nn.heads import Hypotheses
from vwta.nn.local import LocalAtoms
from vwta.nn.models import select
from vwta.nn.networks import initialise
from vwta.paper.audio import dispersion, local
from vwta.paper.audio import evaluate as measuring
from vwta.paper.audio.ansyn import CLASSES, frame_labels, list_scenes, read_scene
from vwta.paper.audio.estimators import estimators
from vwta.paper.audio.evaluate import evaluate
from vwta.paper.audio.features import Settings as FeatureSettings
from vwta.paper.audio.features import make_features
from vwta.paper.audio.frames import AudioData, MappedRows, active, read_fold
from vwta.paper.audio.monte_carlo import volume_rows
from vwta.paper.audio.networks import build
from vwta.paper.audio.perturbation import Perturbation
from vwta.paper.audio.predict import predict, read_predictions
from vwta.paper.audio.scenes import Settings as SceneSettings
from vwta.paper.audio.scenes import make_scenes
from vwta.paper.audio.show import pick, show_scenes
from vwta.paper.audio.sounds import synthesise_all
from vwta.paper.audio.spectrograms import scene_features
from vwta.paper.audio.targets import Targets
from vwta.paper.audio.train import Settings, train
from vwta.paper.audio.tune import Settings as Tuning
from vwta.paper.audio.tune import tune
from vwta.paper.metrics import MetricsFile
from vwta.paper.searches import Chosen, SearchFile
from vwta.paper.training import Job
from vwta.seeds import generator
from vwta.training.loop import Fit, Schedule, fit
from vwta.workflow.deposit import data_of

DEGREES = {kind: 5.0 + 5 * index for index, kind in enumerate(CLASSES)}
NOISE = Perturbation(DEGREES)
TRUNK = {"filters": 4, "pools": [4, 4], "width": 6, "layers": 1}
SETTINGS = Settings(
    epochs=2,
    batch_size=4,
    learning_rate=0.01,
    warm_up=2,
    trunk=TRUNK,
    noise=DEGREES,
    grid=[3, 3],
    beta=1.0,
    score_reduction="sum",
    validation="noised",
    modes="each",
)
SWITCHES = FeatureSettings(seconds=6, bands=16, every=4, floor=1e-4)
MEASURED = measuring.Settings(
    seed=7,
    h=[0.2, 1.0],
    tuned=["v_wta"],
    monte_carlo={"points": 500, "targets": 40},
    noise=DEGREES,
)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    settings = SceneSettings(duration=6.0)
    make_scenes(folder, synthesise_all(2, 1), settings, 3, {"train": 2, "test": 1}, [2], [1])
    return folder


@pytest.fixture(scope="module")
def files(scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("features")
    files = {part: folder / f"ov2_split1_{part}.npy" for part in ("train", "test")}
    labels = folder / "ov2_split1.safetensors"
    make_features(scenes, 2, 1, files, labels, SWITCHES, "code")
    return files


@pytest.fixture(scope="module")
def networks(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("networks")
    folds = {"train": [files["train"]], "validation": [files["test"]]}
    made = {model: folder / f"{model}.safetensors" for model in ("wta", "hist", "m_vmf")}
    for model, path in made.items():
        train(
            Job("synthetic", model, 9, {5: path}, folder / "open", "cpu", "code"), folds, SETTINGS
        )
    return made


@pytest.fixture(scope="module")
def predictions(
    networks: dict[str, Path], files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("predictions")
    folds = {"validation": [files["test"]], "test": [files["train"]]}
    made = {model: folder / f"{model}.safetensors" for model in networks}
    for model, path in made.items():
        predict(networks[model], folds, path, "distance", 4, "cpu", "code")
    return made


@pytest.fixture(scope="module")
def table(
    predictions: dict[str, Path], files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> pd.DataFrame:
    path = tmp_path_factory.mktemp("metrics") / "metrics.parquet"
    output = MetricsFile(path, "audio", "paper", "synthetic", "code")
    searches = path.with_name("searches.parquet")
    tuning = {"methods": ["v_wta"], "low": 0.05, "high": 2.0, "tolerance": 0.05, "targets": 100}
    settings = Tuning(MEASURED.seed, tuning, MEASURED.noise)
    place = SearchFile(searches, "paper", "synthetic", "code")
    tune([*predictions.values()], [files["test"]], settings, place)
    evaluate([*predictions.values()], [files["train"]], searches, MEASURED, output)
    assert len(read_metadata(path)["provenance"]["trainings"]) == 3
    return pd.read_parquet(path)


def test_features_and_labels_are_those_of_the_scenes(scenes: Path, files: dict[str, Path]) -> None:
    fold = read_fold([files["test"], files["train"]])
    order = [*list_scenes(scenes, [2], [1], ["test"]), *list_scenes(scenes, [2], [1], ["train"])]
    assert len(fold.features) == len(fold.scene) == 9
    assert fold.scene[0] == "ov2_split1/test_1_desc_30_100"
    for index, scene in enumerate(order):
        samples, events = read_scene(scene)
        rows = slice(3 * index, 3 * index + 3)
        expected = scene_features(samples, 6, 16, 4, 1e-4).float()
        assert torch.equal(fold.features[rows], expected)
        labels = frame_labels(events, 300)
        assert np.array_equal(fold.kind[rows].flatten(0, 1), labels.kind)
        found = fold.direction[rows].flatten(0, 1)
        np.testing.assert_allclose(found, labels.direction, atol=1e-6)
        assert np.array_equal(active(found), labels.active)


def test_rows_of_several_files_in_any_order() -> None:
    arrays = [np.arange(n * 2, dtype=np.float16).reshape(n, 2) + 100 * n for n in (3, 1, 4)]
    rows, whole = MappedRows(arrays), torch.from_numpy(np.concatenate(arrays)).float()
    order = torch.tensor([7, 0, 3, 3, 4])
    assert len(rows) == 8
    assert torch.equal(rows[2:5], whole[2:5])
    assert torch.equal(rows[order][1:4], whole[order][1:4])
    assert torch.equal(rows[order][torch.tensor([4, 0])].to("cpu")[0:9], whole[[4, 7]])


@pytest.fixture
def copies(files: dict[str, Path], tmp_path: Path) -> dict[str, Path]:
    """The files of features and their labels, to be changed."""
    shutil.copy(files["test"].with_name("ov2_split1.safetensors"), tmp_path)
    return {part: Path(shutil.copy(path, tmp_path)) for part, path in files.items()}


def test_any_changed_byte_of_features_is_noticed(copies: dict[str, Path]) -> None:
    path = copies["test"]
    whole = path.read_bytes()
    for position in (0, 7, 30, 127, 128, len(whole) // 2, len(whole) - 1):
        content = bytearray(whole)
        content[position] ^= 1 << position % 8
        path.write_bytes(content)
        with pytest.raises(Damaged, match=f"{path} is damaged: its hash .*Remedy: delete it"):
            read_fold([path])
    for other in (whole[:-2], whole + b"\0"):
        path.write_bytes(other)
        with pytest.raises(Damaged, match=f"{path} is damaged"):
            read_fold([copies["train"], path])
    path.write_bytes(whole)
    assert len(read_fold([path]).features) == 3


def test_features_of_another_job_are_refused(copies: dict[str, Path]) -> None:
    """Of another run, with as many rows, or with another part's."""
    path, labels = copies["test"], copies["test"].with_name("ov2_split1.safetensors")
    stored = np.load(path)
    np.save(path, stored + np.float16(1))
    with pytest.raises(Damaged, match=rf"its hash is not the one that {labels} has"):
        read_fold([path])
    shutil.copy(copies["train"], path)
    with pytest.raises(Damaged, match="its hash is not"):
        read_fold([path])
    tensors, metadata = read_tensors(labels)
    write_tensors(labels, tensors, {"names": metadata["names"]})  # as they were without hashes
    with pytest.raises(Damaged, match="its hash is not"):
        read_fold([copies["train"]])


def test_targets_have_new_noise_in_each_epoch(files: dict[str, Path]) -> None:
    fold = read_fold([files["train"]])
    data = AudioData(fold, fold, NOISE, 1, "noised")
    first, again, second = (data.training(epoch)[1] for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    there = active(fold.direction)
    assert torch.equal(active(first), there)
    assert (first != second).any(-1)[there].all()
    torch.testing.assert_close(first[there].norm(dim=-1), torch.ones(int(there.sum())))
    held_out = data.validation(0)[1]
    assert torch.equal(held_out, data.validation(1)[1])
    assert not torch.equal(held_out, fold.direction)
    clean = AudioData(fold, fold, NOISE, 1, "clean")
    assert torch.equal(clean.validation(0)[1], fold.direction)


def test_validation_weighs_targets_not_batches(files: dict[str, Path]) -> None:
    """The mean over all targets does not depend on how they are divided into batches."""
    fold = read_fold([files["train"]])
    fold.kind[0], fold.direction[0] = -1, 0.0  # nothing sounds
    fold.kind[1, :, 1:], fold.direction[1, :, 1:] = -1, 0.0
    values = []

    def criterion(out: Hypotheses, y: Tensor) -> Tensor:
        return losses.sphere_winner_distance(out, y, active(y))

    for rows in (1, 2, 100):
        data, schedule = AudioData(fold, fold, NOISE, 1, "clean"), Schedule(1, 100, 1e-9, 0, rows)
        done = fit(_network(), criterion, {"distance": criterion}, data, schedule, 0)
        values.append(done.curve[0, 1].item())
    assert values[1:] == pytest.approx(values[:1] * 2, rel=1e-5)


def test_rate_is_the_published_one() -> None:
    schedule = Schedule(epochs=101, batch_size=32, learning_rate=0.0025, warm_up=5)
    for epoch in range(101):
        published = 0.05 * 0.05 * min((epoch + 1) ** -0.5, (epoch + 1) * 5**-1.5)
        assert schedule.rate(epoch) == pytest.approx(published, rel=1e-12)
    assert Schedule(3, 1, 0.5).rate(2) == 0.5


def test_rate_moves_the_weights(files: dict[str, Path]) -> None:
    """Adam's first step is as long as the rate, whatever the gradient."""
    fold = read_fold([files["train"]])
    loss = _plain(losses.sphere_wta)
    for rate, warm_up in ((0.01, 0), (0.01, 4)):
        network = _network()
        before = {name: value.clone() for name, value in network.named_parameters()}
        schedule = Schedule(1, 100, rate, warm_up, 100)
        fit(network, loss, {"loss": loss}, AudioData(fold, fold, NOISE, 1, "noised"), schedule, 0)
        moved = max(
            (value.detach() - before[name]).abs().max().item()
            for name, value in network.named_parameters()
        )
        assert moved == pytest.approx(schedule.rate(0), rel=1e-3)


@pytest.mark.parametrize("call", [2, 6, 9])
def test_interrupted_training_gives_the_same_bits(
    files: dict[str, Path], tmp_path: Path, call: int
) -> None:
    """With convolutions in another order in memory, batch normalisation, and a changing rate."""
    calls = 0

    def stop(out: Any, y: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == call:
            signal.raise_signal(signal.SIGTERM)
        value: Tensor = _plain(losses.sphere_wta)(out, y)
        return value

    def run(loss: Any, checkpoint: Path | None) -> Fit:
        fold = read_fold([files["train"]])
        data = AudioData(fold, fold, NOISE, 1, "noised")
        schedule = Schedule(3, 2, 0.01, 2, 4)
        return fit(_network(), loss, {"loss": loss}, data, schedule, 1, checkpoint=checkpoint)

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(Interrupted):
        run(stop, checkpoint)
    resumed, whole = (
        run(_plain(losses.sphere_wta), checkpoint),
        run(_plain(losses.sphere_wta), None),
    )
    assert torch.equal(resumed.curve, whole.curve)
    kept = resumed.selected["loss"], whole.selected["loss"]
    assert kept[0].epoch == kept[1].epoch
    assert all(torch.equal(value, kept[1].weights[k]) for k, value in kept[0].weights.items())


def test_a_training_names_its_data_as_deposits_do(
    networks: dict[str, Path], files: dict[str, Path]
) -> None:
    labels = [files["train"].with_name("ov2_split1.safetensors")]
    for path in networks.values():
        record = read_tensors(path)[1]["provenance"]
        assert record["data"] == data_of("audio/paper", labels)


def test_trainings_say_what_they_are(networks: dict[str, Path]) -> None:
    for model, path in networks.items():
        tensors, metadata = read_tensors(path)
        assert metadata["network"]["kind"] == metadata["provenance"]["model"] == model
        assert tensors["curve"].shape == (2, 3 if model == "wta" else 2)
        assert {name.partition(".")[0] for name in tensors} - {"curve"} == set(metadata["selected"])


def test_published_mixture_has_a_single_mode(files: dict[str, Path], tmp_path: Path) -> None:
    folds = {"train": [files["test"]], "validation": [files["test"]]}
    path = tmp_path / "m_vmf.safetensors"
    single = Settings(**{**vars(SETTINGS), "modes": "single", "epochs": 1})
    train(Job("synthetic", "m_vmf", 9, {5: path}, tmp_path / "open", "cpu", "code"), folds, single)
    assert read_tensors(path)[1]["network"]["components"] == 1


def test_predictions_are_those_of_the_frames_with_sources(
    networks: dict[str, Path], predictions: dict[str, Path], files: dict[str, Path]
) -> None:
    fold = read_fold([files["train"]])
    for model, path in predictions.items():
        tensors, metadata = read_tensors(networks[model])
        network = build(**metadata["network"])
        kept = "distance." if model == "wta" else "loss."
        network.load_state_dict(
            {k.removeprefix(kept): v for k, v in tensors.items() if k.startswith(kept)}
        )
        with torch.no_grad():
            expected = network.eval()(fold.features[0:6])
        found = read_predictions(path, "test")
        assert found.model == model
        sounding = active(fold.direction).any(-1)
        for one, other in zip(found.atoms, expected, strict=True):
            torch.testing.assert_close(one.float(), other[sounding], rtol=1e-4, atol=1e-5)


def test_methods_and_metrics(table: pd.DataFrame) -> None:
    likely = table[(table["metric"] == "nll") & ~table["tuned"]]
    counts = likely.groupby("method").size().to_dict()
    swept = dict.fromkeys(("v_wta", "k_wta", "unweighted_k_wta", "tk_hist"), 2)
    assert counts == {**swept, "unif_v_wta": 1, "unif_hist": 1, "m_vmf": 1, "truth": 1}
    assert table.loc[table["tuned"], "method"].tolist() == ["v_wta"]
    assert set(table.loc[table["metric"] == "risk", "method"]) == {"wta", "hist", "m_vmf"}
    assert table["n"].gt(0).all()
    assert set(table["dataset"]) == {"synthetic"}
    networks = table["method"] != "truth"
    assert set(table.loc[networks, "K"]) == {9}
    assert set(table.loc[networks, "seed"]) == {5}


def test_numbers_by_plain_formulas(
    table: pd.DataFrame, predictions: dict[str, Path], files: dict[str, Path]
) -> None:
    """Kernel-WTA, its unweighted version and the risk, target by target with numpy."""
    targets = _targets(files)
    atoms = read_predictions(predictions["wta"], "test").atoms
    points = atoms.points[targets.frame].numpy()
    masses = atoms.masses[targets.frame].numpy()
    cosine = np.einsum("nkd,nd->nk", points, targets.y.numpy()).clip(-1, 1)
    kappa = 1 / 0.2**2
    log_kernel = np.log(kappa / (4 * math.pi * np.sinh(kappa))) + kappa * cosine
    weighted = logsumexp(log_kernel + np.log(masses), axis=-1)
    plain = logsumexp(log_kernel - math.log(9), axis=-1)
    assert _value(table, "k_wta", "nll", h=0.2) == pytest.approx(-weighted.mean(), rel=1e-6)
    assert _value(table, "unweighted_k_wta", "nll", h=0.2) == pytest.approx(-plain.mean(), rel=1e-6)
    nearest = np.arccos(cosine).min(-1) ** 2
    assert _value(table, "wta", "risk") == pytest.approx(nearest.mean(), rel=1e-6)


def test_large_bandwidths_make_kernels_uniform(
    predictions: dict[str, Path], files: dict[str, Path]
) -> None:
    targets = _targets(files)
    for model, cut, uniform in (("wta", "v_wta", "unif_v_wta"), ("hist", "tk_hist", "unif_hist")):
        atoms = read_predictions(predictions[model], "test").atoms
        laws = estimators(model)
        near = measuring._log_probs(laws[cut], atoms, targets, [Chosen(200.0)])[0]
        limit = measuring._log_probs(laws[uniform], atoms, targets, [None])[0]
        torch.testing.assert_close(near, limit, atol=1e-4, rtol=0)


def test_truth_is_the_mixture_of_a_frame_s_sources(
    table: pd.DataFrame, files: dict[str, Path]
) -> None:
    targets, total = _targets(files), 0.0
    for y, frame in zip(targets.y, targets.frame.tolist(), strict=True):
        sources = [
            NOISE.log_density(y, direction, kind).exp().item()
            for direction, kind in zip(targets.direction[frame], targets.kind[frame], strict=True)
            if kind >= 0
        ]
        total -= math.log(sum(sources) / len(sources))
    assert _value(table, "truth", "nll") == pytest.approx(total / len(targets.y), rel=1e-9)


def test_monte_carlo_volumes_tend_to_the_exact_ones(
    predictions: dict[str, Path], files: dict[str, Path]
) -> None:
    targets = _targets(files).some(20, generator(1, "some"))
    atoms = read_predictions(predictions["hist"], "test").atoms
    law = estimators("hist")["tk_hist"]
    few, many = (
        {(row["h"], row["metric"]): row["value"] for row in rows}
        for rows in (
            volume_rows(law, atoms, targets, [0.1], 30, 1),
            volume_rows(law, atoms, targets, [0.1], 100_000, 1),
        )
    )
    assert abs(many[0.1, "monte_carlo_bias"]) < 0.02
    assert few[0.1, "monte_carlo_bias"] < -0.1
    assert many[0.1, "monte_carlo_empty"] == 0


def test_dispersion_of_a_narrow_law_is_its_deviation() -> None:
    kind = torch.arange(11)
    level = torch.tensor([0.6, 0.8, 0.0], dtype=torch.float64).expand(11, 3)
    found = dispersion.dispersions(NOISE.mean(level, kind), kind)
    assert {name: value for name, (value, _) in found.items()} == pytest.approx(DEGREES)
    still = Hypotheses(level[:, None], torch.zeros(11, 1, dtype=torch.float64))
    means = dispersion.mean_vectors(still, kind)
    assert all(value < 1e-5 for value, _ in dispersion.dispersions(means, kind).values())
    doubled = {name: (2 * value, frames) for name, (value, frames) in found.items()}
    assert dispersion.correlation_row(doubled, found)["value"] == pytest.approx(1)
    turned = {name: (-value, frames) for name, (value, frames) in found.items()}
    assert dispersion.correlation_row(turned, found)["value"] == pytest.approx(-1)
    assert math.isnan(dispersion.correlation_row(dict(list(found.items())[:2]), found)["value"])


def test_dispersion_is_over_frames_with_one_source(
    table: pd.DataFrame, files: dict[str, Path]
) -> None:
    fold = read_fold([files["train"]])
    single = fold.kind.ge(0).sum(-1) == 1
    for name in CLASSES:
        frames = int((fold.kind[single] == CLASSES.index(name)).sum())
        rows = table[(table["method"] == "wta") & (table["metric"] == f"dispersion_{name}")]
        assert rows["n"].tolist() == ([frames] if frames else [])


def test_shown_frames_are_predicted_ones(
    predictions: dict[str, Path], files: dict[str, Path], tmp_path: Path
) -> None:
    fold = read_fold([files["train"]])
    chunk, frame = pick(fold, 2, 4)
    assert fold.kind[chunk, frame].ge(0).any(-1).all()
    assert len({fold.scene[row] for row in chunk[:, 0].tolist()}) == 2
    path = tmp_path / "scenes.safetensors"
    show_scenes(predictions["wta"], [files["train"]], path, 2, 4, DEGREES, 1, "code")
    shown, metadata = read_tensors(path)
    assert shown["points"].shape == (2, 4, 9, 3)
    torch.testing.assert_close(shown["masses"].sum(-1), torch.ones(2, 4).double())
    atoms = read_predictions(predictions["wta"], "test").atoms
    sounding = active(fold.direction).any(-1).nonzero().tolist()
    where = sounding.index([int(chunk[1, 2]), int(frame[1, 2])])
    assert torch.equal(shown["points"][1, 2], atoms.points[where])
    assert torch.equal(shown["direction"], fold.direction[chunk, frame])
    first = fold.scene.index(metadata["names"][1])
    seconds = (int(chunk[1, 2]) - first) * 2 + (int(frame[1, 2]) + 0.5) / 50
    assert metadata["seconds"][1][2] == pytest.approx(seconds)


def _plain(loss: Any) -> Any:
    plain = partial(loss, beta=1.0, score_reduction="sum")
    return lambda out, y: plain(out, y, active=active(y))


def _network() -> torch.nn.Module:
    sizes = {"channels": 8, "frames": 100, "bands": 16, **TRUNK}
    return initialise({"kind": "wta", "hypotheses": 9, **sizes}, 0, build)


def _targets(files: dict[str, Path]) -> Targets:
    return Targets.of(read_fold([files["train"]]), NOISE, generator(7, "noise", "test"))


def _value(table: pd.DataFrame, method: str, metric: str, h: float | None = None) -> float:
    rows = table[(table["method"] == method) & (table["metric"] == metric) & ~table["tuned"]]
    rows = rows if h is None else rows[rows["h"] == h]
    (value,) = rows["value"]
    return float(value)


def test_our_recipe_from_training_to_metrics(files: dict[str, Path], tmp_path: Path) -> None:
    """Local kernels, augmentation and signed channels, through all stages."""
    signed = {"floor": 1e-4, "logarithmic": True}
    of_local = {"log_scale": -0.5, "distance": 10.0, "clip": 5.0}
    settings = replace(SETTINGS, augmented=True, signed=signed, local=of_local)
    network, shown = tmp_path / "local.safetensors", tmp_path / "predictions.safetensors"
    job = Job("synthetic", "local", 4, {5: network}, tmp_path / "open", "cpu", "code")
    folds = {"train": [files["train"]], "validation": [files["test"]]}
    local.train(job, folds, settings)
    _, metadata = read_tensors(network)
    assert metadata["network"]["channels"] == 4
    assert set(metadata["selected"]) == {"loss", "nll"}
    tested = {"validation": [files["test"]], "test": [files["train"]]}
    predict(network, tested, shown, "distance", 4, "cpu", "code")
    atoms = read_predictions(shown, "test").atoms
    assert isinstance(atoms, LocalAtoms)
    assert atoms.centres.shape == atoms.points.shape
    searches, path = tmp_path / "searches.parquet", tmp_path / "metrics.parquet"
    tuning = {"methods": ["v_wta"], "low": 0.05, "high": 2.0, "tolerance": 0.1, "targets": 60}
    place = SearchFile(searches, "ours", "synthetic", "code")
    tune([shown], [files["test"]], Tuning(7, tuning, DEGREES), place)
    output = MetricsFile(path, "audio", "ours", "synthetic", "code")
    evaluate([shown], [files["train"]], searches, MEASURED, output)
    table = pd.read_parquet(path)
    rows = table[(table.method == "local_v_wta") & (table.metric == "nll")]
    assert rows.tuned.tolist() == [False, True]
    test = Targets.of(read_fold([files["train"]]), NOISE, generator(7, "noise", "test"))
    law = estimators("local")["local_v_wta"](select(atoms, test.frame))
    assert rows.value.iloc[0] == pytest.approx(-law.log_prob(test.y).mean().item(), rel=1e-6)
    risk = table[(table.method == "local") & (table.metric == "risk")]
    assert 0 < risk.value.item() < 2


def test_published_likelihood_of_mixtures_counts_empty_places(
    table: pd.DataFrame, files: dict[str, Path]
) -> None:
    mixture = table[table.method == "m_vmf"].set_index("metric")
    kind = read_fold([files["train"]]).kind
    share = kind.ge(0).double().mean().item()
    assert 0 < share < 1
    expected = mixture.value["nll"] * share
    assert mixture.value["nll_all_places"] == pytest.approx(expected)
    assert mixture.n["nll_all_places"] == kind.numel()
    assert set(table[table.metric == "nll_all_places"].method) == {"m_vmf"}


def test_divergence_is_measured_where_trainings_may_diverge(
    files: dict[str, Path], table: pd.DataFrame, tmp_path: Path
) -> None:
    """Through all stages: a training that diverges with the printed density, and another one."""
    assert not (table["metric"] == "diverged").any()
    folds = {"train": [files["train"]], "validation": [files["test"]]}
    tested = {"validation": [files["test"]], "test": [files["train"]]}
    shown = []
    for seed, formula, rate in ((1, "printed", 3.0), (2, "log_sinh", 0.01)):
        settings = replace(SETTINGS, likelihood=formula, learning_rate=rate, warm_up=0)
        network, seen = (tmp_path / f"{name}{seed}.safetensors" for name in ("m_vmf", "seen"))
        job = Job("synthetic", "m_vmf", 4, {seed: network}, tmp_path / "open", "cpu", "code")
        train(job, folds, settings)
        predict(network, tested, seen, "distance", 4, "cpu", "code")
        shown.append(seen)
    searches, path = tmp_path / "searches.parquet", tmp_path / "metrics.parquet"
    tuning = {"methods": ["v_wta"], "low": 0.05, "high": 2.0, "tolerance": 0.1, "targets": 60}
    place = SearchFile(searches, "printed_density", "synthetic", "code")
    tune(shown, [files["test"]], Tuning(7, tuning, DEGREES), place)
    output = MetricsFile(path, "audio", "printed_density", "synthetic", "code")
    evaluate(shown, [files["train"]], searches, MEASURED, output)
    rows = pd.read_parquet(path).query("metric == 'diverged'")
    assert dict(zip(rows["seed"], rows["value"], strict=True)) == {1: 1.0, 2: 0.0}
