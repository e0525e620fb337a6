"""Tables for readers say what the metrics say."""

import math
from pathlib import Path

import pandas as pd

from vwta.metrics import tidy
from vwta.tables import Sheet, protocols_side_by_side, to_latex, to_markdown, write, write_sheet

ROWS = [
    {"protocol": "paper", "seed": 1, "h": 0.1, "value": 1.0},
    {"protocol": "paper", "seed": 2, "h": 0.1, "value": 3.0},
    {"protocol": "released", "seed": 1, "h": 0.1, "value": 5.0},
    {"protocol": "paper", "seed": 1, "h": 0.2, "value": 7.0},
    {"protocol": "paper", "seed": 1, "h": 0.13, "tuned": True, "value": 0.5},
    {"protocol": "released", "seed": 1, "h": 0.17, "tuned": True, "value": 0.25},
    {"protocol": "other", "seed": 1, "h": 0.1, "value": 9.0},
]
COMMON = {"study": "synthetic", "dataset": "moons", "metric": "nll", "method": "v_wta"}


def table() -> pd.DataFrame:
    metrics = tidy(ROWS, **COMMON, K=16, n=10)
    return protocols_side_by_side(metrics, ["paper", "released"], against=["released"])


def test_protocols_stand_side_by_side() -> None:
    found = table().set_index("metric")
    assert found.loc["nll", ["h", "paper", "released"]].tolist() == [0.1, 2.0, 5.0]
    tuned = found.loc["nll tuned"]
    assert math.isnan(tuned["h"])
    assert tuned[["paper", "released"]].tolist() == [0.5, 0.25]
    assert len(found) == 2  # h = .2 has no number of `released`


def test_both_formats_have_the_numbers(tmp_path: Path) -> None:
    write(table(), tmp_path / "a.csv", tmp_path / "a.md")
    assert pd.read_csv(tmp_path / "a.csv")["paper"].tolist() == [2.0, 0.5]
    lines = (tmp_path / "a.md").read_text().splitlines()
    assert lines[0] == "| dataset | metric | method | K | h | paper | released |"
    assert lines[2] == "| moons | nll | v_wta | 16 | 0.1 | 2 | 5 |"
    assert lines[3] == "| moons | nll tuned | v_wta | 16 | – | 0.5 | 0.25 |"


def test_digits_are_significant_ones() -> None:
    assert "| 0.001235 |" in to_markdown(pd.DataFrame({"value": [0.00123456]}))


def test_latex_has_signs_bold_and_headings() -> None:
    cells = pd.DataFrame([["a_b", "**-1 ± 2**", "--"], ["", "-1-2 & 3 %", ""]])
    cells.columns = pd.Index(["Set", "NLL x", "NLL y"])
    sheet = Sheet(cells, "Of #1", "tab:one", ["† note"], [("NLL", 1, 2)])
    assert to_latex(sheet).splitlines() == [
        r"\begin{table*}",
        r"\centering\scriptsize\setlength{\tabcolsep}{3pt}",
        r"\caption{Of \#1}",
        r"\label{tab:one}",
        r"\begin{tabular}{lcc}",
        r"\toprule",
        r"& \multicolumn{2}{c}{NLL} \\",
        r"\cmidrule(lr){2-3}",
        r"Set & x & y \\",
        r"\midrule",
        r"a\_b & \textbf{$-$1 $\pm$ 2} & -- \\",
        r"& $-$1-2 \& 3 \% & \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip\parbox{\textwidth}{$^{\dagger}$ note}",
        r"\end{table*}",
    ]


def test_a_sheet_is_written_in_three_formats(tmp_path: Path) -> None:
    sheet = Sheet(pd.DataFrame({"a": ["1.5"]}), "Caption", "tab:a", ["First.", "Second."])
    write_sheet(sheet, pd.DataFrame({"a": [1.54321]}), tmp_path / "a.b")
    assert (tmp_path / "a.b.csv").read_text() == "a\n1.54321\n"
    text = "**Caption**\n\n| a |\n| --- |\n| 1.5 |\n\nFirst.\n\nSecond.\n"
    assert (tmp_path / "a.b.md").read_text() == text
    assert (tmp_path / "a.b.tex").read_text() == to_latex(sheet)
