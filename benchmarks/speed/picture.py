"""The figure: CPU time of all sides against the size, a panel for each job."""

from __future__ import annotations

__all__ = ["write_figure"]

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from table import exponent

from vwta.io.storage import atomic
from vwta.style import CATEGORIES, style

COLUMNS = 2


def write_figure(table: pd.DataFrame, path: Path) -> None:
    """A panel for each job, a line for each side with its growth and its largest error."""
    jobs = list(dict.fromkeys(table["job"]))
    count = -(-len(jobs) // COLUMNS)
    with style():
        figure, axes = plt.subplots(count, COLUMNS, figsize=(7.2, 2.35 * count), squeeze=False)
        for ax, job in zip(axes.flat, jobs, strict=False):
            _panel(ax, table[table["job"] == job])
        for ax in axes.flat[len(jobs) :]:
            ax.set_axis_off()
        for ax in axes[:, 0]:
            ax.set_ylabel("CPU time (s)")
        with atomic(path) as temporary:
            figure.savefig(temporary, dpi=130, format="png")
        plt.close(figure)


def _panel(ax: plt.Axes, rows: pd.DataFrame) -> None:
    first = rows.iloc[0]
    for k, side in enumerate(dict.fromkeys(rows["side"])):
        own = rows[rows["side"] == side]
        error = own["error"].max()
        error_text = "reference" if pd.isna(error) else f"error {error:.0e}"
        label = f"{side}: {first['size']}$^{{{exponent(own):.1f}}}$, {error_text}"
        look = {"lw": 1.8, "zorder": 3} if side == "vwta" else {"lw": 1.0, "mfc": "white"}
        ax.plot(
            own["n"], own["seconds"], f"{'osD^vP'[k]}-", color=CATEGORIES[k], label=label, **look
        )
    ax.set(xscale="log", yscale="log", xlabel=first["size"])
    ax.set_title(f"{first['title']}, {first['space']}", loc="left", fontsize=8)
    low, high = rows["seconds"].min(), rows["seconds"].max()
    ax.set_ylim(low / 2, high * (high / low) ** 0.55 * 2)  # room for the legend
    ax.legend(loc="upper left", fontsize=6.2, handlelength=1.6, labelspacing=0.25)
