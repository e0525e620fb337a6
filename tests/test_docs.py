"""Code in the documentation runs as it stands there."""

import math
import re
import shlex
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import torch
from loading import ROOT, load_module

import vwta
from vwta import Box, LocalDensity, LocalNetwork
from vwta.cli.main import main
from vwta.training.loop import FixedData

EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))
# Pages whose blocks are run here or, in an environment without extras, by tests/test_package.py.
RUN = {"README.md", "data.md", "heads.md", "local_kernels.md", "networks.md", "quickstart.md"}


# Blocks of other kinds, and why they are not run as they stand.
NOT_RUN = {
    ("CONTRIBUTING.md", ""): "targets of make, which are those of CI, and chunks of full runs",
    ("README.md", ""): "installs packages and runs the pipeline; tests/test_package.py installs",
    ("architecture.md", "mermaid"): "a picture",
    ("cloud.md", ""): "needs an account of a cloud; tests/cluster runs stand-ins",
    ("data.md", "yaml"): "a part of a configuration; tests/paper/uci fit tables of users",
    (
        "elsewhere.md",
        "",
    ): "makes rules of other projects; tests/workflow/test_elsewhere.py has them",
    ("quickstart.md", ""): "installs the package; its commands `vwta` are run here",
    ("verdicts.md", ""): "a command on published results; tests/paper/verdicts runs it",
}


def blocks(path: Path) -> str:
    """All Python blocks of a page, one after the other."""
    return "\n".join(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))


def commands(path: Path) -> list[str]:
    """All commands `vwta` in blocks of a page."""
    return re.findall(r"^vwta .*", path.read_text(), re.MULTILINE)


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (code,) = [block for block in found if "VoronoiRegressor" in block]
    assert len(code.splitlines()) <= 15
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code.replace("n_hypotheses=8", "8, steps=200"), "README.md", "exec"), names)
    assert abs(1 - names["law"].cdf(20.0)[0] - 0.7) < 0.15  # type: ignore[attr-defined]


def test_quickstart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    code = blocks(ROOT / "docs/quickstart.md").replace("n_hypotheses=8", "8, steps=400")
    exec(compile(code, "quickstart.md", "exec"), names)
    odds = names["odds"]
    assert abs(odds[0] - 0.6) < 0.12  # type: ignore[index]
    assert abs(odds[1] - 0.2) < 0.12  # type: ignore[index]
    table = names["scenarios"]
    likeliest = table[table["row"] == 1].iloc[0]  # type: ignore[index]
    assert abs(likeliest["probability"] - 0.8) < 0.12
    assert abs(likeliest["mean"] - 200_000) < 20_000
    assert names["covered"].mean() > 0.8  # type: ignore[attr-defined]
    assert "log-likelihood, an MDN" in capsys.readouterr().out
    likelihood = names["diagnosis"].log_likelihood  # type: ignore[attr-defined]
    assert likelihood["model"].mean > likelihood["kernel density without inputs"].mean
    assert (tmp_path / "diagnosis.html").stat().st_size > 10_000
    for line in commands(ROOT / "docs/quickstart.md"):
        options = ["--steps", "50"] if line.startswith("vwta fit") else []
        assert main([*shlex.split(line)[1:], *options]) == 0
    assert len(pd.read_csv(tmp_path / "predicted.csv")) == 2
    assert len(pd.read_csv(tmp_path / "more_predicted.csv")) == 200
    assert (tmp_path / "explorer.html").stat().st_size > 10_000


def test_page_about_heads(capsys: pytest.CaptureFixture[str]) -> None:
    code = blocks(ROOT / "docs/heads.md").replace(
        "n_hypotheses=8", "4, steps=30, hidden=(16,), refit=False"
    )
    names: dict[str, object] = {}
    exec(compile(code, "heads.md", "exec"), names)
    model = names["model"]
    expected = {"voronoi", "kernel", "mdn", "local", "continuous"}
    assert set(model.heads_) == expected  # type: ignore[attr-defined]
    assert "log-likelihood, model" in capsys.readouterr().out


def test_page_about_local_kernels() -> None:
    """Its blocks are about any law, and any networks: here small ones."""
    torch.manual_seed(0)
    points = torch.tensor([[-0.5, 0.0], [0.5, 0.2], [0.1, -0.6]], dtype=torch.float64)
    x, y = torch.rand(40, 2), torch.randn(40, 1)
    networks = [LocalNetwork(2, 1, 4, [8], "continuous") for _ in range(2)]
    both = (x.expand(2, -1, -1), y.expand(2, -1, -1))
    names: dict[str, Any] = {
        "points": points,
        "masses": torch.tensor([0.2, 0.3, 0.5]),
        "h": 0.3,
        "y": points + 0.01,
        "centres": points + 0.05,
        "roots": torch.tensor([[1.0, 0.0], [0.5, 1.0]], dtype=torch.float64).expand(3, 2, 2),
        "networks": networks,
        "data": FixedData(both, both),
        "seeds": [1, 2],
        "model": LocalDensity(LocalNetwork(2, 1, 4, [8]), Box(-math.inf, math.inf)),
        "x": x,
        "x_held_out": x,
        "y_held_out": y,
    }
    code = blocks(ROOT / "docs/local_kernels.md").replace("epochs=100", "epochs=2")
    code = code.replace("\nfit_stacked(", "\nfitted = fit_stacked(")
    exec(compile(code, "local_kernels.md", "exec"), names)
    assert names["law"].log_prob(names["y"][:3]).isfinite().all()
    assert names["fitted"].curves["loss"].shape == (2, 2)  # epochs, networks
    assert names["found"].by_factor.tried[0][0] == 1
    assert names["found"].of(names["model"](x)).log_prob(y).isfinite().all()


def test_page_about_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{area},{area % 7},{1000 * area}" for area in range(30, 130)]
    Path("houses.csv").write_text("\n".join(["area,rooms,price", *rows]))
    names: dict[str, Any] = {}
    exec(compile(blocks(ROOT / "docs/data.md"), "data.md", "exec"), names)
    assert names["table"].columns == ("area", "rooms")
    assert [len(part.train) for part in names["parts"]] == [90] * 20


def test_every_page_with_code_is_known() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    assert {page.name for page in pages if blocks(page)} == RUN
    found = {(page.name, kind) for page in pages for kind in other_blocks(page)}
    assert found == set(NOT_RUN)


def other_blocks(path: Path) -> set[str]:
    """Kinds of a page's blocks that are neither Python nor directives of Sphinx."""
    fences = re.findall(r"^ *```(.*)$", path.read_text(), re.MULTILINE)
    return {kind for kind in fences[::2] if kind != "python" and not kind.startswith("{")}


def test_reference_has_every_public_name() -> None:
    named = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)$", (ROOT / "docs/api.md").read_text(), re.M))
    missing = {name for name in vwta.__all__ if not any(x.endswith(f".{name}") for x in named)}
    assert not missing


def test_gallery_shows_every_example() -> None:
    text = (ROOT / "docs/gallery.md").read_text()
    shown = re.findall(r"literalinclude} examples/(\w+)\.py", text)
    assert sorted(shown) == [path.stem for path in EXAMPLES]
    assert re.findall(r"gallery/(\w+)\.png", text) == shown
    assert len(shown) == 7
    for path in EXAMPLES:  # the sentence above a picture is that of the example
        assert path.read_text().splitlines()[0].strip('"') in text


@pytest.mark.filterwarnings("ignore::vwta.estimator.columns.DataWarning")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    plt.switch_backend("agg")
    figure = load_module(path).main(steps=10)
    figure.canvas.draw()
    assert figure.axes
    assert all(axis.has_data() for axis in figure.axes)
    plt.close("all")
