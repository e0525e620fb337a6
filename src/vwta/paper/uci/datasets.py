"""The ten UCI data sets: from the official files to the benchmark's matrices, bit for bit.

Besides, four data sets out of Python packages, on which no method was designed.
"""

from __future__ import annotations

__all__ = ["FORMATS", "official_splits", "read"]

import bz2
import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vwta.io.errors import BadTable, Mismatch
from vwta.paper.uci.regression import Split, Table, matrix_sha256, splits

Matrix = NDArray[np.float64]
Reader = Callable[[Path], tuple[Matrix, Sequence[str]]]

BOSTON = "CRIM, ZN, INDUS, CHAS, NOX, RM, AGE, DIS, RAD, TAX, PTRATIO, B, LSTAT, MEDV"
NAVAL = "lp, v, GTT, GTn, GGn, Ts, Tp, T48, T1, T2, P48, P1, P2, Pexh, TIC, mf, kMc, kMt"
YACHT = (
    "longitudinal position, prismatic coefficient, length-displacement ratio, beam-draught ratio, "
    "length-beam ratio, Froude number, residuary resistance"
)
TWOYEAR = (
    "female, phsrank, BA, AA, black, hispanic, exper, jc, univ, stotal, smcity, medcity, submed, "
    "lgcity, sublg, vlgcity, subvlg, ne, nc, south, lwage"
)
K401KSUBS = "e401k, inc, marr, male, age, fsize, p401k, pira, nettfa"
CATHOLIC = (
    "read12, female, asian, hispan, black, motheduc, fatheduc, lfaminc, cathhs, parcath, math12"
)
DIAMONDS = "carat, cut, color, clarity, depth, table, x, y, z, price"
# Words that stand for places in an order, from the worst to the best.
ORDERS = {
    "cut": "Fair, Good, Very Good, Premium, Ideal",
    "color": "J, I, H, G, F, E, D",
    "clarity": "I1, SI2, SI1, VS2, VS1, VVS2, VVS1, IF",
}
YEAR = [f"timbre {index}" for index in range(90)]
YEAR_TRAIN = 463_715  # the first so many rows: no artist is on both sides
BLOCK = 16 * 2**20  # bytes of text that are parsed at a time


@dataclass(frozen=True)
class Format:
    """How the file of a UCI data set is read.

    Arguments:
        read: gives the benchmark's matrix with shape `(N, c)` and its `c` names.
        inputs: so many columns are the inputs, the next one is the target.
        columns: so many the matrix must have.
    """

    read: Reader
    inputs: int
    columns: int


def read(name: str, path: Path, sha256: str | None = None) -> Table:
    """Reads a UCI data set from its official file.

    Arguments:
        name: one of :data:`FORMATS`.
        path: the file.
        sha256: what :func:`vwta.paper.uci.regression.matrix_sha256` must give for the benchmark's
            matrix, unless it is unknown.
    """
    rule = FORMATS[name]
    try:
        matrix, names = rule.read(path)
    except (ArithmeticError, ValueError, TypeError, KeyError, IndexError) as error:
        raise BadTable(f"{path} is not the file of {name}: {error}. {_REMEDY}") from error
    if matrix.ndim != 2 or matrix.shape[1] != rule.columns:
        raise BadTable(
            f"{path} is not the file of {name}: a table of shape {matrix.shape} was found, "
            f"{rule.columns} columns are expected. {_REMEDY}"
        )
    found = matrix_sha256(matrix) if sha256 else None
    if found != sha256:
        raise Mismatch(
            f"{path}: the table of {name} has other numbers than the benchmark's: "
            f"sha256 {sha256} is expected, {found} was found. {_REMEDY}"
        )
    d = rule.inputs
    return Table(
        name=name,
        inputs=np.ascontiguousarray(matrix[:, :d]),
        target=np.ascontiguousarray(matrix[:, d]),
        columns=tuple(names[:d]),
        label=names[d],
    )


def official_splits(name: str, rows: int, count: int) -> list[Split]:
    """The benchmark's splits of a UCI data set: random, but for year, whose one is its authors'.

    Arguments:
        name: name of the data set.
        rows: number of its rows.
        count: number of splits.
    """
    if name != "year":
        return splits(rows, count)
    if count != 1 or rows <= YEAR_TRAIN:
        raise ValueError(f"year has 1 split, of more than {YEAR_TRAIN} rows: not {count} of {rows}")
    order = np.arange(rows, dtype=np.int64)
    return [Split(order[:YEAR_TRAIN], order[YEAR_TRAIN:])]


def _blanks(names: str) -> Reader:
    """Numbers between any number of blanks, no header; empty lines do not count."""
    return lambda path: (np.loadtxt(path, ndmin=2), names.split(", "))


def _delimited(delimiter: str, target_first: bool = False) -> Reader:
    """A header, and numbers between delimiters."""

    def read(path: Path) -> tuple[Matrix, Sequence[str]]:
        with path.open(encoding="utf-8") as file:
            names = [name.strip().strip('"') for name in file.readline().split(delimiter)]
            matrix = np.loadtxt(file, delimiter=delimiter, ndmin=2)
        if target_first:
            return np.roll(matrix, -1, axis=1), [*names[1:], names[0]]
        return matrix, names

    return read


def _chosen(names: str, orders: Mapping[str, str] | None = None) -> Reader:
    """Some columns of a table with a header, which may be compressed; words are places 0, 1, ..."""
    columns = names.split(", ")
    places = {
        column: {word: str(place) for place, word in enumerate(words.split(", "))}
        for column, words in (orders or {}).items()
    }

    def read(path: Path) -> tuple[Matrix, Sequence[str]]:
        lines = _text(path).splitlines()
        rows = [
            [places[name][row[name]] if name in places else row[name] for name in columns]
            for row in csv.DictReader(lines)
        ]
        return np.array(rows, dtype=np.float64), columns

    return read


def _text(path: Path) -> str:
    """The text of a file, which may be compressed."""
    content = path.read_bytes()
    if path.suffix != ".bz2":
        return content.decode()
    try:
        return bz2.decompress(content).decode()
    except OSError as error:
        raise ValueError(str(error)) from error


def _concrete(path: Path) -> tuple[Matrix, Sequence[str]]:
    """Rounded as the benchmark was: inputs but the age to 1 decimal, the target to 2."""
    import xlrd

    with _workbook():
        sheet = xlrd.open_workbook(str(path)).sheet_by_index(0)
        rows = [sheet.row_values(row) for row in range(sheet.nrows)]
    matrix, names = _sheet(rows)
    return _rounded(matrix, {**dict.fromkeys(range(7), 1), 8: 2}), names


def _energy(path: Path) -> tuple[Matrix, Sequence[str]]:
    """Heating load as the target, rounded to 2 decimals; the cooling load is dropped."""
    matrix, names = _sheet(_rows_of_xlsx(path))
    return _rounded(matrix[:, :9], {8: 2}), names[:9]


def _power(path: Path) -> tuple[Matrix, Sequence[str]]:
    """The fifth sheet: the others have the same rows, in orders that the splits do not fit."""
    return _sheet(_rows_of_xlsx(path, "Sheet5"))


def _rows_of_xlsx(path: Path, sheet: str | None = None) -> list[Sequence[Any]]:
    import openpyxl

    with _workbook(), closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
        return list((book[sheet] if sheet else book.worksheets[0]).iter_rows(values_only=True))


@contextmanager
def _workbook() -> Iterator[None]:
    """Turns any exception of a reader of workbooks into a :class:`ValueError`."""
    try:
        yield
    except Exception as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _sheet(rows: Iterable[Sequence[Any]]) -> tuple[Matrix, Sequence[str]]:
    """Numbers below a header, and the header; empty rows and columns do not count."""
    header, *body = (row for row in rows if any(cell not in (None, "") for cell in row))
    names = [str(cell).strip() for cell in header if cell not in (None, "")]
    return np.array([row[: len(names)] for row in body], dtype=np.float64), names


def _rounded(matrix: Matrix, decimals: dict[int, int]) -> Matrix:
    """Rounds columns half up, as the numbers are written: 0.125 and 2.675 give 0.13 and 2.68."""
    for column, digits in decimals.items():
        unit = Decimal(1).scaleb(-digits)
        matrix[:, column] = [
            float(Decimal(repr(value)).quantize(unit, ROUND_HALF_UP))
            for value in matrix[:, column].tolist()
        ]
    return matrix


def _year(path: Path) -> tuple[Matrix, Sequence[str]]:
    """Half a gigabyte of text, read in blocks into the place where the numbers stay."""
    from pyarrow import csv

    matrix = np.empty((_count_lines(path), len(YEAR) + 1))
    names = [*YEAR, "year"]
    order = ["year", *YEAR]
    done = 0
    with csv.open_csv(
        path,
        read_options=csv.ReadOptions(column_names=order, block_size=BLOCK, use_threads=False),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(order, "float64"), null_values=[]
        ),
    ) as batches:
        for batch in batches:
            block = matrix[done : done + batch.num_rows]
            for place, name in enumerate(names):
                block[:, place] = batch.column(name).to_numpy()
            done += batch.num_rows
    return matrix[:done], names


def _count_lines(path: Path) -> int:
    lines, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n")


_REMEDY = "Remedy: delete the file and fetch it again; if that does not help, report it"

FORMATS = {
    "boston": Format(_blanks(BOSTON), 13, 14),
    "concrete": Format(_concrete, 8, 9),
    "energy": Format(_energy, 8, 9),
    "kin8nm": Format(_delimited(","), 8, 9),
    "naval": Format(_blanks(NAVAL), 16, 18),
    "power": Format(_power, 4, 5),
    "protein": Format(_delimited(",", target_first=True), 9, 10),
    "wine": Format(_delimited(";"), 11, 12),
    "yacht": Format(_blanks(YACHT), 6, 7),
    "year": Format(_year, 90, 91),
    "twoyear": Format(_chosen(TWOYEAR), 20, 21),
    "k401ksubs": Format(_chosen(K401KSUBS), 8, 9),
    "catholic": Format(_chosen(CATHOLIC), 10, 11),
    "diamonds": Format(_chosen(DIAMONDS, ORDERS), 9, 10),
}
