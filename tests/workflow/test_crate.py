"""RO-Crate metadata of published results: complete, true to the files, and read by the package."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from loading import ROOT

from vwta.io.errors import DataError
from vwta.io.storage import sha256
from vwta.workflow.crate import METADATA, differing, write_crate
from vwta.workflow.verify import show, verify

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


def test_files_that_are_no_longer_described_are_named(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "results"
    shutil.copytree(folder, place)
    assert differing(place) == []
    assert f"{place / METADATA}: stale" not in show(verify([place], ROOT))
    gone, changed, new = (place / "uci" / name for name in ("sizes.parquet", "README.md", "new"))
    gone.unlink()
    changed.write_text("other")
    new.write_text("new")
    assert differing(place) == ["uci/README.md", "uci/new", "uci/sizes.parquet"]
    said = show(verify([place], ROOT)).splitlines()
    line = said[said.index(f"{place / METADATA}: stale") + 1]
    assert line.endswith("(uci/README.md and 2 more). Remedy: python -m vwta.workflow.crate")


def test_the_published_metadata_can_be_read() -> None:
    """They may be older than results that were put there by hand: `make verify` says so."""
    place = ROOT / "docs/results"
    crate = ROCrate(place)
    listed = {entity.id for entity in crate.data_entities if not entity.id.startswith("http")}
    assert {f"{study}/provenance.json" for study in ("synthetic", "uci", "audio")} <= listed
    assert {action.id for action in crate.root_dataset["mentions"]} >= {"#synthetic", "#uci"}
    if names := differing(place):
        pytest.skip(f"older than {len(names)} files, such as {names[0]}; `make publish` renews it")


def test_nothing_published_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no published results\. Remedy: make publish"):
        write_crate(tmp_path, ROOT)
