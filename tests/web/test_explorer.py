"""The explorer of a model in a real browser: densities are the library's, and nothing is loaded."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bimodal import two_modes
from browsing import FOUND, NAMES, Browser

from vwta import VoronoiRegressor
from vwta.cli.main import main
from vwta.estimator.columns import Numbers
from vwta.estimator.exploring import _values, explore
from vwta.estimator.predicted import masses_of

QUICK = {"n_hypotheses": 5, "steps": 40, "hidden": (16,), "random_state": 0, "refit": False}
in_browser = pytest.mark.skipif(FOUND is None, reason=f"no browser on the PATH: {', '.join(NAMES)}")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    X, y = two_modes(200, seed=0)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": 1.0 * np.arange(200), "price": y})
    table["kind"] = np.where(X[:, 1] > 0, "house", "</script><b>flat")
    table["rent"] = 1e-3 * (X[:, 1] + 0.3 * np.cos(np.arange(200)))
    return table


@pytest.fixture(scope="module")
def models(table: pd.DataFrame) -> dict[str, VoronoiRegressor]:
    X, pair = table[["a", "b", "c", "kind"]], table[["price", "rent"]]
    return {
        "line": VoronoiRegressor(head="voronoi", **QUICK).fit(X, table["price"]),
        "average": VoronoiRegressor(head="mdn", members=2, **QUICK).fit(X, table["price"]),
        "cells": VoronoiRegressor(head="voronoi", **QUICK).fit(X, pair),
        "box": VoronoiRegressor(head="voronoi", space="box", members=2, **QUICK).fit(X, pair),
        "kernels": VoronoiRegressor(head="kernel", **QUICK).fit(X, pair),
        "axes": VoronoiRegressor(head="mdn", members=2, **QUICK).fit(X, pair),
        "local": VoronoiRegressor(head="local", **QUICK).fit(X, pair),
        "continuous": VoronoiRegressor(head="continuous", members=2, **QUICK).fit(
            X, table["price"]
        ),
    }


def test_sliders_stay_within_the_training_values() -> None:
    """Two standard deviations below the mean of a skewed column nothing was seen."""
    values = np.exp(np.random.default_rng(0).normal(size=200))
    column = Numbers.learn("area", values)
    slider = _values(column, 9)
    assert slider[0] == values.min() > column.mean - 2 * column.scale
    assert slider[-1] == pytest.approx(column.mean + 2 * column.scale)


@in_browser
@pytest.mark.parametrize(
    "name", ["line", "average", "cells", "box", "kernels", "axes", "local", "continuous"]
)
def test_densities_are_the_library_s(
    models: dict[str, VoronoiRegressor], browser: Browser, tmp_path: Path, name: str
) -> None:
    page = tmp_path / "page.html"
    explore(models[name], page, ["kind", "a"])
    browser.window(1100)
    browser.open(page)
    browser.wait("vwta.model.drawn > 0")
    field = "document.forms.controls.elements.f1"
    browser.run(f"{field}.value = 3; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    browser.wait("vwta.model.drawn > 1")
    column = models[name].columns_.columns[0]
    a = _values(column, 31)[3]
    kind = browser.run("document.forms.controls.elements.f0.selectedOptions[0].textContent")
    others = {place: models[name].columns_.columns[place].median for place in (1, 2)}
    row = pd.DataFrame({"a": [a], "b": [others[1]], "c": [others[2]], "kind": [kind]})
    law = models[name].predict_dist(row)
    y = law.sample(20, random_state=0)  # (20, 1), or (20, 1, 2)
    points = json.dumps(y.reshape(20, -1).tolist())
    found = browser.run(f"{points}.map(y => vwta.model.lawAt(vwta.model.place()).log(...y))")
    assert np.allclose(found, law.log_prob(y)[:, 0], atol=2e-3)
    if law.targets.dimension == 1:  # circles stand at hypotheses, shaded by their masses
        one = browser.run(
            "(({atoms, masses}) => [atoms, masses])(vwta.model.lawAt(vwta.model.place()))"
        )
        drawn = [each.points[0, :, 0] * law.scale[0] + law.location[0] for each in law.atoms]
        masses = [masses_of(law, member)[0] for member in range(len(law.atoms))]
        assert np.allclose(one, [np.concatenate(drawn), np.concatenate(masses)], rtol=1e-4)
    cells = browser.run("[...document.querySelectorAll('#modes td')].map(e => e.textContent)")
    shown = [float(cell.removesuffix(" %")) for cell in cells if cell.endswith("%")]
    assert np.allclose(shown, 100 * law.scenarios()["probability"], atol=0.6)
    urls = {
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    }
    assert urls == {page.as_uri()}
    failing = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
    assert [event for event in browser.events if event["method"] in failing] == []


def test_policy_names_the_scripts(models: dict[str, VoronoiRegressor], tmp_path: Path) -> None:
    explore(models["line"], tmp_path / "page.html", ["kind"])
    text = (tmp_path / "page.html").read_text()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    assert len(hashes) == 2
    assert f"script-src {' '.join(hashes)};" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "<b>flat" not in text


def test_features_are_those_that_matter(
    models: dict[str, VoronoiRegressor], table: pd.DataFrame, tmp_path: Path
) -> None:
    only = VoronoiRegressor(head="kernel", **{**QUICK, "steps": 300})
    only.fit(table[["c", "a"]].to_numpy(), table["price"] * 0 + 10 * table["a"])
    explore(only, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    (data,) = re.findall(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert [each["name"] for each in json.loads(data)["features"]] == ["1", "0"]
    with pytest.raises(ValueError, match=r"feature 'size'\. Remedy: choose among 'a', 'b',"):
        explore(models["line"], tmp_path / "page.html", ["size"])
    with pytest.raises(ValueError, match="4 features"):
        explore(models["line"], tmp_path / "page.html", ["a", "b", "c", "kind"])


def test_command(
    models: dict[str, VoronoiRegressor], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models["cells"].save(tmp_path / "m.vwta")
    arguments = ["explore", str(tmp_path / "m.vwta"), "-o", str(tmp_path / "page.html")]
    assert main([*arguments, "--feature", "kind"]) == 0
    assert "Explorer: price, rent" in (tmp_path / "page.html").read_text()
    assert main([*arguments, "--feature", "size"]) == 1
    assert "m.vwta: feature 'size'. Remedy" in capsys.readouterr().err


def test_directions_have_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(50, 3))
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    model = VoronoiRegressor(head="kernel", **QUICK).fit(rng.normal(size=(50, 1)), y)
    with pytest.raises(ValueError, match=r"one or two columns, not 3 on the sphere\. Remedy"):
        explore(model, tmp_path / "page.html")
