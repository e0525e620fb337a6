"""Draw the rules of the workflow and what they read from each other, as docs/rules.svg.

Usage: python workflow/graph.py [FILE]

Rules come from Snakemake, at the smoke tier, which passes through all of them. Rules of the same
kind, such as all that draw figures of a study, are drawn as one. A column is as far to the right as
the longest way to it; a lane is a study. Of the arrows, those are left out that follow from others.
"""

import re
import subprocess
import sys
from collections import defaultdict
from html import escape
from pathlib import Path

__all__ = ["draw", "merged", "read", "reduced"]

COMMAND = ["snakemake", "--configfile", "config/smoke.yaml", "--forceall", "--rulegraph"]
FILE = Path("docs", "rules.svg")
LEFT_OUT = {"all"}
LANES = {"synthetic": "#0072B2", "uci": "#009E73", "audio": "#D55E00", "all studies": "#57606a"}
SHARED = {"judge", "report_page"}
GREY, FAINT = "#8a939c", "#d5dade"
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 170, 26, 44, 12, 12


def main(path: Path = FILE) -> None:
    """Ask Snakemake for the rules and draw them."""
    command = [sys.executable, "-m", *COMMAND]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"Snakemake cannot tell its rules:\n{done.stderr}")
    path.write_text(draw(reduced(merged(read(done.stdout)))), encoding="utf-8")
    print(path)


def read(dot: str) -> set[tuple[str, str]]:
    """Arrows between rules, from Snakemake's graph."""
    names = dict(re.findall(r"^\s*(\d+)\[label = \"(\w+)\"", dot, re.MULTILINE))
    arrows = re.findall(r"^\s*(\d+) -> (\d+)", dot, re.MULTILINE)
    pairs = {(names[a], names[b]) for a, b in arrows}
    return {pair for pair in pairs if not LEFT_OUT & set(pair)}


def merged(arrows: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The same between kinds of rules."""
    return {(kind(a), kind(b)) for a, b in arrows if kind(a) != kind(b)}


def kind(rule: str) -> str:
    """What rules that are drawn as one have in common.

    >>> kind("figure_uci_paper"), kind("figure_cells"), kind("train_synthetic_0"), kind("judge")
    ('figure_uci_*', 'figure_*', 'train_synthetic_*', 'judge')
    """
    found = re.match(r"(figure_(?:uci|audio)|train_(?:synthetic|uci))_", rule)
    if found:
        return f"{found[1]}_*"
    return "figure_*" if rule.startswith("figure_") else rule


def lane(rule: str) -> str:
    """The study that a rule is of."""
    if rule in SHARED:
        return "all studies"
    words = {"uci": "uci", "audio": "audio", "scenes": "audio"}
    return next((words[one] for one in rule.split("_") if one in words), "synthetic")


def after(arrows: set[tuple[str, str]]) -> dict[str, set[str]]:
    """All rules that a rule leads to, directly or not."""
    following = defaultdict(set)
    for a, b in arrows:
        following[a].add(b)
    found: dict[str, set[str]] = {}

    def of(rule: str) -> set[str]:
        if rule not in found:
            found[rule] = set().union(*({b} | of(b) for b in following[rule]))
        return found[rule]

    for rule in sorted({one for pair in arrows for one in pair}):
        of(rule)
    return found


def reduced(arrows: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Arrows without those that follow from others."""
    reached = after(arrows)
    return {
        (a, b)
        for a, b in arrows
        if not any(b in reached[c] for other, c in arrows if other == a and c != b)
    }


def places(arrows: set[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Column and row of each rule."""
    before = defaultdict(set)
    for a, b in arrows:
        before[b].add(a)
    columns: dict[str, int] = {}

    def column(rule: str) -> int:
        if rule not in columns:
            columns[rule] = max((column(one) + 1 for one in before[rule]), default=0)
        return columns[rule]

    found, first = {}, 0
    rules = sorted({one for pair in arrows for one in pair})
    for name in LANES:
        mine = [rule for rule in rules if lane(rule) == name]
        taken: dict[int, int] = defaultdict(int)
        for rule in sorted(mine, key=lambda rule: (column(rule), rule)):
            found[rule] = column(rule), first + taken[column(rule)]
            taken[column(rule)] += 1
        first += max(taken.values(), default=0)
    return found


def draw(arrows: set[tuple[str, str]]) -> str:
    """The picture, as SVG."""
    found = places(arrows)
    spot = {
        rule: (MARGIN + c * (WIDTH + ACROSS), MARGIN + r * (HEIGHT + DOWN))
        for rule, (c, r) in found.items()
    }
    width = max(x for x, _ in spot.values()) + WIDTH + MARGIN
    height = max(y for _, y in spot.values()) + HEIGHT + 2 * MARGIN + HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{GREY}"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for a, b in sorted(arrows, key=lambda pair: (pair[1] not in SHARED, pair)):
        colour = FAINT if b in SHARED else GREY  # all leads to verdicts and the page
        (x1, y1), (x2, y2) = spot[a], spot[b]
        x1, y1, y2 = x1 + WIDTH, y1 + HEIGHT / 2, y2 + HEIGHT / 2
        bend = ACROSS if x2 - x1 > ACROSS else ACROSS / 2
        lines.append(
            f'<path d="M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}" fill="none" '
            f'stroke="{colour}" marker-end="url(#tip)"/>'
        )
    for rule, (x, y) in sorted(spot.items()):
        lines.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#ffffff" '
            f'stroke="{LANES[lane(rule)]}" stroke-width="1.6"/>'
            f'<text x="{x + WIDTH / 2}" y="{y + 17}" text-anchor="middle" fill="#1b1f24">'
            f"{escape(rule)}</text>"
        )
    for place, (name, colour) in enumerate(LANES.items()):
        x, y = MARGIN + place * 120, height - MARGIN - 10
        lines.append(
            f'<rect x="{x}" y="{y}" width="14" height="10" rx="3" fill="{colour}"/>'
            f'<text x="{x + 20}" y="{y + 10}" fill="#1b1f24">{name}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
