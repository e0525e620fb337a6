"""What pictures ask of predicted laws, and the axes that they are drawn on."""

from __future__ import annotations

__all__ = [
    "Laws",
    "axes_for",
    "label_of",
    "legend_above",
    "members",
    "one_row",
    "outer",
    "window",
]

from collections.abc import Sequence
from typing import Any, Protocol

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.distributions import Distribution

from vwta.distributions.average import Average
from vwta.style import COLUMN, style

SAMPLES = 1024  # by which the window of a picture in the plane is found
Array = NDArray[np.float64]


class Laws(Protocol):
    """Predicted laws of some rows, such as :class:`vwta.estimator.predicted.PredictedLaw`."""

    head: str
    number: float
    targets: Any
    calibration: Any

    def __len__(self) -> int: ...
    def __getitem__(self, rows: Any) -> Laws: ...
    @property
    def law(self) -> Distribution: ...
    @property
    def location(self) -> Array: ...
    @property
    def scale(self) -> Array: ...
    @property
    def mean(self) -> Array: ...
    def log_prob(self, y: ArrayLike) -> Array: ...
    def cdf(self, y: ArrayLike) -> Array: ...
    def quantile(self, q: ArrayLike) -> Array: ...
    def sample(self, n: int | None = None, random_state: int | None = None) -> Array: ...
    def hdr(self, level: float = 0.9) -> Any: ...
    def density_rank(self, y: ArrayLike) -> Array: ...
    def with_number(self, number: float) -> Laws: ...


def axes_for(ax: Axes | None, size: tuple[float, float] = (1.2, 0.8), kind: str = "") -> Axes:
    """The axes, or new ones: of a size in columns of the paper, in the style of our figures."""
    if ax is not None:
        return ax
    with style():
        figure = plt.figure(figsize=(size[0] * COLUMN, size[1] * COLUMN))
        return figure.add_subplot(projection=kind or None)


def one_row(law: Laws, row: int, dimension: int, what: str) -> Laws:
    """The law of one row, if its targets have so many columns."""
    d = law.targets.dimension
    if d != dimension:
        columns = "one column" if dimension == 1 else f"{dimension} columns"
        raise ValueError(
            f"{what} is for targets of {columns}, these have {d}. Remedy: "
            + ("take law.marginal(j)" if dimension == 1 else "take density(law.marginal(j))")
        )
    if not -len(law) <= row < len(law):
        raise ValueError(f"row {row} of {len(law)}. Remedy: count rows from 0")
    return law[row]


def label_of(law: Laws, axis: int = 0) -> str:
    """Name of a column of the targets."""
    names: Sequence[str] | None = law.targets.names
    d = law.targets.dimension
    return names[axis] if names else "y" if d == 1 else f"y[{axis}]"


def legend_above(ax: Axes, marks: list[Any] | None = None) -> None:
    """A legend in one line above the axes, where it hides nothing.

    A power of ten of all ticks would stand there, so that each tick has its own.
    """
    found = ax.get_legend_handles_labels()[0] if marks is None else marks
    ax.yaxis.set_major_formatter("{x:g}")
    ax.legend(
        handles=found, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=max(1, len(found)),
        borderaxespad=0.2, handlelength=1.2, columnspacing=1.0,
    )  # fmt: skip


def members(law: Distribution) -> list[Any]:
    """The laws of which one is the average, or the law itself."""
    return list(law.laws) if isinstance(law, Average) else [law]


def outer(law: Laws, scaled: Tensor) -> Array:
    """Scaled targets `(*, d)` in their own unit."""
    values: Array = scaled.detach().double().numpy() * law.scale + law.location
    return values


def window(law: Laws, y: Array | None = None) -> tuple[Array, Array]:
    """Lowest and highest corner `(2,)` of the part of the plane that one row's law fills.

    Arguments:
        law: of one row.
        y: points that lie in it too, `(m, 2)`.
    """
    points = law.sample(SAMPLES, random_state=0).reshape(-1, 2)
    low, high = np.quantile(points, [0.002, 0.998], axis=0)
    if y is not None:
        low, high = np.minimum(low, y.min(0)), np.maximum(high, y.max(0))
    pad = 0.08 * (high - low)
    low, high = low - pad, high + pad
    if law.targets.low is not None:
        low, high = np.maximum(low, law.targets.low), np.minimum(high, law.targets.high)
    return low, high
