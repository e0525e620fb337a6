"""Published results: the metrics, the figures, and where they come from."""

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from loading import ROOT, load_module

from vwta.io.storage import read_table
from vwta.paper.collection import read_parts, write_parts
from vwta.paper.metrics import tidy

METRICS = "results/full/synthetic/metrics"
PLACE = Path("docs/results/synthetic")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_module("workflow/publish.py")


@pytest.fixture
def publish(module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, in an empty folder, with a workflow of three figures and two tables."""

    def job(inputs: str, *outputs: str) -> Any:
        files = tuple(f"results/full/{name}" for name in outputs)
        return module.Job("rule", files, input=(f"results/full/{inputs}",))

    # Judging takes seconds; tests/paper/verdicts/test_published.py does it for real.
    monkeypatch.setattr(module, "judge_folder", lambda folder, config: f"judged by {folder}")
    monkeypatch.setattr(module, "overview", lambda verdicts, folder: f"{verdicts}\n")
    jobs = [
        module.Job("generate", ("results/full/synthetic/paper/moons/data.safetensors",)),
        job("synthetic/paper/moons/metrics.parquet", "synthetic/metrics/emd.parquet"),
        job("synthetic/metrics/emd.parquet", "figures/emd.pdf", "figures/emd.png"),
        job("synthetic/metrics/emd.parquet", "tables/emd.csv", "tables/emd.md"),
        job("synthetic/paper/moons/wta/K9/seed1.safetensors", "figures/cells.png"),
        job("uci/metrics/rmse.parquet", "figures/uci_rmse.png"),
        job("audio/metrics/nll.parquet", "tables/audio_main.md"),
    ]
    monkeypatch.setattr(module, "dry_run", lambda arguments: jobs)
    monkeypatch.setattr(module, "draw", drawn_by_counting)
    monkeypatch.chdir(tmp_path)
    return module


def drawn_by_counting(jobs: list[Any], stage: Path, arguments: list[str]) -> dict[str, str]:
    """Stands for Snakemake: each output is the number of rows of its job's table."""
    for job in jobs:
        for file in job.output:
            (stage / file).parent.mkdir(parents=True, exist_ok=True)
            (stage / file).write_text(f"{len(read_table(stage / job.input[0]))} rows")
    return {}


def record(revision: str, seconds: float | None = None) -> dict[str, Any]:
    packages = {"torch": "2", "numpy": "1"}
    found = {"revision": revision, "packages": packages, "processor": "P"}
    return found | ({"cpu_seconds": seconds} if seconds else {})


def training(revision: str, seed: int, seconds: float | None = 1800) -> dict[str, Any]:
    return {**record(revision, seconds), "model": "wta", "settings": {}, "seed": seed}


def run(revision: str, *seeds: int, path: str = f"{METRICS}/emd.parquet") -> None:
    """The results of a piece: those of earlier ones are gone."""
    shutil.rmtree("results", ignore_errors=True)
    add(revision, *seeds, path=path)


def add(revision: str, *seeds: int, path: str = f"{METRICS}/emd.parquet") -> None:
    rows = [{"metric": "emd", "seed": seed, "value": 0.5, "n": 10} for seed in seeds]
    trainings = [training(revision, seed) for seed in seeds]
    facts = {"provenance": {**record(revision, 36), "data": "hash", "trainings": trainings}}
    part = "results/full/synthetic/paper/moons/metrics.parquet"
    write_parts(Path(path), {part: (tidy(rows, study="synthetic"), facts)})


def published() -> dict[str, bytes]:
    paths = [path for path in Path("docs").rglob("*") if path.is_file()]
    return {str(path.relative_to("docs/results")): path.read_bytes() for path in paths}


def facts() -> dict[str, Any]:
    return json.loads((PLACE / "provenance.json").read_text())


def test_small_outcome_is_published(publish: ModuleType) -> None:
    run("abc", 1, 2)
    for name in ("emd.png", "emd.pdf", "cells.png", "left_over.png"):
        Path("results/full/figures").mkdir(exist_ok=True)
        Path("results/full/figures", name).write_text("of this run")
    publish.main("full", "synthetic", [])
    names = {name.removeprefix("synthetic/") for name in published()}
    tables = {"tables/emd.csv", "tables/emd.md"}
    pictures = {"figures/emd.png", "figures/cells.png"}
    assert names == {"emd.parquet", "provenance.json", "README.md"} | pictures | tables
    assert (PLACE.parent / "README.md").read_text() == "judged by docs/results\n"
    assert (PLACE / "figures/emd.png").read_text() == "2 rows"
    assert (PLACE / "figures/cells.png").read_text() == "of this run"
    found = facts()
    assert found["revision"] == ["abc"]
    assert found["packages"] == ["numpy 1, torch 2"]
    assert found["data"] == ["hash"]
    assert found["cost"] == {
        "metrics": {"files": 1, "cpu_hours": 0.01, "unknown": 0},
        "wta network": {"files": 2, "cpu_hours": 1.0, "unknown": 0},
    }


def test_pieces_add_up(publish: ModuleType) -> None:
    run("abc", 1)
    Path("results/full/figures").mkdir()
    Path("results/full/figures/cells.png").write_text("of the first run")
    publish.main("full", "all", [])
    run("def", 2, 3)
    publish.main("full", "all", [])
    assert sorted(read_table(PLACE / "emd.parquet")["seed"]) == [1, 2, 3]
    parts = read_parts(PLACE / "emd.parquet").values()
    owners = {found["provenance"]["revision"]: rows["seed"].tolist() for rows, found in parts}
    assert owners == {"abc": [1], "def": [2, 3]}
    assert (PLACE / "figures/emd.png").read_text() == "3 rows"
    assert (PLACE / "figures/cells.png").read_text() == "of the first run"
    assert facts()["revision"] == ["abc", "def"]
    assert facts()["cost"]["metrics"] == {"files": 2, "cpu_hours": 0.02, "unknown": 0}
    assert facts()["cost"]["wta network"] == {"files": 3, "cpu_hours": 1.5, "unknown": 0}


def test_order_and_repetition_do_not_matter(publish: ModuleType) -> None:
    outcomes = []
    for pieces in (((1,), (2, 3)), ((2, 3), (1,)), ((1,), (2, 3), (2, 3), (1,))):
        shutil.rmtree("docs", ignore_errors=True)
        for seeds in pieces:
            run(f"revision of {len(seeds)}", *seeds)
            publish.main("full", "synthetic", [])
        outcomes.append(published())
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_table_that_this_run_lacks_stays(publish: ModuleType) -> None:
    run("abc", 1)
    publish.main("full", "synthetic", [])
    before = published()
    run("def", 2, path=f"{METRICS}/theory.parquet")
    publish.main("full", "synthetic", [])
    after = published()
    assert after.keys() - before.keys() == {"synthetic/theory.parquet"}
    assert {name for name in before if before[name] != after[name]} == {"synthetic/provenance.json"}
    assert facts()["revision"] == ["abc", "def"]


def test_every_study_has_its_own(publish: ModuleType) -> None:
    run("abc", 1)
    add("abc", 1, path="results/full/uci/metrics/rmse.parquet")
    publish.main("full", "uci", [])
    mine = {"uci/rmse.parquet", "uci/figures/uci_rmse.png", "uci/provenance.json"}
    assert published().keys() == mine | {"README.md"}
    add("abc", 1, path="results/full/audio/metrics/nll.parquet")
    publish.main("full", "all", [])
    heard = {"audio/nll.parquet", "audio/tables/audio_main.md", "audio/provenance.json"}
    assert {name for name in published() if name.startswith("audio/")} == heard
    assert {name for name in published() if name.startswith("uci/")} == mine
    assert {Path(name).name for name in published() if name.startswith("synthetic/")} == {
        "emd.parquet",
        "emd.png",
        "emd.csv",
        "emd.md",
        "provenance.json",
    }


def test_tables_of_all_studies_are_of_none(publish: ModuleType) -> None:
    results = Path("results/full")
    assert publish.study_of(results / "tables/uci_nll.md", results) == "uci"
    assert publish.study_of(results / "tables/protocols.md", results) == "synthetic"
    assert publish.study_of(results / "tables/verdicts.md", results) is None
    assert publish.study_of(results / "tables/differences.csv", results) is None


@pytest.mark.parametrize("where", ["draw", "cost"])
def test_failure_leaves_the_old_files(
    publish: ModuleType, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    run("abc", 1)
    publish.main("full", "synthetic", [])
    before = published()
    run("def", 2)

    def fail(*arguments: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(publish, where, fail)
    with pytest.raises(RuntimeError):
        publish.main("full", "synthetic", [])
    assert published() == before


def test_interrupted_copy_leaves_whole_files(
    publish: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And publishing again completes it."""
    run("abc", 1)
    publish.main("full", "synthetic", [])
    before = published()
    run("def", 2)
    with monkeypatch.context() as broken:
        copy = shutil.copyfile

        def fail(source: Path, target: Path, **options: Any) -> None:
            copy(source, target, **options)
            if source.suffix == ".png":
                raise OSError("no space left")

        broken.setattr(publish.shutil, "copyfile", fail)
        with pytest.raises(OSError, match="no space left"):
            publish.main("full", "synthetic", [])
    assert published().keys() == before.keys()
    assert published()["synthetic/figures/emd.png"] == b"1 rows"
    assert len(read_table(PLACE / "emd.parquet")) == 2
    publish.main("full", "synthetic", [])
    assert published()["synthetic/figures/emd.png"] == b"2 rows"


def test_what_cannot_be_drawn_is_said(
    publish: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run("abc", 1)
    publish.main("full", "synthetic", [])
    before = published()
    run("def", 2)
    why = {"emd": "no row with K = 9", "risk": "there is no properties.parquet"}
    monkeypatch.setattr(publish, "draw", lambda *arguments: why)
    publish.main("full", "synthetic", [])
    assert published()["synthetic/figures/emd.png"] == before["synthetic/figures/emd.png"]
    said = capsys.readouterr().out
    assert "emd could not be drawn, the old one stays: no row with K = 9\n" in said
    assert "risk could not be drawn: there is no properties.parquet\n" in said
    assert facts()["outdated"] == ["emd"]


def test_records_without_cost_are_counted(publish: ModuleType) -> None:
    rows = tidy([{"metric": "emd", "value": 0.5}])
    found = {"provenance": {**record("abc"), "training": training("abc", 1, None)}}
    write_parts(Path(METRICS, "emd.parquet"), {"K9/emd_seed1.parquet": (rows, found)})
    publish.main("full", "synthetic", [])
    unknown = {"files": 1, "cpu_hours": 0, "unknown": 1}
    assert facts()["cost"] == {"emd": unknown, "wta network": unknown}


def test_tiers_are_not_mixed(publish: ModuleType) -> None:
    run("abc", 1)
    publish.main("full", "synthetic", [])
    before = published()
    add("abc", 2, path="results/quick/synthetic/metrics/emd.parquet")
    with pytest.raises(SystemExit, match="has the tier full, not quick"):
        publish.main("quick", "all", [])
    assert published() == before


@pytest.mark.parametrize("study", ["synthetic", "all"])
def test_nothing_to_publish_is_explained(publish: ModuleType, study: str) -> None:
    with pytest.raises(SystemExit, match=r"has no tables\. Remedy: make reproduce TIER=full"):
        publish.main("full", study, [])
    assert not Path("docs").exists()


def test_rules_draw_from_given_metrics(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has its data is drawn, what lacks some is named, and networks are not asked for."""
    monkeypatch.chdir(ROOT)
    results = "results/smoke"
    facts = {"protocol": "paper", "dataset": "single_gaussian", "metric": "nll", "n": 10}
    rows = [{"method": "v_wta", "K": 9, "seed": 1, "h": h, "value": h} for h in (0.1, 0.2)]
    path = tmp_path / results / "synthetic/metrics/evaluation.parquet"
    write_parts(path, {"a": (tidy(rows, **facts), {})})

    def job(figure: str, name: str, *tables: str) -> Any:
        inputs = tuple(f"{results}/synthetic/metrics/{table}.parquet" for table in tables)
        log = (f"{results}/logs/figure/{figure}{name}.log",)
        output = f"{results}/figures/{figure}{name}.png"
        return module.Job("figure", (output,), input=inputs, log=log)

    jobs = [
        job("nll_against_h", "_paper_K9", "evaluation"),
        job("tuned", "_paper", "evaluation"),
        job("variants", "", "properties"),
    ]
    missing = module.draw(jobs, tmp_path, ["--configfile", "config/smoke.yaml", "--cores", "1"])
    assert [path.name for path in tmp_path.glob(f"{results}/figures/*.png")] == [
        "nll_against_h_paper_K9.png"
    ]
    assert missing.keys() == {"tuned_paper", "variants"}
    assert "no row with tuned = True" in missing["tuned_paper"]
    assert missing["variants"] == "there is no properties.parquet"


def test_predictions_for_the_page_are_copied(publish: ModuleType) -> None:
    run("abc", 1)
    publish.main("full", "synthetic", [])
    assert not (PLACE / "explorer.safetensors").exists()
    Path("results/full/synthetic/explorer.safetensors").write_text("atoms")
    publish.main("full", "synthetic", [])
    assert (PLACE / "explorer.safetensors").read_text() == "atoms"
