"""Comparing heads: densities at x = .5 beside the true law (dashed), and log-likelihoods."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from vwta import VoronoiRegressor, plot


@plot.style()
def main(steps: int = 400) -> Figure:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1600, 1))
    y = rng.choice([-1, 1], 1600, p=[0.3, 0.7]) * (2 + X[:, 0]) + rng.uniform(-0.5, 0.5, 1600)
    figure, axes = plt.subplots(1, 5, figsize=(11, 2.8), layout="constrained", sharey=True)
    heads = ("voronoi", "kernel", "mdn", "local", "continuous")
    for ax, head in zip(axes, heads, strict=True):
        model = VoronoiRegressor(8, head=head, steps=steps, refit=False, random_state=0)
        model.fit(X[:1000], y[:1000])
        plot.density(model.predict_dist([[0.5]]), ax=ax)
        ax.plot([-3, -3, -2, -2, 2, 2, 3, 3], [0, 0.3, 0.3, 0, 0, 0.7, 0.7, 0], "k--", lw=0.9)
        found = model.diagnose(X[1000:], y[1000:]).log_likelihood["model"]
        ax.set_title(f"{head}\n{found.mean:.2f} ± {found.error:.2f}")
        ax.set_xlim(-4, 4)
        ax.get_legend().remove()
        ax.label_outer()
    axes[0].set_ylim(0, 1.05 * max(line.get_ydata().max() for ax in axes for line in ax.lines))
    return figure
