"""Rules that fetch and prepare data: a data set that could not be downloaded stops no other."""

import hashlib
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from loading import environment
from warm import python

from vwta.io.storage import read_tensors
from vwta.paper.uci.regression import matrix_sha256

MATRIX = np.arange(70.0).reshape(5, 14) / 8


def snakemake(tree: Path, *targets: str, mirror: str = "") -> subprocess.CompletedProcess[str]:
    command = [*python(), "-m", "snakemake", "--configfile", "config/smoke.yaml", *targets]
    env = environment(tree, VWTA_MIRROR=mirror)
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)


def to_run(tree: Path, target: str) -> set[str]:
    done = snakemake(tree, "--dry-run", "--quiet", "reason", "--", target)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^(\w+) +\d+$", done.stdout, re.MULTILINE)) - {"total"}


def edit(tree: Path, name: str, **changes: Any) -> None:
    """Changes the entry of a data set in the table of files."""
    path = tree / "config/data.yaml"
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    file = changes.pop("file", {})
    table["uci"][name] |= changes
    table["uci"][name]["file"] |= file
    path.write_text(yaml.safe_dump(table), encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path, copy_repository: Callable[[Path], Path]) -> Path:
    """A copy of the repository that takes boston from a mirror, and yacht from nowhere."""
    tree = copy_repository(tmp_path / "tree")
    housing = tmp_path / "mirror/uci/housing.data"
    housing.parent.mkdir(parents=True)
    np.savetxt(housing, MATRIX)
    checksum = f"sha256:{hashlib.sha256(housing.read_bytes()).hexdigest()}"
    edit(tree, "boston", rows=5, matrix=matrix_sha256(MATRIX), file={"checksums": [checksum]})
    edit(tree, "yacht", file={"sources": [{"url": "https://127.0.0.1:9/yacht.data"}]})
    return tree


def test_fetch_and_prepare(tree: Path, tmp_path: Path) -> None:
    names = ["boston", "yacht", "diabetes"]
    files = {name: tree / f"data/uci/{name}.safetensors" for name in names}
    targets = [str(path.relative_to(tree)) for path in files.values()]
    done = snakemake(tree, "--cores", "2", "--", *targets, mirror=str(tmp_path / "mirror"))
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert [name for name, path in files.items() if path.exists()] == ["boston", "diabetes"], said
    assert "uci/yacht_hydrodynamics.data could not be downloaded. Tried:" in said
    assert "https://127.0.0.1:9/yacht.data: Connection refused" in said
    assert "Traceback" not in said

    tensors, facts = read_tensors(files["boston"])
    assert torch.equal(tensors["inputs"], torch.from_numpy(MATRIX[:, :13]))
    assert torch.equal(tensors["target"], torch.from_numpy(MATRIX[:, 13]))
    assert facts["columns"][:2] == ["CRIM", "ZN"]
    assert (facts["label"], facts["discrete"]) == ("MEDV", False)
    record = facts["provenance"]
    assert record["dataset"] == "boston"
    assert {"revision", "code", "packages"} <= record.keys()
    assert record["data"]["matrix"] == matrix_sha256(MATRIX)

    target = targets[0]
    assert to_run(tree, target) == set(), "a mirror that is gone changes nothing"
    edit(tree, "boston", file={"sources": [{"url": "https://127.0.0.1:9/new"}]})
    assert to_run(tree, target) == set(), "nor does another address"
    edit(tree, "boston", file={"checksums": [f"sha256:{'0' * 64}"]})
    assert to_run(tree, target) == {"fetch_file", "prepare_uci"}


OWN = """
uci:
  protocols: [paper]
  models: [wta]
  datasets:
    - { csv: houses.csv, target: price }
    - { csv: mine/rents.csv, target: rent, splits: 3 }
    - yacht
"""


def test_own_tables_and_a_set_that_cannot_be_had(tree: Path) -> None:
    """A bad table stops before it is trained on; the run after the next one does without yacht."""
    (tree / "own.yaml").write_text(OWN, encoding="utf-8")
    (tree / "mine").mkdir()
    rows = [f"{i % 7},{i},{i % 7 + 0.1 * i}" for i in range(40)]
    (tree / "houses.csv").write_text("\n".join(["rooms,area,price", *rows]), encoding="utf-8")
    rents = tree / "mine/rents.csv"
    rents.write_text("\n".join(["area,rent", *(f"{i},{2 * i}" for i in range(20)), "3,cheap"]))

    def run() -> tuple[int, str]:
        done = snakemake(tree, "own.yaml", "--cores", "2", "--", "uci_tables")
        return done.returncode, done.stdout + done.stderr

    status, said = run()
    assert status != 0
    assert "mine/rents.csv, line 22, column 'rent': 'cheap' is not a finite number. Remedy:" in said
    assert "uci/yacht_hydrodynamics.data could not be downloaded. Tried:" in said
    assert "Until it is there, the next runs continue without it." in said
    assert "Traceback" not in said
    study = tree / "results/smoke/uci"
    assert not (study / "paper/rents").exists()
    assert (study / "paper/houses/evaluation.parquet").exists()

    rents.write_text(rents.read_text().replace("cheap", "6.5"))
    status, said = run()
    assert status == 0, said
    assert "The UCI study continues without yacht, which could not be downloaded" in said
    table = (tree / "results/smoke/tables/uci_nll_paper.md").read_text(encoding="utf-8")
    assert re.search(r"\| Yacht \| printed .*\n.* no data", table)
    assert "Boston" not in table
    assert re.search(r"\| rents \| ours \|", table)
    with zipfile.ZipFile(study / "paper/rents/wta/K5/splits.zip") as archive:
        assert archive.namelist() == [f"split{split}.safetensors" for split in range(3)]
    assert to_run(tree, "data/uci/yacht.safetensors") == {"fetch_file", "prepare_uci"}


def test_bad_table_stops_before_any_job(tree: Path) -> None:
    edit(tree, "boston", file={"checksums": ["1234"]})
    done = snakemake(tree, "--dry-run", "--", "uci_data")
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "The table of files config/data.yaml cannot be used:" in said
    assert "uci.boston.file.checksums[0] = '1234': must be a text that matches" in said
    assert "Traceback" not in said
