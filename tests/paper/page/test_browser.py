"""The page in a real browser: it draws, sorts, filters, loads nothing and fits narrow windows."""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from browsing import FOUND, NAMES, Browser

from vwta.distributions.mixtures import KernelMixture, VoronoiMixture
from vwta.geometry.kernels import Gaussian, Uniform
from vwta.geometry.spaces import Box
from vwta.io.storage import write_tensors
from vwta.paper.page.build import build
from vwta.paper.page.contents import Contents

pytestmark = pytest.mark.skipif(FOUND is None, reason=f"no browser on the PATH: {', '.join(NAMES)}")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def predictions(path: Path) -> dict[str, torch.Tensor]:
    """Atoms of made-up networks at three inputs, two of them at the same place."""
    source = torch.Generator().manual_seed(7)

    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=source)

    tensors = {"x": torch.linspace(0, 1, 3), "rotating_moons/targets": draw(3, 40, 2) * 2 - 1}
    for model in ("wta", "mdn"):
        name = f"paper/rotating_moons/{model}/K9"
        points = draw(3, 9, 2) * 1.9 - 0.95
        points[:, 4] = points[:, 2]
        points[:, 5] = points[:, 6] + 1e-3
        tensors |= {f"{name}/points": points, f"{name}/masses": draw(3, 9).softmax(-1)}
    tensors["paper/rotating_moons/mdn/K9/scales"] = draw(3, 9) * 0.5 + 0.05
    grid = torch.tensor([-2 / 3, 0.0, 2 / 3])
    hist = "paper/rotating_moons/hist/K9"
    tensors[f"{hist}/points"] = torch.cartesian_prod(grid, grid)
    tensors[f"{hist}/masses"] = draw(3, 9).softmax(-1)
    write_tensors(path, tensors, {"domain": {"low": [-1.0, -1.0], "high": [1.0, 1.0]}})
    return tensors


@pytest.fixture
def opened(browser: Browser, contents: Contents, tmp_path: Path) -> Callable[..., Path]:
    """Builds a page, with predictions, and opens it in a window."""

    def open_page(width: int = 1200, dark: bool = False) -> Path:
        predictions(tmp_path / "explorer.safetensors")
        whole = dataclasses.replace(contents, explorer=tmp_path / "explorer.safetensors")
        build(whole, tmp_path / "index.html")
        browser.window(width, dark=dark)
        browser.open(tmp_path / "index.html")
        browser.wait("vwta.explorer.drawn > 0")
        return tmp_path / "index.html"

    return open_page


def choose(browser: Browser, selector: str, value: str) -> None:
    """Gives a field a value, as a reader would."""
    browser.run(
        f"(() => {{ const field = document.querySelector({json.dumps(selector)});"
        f" field.value = {json.dumps(value)};"
        " field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def shown(browser: Browser, selector: str) -> list[str]:
    """Verdicts of the items that are visible."""
    every = f"[...document.querySelectorAll('{selector}')]"
    found: list[str] = browser.run(f"{every}.filter(e => !e.hidden).map(e => e.dataset.verdict)")
    return found


def test_nothing_is_loaded_and_nothing_fails(browser: Browser, opened: Callable[..., Path]) -> None:
    page = opened()
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    asked = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert {url for url in asked if not url.startswith("data:")} == {page.as_uri()}
    failing = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
    assert [event for event in browser.events if event["method"] in failing] == []


def test_without_predictions(browser: Browser, contents: Contents, tmp_path: Path) -> None:
    build(contents, tmp_path / "index.html")
    browser.open(tmp_path / "index.html")
    browser.wait("document.querySelector('#numbers .shown').textContent !== ''")
    assert browser.run("document.querySelector('#no-predictions').checkVisibility()")
    assert not [one for one in browser.events if one["method"] == "Runtime.exceptionThrown"]


def test_filters_filter(browser: Browser, opened: Callable[..., Path]) -> None:
    opened()
    rows = "#number-table tbody tr"
    assert shown(browser, rows) == ["worse", "reproduced", "not run"]  # of the headline
    choose(browser, "#numbers [data-filter=study]", "uci")
    assert shown(browser, rows) == ["reproduced", "not run"]
    choose(browser, "#numbers [data-filter=text]", "boston")
    assert shown(browser, rows) == ["reproduced"]
    assert browser.run("document.querySelector('#numbers .shown').textContent") == "1 of 6 shown"
    choose(browser, "#claims [data-filter=verdict]", "fails")
    assert shown(browser, "#claim-list li") == ["fails"]
    browser.run("document.querySelector('#claims form').reset()")
    browser.wait("document.querySelectorAll('#claim-list > li:not([hidden])').length === 2")


def test_tables_are_sorted(browser: Browser, opened: Callable[..., Path]) -> None:
    opened()
    head = "document.querySelector('#number-table').tHead.rows[0].cells[8]"
    for order, expected in (
        ("ascending", ["worse", "reproduced", "not run"]),
        ("descending", ["reproduced", "worse", "not run"]),
    ):
        browser.run(f"{head}.querySelector('button').click()")
        assert browser.run(f"{head}.getAttribute('aria-sort')") == order
        assert shown(browser, "#number-table tbody tr") == expected


def test_numbers_tell_where_they_come_from(browser: Browser, opened: Callable[..., Path]) -> None:
    opened()
    boston = "#number-table tr[data-dataset=boston][data-protocol=paper] .why"
    browser.run(f"document.querySelector('{boston}').click()")
    text = browser.run("document.querySelector('#reasons').innerText")
    assert "a <rule>" in text
    assert "2.4 to 2.6" in text
    parts = browser.run("document.querySelector('#reasons details').textContent")
    assert "a" * 40 in parts
    assert "c0de" in parts
    browser.run("document.querySelector('#reasons [data-do=close]').click()")
    assert not browser.run("document.querySelector('#reasons').open")


def test_figures_are_enlarged_by_keyboard(browser: Browser, opened: Callable[..., Path]) -> None:
    opened()
    browser.run("document.querySelector('button.zoom').focus()")
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    browser.call("Input.dispatchKeyEvent", type="keyDown", **enter)
    browser.wait("document.querySelector('#viewer').open")
    width = "document.querySelector('#viewer-image').getBoundingClientRect().width"
    before = browser.run(width)
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="+", text="+")
    assert browser.run(width) > 1.2 * before
    escape = {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27}
    browser.call("Input.dispatchKeyEvent", type="keyDown", **escape)
    browser.wait("!document.querySelector('#viewer').open")
    assert browser.run("document.activeElement.className") == "zoom"


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_system_and_the_switch(
    browser: Browser, opened: Callable[..., Path], dark: bool
) -> None:
    opened(dark=dark)
    browser.run("localStorage.removeItem('vwta-theme')")
    back = "getComputedStyle(document.body).backgroundColor"
    colours = {True: "rgb(20, 24, 29)", False: "rgb(255, 255, 255)"}
    assert browser.run(back) == colours[dark]
    turn = "document.querySelector('#theme').click()"
    browser.run(turn)
    assert browser.run(back) == colours[True]
    browser.run(turn)
    assert browser.run(back) == colours[False]
    browser.run(turn)
    assert browser.run(back) == colours[dark]


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_nothing_overflows(browser: Browser, opened: Callable[..., Path], width: int) -> None:
    opened(width)
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= width
    wider = (
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && "
        f"e.getBoundingClientRect().right > {width} + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert browser.run(wider) == []


def test_the_slider_redraws(browser: Browser, opened: Callable[..., Path]) -> None:
    opened()
    picture = "document.querySelector('[data-panel] canvas').toDataURL()"
    label = "document.querySelector('[data-panel] canvas').getAttribute('aria-label')"
    seen = {browser.run(picture)}
    for name, value in (("x", "2"), ("h", "-0.5"), ("x", "0")):
        count = browser.run("vwta.explorer.drawn")
        choose(browser, f"#explorer-form [name={name}]", value)
        browser.wait(f"vwta.explorer.drawn > {count}")
        seen.add(browser.run(picture))
    assert len(seen) == 4
    assert "Rotating Moons, x = 0.000, K = 9. V-WTA, h = 0.607" in browser.run(label)


SWEPT = [(method, h) for method in ("v_wta", "k_wta", "tk_hist") for h in (0.02, 0.2, 2.0)]
FIXED = [(method, 0.2) for method in ("unif_v_wta", "unif_hist", "mdn")]  # without a bandwidth


@pytest.mark.parametrize(("method", "h"), [*SWEPT, *FIXED])
def test_densities_are_those_of_the_library(
    browser: Browser, opened: Callable[..., Path], tmp_path: Path, method: str, h: float
) -> None:
    opened()
    tensors = predictions(tmp_path / "explorer.safetensors")
    model = {"v_wta": "wta", "k_wta": "wta", "unif_v_wta": "wta", "mdn": "mdn"}.get(method, "hist")
    name = f"paper/rotating_moons/{model}/K9"
    points, masses = tensors[f"{name}/points"], tensors[f"{name}/masses"].double()
    points = points.double().expand(3, 9, 2)
    box = Box([-1.0, -1.0], [1.0, 1.0])
    if method == "mdn":
        law: Any = KernelMixture(points, masses, Gaussian(tensors[f"{name}/scales"].double()))
    elif method == "k_wta":
        law = KernelMixture(points, masses, Gaussian(h))
    else:
        kernel = Uniform() if method.startswith("unif") else Gaussian(h)
        law = VoronoiMixture(points, masses, kernel, box)
    y = torch.rand(50, 2, generator=torch.Generator().manual_seed(3)).double() * 1.98 - 0.99
    expected = law.log_prob(y[:, None])[:, 1].tolist()
    chosen = {"protocol": "paper", "dataset": "rotating_moons", "K": 9, "x": 1, "h": h}
    found = browser.run(
        f"(() => {{ const law = vwta.explorer.law('{method}', {json.dumps(chosen)});"
        f" return {json.dumps(y.tolist())}.map(([x, y]) => law.log(x, y)); }})()"
    )
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < 1e-6
    outside = browser.run(
        f"String(vwta.explorer.law('{method}', {json.dumps(chosen)}).log(1.5, 0))"
    )
    assert (float(outside.replace("Infinity", "inf")) == -math.inf) == (
        method not in ("k_wta", "mdn")
    )
