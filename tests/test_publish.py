"""What goes below docs/results: the metrics, the figures, and where they come from."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
import torch

from vwta.metrics import tidy
from vwta.storage import read_table, write_table, write_tensors

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def publish() -> ModuleType:
    specification = importlib.util.spec_from_file_location("publish", ROOT / "workflow/publish.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def record(revision: str, data: str | None = None) -> dict[str, object]:
    packages = {"torch": "2", "numpy": "1"}
    return {"revision": revision, "packages": packages, "processor": "P", "data": data}


def test_small_outcome_is_published(
    publish: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = Path("results/full")
    table = tidy([{"metric": "nll", "value": 0.5, "n": 10}], study="synthetic")
    training = {"provenance": {**record("abc", "hash"), "trainings": [record("def")]}}
    (results / "synthetic/metrics").mkdir(parents=True)
    (results / "figures").mkdir()
    write_table(results / "synthetic/metrics/emd.parquet", table, {"parts": {"a": training}})
    (results / "figures/a.png").write_bytes(b"picture")
    (results / "figures/a.pdf").write_bytes(b"picture")
    for seed, seconds in ((1, 1800.0), (2, 3600.0), (3, None)):
        path = results / f"synthetic/paper/moons/wta/K9/seed{seed}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        facts = {"provenance": {"cpu_seconds": seconds} if seconds else {}}
        write_tensors(path, {"a": torch.zeros(1)}, facts)
    part = results / "synthetic/paper/moons/wta/K9/emd_seed1.parquet"
    write_table(part, table, {"provenance": {"cpu_seconds": 36.0}})
    publish.main("full", "synthetic")
    place = Path("docs/results/synthetic")
    names = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert names == {"emd.parquet", "figures/a.png", "provenance.json"}
    assert read_table(place / "emd.parquet").equals(table)
    facts = json.loads((place / "provenance.json").read_text())
    assert facts["revision"] == ["abc", "def"]
    assert facts["packages"] == ["numpy 1, torch 2"]
    assert facts["data"] == ["hash"]
    assert facts["cost"] == {
        "emd": {"files": 1, "cpu_hours": 0.01, "unknown": 0},
        "wta network": {"files": 3, "cpu_hours": 1.5, "unknown": 1},
    }


def test_nothing_to_publish_is_explained(
    publish: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"has no tables\. Remedy: make reproduce TIER=full"):
        publish.main("full", "synthetic")
    assert not Path("docs").exists()
