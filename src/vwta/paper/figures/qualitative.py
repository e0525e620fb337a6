"""Pictures of predictions in the square: atoms, their masses and cells, and the true law."""

from __future__ import annotations

__all__ = [
    "DRAWN",
    "SCORES",
    "TARGET",
    "Prediction",
    "at_input",
    "dirac_limits",
    "frame",
    "qualitative",
    "square_panels",
]

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Circle
from torch import Tensor

from vwta.geometry.polygons import corners
from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors
from vwta.paper.figures.style import COLUMN, save, style
from vwta.paper.methods import NETWORKS
from vwta.paper.problems import title
from vwta.style import SCALE, SCORES, TARGET


class Prediction(NamedTuple):
    """A prediction at one input, as a figure shows it.

    Attributes:
        points: atoms, with shape `(K, 2)`.
        masses: their masses, with shape `(K,)`.
        scales: standard deviations around them, with shape `(K,)`.
        targets: points of the true law, with shape `(m, 2)`.
    """

    points: Tensor
    masses: Tensor
    scales: Tensor
    targets: Tensor


def _cells(axis: Axes, prediction: Prediction, domain: Box, shade: Normalize) -> None:
    """Atoms shaded by their masses, and their Voronoi cells."""
    cells = [cell.numpy() for cell in corners(prediction.points, domain) if len(cell)]
    axis.add_collection(
        PolyCollection(cells, facecolors="none", edgecolors="black", linewidths=0.5, zorder=2)
    )
    _atoms(axis, prediction, SCORES, shade)


def _circles(axis: Axes, prediction: Prediction, domain: Box, shade: Normalize) -> None:
    """Atoms shaded by their masses, and circles of one standard deviation, as opaque as heavy."""
    heaviest = prediction.masses.max()
    for z, mass, scale in zip(prediction.points, prediction.masses, prediction.scales, strict=True):
        opacity = (mass / heaviest).item()
        axis.add_patch(
            Circle(tuple(z.tolist()), scale.item(), fill=False, color=SCALE, alpha=opacity, lw=0.8)
        )
    _atoms(axis, prediction, SCORES, shade)


def _atoms(axis: Axes, prediction: Prediction, colors: Colormap, shade: Normalize) -> None:
    x, y = prediction.points.T.numpy()
    color = colors(shade(prediction.masses.numpy()))
    axis.scatter(x, y, s=14, c=color, edgecolors="black", linewidths=0.4, zorder=3, clip_on=False)


# Ways to draw predictions, see :class:`vwta.paper.methods.Network`.
DRAWN: dict[str, Callable[[Axes, Prediction, Box, Normalize], None]] = {
    "cells": _cells,
    "circles": _circles,
}


def dirac_limits(predictions: Path, paths: Sequence[Path], x: Sequence[float], domain: Box) -> None:
    """Draws the predictions of one network at several inputs, a panel for each.

    Arguments:
        predictions: file of predictions.
        paths: files to write, in the format of their suffix.
        x: inputs, from left to right.
        domain: the square, which cuts the cells.
    """
    tensors, facts = read_tensors(predictions)
    chosen = [at_input(tensors, value) for value in x]
    shade = Normalize(0, max(one.masses.max().item() for one in chosen))
    with style():
        size = (0.6 * COLUMN * len(x) + 0.7, 0.6 * COLUMN + 0.25)
        figure, axes = square_panels(1, len(x), size)
        for axis, value, prediction in zip(axes[0], x, chosen, strict=True):
            frame(axis, prediction, domain)
            DRAWN[NETWORKS[facts["model"]].drawn](axis, prediction, domain, shade)
            axis.set_title(f"$x = {value:g}$")
        _colorbar(figure, list(axes[0]), shade)
        save(figure, paths)


def qualitative(predictions: Sequence[Path], paths: Sequence[Path], x: float, domain: Box) -> None:
    """Draws predictions at one input: a row for each K, a column for each problem and model.

    Arguments:
        predictions: files of predictions, for all combinations; problems are drawn in the order in
            which they first appear.
        paths: files to write, in the format of their suffix.
        x: the input.
        domain: the square, which cuts the cells.
    """
    panels: dict[tuple[int, str, str], Prediction] = {}
    for path in predictions:
        tensors, facts = read_tensors(path)
        panels[facts["K"], facts["dataset"], facts["model"]] = at_input(tensors, x)
    counts, datasets = (
        sorted({K for K, _, _ in panels}),
        list(dict.fromkeys(d for _, d, _ in panels)),
    )
    models = [name for name in NETWORKS if any(model == name for _, _, model in panels)]
    columns = list(product(datasets, models))
    with style():
        size = (0.55 * COLUMN * len(columns) + 0.6, 0.58 * COLUMN * len(counts) + 0.35)
        figure, axes = square_panels(len(counts), len(columns), size)
        for row, K in zip(axes, counts, strict=True):
            in_row = [panels[K, *column] for column in columns]
            # Even in the root: a bin of the histogram has ten times the score of most atoms.
            shade = PowerNorm(0.5, 0, max(one.masses.max().item() for one in in_row))
            for axis, (_, model), prediction in zip(row, columns, in_row, strict=True):
                frame(axis, prediction, domain)
                DRAWN[NETWORKS[model].drawn](axis, prediction, domain, shade)
            row[0].set_ylabel(f"$K = {K}$")
            _colorbar(figure, list(row), shade)
        for axis, (dataset, model) in zip(axes[0], columns, strict=True):
            axis.set_title(f"{title(dataset)}\n{NETWORKS[model].title}")
        save(figure, paths)


def at_input(tensors: dict[str, Tensor], x: float) -> Prediction:
    """The prediction at an input, as a figure shows it."""
    index = int((tensors["x"][:, 0] - x).abs().argmin())
    if abs(tensors["x"][index, 0].item() - x) > 1e-9:
        raise ValueError(f"x = {x}: no prediction, there are {tensors['x'][:, 0].tolist()}")
    return Prediction(*(tensors[name][index] for name in Prediction._fields))


def square_panels(
    rows: int, columns: int, size: tuple[float, float], projection: str | None = None
) -> tuple[Figure, Any]:
    """A figure and its axes `(rows, columns)`, packed as closely as panels of a shape can be."""
    layout = ConstrainedLayoutEngine(compress=True, w_pad=0.03, h_pad=0.03, wspace=0, hspace=0)
    kind = {"projection": projection}
    return plt.subplots(rows, columns, figsize=size, squeeze=False, layout=layout, subplot_kw=kind)


def frame(axis: Axes, prediction: Prediction, domain: Box) -> None:
    """Draws the domain, with the points of the true law."""
    low, high = (corner.tolist() for corner in domain.bounds(prediction.points))
    axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    axis.spines[:].set_visible(True)
    x, y = prediction.targets.T.numpy()
    axis.scatter(x, y, s=1.5, c=TARGET, alpha=0.6, linewidths=0, zorder=1)


def _colorbar(figure: Figure, axes: list[Any], shade: Normalize) -> None:
    bar = figure.colorbar(plt.cm.ScalarMappable(shade, SCORES), ax=axes, pad=0.01, aspect=18)
    bar.set_label("score")
    bar.outline.set_linewidth(0.5)
