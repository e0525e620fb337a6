"""Calibration: a model of 40 rows is too sure; conformal regions still keep their promise."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from vwta import VoronoiRegressor, plot


@plot.style()
def main(steps: int = 400) -> Figure:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1600, 1))
    y = np.sin(2 * X[:, 0]) + (0.1 + 0.3 * np.abs(X[:, 0])) * rng.standard_t(4, 1600)
    fit, held, test = slice(0, 40), slice(40, 540), slice(540, None)
    model = VoronoiRegressor(8, head="voronoi", steps=steps, weight_decay=0.0, random_state=0)
    model.fit(X[fit], y[fit]).calibrate(X[held], y[held])

    law = model.predict_dist(X[test])
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
    plot.calibration(law, y[test], ax=left)
    x = np.linspace(-2, 2, 200)
    plot.fan(model.predict_dist(x[:, None]), x, y=y[test], y_at=X[test, 0], levels=[0.9], ax=right)
    right.set_title(f"{100 * law.covers(y[test]).mean():.0f} % covered", loc="right", fontsize=8)
    return figure
