"""The pipeline from data to picture, and what a change would run again."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pytest
from loading import environment, snakemake
from warm import FRESH

from vwta.io.storage import read_metadata, read_table, read_tensors
from vwta.paper.estimators import swept_in
from vwta.paper.methods import networks_in
from vwta.paper.metrics import COLUMNS

RUN = "synthetic/paper/single_gaussian/wta/K9"
SMOKE = ("--configfile", "config/smoke.yaml")

# Jobs are named by rule; where several files of a rule may change alone, by the file as well.
PROOFS = {"figure proof_radius", "figure proof_partition"}
PICTURES = {"figure dirac_limits", "figure qualitative"} | PROOFS
SEEN = {"figure weak_convergence", "figure cells", "figure point_density", "figure variants"}
PROPERTIES = {"evaluate_properties", "collect synthetic properties", "table_unused"} | SEEN
CURVES = {"collect_curves synthetic", "figure training_curves"}
AGAINST_K = {"figure quantitative", "figure quantitative_std"}
OF_GRID = {"figure nll_against_h", "figure tuned"} | AGAINST_K
TABLES = {"table_protocols"}
DRAWN = {"figure training_curves"} | OF_GRID | PICTURES | SEEN
GRID = {"evaluate_synthetic", "collect synthetic evaluation"} | OF_GRID | TABLES
TUNED = {"tune_synthetic"} | GRID
TRANSPORTED = {"evaluate_emd", "collect synthetic emd"} | AGAINST_K | TABLES
EVALUATED = TUNED | TRANSPORTED
TRAINED = (
    {"train_synthetic", "predict_synthetic", "export_explorer"}
    | EVALUATED
    | CURVES
    | PICTURES
    | PROPERTIES
)
THEORY = {"evaluate_synthetic_theory", "collect synthetic theory"} | AGAINST_K
THEORY |= PROPERTIES
# One protocol measures distances at this K alone, and so those of the truth too.
NEW_K = (TRAINED | THEORY | {"evaluate_emd_truth"}) - PICTURES - {"predict_synthetic"}
SELECTED = EVALUATED | PROPERTIES | PICTURES | {"predict_synthetic", "export_explorer"}
MODELLED = EVALUATED | {"evaluate_emd_truth"}
MEASURED = EVALUATED | THEORY | {"evaluate_emd_truth"}
UCI_ENSEMBLES = {f"figure uci_search_{name}_wta_ensemble" for name in "vk"}
UCI_DRAWN = {"table_uci", "figure_uci"} | UCI_ENSEMBLES
UCI_MEASURED = {"evaluate_uci", "collect uci evaluation"} | UCI_DRAWN - UCI_ENSEMBLES
UCI_TUNED = {"tune_uci", "collect uci searches"} | UCI_MEASURED | UCI_ENSEMBLES
UCI_TRAINED = {"train_uci"} | UCI_TUNED
AUDIO_CURVES = {"figure audio_training_curves", "figure audio_training_curves_released"}
AUDIO_SEEN = {
    f"figure audio_{name}{protocol}"
    for name in ("scenes", "scenes_on_sphere")
    for protocol in ("", "_literal", "_released")
}
AUDIO_DRAWN = {"table_audio", "figure_audio"}
AUDIO_MEASURED = {"evaluate_audio", "collect audio evaluation"} | AUDIO_DRAWN
AUDIO_TUNED = {"tune_audio"} | AUDIO_MEASURED
AUDIO_PREDICTED = {"predict_audio", "show_audio"} | AUDIO_SEEN | AUDIO_TUNED
AUDIO_TRAINED = {"train_audio", "collect_curves audio"} | AUDIO_PREDICTED | AUDIO_CURVES
# Rules of the stages, with those of the stages before. All tiers share the tables of UCI data sets.
PREPARED = {"generate_synthetic", "make_scenes", "features_audio"}
STAGE_TRAIN = {"train_synthetic", "train_uci", "train_audio"} | PREPARED
STAGE_TUNE = {"tune_synthetic", "tune_uci", "tune_audio", "predict_audio"} | STAGE_TRAIN
OF_SYNTHETIC = {"evaluation", "theory", "emd", "properties"}
STAGE_METRICS = (
    {f"evaluate_{name}" for name in ("synthetic", "uci", "audio", "emd", "emd_truth", "properties")}
    | {f"collect synthetic {name}" for name in OF_SYNTHETIC}
    | {"collect uci evaluation", "collect uci searches", "collect audio evaluation"}
    | {"collect_curves synthetic", "collect_curves audio"}
    | {"evaluate_synthetic_theory", "measure_sizes_uci"}
    | STAGE_TUNE
)
NOT_TABULATED = {"collect_curves synthetic", "collect_curves audio", "collect synthetic theory"}
TABULATED = STAGE_METRICS - NOT_TABULATED
# Verdicts are given again when any table of metrics changes.
TOLD = {"evaluate_synthetic", "evaluate_emd", "evaluate_properties", "evaluate_synthetic_theory"}
TOLD |= {"evaluate_emd_truth", "evaluate_uci", "evaluate_audio", "export_explorer"}


Jobs = Callable[..., set[str]]


def run(tree: Path, *arguments: str, **variables: str) -> None:
    """Run the smoke tier in a tree, or a part of it."""
    done = snakemake(tree, *SMOKE, "--cores", "2", *arguments, **variables)
    assert done.returncode == 0, done.stdout


def named(output: str) -> set[str]:
    """Jobs of a dry run: their rules, with what tells figures and tables apart."""
    found = set()
    for rule, about in re.findall(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)+)", output, re.MULTILINE):
        given = dict(re.findall(r"(\w+)=([^,\n]*)", "".join(re.findall("wildcards: .*", about))))
        if rule == "figure":
            name = given["figure"]
            kind = re.sub(r"(_(paper|literal|released|ours|K9))+$", "", name)
            rule += f" {name if name.startswith('audio_') else kind}"
        elif rule.startswith("collect"):
            rule = " ".join([rule, *given.values()])
        found.add(rule)
    return found - {"all"}


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]) -> Path:
    """A copy of the repository in which the smoke tier has run, each script once on its own."""
    tree = copy_repository(tmp_path_factory.mktemp("tree"))
    (tree / "README.md").write_text("# Readme\n")
    run(tree, **{FRESH: "1"})
    return tree


@pytest.fixture(scope="session")
def ask(tree: Path) -> Callable[..., str]:
    """What a dry run with some arguments says."""

    def ask(*arguments: str) -> str:
        done = snakemake(tree, *SMOKE, "--dry-run", *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout

    return ask


@pytest.fixture(scope="session")
def jobs(ask: Callable[..., str]) -> Jobs:
    """Jobs that Snakemake would run, given some arguments."""
    return lambda *arguments: named(ask(*arguments))


@pytest.fixture
def results(tree: Path) -> Path:
    return tree / "results" / "smoke"


@pytest.fixture
def edit(tree: Path) -> Iterator[Callable[[str, str, str], None]]:
    """Replaces a text in a file, for the time of a test."""
    before: dict[Path, str] = {}

    def edit(name: str, old: str, new: str) -> None:
        path = tree / name
        text = path.read_text()
        before.setdefault(path, text)
        assert old in text
        path.write_text(text.replace(old, new))

    yield edit
    for path, text in before.items():
        path.write_text(text)


def test_metrics_are_tidy(results: Path) -> None:
    table = read_table(results / "synthetic/metrics/evaluation.parquet")
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert not table.duplicated(list(COLUMNS)[:-2]).any()
    assert set(table["study"]) == {"synthetic"}
    assert set(table["protocol"]) == {"paper", "literal", "released"}
    table = table[table["protocol"] == "paper"]
    nll = table[table["metric"] == "nll"]
    counts = nll.groupby("method").size().to_dict()
    swept = dict.fromkeys(swept_in("synthetic"), 3) | dict.fromkeys(
        ["v_wta", "k_wta", "tk_hist"], 4
    )
    assert counts == swept | dict.fromkeys(["unif_v_wta", "unif_hist", "mdn", "truth"], 1)
    assert set(table.loc[table["metric"] == "risk", "method"]) == {*networks_in("synthetic")} - {
        "local"
    }
    assert nll["value"].map(lambda value: abs(value) < 100).all()
    outside = table[table["metric"] == "outside"]
    assert len(outside) == 1
    assert (outside["n"].iloc[0] - outside["value"].iloc[0] == nll["n"]).all()


def test_no_estimator_beats_the_truth(results: Path) -> None:
    table = read_table(results / "synthetic/metrics/evaluation.parquet")
    nll = table[table["metric"] == "nll"].set_index("method")["value"]
    assert (nll.drop("truth") > nll["truth"].max()).all()


def test_every_number_can_be_traced(results: Path) -> None:
    parts = read_metadata(results / "synthetic/metrics/evaluation.parquet")["parts"]
    records = {path.split("/")[-3]: part["provenance"] for path, part in parts.items()}
    assert records.keys() == {"paper", "literal", "released"}
    assert len(records["paper"]["trainings"]) == len(records["released"]["trainings"]) == 3
    (training,) = records["literal"]["trainings"]
    assert training["seed"] == 1234
    assert {"revision", "code", "data", "packages", "processor", "seconds"} <= training.keys()


def test_weights_and_curve_are_kept(results: Path) -> None:
    tensors, metadata = read_tensors(results / RUN / "seed1234.safetensors")
    assert tensors["curve"].shape == (2, 3)
    assert metadata["network"]["hypotheses"] == 9
    prefixes = {name.split(".")[0] for name in tensors}
    assert prefixes == {"curve", "loss", "distance"} == {"curve", *metadata["selected"]}


@pytest.mark.parametrize(
    "figure",
    [
        "nll_against_h_paper_K9",
        "nll_against_h_literal_K9",
        "nll_against_h_released_K9",
        "training_curves_K9",
        "dirac_limits_paper",
        "dirac_limits_literal",
        "qualitative_paper",
        "qualitative_literal",
        "quantitative_paper",
        "quantitative_literal",
        "quantitative_released",
        "quantitative_std_paper",
        "quantitative_std_literal",
        "quantitative_std_released",
        "tuned_paper",
        "tuned_literal",
        "tuned_released",
        "variants",
        "weak_convergence",
        "cells",
        "point_density",
        "proof_radius",
        "proof_partition",
        *(
            f"audio_{name}{ending}"
            for name in ("nll_against_h", "monte_carlo", "dispersion", "training_curves", "scenes")
            for ending in ("", "_released")
        ),
        "audio_scenes_on_sphere",
        "audio_nll_against_h_literal",
    ],
)
def test_figures_are_pictures(results: Path, figure: str) -> None:
    picture = results / f"figures/{figure}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 5000
    assert picture.with_suffix(".pdf").read_bytes().startswith(b"%PDF")


def test_the_page_shows_every_figure_and_table(results: Path) -> None:
    page = (results / "report/index.html").read_text()
    for kind, folder, suffix in (("figure", "figures", ".png"), ("table", "tables", ".md")):
        names = {path.stem for path in (results / folder).glob(f"*{suffix}")}
        shown = set(re.findall(rf'id="{kind}-(\w+)"', page))
        assert shown == names - {"verdicts", "differences", "tolerances"}
    assert page.count("how it was made") == page.count('id="figure-')
    assert "with K = 9 hypotheses" in page  # a caption in which a wildcard is filled in
    assert 'id="predictions"' in page
    assert "snakemake --force --configfile config/smoke.yaml -- results/smoke/figures" in page


def test_the_report_shows_figures_tables_verdicts_and_page(tree: Path, tmp_path: Path) -> None:
    done = snakemake(tree, *SMOKE, "--report", str(tmp_path / "report.zip"))
    assert done.returncode == 0, done.stdout
    with ZipFile(tmp_path / "report.zip") as archive:
        names = {Path(name).name for name in archive.namelist()}
        (text,) = (name for name in archive.namelist() if name.endswith("report.html"))
        report = archive.read(text).decode()
    assert {"nll_against_h_paper_K9.png", "uci_nll_paper.png", "audio_scenes.png"} <= names
    assert {"uci_main_paper.csv", "audio_main.csv", "protocols.csv", "unused.csv"} <= names
    assert {"verdicts.csv", "differences.csv", "tolerances.csv", "index.html"} <= names
    for said in ("geometry-aware conditional density", "tier", "Verdicts", "Tables", "Page"):
        assert said in report


def verified(tree: Path) -> list[str]:
    """What `make verify` says about the results of the smoke tier, without Snakemake's state."""
    command = [sys.executable, "-m", "vwta.workflow.verify", "results/smoke"]
    done = subprocess.run(
        command, cwd=tree, env=environment(tree), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_results_are_verified_by_what_they_carry(
    tree: Path, edit: Callable[[str, str, str], None]
) -> None:
    (said,) = verified(tree)
    assert re.fullmatch(r"0 of \d\d files are stale", said)
    edit("config/smoke.yaml", "epochs: 2\n    widths: [32, 32]", "epochs: 2\n    widths: [32, 16]")
    edit("src/vwta/paper/theory/zador.py", "import math\n", "import math\n\nOTHER = 1\n")
    said = verified(tree)
    network = said.index(f"results/smoke/{RUN}/seed1234.safetensors: stale")
    assert said[network + 1] == "  train_synthetic: other configuration (widths)"
    theory = said.index("results/smoke/synthetic/paper/single_gaussian/theory.parquet: stale")
    assert said[theory + 1] == "  evaluate_synthetic_theory: other code"
    assert not [line for line in said if "/uci/" in line or "/audio/" in line]


def test_audio_metrics_are_tidy(results: Path) -> None:
    table = read_table(results / "audio/metrics/evaluation.parquet")
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert not table.duplicated(list(COLUMNS)[:-2]).any()
    likely = table[table["metric"] == "nll"]
    assert set(likely["protocol"]) == {"paper", "literal", "released"}
    paper = likely[(likely["protocol"] == "paper") & ~likely["tuned"]]
    swept = dict.fromkeys(swept_in("synthetic"), 3)
    alone = dict.fromkeys(["unif_v_wta", "unif_hist", "m_vmf", "truth"], 1)
    assert paper.groupby("method").size().to_dict() == swept | alone
    truth = paper.loc[paper["method"] == "truth", "value"].item()
    assert (paper.loc[paper["method"] != "truth", "value"] > truth).all()
    assert not list((results / "audio/scenes").rglob("*.wav"))  # recordings are not kept


def test_distances_and_reference_risks_are_tidy(results: Path) -> None:
    for name, metric, methods in (
        ("emd", "emd", ["truth", "dirac_wta", "unif_v_wta", "v_wta", "unif_hist", "mdn"]),
        ("theory", "risk", ["zador", "zador_hist", "lloyd"]),
        ("theory", "entropy", ["truth"]),
    ):
        table = read_table(results / f"synthetic/metrics/{name}.parquet")
        assert table.dtypes.astype(str).to_dict() == COLUMNS
        mine = table[(table["protocol"] == "paper") & (table["metric"] == metric)]
        assert sorted(mine["method"]) == sorted(methods)
        assert metric == "entropy" or (mine["value"] > 0).all()


def test_properties_are_tidy(results: Path) -> None:
    table = read_table(results / "synthetic/metrics/properties.parquet")
    assert table.dtypes.astype(str).to_dict() == COLUMNS
    assert not table.duplicated(list(COLUMNS)[:-2]).any()
    assert table["value"].map(abs).max() < 100
    networks = table[table["metric"] == "dead"].groupby("protocol")["method"].agg(sorted)
    every = ["hist", "lloyd", "mdn", "wta"]
    assert networks.to_dict() == {"paper": every, "literal": ["wta"], "released": every}
    swept = table[(table["metric"] == "set_error") & (table["method"] == "v_wta")]
    assert sorted(swept["h"]) == [h for h in (0.1, 0.2, 0.5) for _ in networks]


def test_every_job_has_log_and_benchmark(ask: Callable[..., str], results: Path) -> None:
    logs = {path.relative_to(results / "logs").with_suffix("") for path in files(results / "logs")}
    costs = files(results / "benchmarks")
    assert {path.relative_to(results / "benchmarks").with_suffix("") for path in costs} == logs
    everything = ask("--forceall", "--quiet", "reason")
    total = re.findall(r"^total +(\d+)$", everything, re.MULTILINE)[-1]
    assert len(logs) == int(total) - 1  # `all` makes nothing
    assert all((pd.read_csv(path, sep="\t")["s"] > 0).all() for path in costs)
    training = (
        results / f"logs/train_synthetic/{RUN.removeprefix('synthetic/')}/seed1234.log"
    ).read_text()
    assert "epoch 2/2: training" in training


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_nothing_is_left_to_do(jobs: Jobs, results: Path) -> None:
    assert jobs() == set()
    assert not files(results / ".unfinished")


def test_distances_declare_their_work(ask: Callable[..., str]) -> None:
    """Thousands of pairs of points: V-WTA is measured at a bandwidth and with a uniform kernel."""
    output = ask("--forcerun", "evaluate_emd", "evaluate_emd_truth")
    found = re.findall(r"output: .*/(\w+)/K9/emd_seed1234\.parquet\n[^@]*?work=(\d+)", output)
    pairs = 5 * 50**2
    assert set(found) == {
        ("wta", str(2 * pairs // 1000)),
        ("hist", str(pairs // 1000)),
        ("mdn", str(pairs // 1000)),
    }


@pytest.mark.parametrize(
    ("name", "old", "new", "again"),
    [
        ("src/vwta/geometry/lloyd.py", "range(K - 1)", "range(K - 2 + 1)", THEORY | AUDIO_MEASURED),
        ("src/vwta/paper/emd.py", "cdist(", "2 * cdist(", TRANSPORTED | {"evaluate_emd_truth"}),
        ("config/smoke.yaml", "samples: 50", "samples: 60", TRANSPORTED | {"evaluate_emd_truth"}),
        ("config/config.yaml", "targets: 500", "targets: 300", PICTURES | {"predict_synthetic"}),
        (
            "src/vwta/paper/methods.py",
            '"V-WTA"',
            '"Voronoi-WTA"',
            DRAWN - {"figure variants"}
            | (UCI_DRAWN | AUDIO_DRAWN | AUDIO_SEEN | AUDIO_CURVES)
            | {"judge"},  # which groups numbers by their method
        ),
        (
            "src/vwta/nn/losses.py",
            "beta * cross_entropy",
            "beta * cross_entropy * 2",
            TRAINED | UCI_TRAINED | AUDIO_TRAINED,
        ),
        (
            "src/vwta/paper/metrics.py",
            "-log_prob.mean()",
            "-log_prob.median()",
            MEASURED - {"tune_synthetic"} | UCI_MEASURED | AUDIO_MEASURED,
        ),
        (
            "src/vwta/nn/models.py",
            "if self.kernel is None:",
            "if not self.kernel:",
            MODELLED | UCI_TRAINED | AUDIO_TUNED,
        ),
        ("src/vwta/training/stacking.py", "(step + 0.5)", "(step + 0.4)", TRAINED | UCI_TRAINED),
        ("src/vwta/paper/uci/tables.py", '"no data"', '"nothing"', {"table_uci"}),
        (
            "src/vwta/paper/downloads/zenodo.py",
            "import json\n",
            "import json\n\nOTHER = 1\n",
            set(),
        ),
        (
            "src/vwta/paper/uci/prepare.py",
            '"prepare", "prepare_own"',
            '"prepare_own", "prepare"',
            {"prepare_uci", "measure_sizes_uci"} | UCI_TRAINED,
        ),
        ("src/vwta/paper/synthetic/tune.py", "found.at, border)", "found.at, not border)", TUNED),
        ("src/vwta/paper/uci/tune.py", "found.border, dev", "not found.border, dev", UCI_TUNED),
        ("src/vwta/paper/audio/tune.py", "found.at, border)", "found.at, not border)", AUDIO_TUNED),
        ("config/protocols/uci/paper.yaml", "held_out: 0.2", "held_out: 0.3", UCI_TRAINED),
        ("config/protocols/uci/paper.yaml", "tolerance: 0.1", "tolerance: 0.2", UCI_TUNED),
        (
            "workflow/scripts/train_synthetic.py",
            "with job(snakemake)",
            "with (job(snakemake))",
            set(),
        ),
        ("config/config.yaml", "learning_rate: 0.001", "learning_rate: 0.002", TRAINED),
        ("config/protocols/synthetic/paper.yaml", "beta: 1.0", "beta: 2.0", TRAINED),
        (
            "config/protocols/synthetic/paper.yaml",
            "selected_by: distance",
            "selected_by: loss",
            SELECTED,
        ),
        (
            "config/protocols/synthetic/paper.yaml",
            "sampler: exact",
            "sampler: published",
            TRANSPORTED,
        ),
        ("config/protocols/synthetic/relaxed.yaml", "epsilon: 0.1", "epsilon: 0.2", set()),
        ("config/smoke.yaml", "h: [0.1, 0.2, 0.5]", "h: [0.1, 0.2]", GRID | PROPERTIES),
        ("config/config.yaml", "negligible: 0.001", "negligible: 0.002", PROPERTIES),
        (
            "src/vwta/paper/theory/convex_sets.py",
            "ANGLES = 128",
            "ANGLES = 64",
            PROPERTIES | PROOFS,
        ),
        ("config/config.yaml", "set: disc", "set: quadrant", {"figure proof_partition"}),
        ("config/config.yaml", "tolerance: 0.01", "tolerance: 0.02", TUNED | AUDIO_TUNED),
        (
            "src/vwta/paper/figures/against_K.py",
            "capsize=1.5",
            "capsize=2",
            AGAINST_K | {"figure tuned"},
        ),
        (
            "src/vwta/paper/figures/training_curves.py",
            "MaxNLocator(nbins=5",
            "MaxNLocator(nbins=4",
            CURVES & DRAWN | AUDIO_CURVES,
        ),
        ("src/vwta/nn/seldnet.py", "nn.MaxPool2d(", "nn.AvgPool2d(", AUDIO_TRAINED),
        ("config/config.yaml", "speech: 5", "speech: 6", AUDIO_TRAINED),
        ("config/smoke.yaml", "h: [0.1, 0.3, 1.0]", "h: [0.1, 0.3]", AUDIO_MEASURED),
        (
            "config/protocols/audio/paper.yaml",
            "selected_by: distance",
            "selected_by: loss",
            AUDIO_PREDICTED
            - {name for name in AUDIO_SEEN if name.endswith(("_literal", "_released"))},
        ),
        (
            "config/smoke.yaml",
            "every: 8",
            "every: 4",
            {"make_scenes", "features_audio"} | AUDIO_TRAINED,
        ),
        ("config/claims.yaml", "[protein, year]", "[year, protein]", {"judge"}),
        ("src/vwta/paper/page/assets/page.css", "margin: 0", "margin: 1px", {"report_page"}),
        ("src/vwta/paper/page/score.py", '"All studies"', '"Together"', {"report_page"}),
        ("config/smoke.yaml", "targets: 20 ", "targets: 30 ", {"export_explorer"}),
    ],
)
def test_a_change_runs_what_depends_on_it(
    jobs: Jobs,
    edit: Callable[[str, str, str], None],
    name: str,
    old: str,
    new: str,
    again: set[str],
) -> None:
    edit(name, old, new)
    verdicts = {"judge"} if again & TOLD else set()
    page = {"report_page"} if again else set()  # which shows all there is
    assert jobs() == again | verdicts | page


def test_edits_without_effect_run_nothing(
    jobs: Jobs, edit: Callable[[str, str, str], None]
) -> None:
    edit("README.md", "# Readme", "# Read me")
    edit("src/vwta/__init__.py", '"""Conditional', '"""New conditional')
    edit("src/vwta/nn/losses.py", "import torch\n", "import torch  # a comment\n")
    edit("src/vwta/io/provenance.py", "PACKAGES = (", 'PACKAGES = ("pyarrow", ')
    assert jobs() == set()


def trained(answer: str) -> set[str]:
    """Networks that the trainings of a dry run would make."""
    outputs = re.findall(r"^rule train\w+:\n(?: {4}input.*\n)? {4}output: (.*)$", answer, re.M)
    return {path for line in outputs for path in line.split(", ")}


def own_networks(ending: str) -> set[str]:
    """Those of the protocols of the synthetic study that train some."""
    return {
        f"results/smoke/synthetic/{protocol}/single_gaussian/{model}/{ending}.safetensors"
        for protocol in ("paper", "released")
        for model in ("wta", "hist", "mdn")
    }


def test_a_new_seed_trains_itself_alone(
    ask: Callable[..., str], edit: Callable[[str, str, str], None]
) -> None:
    edit("config/smoke.yaml", "seeds: [1234]", "seeds: [1234, 1244]")
    answer = ask()
    assert named(answer) == EVALUATED | CURVES | PROPERTIES | {
        "train_synthetic",
        "judge",
        "report_page",
    }
    assert trained(answer) == own_networks("K9/seed1244")


def test_a_new_K_trains_itself_alone(
    ask: Callable[..., str], edit: Callable[[str, str, str], None]
) -> None:
    edit("config/smoke.yaml", "  K: [9]\n  seeds", "  K: [9, 16]\n  seeds")
    answer = ask()
    assert named(answer) == NEW_K | {"judge", "report_page"}
    assert trained(answer) == own_networks("K16/seed1234")


@pytest.mark.parametrize(
    ("key", "values", "ending"),
    [("seeds", "[1234, 1244]", "K9/seed1244"), ("K", "[9, 16]", "K16/seed1234")],
)
def test_a_new_seed_or_K_of_the_audio_study_trains_itself_alone(
    ask: Callable[..., str],
    edit: Callable[[str, str, str], None],
    key: str,
    values: str,
    ending: str,
) -> None:
    edit("config/smoke.yaml", "  K: [9]\n  training: { epochs: 2", "  training: { epochs: 2")
    own = {"K": "[9]", key: values}
    lines = "".join(f"  {name}: {value}\n" for name, value in own.items())
    edit("config/smoke.yaml", "  overlaps: [1]\n", f"  overlaps: [1]\n{lines}")
    answer = ask()
    assert trained(answer) == {
        f"results/smoke/audio/paper/synthetic/{model}/{ending}.safetensors"
        for model in ("wta", "hist", "m_vmf")
    } | {
        f"results/smoke/audio/released/synthetic/wta/{ending}.safetensors"
        for _ in range(key == "seeds")  # which runs K = 9 alone
    }
    assert named(answer) <= AUDIO_TRAINED | {"judge", "report_page"}
    assert {"train_audio", "evaluate_audio"} | AUDIO_DRAWN <= named(answer)


def test_a_run_can_end_at_a_rule_and_ask_for_more(
    ask: Callable[..., str], jobs: Jobs, edit: Callable[[str, str, str], None]
) -> None:
    edit("config/smoke.yaml", "tier: smoke", "tier: other")
    assert jobs("--until", "train_synthetic") == {"generate_synthetic", "train_synthetic"}
    network = f"results/other/{RUN}/seed1234.safetensors"
    assert ", mem_mb=4321" in ask("--set-resources", "train_synthetic:mem_mb=4321", "--", network)
    assert ", mem_mb=4321" not in ask("--set-resources", "train_uci:mem_mb=4321", "--", network)


def test_seeds_are_trained_at_once_and_others_later(
    tree: Path, jobs: Jobs, edit: Callable[[str, str, str], None]
) -> None:
    """Networks of a stack stay when a seed is added, and when that one has been trained alone."""
    folder = f"results/stack/{RUN}"
    files = [f"{folder}/seed{seed}.safetensors" for seed in (1234, 1244, 1245)]
    edit("config/smoke.yaml", "tier: smoke", "tier: stack")
    edit("config/smoke.yaml", "seeds: [1234]", "seeds: [1234, 1244]")
    assert jobs("--", files[0]) == {"generate_synthetic", "train_synthetic_stack"}
    run(tree, "--", files[0])
    assert jobs("--", *files[:2]) == set()
    edit("config/smoke.yaml", "[1234, 1244]", "[1234, 1244, 1245]")
    assert jobs("--", *files) == {"train_synthetic"}
    run(tree, "--", *files)
    assert jobs("--", *files) == set()
    records = [read_tensors(tree / file)[1]["provenance"] for file in files]
    assert [(record["seed"], record["stack"]) for record in records] == [
        (1234, 2),
        (1244, 2),
        (1245, 1),
    ]
    edit("src/vwta/nn/losses.py", "squares.argmin(-1)", "squares.argmin(dim=-1)")
    assert jobs("--", *files) == {"train_synthetic_stack"}


@pytest.mark.parametrize(
    ("target", "rules"),
    [
        (
            "synthetic",
            {"synthetic", "generate_synthetic", "train_synthetic"}
            | (MEASURED | CURVES) - DRAWN - TABLES - {"table_unused"},
        ),
        (
            "audio",
            {"audio", "make_scenes", "features_audio", "collect_curves audio"}
            | (AUDIO_TRAINED - AUDIO_DRAWN - AUDIO_SEEN - AUDIO_CURVES - {"show_audio"}),
        ),
        (f"results/other/{RUN}/seed1234.safetensors", {"generate_synthetic", "train_synthetic"}),
        ("download", {"download"}),  # the data set of the tier comes with a package
        ("prepare", {"prepare"} | PREPARED),
        ("train", {"train"} | STAGE_TRAIN),
        ("tune", {"tune"} | STAGE_TUNE),
        ("metrics", {"metrics"} | STAGE_METRICS),
        (
            "figures",
            {"figures", "figure_audio", "figure_uci", "show_audio", "predict_synthetic"}
            | STAGE_METRICS - {"measure_sizes_uci"}
            | DRAWN
            | AUDIO_SEEN
            | AUDIO_CURVES
            | UCI_ENSEMBLES,
        ),
        ("tables", {"tables", "table_audio", "table_uci"} | TABLES | {"table_unused"} | TABULATED),
    ],
)
def test_stages_and_files_can_be_asked_for(
    jobs: Jobs, edit: Callable[[str, str, str], None], target: str, rules: set[str]
) -> None:
    edit("config/smoke.yaml", "tier: smoke", "tier: other")
    assert jobs("--", target) == rules
