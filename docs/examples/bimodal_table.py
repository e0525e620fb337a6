"""A table with a bimodal target: houses with a view, which no column tells, cost twice as much."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vwta import VoronoiRegressor, plot


@plot.style()
def main(steps: int = 400) -> Figure:
    rng = np.random.default_rng(0)
    n = 800
    houses = pd.DataFrame(
        {"area": rng.uniform(50, 150, n), "kind": rng.choice(["flat", "house"], n)}
    )
    view = rng.random(n) < np.where(houses["kind"] == "house", 0.6, 0.2)
    noise = rng.normal(0, 15_000, n)
    price = (1000 * houses["area"] * np.where(view, 4, 2) + noise).rename("price")
    model = VoronoiRegressor(8, head="voronoi", steps=steps, random_state=0).fit(houses, price)

    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
    rows, area = plot.sweep(houses.assign(kind="house"), "area")
    house = (houses["kind"] == "house").to_numpy()
    plot.fan(model.predict_dist(rows), area, y=price[house], y_at=houses["area"][house],
             label="area of a house", ax=left)  # fmt: skip
    new = pd.DataFrame({"area": [100.0], "kind": ["house"]})
    plot.scenarios(model.predict_dist(new), ax=right)
    return figure
