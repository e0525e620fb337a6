"""Tables of the audio study in the paper's layout: ours beside the printed numbers."""

from __future__ import annotations

__all__ = ["TABLES", "Cell", "compare", "write_tables"]

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vwta.paper.audio.distortion import PER_RADIAN_SQUARED
from vwta.paper.audio.notes import (
    DENOMINATOR,
    DISTORTION,
    HISTOGRAM,
    LOCAL,
    PERFECTION,
    SCENES,
    TRUTH,
    UNIFORM,
    VOLUMES,
    on_sizes,
)
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.methods import METHODS, in_panel, network_of
from vwta.paper.problems import title
from vwta.paper.tables import Sheet, signed, write_sheet

TABLES = ("main", "quantisation", "tuned")
BANDWIDTHS = (0.3, 0.5, 1.0)  # of the paper's main table
COUNTS = (9, 16, 25)  # its numbers K of hypotheses
ALL_COUNTS = (9, 16, 20, 25)  # those of its appendix

# The metric in the tidy table, and what makes ours of it.
SCALES = {
    "nll": ("nll", 1.0),
    "nll_all_places": ("nll_all_places", 1.0),
    "h": ("nll", 1.0),
    "risk": ("risk", 1.0),
    "distortion_x100": ("risk", PER_RADIAN_SQUARED),
}
DECIMALS = {"nll": 2, "nll_all_places": 2, "distortion_x100": 2, "risk": 3, "h": 3}
TOLERANCE = 1e-9  # numbers closer than this are equal

# Metric, method, K, given bandwidth, and whether it was tuned instead.
Key = tuple[str, str, int | None, float | None, bool]

PERFECT = {"v_lloyd", "k_lloyd"}  # with a bandwidth
BOUNDS = {"truth", "best_m_vmf", *PERFECT}  # no trained estimators
ALL_PLACES = ", over all places"  # after the label of M-vMF


class Cell(NamedTuple):
    """The number that a cell of the audio study's tables shows.

    Arguments:
        metric: a key of :data:`SCALES`; `h` is the bandwidth that was tuned.
        method: name of the method.
        K: number of hypotheses; the true law has none, and is the same for all.
        h: given bandwidth, None for a method without one.
        tuned: whether the bandwidth was tuned.
        ranked: whether it competes for the lowest number of its column, which is bold.
    """

    metric: str
    method: str
    K: int
    h: float | None = None
    tuned: bool = False
    ranked: bool = True


class Column(NamedTuple):
    """A column of the audio study's tables: headings, and its cells by line's name."""

    above: str
    head: str
    cells: Mapping[str, Cell]


class Table(NamedTuple):
    """A table of the audio study before its numbers are known."""

    caption: str
    columns: Sequence[Column]
    lines: Sequence[str]
    notes: Sequence[str]


def write_tables(
    metrics: pd.DataFrame,
    reported: pd.DataFrame,
    folder: Path,
    protocol: str,
    dataset: str,
    interval: tuple[float, float],
    sizes: Mapping[str, int],
    ending: str = "",
) -> None:
    """Writes the tables of a protocol: `audio_{table}{ending}` for each of :data:`TABLES`.

    Each is a csv with every digit, one row for each cell, and the paper's layout in markdown and
    LaTeX; `line` and `column` of the csv give the place of a number there. Cells that were not
    run are listed as such.

    Arguments:
        metrics: tidy table, of all protocols.
        reported: printed numbers, with columns `metric`, `method`, `h`, `K`, `value`.
        folder: where to write.
        protocol: the protocol.
        dataset: where the scenes come from: ansyn, resynthesis or synthetic.
        interval: lowest and highest bandwidth that was searched.
        sizes: of networks and their inputs, see :func:`vwta.paper.audio.notes.on_sizes`.
        ending: of the names of files.
    """
    mine = metrics[(metrics["protocol"] == protocol) & (metrics["dataset"] == dataset)]
    if mine.empty:
        there = metrics[["protocol", "dataset"]].drop_duplicates().itertuples(index=False)
        known = "; ".join(f"{row[0]}, {row[1]}" for row in there) or "no rows at all"
        raise ValueError(f"no metrics of protocol {protocol} on {dataset}: there are {known}")
    counts = sorted({*ALL_COUNTS, *mine["K"].dropna().astype(int)})
    run = {*mine["method"]}
    over_all = protocol == "released" and "nll_all_places" in {*mine["metric"]}
    layouts = (_main(), _quantisation(counts), _tuned(counts, interval, run, over_all))
    for name, table in zip(TABLES, layouts, strict=True):
        every = [cell for column in table.columns for cell in column.cells.values()]
        numbers = compare(mine, reported, every)
        notes = [*table.notes, *_remarks(numbers, dataset), *on_sizes(sizes)]
        sheet = Sheet(
            cells=_cells(table, numbers),
            caption=f"Audio: {table.caption}, {title(dataset)}, protocol {protocol}",
            label=f"tab:audio-{name}-{protocol}",
            notes=notes,
            spans=_spans(table.columns),
            words=2,
        )
        places = [(line, _head(column)) for column in table.columns for line in column.cells]
        record = numbers.drop(columns=["ranked"])
        record[["line", "column"]] = places
        record.insert(0, "protocol", protocol)
        record.insert(1, "dataset", dataset)
        write_sheet(sheet, record, folder / f"audio_{name}{ending}")


def compare(metrics: pd.DataFrame, reported: pd.DataFrame, cells: Iterable[Cell]) -> pd.DataFrame:
    """Ours beside the printed numbers of the audio study, one row for each cell, run or not.

    Arguments:
        metrics: tidy table of one protocol and dataset.
        reported: printed numbers, with columns `metric`, `method`, `h`, `K`, `value`.
        cells: what to look up.

    Returns:
        The fields of :class:`Cell`, then the number of `seeds`, `mean` and `std` (of a sample) over
        them, `printed`, `difference` (ours minus printed) and `missing`: `not run`, or empty.
    """
    ours = _by_cell(metrics)
    theirs = {
        (row["metric"], row["method"], row["K"], _bandwidth(row["h"])): float(row["value"])
        for row in reported.to_dict("records")
    }
    table = []
    for cell in cells:
        values = _of_seeds(ours, cell)
        # The paper tunes no bandwidth in this study.
        printed = math.nan if cell.tuned else theirs.get(cell[:4], math.nan)
        mean = values.mean() if len(values) else math.nan
        several = len(values) > 1 and math.isfinite(mean)
        numbers = {
            "seeds": len(values),
            "mean": mean,
            "std": values.std(ddof=1) if several else math.nan,
            "printed": printed,
            "difference": mean - printed,
            "missing": "" if len(values) else "not run",
        }
        table.append({**cell._asdict(), **numbers})
    return pd.DataFrame(table)


def _by_cell(metrics: pd.DataFrame) -> dict[Key, dict[Any, tuple[float, float]]]:
    """Value and bandwidth of each seed, by metric, method, K, given bandwidth and `tuned`."""
    found: dict[Key, dict[Any, tuple[float, float]]] = {}
    used = metrics[metrics["metric"].isin([metric for metric, _ in SCALES.values()])]
    for row in used.to_dict("records"):
        K, h = None if pd.isna(row["K"]) else int(row["K"]), _bandwidth(row["h"])
        key = row["metric"], row["method"], K, None if row["tuned"] else h, bool(row["tuned"])
        seeds = found.setdefault(key, {})
        if row["seed"] in seeds:
            raise ValueError(
                f"two rows for metric {key[0]}, method {key[1]}, K = {K}, h = {key[3]}, tuned = "
                f"{key[4]}, seed {row['seed']}: collect the metrics again"
            )
        seeds[row["seed"]] = row["value"], row["h"]
    return found


def _of_seeds(
    ours: Mapping[Key, Mapping[Any, tuple[float, float]]], cell: Cell
) -> NDArray[np.float64]:
    """Our numbers for a cell, one for each seed."""
    metric, scale = SCALES[cell.metric]
    # risk only knows where the atoms are
    method = (network_of(cell.method) if metric == "risk" else None) or cell.method
    K = None if method == "truth" else cell.K
    pairs = ours.get((metric, method, K, cell.h, cell.tuned), {}).values()
    return np.array([h if cell.metric == "h" else scale * value for value, h in pairs])


def _bandwidth(h: float) -> float | None:
    """A given bandwidth to compare with, None if there is none."""
    return None if math.isnan(h) else round(h, 9)


def _main() -> Table:
    """NLL at some bandwidths, and distortion."""
    lines = {}
    for method in in_panel("audio main"):  # without a bandwidth it stands for its network
        atoms = method if _swept(method) else network_of(method) or method
        lines[_label(atoms)] = method, atoms
    columns = [
        Column(
            f"NLL (h = {h:g})",
            f"K = {K}",
            {
                name: Cell("nll", method, K, h if _swept(method) else None)
                for name, (method, _) in lines.items()
            },
        )
        for h in BANDWIDTHS
        for K in COUNTS
    ]
    columns += _distortions({name: atoms for name, (_, atoms) in lines.items()}, COUNTS)
    caption = "NLL (↓) and distortion (↓)"
    return Table(caption, columns, list(lines), [HISTOGRAM, DISTORTION, VOLUMES])


def _quantisation(counts: Sequence[int]) -> Table:
    """Distortion of all estimators, for all K."""
    lines = {_label(method): method for method in in_panel("audio quantisation")}
    return Table("distortion (↓)", _distortions(lines, counts), list(lines), [DISTORTION])


def _distortions(lines: Mapping[str, str], counts: Sequence[int]) -> list[Column]:
    """Columns of distortion in the printed scale and in rad², from the method of each line."""
    heads = {"distortion_x100": "Distortion, printed scale", "risk": "Distortion, rad²"}
    return [
        Column(text, f"K = {K}", {name: Cell(metric, of, K) for name, of in lines.items()})
        for metric, text in heads.items()
        for K in counts
    ]


def _tuned(
    counts: Sequence[int], interval: tuple[float, float], run: Container[str], over_all: bool
) -> Table:
    """Tuned bandwidths and the NLL there, beside methods without any; our own where they ran.

    A line has the NLL of M-vMF over all places if it is wanted.
    """
    low, high = interval
    methods = [m for m in in_panel("audio tuned") if not METHODS[m].extra or m in run]
    further = [_label("m_vmf") + ALL_PLACES] if over_all else []
    columns = [
        Column(
            "h",
            f"K = {K}",
            {_label(m): Cell("h", m, K, tuned=True, ranked=False) for m in methods if _chosen(m)},
        )
        for K in counts
    ]
    columns += [
        Column(
            "NLL",
            f"K = {K}",
            {
                _label(m): Cell("nll", m, K, tuned=_chosen(m), ranked=m not in BOUNDS)
                for m in methods
            }
            | {name: Cell("nll_all_places", "m_vmf", K, ranked=False) for name in further},
        )
        for K in counts
    ]
    searched = (
        "h: the bandwidth with the lowest NLL of validation targets, searched between "
        f"{low:g} and {high:g}; one at the upper end means that kernels should be uniform over the "
        "cells. The paper tunes none in this study: of these lines it prints Unif. Hist alone."
    )
    notes = [searched, TRUTH, UNIFORM]
    notes += [LOCAL] if "local_v_wta" in methods else []
    notes += [PERFECTION] if PERFECT & {*methods} else []
    notes += [DENOMINATOR] if further else []
    caption = "NLL (↓) at tuned bandwidths"
    return Table(caption, columns, [*map(_label, methods), *further], notes)


def _chosen(method: str) -> bool:
    """Whether a bandwidth is chosen for a method, or a factor on its bandwidths."""
    adjusted = method in ESTIMATORS and ESTIMATORS[method].adjusted
    return _swept(method) or adjusted or method in PERFECT


def _swept(method: str) -> bool:
    return method in ESTIMATORS and ESTIMATORS[method].swept


def _label(method: str) -> str:
    return METHODS[method].label


def _head(column: Column) -> str:
    return f"{column.above} {column.head}"


def _cells(table: Table, numbers: pd.DataFrame) -> pd.DataFrame:
    """Text of every cell: for each line printed numbers, ours and differences, if there are any."""
    records = iter(numbers.to_dict("records"))
    columns = [{name: next(records) for name in column.cells} for column in table.columns]
    for column in columns:
        for which in ("mean", "printed"):
            _mark(list(column.values()), which)
    lines = []
    for name in table.lines:
        here = [column.get(name) for column in columns]
        texts = {
            "printed": [_text(record, "printed") for record in here],
            "ours": [_text(record, "mean") for record in here],
            "difference": [_difference(record) for record in here],
        }
        kept = [[which, *cells] for which, cells in texts.items() if which == "ours" or any(cells)]
        lines += [["" if number else name, *line] for number, line in enumerate(kept)]
    heads = ["Method", "", *map(_head, table.columns)]
    return pd.DataFrame(lines, columns=heads)


def _mark(records: Sequence[dict[Any, Any]], which: str) -> None:
    """Marks the lowest number of a column and its equals, if all that compete are there."""
    rivals = [record for record in records if record["ranked"]]
    if which == "printed":
        complete = not any(math.isnan(record["printed"]) for record in rivals)
    else:
        complete = not any(record["missing"] for record in rivals)
    finite = [record[which] for record in rivals if math.isfinite(record[which])]
    for record in records:
        lowest = bool(finite) and record[which] <= min(finite) + TOLERANCE
        record[f"{which}_best"] = lowest and complete and record["ranked"]


def _text(record: Mapping[Any, Any] | None, which: str) -> str:
    """Our number or the printed one; why ours is missing."""
    if record is None:
        return ""
    if which == "mean" and record["missing"]:
        return str(record["missing"])
    number = record[which]
    if math.isnan(number):
        return "" if which == "printed" else "--"
    text = _format(number, record["metric"])
    if which == "mean" and math.isfinite(record["std"]):
        text += f" ± {_format(record['std'], record['metric'])}"
    return f"**{text}**" if record[f"{which}_best"] else text


def _format(number: float, metric: str) -> str:
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return f"{number:.{DECIMALS[metric]}f}"


def _difference(record: Mapping[Any, Any] | None) -> str:
    return "" if record is None else signed(record["difference"], DECIMALS[record["metric"]])


def _spans(columns: Sequence[Column]) -> list[tuple[str, int, int]]:
    """Headings over several columns; two at the left have words."""
    heads = [column.above for column in columns]
    spans = []
    for text in dict.fromkeys(heads):
        first = 2 + heads.index(text)
        spans.append((text, first, first + heads.count(text) - 1))
    return spans


def _remarks(numbers: pd.DataFrame, dataset: str) -> list[str]:
    """Notes on marks in the table, numbers that are not finite, and where scenes come from."""
    notes = ["Bold: the lowest of a column, printed or ours, if all of its numbers are there."]
    seeds = int(numbers["seeds"].max())
    notes += [f"±: standard deviation over {seeds} seeds at most."] if seeds > 1 else []
    lacking = numbers[(numbers["seeds"] > 0) & ~numbers["mean"].map(math.isfinite)]
    records = lacking.to_dict("records")
    names = dict.fromkeys(f"{_label(r['method'])}, K = {r['K']}" for r in records)
    notes += [f"Not finite (∞, or -- if undefined): {'; '.join(names)}."] if names else []
    return notes + ([SCENES[dataset]] if dataset in SCENES else [])
