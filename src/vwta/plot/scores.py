"""How good laws are: likelihood against the bandwidth, and calibration."""

from __future__ import annotations

__all__ = ["bandwidth", "calibration", "odds"]

import math

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from vwta.plot.laws import Laws, axes_for, legend_above
from vwta.style import LINE, SCALE, TARGET, style

FACTOR = 20.0  # by which bandwidths go down and up
STEPS = 41
Array = NDArray[np.float64]
BAND = 1.36  # of the Kolmogorov distance times the root of n: exceeded with probability .05


def bandwidth(law: Laws, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draws the mean log-likelihood of targets against the bandwidth of all laws.

    Where kernels have widths of their own it is a factor on all of them. The dot is where the model
    is.

    Arguments:
        law: laws of rows, best of such as the model has not seen.
        y: their targets.
        ax: axes to draw on.
    """
    numbers = law.number * np.geomspace(1 / FACTOR, FACTOR, STEPS)
    values = [float(law.with_number(s).log_prob(y).mean()) for s in numbers]
    here = values[STEPS // 2]
    with style():
        ax = axes_for(ax)
        ax.plot(numbers, values, color=LINE)
        ax.plot([law.number], [here], "o", color=SCALE, ms=5, label="the model")
        ax.set_xscale("log")
        one = law.head in ("voronoi", "kernel")
        what = "bandwidth h of scaled targets" if one else "factor on all widths"
        ax.set(xlabel=what, ylabel="mean log-likelihood")
        top = max(values)
        ax.set_ylim(min(min(values), top - 0.1) if top - min(values) < 6 else top - 6, top + 0.3)
        legend_above(ax)
    return ax


def calibration(law: Laws, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draws how often highest-density regions cover targets, against the probability they have.

    For targets of one column the distribution of F(y) is drawn too. Curves of a model that is right
    stay in the band with a probability of 95 %. If the model is calibrated, the third curve is that
    of the calibrated regions.

    Arguments:
        law: laws of rows, best of such as the model has not seen.
        y: their targets.
        ax: axes to draw on.
    """
    levels = np.linspace(0, 1, 101)
    ranks = np.sort(law.density_rank(y))
    band = BAND / math.sqrt(len(law))
    with style():
        ax = axes_for(ax, (1.0, 1.0))
        ax.fill_between(levels, levels - band, levels + band, color="0.9", lw=0, label="95 % band")
        ax.plot([0, 1], [0, 1], color="0.4", lw=0.8)
        ax.plot(levels, _share(ranks, levels), color=LINE, label="highest-density regions")
        if law.targets.dimension == 1:
            pit = np.sort(np.ravel(law.cdf(y)))
            ax.plot(levels, _share(pit, levels), color=SCALE, ls="--", label="F(y)")
        conformal = law.calibration
        if conformal is not None:
            count = len(conformal.scores)
            some = levels[(levels > 0) & (np.ceil((count + 1) * levels) <= count)]
            masses = np.array([conformal.mass(float(level)) for level in some])
            ax.plot(some, _share(ranks, masses), color=TARGET, ls="-.", label="calibrated regions")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set(xlabel="probability", ylabel="share of targets")
        ax.legend(loc="upper left")
    return ax


def odds(
    predicted: Array, observed: Array, count: NDArray[np.int64], *, what: str = "scenario",
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draws probabilities against how often their events took place, with two standard errors.

    Arguments:
        predicted: mean probability in each bin, `(b,)`, such as that of `Diagnosis.scenarios`.
        observed: share of events that took place.
        count: number of events.
        what: what has the probability.
        ax: axes to draw on.
    """
    with style():
        ax = axes_for(ax, (1.0, 1.0))
        ax.plot([0, 1], [0, 1], color="0.4", lw=0.8)
        error = np.sqrt(predicted * (1 - predicted) / count)
        ax.errorbar(predicted, observed, 2 * error, fmt="o", color=LINE, lw=0.8)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set(xlabel=f"probability of a {what}", ylabel="share of targets in it")
    return ax


def _share(values: Array, at: Array) -> Array:
    """Share of sorted values `(n,)` at or below others."""
    found: Array = np.searchsorted(values, at, side="right") / len(values)
    return found
