"""One look for all figures; colours and names of methods are in :mod:`vwta.paper.methods`."""

from __future__ import annotations

__all__ = [
    "COLUMN",
    "label_panels",
    "log_ticks",
    "panels",
    "save",
    "shade",
    "sparse_labels",
    "style",
]

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from vwta.io.storage import atomic
from vwta.style import COLUMN, shade, style


def sparse_labels(ticks: Sequence[float], apart: float) -> list[str]:
    """Labels of ticks on a logarithmic axis: none for a tick too close to the label before.

    Arguments:
        ticks: where the ticks are, in ascending order.
        apart: smallest ratio of two ticks with labels that follow each other.

    Example:
        >>> sparse_labels([9, 16, 20, 25], 1.5)
        ['9', '16', '', '25']
    """
    labels, last = [], 0.0
    for tick in ticks:
        labels.append(f"{tick:g}" if tick >= apart * last else "")
        last = tick if labels[-1] else last
    return labels


def log_ticks(axis: Axes, ticks: Sequence[float], apart: float) -> None:
    """A logarithmic axis of x with these ticks alone; labels as of :func:`sparse_labels`."""
    axis.set_xscale("log")
    axis.set_xticks(ticks, sparse_labels(ticks, apart))
    axis.xaxis.set_minor_locator(NullLocator())


def panels(
    count: int, columns: int, width: float, height: float, below: float, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, row by row.

    Arguments:
        count: number of panels.
        columns: most of them side by side.
        width: of the figure, in inches.
        height: of a panel.
        below: for the legend.
        options: of `plt.subplots`.
    """
    lines = math.ceil(count / columns)
    shape, size = (lines, min(columns, count)), (width, height * lines + below)
    figure, axes = plt.subplots(*shape, figsize=size, squeeze=False, **options)
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, list(axes.flat[:count])


def label_panels(axes: Sequence[Axes], columns: int, below: str, left: str = "") -> None:
    """Labels of the lowest panel of each column, and of the first one of each row."""
    for axis in axes[-columns:]:
        axis.set_xlabel(below)
    for axis in axes[::columns]:
        axis.set_ylabel(left)


def save(figure: Figure, paths: Sequence[Path]) -> None:
    """Writes a figure under each name, in its suffix' format; same data, same bytes."""
    for path in paths:
        suffix = path.suffix.removeprefix(".")
        metadata = {"CreationDate": None} if suffix == "pdf" else None
        with atomic(path) as temporary:
            figure.savefig(temporary, format=suffix, metadata=metadata)
    plt.close(figure)
