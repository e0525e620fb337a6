"""The comparison of speed with other libraries, and with plain ways to sample and to train."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from loading import ROOT, load_module

FOLDER = ROOT / "benchmarks/speed"
MODULES = ["aims", "cells", "densities", "distances", "job", "picture", "table"]
MODULES += ["reference", "reference_training"]


@pytest.fixture(autouse=True, scope="module")
def path() -> Iterator[None]:
    """Its modules find each other by their names."""
    folders = [str(FOLDER), str(FOLDER.parent)]
    sys.path[:0] = folders
    try:
        yield
    finally:
        for folder in folders:
            sys.path.remove(folder)
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    return pd.read_csv(ROOT / "docs/speed/speed.csv")


@pytest.fixture(scope="module")
def run(path: None) -> ModuleType:
    for name in ("lap", "multivoro", "shapely", "cv2", "ot", "zuko"):
        pytest.importorskip(name)
    return load_module(FOLDER / "run.py")


def test_pages_show_the_published_run(published: pd.DataFrame) -> None:
    table = load_module(FOLDER / "table.py")
    assert table.summary(published) in (ROOT / "README.md").read_text()
    page = (ROOT / "docs/speed.md").read_text()
    assert table.details(published) in page
    aims = load_module(FOLDER / "aims.py")
    assert aims.shown(pd.read_csv(ROOT / "docs/speed/aims.csv")) in page


def test_slower_by_more_than_a_factor_of_two_is_what_the_page_says(published: pd.DataFrame) -> None:
    """At any size."""
    worst = load_module(FOLDER / "table.py").worst_ratios(published)
    slower = set(worst[worst > 2].index)
    assert slower == {"plane", "planes", "sphere", "space", "space5", "space10"}


def test_published_aims_are_met() -> None:
    aims = pd.read_csv(ROOT / "docs/speed/aims.csv")
    assert (aims["megabytes"] <= aims["most_megabytes"]).all()
    assert (aims["seconds"] <= aims["most_seconds"].fillna(np.inf)).all()


def test_tables_say_who_is_faster_and_how_costs_grow() -> None:
    table = load_module(FOLDER / "table.py")
    common = {"job": "line", "title": "sums", "space": "d = 1", "size": "K"}
    sides = {"vwta": (1.0, 4.0, 1e-7), "other": (2.0, 3.0, np.nan)}
    frame = pd.DataFrame(
        {**common, "n": n, "side": side, "seconds": seconds, "error": error}
        for side, (few, many, error) in sides.items()
        for n, seconds in ((10, few), (1000, many))
    )
    assert table.exponent(frame[frame["side"] == "vwta"]) == pytest.approx(np.log(4) / np.log(100))
    shown = "| sums, d = 1 | 4,000 | **3,000** other | 1e-7, reference | 1.3 |"
    assert shown in table.summary(frame)
    assert "| vwta | **1,000** | 4,000 | K^0.3 | 1e-7 |" in table.details(frame)
    shown = [table.milliseconds(x) for x in (0.0000123, 0.00123, 0.0099, 0.0123, 1.234)]
    assert shown == ["0.012", "1.2", "9.9", "12", "1,234"]


def test_memory_of_a_job_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    aims = load_module(FOLDER / "aims.py")
    megabytes = aims._peak() + 100  # at least 100 more than there ever was
    done = []

    def run(law: object) -> None:
        if done:
            np.ones(int(megabytes * 2**20 / 8))
        done.append(law)

    small = aims.AIMS["cells_plane"]._replace(atoms=10, run=run)
    monkeypatch.setitem(aims.AIMS, "small", small)
    seconds, found = aims._run("small")
    assert 99 < found < megabytes + 10
    assert 0 < seconds < 60


@pytest.mark.parametrize(
    "name",
    [
        "line",
        "plane",
        "planes",
        "sphere",
        "space",
        "space5",
        "space10",
        "laws",
        "density_sphere",
        "density_space",
        "density_space5",
        "density_space10",
        "uncut",
        "distances",
    ],
)
def test_sides_agree_with_the_truth(run: ModuleType, name: str) -> None:
    """Within what each side can do: draws and few directions are estimates."""
    job = run.JOBS[name]
    data = job.data(12)
    place, truth = job.truth(data)
    limits = {"space5": 0.2, "space10": 0.3, "laws": 1e-4, "uncut": 1e-5}
    limits |= {"density_sphere": 1e-10, "density_space5": 0.05, "density_space10": 0.3}
    for side, function in job.sides.items():
        limit = {"random directions": 2.0, "OpenCV": 1e-4}.get(side, limits.get(name, 1e-11))
        assert np.abs(function(data)[place] - truth).max() < limit, side


def test_a_run_writes_tables_and_figure(run: ModuleType, tmp_path: Path) -> None:
    options = ["--output", str(tmp_path), "--jobs", "line", "plane", "--largest", "100"]
    run.main([*options, "--no-aims"])
    found = pd.read_csv(tmp_path / "speed.csv")
    assert set(found["n"]) == {10, 100}
    assert (found["seconds"] > 0).all()
    assert (found["error"] < 1e-12).all()
    assert (tmp_path / "speed.png").stat().st_size > 10_000


def test_plain_ways_run(capsys: pytest.CaptureFixture[str]) -> None:
    load_module(FOLDER.parent / "plain.py").main(["--quick"])
    lines = capsys.readouterr().out.splitlines()
    ratios = [
        word for line in lines for word in line.split() if word[:1].isdigit() and word[-1] == "x"
    ]
    assert len(ratios) == 5
