"""Laws of directions: densities on the whole sphere."""

from __future__ import annotations

__all__ = ["sphere"]

import math

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.angles import from_degrees, to_angles
from vwta.geometry.outlines import sphere_borders
from vwta.plot.laws import Laws, axes_for, members, one_row
from vwta.style import FILL, SCORES, TARGET, style

STEP = 1.0  # degrees between points of a border
Array = NDArray[np.float64]


def sphere(
    law: Laws, row: int = 0, *, y: ArrayLike | None = None, member: int = 0, ax: Axes | None = None
) -> Axes:
    """Draws the density of a row on the sphere, in Mollweide's projection, which keeps areas.

    Hypotheses are shaded by their masses, and borders of cells are drawn where kernels are cut.
    The first axis points at the middle of the picture, the second to the right, the third upwards.

    Arguments:
        law: laws of directions.
        row: which of them.
        y: true directions, `(3,)` or `(m, 3)`, if there are any.
        member: the network of an ensemble whose hypotheses are drawn.
        ax: axes to draw on, with the projection `mollweide`.
    """
    if law.targets.space != "sphere":
        raise ValueError("sphere is for directions. Remedy: take density2d or density")
    if ax is not None and ax.name != "mollweide":
        raise ValueError(f"axes of {ax.name!r}. Remedy: make them with projection='mollweide'")
    one = one_row(law, row, 3, "sphere")
    mixture = members(one.law)[member]
    with style():
        ax = axes_for(ax, (1.5, 0.9), "mollweide")
        azimuth, elevation = np.linspace(-180, 180, 241), np.linspace(-90, 90, 121)
        points = from_degrees(azimuth, elevation[:, None])
        p = np.exp(one.log_prob(points.reshape(-1, 1, 3)).reshape(points.shape[:2]))
        drawn = ax.pcolormesh(
            np.deg2rad(azimuth), np.deg2rad(elevation), p, cmap=FILL,
            norm=PowerNorm(0.5, 0, p.max()), shading="gouraud", rasterized=True, zorder=0,
        )  # fmt: skip
        ax.grid(True, alpha=0.3, lw=0.5)
        ax.set_xticks(np.deg2rad(range(-120, 121, 60)), [])
        ax.set_yticks(np.deg2rad(range(-60, 61, 30)), [])
        if isinstance(mixture, VoronoiMixture):
            for arc in sphere_borders(mixture.points[0], STEP):
                ax.plot(*_curve(arc), color="black", lw=0.5)
        masses = mixture.masses[0].double().numpy()
        ax.scatter(*_places(mixture.points[0]), s=16, c=masses, cmap=SCORES, vmin=0, zorder=3,
                   edgecolors="black", linewidths=0.5)  # fmt: skip
        if y is not None:
            known = torch.as_tensor(np.atleast_2d(np.asarray(y, dtype=np.float64)))
            ax.scatter(*_places(known), s=12, color=TARGET, edgecolors="white", linewidths=0.3,
                       zorder=4)  # fmt: skip
            mark = Line2D([], [], color=TARGET, marker="o", ls="", label="targets")
            ax.legend(handles=[mark], loc="lower left", bbox_to_anchor=(0, 0.98))
        ax.figure.colorbar(drawn, ax=ax, label="density", pad=0.02, aspect=25, shrink=0.8)
    return ax


def _places(points: Tensor) -> tuple[Array, Array]:
    """Azimuths and elevations in radians of unit vectors `(n, 3)`."""
    azimuth, elevation = to_angles(points.detach().double()).unbind(-1)
    return azimuth.numpy(), elevation.numpy()


def _curve(arc: Tensor) -> tuple[Array, Array]:
    """The same of points along an arc, broken where it passes behind the picture."""
    azimuth, elevation = _places(arc)
    jumps = np.flatnonzero(np.abs(np.diff(azimuth)) > math.pi / 2) + 1
    return np.insert(azimuth, jumps, np.nan), np.insert(elevation, jumps, np.nan)
