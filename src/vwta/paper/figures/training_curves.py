"""Figure of the losses during training."""

from __future__ import annotations

__all__ = ["training_curves", "training_curves_by_K"]

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from vwta.io.storage import read_table
from vwta.paper.figures.style import COLUMN, save, style
from vwta.paper.methods import METHODS
from vwta.paper.problems import title

# Columns that a panel shows and their line styles, by the criterion that selects its weights.
LINES = {"loss": {"training": "-", "loss": "--"}, "distance": {"distance": "--"}}
SELECTED: dict[str, Any] = {"marker": "D", "color": "black", "mfc": "white", "ms": 3.5}


def training_curves(
    curves: Path,
    paths: Sequence[Path],
    protocol: str,
    datasets: Sequence[str],
    models: Sequence[str],
    K: int,
) -> None:
    """Draws losses against the epoch, one panel for each model and problem.

    WTA networks have a second row of panels: the distance to the winner, which is a part of their
    loss and the other criterion of early stopping. Curves are means over the seeds, bands reach
    from the lowest seed to the highest, and a diamond marks each epoch whose weights were selected.

    Arguments:
        curves: table of :func:`vwta.paper.collection.collect_curves`.
        paths: files to write, in the format of their suffix.
        protocol: protocol of the trainings.
        datasets: problems, from left to right.
        models: models, from top to bottom.
        K: number of atoms.
    """
    table = read_table(curves)
    table = table[(table["K"] == K) & (table["protocol"] == protocol)]
    columns = [
        _Column(
            title(name), table[table["dataset"] == name], f"{protocol}, {{}} on {name} at K={K}"
        )
        for name in datasets
    ]
    _grid(paths, columns, models, f", $K = {K}$")


def training_curves_by_K(
    curves: Path,
    paths: Sequence[Path],
    protocol: str,
    dataset: str,
    models: Sequence[str],
    counts: Sequence[int],
) -> None:
    """Draws losses against the epoch, one panel for each model and number of atoms.

    Arguments as of :func:`training_curves`, with one problem and the numbers K of atoms, from left
    to right.
    """
    table = read_table(curves)
    table = table[(table["dataset"] == dataset) & (table["protocol"] == protocol)]
    columns = [
        _Column(f"$K = {K}$", table[table["K"] == K], f"{protocol}, {{}} on {dataset} at K={K}")
        for K in counts
    ]
    _grid(paths, columns, models)


class _Column(NamedTuple):
    """A column of panels: its title, its rows, and how to name what is missing of a model."""

    title: str
    rows: pd.DataFrame
    name: str


def _grid(
    paths: Sequence[Path], columns: Sequence[_Column], models: Sequence[str], label: str = ""
) -> None:
    lines = [(model, criterion) for model in models for criterion in _criteria(columns, model)]
    with style():
        size = (max(COLUMN, 0.62 * COLUMN * len(columns)), 0.5 * COLUMN * len(lines) + 0.3)
        figure, axes = plt.subplots(
            len(lines), len(columns), figsize=size, squeeze=False, sharex=True
        )
        for line, (model, criterion) in zip(axes, lines, strict=True):
            for axis, column in zip(line, columns, strict=True):
                rows = column.rows[column.rows["model"] == model]
                if rows.empty:
                    raise ValueError(f"no curve of {column.name.format(model)}")
                _panel(axis, rows, METHODS[model].color, criterion)
            line[0].set_ylabel(f"{METHODS[model].label} {criterion}{label}")
        for axis, column in zip(axes[0], columns, strict=True):
            axis.set_title(column.title)
        for axis in axes[-1]:
            axis.set_xlabel("epoch")
        figure.legend(handles=_legend(), loc="outside lower center", ncols=3)
        save(figure, paths)


def _criteria(columns: Sequence[_Column], model: str) -> list[str]:
    """Criteria of early stopping that a model has curves of; the loss in any case."""
    rows = pd.concat([column.rows[column.rows["model"] == model] for column in columns])
    return [name for name in LINES if name == "loss" or (name in rows and rows[name].notna().any())]


def _panel(axis: Axes, rows: pd.DataFrame, color: str, criterion: str) -> None:
    by_epoch = rows.groupby("epoch")
    for name, line in LINES[criterion].items():
        mean, low, high = (by_epoch[name].agg(how) for how in ("mean", "min", "max"))
        axis.plot(mean.index, mean, line, color=color if name == "training" else "black", lw=1)
        axis.fill_between(mean.index, low, high, color=color, alpha=0.2, lw=0)
    selected = rows[rows[f"selected_by_{criterion}"].astype(bool)]
    axis.plot(selected["epoch"], selected[criterion], ls="", **SELECTED)
    axis.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    _leave_out_the_start(axis, rows[["epoch", *LINES[criterion]]], selected[criterion])


def _leave_out_the_start(axis: Axes, rows: pd.DataFrame, selected: pd.Series[float]) -> None:
    """Scales the panel to `selected` and the epochs after the first tenth, which is steep."""
    last = rows["epoch"].max()
    later = rows.loc[rows["epoch"] > last // 10].drop(columns="epoch").stack()
    shown = pd.concat([later, selected])
    low, high = shown.min(), shown.max()
    margin = 0.08 * (high - low)
    if margin > 0:
        axis.set_ylim(low - margin, high + margin)


def _legend() -> list[Line2D]:
    lines = [
        Line2D([], [], ls=LINES["loss"]["training"], color="0.5", label="training"),
        Line2D([], [], ls=LINES["loss"]["loss"], color="black", label="validation"),
    ]
    return [*lines, Line2D([], [], ls="", label="selected weights", **SELECTED)]
