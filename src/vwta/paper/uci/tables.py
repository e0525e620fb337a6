"""Tables of the UCI study in the paper's layout: ours beside the printed numbers."""

from __future__ import annotations

__all__ = [
    "EARLIER",
    "OURS",
    "TABLES",
    "at_ends",
    "earlier_recipe",
    "write_protocols",
    "write_sizes",
    "write_tables",
]

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from vwta.paper.methods import METHODS
from vwta.paper.problems import title
from vwta.paper.tables import Sheet, signed, write_sheet
from vwta.paper.uci.comparison import compare, shown

# The paper's tables: metric, and the panel whose methods they have.
PRINTED = {"main": ("nll", "uci main"), "nll": ("nll", "uci"), "rmse": ("rmse", "uci")}
SIDE_BY_SIDE = ("nll", "rmse")
MORE = ("crps", "coverage90", "pit", "nll_dequantised")
LABELS = {
    "nll": "NLL",
    "rmse": "RMSE",
    "crps": "CRPS",
    "coverage90": "coverage, 90 %",
    "pit": "PIT",
    "odds": "odds of cells",
    "nll_dequantised": "NLL, dequantised",
}
# Digits after the point as the paper prints them; three significant ones for other metrics.
DECIMALS = {"nll": 2, "rmse": 2, "nll_dequantised": 2, "coverage90": 3, "pit": 3, "odds": 3}
TABLES = (*PRINTED, "more")  # what :func:`write_tables` writes
OURS, NEWEST = "ours", "local_v_wta"  # a protocol, and the method that its present recipe added

STAR = "⋆ As reported by Lakshminarayanan et al. (2017); printed only."
DISCRETE = (
    "† Discrete target: a density may grow without bound on its few values, so that a low NLL "
    "need not mean anything."
)
BORDER = (
    "‡ Most searches for h ended at an end of their interval, so that the bandwidth is that of the "
    "interval: {}."
)
EARLIER = (
    "§ Under `ours`, rows of an earlier recipe: not all methods have run. MDN and histogram tried "
    "one weight decay, K-WTA and V-WTA two weights of the scores; one network a split is measured "
    "alone."
)
DEVIATION = "±: standard deviation over the splits; NA: a single split. --: has not converged."
BOLD = (
    "Bold: the lowest mean of a line, and means whose standard deviation reaches it. This is the "
    "paper's rule, for the printed numbers too, even where the paper's own bold type differs."
)


def write_tables(
    metrics: pd.DataFrame,
    searches: pd.DataFrame,
    sizes: pd.DataFrame,
    reported: pd.DataFrame,
    folder: Path,
    protocol: str,
    datasets: Sequence[str],
) -> None:
    """Writes the tables of a protocol: `uci_{table}_{protocol}` for each of :data:`TABLES`.

    Each is a csv with every digit, one row for each data set and method, and the paper's layout in
    markdown and LaTeX; `line` and `column` of the csv give the place of a number there.

    Arguments:
        metrics: tidy table, of all protocols.
        searches: bandwidths that the searches for h tried, of all protocols, with `chosen` and
            `border`.
        sizes: `dataset`, `rows`, `inputs`, `splits` and `discrete` of the data sets that could be
            downloaded.
        reported: printed numbers, with columns `dataset`, `metric`, `method`, `mean`, `std`.
        folder: where to write.
        protocol: the protocol.
        datasets: data sets, from top to bottom. Those without rows are listed as such.
    """
    mine = metrics[metrics["protocol"] == protocol]
    for name, (metric, panel) in PRINTED.items():
        methods = shown(panel, mine)
        table = compare(metrics, reported, protocol, metric, methods, datasets)
        table = _with_border(table, searches[searches["protocol"] == protocol], metric)
        lines = [line for dataset in datasets for line in _data_set_lines(table, dataset, sizes)]
        cells = pd.DataFrame(lines, columns=["Dataset", "", *map(_head, methods)])
        sheet = Sheet(
            cells=cells,
            caption=f"UCI: {LABELS[metric]} (↓){_hypotheses(mine)}, protocol {protocol}",
            label=f"tab:uci-{name}-{protocol}",
            notes=[STAR, DEVIATION, BOLD, *_bound(table), *_remarks(table, sizes)],
            spans=[(f"{LABELS[metric]} (↓)", 2, cells.shape[1] - 1)],
            words=2,
        )
        placed = table.assign(
            line=table["dataset"].map(lambda dataset: _title(dataset, sizes)),
            column=table["method"].map(_head),
        )
        write_sheet(sheet, placed, folder / f"uci_{name}_{protocol}")
    _write_more(metrics, sizes, folder, protocol, datasets)


def write_sizes(
    sizes: pd.DataFrame, reported: pd.DataFrame, folder: Path, datasets: Sequence[str]
) -> None:
    """Writes the sizes of the UCI data sets, `uci_sizes`, beside the printed ones.

    Arguments:
        sizes: as of :func:`write_tables`.
        reported: printed sizes, with columns `dataset`, `rows` and `inputs`.
        folder: where to write.
        datasets: data sets, from left to right.
    """
    table = pd.DataFrame({"dataset": list(datasets)}).merge(sizes, on="dataset", how="left")
    printed = reported[["dataset", "rows", "inputs"]]
    printed = printed.rename(columns={"rows": "printed_rows", "inputs": "printed_inputs"})
    table = table.merge(printed, on="dataset", how="left")
    counts = ["rows", "inputs", "splits", "printed_rows", "printed_inputs"]
    table = table.astype({**dict.fromkeys(counts, "Int64"), "discrete": "boolean"})
    pair = "(N; dim X)"
    lines: dict[str, list[str]] = {f"printed {pair}": [], f"ours {pair}": [], "splits": []}
    other = []
    for row in _records(table):
        ours, theirs = _size(row), _size(row, "printed_")
        splits = "" if pd.isna(row["splits"]) else str(row["splits"])
        for line, text in zip(lines.values(), (theirs, ours or "no data", splits), strict=True):
            line.append(text)
        if ours and theirs and ours != theirs:
            other.append(_title(row["dataset"]))
    heads = ["Dataset", *(_title(name, sizes) for name in datasets)]
    cells = pd.DataFrame([[name, *line] for name, line in lines.items()], columns=heads)
    notes = [f"Other than printed: {', '.join(other)}."] if other else []
    notes += [DISCRETE] if _discrete(datasets, sizes) else []
    caption = "UCI: numbers N of rows and of inputs, and of splits"
    write_sheet(Sheet(cells, caption, "tab:uci-sizes", notes), table, folder / "uci_sizes")


def write_protocols(
    metrics: pd.DataFrame,
    sizes: pd.DataFrame,
    reported: pd.DataFrame,
    folder: Path,
    protocols: Sequence[str],
    datasets: Sequence[str],
) -> None:
    """Writes NLL and RMSE of protocols side by side, `uci_protocols`.

    Arguments as of :func:`write_tables`, with several protocols, from left to right. The csv has a
    row for each protocol too.
    """
    methods = _run(metrics[metrics["protocol"].isin(protocols)])
    tables = {
        (metric, protocol): compare(metrics, reported, protocol, metric, methods, datasets)
        for metric in SIDE_BY_SIDE
        for protocol in protocols
    }
    for table in tables.values():  # nothing is bold: protocols do not compete
        table[["best", "printed_best"]] = False
    columns = {}
    for metric in SIDE_BY_SIDE:
        first = tables[metric, protocols[0]]
        columns[f"{LABELS[metric]} printed"] = [_theirs(row) for row in _records(first)]
        for protocol in protocols:
            rows = _records(tables[metric, protocol])
            columns[f"{LABELS[metric]} {protocol}"] = [_ours(row) for row in rows]
    names = [("" if k else _title(name, sizes)) for name in datasets for k in range(len(methods))]
    labels = [METHODS[method].label for method in methods] * len(datasets)
    cells = pd.DataFrame({"Dataset": names, "Method": labels, **columns})
    every = pd.concat(tables.values(), ignore_index=True)
    width = len(protocols) + 1
    sheet = Sheet(
        cells=cells,
        caption=f"UCI: protocols side by side{_hypotheses(metrics)}",
        label="tab:uci-protocols",
        notes=[DEVIATION, *_remarks(every, sizes)],
        spans=[(LABELS[m], 2 + k * width, 1 + (k + 1) * width) for k, m in enumerate(SIDE_BY_SIDE)],
        words=2,
    )
    write_sheet(sheet, every.drop(columns=["best", "printed_best"]), folder / "uci_protocols")


def earlier_recipe(metrics: pd.DataFrame) -> list[str]:
    """UCI data sets whose numbers under `ours` are of an earlier recipe, see :data:`EARLIER`.

    These lack a method that others have; where no data set has it, none is named.
    """
    rows = metrics[metrics["protocol"] == OURS]
    newest = set(rows.loc[rows["method"] == NEWEST, "dataset"])
    return [str(name) for name in rows["dataset"].unique() if newest and name not in newest]


def at_ends(searches: pd.DataFrame) -> set[tuple[str, str, str]]:
    """Where most searches for h of the UCI study ended at an end of their interval.

    Arguments:
        searches: as of :func:`write_tables`.

    Returns:
        Protocols, data sets and methods.
    """
    chosen = searches[searches["chosen"]]
    shares = chosen.groupby(["protocol", "dataset", "method"])["border"].mean()
    return set(shares.index[shares > 1 / 2])


def _write_more(
    metrics: pd.DataFrame,
    sizes: pd.DataFrame,
    folder: Path,
    protocol: str,
    datasets: Sequence[str],
) -> None:
    """Writes what the paper does not print, a line for each data set and metric."""
    mine = metrics[metrics["protocol"] == protocol]
    methods = _run(mine)
    nothing = pd.DataFrame(columns=["dataset", "metric", "method", "mean", "std"])
    tables = {m: compare(metrics, nothing, protocol, m, methods, datasets) for m in MORE}
    lines = [line for name in datasets for line in _more_lines(tables, name, sizes)]
    every = pd.concat(tables.values(), ignore_index=True)
    unprinted = every.columns.str.contains("printed|difference")
    sheet = Sheet(
        cells=pd.DataFrame(lines, columns=["Dataset", "Metric", *map(_head, methods)]),
        caption=f"UCI: other metrics{_hypotheses(mine)}, protocol {protocol}",
        label=f"tab:uci-more-{protocol}",
        notes=[
            DEVIATION,
            "Bold as in the other tables, where low is good.",
            *_remarks(every, sizes),
        ],
        words=2,
    )
    write_sheet(sheet, every.loc[:, ~unprinted], folder / f"uci_more_{protocol}")


def _with_border(table: pd.DataFrame, searches: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The table with the number of `searches` for h, and of those `at_border`; the NLL alone."""
    chosen = searches[searches["chosen"]] if metric == "nll" else searches.iloc[:0]
    found = chosen.groupby(["dataset", "method"])["border"].agg(searches="size", at_border="sum")
    table = table.merge(found.reset_index(), "left", ["dataset", "method"])
    counts = {"searches": 0, "at_border": 0}
    return table.fillna(counts).astype(dict.fromkeys(counts, "int64"))


def _bound(table: pd.DataFrame) -> list[str]:
    """A note on the numbers whose bandwidth is an end of its interval in most searches."""
    rows = _records(table[table["at_border"] > table["searches"] / 2])
    names = [
        f"{_title(row['dataset'])}, {METHODS[row['method']].label} "
        f"({row['at_border']} of {row['searches']})"
        for row in rows
    ]
    return [BORDER.format("; ".join(names))] if names else []


def _data_set_lines(table: pd.DataFrame, dataset: str, sizes: pd.DataFrame) -> list[list[str]]:
    """Lines of a data set: printed numbers, ours, and the difference, where there are any."""
    rows = _records(table[table["dataset"] == dataset])
    lines = [["ours", *map(_ours, rows)]]
    if any(row["printed"] for row in rows):
        lines.insert(0, ["printed", *map(_theirs, rows)])
    if any(pd.notna(row["difference"]) for row in rows):
        lines.append(["difference", *map(_difference, rows)])
    head = _title(dataset, sizes)
    return [["" if number else head, *line] for number, line in enumerate(lines)]


def _more_lines(
    tables: Mapping[str, pd.DataFrame], dataset: str, sizes: pd.DataFrame
) -> list[list[str]]:
    """Lines of a data set, by metric; a single one if there is nothing to show."""
    lines, discrete = [], _discrete([dataset], sizes)
    for metric, table in tables.items():
        rows = _records(table[table["dataset"] == dataset])
        if any(row["splits"] for row in rows) and (discrete or metric != "nll_dequantised"):
            lines.append([LABELS[metric], *map(_ours, rows)])
    lines = lines or [["", *map(_ours, rows)]]
    head = _title(dataset, sizes)
    return [["" if number else head, *line] for number, line in enumerate(lines)]


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _ours(row: Mapping[str, Any]) -> str:
    """Our number; why there is none, for methods that we run."""
    if not row["splits"]:
        return "" if METHODS[row["method"]].printed else str(row["missing"])
    text = _number(row["mean"], row["std"], row["metric"])
    text = f"**{text}**" if row["best"] else text
    return text + ("‡" if row.get("at_border", 0) > row.get("searches", 0) / 2 else "")


def _theirs(row: Mapping[str, Any]) -> str:
    if not row["printed"]:
        return ""
    text = _number(row["printed_mean"], row["printed_std"], row["metric"])
    return f"**{text}**" if row["printed_best"] else text


def _difference(row: Mapping[str, Any]) -> str:
    return signed(row["difference"], DECIMALS[row["metric"]])


def _number(mean: float, std: float, metric: str) -> str:
    """Mean and standard deviation as the paper prints them."""
    if math.isnan(mean):
        return "--"
    if math.isinf(mean):
        return "∞" if mean > 0 else "-∞"
    digits = DECIMALS.get(metric, 2 - math.floor(math.log10(abs(mean) or 1.0)))
    places = max(digits, 0)
    return f"{mean:.{places}f} ± " + ("NA" if math.isnan(std) else f"{std:.{places}f}")


def _size(row: Mapping[str, Any], prefix: str = "") -> str:
    rows, inputs = row[f"{prefix}rows"], row[f"{prefix}inputs"]
    return "" if pd.isna(rows) else f"({rows}; {inputs})"


def _title(dataset: str, sizes: pd.DataFrame | None = None) -> str:
    """Name of a data set, with a mark if its target is discrete."""
    marked = sizes is not None and bool(_discrete([dataset], sizes))
    return title(dataset) + ("†" if marked else "")


def _head(method: str) -> str:
    return METHODS[method].label + ("⋆" if METHODS[method].printed else "")


def _discrete(datasets: Iterable[str], sizes: pd.DataFrame) -> list[str]:
    """Those of the data sets whose target is discrete."""
    marked = set(sizes.loc[sizes["discrete"].astype(bool), "dataset"])
    return [name for name in datasets if name in marked]


def _run(metrics: pd.DataFrame) -> list[str]:
    """Methods that are run, not only printed."""
    return [name for name in shown("uci", metrics) if not METHODS[name].printed]


def _hypotheses(metrics: pd.DataFrame) -> str:
    """Number of hypotheses of the paper's methods, if it is one and the same."""
    extra = [name for name, method in METHODS.items() if method.extra]
    counts = metrics.loc[~metrics["method"].isin(extra), "K"].dropna().unique()
    return f", {counts[0]} hypotheses" if len(counts) == 1 else ""


def _remarks(table: pd.DataFrame, sizes: pd.DataFrame) -> list[str]:
    """Notes on discrete targets, data sets without numbers, and numbers that are not finite."""
    notes = [DISCRETE] if _discrete(table["dataset"].unique(), sizes) else []
    fewest = table[table["splits"] > 0].groupby("dataset", sort=False)["splits"].min()
    whole = dict(zip(sizes["dataset"], sizes["splits"], strict=True))
    short = [
        f"{_title(name)} ({count} of {whole[name]})"
        for name, count in zip(map(str, fewest.index), fewest, strict=True)
        if count < whole.get(name, 0)
    ]
    notes += [f"Fewer splits than the data set has: {', '.join(short)}."] if short else []
    broken = table[table["not_finite"] > 0].drop_duplicates(["dataset", "method"])
    names = [f"{_title(r['dataset'])}, {METHODS[r['method']].label}" for r in _records(broken)]
    text = f"Not finite in some splits: {'; '.join(names)}."
    return notes + ([text] if names else [])
