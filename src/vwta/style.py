"""One look for all pictures, those of the paper's reproduction among them."""

from __future__ import annotations

__all__ = ["CATEGORIES", "COLUMN", "FILL", "LINE", "SCALE", "SCORES", "TARGET", "shade", "style"]

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb

COLUMN = 3.25  # width of a column of the paper, in inches
# Colours of Okabe and Ito, which colour-blind readers can tell apart.
CATEGORIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINE, SCALE, TARGET = CATEGORIES[:3]
# Blues without their palest part, which would be lost on white.
SCORES = LinearSegmentedColormap.from_list("scores", plt.get_cmap("Blues")(np.linspace(0.2, 1)))
# From white to the blue of lines, for densities below other marks.
FILL = LinearSegmentedColormap.from_list("density", ["#FFFFFF", "#CDE3F5", "#82BAE4", "#3E8AC9"])


def shade(color: str, part: float) -> tuple[float, float, float]:
    """A darker shade of a colour, with this part of its brightness."""
    red, green, blue = to_rgb(color)
    return red * part, green * part, blue * part


@contextmanager
def style() -> Iterator[None]:
    """The look of our figures: a context, or a decorator, in which axes are made and drawn."""
    settings: dict[Any, Any] = {
        "font.size": 8,
        "axes.titlesize": 9,
        "axes.labelsize": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "grid.linewidth": 0.5,
        "legend.fontsize": 7,
        "legend.frameon": False,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "figure.constrained_layout.use": True,
        "savefig.dpi": 200,
        "pdf.fonttype": 42,  # text stays text
    }
    with plt.rc_context(settings):
        yield
