"""Comparing heads on one target: cut kernels, uncut kernels, and a mixture density network."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from vwta import VoronoiRegressor, plot


@plot.style()
def main(steps: int = 400) -> Figure:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1600, 1))
    y = rng.choice([-1, 1], 1600, p=[0.3, 0.7]) * (2 + X[:, 0]) + rng.uniform(-0.5, 0.5, 1600)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained", sharey=True)
    for ax, head in zip(axes, ("voronoi", "kernel", "mdn"), strict=True):
        model = VoronoiRegressor(8, head=head, steps=steps, refit=False, random_state=0)
        model.fit(X[:1000], y[:1000])
        plot.density(model.predict_dist([[0.5]]), ax=ax)
        found = model.diagnose(X[1000:], y[1000:]).log_likelihood["model"]
        ax.set_title(f"{head}: {found.mean:.2f} ± {found.error:.2f}", loc="right", y=1.1)
    return figure
