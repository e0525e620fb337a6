"""The figure of ways to train shows risks over Lloyd's."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.figure import Figure

from vwta.io.storage import write_table
from vwta.paper.figures import variants as module
from vwta.paper.metrics import tidy

RATIOS = {("paper", 1): 4.0, ("paper", 2): 8.0, ("relaxed", 1): 3.0, ("literal", 1): 9.0}


def table() -> pd.DataFrame:
    rows = [{"protocol": p, "seed": seed, "value": v} for (p, seed), v in RATIOS.items()]
    common = {"dataset": "single_gaussian", "metric": "lloyd_ratio", "K": 49, "n": 10}
    other = {"protocol": "paper", "method": "mdn", "value": 100.0}
    return tidy([*({"method": "wta", **row} for row in rows), other], **common)


def draw(folder: Path, monkeypatch: pytest.MonkeyPatch, protocols: list[str]) -> Figure:
    figures: list[Figure] = []
    monkeypatch.setattr(module, "save", lambda figure, paths: figures.append(figure))
    write_table(folder / "metrics", table(), {})
    module.variants(folder / "metrics", [], protocols, ["single_gaussian"], [49])
    plt.close(figures[0])
    return figures[0]


def test_dots_are_means_over_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (axis,) = draw(tmp_path, monkeypatch, ["relaxed", "paper"]).axes
    dots = axis.lines[-1]
    assert list(dots.get_xdata()) == [3.0, 6.0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["relaxed", "plain"]
    (segments,) = [c.get_segments() for c in axis.collections]
    assert [[point[0] for point in segment] for segment in segments] == [[3, 3], [4, 8]]


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no risk of k_means_plus_plus at K=49"):
        draw(tmp_path, monkeypatch, ["paper", "k_means_plus_plus"])
