"""Laws of one number: the density of a row, and regions along one feature."""

from __future__ import annotations

__all__ = ["density", "fan", "on_grid", "sweep"]

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from vwta.distributions.profile import kernels_of, profile_of
from vwta.plot.laws import Laws, axes_for, label_of, legend_above, one_row
from vwta.style import LINE, TARGET, style

GRID = 600
Array = NDArray[np.float64]


def on_grid(law: Laws) -> tuple[Array, Array]:
    """Density of one row's law, with all peaks and jumps: targets and densities, `(n,)` each."""
    low, high = (float(x) for x in law.quantile([0.001, 0.999]).reshape(2))
    pad = 0.06 * (high - low)
    low, high = low - pad, high + pad
    nodes = profile_of(kernels_of(law.law)).y.numpy()[0] * law.scale[0] + law.location[0]
    y = np.concatenate([np.linspace(low, high, GRID), nodes[(nodes > low) & (nodes < high)]])
    y = np.unique(y)
    return y, np.exp(law.log_prob(y[:, None])[..., 0])


def density(
    law: Laws, row: int = 0, *, y: float | None = None, level: float | None = 0.9,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draws the density of a row's law, and its highest-density region.

    Arguments:
        law: laws of targets of one column.
        row: which of them.
        y: the true target, if it is known.
        level: probability of the region; None for no region.
        ax: axes to draw on.
    """
    one = one_row(law, row, 1, "density")
    with style():
        ax = axes_for(ax)
        at, p = on_grid(one)
        ax.plot(at, p, color=LINE, label="density")
        if level is not None:
            ends = one.hdr(level).intervals.numpy()
            inside = ((at[:, None] >= ends[:, 0]) & (at[:, None] <= ends[:, 1])).any(1)
            ax.fill_between(at, 0, p, where=inside.tolist(), color=LINE, alpha=0.25, lw=0,
                            label=f"{100 * level:g} % region")  # fmt: skip
        if y is not None:
            ax.axvline(float(y), color=TARGET, ls="--", label="target")
        ax.set(xlabel=label_of(law), ylabel="density", xlim=(at[0], at[-1]))
        ax.set_ylim(0, 1.05 * p.max())
        legend_above(ax)
    return ax


def fan(
    law: Laws, x: ArrayLike, *, y: ArrayLike | None = None, y_at: ArrayLike | None = None,
    levels: Sequence[float] = (0.9, 0.5), label: str = "x", ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draws highest-density regions along one feature, such as those of rows of :func:`sweep`.

    Regions may have several parts: where a law has two modes, the fan has two blades.

    Arguments:
        law: laws of targets of one column, one for each value of the feature.
        x: these values, `(n,)`.
        y: true targets of rows, if they are known, `(m,)`.
        y_at: values of the feature of these rows, `(m,)`; `x` by default.
        levels: probabilities of the regions.
        label: name of the feature.
        ax: axes to draw on.
    """
    one_row(law, 0, 1, "fan")
    at = np.asarray(x, dtype=np.float64)
    if at.shape != (len(law),) or len(at) < 2:
        raise ValueError(f"x has shape {at.shape} for {len(law)} laws. Remedy: give (n,), n >= 2")
    order = np.argsort(at, kind="stable")
    ends = _edges(at[order])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    with style():
        ax = axes_for(ax)
        marks: list[Any] = []
        for shade, level in zip(_shades(len(levels)), sorted(levels, reverse=True), strict=True):
            region = law.hdr(level)
            column = place[region.row.numpy()]
            left, right = ends[column], ends[column + 1]
            low, high = region.intervals.numpy().T
            corners = np.stack(
                [np.stack(pair, -1) for pair in
                 ((left, low), (right, low), (right, high), (left, high))], 1
            )  # fmt: skip
            ax.add_collection(
                PolyCollection(list(corners), facecolors=shade, edgecolors=shade, linewidths=0.2)
            )
            marks.append(Patch(color=shade, label=f"{100 * level:g} %"))
        ax.plot(at[order], law.mean.reshape(-1)[order], color="black", lw=0.9, ls="--")
        marks.append(Line2D([], [], color="black", lw=0.9, ls="--", label="mean"))
        if y is not None:
            where = at if y_at is None else np.asarray(y_at, dtype=np.float64)
            ax.scatter(where, np.ravel(y), s=3, color=TARGET, alpha=0.6, lw=0, zorder=3)
            marks.append(Line2D([], [], color=TARGET, marker="o", ls="", ms=2, label="targets"))
        ax.autoscale_view()
        ax.set(xlabel=label, ylabel=label_of(law), xlim=(ends[0], ends[-1]))
        legend_above(ax, marks)
    return ax


def sweep(X: Any, feature: int | str, count: int = 200) -> tuple[Any, Array]:
    """Rows that differ in one feature alone: it goes through its range, others stay typical.

    Typical is the median of a column of numbers, and the most frequent value of any other column.

    Arguments:
        X: rows to learn typical values and the range from, a DataFrame or an array.
        feature: the column that varies, by its name, or by its place in an array.
        count: number of rows.

    Returns:
        The rows, a table like X, and the values of the feature, `(count,)`.

    Example:
        >>> rows, x = sweep(np.array([[0.0, 5.0], [2.0, 5.0], [1.0, 9.0]]), 0, count=3)
        >>> rows.tolist()
        [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]
    """
    if hasattr(X, "iloc"):
        if feature not in X.columns:
            known = ", ".join(repr(name) for name in X.columns)
            raise ValueError(f"feature {feature!r}. Remedy: choose one of {known}")
        typical = {name: _typical(X[name].dropna().to_numpy()) for name in X.columns}
        rows = type(X)({name: [value] * count for name, value in typical.items()})
        column = X[feature].dropna().to_numpy()
    else:
        rows = np.array([[_typical(each) for each in np.asarray(X).T]] * count)
        column = rows[:0, 0] if not isinstance(feature, int) else np.asarray(X)[:, feature]
    if not len(column) or column.dtype.kind not in "biuf":
        raise ValueError(f"feature {feature!r} has no numbers. Remedy: choose a column that has")
    values: Array = np.linspace(float(np.nanmin(column)), float(np.nanmax(column)), count)
    if hasattr(X, "iloc"):
        rows[feature] = values
    else:
        rows[:, feature] = values
    return rows, values


def _typical(column: Any) -> Any:
    """The median of numbers, the most frequent one of other values."""
    if column.dtype.kind in "biuf":
        return float(np.nanmedian(column))
    values, counts = np.unique(column.astype(str), return_counts=True)
    return values[counts.argmax()]


def _edges(at: Array) -> Array:
    """Borders `(n + 1,)` halfway between ascending places `(n,)`."""
    middle = (at[1:] + at[:-1]) / 2
    return np.concatenate([at[:1], middle, at[-1:]])


def _shades(count: int) -> list[Any]:
    """Shades of blue, the palest first."""
    parts = np.linspace(0.25, 0.6, count) if count > 1 else [0.4]
    base = np.array(to_rgba(LINE)[:3])
    return [tuple(1 - part * (1 - base)) for part in parts]
