"""Published results: the metrics, the figures, and where they come from."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from loading import snakemake

from vwta.io.errors import NoSpace
from vwta.io.storage import read_table
from vwta.paper import publish as module
from vwta.paper.collection import merge, read_parts, write_parts
from vwta.paper.metrics import tidy
from vwta.workflow.catalogue import published_runs
from vwta.workflow.publishing import Publication, Sheet
from vwta.workflow.tolerance import tolerated

RESULTS = "results/full"
METRICS = f"{RESULTS}/synthetic/metrics"
PLACE = Path("docs/results/synthetic")

Publish = Callable[..., list[str]]


def sheet(inputs: str, *outputs: str) -> Sheet:
    return Sheet([f"{RESULTS}/{inputs}"], [f"{RESULTS}/{name}" for name in outputs])


# Three figures and two tables; one figure is drawn from a network.
SHEETS = {
    "emd": sheet("synthetic/metrics/emd.parquet", "figures/emd.pdf", "figures/emd.png"),
    "table_emd": sheet("synthetic/metrics/emd.parquet", "tables/emd.csv", "tables/emd.md"),
    "cells": sheet("synthetic/paper/moons/wta/K9/seed1.safetensors", "figures/cells.png"),
    "uci_rmse": sheet("uci/metrics/rmse.parquet", "figures/uci_rmse.png"),
    "table_audio": sheet("audio/metrics/nll.parquet", "tables/audio_main.md"),
}


def draw(publication: Publication, name: str) -> None:
    """Stands for a rule: each output is the number of rows of its job's table."""
    table = read_table(Path(publication.staged(SHEETS[name].inputs[0])))
    note(publication, name, {})
    for file in SHEETS[name].outputs:
        write(publication.staged(file), f"{len(table)} rows")


def note(publication: Publication, name: str, missing: dict[str, str]) -> None:
    write(publication.note(name), json.dumps(missing))


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def judged(folder: Path) -> dict[str, str]:
    """Stands for the overview; tests/paper/verdicts/test_published.py makes a real one."""
    return {"README.md": f"judged by {folder.name}\n"}


def published_by(
    *studies: str,
    tier: str = "full",
    drawn: Callable[[Publication, str], None] = draw,
    sheets: dict[str, Sheet] | None = None,
    overview: Callable[[Path], dict[str, str]] = judged,
) -> list[str]:
    """Does what the rules do."""
    records = published_runs(PLACE.parent)
    publication = Publication(f"results/{tier}", str(PLACE.parent), records, sheets or SHEETS)
    files = publication.files(*studies)
    for path in map(Path, files["metrics"]):
        study, table = path.parts[-3], path.name
        run = Path("results", tier, study, "metrics", table)
        merge(PLACE.parent / study / table, run, path)
    for name in files["notes"]:
        drawn(publication, Path(name).stem)
    given = [Path(file) for kind in ("metrics", "drawn", "copied") for file in files[kind]]
    missing = publication.lacking(*studies) | module.read_notes(map(Path, files["notes"]))
    return module.publish(given, missing, PLACE.parent, tier, overview)


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Publishes studies from an empty folder."""
    monkeypatch.chdir(tmp_path)
    return published_by


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


def test_small_outcome_is_published(publish: Publish) -> None:
    run("abc", 1, 2)
    for name in ("emd.png", "emd.pdf", "cells.png", "left_over.png"):
        Path("results/full/figures").mkdir(exist_ok=True)
        Path("results/full/figures", name).write_text("of this run")
    publish("synthetic")
    names = {name.removeprefix("synthetic/") for name in published()}
    tables = {"tables/emd.csv", "tables/emd.md"}
    pictures = {"figures/emd.png", "figures/cells.png"}
    assert names == {"emd.parquet", "provenance.json", "README.md"} | pictures | tables
    assert (PLACE.parent / "README.md").read_text() == "judged by results\n"
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


def test_pieces_add_up(publish: Publish) -> None:
    run("abc", 1)
    Path("results/full/figures").mkdir()
    Path("results/full/figures/cells.png").write_text("of the first run")
    publish()
    run("def", 2, 3)
    publish()
    assert sorted(read_table(PLACE / "emd.parquet")["seed"]) == [1, 2, 3]
    parts = read_parts(PLACE / "emd.parquet").values()
    owners = {found["provenance"]["revision"]: rows["seed"].tolist() for rows, found in parts}
    assert owners == {"abc": [1], "def": [2, 3]}
    assert (PLACE / "figures/emd.png").read_text() == "3 rows"
    assert (PLACE / "figures/cells.png").read_text() == "of the first run"
    assert facts()["revision"] == ["abc", "def"]
    assert facts()["cost"]["metrics"] == {"files": 2, "cpu_hours": 0.02, "unknown": 0}
    assert facts()["cost"]["wta network"] == {"files": 3, "cpu_hours": 1.5, "unknown": 0}


def test_order_and_repetition_do_not_matter(publish: Publish) -> None:
    outcomes = []
    for pieces in (((1,), (2, 3)), ((2, 3), (1,)), ((1,), (2, 3), (2, 3), (1,))):
        shutil.rmtree("docs", ignore_errors=True)
        for seeds in pieces:
            run(f"revision of {len(seeds)}", *seeds)
            publish("synthetic")
        outcomes.append(published())
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_table_that_this_run_lacks_stays(publish: Publish) -> None:
    run("abc", 1)
    publish("synthetic")
    before = published()
    run("def", 2, path=f"{METRICS}/theory.parquet")
    publish("synthetic")
    after = published()
    assert after.keys() - before.keys() == {"synthetic/theory.parquet"}
    assert {name for name in before if before[name] != after[name]} == {"synthetic/provenance.json"}
    assert facts()["revision"] == ["abc", "def"]


def test_every_study_has_its_own(publish: Publish) -> None:
    run("abc", 1)
    add("abc", 1, path="results/full/uci/metrics/rmse.parquet")
    publish("uci")
    mine = {"uci/rmse.parquet", "uci/figures/uci_rmse.png", "uci/provenance.json"}
    assert published().keys() == mine | {"README.md"}
    add("abc", 1, path="results/full/audio/metrics/nll.parquet")
    publish()
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


def test_places_are_those_of_studies() -> None:
    results = Path(RESULTS)
    assert module.place_of(results / "tables/uci_nll.md") == Path("uci/tables/uci_nll.md")
    assert module.place_of(results / "tables/protocols.md").parts[0] == "synthetic"
    assert module.place_of(results / "published/uci/metrics/rmse.parquet") == Path(
        "uci/rmse.parquet"
    )


def fail(*arguments: object) -> dict[str, str]:
    raise RuntimeError


def test_failure_leaves_the_old_files(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    run("abc", 1)
    publish("synthetic")
    before = published()
    run("def", 2)
    with pytest.raises(RuntimeError):
        publish("synthetic", overview=fail)
    monkeypatch.setattr(module, "cost", fail)
    with pytest.raises(RuntimeError):
        publish("synthetic")
    assert published() == before


def test_interrupted_copy_leaves_whole_files(
    publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And publishing again completes it."""
    run("abc", 1)
    publish("synthetic")
    before = published()
    run("def", 2)
    with monkeypatch.context() as broken:
        copy = shutil.copyfile

        def fail(source: Path, target: Path, **options: Any) -> None:
            copy(source, target, **options)
            if Path(target).parent == PLACE / "figures":
                raise OSError("no space left")

        broken.setattr(module.shutil, "copyfile", fail)
        with pytest.raises(OSError, match="no space left"):
            publish("synthetic")
    assert published().keys() == before.keys()
    assert published()["synthetic/figures/emd.png"] == b"1 rows"
    assert len(read_table(PLACE / "emd.parquet")) == 2
    publish("synthetic")
    assert published()["synthetic/figures/emd.png"] == b"2 rows"


def test_what_cannot_be_drawn_is_said(publish: Publish) -> None:
    run("abc", 1)
    publish("synthetic")
    before = published()
    run("def", 2)

    def lacks(publication: Publication, name: str) -> None:
        """The figure's rule lacks data: its outputs are empty, and a note says why."""
        draw(publication, name)
        if name == "emd":
            for file in SHEETS[name].outputs:
                write(publication.staged(file), "")
            note(publication, name, {"figures/emd": "no row with K = 9"})

    risk = sheet("synthetic/metrics/properties.parquet", "figures/risk.png")
    told = publish("synthetic", drawn=lacks, sheets={**SHEETS, "risk": risk})
    after = published()
    assert after["synthetic/figures/emd.png"] == before["synthetic/figures/emd.png"] == b"1 rows"
    assert after["synthetic/tables/emd.md"] == b"2 rows", "a table may have a figure's name"
    assert "  figures/emd could not be drawn, the old one stays: no row with K = 9" in told
    assert "  figures/risk could not be drawn: there is no properties.parquet" in told
    assert facts()["outdated"] == ["figures/emd"]


def test_what_was_outdated_is_drawn_again(publish: Publish) -> None:
    run("abc", 1)
    publish("synthetic")
    publish("synthetic", drawn=lambda *given: note(*given, {"figures/emd": "no row with K = 9"}))
    assert facts()["outdated"] == ["figures/emd"]
    publish("synthetic")
    assert facts()["outdated"] == []


def test_records_without_cost_are_counted(publish: Publish) -> None:
    rows = tidy([{"metric": "emd", "value": 0.5}])
    found = {"provenance": {**record("abc"), "training": training("abc", 1, None)}}
    write_parts(Path(METRICS, "emd.parquet"), {"K9/emd_seed1.parquet": (rows, found)})
    publish("synthetic")
    unknown = {"files": 1, "cpu_hours": 0, "unknown": 1}
    assert facts()["cost"] == {"emd": unknown, "wta network": unknown}


def test_tiers_are_not_mixed(publish: Publish) -> None:
    run("abc", 1)
    publish("synthetic")
    before = published()
    add("abc", 2, path="results/quick/synthetic/metrics/emd.parquet")
    with pytest.raises(SystemExit, match="has the tier full, not quick"):
        publish(tier="quick")
    assert published() == before


@pytest.mark.parametrize("studies", [["synthetic"], []])
def test_nothing_to_publish_is_explained(publish: Publish, studies: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"has no tables\. Remedy: make reproduce TIER=full"):
        publish(*studies)
    assert not Path("docs").exists()


def test_predictions_for_the_page_are_copied(publish: Publish) -> None:
    run("abc", 1)
    publish("synthetic")
    assert not (PLACE / "explorer.safetensors").exists()
    Path("results/full/synthetic/explorer.safetensors").write_text("atoms")
    publish("synthetic")
    assert (PLACE / "explorer.safetensors").read_text() == "atoms"


def test_a_table_of_one_place_alone(publish: Publish) -> None:
    """It is published as it is, and a figure may need it together with others."""
    run("abc", 1)
    publish()
    run("def", 2, path=f"{METRICS}/theory.parquet")
    tables = [f"{METRICS}/{name}.parquet" for name in ("emd", "theory")]
    both = Sheet(tables, [f"{RESULTS}/figures/both.png"])
    publish(sheets={"emd": SHEETS["emd"], "both": both}, drawn=count_inputs(both))
    assert (PLACE / "figures/both.png").read_text() == "2 files"


def count_inputs(sheet: Sheet) -> Callable[[Publication, str], None]:
    """Stands for a rule: its outputs say how many of its inputs are there."""

    def drawn(publication: Publication, name: str) -> None:
        note(publication, name, {})
        there = [file for file in sheet.inputs if Path(publication.staged(file)).exists()]
        outputs = sheet.outputs if name == "both" else SHEETS[name].outputs
        for file in outputs:
            write(publication.staged(file), f"{len(there)} files")

    return drawn


class Output(dict[str, str]):
    """A job's outputs as Snakemake gives them: a list whose members may have names."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.values())


@pytest.fixture
def output(tmp_path: Path) -> Output:
    (tmp_path / "figures").mkdir()
    return Output(png=str(tmp_path / "figures/cells.png"), note=str(tmp_path / "cells.json"))


def test_a_lack_of_data_is_noted(output: Output, capsys: pytest.CaptureFixture[str]) -> None:
    with tolerated(output):
        Path(output["png"]).write_text("half a picture")
        raise ValueError("no row with K = 9")
    assert Path(output["png"]).read_bytes() == b""
    noted = json.loads(Path(output["note"]).read_text())
    assert noted == {"figures/cells": "ValueError: no row with K = 9"}
    assert "Traceback" in capsys.readouterr().err


def test_a_job_that_lacks_nothing_notes_nothing(output: Output) -> None:
    with tolerated(output):
        Path(output["png"]).write_text("a picture")
    assert Path(output["png"]).read_text() == "a picture"
    assert json.loads(Path(output["note"]).read_text()) == {}


@pytest.mark.parametrize("error", [OSError("no such disk"), NoSpace("full"), MemoryError()])
def test_errors_of_the_system_end_the_job(output: Output, error: Exception) -> None:
    with pytest.raises(type(error)), tolerated(output):
        raise error
    assert not Path(output["note"]).exists()


def test_jobs_without_a_note_fail(output: Output) -> None:
    del output["note"]
    with pytest.raises(ValueError, match="no row"), tolerated(output):
        raise ValueError("no row with K = 9")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]) -> Path:
    """A copy of the repository, with metrics of a chunk of the smoke tier."""
    tree = copy_repository(tmp_path_factory.mktemp("tree"))
    where = {"protocol": "paper", "dataset": "single_gaussian", "metric": "nll", "n": 10}
    rows = [{"method": "v_wta", "K": 9, "seed": 1, "h": h, "value": h} for h in (0.1, 0.2)]
    path = tree / "results/smoke/synthetic/metrics/evaluation.parquet"
    facts = {"provenance": {**record("abc", 1), "code": "c0de"}}
    part = "results/smoke/synthetic/paper/single_gaussian/metrics.parquet"
    write_parts(path, {part: (tidy(rows, study="synthetic", **where), facts)})
    for name in ("figures/proof_radius.png", "tables/verdicts.md"):
        write(str(tree / "results/smoke" / name), "of this run")
    return tree


def smoke(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return snakemake(tree, "--configfile", "config/smoke.yaml", "--cores", "1", *arguments)


def test_rules_draw_from_given_metrics(tree: Path) -> None:
    """What has its data is drawn, what lacks some is named, and networks are not asked for."""
    done = smoke(tree, "--", "publish_synthetic")
    assert done.returncode == 0, done.stdout
    jobs = set(re.findall(r"^(?:local)?rule (\w+):", done.stdout, re.MULTILINE))
    assert jobs == {"merge_published", "figure_published", "publish_synthetic"}
    place = tree / "docs/results/synthetic"
    assert {path.name for path in place.glob("*/*")} == {
        "nll_against_h_paper_K9.png",
        "nll_against_h_literal_K9.png",  # shows `paper` for methods that `literal` does not have
        "nll_against_h_released_K9.png",
        "proof_radius.png",
    }
    assert (place / "figures/nll_against_h_paper_K9.png").read_bytes()[:4] == b"\x89PNG"
    assert (place / "figures/proof_radius.png").read_text() == "of this run"
    assert len(read_table(place / "evaluation.parquet")) == 2
    assert json.loads((place / "provenance.json").read_text())["tier"] == "smoke"
    readme = (place.parent / "README.md").read_text()
    assert readme.startswith("# Published runs")
    assert re.search(r"synthetic/evaluation.parquet: stale\n.*\n1 of 1 files are stale", readme)
    said = (tree / "results/smoke/logs/publish_synthetic.log").read_text()
    assert re.search(r"figures/tuned_paper could not be drawn: .*no row with tuned = True", said)
    assert "figures/variants could not be drawn: there is no properties.parquet\n" in said


def test_rules_publish_metrics_alone(tree: Path) -> None:
    """Nothing can be drawn, nothing is there to copy, and a change of any table is seen."""

    def write_sizes(path: Path, dataset: str) -> None:
        row = {"dataset": dataset, "rows": 506, "inputs": 13, "splits": 20, "discrete": False}
        facts = {**record("abc", 1), "code": "c0de", "dataset": dataset}
        facts["data"] = {"file": "0", "matrix": "0"}
        write_parts(path, {dataset: (pd.DataFrame([row]), {"provenance": facts})})

    place = tree / "docs/results/uci"
    write_sizes(tree / "results/smoke/uci/metrics/sizes.parquet", "boston")
    for other in ("naval", "yacht"):
        write_sizes(place / "sizes.parquet", other)
        os.utime(place / "sizes.parquet", (0, 0))  # copied from another machine
        done = smoke(tree, "--", "publish_uci")
        assert done.returncode == 0, done.stdout
        assert {path.name for path in place.rglob("*")} == {"sizes.parquet", "provenance.json"}
        assert set(read_table(place / "sizes.parquet")["dataset"]) == {"boston", other}
    said = (tree / "results/smoke/logs/publish_uci.log").read_text()
    assert "figures/uci_nll_paper could not be drawn: there is no evaluation.parquet\n" in said
    lacks = "there is no evaluation.parquet, searches.parquet"
    assert f"tables/uci_main_paper could not be drawn: {lacks}\n" in said


def test_rules_publish_again(tree: Path) -> None:
    """Whatever has happened to the published files since, they are put in their places."""
    assert not list((tree / "results/smoke/benchmarks").glob("publish*"))
    done = smoke(tree, "--dry-run", "--allowed-rules", "publish_uci", "--", "publish_uci")
    assert re.search(r"^publish_uci +1$", done.stdout, re.MULTILINE), done.stdout


def test_rules_explain_that_there_is_nothing(tree: Path) -> None:
    done = smoke(tree, "--", "publish_audio")
    assert done.returncode != 0
    assert "results/smoke/audio/metrics has no tables. Remedy: make reproduce TIER=smoke" in (
        done.stdout
    )
    assert "Traceback" not in done.stdout
