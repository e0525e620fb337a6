"""The published outcome below docs/results keeps to what no estimator can beat."""

import functools
import math
import re
import tempfile
from pathlib import Path

import pandas as pd
import pytest
import yaml
from loading import ROOT

from vwta.io.errors import DataError
from vwta.io.storage import read_table
from vwta.paper.collection import read_parts
from vwta.paper.metrics import COLUMNS
from vwta.paper.verdicts.folder import judge_folder
from vwta.paper.verdicts.overview import OF_TODAY, overview, tolerances
from vwta.workflow.adopt import digests, stages_of
from vwta.workflow.checkout import check_out

PLACE = ROOT / "docs/results"
KEYS = ["protocol", "dataset"]


def find(name: str) -> Path:
    path = PLACE / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"docs/results has no {name}.parquet yet")
    return path


def read(name: str, study: str = "synthetic") -> pd.DataFrame:
    table = read_table(find(f"{study}/{name}"))
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert not table.duplicated(list(COLUMNS)[:-2]).any()
    return table


def beside_truth(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of all methods, with the true law's value of the same points in `value_truth`.

    The points of `literal` are those of `paper`.
    """
    truth = table[table["method"] == "truth"].set_index(KEYS)["value"]
    taken = truth.rename({"paper": "literal"}, level="protocol")
    truth = truth.combine_first(taken).rename("value_truth")
    return table[table["method"] != "truth"].join(truth, on=KEYS)


def test_no_nll_is_below_that_of_the_true_law() -> None:
    """On the same points, up to sampling noise: a method may fit 2,000 of them a little better."""
    table = read("evaluation")
    nll = table[table["metric"] == "nll"]
    both = beside_truth(nll)
    assert (both["value"] > both["value_truth"] - 0.03).all()


def test_the_true_law_has_its_entropy() -> None:
    truth = read("evaluation").query(
        "method == 'truth' and metric == 'nll' and protocol == 'paper'"
    )
    entropy = read("theory").query("metric == 'entropy'").set_index("dataset")["value"]
    both = truth.join(entropy.rename("value_entropy"), on="dataset")
    assert len(both) > 0
    assert (both["value"] - both["value_entropy"]).abs().max() < 0.06


def test_no_risk_is_below_lloyd_s() -> None:
    """Up to sampling noise: the test points are 2,000."""
    rows = read("evaluation").query("metric == 'risk'")
    lloyd = read("theory").query("method == 'lloyd'").set_index(["dataset", "K"])["value"]
    both = rows.join(lloyd.rename("value_lloyd"), on=["dataset", "K"])
    paper = both[both["protocol"] != "released"]  # whose moons are stretched in another way
    assert (paper["value"] > 0.9 * paper["value_lloyd"]).all()


def test_emd_is_above_that_of_two_samples() -> None:
    """Samples only: Dirac mixtures are compared by their weighted atoms."""
    emd = read("emd")
    both = beside_truth(emd[(emd["metric"] == "emd") & (emd["method"] != "dirac_wta")])
    assert (both["value"] > 0.99 * both["value_truth"]).all()


def test_the_published_search_explains_a_printed_row() -> None:
    """Naval under `released`: the interval for h is upside down, so all splits are the same."""
    rows = read("evaluation", "uci").query(
        "protocol == 'released' and dataset == 'naval' and method == 'k_wta' and metric == 'nll'"
    )
    assert len(rows) == 20
    assert (rows["value"].mean().round(2), rows["value"].std().round(2)) == (-1.94, 0.0)


def test_no_discretised_law_beats_its_step() -> None:
    """Within a step of the targets there can be no more mass than 1."""
    table = read("evaluation", "uci").query("metric == 'nll_dequantised'")
    least = {"wine": math.log(1.0), "naval": math.log(1e-3)}
    assert set(table["dataset"]) <= least.keys()
    assert (table["value"] >= table["dataset"].map(least)).all()


def test_averaged_restarts_beat_what_is_printed() -> None:
    """Under `ours`, on all data sets that ran: Voronoi-WTA and Deep Ensembles."""
    rows = read("evaluation", "uci").query(
        "protocol == 'ours' and method == 'v_wta_ensemble' and metric == 'nll'"
    )
    ours = rows.groupby("dataset")["value"].mean()
    printed = pd.read_csv(ROOT / "config/reported/uci.csv").query("metric == 'nll'")
    assert len(ours) == 9
    for method in ("v_wta", "deep_ensembles"):
        theirs = printed[printed["method"] == method].set_index("dataset")["mean"]
        assert (ours < theirs[ours.index]).all(), method


def test_every_split_is_there() -> None:
    table = read("evaluation", "uci").query("metric == 'nll'")
    counts = table.groupby(["protocol", "dataset", "method"])["split"].nunique()
    official = {"protein": 5, "year": 1}
    fewer = yaml.safe_load((ROOT / "config/config.yaml").read_text())["uci"]["splits_of"]
    for (_, dataset, method), count in counts.items():
        most = fewer.get(method.removesuffix("_ensemble"), {})
        assert count == min(official.get(dataset, 20), most.get(dataset, most.get("others", 20)))


@pytest.mark.parametrize(
    "name",
    [f"synthetic/{name}" for name in ("evaluation", "emd", "theory", "properties", "curves")]
    + ["uci/evaluation", "uci/searches"],
)
def test_numbers_can_be_traced(name: str) -> None:
    """Each row has a part, which says what revision measured it and what networks it took."""
    for _, facts in read_parts(find(name)).values():
        record = facts["provenance"]
        for one in (record, *record.get("trainings", ()), record.get("training", record)):
            revision, changed = one["revision"][:40], one["revision"][40:]
            assert len(revision) == 40, revision
            if changed:  # in files that this code does not depend on
                assert changed == "-dirty"
                assert one["code"] in codes_at(revision)


@functools.cache
def codes_at(revision: str) -> set[str]:
    """Digests of all stages of the workflow at a revision."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            check_out(ROOT, revision, Path(folder))
        except DataError:
            pytest.skip(f"this clone does not have the revision {revision}")
        return set(digests(Path(folder), stages_of(Path(folder))).values())


def test_overview_is_that_of_the_tables() -> None:
    """`make publish` writes it; whoever changes a rule or a table by hand is told to do so too."""
    verdicts = judge_folder(PLACE, ROOT / "config")
    assert (PLACE / "tolerances.md").read_text(encoding="utf-8") == tolerances(verdicts)
    text = overview(verdicts, PLACE)
    found, _, verified = (
        (PLACE / "README.md").read_text(encoding="utf-8").partition(f"\n{OF_TODAY}")
    )
    assert found == text
    assert "files are stale" in verified
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (PLACE / link).exists(), link
