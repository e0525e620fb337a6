"""The plan counts what is left, scales what was recorded, and never takes unknown for zero."""

import subprocess
from pathlib import Path

import pandas as pd
import pytest
from loading import ROOT
from warm import python

from vwta.workflow import plan

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def costs(*rows: tuple) -> pd.DataFrame:
    """Records of (tier, rule, work, seconds), of 5 MB a job."""
    full = [(tier, rule, work, 1, s, 100, 5, "") for tier, rule, work, s in rows]
    return pd.DataFrame(full, columns=plan.COLUMNS)


def test_measure_reads_benchmarks(tmp_path: Path) -> None:
    rest = "\t".join(["0"] * 6)
    (tmp_path / "a.tsv").write_text(f"{HEADER}10.0\t0:00:10\t50\t{rest}\t18.0\n")
    (tmp_path / "b.tsv").write_text(f"{HEADER}0.4\t0:00:00\tNA\t{rest}\tNA\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/weights").write_bytes(bytes(3_000_000))
    jobs = [
        plan.Job("train", (str(tmp_path / "folder"),), str(tmp_path / "a.tsv")),
        plan.Job("train", ("not there",), str(tmp_path / "b.tsv")),
        plan.Job("train", ("not there",), str(tmp_path / "never ran.tsv")),
        plan.Job("unmeasured", ("not there",)),
    ]
    (row,) = plan.measure(jobs, "quick").to_dict("records")
    assert (row["tier"], row["rule"], row["n"]) == ("quick", "train", 2)
    assert row["seconds"] == pytest.approx(5.2)
    assert row["output_mb"] == pytest.approx(1.5)
    assert row["max_rss_mb"] == 50


def test_estimate_scales_with_work() -> None:
    jobs = [plan.Job("train", ("x",), threads=2, work=1000)] * 3
    recorded = costs(("quick", "train", 1, 99), ("quick", "train", 500, 1800))
    (row,) = plan.estimate(jobs, "full", costs(), recorded).to_dict("records")
    assert row["jobs"] == 3
    assert row["CPU h"] == pytest.approx(3 * 2)  # from the nearest record, 500
    assert row["GPU h"] == 0
    assert row["disk MB"] == 15
    assert row["source"] == "recorded at quick"


def test_estimate_prefers_what_was_measured_here() -> None:
    job = plan.Job("draw", ("x",))
    here = costs(("full", "draw", 0, 36))
    recorded = costs(("full", "draw", 0, 72), ("quick", "draw", 0, 3600))
    for local, hours, source in ((here, 0.01, "this run"), (costs(), 0.02, "recorded")):
        (row,) = plan.estimate([job], "full", local, recorded).to_dict("records")
        assert row["CPU h"] == pytest.approx(hours)
        assert row["source"] == source


def test_other_tier_without_work_is_marked() -> None:
    recorded = costs(("quick", "draw", 0, 36))
    (row,) = plan.estimate([plan.Job("draw")], "full", costs(), recorded).to_dict("records")
    assert row["source"] == "recorded at quick, not scaled"


def test_unknown_is_not_zero() -> None:
    jobs = [plan.Job("train", ("x",), work=10), plan.Job("draw", ("y",), download_mb=7)]
    recorded = costs(("full", "train", 0, 5), ("full", "draw", 0, 36))  # no `work` then
    table = plan.estimate(jobs, "full", costs(), recorded).set_index("rule")
    assert table["CPU h"].isna().to_dict() == {"train": True, "draw": False}
    assert table.loc["train", "source"] == "unknown"
    assert table["download MB"].sum() == 7
    text = plan.show(table.reset_index(), "full")
    assert "tier full: 2 jobs left" in text
    assert "Not in the total, as nothing is recorded: train." in text


def test_nothing_left() -> None:
    table = plan.estimate([], "quick", costs(), costs())
    assert plan.show(table, "quick") == "tier quick: nothing left to do"


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [*python(), *command], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_plan_follows_a_workflow(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "Snakefile").write_text(
        """
rule all:
    input: expand("{name}.txt", name=["one", "two"]),

rule write:
    output: "{name}.txt",
    benchmark: "{name}.tsv"
    resources: work=3,
    shell: "echo {wildcards.name} > {output}"
"""
    )
    before = run(tmp_path, "-m", "vwta.workflow.plan", "full", "--cores", "1")
    assert "tier full: 2 jobs left" in before
    assert "nothing is recorded: write" in before

    run(tmp_path, "-m", "snakemake", "--cores", "1", "--quiet")
    run(tmp_path, "-m", "vwta.workflow.plan", "full", "--record", "--cores", "1")
    recorded = pd.read_csv(tmp_path / "benchmarks/recorded.csv")
    assert recorded[["tier", "rule", "work", "n"]].to_numpy().tolist() == [["full", "write", 3, 2]]

    (tmp_path / "one.txt").unlink()
    after = run(tmp_path, "-m", "vwta.workflow.plan", "full", "--cores", "1")
    assert "tier full: 1 jobs left" in after
    assert "this run" in after


def test_plan_of_this_repository() -> None:
    arguments = ["--forceall", "--configfile", "config/smoke.yaml"]
    text = run(ROOT, "-m", "vwta.workflow.plan", "smoke", *arguments)
    assert "train_synthetic" in text
    assert "total" in text
