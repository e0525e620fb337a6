"""Where a walker is after five seconds: ahead, or around one of two corners."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from vwta import VoronoiRegressor, plot


@plot.style()
def main(steps: int = 400) -> Figure:
    rng = np.random.default_rng(0)
    n = 2000
    speed, lane = rng.uniform(0.8, 2.0, n), rng.uniform(-1, 1, n)
    odds = np.stack(
        [0.25 * (1 - lane), np.full(n, 0.5), 0.25 * (1 + lane)], 1
    )  # left, ahead, right
    turn = np.array([(rng.random() > row.cumsum()).sum() - 1 for row in odds])
    far = 5 * speed
    end = np.stack([lane + turn * 0.8 * far, np.where(turn == 0, far, 0.4 * far)], 1)
    end += 0.4 * rng.normal(size=end.shape)
    model = VoronoiRegressor(12, head="voronoi", steps=steps, refit=False, random_state=0)
    model.fit(np.stack([speed, lane], 1), end)

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", sharey=True)
    for ax, side in zip(axes, (-0.8, 0.8), strict=True):
        plot.scenarios(model.predict_dist([[1.5, side]]), ax=ax)
        ax.set(title=f"1.5 m/s, lane {side}", xlabel="metres to the right", ylabel="metres ahead")
    return figure
