"""Code in the documentation runs as it stands there."""

import re
from pathlib import Path

import pytest
from loading import ROOT


def blocks(path: Path) -> str:
    """All Python blocks of a page, one after the other."""
    return "\n".join(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))


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
    likelihood = names["diagnosis"].log_likelihood  # type: ignore[attr-defined]
    assert likelihood["model"].mean > likelihood["kernel density without inputs"].mean
    assert (tmp_path / "diagnosis.html").stat().st_size > 10_000
    assert capsys.readouterr().out
