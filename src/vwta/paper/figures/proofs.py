"""Pictures of two proofs, from trained cells: the largest ball without atoms, and a set's cells."""

from __future__ import annotations

__all__ = ["proof_partition", "proof_radius"]

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Polygon
from matplotlib.patches import Rectangle as Box2D
from torch import Tensor

from vwta.geometry.outlines import Outlines
from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors
from vwta.paper.figures.qualitative import TARGET, Prediction, at_input, frame, square_panels
from vwta.paper.figures.style import COLUMN, save, style
from vwta.paper.theory.convex_sets import Disc, HalfPlane, Rectangle, Region, partition

BALLS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INNER, OUTER, AROUND = "#56B4E9", "#E69F00", "#FBE9C6"


def proof_radius(predictions: Sequence[Path], paths: Sequence[Path], x: float, domain: Box) -> None:
    r"""Draws the largest ball without atoms, for several K, then all of these balls together.

    Its centre :math:`a_K` is the point of the domain farthest from all atoms, a corner of cells,
    and its radius :math:`r_K` the distance to the nearest ones.

    Arguments:
        predictions: files of predictions, one for each K.
        paths: files to write, in the format of their suffix.
        x: the input.
        domain: the square, which cuts the cells.
    """
    chosen = _read(predictions, x)
    with style():
        size = (0.62 * COLUMN * (len(chosen) + 1), 0.62 * COLUMN + 0.45)
        figure, axes = square_panels(1, len(chosen) + 1, size)
        last = axes[0, -1]
        frame(last, next(iter(chosen.values())), domain)
        last.set_title("balls $B(a_K, r_K)$")
        for color, axis, (K, one) in zip(BALLS, axes[0], chosen.items(), strict=False):
            cells = Outlines(one.points[None], domain)
            centre, radius = (value[0] for value in cells.farthest())
            frame(axis, one, domain)
            _outlines(axis, cells)
            axis.plot(*one.points.T.numpy(), "o", color="black", ms=2.5, zorder=3, clip_on=False)
            _ball(axis, centre, radius.item(), one.points, color)
            axis.set_title(f"$K = {K}$, $r_K = {radius.item():.2f}$")
            last.add_patch(_circle(centre, radius.item(), color, label=f"$K = {K}$"))
        handles = [
            Line2D([], [], ls="", marker="o", color="black", ms=2.5, label="hypotheses"),
            Line2D([], [], ls="", marker=".", color=TARGET, ms=3, label="targets"),
            Line2D([], [], ls="", marker="*", color="0.4", ms=8, label="$a_K$"),
            *(_ball_handle(color, K) for color, K in zip(BALLS, chosen, strict=False)),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        save(figure, paths)


def proof_partition(
    predictions: Sequence[Path], paths: Sequence[Path], x: float, domain: Box, chosen: Region
) -> None:
    """Draws which cells lie in a set and which its border cuts, for several K.

    Titles give the score of the cells that are cut, which bounds the error of the set's
    probability for exact scores.

    Arguments:
        predictions: files of predictions, one for each K.
        paths: files to write, in the format of their suffix.
        x: the input.
        domain: the square, which cuts the cells.
        chosen: the set.
    """
    panels = _read(predictions, x)
    with style():
        size = (0.72 * COLUMN * len(panels), 0.72 * COLUMN + 0.45)
        figure, axes = square_panels(1, len(panels), size)
        for axis, (K, one) in zip(axes[0], panels.items(), strict=True):
            cells = Outlines(one.points[None], domain)
            inside, cut = (mask[0] for mask in partition(cells, chosen))
            frame(axis, one, domain)
            axis.collections[0].remove()  # the targets would hide the colours
            border = _patch(chosen, domain, fill=False, color="black", lw=1.4, zorder=4)
            axis.add_patch(border)
            _fill(axis, cells, inside, INNER)
            _fill(axis, cells, cut, AROUND)
            _fill(axis, cells, cut, OUTER).set_clip_path(border)
            _outlines(axis, cells)
            axis.plot(*one.points.T.numpy(), "o", color="black", ms=2.2, zorder=3, clip_on=False)
            mass = one.masses[cut].sum().item()
            axis.set_title(f"$K = {K}$, score of cut cells {mass:.2f}")
        handles: list[Patch | Line2D] = [
            Patch(color=INNER, label=r"$E^{\mathrm{int}}$: cells in $E$"),
            Patch(color=OUTER, label=r"$E^{\mathrm{ext}}$: parts in $E$ of cells that are cut"),
            Patch(color=AROUND, label="the rest of these cells"),
            Line2D([], [], color="black", lw=1.4, label=r"border of $E$"),
        ]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=2 if len(panels) < 3 else 4
        )
        save(figure, paths)


def _read(predictions: Sequence[Path], x: float) -> dict[int, Prediction]:
    """Predictions at an input, by K."""
    found = {}
    for path in predictions:
        tensors, facts = read_tensors(path)
        found[facts["K"]] = at_input(tensors, x)
    return dict(sorted(found.items()))


def _corners(cells: Outlines) -> list[np.ndarray]:
    """Corners of the cells of one input."""
    return list((cells.points[0, :, None] + cells.corners[0]).numpy())


def _outlines(axis: Axes, cells: Outlines) -> None:
    axis.add_collection(
        PolyCollection(
            _corners(cells), facecolors="none", edgecolors="black", linewidths=0.4, zorder=2
        )
    )


def _fill(axis: Axes, cells: Outlines, chosen: Tensor, color: str) -> PolyCollection:
    shapes = [shape for shape, use in zip(_corners(cells), chosen.tolist(), strict=True) if use]
    area = PolyCollection(shapes, facecolors=color, edgecolors="none", zorder=1)
    axis.add_collection(area)
    return area


def _ball(axis: Axes, centre: Tensor, radius: float, points: Tensor, color: str) -> None:
    """A ball, and a line from its centre to the atoms on its border."""
    axis.add_patch(_circle(centre, radius, color, label=None))
    distance = (points - centre).square().sum(-1).sqrt()
    for z in points[distance < radius * (1 + 1e-6)].tolist():
        start = centre.tolist()
        axis.plot([start[0], z[0]], [start[1], z[1]], color=color, lw=1, zorder=4)
    axis.plot(
        *centre.tolist(), "*", color=color, ms=8, mec="white", mew=0.5, zorder=5, clip_on=False
    )


def _circle(centre: Tensor, radius: float, color: str, label: str | None) -> Circle:
    middle = (centre[0].item(), centre[1].item())
    look: dict[str, Any] = {"fc": to_rgba(color, 0.15), "ec": color, "lw": 1.2, "zorder": 3}
    return Circle(middle, radius, label=label, **look)


def _ball_handle(color: str, K: int) -> Patch:
    return Patch(fc=to_rgba(color, 0.15), ec=color, label=f"$B(a_{{{K}}}, r_{{{K}}})$")


def _patch(one: Region, domain: Box, **look: Any) -> Patch:
    """A set, to be drawn within the domain."""
    if isinstance(one, Disc):
        return Circle((one.centre[0], one.centre[1]), one.radius, **look)
    if isinstance(one, Rectangle):
        sides = [high - low for low, high in zip(one.low, one.high, strict=True)]
        return Box2D((one.low[0], one.low[1]), *sides, **look)
    if isinstance(one, HalfPlane):
        normal = np.array([math.cos(one.angle), math.sin(one.angle)])
        along = np.array([-normal[1], normal[0]])
        far = 10 * float((domain.high - domain.low).max())
        edge = one.offset * normal
        outside = [edge - far * along, edge + far * along]
        return Polygon([*outside, *(end - far * normal for end in reversed(outside))], **look)
    raise TypeError(f"{one} cannot be drawn: expected a box, a half plane or a disc")
