"""Tables of users: csv, parquet and xlsx files. Errors name the line, the column and the remedy."""

from __future__ import annotations

__all__ = ["Layout", "check_output", "check_suffix", "column_of", "read", "write"]

import csv
import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from vwta.io.errors import BadTable, foreign
from vwta.io.storage import atomic

if TYPE_CHECKING:
    import pandas as pd

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
MOSTLY = 0.9  # a column with this share of numbers, or more, is meant to be one of numbers
PACKAGES = {".csv": "", ".tsv": "", ".txt": "", ".parquet": "pyarrow", ".xlsx": "openpyxl"}
SIGNS = ";\t|"  # delimiters that a header of one column may contain


@dataclass(frozen=True)
class Layout:
    """How a table is written.

    Attributes:
        delimiter: what separates cells of a csv file; None for a comma, a tabulator in a tsv file,
            and a semicolon where decimals have commas.
        decimal: the decimal sign, `.` or `,`.
    """

    delimiter: str | None = None
    decimal: str = "."

    def sign(self, path: Path) -> str:
        """The delimiter of a file."""
        if self.delimiter is not None:
            return self.delimiter
        return "\t" if path.suffix.lower() == ".tsv" else ";" if self.decimal == "," else ","


def read(
    path: Path,
    layout: Layout,
    texts: Collection[str] = (),
    numbers: Collection[str] = (),
    blank: bool = False,
) -> pd.DataFrame:
    """Reads a table. Columns of numbers are float64 with nan, all others texts with None.

    Arguments:
        path: the file; its suffix says what it is. The first line names the columns.
        layout: how it is written.
        texts: columns that hold texts, whatever they look like.
        numbers: columns that hold numbers alone.
        blank: whether lines without any value are rows, as they are in a table to predict.
    """
    suffix = check_suffix(path)
    if not path.is_file():
        raise BadTable(f"{path}: no such file. Remedy: check the path")
    table = _cells(path, suffix, layout, blank)
    _check_names(path, table)
    for name in table.columns:
        if table[name].dtype == object or str(table[name].dtype) in ("str", "string"):
            table[name] = _column(path, table[name], layout, name in texts, name in numbers)
    return table


def write(path: Path, table: pd.DataFrame, layout: Layout) -> None:
    """Writes a table, completely or not at all; the suffix of the file says how."""
    suffix = check_suffix(path)
    with atomic(path) as temporary:
        if suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        elif suffix == ".xlsx":
            with temporary.open("wb") as file:
                table.to_excel(file, index=False)
        else:
            sign = layout.sign(path)
            table.to_csv(temporary, index=False, sep=sign, decimal=layout.decimal)


def check_suffix(path: Path) -> str:
    """The suffix of a table's file, if tables of that kind can be read and written here."""
    suffix = path.suffix.lower()
    if suffix not in PACKAGES:
        raise BadTable(f"{path}: unknown kind of table. Remedy: give one of {', '.join(PACKAGES)}")
    package = PACKAGES[suffix]
    if package and find_spec(package) is None:
        raise BadTable(
            f"{path}: {suffix} files need the package {package}. Remedy: pip install {package}, or "
            "give a csv file"
        )
    return suffix


def check_output(path: Path, *inputs: Path) -> None:
    """Raises an error if a file cannot be written, or would replace one that is read.

    Arguments:
        path: the file to be written.
        inputs: files that are read.
    """
    if path.resolve() in [each.resolve() for each in inputs]:
        raise BadTable(f"{path} would be replaced. Remedy: name another file to write")
    if path.is_dir():
        raise BadTable(f"{path} is a folder. Remedy: name a file to write")
    if not path.parent.is_dir():
        raise BadTable(f"{path}: there is no folder {path.parent}. Remedy: make it first")
    try:
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise BadTable(
            f"{path}: nothing can be written to {path.parent} ({error.strerror}). Remedy: name a "
            "file in another folder"
        ) from error


def column_of(path: Path, table: pd.DataFrame, name: str, what: str) -> Any:
    """A column that a user named; an error proposes another one."""
    if name not in table.columns:
        close = get_close_matches(name, map(str, table.columns), n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        known = ", ".join(map(repr, map(str, table.columns)))
        raise BadTable(
            f"{path}, line 1: there is no column {name!r}{hint}; the columns are {foreign(known)}. "
            f"Remedy: name one of these as {what}, or give the right --delimiter"
        )
    return table[name]


def _cells(path: Path, suffix: str, layout: Layout, blank: bool) -> pd.DataFrame:
    """The cells of a file as they stand in it, with the number of lines before them as index."""
    import pandas as pd

    try:
        if suffix == ".parquet":
            return pd.read_parquet(path)
        if suffix == ".xlsx":
            return pd.read_excel(path)
        return _lines(path, layout, blank)
    except UnicodeDecodeError as error:
        raise BadTable(
            f"{path}: byte {error.start + 1} is not UTF-8. Remedy: save the file with the encoding "
            "UTF-8"
        ) from error
    except (ValueError, OSError) as error:
        raise BadTable(
            f"{path}: {foreign(str(error).strip())}. Remedy: check whether the file is what its "
            "suffix says"
        ) from error


def _lines(path: Path, layout: Layout, blank: bool) -> pd.DataFrame:
    """The cells of a csv file as texts; the index of a row is the number of lines before it - 1."""
    import pandas as pd

    rows: dict[int, list[str]] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=layout.sign(path), strict=True)
        try:
            names = next(reader, [])
            for row in reader:
                rows[reader.line_num - 2] = row or [""]
        except csv.Error as error:
            raise BadTable(
                f"{path}, line {reader.line_num}: {error}. Remedy: check quotes and line ends there"
            ) from error
    rows = _without_blank(rows, len(names), blank)
    if not names:
        raise BadTable(f"{path}: the file is empty. Remedy: line 1 must name the columns")
    for place, row in rows.items():
        if len(row) != len(names):
            raise BadTable(
                f"{path}, line {place + 2}: {len(row)} cells where the header has {len(names)} "
                f"columns. Remedy: {_separated(names) or 'correct the line'}, or give the right "
                "--delimiter"
            )
    return pd.DataFrame(list(rows.values()), index=list(rows), columns=names, dtype=object)


def _without_blank(rows: dict[int, list[str]], columns: int, keep: bool) -> dict[int, list[str]]:
    """Lines of a file without those that are no rows.

    A line of empty cells is a row to predict, and so is an empty line of a table of one column. All
    other empty lines stand between rows.
    """
    filled = {place for place, row in rows.items() if any(cell.strip() for cell in row)}
    last = max(filled, default=-1) if keep else -1
    return {
        place: row
        for place, row in rows.items()
        if place in filled or (place < last and len(row) == columns) or (keep and len(row) > 1)
    }


def _separated(names: list[str]) -> str:
    """The remedy for a header that is one cell as it has another delimiter; empty if it is none."""
    sign = next((sign for sign in SIGNS if sign in names[0]), "") if len(names) == 1 else ""
    shown = "tab" if sign == "\t" else repr(sign)
    comma = ", with --decimal , if decimals have commas" if sign == ";" else ""
    return f"say --delimiter {shown}{comma}" if sign else ""


def _check_names(path: Path, table: pd.DataFrame) -> None:
    names = [str(name).strip() for name in table.columns]
    for place, name in enumerate(names, 1):
        if not name or name.startswith("Unnamed: "):
            raise BadTable(f"{path}, line 1: column {place} has no name. Remedy: give it one")
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise BadTable(
            f"{path}, line 1: {times} columns are called {name!r}. Remedy: rename all but one"
        )
    if not len(table):
        raise BadTable(f"{path}: there is no row below the header. Remedy: add rows")
    table.columns = names


def _column(path: Path, cells: Any, layout: Layout, text: bool, number: bool) -> Any:
    """A column of numbers, or of texts; a cell that spoils a column of numbers is an error."""
    import pandas as pd

    stripped = [None if _is_missing(cell) else str(cell).strip() for cell in cells]
    if text:
        return pd.Series(stripped, index=cells.index, dtype=object)
    values = [math.nan if cell is None else _number(cell, layout) for cell in stripped]
    bad = [i for i, v in enumerate(values) if v is None or math.isinf(v)]
    present = sum(cell is not None for cell in stripped)
    if bad and not number and present - len(bad) < MOSTLY * present:
        return pd.Series(stripped, index=cells.index, dtype=object)
    if bad:
        raise BadTable(
            f"{path}, line {int(cells.index[bad[0]]) + 2}, column {cells.name!r}: "
            f"{foreign(stripped[bad[0]])!r} is not a finite number. Remedy: correct it, leave the "
            f"cell empty if the value is missing, or say --text {cells.name!r} or --decimal ,"
        )
    return pd.Series(values, index=cells.index, dtype="float64")


def _is_missing(cell: Any) -> bool:
    return cell is None or cell != cell or str(cell).strip().lower() in MISSING


def _number(cell: str, layout: Layout) -> float | None:
    """The number in a cell, None if there is none."""
    if "_" in cell or (layout.decimal == "," and "." in cell):
        return None
    try:
        return float(cell.replace(",", ".") if layout.decimal == "," else cell)
    except ValueError:
        return None
