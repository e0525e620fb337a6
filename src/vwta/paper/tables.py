"""Tables for readers, as csv, markdown and LaTeX."""

from __future__ import annotations

__all__ = [
    "SUFFIXES",
    "Sheet",
    "signed",
    "to_latex",
    "to_markdown",
    "write",
    "write_sheet",
]

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from vwta.io.storage import atomic

SUFFIXES = (".csv", ".md", ".tex")  # of the files of a sheet
# LaTeX code of signs.
SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%#_${}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "²": r"$^2$",
    "π": r"$\pi$",
    "∞": r"$\infty$",
    "↓": r"$\downarrow$",
    "⋆": r"$^{\star}$",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "−": "$-$",
}


class Sheet(NamedTuple):
    """A table as readers see it, with the words around it.

    Arguments:
        cells: text in every cell, in markdown, of which `**bold**` alone is known to LaTeX. Lines
            whose first cell is empty belong to the line above.
        caption: what it shows.
        label: name to refer to it in LaTeX.
        notes: sentences below it.
        spans: headings over several columns, LaTeX only: the first and last column below each,
            counted from 0. These columns' own headings may start with it.
        words: so many columns at the left have words; the others are centred.
    """

    cells: pd.DataFrame
    caption: str
    label: str
    notes: Sequence[str] = ()
    spans: Sequence[tuple[str, int, int]] = ()
    words: int = 1


def to_markdown(table: pd.DataFrame, digits: int = 4) -> str:
    """A table for readers in markdown: numbers to some digits, missing ones as a dash."""

    def cell(value: Any) -> str:
        if pd.isna(value):
            return "–"
        return f"{value:.{digits}g}" if isinstance(value, float) else str(value)

    lines = [list(map(str, table.columns)), ["---"] * table.shape[1]]
    lines += [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def signed(difference: float, places: int) -> str:
    """A difference in a table for readers, with its sign and so many digits after the point.

    Example:
        >>> signed(-0.001, 2), signed(1.5, 2)
        ('+0.00', '+1.50')
    """
    if math.isnan(difference):
        return ""
    return f"{round(difference, places) + 0.0:+.{places}f}".replace("inf", "∞")


def write(table: pd.DataFrame, csv: Path, markdown: Path, words: str) -> None:
    """Writes a table for readers: the csv has every digit, markdown starts with some words."""
    with atomic(csv) as temporary:
        table.to_csv(temporary, index=False)
    with atomic(markdown) as temporary:
        temporary.write_text(f"{words}\n\n{to_markdown(table)}", encoding="utf-8")


def write_sheet(sheet: Sheet, numbers: pd.DataFrame, path: Path) -> None:
    """Writes a sheet as `path.md` and `path.tex`, and its numbers, every digit, as `path.csv`."""
    notes = "".join(f"\n{note}\n" for note in sheet.notes)
    markdown = f"**{sheet.caption}**\n\n{to_markdown(sheet.cells)}{notes}"
    texts = numbers.to_csv(index=False), markdown, to_latex(sheet)
    for suffix, text in zip(SUFFIXES, texts, strict=True):
        with atomic(path.with_name(path.name + suffix)) as temporary:
            temporary.write_text(text, encoding="utf-8")


def to_latex(sheet: Sheet) -> str:
    """A sheet as a `table*` for documents that use the package booktabs."""
    heads = list(map(str, sheet.cells.columns))
    parts = [
        r"\begin{table*}",
        r"\centering\scriptsize\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{_latex(sheet.caption)}}}",
        rf"\label{{{sheet.label}}}",
        rf"\begin{{tabular}}{{{'l' * sheet.words + 'c' * (len(heads) - sheet.words)}}}",
        r"\toprule",
        *_heads(heads, sheet.spans),
        r"\midrule",
    ]
    for number, line in enumerate(sheet.cells.itertuples(index=False)):
        if line[0] and number:
            parts.append(r"\addlinespace")
        parts.append(_row([_latex(cell) for cell in line]))
    parts += [r"\bottomrule", r"\end{tabular}"]
    if sheet.notes:
        parts.append(rf"\par\smallskip\parbox{{\textwidth}}{{{_latex(' '.join(sheet.notes))}}}")
    return "\n".join([*parts, r"\end{table*}"]) + "\n"


def _heads(heads: Sequence[str], spans: Sequence[tuple[str, int, int]]) -> list[str]:
    """Lines of the headings; headings over several columns stand above, with a rule below each."""
    own, above, rules = list(heads), [""] * len(heads), ""
    for text, first, last in reversed(spans):  # from right to left: places to the left stay
        columns = slice(first, last + 1)
        own[columns] = [head.removeprefix(f"{text} ") for head in own[columns]]
        above[columns] = [rf"\multicolumn{{{last - first + 1}}}{{c}}{{{_latex(text)}}}"]
        rules = rf"\cmidrule(lr){{{first + 1}-{last + 1}}}" + rules
    lines = [_row(above), rules] if spans else []
    return [*lines, _row([_latex(head) for head in own])]


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells).strip() + r" \\"


def _latex(text: str) -> str:
    """Text in LaTeX: signs and minus signs, and bold where markdown has it."""
    text = "".join(SIGNS.get(sign, sign) for sign in text)
    text = re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", text)
    return re.sub(r"(?<![\w-])-(?=[\d$])", "$-$", text)
