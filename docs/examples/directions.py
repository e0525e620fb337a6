"""Directions: a sound comes from where it is, or from its mirror image behind a wall."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from vwta import VoronoiRegressor, plot


@plot.style()
def main(steps: int = 400) -> Figure:
    rng = np.random.default_rng(0)
    n = 1500
    x = rng.uniform(-1, 1, n)
    mirrored = rng.random(n) < 0.3
    azimuth, elevation = np.where(mirrored, np.pi - x, x), 0.6 * x
    y = np.stack([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation),
                  np.sin(elevation)], 1) + 0.1 * rng.normal(size=(n, 3))  # fmt: skip
    y /= np.linalg.norm(y, axis=1, keepdims=True)  # unit vectors are recognised as directions
    model = VoronoiRegressor(8, head="voronoi", steps=steps, refit=False, random_state=0)
    model.fit(x[:, None], y)

    law = model.predict_dist([[0.8]])
    figure = plt.figure(figsize=(6.5, 3.4), layout="constrained")
    near = y[np.abs(x - 0.8) < 0.05]
    plot.sphere(law, y=near, ax=figure.add_subplot(projection="mollweide"))
    return figure
