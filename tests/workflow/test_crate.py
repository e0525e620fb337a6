"""RO-Crate metadata of published results: complete, true to the files, and read by the package."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from loading import ROOT

from vwta.io.errors import DataError
from vwta.io.storage import sha256
from vwta.workflow.crate import METADATA, write_crate

ROCrate = pytest.importorskip("rocrate.rocrate").ROCrate


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published UCI study, with its metadata."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(ROOT / "docs/results/uci", folder / "uci")
    assert write_crate(folder, ROOT) == folder / METADATA
    return folder


@pytest.fixture(scope="module")
def crate(folder: Path) -> Any:
    return ROCrate(folder)


def test_every_published_file_is_listed_with_its_hash(folder: Path, crate: Any) -> None:
    files = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    del files[METADATA]
    listed = {file.id: file for file in crate.data_entities if not file.id.startswith("http")}
    assert listed.keys() == files.keys()
    for name, file in listed.items():
        assert file["sha256"] == sha256(files[name])
        assert int(file["contentSize"]) == files[name].stat().st_size


def test_an_action_has_inputs_code_and_outputs(folder: Path, crate: Any) -> None:
    (action,) = crate.root_dataset["mentions"]
    assert action.type == "CreateAction"
    record = json.loads((folder / "uci/provenance.json").read_text())
    assert [code["version"] for code in action["instrument"]] == record["revision"]
    assert {file.id for file in action["result"]} >= {"uci/evaluation.parquet"}
    boston = next(file for file in action["object"] if file["name"] == "boston")
    assert boston.id.startswith("https://archive.ics.uci.edu/")
    assert boston["sha256"].startswith("baadf729")
    assert action["startTime"] < action["endTime"] == crate.root_dataset["datePublished"]


def test_the_same_results_have_the_same_metadata(folder: Path) -> None:
    first = (folder / METADATA).read_bytes()
    assert write_crate(folder, ROOT).read_bytes() == first


def test_nothing_published_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no published results\. Remedy: make publish"):
        write_crate(tmp_path, ROOT)
