"""Scenarios: the modes of a law, each with its odds."""

from __future__ import annotations

__all__ = ["scenarios"]

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patheffects import withStroke

from vwta.distributions.scenarios import Scenarios
from vwta.distributions.scenarios import scenarios as find
from vwta.plot.laws import Laws, axes_for, label_of, one_row, outer
from vwta.plot.line import on_grid
from vwta.plot.plane import SQUARE, frame, grid_of
from vwta.style import CATEGORIES, style

HALO = [withStroke(linewidth=2, foreground="white")]


def scenarios(
    law: Laws, row: int = 0, *, min_mass: float = 0.05, valley: float = 0.2, ax: Axes | None = None
) -> Axes:
    """Draws the scenarios of a row, each in a colour of its own with its probability.

    Targets have one column or two. What belongs to no scenario is grey.

    Arguments:
        law: laws of targets.
        row: which of them.
        min_mass: smallest probability of a scenario.
        valley: density that separates two, see :mod:`vwta.distributions.scenarios`.
        ax: axes to draw on.
    """
    plane = law.targets.dimension == 2
    one = one_row(law, row, 2 if plane else 1, "scenarios")
    found = find(one.law, min_mass, valley)
    with style():
        ax = axes_for(ax, SQUARE if plane else (1.2, 0.8))
        (_in_the_plane if plane else _on_the_line)(ax, one, found)
    return ax


def _on_the_line(ax: Axes, law: Laws, found: Scenarios) -> None:
    y, p = on_grid(law)
    assert found.region is not None
    ends, peaks = outer(law, found.region), outer(law, found.peak)[:, 0]
    rest = ~((y[:, None] >= ends[:, 0]) & (y[:, None] <= ends[:, 1])).any(1)
    ax.fill_between(y, 0, p, where=rest.tolist(), color="0.8", lw=0)
    for rank, ((low, high), peak) in enumerate(zip(ends, peaks, strict=True)):
        color, inside = _color(rank), (y >= low) & (y <= high)
        ax.fill_between(y, 0, p, where=inside.tolist(), color=color, alpha=0.35, lw=0)
        ax.plot(y, np.where(inside, p, np.nan), color=color)
        _write(ax, found, rank, (peak, np.exp(law.log_prob([peak])[0])), "bottom")
    ax.set(xlabel=label_of(law), ylabel="density", xlim=(y[0], y[-1]))
    ax.set_ylim(0, 1.15 * p.max())


def _in_the_plane(ax: Axes, law: Laws, found: Scenarios) -> None:
    low, high = frame(ax, law, None)
    axes, log_p = grid_of(law, low, high)
    points = np.stack(np.meshgrid(*axes), -1).reshape(-1, 1, 2)
    scaled = torch.as_tensor(law.targets.scaled(points))
    rank = found.assign(law.law, scaled).reshape(log_p.shape).numpy()
    strength = np.sqrt(np.exp(log_p - log_p.max()))[..., None]
    count = max(1, len(found))
    palette = np.array([*(to_rgb(_color(k)) for k in range(count)), (0.6, 0.6, 0.6)])
    picture = 1 - strength * (1 - palette[rank])  # -1 is the last, grey
    ax.imshow(picture, extent=(low[0], high[0], low[1], high[1]), origin="lower", aspect="auto",
              interpolation="nearest", zorder=0)  # fmt: skip
    for k, at in enumerate(outer(law, found.mean)):
        ax.plot(*at, marker="o", color=_color(k), mec="white", mew=0.6, ms=5)
        _write(ax, found, k, tuple(at), "bottom")


def _write(ax: Axes, found: Scenarios, rank: int, at: Any, side: str) -> None:
    """The probability of a scenario above a point."""
    share = 100 * float(found.probability[rank])
    ax.annotate(f"{share:.0f} %" if share >= 1 else "< 1 %", at, (0, 6), textcoords="offset points",
                ha="center", va=side, color=_color(rank), weight="bold", zorder=5,
                path_effects=HALO)  # fmt: skip


def _color(rank: int) -> str:
    return CATEGORIES[rank % len(CATEGORIES)]
