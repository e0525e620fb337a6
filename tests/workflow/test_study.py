"""Studies as rules see them: which files belong to a run, and what jobs depend on."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from loading import ROOT
from snakemake.iocontainers import Wildcards

from vwta.paper.methods import networks_in
from vwta.workflow import uci as workflow_uci
from vwta.workflow.audio import AudioStudy
from vwta.workflow.configuration import read_files, read_protocols
from vwta.workflow.figures import (
    Figure,
    Printed,
    audio_figures,
    inputs,
    scene_figures,
    synthetic_figures,
)
from vwta.workflow.figures import uci_figures as figures_of_uci
from vwta.workflow.study import growing, unrecorded, warnings
from vwta.workflow.synthetic import SyntheticStudy
from vwta.workflow.uci import UCIStudy

CONFIG: dict[str, Any] = yaml.safe_load((ROOT / "config/config.yaml").read_text())
TABLE = "metrics/{table}.parquet"
PRINTED = Printed("reported.csv", {"released": {"nll": "nll_capped"}})
NETWORK = "{protocol}/{dataset}/{model}/K{K}/seed{seed}"


def job(**wildcards: Any) -> Any:
    """The wildcards of a job."""
    return SimpleNamespace(**wildcards, get=wildcards.get)


def protocols(study: str) -> dict[str, dict[str, Any]]:
    return read_protocols(ROOT, study, CONFIG[study]["protocols"])


@pytest.fixture(scope="module")
def synthetic() -> SyntheticStudy:
    return SyntheticStudy(CONFIG["synthetic"], protocols("synthetic"))


@pytest.fixture(scope="module")
def uci() -> UCIStudy:
    own = {"csv": "mine/houses.csv", "target": "price", "splits": 3}
    settings = {**CONFIG["uci"], "datasets": [*CONFIG["uci"]["datasets"], own]}
    return UCIStudy(settings, protocols("uci"), read_files(ROOT)["uci"])


@pytest.fixture(scope="module")
def audio() -> AudioStudy:
    pattern = "ov{overlap}_split{split}_{part}.npy"
    return AudioStudy(CONFIG["audio"], protocols("audio"), pattern)


@pytest.mark.parametrize(
    ("protocol", "trained", "is_planning", "together"),
    [
        ("paper", [], True, True),
        ("paper", [1234], True, False),  # a seed was added, or a network removed
        ("paper", [1234, 1244, 1245], True, True),  # all that may be outdated
        ("paper", [1234], False, True),  # a job that runs was chosen before
        ("relaxed", [], True, False),  # it has a single seed
    ],
)
def test_seeds_train_at_once_if_none_or_all_are_there(
    synthetic: SyntheticStudy,
    tmp_path: Path,
    protocol: str,
    trained: list[int],
    is_planning: bool,
    together: bool,
) -> None:
    run = {"protocol": protocol, "dataset": "single_gaussian", "model": "wta", "K": "9"}
    network = f"{tmp_path}/{NETWORK}"
    for seed in trained:
        path = Path(network.format(**run, seed=seed))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    data = synthetic.stack_data("{protocol}/{dataset}/data", network, os.path.exists, is_planning)
    found = data(Wildcards(fromdict=run))
    assert found == (f"{protocol}/single_gaussian/data" if together else "no stack")


def test_local_kernels_are_stacked_where_all_seeds_are_run(synthetic: SyntheticStudy) -> None:
    data = synthetic.stack_data("{protocol}/{dataset}/data", "nowhere/{seed}", os.path.exists, True)
    run = {"protocol": "ours", "dataset": "rotating_moons", "model": "local"}
    found = {K: data(Wildcards(fromdict={**run, "K": str(K)})) for K in synthetic["K"]}
    stacked = [K for K, path in found.items() if path == "paper/rotating_moons/data"]
    assert stacked == [16, 49] == synthetic.local_figures()["ours"]
    assert {found[K] for K in found.keys() - set(stacked)} == {"no stack"}


def test_all_networks_of_a_protocol_have_its_plan(synthetic: SyntheticStudy) -> None:
    names = {"protocol": "ours", "dataset": "rotating_moons", "K": "9"}
    own = synthetic.protocols["ours"]["training"]["plan"]
    assert own["rate"] == "warm_cosine"
    local = synthetic.trained_with(job(**names, model="local"))
    for model in ("wta", "mdn"):
        settings = synthetic.trained_with(job(**names, model=model))
        assert "local" not in settings
        assert settings["plan"] == own
        common = {name: settings[name] for name in ("epochs", "batch_size")}
        assert local["plan"] == {**common, **own}
    assert "plan" not in synthetic.trained_with(job(**{**names, "protocol": "paper"}, model="wta"))


def test_work_of_a_stack_is_that_of_its_seeds(synthetic: SyntheticStudy) -> None:
    alone = synthetic.training_work(job(model="wta", K="9", seed="1234"))
    assert synthetic.training_work(job(model="wta", K="9")) == pytest.approx(3 * alone, rel=1e-3)


def test_runs_follow_the_restrictions_of_protocols(synthetic: SyntheticStudy) -> None:
    assert synthetic.runs(None, NETWORK, ["relaxed"], datasets=["rotating_moons"]) == [
        "relaxed/rotating_moons/wta/K49/seed1234",
        "relaxed/rotating_moons/wta/K100/seed1234",
    ]
    assert synthetic.runs("emd", NETWORK, ["relaxed"]) == []
    own = {"datasets": ["rotating_moons"], "models": ["local"], "K": [9, 16]}
    assert synthetic.runs(None, NETWORK, ["ours"], **own) == [
        "ours/rotating_moons/local/K9/seed1234",
        *(f"ours/rotating_moons/local/K16/seed{seed}" for seed in (1234, 1244, 1245)),
    ]
    assert synthetic.size("ours", "evaluation") == 3 * (9 + 20 + 25 + 100 + 3 * (16 + 49))
    assert synthetic.scope("paper")["models"] == ["wta", "hist", "mdn"]
    assert synthetic.runs("emd", "{protocol}/{K}", ["literal"], K=[16, 49]) == [
        "literal/16",
        "literal/49",
    ]


def test_a_protocol_may_take_another_s_networks_and_data(synthetic: SyntheticStudy) -> None:
    taken = synthetic.protocols["published_sampler"]["networks_of"]
    assert synthetic.trainer("published_sampler") == taken
    assert "published_sampler" not in synthetic.trainers
    one = {"protocol": "published_sampler", "dataset": "moons", "model": "wta", "K": 9, "seed": 1}

    class Wildcards(dict[str, Any]):
        __getattr__ = dict.__getitem__

    assert synthetic.network(NETWORK)(Wildcards(one)) == f"{taken}/moons/wta/K9/seed1"


def test_training_work_counts_outputs(synthetic: SyntheticStudy) -> None:
    settings = synthetic["training"]
    passes = settings["epochs"] * synthetic["data"]["rows"]["train"]
    first, last = settings["widths"]
    for model, network in networks_in("synthetic").items():
        expected = passes * (first + first * last + last * network.outputs * 20) // 10**6
        assert synthetic.training_work(job(model=model, K="20", seed="1234")) == expected


def test_only_histograms_have_bins(synthetic: SyntheticStudy) -> None:
    assert synthetic.bins(job(model="wta", K="20")) is None
    assert synthetic.bins(job(model="hist", K="20")) == {"grid": [5, 4], **synthetic["domain"]}


def test_splits_of_a_set(uci: UCIStudy) -> None:
    assert {name: uci.splits(name) for name in ("boston", "protein", "year", "houses")} == {
        "boston": 20,
        "protein": 5,
        "year": 1,
        "houses": 3,
    }
    assert [uci.splits(name, "ngboost") for name in ("boston", "protein", "houses")] == [5, 2, 3]
    assert uci.splits("boston", "mdn") == 20
    assert uci.printed[-1] == "houses"
    assert uci.sets("ours") == [*uci.sets("paper"), *uci["clean"]] == uci.asked
    assert uci.lost_tables() == [
        f"mine/houses.csv: no such file; write its path as seen from {Path.cwd()}"
    ]


def test_networks_without_their_package_are_left_out(
    uci: UCIStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are run all the same; without splits a network is left out too."""
    wanted = {"wta", "hist", "mdn", "local", "gaussian"}
    monkeypatch.setattr(workflow_uci, "find_spec", lambda name: None if name == "zuko" else name)
    assert {*uci.models("ours", "boston")} == wanted | {"ngboost"}
    assert {*uci.models("ours", "year")} == wanted
    assert [line.split(" To add")[0] for line in uci.left_out()] == [
        "The UCI study continues without Spline flow: the package zuko is not installed."
    ]
    monkeypatch.setattr(workflow_uci, "find_spec", lambda name: name)
    assert uci.left_out() == []
    assert {*uci.models("ours", "boston")} == wanted | {"flow", "ngboost"}
    assert uci.splits_by_model(job(protocol="paper", dataset="boston")) == dict.fromkeys(
        ["wta", "hist", "mdn"], 20
    )
    ours = uci.splits_by_model(job(protocol="ours", dataset="protein"))
    assert (ours["mdn"], ours["flow"]) == (5, 2)


def test_a_network_has_its_own_settings(uci: UCIStudy) -> None:
    flow = uci.training(job(protocol="ours", dataset="boston", model="flow"))
    assert flow["own"] == uci["own"]["flow"]
    assert uci.training(job(protocol="ours", dataset="boston", model="mdn"))["own"] == {}


def test_settings_are_not_changed_by_asking(uci: UCIStudy) -> None:
    year = job(protocol="paper", dataset="year", model="wta")
    first = uci.training(year)
    assert first == uci.training(year)
    assert first["widths"] == [100]
    assert first["plan"]["epochs"] == 1000


def test_time_of_a_training_grows_with_its_passes(uci: UCIStudy) -> None:
    def minutes(dataset: str, attempt: int = 1) -> int:
        return uci.minutes(job(protocol="paper", dataset=dataset, model="wta"), attempt)

    assert minutes("boston") < minutes("year")
    assert minutes("year", attempt=2) == 2 * minutes("year")


def test_sets_that_could_not_be_downloaded(uci: UCIStudy, tmp_path: Path) -> None:
    notes, cache = tmp_path / "notes", tmp_path / "cache"
    notes.mkdir()
    for name in ("yacht", "wine"):
        (notes / name).touch()
    (cache / "uci").mkdir(parents=True)
    (cache / "uci/wine.safetensors").touch()
    assert uci.absent(notes, cache) == ["yacht"]


def test_folds_and_their_labels(audio: AudioStudy) -> None:
    assert audio.fold("test")[:2] == ["ov1_split1_train.npy", "ov1_split1_test.npy"]
    assert audio.labels("test") == [f"ov{overlap}_split1.safetensors" for overlap in (1, 2, 3)]
    assert audio.splits == [1, 2, 3]
    assert audio.endings == {"paper": "", "literal": "_literal", "released": "_released"}


def test_published_formulas_are_those_of_mixtures_alone(audio: AudioStudy) -> None:
    for model, formula in (("wta", None), ("m_vmf", "log_sinh")):
        released = audio.training(job(protocol="released", model=model, K="16"))
        assert released.get("likelihood") == formula
        assert "likelihood" not in audio.training(job(protocol="paper", model=model, K="16"))


def test_tables_are_those_of_protocols_with_the_proposed_method() -> None:
    settings = {
        **CONFIG["audio"],
        "protocols": {"paper": {}, "printed_density": {"models": ["m_vmf"]}},
    }
    switches = read_protocols(ROOT, "audio", settings["protocols"])
    assert AudioStudy(settings, switches, "").endings == {"paper": ""}


def test_a_perfect_learner_runs_under_the_headline_alone() -> None:
    perfect = {"targets": 20, "points": 50, "steps": 3}
    settings = {
        **CONFIG["audio"],
        "evaluation": {**CONFIG["audio"]["evaluation"], "perfect": perfect},
    }
    study = AudioStudy(settings, protocols("audio"), "")
    found = {name: study.evaluation(job(protocol=name)) for name in study.protocols}
    assert found["paper"]["perfect"] == perfect
    assert found["paper"]["interval"] == (0.01, 2.0, 0.01)
    assert all("perfect" not in found[name] for name in ("literal", "released"))


def test_every_figure_can_be_drawn(
    synthetic: SyntheticStudy, uci: UCIStudy, audio: AudioStudy
) -> None:
    """Its functions exist and take the arguments that they are given; its caption is complete."""
    import inspect
    from importlib import import_module

    found: dict[str, Figure] = synthetic_figures(
        synthetic, CONFIG["figures"], TABLE, NETWORK, PRINTED
    )
    found |= figures_of_uci(uci, TABLE, "printed.csv") | audio_figures(audio, TABLE)
    found |= scene_figures(audio, NETWORK)
    assert len(found) == 36 + 23 + 11 + 6
    for name, figure in found.items():
        module, _, function = figure.draw.partition(":")
        draw = getattr(import_module(module), function)
        given = {*figure.inputs, *figure.settings, *figure.made, "paths"}
        assert given == set(inspect.signature(draw).parameters), name
        assert "{{" not in figure.text(ROOT / "workflow/report")
        for place, own in figure.made.values():
            module, _, function = place.partition(":")
            getattr(import_module(module), function)(**own)


def test_a_figure_s_digest_covers_its_own_modules(synthetic: SyntheticStudy, uci: UCIStudy) -> None:
    drawn = synthetic_figures(synthetic, CONFIG["figures"], TABLE, NETWORK, PRINTED)
    assert drawn["tuned_paper"].modules == ["vwta.paper.figures.against_K"]
    assert "vwta.paper.theory.convex_sets" in drawn["proof_partition"].modules
    modules = {name for one in figures_of_uci(uci, TABLE, "a.csv").values() for name in one.modules}
    assert modules == {"vwta.paper.figures.uci"}


def test_captions_show_values() -> None:
    figure = Figure("a:b", "A", "nll_against_h", {"metrics": "a"}, labels={"K": 7})
    assert "K = 7 hypotheses" in figure.text(ROOT / "workflow/report")
    with pytest.raises(KeyError, match="asks for 'K'"):
        figure._replace(labels={}).text(ROOT / "workflow/report")
    assert inputs({"one": figure}) == {"metrics": "a"}
    assert figure.all_labels == {"figure": "A", "K": "7"}


def test_functions_for_snakemake() -> None:
    assert growing(100)(job(), attempt=3) == 300
    assert unrecorded("x")(job(), output=[]) == "x"


def test_warnings() -> None:
    assert list(warnings([], False, "notes", "data", None, 4)) == []
    cluster, sets, audio = warnings(["yacht"], True, "notes", "data", 100, None)
    assert "that of all at once" in cluster
    assert "without yacht" in sets
    assert sets.endswith("snakemake data/uci/yacht.safetensors")
    assert "audio study is left out" in audio
