"""The headline table of the UCI study, shortened for README.md.

Usage: python -m vwta.paper.uci.readme

Replaces the lines between the marks in README.md of the current folder by lines of the published
table `uci_headline`.
"""

from __future__ import annotations

__all__ = ["shortened", "update"]

from pathlib import Path

README, TABLE = Path("README.md"), Path("docs/results/uci/tables/uci_headline.md")
MARKS = "<!-- uci_headline: python -m vwta.paper.uci.readme -->\n", "<!-- end of uci_headline -->\n"
GROUPS = ("paper, single networks", "ours, single networks", "ours, ensembles")
UNSHOWN = ("Gaussian", "Year")  # a method alone, and a data set without numbers of ours


def shortened(text: str) -> str:
    """Lines of README.md: those of our own numbers in the headline table of the UCI study.

    Arguments:
        text: the table as markdown, with its notes.
    """
    rows = [line[1:-1].split(" | ") for line in text.splitlines() if line.startswith("|")]
    head, _, *rows = ([cell.strip() for cell in row] for row in rows)
    places = [place for place, name in enumerate(head) if name not in UNSHOWN]
    lines = [head, ["---"] * len(head)]
    group = ""
    for row in rows:
        group = row[0] or group
        if group in GROUPS and row[1] not in UNSHOWN:
            first = group not in (line[0] for line in lines)
            lines.append([group if first else "", *row[1:]])
    return "".join(f"| {' | '.join(line[place] for place in places)} |\n" for line in lines)


def update(readme: Path, table: Path) -> None:
    """Replaces the lines between the marks of README.md.

    Arguments:
        readme: the file.
        table: the headline table, as :func:`vwta.paper.uci.headline.write_headline` writes it.
    """
    before, begin, rest = readme.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        raise ValueError(f"{readme}: no lines {''.join(MARKS)!r}. Remedy: put them back")
    lines = shortened(table.read_text(encoding="utf-8"))
    readme.write_text(f"{before}{begin}\n{lines}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    update(README, TABLE)
