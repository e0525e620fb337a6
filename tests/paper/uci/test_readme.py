"""The headline table in README.md is that of the published one."""

from pathlib import Path

import pytest
from loading import ROOT

from vwta.paper.uci.readme import MARKS, README, TABLE, shortened, update

TEXT = """\
**A caption**

|  | Method | Boston† | Year |
| --- | --- | --- | --- |
| printed, single networks | MDN | 2.95 | -- |
| ours, single networks | Gaussian | 4.49 |  |
|  | MDN | **2.97**‡ |  |
| ours, ensembles | MDN ensemble | 2.30 |  |

A note.
"""


def test_our_own_numbers_are_shown() -> None:
    assert shortened(TEXT).splitlines() == [
        "|  | Method | Boston† |",
        "| --- | --- | --- |",
        "| ours, single networks | MDN | **2.97**‡ |",
        "| ours, ensembles | MDN ensemble | 2.30 |",
    ]


def test_lines_between_the_marks_are_replaced(tmp_path: Path) -> None:
    table, readme = tmp_path / "table.md", tmp_path / "README.md"
    table.write_text(TEXT)
    readme.write_text(f"Before.\n{MARKS[0]}old\n{MARKS[1]}After.\n")
    update(readme, table)
    text = readme.read_text()
    assert text == f"Before.\n{MARKS[0]}\n{shortened(TEXT)}\n{MARKS[1]}After.\n"
    update(readme, table)
    assert readme.read_text() == text
    readme.write_text("No marks.")
    with pytest.raises(ValueError, match="Remedy: put them back"):
        update(readme, table)


def test_readme_has_the_published_table() -> None:
    """`make publish` and `python -m vwta.paper.uci.readme` write it."""
    assert shortened((ROOT / TABLE).read_text()) in (ROOT / README).read_text()
