"""A user's own table is read as it is, or refused with one message that says where and why."""

from pathlib import Path

import numpy as np
import pytest

from vwta.io.errors import BadTable
from vwta.paper.uci.own import read_csv
from vwta.paper.uci.regression import is_discrete


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "mine.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        "a,y,b\n1,2,3\n4,5.5,-6e-1\n",
        "a,y,b\r\n1,2,3\r\n4,5.5,-6e-1",
        '\ufeff"a",y ,b\n 1 ,2,"3"\n\n4,5.5,-.6\n\n',
    ],
)
def test_reads_numbers(tmp_path: Path, content: str) -> None:
    table = read_csv(written(tmp_path, content), "y")
    assert table.name == "mine"
    assert (table.columns, table.label) == (("a", "b"), "y")
    assert table.inputs.tolist() == [[1.0, 3.0], [4.0, -0.6]]
    assert table.target.tolist() == [2.0, 5.5]
    assert table.inputs.dtype == table.target.dtype == np.float64


def test_other_delimiters(tmp_path: Path) -> None:
    path = written(tmp_path, "a;y\n1;2\n3;4\n")
    assert read_csv(path, "y", delimiter=";").target.tolist() == [2.0, 4.0]
    with pytest.raises(BadTable, match="Remedy: read it with delimiter=';'"):
        read_csv(path, "y")


BAD: dict[str, tuple[str | bytes, str]] = {
    "empty file": ("", "line 1: the file is empty"),
    "empty line": ("\n", "line 1: the file is empty"),
    "missing column": (
        "a,yy\n1,2\n",
        "line 1: there is no column 'y' (did you mean 'yy'?); the columns are 'a', 'yy'. Remedy",
    ),
    "column twice": ("a,y,a\n1,2,3\n", "line 1: 2 columns are called 'a'. Remedy"),
    "column without name": ("a,,y\n1,2,3\n", "line 1: column 2 has no name"),
    "no inputs": ("y\n1\n2\n", "line 1: 'y' is the only column"),
    "text": ("a,y\n1,2\nred,4\n", "line 3, column 'a': 'red' is not a finite number"),
    "text behind a long cell": ('a,y\n"1\n",2\nred,4\n', "line 4, column 'a': 'red'"),
    "decimal comma": ("a,y\n1,2\n1,3,4\n", "line 3: 3 cells where the header has 2 columns"),
    "underscore": ("a,y\n1_0,2\n", "line 2, column 'a': '1_0' is not a finite number"),
    "empty cell": ("a,y\n1,2\n1,\n", "line 3, column 'y': the cell is empty"),
    "nan": ("a,y\n1,NaN\n", "line 2, column 'y': 'NaN' is not a finite number"),
    "infinity": ("a,y\n-inf,1\n", "line 2, column 'a': '-inf' is not a finite number"),
    "short line": ("a,y\n1,2\n1\n", "line 3: 1 cells where the header has 2 columns"),
    "open quote": ('a,y\n1,2\n"3,4\n', "line 3: unexpected end of data"),
    "no row": ("a,y\n", "line 2: no row below the header"),
    "one row": ("a,y\n1,2\n", "line 3: only one row below the header"),
    "constant target": ("a,y\n1,2\n2,2\n", "column 'y': all 2 lines from line 2 on hold 2.0"),
    "other encoding": (
        "a,größe,y\n".encode("latin-1"),
        "line 1: byte 5 of the line (0xf6) is not UTF-8",
    ),
    "other encoding below": (b"a,y\n1,2\n1\xe9,2\n", "line 3: byte 2 of the line (0xe9)"),
    "UTF-16": ("a,y\n1,2\n".encode("utf-16"), "line 1: byte 1 of the line (0xff)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_explained(tmp_path: Path, case: str) -> None:
    content, message = BAD[case]
    path = written(tmp_path, content)
    with pytest.raises(BadTable) as error:
        read_csv(path, "y")
    text = str(error.value)
    assert text.startswith(f"{path}, ")
    assert message in text
    assert "Remedy: " in text
    assert "\n" not in text


def test_a_refused_table_is_closed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a,y\n1,2\nred,4\n5,6\n")
    file = path.open("rb")
    monkeypatch.setattr(Path, "open", lambda *_: file)
    with pytest.raises(BadTable) as error:
        read_csv(path, "y")
    assert file.closed  # while the error still holds on to all that was there
    assert "line 3" in str(error.value)


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadTable, match=r"nowhere\.csv: no such file\. Remedy"):
        read_csv(tmp_path / "nowhere.csv", "y")
    with pytest.raises(BadTable, match=r": Is a directory\. Remedy"):
        read_csv(tmp_path, "y")


@pytest.mark.parametrize(
    ("target", "discrete"),
    [
        ([5.0, 6.0, 7.0] * 500, True),  # as wine
        (np.repeat(np.arange(51) / 1000, 234), True),  # as naval
        ([0.0, 1.0] * 5, True),
        (np.arange(1000.0), False),
        (np.arange(8.0), False),
        (np.repeat(np.arange(500.0), 2), False),
    ],
)
def test_discrete_targets(target: object, discrete: bool) -> None:
    assert is_discrete(np.asarray(target)) is discrete
