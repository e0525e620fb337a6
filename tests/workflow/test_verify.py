"""Results are compared with today's code, configuration and data by what they carry."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import torch
from loading import ROOT

from vwta.io.errors import DataError
from vwta.io.storage import sha256, write_table, write_tensors
from vwta.paper.collection import collect, write_parts
from vwta.workflow.verify import Today, answer, faults_of, show, verify

TIER = "smoke"
RUN = "paper/single_gaussian/wta/K9/seed1234.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of a tier: data, a network, its metrics, all of today."""
    folder = tmp_path / TIER
    study = folder / "synthetic"
    data = study / "paper/single_gaussian/data.safetensors"
    data.parent.mkdir(parents=True)
    write_tensors(data, {"x": torch.zeros(2)}, {})
    training = record(folder)
    (study / RUN).parent.mkdir(parents=True)
    write_tensors(study / RUN, {"weights": torch.zeros(1)}, {"provenance": training})
    metrics = data.with_name("metrics.parquet")
    today = Today(ROOT, TIER, folder)
    own = {"code": today.code("evaluate_synthetic"), "data": sha256(data), "trainings": [training]}
    write_table(metrics, pd.DataFrame({"value": [1.0]}), {"provenance": own})
    (study / "metrics").mkdir()
    collect([metrics], study / "metrics/evaluation.parquet")
    return folder


def record(folder: Path, **changes: Any) -> dict[str, Any]:
    """The record of a training of today, with changes."""
    today = Today(ROOT, TIER, folder)
    names = {"dataset": "single_gaussian", "model": "wta", "K": 9}
    settings = today.settings("synthetic", SimpleNamespace(protocol="paper", **names))
    data = sha256(folder / "synthetic/paper/single_gaussian/data.safetensors")
    code = today.code("train_synthetic")
    return {**names, "code": code, "data": data, "settings": settings, **changes}


def stale(folder: Path) -> dict[str, list[str]]:
    """What is stale, by file below the folder."""
    found = verify([folder], ROOT)
    assert len(found) == 3
    return {
        str(file.relative_to(folder / "synthetic")): [f"{stage}: {why}" for stage, why in faults]
        for file, (_, faults) in found.items()
        if faults
    }


def test_results_of_today_are_not_stale(folder: Path) -> None:
    assert stale(folder) == {}
    assert show(verify([folder], ROOT)) == "0 of 3 files are stale"


CHANGES = [
    ({"code": "0" * 16}, "other code"),
    ({"data": "0" * 64}, "other data"),
    ({"settings": {"epochs": 2}}, "other configuration (batch_size, beta, clouds, "),
]


@pytest.mark.parametrize(("change", "why"), CHANGES, ids=["code", "data", "configuration"])
def test_a_stale_network_is_named(folder: Path, change: dict[str, Any], why: str) -> None:
    file = folder / "synthetic" / RUN
    write_tensors(file, {}, {"provenance": record(folder, **change)})
    ((name, (said,)),) = stale(folder).items()
    assert name == RUN
    assert said.startswith(f"train_synthetic: {why}")
    assert f"{file}: stale" in show(verify([folder], ROOT))


def test_networks_with_local_kernels_have_a_script_of_their_own(folder: Path) -> None:
    today = Today(ROOT, TIER, folder)
    names = {"dataset": "single_gaussian", "model": "local", "K": 9}
    settings = today.settings("synthetic", SimpleNamespace(protocol="ours", **names))
    code = today.code("train_synthetic_local")
    assert code != today.code("train_synthetic")
    name = "x/synthetic/ours/single_gaussian/local/K9/seed1234.safetensors"
    for change, wanted in (({}, []), ({"code": "other"}, ["train_synthetic_local: other code"])):
        facts = {"provenance": {**names, "code": code, "settings": settings, **change}}
        faults = faults_of(name, facts, "synthetic", today)
        assert [f"{stage}: {why}" for stage, why in faults] == wanted


def test_metrics_are_stale_with_their_networks(folder: Path) -> None:
    today, name = (
        Today(ROOT, TIER, folder),
        f"x/synthetic/{Path(RUN).parents[2]}/metrics.parquet a1",
    )
    own = {"code": today.code("evaluate_synthetic"), "data": record(folder)["data"]}
    for change, wanted in (
        ({}, []),
        ({"code": "other"}, ["train_synthetic: other code"]),
        (
            {"data": "other"},
            [
                "train_synthetic: other data",
                "evaluate_synthetic: its networks were trained on other data",
            ],
        ),
    ):
        facts = {"provenance": {**own, "trainings": [record(folder, **change)]}}
        faults = faults_of(name, facts, "synthetic", today)
        assert [f"{stage}: {why}" for stage, why in faults] == wanted


def test_metrics_are_stale_with_the_search_for_their_bandwidths(folder: Path) -> None:
    today = Today(ROOT, TIER, folder)
    place = f"x/synthetic/{Path(RUN).parents[2]}"
    known = {"data": record(folder)["data"], "trainings": []}
    for code, wanted in ((today.code("tune_synthetic"), []), ("other", ["tune_synthetic"])):
        own = {**known, "code": today.code("evaluate_synthetic"), "tuning": {"code": code}}
        faults = faults_of(f"{place}/metrics.parquet", {"provenance": own}, "synthetic", today)
        assert [fault.stage for fault in faults] == wanted
        facts = {"provenance": {**known, "code": code}}
        faults = faults_of(f"{place}/searches.parquet", facts, "synthetic", today)
        assert [fault.stage for fault in faults] == wanted


def test_data_that_change_make_all_stale(folder: Path) -> None:
    data = folder / "synthetic/paper/single_gaussian/data.safetensors"
    write_tensors(data, {"x": torch.ones(2)}, {})
    assert len(stale(folder)) == 3


def test_a_protocol_that_is_gone_is_named(folder: Path) -> None:
    facts = {"provenance": record(folder)}
    name = "results/full/synthetic/improved/single_gaussian/wta/K9/seed1.safetensors"
    (fault,) = faults_of(name, facts, "synthetic", Today(ROOT, TIER))
    assert fault.why == "its protocol 'improved' is gone or renamed"


def test_a_data_set_must_be_that_of_the_table_of_files() -> None:
    today = Today(ROOT, "full")
    entry = today.files["uci"]["boston"]
    file = entry["file"]["checksums"][0].removeprefix("sha256:")
    good = {"file": file, "matrix": entry["matrix"]}
    for data, wanted in (
        (good, []),
        ({**good, "file": "0"}, ["other data (file)"]),
        ({**good, "matrix": "0"}, ["other data (numbers)"]),
    ):
        own = {"dataset": "boston", "code": today.code("prepare_uci"), "data": data}
        facts = {"provenance": own}
        assert [why for _, why in faults_of("data/uci/boston", facts, "uci", today)] == wanted


def test_published_tables_are_listed_by_their_places(tmp_path: Path) -> None:
    assert answer(tmp_path, ROOT) == ""
    record = {"code": "other", "data": "d"}
    table = tmp_path / "synthetic/theory.parquet"
    table.parent.mkdir()
    part = "results/full/synthetic/paper/single_gaussian/theory.parquet"
    write_parts(table, {part: (pd.DataFrame({"value": [1.0]}), {"provenance": record})})
    (table.with_name("provenance.json")).write_text('{"tier": "full"}')
    assert answer(tmp_path, ROOT).splitlines() == [
        "synthetic/theory.parquet: stale",
        "  evaluate_synthetic_theory: other code",
        "1 of 1 files are stale",
    ]


def test_a_tier_without_configuration_is_explained(folder: Path) -> None:
    other = folder.rename(folder.with_name("unheard"))
    with pytest.raises(DataError, match=r"there is no config/unheard\.yaml to compare it with"):
        verify([other], ROOT)
