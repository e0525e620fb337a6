"""Tables of users are read as they mean them, or refused with line, column and remedy."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vwta.cli.tables import Layout, column_of, read, write
from vwta.io.errors import BadTable


def file(folder: Path, text: str, name: str = "houses.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_numbers_texts_and_missing_cells(tmp_path: Path) -> None:
    path = file(tmp_path, 'area, kind,note\n1.5,house,"a, b"\n,NA,\n\n3,flat,x\n')
    table = read(path, Layout())
    np.testing.assert_array_equal(table["area"], [1.5, np.nan, 3.0])
    assert table["kind"].tolist() == ["house", None, "flat"]
    assert table["note"].tolist() == ["a, b", None, "x"]


def test_lines_without_values(tmp_path: Path) -> None:
    path = file(tmp_path, "a,b\n1,2\n,\n\n3,4\n , \n")
    np.testing.assert_array_equal(read(path, Layout())["a"], [1, 3])
    np.testing.assert_array_equal(read(path, Layout(), blank=True)["a"], [1, np.nan, 3, np.nan])
    path = file(tmp_path, "a\n1\n\n3\n\n", "one.csv")
    np.testing.assert_array_equal(read(path, Layout())["a"], [1, 3])
    np.testing.assert_array_equal(read(path, Layout(), blank=True)["a"], [1, np.nan, 3])


def test_decimal_commas(tmp_path: Path) -> None:
    path = file(tmp_path, "area;price\n1,5;1e3\n-2,25;7\n")
    np.testing.assert_array_equal(read(path, Layout(decimal=","))["area"], [1.5, -2.25])


def test_text_that_looks_like_numbers(tmp_path: Path) -> None:
    path = file(tmp_path, "code,price\n01,1\n02,2\n")
    assert read(path, Layout(), texts=["code"])["code"].tolist() == ["01", "02"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".xlsx"])
def test_written_table_is_read_again(tmp_path: Path, suffix: str) -> None:
    table = pd.DataFrame({"a": [1.5, np.nan], "b": ["x", "y"]})
    path = tmp_path / f"table{suffix}"
    write(path, table, Layout())
    found = read(path, Layout())
    np.testing.assert_array_equal(found["a"], table["a"])
    assert found["b"].tolist() == ["x", "y"]


ROWS = "".join(f"{i},{i}\n" for i in range(20))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a,b\n{ROWS}7,8O\n", "line 22, column 'b': '8O' is not a finite number. Remedy: correct"),
        (f"a,b\n{ROWS}\n7,inf\n", "line 23, column 'b': 'inf' is not a finite number"),
        (
            "a,b\n1,2\n3\n",
            "line 3: 1 cells where the header has 2 columns. Remedy: correct the line",
        ),
        ("a,b\n1,2\n3,4,5\n6,7,8,9\n", "line 3: 3 cells where the header has 2 columns"),
        (
            "a;b\n1,5;2,5\n",
            "line 2: 3 cells .* Remedy: say --delimiter ';', with --decimal , if decimals have",
        ),
        ("a\tb\n1,5\t2\n", "Remedy: say --delimiter tab, or give"),
        ("a,,c\n1,2,3\n", "line 1: column 2 has no name. Remedy"),
        ("a,b\n", "no row below the header. Remedy"),
        ("", "the file is empty. Remedy: line 1 must name the columns"),
    ],
)
def test_bad_table(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadTable, match=message):
        read(file(tmp_path, text), Layout())


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("a,b\ncafé,1\n".encode("latin-1"))
    with pytest.raises(BadTable, match=r"is not UTF-8\. Remedy: save the file with the encoding"):
        read(path, Layout())


@pytest.mark.parametrize(("suffix", "package"), [(".parquet", "pyarrow"), (".xlsx", "openpyxl")])
def test_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, package: str
) -> None:
    path = file(tmp_path, "", f"table{suffix}")
    monkeypatch.setattr("vwta.cli.tables.find_spec", lambda name: None)
    message = f"need the package {package}. Remedy: pip install {package}, or give a csv file"
    with pytest.raises(BadTable, match=message):
        read(path, Layout())
    with pytest.raises(BadTable, match=message):
        write(path, pd.DataFrame({"a": [1.0]}), Layout())


def test_suffix_in_capitals(tmp_path: Path) -> None:
    path = file(tmp_path, "a\tb\n1\t2\n", "TABLE.TSV")
    assert list(read(path, Layout())) == ["a", "b"]


def test_unknown_files_and_columns(tmp_path: Path) -> None:
    with pytest.raises(BadTable, match=r"houses.doc: unknown kind of table\. Remedy"):
        read(tmp_path / "houses.doc", Layout())
    with pytest.raises(BadTable, match=r"houses.csv: no such file\. Remedy"):
        read(tmp_path / "houses.csv", Layout())
    path = file(tmp_path, "price;area\n1;2\n")
    with pytest.raises(BadTable, match=r"there is no column 'price' .* the right --delimiter"):
        column_of(path, read(path, Layout()), "price", "--target")
    table = read(path, Layout(delimiter=";"))
    with pytest.raises(BadTable, match=r"no column 'prise' \(did you mean 'price'\?\)"):
        column_of(path, table, "prise", "--target")
