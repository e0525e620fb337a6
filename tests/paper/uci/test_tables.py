"""The tables of the UCI study: the paper's layout, ours beside printed, in three formats."""

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from loading import ROOT

from vwta.paper.metrics import tidy
from vwta.paper.tables import SUFFIXES
from vwta.paper.uci.tables import TABLES, write_protocols, write_sizes, write_tables

REPORTED = ROOT / "config/reported"
DATASETS = ["boston", "wine", "year", "my_set"]
VALUES = {  # of two splits
    ("boston", "mdn"): (2.0, 3.0),
    ("boston", "tk_hist"): (4.0, 4.0),
    ("boston", "k_wta"): (2.484, 2.484),
    ("boston", "v_wta"): (2.478, 2.478),
    ("wine", "mdn"): (math.nan, -1.0),
    ("wine", "tk_hist"): (0.5, 0.5),
    ("wine", "k_wta"): (math.inf, 0.5),
    ("wine", "v_wta"): (0.3, 0.5),
}
OTHER = {"rmse": 3.0, "crps": 0.00123456, "coverage90": 0.875, "pit": 0.04, "nll_dequantised": 1.5}


def metrics(protocol: str = "paper") -> list[dict[str, Any]]:
    """Boston and wine with all methods, the user's own table with one split of V-WTA alone."""
    rows: list[dict[str, Any]] = [{"dataset": "my_set", "method": "v_wta", "metric": "nll"}]
    rows[0] |= {"split": 0, "value": -0.25}
    for (dataset, method), values in VALUES.items():
        for split, value in enumerate(values):
            where = {"dataset": dataset, "method": method, "split": split}
            rows.append({**where, "metric": "nll", "value": value})
            rows += [{**where, "metric": name, "value": v} for name, v in OTHER.items()]
    common = {"study": "uci", "protocol": protocol, "K": 5, "seed": 1, "n": 10}
    return [{**common, **row} for row in rows]


def ensemble(**columns: Any) -> dict[str, Any]:
    row = {"dataset": "boston", "method": "v_wta_ensemble", "metric": "nll", "split": 0, "K": 25}
    return {**metrics()[0], **row, "value": 1.25, **columns}


def searches() -> pd.DataFrame:
    """Searches of V-WTA: two of three splits of Boston end at the border, one of two of wine."""
    rows = [("boston", 0, True), ("boston", 1, True), ("boston", 2, False)]
    rows += [("wine", 0, True), ("wine", 1, False)]
    table = pd.DataFrame(rows, columns=["dataset", "split", "border"])
    table = table.assign(protocol="paper", method="v_wta", seed=1, h=0.1, nll=1.0, chosen=True)
    return pd.concat([table, table.assign(chosen=False, border=True)])


def sizes() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "dataset": ["boston", "wine", "my_set", "kin8nm"],
            "rows": [506, 1599, 77, 8192],
            "inputs": [13, 11, 3, 8],
            "splits": [20, 2, 1, 20],
            "discrete": [False, True, False, False],
        }
    )


def reported() -> pd.DataFrame:
    return pd.read_csv(REPORTED / "uci.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder with the tables of the protocol `paper`."""
    write_tables(tidy(metrics()), searches(), sizes(), reported(), tmp_path, "paper", DATASETS)
    return tmp_path


def lines(path: Path) -> list[list[str]]:
    """Cells of a table in markdown."""
    rows = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def check_latex(path: Path) -> None:
    """Faults that stop LaTeX: unknown signs, unpaired braces or dollars, extra cells."""
    text = path.read_text(encoding="utf-8")
    assert text.isascii()
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    found = re.search(r"\\begin\{tabular\}\{([lc]+)\}\n(.*)\\end\{tabular\}", text, re.DOTALL)
    assert found is not None
    columns, body = found.groups()
    for line in body.splitlines():
        if line.startswith((r"\toprule", r"\midrule", r"\bottomrule", r"\addlinespace")):
            continue
        if line.startswith(r"\cmidrule"):
            continue
        assert line.endswith(r" \\")
        cells = re.split(r"(?<!\\)&", line.removesuffix(r"\\"))
        spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d+)\}", line)]
        assert len(cells) + sum(spans) - len(spans) == len(columns)
        assert all(cell.count("$") % 2 == 0 for cell in cells)
        assert all(cell.count("{") == cell.count("}") for cell in cells)
    outside = re.sub(r"\$[^$]*\$|\\label\{[^}]*\}", "", text)  # mathematics and names may have them
    assert not re.search(r"(?<!\\)[_%#^~]", outside)
    assert "**" not in text


def test_every_table_is_there_in_three_formats(folder: Path) -> None:
    expected = {f"uci_{name}_paper{suffix}" for name in TABLES for suffix in SUFFIXES}
    assert {path.name for path in folder.iterdir()} == expected


def test_latex_is_sound(folder: Path) -> None:
    everything = tidy([*metrics(), *metrics("released"), ensemble()])
    write_protocols(everything, sizes(), reported(), folder, ["paper", "released"], DATASETS)
    write_sizes(sizes(), pd.read_csv(REPORTED / "uci_sizes.csv"), folder, DATASETS)
    paths = list(folder.glob("*.tex"))
    assert len(paths) == len(TABLES) + 2
    for path in paths:
        check_latex(path)


def test_bandwidths_at_an_end_of_their_interval_are_marked(folder: Path) -> None:
    text = (folder / "uci_nll_paper.md").read_text()
    assert text.count("‡") == 2  # the number and the note
    assert "of the interval: Boston, V-WTA (2 of 3)." in text.replace("\n", " ")
    assert "‡" not in (folder / "uci_rmse_paper.md").read_text()
    table = pd.read_csv(folder / "uci_nll_paper.csv").query("method == 'v_wta'")
    counts = table.set_index("dataset")[["searches", "at_border"]]
    assert counts.loc[["boston", "wine"]].to_numpy().tolist() == [[3, 2], [2, 1]]


def test_the_main_table_has_the_papers_layout(folder: Path) -> None:
    head, _, *rows = lines(folder / "uci_main_paper.md")
    assert head == ["Dataset", "", "Deep Ensembles⋆", "MDN", "K-WTA", "V-WTA"]
    printed = ["**2.41 ± 0.25**", "2.95 ± 0.31", "**2.48 ± 0.16**", "**2.48 ± 0.19**"]
    assert rows[0] == ["Boston", "printed", *printed]
    ours = ["", "**2.50 ± 0.71**", "2.48 ± 0.00", "**2.48 ± 0.00**‡"]
    assert rows[1] == ["", "ours", *ours]
    assert rows[2] == ["", "difference", "", "-0.45", "+0.00", "+0.00"]


def test_the_appendix_has_all_methods(folder: Path) -> None:
    ours = ["MDN", "TK-Hist", "K-WTA", "V-WTA"]
    for name in ("nll", "rmse"):
        head = lines(folder / f"uci_{name}_paper.md")[0]
        assert head[2:] == ["PBP⋆", "MC Dropout⋆", "Deep Ensembles⋆", *ours]
    assert lines(folder / "uci_rmse_paper.md")[2][2] == "**3.01 ± 0.18**"
    tex = (folder / "uci_nll_paper.tex").read_text()
    assert r"\multicolumn{7}{c}{NLL ($\downarrow$)}" in tex
    assert r"\textbf{$-$1.53 $\pm$ 0.76}" in tex


def test_what_is_missing_or_broken_is_told(folder: Path) -> None:
    rows = lines(folder / "uci_main_paper.md")
    year = next(i for i, row in enumerate(rows) if row[0] == "Year")
    assert rows[year][2:] == ["3.35 ± NA", "--", "**3.26 ± NA**", "3.29 ± NA"]
    assert rows[year + 1] == ["", "ours", "", "no data", "no data", "no data"]
    assert rows[year + 2] == ["my_set", "ours", "", "", "", "**-0.25 ± NA**"]
    wine = next(row for row in rows[year - 3 :] if row[1] == "ours")
    assert wine[3:] == ["--", "∞", "**0.40 ± 0.14**"]
    text = (folder / "uci_main_paper.md").read_text()
    assert "Fewer splits than the data set has: Boston (2 of 20)." in text
    assert "Not finite in some splits: Wine, MDN; Wine, K-WTA." in text


def test_discrete_targets_are_marked(folder: Path) -> None:
    for name in TABLES:
        text = (folder / f"uci_{name}_paper.md").read_text()
        assert "| Wine† |" in text
        assert "| Boston |" in text
        assert "\n† Discrete target" in text
    assert r"Wine$^{\dagger}$ &" in (folder / "uci_main_paper.tex").read_text()


def test_without_discrete_targets_there_is_no_note(tmp_path: Path) -> None:
    write_tables(tidy(metrics()), searches(), sizes(), reported(), tmp_path, "paper", ["boston"])
    assert "†" not in (tmp_path / "uci_main_paper.md").read_text()


def test_the_csv_has_every_digit(folder: Path) -> None:
    table = pd.read_csv(folder / "uci_nll_paper.csv").set_index(["dataset", "method"])
    row = table.loc[("boston", "mdn")]
    assert row[["splits", "mean", "printed_mean", "printed_std"]].tolist() == [2, 2.5, 2.95, 0.31]
    assert row["std"] == pytest.approx(math.sqrt(0.5), rel=1e-14)
    assert row["standard_error"] == pytest.approx(0.5, rel=1e-14)
    assert row["difference"] == pytest.approx(-0.45)
    assert len(table) == 4 * 7
    assert table.loc[("year", "v_wta"), "missing"] == "no data"


def test_other_metrics_have_digits_that_show_something(folder: Path) -> None:
    head, _, *rows = lines(folder / "uci_more_paper.md")
    assert head == ["Dataset", "Metric", "MDN", "TK-Hist", "K-WTA", "V-WTA"]
    boston = [row[:3] for row in rows[:3]]
    assert boston == [
        ["Boston", "CRPS", "**0.00123 ± 0.00000**"],
        ["", "coverage, 90 %", "0.875 ± 0.000"],
        ["", "PIT", "0.040 ± 0.000"],
    ]
    assert [row[:2] for row in rows[3:7]][-1] == ["", "NLL, dequantised"]
    assert rows[7] == ["Year", "", *["no data"] * 4]
    assert rows[8] == ["my_set", "", *[""] * 4]
    assert "coverage, 90 \\%" in (folder / "uci_more_paper.tex").read_text()


def test_the_ensemble_has_a_column_where_it_was_run(tmp_path: Path) -> None:
    both = tidy([*metrics(), *metrics("ours"), ensemble(protocol="ours")])
    for protocol in ("paper", "ours"):
        write_tables(both, searches(), sizes(), reported(), tmp_path, protocol, DATASETS)
    assert lines(tmp_path / "uci_main_paper.md")[0][-1] == "V-WTA"
    rows = lines(tmp_path / "uci_main_ours.md")
    assert [row[-1] for row in rows[:5]] == ["V-WTA ensemble", "---", "", "**1.25 ± NA**", ""]
    caption = (tmp_path / "uci_main_ours.md").read_text().splitlines()[0]
    assert caption == "**UCI: NLL (↓), 5 hypotheses, protocol ours**"


def test_a_protocol_without_rows_says_so(tmp_path: Path) -> None:
    write_tables(tidy(metrics()), searches(), sizes(), reported(), tmp_path, "released", DATASETS)
    rows = lines(tmp_path / "uci_main_released.md")
    assert rows[3][3:] == ["not run"] * 3
    assert rows[-1][3:] == ["not run"] * 3


def test_sizes_stand_beside_printed_ones(tmp_path: Path) -> None:
    datasets = ["boston", "kin8nm", "wine", "year", "my_set"]
    write_sizes(sizes(), pd.read_csv(REPORTED / "uci_sizes.csv"), tmp_path, datasets)
    head, _, printed, ours, splits = lines(tmp_path / "uci_sizes.md")
    assert head == ["Dataset", "Boston", "Kin8nm", "Wine†", "Year", "my_set"]
    assert printed[1:] == ["(506; 13)", "(8192; 14)", "(1599; 11)", "(515345; 90)", ""]
    assert ours[1:] == ["(506; 13)", "(8192; 8)", "(1599; 11)", "no data", "(77; 3)"]
    assert splits[1:] == ["20", "20", "2", "", "1"]
    assert "Other than printed: Kin8nm." in (tmp_path / "uci_sizes.md").read_text()
    assert pd.read_csv(tmp_path / "uci_sizes.csv")["printed_inputs"].tolist()[:2] == [13, 14]


def test_protocols_stand_side_by_side(tmp_path: Path) -> None:
    released = [{**row, "value": row["value"] + 1} for row in metrics("released")]
    both = tidy([*metrics(), *released])
    protocols = ["paper", "released", "ours"]
    write_protocols(both, sizes(), reported(), tmp_path, protocols, DATASETS)
    head, _, *rows = lines(tmp_path / "uci_protocols.md")
    each = ["printed", *protocols]
    assert head == [
        "Dataset",
        "Method",
        *(f"{m} {which}" for m in ("NLL", "RMSE") for which in each),
    ]
    assert rows[0][:5] == ["Boston", "MDN", "2.95 ± 0.31", "2.50 ± 0.71", "3.50 ± 0.71"]
    assert rows[0][5:] == ["not run", "3.65 ± 1.15", "3.00 ± 0.00", "4.00 ± 0.00", "not run"]
    assert [row[:2] for row in rows[3:5]] == [["", "V-WTA"], ["Wine†", "MDN"]]
    assert rows[8][3:6] == ["no data"] * 3
    tex = (tmp_path / "uci_protocols.tex").read_text()
    assert r"\multicolumn{4}{c}{NLL} & \multicolumn{4}{c}{RMSE} \\" in tex
    assert r"Dataset & Method & printed & paper & released & ours & printed &" in tex
    table = pd.read_csv(tmp_path / "uci_protocols.csv")
    assert len(table) == len(DATASETS) * 4 * 2 * 3
