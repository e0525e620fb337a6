"""The graph of rules: what is left out, and that the committed picture is of these rules."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from loading import ROOT, load_module

DOT = """digraph snakemake_dag {
	0[label = "all", color = "0.00 0.6 0.85", style="rounded"];
	1[label = "figure_cells", color = "0.00 0.6 0.85", style="rounded"];
	2[label = "train_synthetic_0", color = "0.00 0.6 0.85", style="rounded"];
	3[label = "generate_synthetic", color = "0.00 0.6 0.85", style="rounded"];
	1 -> 0
	2 -> 1
	3 -> 2
	3 -> 1
}
"""


@pytest.fixture(scope="module")
def graph() -> ModuleType:
    return load_module("workflow/graph.py")


def test_arrows_are_merged_and_reduced(graph: ModuleType) -> None:
    arrows = graph.merged(graph.read(DOT))
    chain = {("generate_synthetic", "train_synthetic_*"), ("train_synthetic_*", "figure_*")}
    assert arrows == chain | {("generate_synthetic", "figure_*")}
    assert graph.reduced(arrows) == chain
    columns = {rule: column for rule, (column, _) in graph.places(chain).items()}
    assert columns == {"generate_synthetic": 0, "train_synthetic_*": 1, "figure_*": 2}


def test_lanes(graph: ModuleType) -> None:
    assert graph.kind("figure_audio_paper") == "figure_audio_*"
    found = {rule: graph.lane(rule) for rule in ("make_scenes", "table_uci", "judge", "figure_*")}
    assert list(found.values()) == ["audio", "uci", "all studies", "synthetic"]


def test_the_committed_picture_is_of_these_rules(tmp_path: Path) -> None:
    command = [sys.executable, "workflow/graph.py", str(tmp_path / "rules.svg")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
    committed = (ROOT / "docs/rules.svg").read_text()
    assert (tmp_path / "rules.svg").read_text() == committed, "outdated. Remedy: make graph"
