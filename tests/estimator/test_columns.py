"""Columns of all kinds become numbers, in the same way in training and in prediction."""

import json

import numpy as np
import pandas as pd
import pytest

from vwta.estimator.columns import Columns, DataWarning


def test_numbers_are_standardised_and_missing_ones_marked() -> None:
    X = np.array([[1.0, 5.0], [3.0, np.nan], [5.0, 7.0], [7.0, 9.0]])
    found = Columns.learn(X).encode(X)
    assert found.shape == (4, 3)
    np.testing.assert_allclose(found[:, 0], (X[:, 0] - 4) / np.sqrt(5))
    np.testing.assert_allclose(found[:, 1:].T, [[-np.sqrt(2), 0, 0, np.sqrt(2)], [0, 1, 0, 0]])


def test_value_that_is_missing_in_prediction_alone_becomes_the_median() -> None:
    columns = Columns.learn(np.array([[1.0], [2.0], [9.0]]))
    new = columns.encode(np.array([[np.nan], [2.0]]))
    assert new[0] == new[1]
    assert columns.inputs == 1


@pytest.mark.parametrize("new", [1e9, 0.0])
def test_constant_column_becomes_zero(new: float) -> None:
    assert (Columns.learn(np.full((3, 1), 1e9)).encode(np.full((2, 1), new)) == 0).all()


def test_far_numbers_move_to_three_standard_deviations_beyond_the_training_values() -> None:
    columns = Columns.learn(np.array([[-1.0, 7.0], [1.0, 7.0]]))
    X = np.array([[0.0, 7.0], [-1e300, 7.0], [1e9, 8.0], [np.nan, 7.0]])
    np.testing.assert_allclose(columns.encode(X)[:, 0], [0, -4, 4, 0])
    message = (
        r"X, column 0, row 1 \(counted from 0\): -1e.300 is taken as -4, as .* -1 to 1; 2 such "
        "values; 2 such columns. Remedy: correct"
    )
    with pytest.warns(DataWarning, match=message):
        columns.warn_of_far(X)
    columns.warn_of_far(X[:1])


def test_categories_of_pandas() -> None:
    table = pd.DataFrame(
        {
            "kind": ["house", "flat", None, "house"],
            "size": pd.Categorical(["s", "m", "s", "s"]),
            "floor": pd.array([1, 2, None, 4], dtype="Int64"),
            "lift": [True, False, True, True],
        }
    )
    columns = Columns.learn(table)
    found = columns.encode(table)
    assert found.shape == (4, columns.inputs) == (4, 3 + 2 + 2 + 1)
    np.testing.assert_array_equal(found[:, :3], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    new = pd.DataFrame({"kind": ["tent"], "size": ["l"], "floor": [1.0], "lift": [False]})
    assert (columns.encode(new)[0, :5] == 0).all()  # unknown categories


def test_intervals_and_periods_of_pandas_are_categories() -> None:
    table = pd.DataFrame({"size": [1.0, 2.0, 9.0], "month": ["2020-01", "2020-02", "2020-01"]})
    table["size"] = pd.cut(table["size"], [0, 5, 10])
    table["month"] = pd.PeriodIndex(table["month"], freq="M")
    columns = Columns.learn(table)
    np.testing.assert_array_equal(columns.encode(table), [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]])
    again = Columns.from_json(json.loads(json.dumps(columns.to_json())))
    np.testing.assert_array_equal(again.encode(table), columns.encode(table))


def test_text_of_numbers_is_numbers() -> None:
    X = np.array([["1.5", "a"], ["2.5", "b"]], dtype=object)
    np.testing.assert_allclose(Columns.learn(X).encode(X)[:, 0], [-1, 1])


def test_json_keeps_everything() -> None:
    X = np.array([["red", 1.0], ["blue", np.nan], ["red", 3.0]], dtype=object)
    columns = Columns.learn(X)
    assert Columns.from_json(json.loads(json.dumps(columns.to_json()))) == columns


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (
            np.array([[1.0], [np.inf]]),
            ValueError,
            r"column 0, row 1: inf is not finite\. Remedy: correct",
        ),
        (np.full((3, 1), np.nan), ValueError, "column 0: all 3 values are missing. Remedy"),
        (pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}), TypeError, "'day' holds datetime"),
        (np.array([[{}]], dtype=object), TypeError, "must be a string or a number, found {}"),
    ],
)
def test_bad_column(X: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Columns.learn(X)


def test_text_where_numbers_were_in_training() -> None:
    columns = Columns.learn(np.array([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="column 0: 'many' is not a number, and all were"):
        columns.encode(np.array([["many"]], dtype=object))


def test_column_of_names_is_warned_of() -> None:
    X = np.array([[f"person {i}"] for i in range(200)], dtype=object)
    with pytest.warns(DataWarning, match="200 categories in 200 rows"):
        assert Columns.learn(X).inputs == 50
