"""What goes below docs/results: the metrics, the figures, and where they come from."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from vwta.metrics import tidy
from vwta.storage import read_table, write_table

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
    (results / "synthetic/weights.safetensors").write_bytes(b"much")
    (results / "figures/a.png").write_bytes(b"picture")
    (results / "figures/a.pdf").write_bytes(b"picture")
    for name, end in (("train/a.log", "1800.0"), ("train/b.log", "3600.0"), ("collect.log", "36")):
        log = results / "logs" / name
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"2026 epoch 1\n2026 done, {end} s of CPU time\n")
    (results / "logs/train/c.log").write_text("killed")
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
        "collect": {"jobs": 1, "cpu_hours": 0.01},
        "train": {"jobs": 2, "cpu_hours": 1.5},
    }


def test_nothing_to_publish_is_explained(
    publish: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"has no tables\. Remedy: make reproduce TIER=full"):
        publish.main("full", "synthetic")
    assert not Path("docs").exists()
