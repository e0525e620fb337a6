"""Kinds of comparison on small tables: true, false, mixed, and with nothing to compare."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vwta.paper.verdicts.comparisons import KINDS, compare, rounded

H = [0.1, 0.5, 1.0]


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A selection; deviations are unknown and counts 1 unless given."""
    return pd.DataFrame([{"deviation": math.nan, "count": 1, **row} for row in rows])


def curve(values: list[float], along: str = "h", at: list[float] | None = None, **where: Any):
    """A selection of one curve."""
    points = (H if along == "h" else [9, 16, 100]) if at is None else at
    where = {"dataset": "moons", **where}
    return frame([{**where, along: x, "value": y} for x, y in zip(points, values, strict=True)])


def single(*values: float, K: int = 9, deviation: float = math.nan) -> pd.DataFrame:
    """A selection of data sets a, b, ... with one number each."""
    return frame(
        [
            {"dataset": name, "K": K, "value": value, "deviation": deviation}
            for name, value in zip("abc", values, strict=False)
        ]
    )


def held(kind: str, *frames: pd.DataFrame, **options: Any) -> list[bool]:
    return [case.holds for case in compare(kind, frames, options)]


NEAR = {"absolute": 0.1}


@pytest.mark.parametrize(
    ("kind", "frames", "options", "wanted"),
    [
        ("below", [single(1.0, 2.0), single(1.5, 1.5)], {}, [True, False]),
        ("below", [single(1.0), single(1.0)], {}, [False]),
        ("below", [single(1.0), single(1.0)], {"within": NEAR}, [True]),
        ("below", [single(1.05, 1.15), single(1.0, 1.0)], {"within": NEAR}, [True, False]),
        (
            "below",
            [single(1.1, 1.3), single(1.0, 1.0)],
            {"within": {"relative": 0.2}},
            [True, False],
        ),
        ("below", [single(1.0, K=9), single(2.0, K=16)], {}, []),
        ("below", [single(1.0, K=9), single(2.0, K=16)], {"ignore": ["K"]}, [True]),
        ("below", [single(math.nan), single(1.0)], {"within": NEAR}, [False]),
        ("below", [single(1.0), single(math.inf)], {}, [True]),
        ("coincide", [single(1.0, 1.0), single(1.05, 1.2)], {"within": NEAR}, [True, False]),
        ("ordering", [single(1.0, 1.0), single(2.0, 2.0), single(3.0, 2.0)], {}, [True, False]),
        ("bounded", [single(0.0, 0.5, 1.0)], {"low": 0.0, "high": 0.5}, [True, True, False]),
        ("bounded", [single(-5.0, 0.6)], {"high": 0.5}, [True, False]),
        ("finite", [single(1.0, math.inf, math.nan)], {}, [True, False, False]),
    ],
)
def test_numbers(
    kind: str, frames: list[pd.DataFrame], options: dict[str, Any], wanted: list[bool]
) -> None:
    assert held(kind, *frames, **options) == wanted


def test_deviations_of_both_are_allowed_for() -> None:
    """Root of the sum of squares: 0.5 for 0.3 and 0.4."""
    a, b = single(1.0, deviation=0.3), single(1.49, deviation=0.4)
    assert held("coincide", a, b, within={"deviations": 1.0}) == [True]
    assert held("coincide", a, single(1.51, deviation=0.4), within={"deviations": 1.0}) == [False]
    assert held("coincide", a, single(1.31), within={"deviations": 1.0}) == [
        False
    ]  # one is unknown


TOP = {"along": "h", "towards": "largest"}
LOW = {"along": "h", "towards": "smallest"}
ALONG_K = {"along": "K", "trend": 0.8}
SLOPE = {"along": "K", "low": -1.2, "high": -0.8}
# Verdicts that curves must get, beside a constant of 1 where two are compared.
CURVES = [
    ("tends_to", [3.0, 2.0, 1.05], {**TOP, "within": NEAR}, True),
    ("tends_to", [3.0, 2.0, 1.2], {**TOP, "within": NEAR}, False),
    ("tends_to", [1.0, 1.0, 1.05], {**TOP, "within": NEAR}, False),  # it departs
    ("tends_to", [1.05, 2.0, 3.0], {**LOW, "within": NEAR}, True),
    ("tends_to", [1.05, 2.0, 3.0], {**TOP, "within": NEAR}, False),
    ("settles", [3.0, 1.05, 1.0], {**TOP, "within": NEAR}, True),
    ("settles", [1.0, 1.0, 1.2], {**TOP, "within": NEAR}, False),
    ("settles", [1.0, 1.05, 3.0], {**LOW, "within": NEAR}, True),
    ("settles", [3.0, 11.0, 10.0], {**TOP, "within": {"relative": 0.1}}, True),
    ("diverges", [1.0, 2.0, 4.0], {**TOP, "by": 2.5}, True),
    ("diverges", [1.0, 2.0, 4.0], {**TOP, "by": 3.0}, False),  # not by more
    ("diverges", [1.0, 5.0, 4.0], {**TOP, "by": 2.5}, False),  # it falls again
    ("diverges", [4.0, 2.0, 1.0], {**LOW, "by": 2.5}, True),
    ("u_shape", [2.0, 1.0, 3.0], {"along": "h", "within": NEAR}, True),
    ("u_shape", [1.0, 2.0, 3.0], {"along": "h", "within": NEAR}, True),  # only the right arm
    ("u_shape", [3.0, 2.0, 1.0], {"along": "h", "within": NEAR}, False),  # only the left arm
    ("u_shape", [1.0, 3.0, 2.0], {"along": "h", "within": NEAR}, False),
    ("u_shape", [2.0, 1.0, 2.0, 1.05], {"along": "h", "within": NEAR}, False),
    ("u_shape", [2.0, 1.0, 2.0, 1.95], {"along": "h", "within": NEAR}, True),
    ("falls", [3.0, 2.0, 1.0], ALONG_K, True),
    ("falls", [3.0, 1.0, 2.0], ALONG_K, False),  # two of three pairs
    ("falls", [3.0, 1.0, 2.0], {"along": "K", "trend": 0.6}, True),
    ("falls", [3.0, math.nan, 1.0], ALONG_K, False),
    ("rises", [1.0, 2.0, 3.0], ALONG_K, True),
    ("rises", [1.0, 1.0, 1.0], ALONG_K, False),
    ("slope", [1 / 9, 1 / 16, 1 / 100], SLOPE, True),
    ("slope", [1 / 3, 1 / 4, 1 / 10], SLOPE, False),
    ("slope", [0.1, 0.0, -0.1], SLOPE, False),  # no logarithm
]


@pytest.mark.parametrize(("kind", "values", "options", "wanted"), CURVES)
def test_curves(kind: str, values: list[float], options: dict[str, Any], wanted: bool) -> None:
    at = [*H, 2.0] if len(values) == 4 else None
    frames = [curve(values, options["along"], at)]
    if kind == "tends_to":
        frames.append(single(1.0).drop(columns="K").assign(dataset="moons"))
    assert held(kind, *frames, **options) == [wanted]
    (case,) = compare(kind, frames, options)
    assert case.where["dataset"] == "moons"
    assert case.numbers
    assert case.margin >= 0 if wanted else case.margin <= 0


@pytest.mark.parametrize("kind", ["tends_to", "settles", "diverges"])
def test_curves_that_end_early_are_no_cases(kind: str) -> None:
    options = {"by": 0.5} if kind == "diverges" else {"within": NEAR}
    rows = [curve([3.0, 2.0, 1.0])] * (2 if kind == "tends_to" else 1)
    assert len(held(kind, *rows, **TOP, **options, reach=1.0)) == 1
    assert held(kind, *rows, **TOP, **options, reach=1.1) == []
    assert len(held(kind, *rows, **LOW, **options, reach=0.1)) == 1
    assert held(kind, *rows, **LOW, **options, reach=0.05) == []


def test_each_curve_is_a_case() -> None:
    up, down = (curve(v, K=K) for v, K in (([1.0, 2.0, 3.0], 9), ([3.0, 2.0, 1.0], 16)))
    cases = compare("rises", [pd.concat([up, down])], {"along": "h", "trend": 1.0})
    assert [(case.where, case.holds) for case in cases] == [
        ({"dataset": "moons", "K": 9}, True),
        ({"dataset": "moons", "K": 16}, False),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_gives_no_case(kind: str) -> None:
    empty = single(1.0).iloc[:0]
    terms = 2 if KINDS[kind].terms == ("terms",) else len(KINDS[kind].terms)
    assert compare(kind, [empty] * terms, {}) == []
    if terms == 2:
        assert compare(kind, [single(1.0), empty], {}) == []


@pytest.mark.parametrize("kind", [k for k in KINDS if "along" in KINDS[k].needs])
def test_a_point_is_no_curve(kind: str) -> None:
    options = {"along": "K", "towards": "largest", "within": NEAR, "by": 1.0, "trend": 1.0}
    options |= {"low": -1.0, "high": 1.0}
    wanted = {*KINDS[kind].needs, *KINDS[kind].options} - {"reach"}
    chosen = {key: value for key, value in options.items() if key in wanted}
    frames = [single(1.0)] * len(KINDS[kind].terms)
    assert compare(kind, frames, chosen) == []
    assert compare(kind, frames, {**chosen, "along": "h"}) == []  # which is no key of theirs


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (1234.5, "1234"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "not a number"),
        ([1.0, 2.5], "1, 2.5"),
        (np.float64(0.5), "0.5"),
    ],
)
def test_numbers_for_readers(value: Any, text: str) -> None:
    assert rounded(value) == text
