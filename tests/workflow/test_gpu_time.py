"""Hours of GPUs follow from counts, and never from what CPUs took."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml
from loading import ROOT

from vwta.paper.audio import spectrograms
from vwta.workflow import plan
from vwta.workflow.audio import AudioStudy
from vwta.workflow.configuration import read_protocols
from vwta.workflow.gpu_time import COLUMNS, Card, hours, step_seconds
from vwta.workflow.plan import ESTIMATED, Job, estimate, show
from vwta.workflow.synthetic import SyntheticStudy
from vwta.workflow.uci import UCIStudy

CARD = Card("a card", flops=100.0, bandwidth=10.0, latency=0.5, reading=2.0)
COUNTS = {"rows": 4, "flops": 100, "bytes": 20, "launches": 3, "read": 1}
KINDS = ["train_synthetic", "train_uci", "train_audio"]


def counted(*rows: tuple) -> pd.DataFrame:
    """Counts of (tier, rule, model, K, launches), of which launches take the longest."""
    full = [(*row[:4], 8, 10, 10, row[4], 0) for row in rows]
    return pd.DataFrame(full, columns=COLUMNS)


@pytest.mark.parametrize(
    ("change", "rows", "seconds"),
    [
        ({}, 4, 2.0),  # 20 bytes
        ({}, 8, 4.0),
        ({}, 1, 1.5),  # launches, as many for any number of rows
        ({"flops": 1000}, 4, 10.0),
        ({"read": 6}, 8, 6.0),
    ],
)
def test_the_longest_of_four_bounds_a_step(
    change: dict[str, int], rows: int, seconds: float
) -> None:
    assert step_seconds({**COUNTS, **change}, rows, CARD) == pytest.approx(seconds)


def test_hours_come_from_the_tier_and_the_nearest_K() -> None:
    table = counted(
        ("full", "train", "wta", 9, 10**5),
        ("full", "train", "wta", 100, 2 * 10**5),
        ("desktop", "train", "wta", 25, 3 * 10**5),
        ("full", "train", "mdn", 9, 4 * 10**5),
    )
    about = table, "full", "train_stack", "wta"
    assert hours(*about, 16, steps=3600, rows=8) == pytest.approx(1.0)  # 10 microseconds each
    assert hours(*about, 60, steps=3600, rows=8) == pytest.approx(2.0)
    assert hours(table, "desktop", "train", "wta", 9, 3600, 8) == pytest.approx(3.0)
    assert hours(table, "smoke", "train", "mdn", 9, 3600, 8) == pytest.approx(4.0)


def test_what_was_not_counted_is_unknown() -> None:
    table = counted(("full", "train", "wta", 9, 1))
    assert math.isnan(hours(table, "full", "train", "flow", 9, 10, 8))
    assert math.isnan(hours(table, "full", "train", "wta", 9, 0, 8))


def test_a_plan_never_takes_the_time_of_cpus_for_that_of_a_gpu() -> None:
    recorded = pd.DataFrame([("full", "train", 10, 1, 36000, 1, 5, "")], columns=plan.COLUMNS)
    job = Job("train", work=10, gpu=1, steps=3600, step_rows=8, model="wta", K=9)
    given = [job] * 2, "full", recorded[:0], recorded
    table = estimate(*given, counted(("full", "train", "wta", 9, 10**5)))
    (row,) = table.to_dict("records")
    assert (row["jobs"], row["source"], row["disk MB"]) == (2, ESTIMATED, 10)
    assert row["GPU h"] == row["CPU h"] == pytest.approx(2.0)
    assert "GPU h are an estimate, not a measurement: an A100" in show(table, "full")
    for without in (counted(), None):
        (row,) = estimate(*given, without).to_dict("records")
        assert (row["rule"], row["source"]) == ("train (wta)", "unknown")
        assert math.isnan(row["GPU h"])
        assert math.isnan(row["CPU h"])
    (row,) = estimate([job._replace(gpu=0)], *given[1:]).to_dict("records")
    assert (row["CPU h"], row["GPU h"], row["source"]) == (10.0, 0.0, "recorded")


def test_a_machine_with_a_gpu_takes_as_long_as_either() -> None:
    recorded = pd.DataFrame([("full", "draw", 0, 1, 36, 1, 5, "")], columns=plan.COLUMNS)
    jobs = [Job("draw"), Job("train", gpu=1, steps=3600, step_rows=8, model="wta", K=9)]
    table = estimate(
        jobs, "full", recorded[:0], recorded, counted(("full", "train", "wta", 9, 10**6))
    )
    assert f"About 10.0 h on the {plan.cores()} cores of this machine and one GPU." in show(
        table, "full"
    )


def test_declared_output_takes_the_place_of_what_was_recorded() -> None:
    recorded = pd.DataFrame([("laptop", "draw", 0, 1, 36, 1, 5, "")], columns=plan.COLUMNS)
    jobs = [Job("draw", output_mb=7000)] * 3
    assert estimate(jobs, "full", recorded[:0], recorded)["disk MB"].tolist() == [21000]


def test_steps_and_sizes_of_the_full_tier() -> None:
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    about = SimpleNamespace(dataset="protein", model="wta", protocol="ours")
    synthetic = SyntheticStudy(config["synthetic"], {})
    assert synthetic.steps == 100 * 98  # of 100,000 rows by 1024
    uci = UCIStudy(
        config["uci"],
        read_protocols(ROOT, "uci", ["ours"]),
        {"protein": {"splits": {"count": 5}, "rows": 45730}},
    )
    assert uci.steps(about) == 4000 * 5 * 4  # restarts; three weights, and all rows again
    assert uci.step_rows(about) == 256 * 5
    audio = AudioStudy(config["audio"], {}, "")
    assert audio.steps == 101 * 675  # 1440 scenes of 15 chunks by 32
    assert audio.batches == 591  # of 360 and 900 scenes
    assert audio.features_mb == 4500 * 8 * 100 * 1024 * 2 // 10**6
    assert (spectrograms.FEATURES, spectrograms.FRAMES) == (8, 100)


def test_committed_counts() -> None:
    table = pd.read_csv(ROOT / "benchmarks/launches.csv")
    assert list(table.columns) == COLUMNS
    full = table[table["tier"] == "full"]
    assert {*KINDS, "train_synthetic_local", "predict_audio"} == {*full["rule"]}
    assert "train_audio_local" in set(table.loc[table["tier"] == "desktop", "rule"])
    assert (full[["rows", "flops", "bytes", "launches"]] > 0).all(axis=None)
    assert (full["read"] > 0).equals(full["rule"].str.contains("audio"))
