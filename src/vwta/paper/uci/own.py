"""A user's own table: a CSV file with a header, numbers in all its cells, and a target column."""

from __future__ import annotations

__all__ = ["read_csv"]

import csv
import math
from array import array
from collections import Counter
from collections.abc import Generator
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from vwta.io.errors import BadTable
from vwta.paper.uci.regression import Table


def read_csv(path: Path, target: str, delimiter: str = ",") -> Table:
    """Reads a user's own table for the UCI study from a UTF-8 CSV file.

    Whatever is wrong with it is said with its line.

    Arguments:
        path: the file. Its first line names the columns.
        target: name of the column to predict; all others are inputs.
        delimiter: separates cells.
    """
    cells = array("d")
    with closing(_lines(path)) as lines:  # the file with it, whatever is raised below
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            names = _header(path, next(reader, None), target, delimiter)
            for row in reader:
                if row:  # an empty line is none
                    cells.extend(_numbers(path, names, row, reader.line_num))
        except csv.Error as error:
            raise BadTable(
                f"{path}, line {reader.line_num}: {error}. Remedy: check quotes and line ends there"
            ) from error
    matrix = np.frombuffer(cells, dtype=np.float64).reshape(-1, len(names))
    place = names.index(target)
    _check_target(path, target, matrix[:, place])
    return Table(
        name=path.stem,
        inputs=np.delete(matrix, place, axis=1),
        target=matrix[:, place].copy(),
        columns=tuple(name for name in names if name != target),
        label=target,
    )


def _lines(path: Path) -> Generator[str, None, None]:
    """The lines of a file as text; what cannot be opened or decoded is a :class:`BadTable`."""
    try:
        file = path.open("rb")
    except FileNotFoundError as error:
        raise BadTable(f"{path}: no such file. Remedy: check the path") from error
    except OSError as error:
        remedy = "Remedy: name a CSV file that may be read"
        raise BadTable(f"{path}: {error.strerror}. {remedy}") from error
    with file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise BadTable(
                    f"{path}, line {number}: byte {error.start + 1} of the line "
                    f"(0x{error.object[error.start]:02x}) is not UTF-8. "
                    "Remedy: save the file with the encoding UTF-8"
                ) from error


def _header(path: Path, names: list[str] | None, target: str, delimiter: str) -> list[str]:
    if not names or names == [""]:
        raise BadTable(
            f"{path}, line 1: the file is empty. Remedy: the first line must name the columns"
        )
    names = [name.strip() for name in names]
    for place, name in enumerate(names, 1):
        if not name:
            raise BadTable(f"{path}, line 1: column {place} has no name. Remedy: give it one")
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise BadTable(
            f"{path}, line 1: {times} columns are called {name!r}. Remedy: rename all but one"
        )
    if target not in names:
        close = get_close_matches(target, names, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        other = next((sign for sign in ";\t," if sign != delimiter and sign in names[0]), None)
        remedy = f"read it with delimiter={other!r}" if other else "name one of these as target"
        raise BadTable(
            f"{path}, line 1: there is no column {target!r}{hint}; the columns are "
            f"{', '.join(map(repr, names))}. Remedy: {remedy}"
        )
    if len(names) == 1:
        raise BadTable(
            f"{path}, line 1: {target!r} is the only column. Remedy: add a column of inputs"
        )
    return names


def _numbers(path: Path, names: list[str], row: list[str], line: int) -> list[float]:
    if len(row) != len(names):
        raise BadTable(
            f"{path}, line {line}: {len(row)} cells where the header has {len(names)} columns. "
            "Remedy: complete the line or remove it"
        )
    numbers = []
    for name, cell in zip(names, row, strict=True):
        number = _number(cell)
        if not math.isfinite(number):
            what = (
                f"{cell.strip()!r} is not a finite number" if cell.strip() else "the cell is empty"
            )
            raise BadTable(
                f"{path}, line {line}, column {name!r}: {what}. "
                "Remedy: put a number there, or remove the line or the column"
            )
        numbers.append(number)
    return numbers


def _number(cell: str) -> float:
    """Number in a cell, nan if there is none; Python's 1_000 is none."""
    try:
        return float(cell) if "_" not in cell else math.nan
    except ValueError:
        return math.nan


def _check_target(path: Path, target: str, values: np.ndarray) -> None:
    if len(values) < 2:
        found = "no row" if len(values) == 0 else "only one row"
        raise BadTable(
            f"{path}, line {len(values) + 2}: {found} below the header. Remedy: at least 2 rows "
            "are needed, to train and to test"
        )
    if (values == values[0]).all():
        raise BadTable(
            f"{path}, column {target!r}: all {len(values)} lines from line 2 on hold {values[0]}. "
            "Remedy: choose a target that varies"
        )
