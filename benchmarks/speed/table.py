"""Tables of a run, in Markdown; whoever is faster stands in bold."""

from __future__ import annotations

__all__ = ["details", "exponent", "milliseconds", "summary", "worst_ratios"]

import math

import pandas as pd

SHOWN = 1000  # size that the short table shows


def exponent(rows: pd.DataFrame) -> float:
    """Power of the size with which the time of one side grows, from its two largest sizes."""
    rows = rows.sort_values("n")
    if len(rows) < 2:
        return math.nan
    (n, time), (more, longer) = rows[["n", "seconds"]].to_numpy()[-2:]
    return math.log(longer / time) / math.log(more / n)


def milliseconds(seconds: float) -> str:
    """Two digits, or all those before the point."""
    time = seconds * 1e3
    return f"{time:,.0f}" if time >= 10 else f"{time:.{2 - math.ceil(math.log10(time))}f}"


def summary(table: pd.DataFrame) -> str:
    """A line for each job at one size: ours beside the fastest peer, and the worst of all sizes."""
    head = f"| CPU ms, K = {SHOWN:,} | `vwta` | fastest peer | errors | worst ratio at any K |"
    lines = [head, "|---|---|---|---|---|"]
    worst = worst_ratios(table)
    for job, rows in table[table["n"] == SHOWN].groupby("job", sort=False):
        ours, peers = rows.iloc[0], rows[~rows["side"].str.startswith("vwta")]
        peer = peers.nsmallest(1, "seconds").iloc[0]
        ahead = ours["seconds"] <= peer["seconds"]
        times = f"{_cell(ours['seconds'], ahead)} | {_cell(peer['seconds'], not ahead)}"
        errors = f"{_error(ours['error'])}, {_error(peer['error'])}"
        title = f"{ours['title']}, {ours['space']}"
        lines.append(f"| {title} | {times} {peer['side']} | {errors} | {worst[job]:.2g} |")
    return "\n".join(lines)


def worst_ratios(table: pd.DataFrame) -> pd.Series:
    """Largest ratio of our time to that of the fastest peer, over all sizes that we did, by job."""
    ours = table[table["side"] == "vwta"].set_index(["job", "n"])["seconds"]
    peers = table[~table["side"].str.startswith("vwta")].groupby(["job", "n"])["seconds"].min()
    return (ours / peers).groupby("job").max()


def details(table: pd.DataFrame) -> str:
    """For each job a table with a line for each side, and its time at each size."""
    parts = []
    for _, rows in table.groupby("job", sort=False):
        times = rows.pivot_table(index="side", columns="n", values="seconds", sort=False)
        best = times.min()
        first = rows.iloc[0]
        head = [f"{first['size']} = {n:,}" for n in times.columns]
        title = f"{first['title']}, {first['space']}"
        parts.append(f"{title[0].upper()}{title[1:]}:\n")
        parts.append(f"| CPU ms | {' | '.join(head)} | grows as | largest error |")
        parts.append("|---" * (len(head) + 3) + "|")
        for side, line in times.iterrows():
            own = rows[rows["side"] == side]
            cells = [
                ""
                if math.isnan(x)
                else f"**{milliseconds(x)}**"
                if x == best[n]
                else milliseconds(x)
                for n, x in line.items()
            ]
            growth = f"{first['size']}^{exponent(own):.1f}"
            error = _error(own["error"].max())
            parts.append(f"| {side} | {' | '.join(cells)} | {growth} | {error} |")
        parts.append("")
    return "\n".join(parts)


def _cell(seconds: float, fastest: bool) -> str:
    if math.isnan(seconds):
        return ""
    return f"**{milliseconds(seconds)}**" if fastest else milliseconds(seconds)


def _error(error: float) -> str:
    """Its size, or that the truth comes from this side."""
    if math.isnan(error):
        return "reference"
    return f"{error:.0e}".replace("e-0", "e-")
