"""A diagnosis as a page: tables and pictures in one file."""

from __future__ import annotations

__all__ = ["report"]

import io
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from vwta import plot
from vwta.distributions.odds import Odds
from vwta.estimator.heads import HEADS
from vwta.estimator.predicted import PredictedLaw
from vwta.web.markup import element, join
from vwta.web.pages import document, picture

ADVICE = (
    "Higher log-likelihoods are better, and lower scores. A model whose log-likelihood is not "
    "above those without inputs has learned nothing from its inputs. If regions cover fewer "
    "targets than their name says, the model is too sure: calibrate it with rows that it has not "
    "seen, model.calibrate(X, y). If laws are right, their distribution functions at the targets, "
    "F(y), are uniform between 0 and 1: the share of rows with F(y) below .3 is about .3. The "
    "distance from uniform is the largest difference between such a share and its number; that of "
    "a right model stays below the limit given in 95 % of all cases. Errors of odds are mean "
    "distances of probabilities and shares."
)


def report(
    title: str,
    lines: Sequence[tuple[str, str]],
    law: PredictedLaw,
    y: NDArray[np.float64],
    odds: Mapping[str, Odds],
) -> str:
    """The page of a diagnosis.

    Arguments:
        title: of the page.
        lines: of the table, what was measured and the number as text.
        law: the laws, for pictures.
        y: their targets.
        odds: odds of cells, of scenarios, by what they are.
    """
    pictures = [
        (plot.calibration(law, y), "How often regions cover targets."),
        (plot.bandwidth(law, y), f"Log-likelihood against the {HEADS[law.head].number}."),
    ]
    for name, one in odds.items():
        axes = plot.odds(one.predicted, one.observed, one.count, what=name)
        pictures.append((axes, f"The odds of a {name}, and how often it has the target."))
    figures = [
        element("figure", picture(_png(ax), text), element("figcaption", text))
        for ax, text in pictures
    ]
    rows = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in lines
    ]
    body = [
        element("div", element("table", element("tbody", *rows)), class_="scroll"),
        element("p", ADVICE),
        element("h2", "Pictures"),
        element("div", join(figures), class_="pictures"),
    ]
    return document(title, body)


def _png(ax: Axes) -> bytes:
    """The picture that axes belong to, which is closed."""
    stream, figure = io.BytesIO(), ax.get_figure(root=True)
    assert figure is not None
    figure.savefig(stream, format="png", dpi=110)
    plt.close(figure)
    return stream.getvalue()
