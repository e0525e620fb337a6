"""Two moons that turn as x grows: a law in the plane whose shape depends on the input."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from vwta import VoronoiRegressor, plot


def moons(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points of two moons, turned by half a circle times x."""
    angle, upper = np.pi * rng.random(len(x)), rng.random(len(x)) < 0.5
    first = np.where(upper, np.cos(angle), 1 - np.cos(angle)) - 0.5
    second = np.where(upper, np.sin(angle), 0.5 - np.sin(angle)) - 0.25
    turn = np.pi * x
    y = np.stack([np.cos(turn) * first - np.sin(turn) * second,
                  np.sin(turn) * first + np.cos(turn) * second], 1)  # fmt: skip
    return y + 0.05 * rng.normal(size=y.shape)


@plot.style()
def main(steps: int = 400) -> Figure:
    rng = np.random.default_rng(0)
    x = rng.random(2000)
    model = VoronoiRegressor(24, head="voronoi", steps=steps, refit=False, random_state=0)
    model.fit(x[:, None], moons(x, rng))

    law = model.predict_dist([[0.0], [0.4]])
    figure, axes = plt.subplots(2, 2, figsize=(8, 6.5), layout="constrained")
    for row, (left, right) in enumerate(axes):
        plot.density2d(law, row, levels=[0.9], ax=left)
        plot.cells(law, row, y=moons(np.full(300, [0.0, 0.4][row]), rng), ax=right)
        left.set_title(f"x = {[0.0, 0.4][row]}", loc="right")
    return figure
