"""Laws in the plane: hypotheses with their cells, and densities."""

from __future__ import annotations

__all__ = ["SQUARE", "cells", "density2d", "frame", "grid_of"]

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike, NDArray

from vwta.distributions.axes import AxisMixture
from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.polygons import corners
from vwta.geometry.spaces import Box
from vwta.plot.laws import (
    Laws,
    axes_for,
    label_of,
    legend_above,
    members,
    one_row,
    outer,
    window,
)
from vwta.style import FILL, LINE, SCALE, SCORES, TARGET, shade, style

GRID = 200
SQUARE = (1.15, 1.0)  # size of a picture in columns
Array = NDArray[np.float64]


def cells(
    law: Laws, row: int = 0, *, y: ArrayLike | None = None, member: int = 0, ax: Axes | None = None
) -> Axes:
    """Draws the hypotheses of a row, shaded by their masses, with their Voronoi cells.

    Cells are those of scaled targets, in which networks are trained. Kernels that are not cut have
    no cells: their ellipses of one standard deviation are drawn.

    Arguments:
        law: laws of targets of two columns.
        row: which of them.
        y: true targets, `(2,)` or `(m, 2)`, if there are any.
        member: which network of an ensemble.
        ax: axes to draw on.
    """
    one = one_row(law, row, 2, "cells")
    known = None if y is None else np.atleast_2d(np.asarray(y, dtype=np.float64))
    mixture = members(one.law)[member]
    points, masses = outer(one, mixture.points[0]), mixture.masses[0].double().numpy()
    with style():
        ax = axes_for(ax, SQUARE)
        frame(ax, one, known)
        if isinstance(mixture, VoronoiMixture):
            box = mixture.space
            assert isinstance(box, Box)
            found = [outer(one, cell) for cell in corners(mixture.points[0], box) if len(cell)]
            ax.add_collection(
                PolyCollection(found, facecolors="none", edgecolors="black", linewidths=0.5)
            )
        else:
            _ellipses(ax, one, mixture, points, masses)
        norm = Normalize(0, float(masses.max()))
        x, z = points.T
        drawn = ax.scatter(
            x, z, s=26, c=masses, cmap=SCORES, norm=norm, edgecolors="black", linewidths=0.5,
            zorder=3,
        )  # fmt: skip
        ax.figure.colorbar(drawn, ax=ax, label="probability", pad=0.02, aspect=25)
    return ax


def density2d(
    law: Laws, row: int = 0, *, y: ArrayLike | None = None, levels: Sequence[float] = (0.5, 0.9),
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draws the density of a row in the plane, and borders of its highest-density regions.

    Colours are even in the root of the density, so that low ones are seen too.

    Arguments:
        law: laws of targets of two columns.
        row: which of them.
        y: true targets, `(2,)` or `(m, 2)`, if there are any.
        levels: probabilities of the regions.
        ax: axes to draw on.
    """
    one = one_row(law, row, 2, "density2d")
    known = None if y is None else np.atleast_2d(np.asarray(y, dtype=np.float64))
    with style():
        ax = axes_for(ax, SQUARE)
        low, high = frame(ax, one, known)
        at, log_p = grid_of(one, low, high)
        p = np.exp(log_p)
        drawn = ax.pcolormesh(*at, p, cmap=FILL, norm=PowerNorm(0.5, 0, p.max()), shading="nearest",
                              rasterized=True, zorder=0)  # fmt: skip
        marks = []
        for level, line in zip(sorted(levels), ("-", "--", ":", "-."), strict=False):
            threshold = float(one.hdr(level).log_threshold[0])
            color = shade(LINE, 0.5)
            ax.contour(*at, log_p - threshold, [0.0], colors=[color], linestyles=line,
                       linewidths=0.9)  # fmt: skip
            marks.append(Line2D([], [], color=color, ls=line, lw=0.9, label=f"{100 * level:g} %"))
        if known is not None:
            marks.append(Line2D([], [], color=TARGET, marker="o", ls="", label="targets"))
        legend_above(ax, marks)
        ax.figure.colorbar(drawn, ax=ax, label="density", pad=0.02, aspect=25)
    return ax


def grid_of(law: Laws, low: Array, high: Array, count: int = GRID) -> tuple[list[Array], Array]:
    """Log-densities `(count, count)` of one row's law in a window, and the places on both axes."""
    axes = [np.linspace(a, b, count) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes), -1)
    with torch.no_grad():
        log_p = law.log_prob(points.reshape(-1, 1, 2))
    return axes, log_p.reshape(count, count)


def frame(ax: Axes, law: Laws, y: Array | None) -> tuple[Array, Array]:
    """Sets limits and labels, draws known targets, and returns the window."""
    low, high = window(law, y)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set(xlabel=label_of(law, 0), ylabel=label_of(law, 1))
    ax.spines[:].set_visible(True)
    ax.grid(False)
    if y is not None:
        size = 18 if len(y) < 20 else 4
        ax.scatter(
            y[:, 0], y[:, 1], s=size, color=TARGET, edgecolors="white", linewidths=0.3, zorder=4
        )
    return low, high


def _ellipses(ax: Axes, law: Laws, mixture: Any, points: Array, masses: Array) -> None:
    """One standard deviation around each atom, as opaque as it is heavy."""
    h = mixture.kernel.h.double().expand(mixture.masses.shape)[0].numpy()[:, None]
    if isinstance(mixture, AxisMixture):
        h = h * mixture.widths[0].double().numpy()
    for z, mass, width in zip(points, masses, h, strict=True):
        size = 2 * width * law.scale
        ax.add_patch(
            Ellipse(tuple(z), *size, fill=False, color=SCALE, lw=0.8, alpha=mass / masses.max())
        )
