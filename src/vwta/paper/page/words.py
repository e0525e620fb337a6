"""How names and numbers read on the page."""

from __future__ import annotations

__all__ = [
    "SIGNS",
    "chip",
    "label",
    "named",
    "number",
    "short",
    "slug",
    "study_name",
    "with_deviation",
]

import math
import re
from typing import Any

import pandas as pd

from vwta.paper.methods import METHODS
from vwta.paper.problems import PROBLEMS
from vwta.paper.studies import STUDIES
from vwta.paper.verdicts.comparisons import rounded
from vwta.web.markup import Html, element

METRICS = {"nll": "NLL", "emd": "EMD", "risk": "quantisation error", "rmse": "RMSE"}

# A verdict is told by colour, sign and word.
SIGNS = {
    "reproduced": "✓",
    "better": "▲",
    "worse": "▼",
    "quoted": "❝",
    "not comparable": "≠",
    "not run": "–",
    "holds": "✓",
    "mostly": "◕",
    "mixed": "◐",
    "rarely": "◔",
    "fails": "✗",
}


def chip(word: str) -> Html:
    """HTML of a verdict."""
    sign = element("span", SIGNS[word], aria_hidden="true")
    return element("span", sign, f" {word}", class_=f"chip {slug(word)}")


def slug(word: str) -> str:
    """A word as a class of CSS on the page."""
    return word.replace(" ", "-")


def label(name: str) -> str:
    """The name of a method, data set or metric on the page."""
    if name in METHODS:
        return METHODS[name].label
    if name in PROBLEMS:
        return PROBLEMS[name].title
    return METRICS.get(name) or name.replace("_", " ")


def named(words: str) -> str:
    """A name of several words on the page.

    Example:
        >>> named("search_v_wta")
        'search V-WTA'
    """
    for name in sorted({**METHODS, **METRICS}, key=len, reverse=True):
        words = re.sub(rf"(?<![^_]){name}(?![^_])", label(name), words)
    return words.replace("_", " ")


def study_name(study: str) -> str:
    """The name of a study on the page."""
    return STUDIES[study].title if study in STUDIES else study


def number(value: Any) -> str:
    """A number on the page; a dash if there is none."""
    if pd.isna(value):
        return "–"
    return (
        str(int(value)) if float(value).is_integer() and abs(value) < 1e6 else rounded(float(value))
    )


def with_deviation(value: Any, deviation: Any) -> str:
    """A number and its standard deviation on the page."""
    if pd.isna(value) or math.isnan(value):
        return "–"
    return rounded(float(value)) + ("" if pd.isna(deviation) else f" ± {rounded(float(deviation))}")


def short(revision: str) -> str:
    """A revision in few letters on the page, which tells whether the tree differed from it."""
    name, mark, _ = revision.partition("-dirty")
    return name[:10] + mark
