"""UCI data sets: small files of every format by the rules, the real ones by their hashes."""

import bz2
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from loading import ROOT
from workbooks import xls, xlsx

from vwta.io.errors import BadTable, Mismatch
from vwta.paper.uci import datasets
from vwta.paper.uci.embedded import diabetes
from vwta.paper.uci.regression import matrix_sha256, splits, splits_sha256

MIRROR = Path(os.environ.get("VWTA_MIRROR") or ROOT.parent / "shared" / "data")
TABLE = yaml.safe_load((ROOT / "config/data.yaml").read_text(encoding="utf-8"))["uci"]


@pytest.mark.parametrize("name", datasets.FORMATS)
def test_official_files_give_the_benchmark(name: str) -> None:
    entry = TABLE[name]
    path = MIRROR / entry["file"]["path"]
    if not path.exists():
        pytest.skip(f"{entry['file']['path']} is in no mirror; set VWTA_MIRROR to its folder")
    table = datasets.read(name, path, entry.get("matrix"))
    assert table.inputs.shape == (entry["rows"], entry["inputs"])
    assert table.target.shape == (entry["rows"],)
    assert len(table.columns) == entry["inputs"]
    assert table.inputs.dtype == table.target.dtype == np.float64
    assert np.isfinite(table.inputs).all()


def test_diabetes_needs_no_file() -> None:
    entry = TABLE["diabetes"]
    table = diabetes(entry["matrix"])
    assert table.inputs.shape == (entry["rows"], entry["inputs"])
    assert len(table.columns) == entry["inputs"]
    with pytest.raises(Mismatch, match=r"sha256 0000.* is expected, 839c"):
        diabetes("0" * 64)


def numbers(rows: int, columns: int) -> np.ndarray:
    """Numbers that a decimal notation of 4 digits holds exactly as they are."""
    return np.random.default_rng(1).integers(-99_999, 99_999, (rows, columns)) / 10_000


def lines(matrix: np.ndarray, delimiter: str) -> str:
    return "".join(delimiter.join(map(repr, row)) + "\n" for row in matrix.tolist())


@pytest.mark.parametrize(("name", "columns"), [("boston", 14), ("yacht", 7), ("naval", 18)])
@pytest.mark.parametrize(("delimiter", "end"), [(" ", ""), ("  ", " \n"), ("   ", "\n\n")])
def test_blanks(tmp_path: Path, name: str, columns: int, delimiter: str, end: str) -> None:
    matrix = numbers(5, columns)
    text = lines(matrix, delimiter).replace("\n", "\n ") + end
    (tmp_path / "file").write_text(" " + text)
    table = datasets.read(name, tmp_path / "file", matrix_sha256(matrix))
    d = datasets.FORMATS[name].inputs
    assert np.array_equal(table.inputs, matrix[:, :d])
    assert np.array_equal(table.target, matrix[:, d])
    assert d == {"boston": 13, "yacht": 6, "naval": 16}[name]
    assert len({*table.columns, table.label}) == d + 1


@pytest.mark.parametrize(
    ("name", "columns", "delimiter", "place"),
    [("wine", 12, ";", 11), ("kin8nm", 9, ", ", 8), ("protein", 10, ",", 0)],
)
def test_headers(tmp_path: Path, name: str, columns: int, delimiter: str, place: int) -> None:
    matrix = numbers(4, columns)
    header = delimiter.strip().join(f'"name {index}"' for index in range(columns))
    (tmp_path / "file").write_text(f"{header}\n{lines(matrix, delimiter)}")
    table = datasets.read(name, tmp_path / "file")
    assert np.array_equal(table.target, matrix[:, place])
    assert np.array_equal(table.inputs, np.delete(matrix, place, axis=1))
    assert table.label == f"name {place}"
    assert table.columns == tuple(f"name {i}" for i in range(columns) if i != place)


def test_digits_are_read_as_python_does(tmp_path: Path) -> None:
    """A fast parser may miss the last bit: these are cases in which some do."""
    cells = ["1.9948468e-01", "0.31754", "803446.6966", "2.2250738585072014e-308", "1e23", "9.4"]
    (tmp_path / "file").write_text(" ".join([*cells, "8.41"]))
    table = datasets.read("yacht", tmp_path / "file")
    assert table.inputs[0].tolist() == [float(cell) for cell in cells]


def test_concrete_is_rounded_half_up_in_decimal(tmp_path: Path) -> None:
    halves = [0.25, 0.35, 2.45, 540.05, 0.15, 1040.65, -0.25]  # in binary above and below a half
    rows = [[*halves, 28, 2.675], [*halves, 3.14, 0.125]]
    xls(tmp_path / "file", [[f"column {i}" for i in range(9)], *rows])
    table = datasets.read("concrete", tmp_path / "file")
    assert table.inputs[0].tolist() == [0.3, 0.4, 2.5, 540.1, 0.2, 1040.7, -0.3, 28.0]
    assert table.inputs[1, 7] == 3.14, "the age is left as it is"
    assert table.target.tolist() == [2.68, 0.13]
    assert table.label == "column 8"
    assert (np.round(0.125, 2), round(2.675, 2)) == (0.12, 2.67), "others round otherwise"


def test_power_is_the_fifth_sheet(tmp_path: Path) -> None:
    header, matrix = ["AT", "V", "AP", "RH", "PE"], numbers(6, 5)
    order = [3, 1, 4, 0, 5, 2]
    sheets = {f"Sheet{i}": [header, *matrix.tolist()] for i in range(1, 5)}
    path = tmp_path / "file.xlsx"
    xlsx(path, {**sheets, "Sheet5": [header, *matrix[order].tolist()], "Sheet6": [header]})
    table = datasets.read("power", path)
    assert np.array_equal(table.inputs, matrix[order, :4])
    assert np.array_equal(table.target, matrix[order, 4])
    assert table.columns == ("AT", "V", "AP", "RH")
    xlsx(path, sheets)
    with pytest.raises(BadTable, match="Sheet5"):
        datasets.read("power", path)


def test_energy_has_one_target(tmp_path: Path) -> None:
    header = [f"X{i}" for i in range(1, 9)] + ["Y1", "Y2"]
    rows = [[0.98, 514.5, 294, 110.25, 7, 2, 0.125, 0, 15.555, 21.33, None]] * 2
    empty = [[None] * 11] * 3
    xlsx(tmp_path / "file.xlsx", {"Φύλλο1": [header, *rows, *empty], "Φύλλο2": []})
    table = datasets.read("energy", tmp_path / "file.xlsx")
    assert table.inputs.tolist() == [[0.98, 514.5, 294.0, 110.25, 7.0, 2.0, 0.125, 0.0]] * 2
    assert table.target.tolist() == [15.56, 15.56]
    assert (table.columns[-1], table.label) == ("X8", "Y1")


def write_year(path: Path, rows: int, block: int = 5000) -> np.ndarray:
    """Songs in the official format: 2001,49.94357,21.47114, ...; the first block's numbers."""
    rng = np.random.default_rng(2)
    years = rng.integers(1922, 2012, (block, 1)).astype(float)
    matrix = np.concatenate([years, rng.normal(0, 50, (block, 90)).round(5)], axis=1)
    text = "".join(
        f"{int(row[0])}," + ",".join(f"{cell:.5f}" for cell in row[1:]) + "\n"
        for row in matrix.tolist()
    )
    with path.open("w", encoding="ascii") as file:
        for _ in range(rows // block):
            file.write(text)
        file.writelines(text.splitlines(keepends=True)[: rows % block])
    return matrix


def test_year_has_the_target_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "BLOCK", 10_000)  # so that there are several
    matrix = write_year(tmp_path / "file", 70, block=50)
    table = datasets.read("year", tmp_path / "file")
    assert table.inputs.shape == (70, 90)
    assert np.array_equal(table.inputs[:50], matrix[:, 1:])
    assert np.array_equal(table.target[50:], matrix[:20, 0])
    assert table.label == "year"

    text = (tmp_path / "file").read_text().rstrip("\n")
    (tmp_path / "no last line end").write_text(text)
    assert np.array_equal(datasets.read("year", tmp_path / "no last line end").target, table.target)


@pytest.mark.slow
def test_year_fits_into_memory(tmp_path: Path) -> None:
    """As many rows as the real file, half a gigabyte of text, in a process of its own."""
    import subprocess
    import sys

    matrix = write_year(tmp_path / "file", 515_345)
    assert (tmp_path / "file").stat().st_size > 400e6
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from vwta.paper.uci.datasets import official_splits, read\n"
        "table = read('year', Path(sys.argv[1]))\n"
        "(split,) = official_splits('year', len(table.target), 1)\n"
        "print(*table.inputs.shape, len(split.test), table.inputs[:5000].sum().hex())\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "file")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")}
    )
    facts, memory = done.stdout.splitlines()
    inputs = np.ascontiguousarray(matrix[:, 1:])
    assert facts.split() == ["515345", "90", "51630", inputs.sum().hex()]
    assert int(memory) < 2e9


BROKEN: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no numbers": ("boston", lambda path: path.write_text("<html>\n"), "<html>"),
    "columns": ("boston", lambda path: path.write_text("1 2 3\n"), r"shape \(1, 3\)"),
    "ragged": ("yacht", lambda path: path.write_text("1 2\n1 2 3\n"), "columns"),
    "no workbook": ("concrete", lambda path: path.write_text("<html>\n"), "BOF"),
    "no archive": ("energy", lambda path: path.write_text("<html>\n"), "zip"),
    "no year": ("year", lambda path: path.write_text("a," * 90 + "b\n"), "double"),
    "hole in year": ("year", lambda path: path.write_text("1," * 90 + "\n"), "double"),
    "short year": ("year", lambda path: path.write_text("1,2\n"), "Expected 91 columns"),
    "text": ("energy", lambda path: xlsx(path, {"1": [["X"] * 9, [*range(8), "?"]]}), "'?'"),
    "empty": ("power", lambda path: xlsx(path, {"Sheet5": []}), "unpack"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_wrong_files_are_named(tmp_path: Path, case: str) -> None:
    name, write, why = BROKEN[case]
    path = tmp_path / "file.xlsx"
    write(path)
    with pytest.raises(BadTable, match=why) as error:
        datasets.read(name, path)
    assert str(error.value).startswith(f"{path} is not the file of {name}: ")
    assert "Remedy" in str(error.value)


def test_tables_of_packages_are_read_by_the_names_of_columns(tmp_path: Path) -> None:
    """Words are places in an order; neither other columns nor their order matter."""
    head = "id,price,z,y,x,table,depth,clarity,color,cut,carat"
    rows = ["7,326,2.4,4.0,3.9,55,61.5,IF,D,Ideal,0.23", "8,99,1,2,3,4,5,I1,J,Fair,1.5"]
    (tmp_path / "file.csv").write_text("\n".join([head, *rows]) + "\n")
    table = datasets.read("diamonds", tmp_path / "file.csv")
    assert table.label == "price"
    assert table.target.tolist() == [326, 99]
    assert table.inputs.tolist() == [
        [0.23, 4, 6, 7, 61.5, 55, 3.9, 4.0, 2.4],
        [1.5, 0, 0, 0, 5, 4, 3, 2, 1],
    ]
    names = [*reversed(datasets.CATHOLIC.split(", ")), "hsgrad"]
    text = ",".join(names) + "\n" + ",".join(map(str, range(11))) + ",\n"
    (tmp_path / "file.csv.bz2").write_bytes(bz2.compress(text.encode()))
    table = datasets.read("catholic", tmp_path / "file.csv.bz2")
    assert (table.label, table.target.tolist()) == ("math12", [0])
    assert table.inputs.tolist() == [list(range(10, 0, -1))]
    (tmp_path / "file.csv.bz2").write_bytes(b"no archive")
    with pytest.raises(BadTable, match="is not the file of catholic: Invalid data stream"):
        datasets.read("catholic", tmp_path / "file.csv.bz2")
    (tmp_path / "file.csv").write_text(head + "\n" + rows[0].replace("Ideal", "Superb") + "\n")
    with pytest.raises(BadTable, match="Superb"):
        datasets.read("diamonds", tmp_path / "file.csv")


def test_other_numbers_are_noticed(tmp_path: Path) -> None:
    matrix = numbers(5, 7)
    (tmp_path / "file").write_text(lines(matrix, " "))
    matrix[4, 6] = np.nextafter(matrix[4, 6], 9)
    with pytest.raises(Mismatch, match=rf"yacht.*sha256 {matrix_sha256(matrix)} is expected, .*"):
        datasets.read("yacht", tmp_path / "file", matrix_sha256(matrix))


def test_splits_of_the_benchmark() -> None:
    """The stream goes on from split to split, and 90 % is rounded."""
    parts = datasets.official_splits("boston", 15, 3)
    stream = np.random.RandomState(1)
    for split in parts:
        order = stream.permutation(15)
        assert np.array_equal(np.concatenate(split), order)
        assert len(split.train) == 14, "13.5 is rounded to an even number"
    assert splits_sha256(parts) != splits_sha256(parts[::-1])
    swapped = [datasets.Split(train=test, test=train) for train, test in parts]
    assert splits_sha256(parts) != splits_sha256(swapped)


def test_split_of_year_is_its_authors() -> None:
    (split,) = datasets.official_splits("year", 515_345, 1)
    assert (split.train[0], split.train[-1], split.test[0]) == (0, 463_714, 463_715)
    assert split.test[-1] == 515_344
    for rows, count in ((515_345, 2), (463_715, 1)):
        with pytest.raises(ValueError, match="year has 1 split"):
            datasets.official_splits("year", rows, count)


def test_splits_of_own_data() -> None:
    for rows in (2, 3, 10, 101):
        for train, test in splits(rows, 4, seed=7):
            assert sorted([*train, *test]) == list(range(rows))
            assert len(train) >= 1
            assert len(test) >= 1
    first, second = splits(50, 2, seed=7), splits(50, 2, seed=8)
    assert splits_sha256(first) == splits_sha256(splits(50, 2, seed=7))
    assert splits_sha256(first) != splits_sha256(second)
    assert splits_sha256(first[:1]) != splits_sha256(first[1:])
    with pytest.raises(ValueError, match="at least 2"):
        splits(1, 1)
