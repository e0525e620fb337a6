"""The whole paper from an empty folder: plain `snakemake` at the full tier, with reduced sizes.

All files come over https from their own addresses, for which a proxy on this machine answers. The
run ends with every figure and table of the paper, locally, and through Slurm with a GPU.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from internet import internet, publish
from loading import ROOT, snakemake
from slurm_jobs import Submission, pretend_gpu, submissions
from snakemake.utils import update_config
from warm import INTERPRETER, python

from vwta.io.storage import read_table

REDUCED, NARROWER = (ROOT / f"tests/cluster/{name}.yaml" for name in ("reduced", "narrower"))
# What each figure and table of the paper is called here.
FIGURES = {
    "1": ["dirac_limits_paper"],
    "2": ["qualitative_paper"],
    "3": ["quantitative_paper"],
    "4": ["nll_against_h_paper_K16"],
    "5": ["proof_radius"],
    "6": ["proof_partition"],
    "7": ["quantitative_std_paper"],
    "8 to 11": [f"nll_against_h_paper_K{K}" for K in (9, 16, 25, 49)],
    "12": ["audio_nll_against_h"],
    "13": ["audio_scenes"],
}
TABLES = {
    "1": ["uci_main_paper"],
    "2": ["audio_main"],
    "3": ["uci_sizes"],
    "4": ["uci_nll_paper"],
    "5": ["uci_rmse_paper"],
    "6": ["audio_quantisation"],
}
MOVED = ["naval"]  # data sets whose first address does not know them any more


class Outcome(NamedTuple):
    """A folder in which the workflow has run, and the addresses that it asked for."""

    tree: Path
    seen: list[str]


def make_tree(tree: Path, narrower: bool = False) -> Path:
    """Reduces the configuration of a copy of the repository, in which nothing was downloaded."""
    config = yaml.safe_load((tree / "config/config.yaml").read_text())
    update_config(config, yaml.safe_load(REDUCED.read_text()))
    if narrower:
        update_config(config, yaml.safe_load(NARROWER.read_text()))
        for study in ("synthetic", "audio"):
            own = config[study]["protocols"]
            config[study]["protocols"] = {"paper": own["paper"]}
    (tree / "config/config.yaml").write_text(yaml.safe_dump(config))
    code = tree / "src/vwta/paper/uci/datasets.py"  # whose split of year is that of its authors
    code.write_text(code.read_text().replace("YEAR_TRAIN = 463_715", "YEAR_TRAIN = 50"))
    return tree


@pytest.fixture(scope="module")
def local(
    asked: None, tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]
) -> Outcome:
    """After plain `snakemake --cores 2`."""
    if shutil.which("openssl") is None:
        pytest.skip("not tested: no openssl to make a certificate with")
    tree = make_tree(copy_repository(tmp_path_factory.mktemp("local") / "tree"))
    folder = tmp_path_factory.mktemp("internet")
    with internet(publish(tree, folder, MOVED), folder) as server:
        done = snakemake(tree, "--cores", "2", **server.variables)
        assert done.returncode == 0, done.stdout[-8000:]
        return Outcome(tree, server.seen)


def files(names: Mapping[str, list[str]], folder: str, *suffixes: str) -> set[Path]:
    """Files of figures or tables of the paper."""
    stems = [name for own in names.values() for name in own]
    return {
        Path("results/full", folder, f"{stem}{suffix}") for stem in stems for suffix in suffixes
    }


PAPER = files(FIGURES, "figures", ".png", ".pdf") | files(TABLES, "tables", ".md", ".csv", ".tex")


def test_every_figure_and_table_of_the_paper_is_made(local: Outcome) -> None:
    assert {path for path in PAPER if not (local.tree / path).exists()} == set()
    again = snakemake(local.tree, "--dry-run")  # the network is gone
    assert "Nothing to be done" in again.stdout, again.stdout[-4000:]


def test_all_data_come_from_their_own_addresses(local: Outcome) -> None:
    table = yaml.safe_load((ROOT / "config/data.yaml").read_text())
    names = yaml.safe_load((local.tree / "config/config.yaml").read_text())["uci"]["datasets"]
    addresses = [[s["url"] for s in table["uci"][name]["file"]["sources"]] for name in names]
    of_uci = [
        url
        for name, own in zip(names, addresses, strict=True)
        for url in own[: 1 + (name in MOVED)]
    ]
    record = table["audio"]["ansyn"]["record"]
    assert len(names) == 10
    assert local.seen.count(record) == 1
    archives = [url for url in local.seen if url.startswith("https://zenodo.org/records/")]
    assert len(archives) == len(set(archives)) == 9
    assert set(of_uci) < set(local.seen)
    assert len(local.seen) == len(of_uci) + 1 + 9 + 3 + 2  # record, archives, moved ones, package


def test_tables_have_numbers_of_every_data_set(local: Outcome) -> None:
    found = read_table(local.tree / "results/full/uci/metrics/evaluation.parquet")
    nll = found[(found["metric"] == "nll") & (found["method"] == "v_wta")]
    assert len(set(nll["dataset"])) == 10
    text = (local.tree / "results/full/tables/uci_nll_paper.md").read_text()
    assert "no data" not in text


@pytest.fixture(scope="module")
def through_slurm(
    ended: Path, tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]
) -> tuple[Path, list[Submission]]:
    """After `snakemake` with the profile for Slurm, whose node has a GPU; and what was submitted.

    Snakemake and all jobs run in a warm Python, on the node too, and `cuda` is the CPU.
    """
    place = tmp_path_factory.mktemp("slurm")
    tree = make_tree(pretend_gpu(copy_repository(place / "tree")), narrower=True)
    interpreter = place / "python"
    interpreter.write_text(f'#!/bin/sh\nexec {" ".join(python())} "$@"\n')
    interpreter.chmod(0o755)
    folder = tmp_path_factory.mktemp("internet")
    options = ["--workflow-profile", "profiles/slurm", "--local-cores", "1"]
    options += ["--slurm-init-seconds-before-status-checks", "3"]
    before = submissions()
    with internet(publish(tree, folder), folder) as server:
        variables = {**server.variables, INTERPRETER: str(interpreter)}
        done = snakemake(tree, *options, **variables)
    assert done.returncode == 0, done.stdout[-8000:]
    return tree, [job for job in submissions() if job not in before]


def test_the_paper_is_made_through_slurm(through_slurm: tuple[Path, list[Submission]]) -> None:
    """Figures 10 and 11 need K = 25 and 49, which take too long here."""
    tree, _ = through_slurm
    missing = {path for path in PAPER if not (tree / path).exists()}
    assert missing == {path for path in PAPER if path.stem.endswith(("_K25", "_K49"))}


def test_trainings_of_the_paper_ask_slurm_for_a_gpu(
    through_slurm: tuple[Path, list[Submission]],
) -> None:
    _, submitted = through_slurm
    assert {job.state for job in submitted} == {"COMPLETED"}
    assert {job.gpu for job in submitted} == {True, False}
    for job in submitted:
        trains = "train_" in job.asked or "predict_audio" in job.asked
        assert (job.gpu, job.partition) == ((True, "gpu") if trains else (False, "cpu")), job
