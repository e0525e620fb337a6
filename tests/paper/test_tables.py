"""Tables for readers say what their cells say."""

from pathlib import Path

import pandas as pd

from vwta.paper.tables import Sheet, to_latex, to_markdown, write_sheet


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
