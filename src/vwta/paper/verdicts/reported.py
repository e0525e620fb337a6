"""The paper's own numbers: printed in its tables, or read off its figures.

`config/reported` has a file for each study, with numbers as the paper prints them. Here they get
one form, a row for each, and a second one in which they can be asked like measured numbers.
"""

from __future__ import annotations

__all__ = ["COLUMNS", "NUMBER", "PRINTED", "as_evidence", "read"]

from pathlib import Path

import pandas as pd

from vwta.paper.audio.distortion import PER_RADIAN_SQUARED
from vwta.paper.estimators import ESTIMATORS
from vwta.paper.verdicts.evidence import COLUMNS as EVIDENCE

PRINTED = "printed"  # the paper's own numbers, in place of a protocol

NUMBER = {
    "source": "str",  # printed or read off
    "dataset": "str",
    "metric": "str",
    "method": "str",
    "K": "Int64",
    "h": "float64",
    "printed": "float64",
    "printed_deviation": "float64",
}
COLUMNS = {
    "id": "str",
    "study": "str",
    "place": "str",
    **NUMBER,
    "printed_runs": "Int64",
    "measured_as": "str",
    "scale": "float64",
    "in_source": "float64",
    "in_source_deviation": "float64",
    "quoted_from": "str",
}
FILES = ("synthetic.csv", "uci.csv", "uci_sizes.csv", "audio.csv", "quoted.csv")
SOURCES = ("printed", "read off")
SEEDS = 3  # of the synthetic study
SPLITS = {"protein": 5, "year": 1}  # of UCI's data sets; others have 20
MAIN = ("deep_ensembles", "mdn", "k_wta", "v_wta")  # methods of the first table
DISTORTION = "distortion_x100"


def read(folder: Path) -> pd.DataFrame:
    """The paper's numbers with :data:`COLUMNS`, one row each.

    `place` is the table or figure, `printed` the number, `printed_deviation` its standard deviation
    if the paper has one, `printed_runs` how many seeds or splits it averages. Our number is that of
    the method `measured_as`, times `scale`. A number that the paper quotes is `in_source`, with
    `in_source_deviation`, in the table that it is `quoted_from`. Cells in which the paper prints
    `--` in place of a number are left out.

    Arguments:
        folder: has :data:`FILES`.
    """
    for name in FILES:
        if not (folder / name).exists():
            raise FileNotFoundError(
                f"{folder / name} is missing. Remedy: name the folder with the paper's numbers, "
                "config/reported"
            )
    parts = [_synthetic(folder), _uci(folder), _sizes(folder), _audio(folder)]
    table = pd.concat(parts, ignore_index=True)
    table["measured_as"] = table["measured_as"].fillna(table["method"])
    table["scale"] = table["scale"].fillna(1.0)
    table["id"] = [_name(row) for _, row in table.iterrows()]
    table = table[table["printed"].notna()].reset_index(drop=True)
    table = table.reindex(columns=list(COLUMNS)).astype(COLUMNS)
    strange = sorted(set(table["source"]) - set(SOURCES))
    twice = table.loc[table["id"].duplicated(), "id"].tolist()
    if strange:
        known = " or ".join(map(repr, SOURCES))
        raise ValueError(f"{folder}: has the source {strange[0]!r}. Remedy: make it {known}")
    if twice:
        raise ValueError(f"{folder}: has {twice[0]} twice. Remedy: delete one of the lines")
    return table


def as_evidence(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers of the paper as rows of :mod:`vwta.paper.verdicts.evidence`, protocol `printed`.

    They are in the units of the study. What is printed twice is there once. A column `deviation`
    has the printed standard deviation.
    """
    rows = table.assign(
        protocol=PRINTED,
        method=table["measured_as"],
        value=table["printed"] / table["scale"],
        deviation=table["printed_deviation"] / table["scale"],
        tuned=False,
        table=PRINTED,
    )
    rows = rows.drop_duplicates(["study", "dataset", "metric", "method", "K", "h"])
    columns = {**EVIDENCE, "deviation": "float64"}
    return rows.reindex(columns=list(columns)).astype(columns)


def _synthetic(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "synthetic.csv").rename(columns={"value": "printed"})
    place = "figure " + table["figure"].astype(str)
    return table.drop(columns="figure").assign(study="synthetic", place=place, printed_runs=SEEDS)


def _uci(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "uci.csv")
    table = table.rename(columns={"mean": "printed", "std": "printed_deviation"})
    main = table["method"].isin(MAIN)
    place = (table["metric"] == "nll").map({True: "table 4", False: "table 5"})
    place = place.mask(main & (table["metric"] == "nll"), "tables 1 and 4")
    runs = table["dataset"].map(SPLITS).fillna(20)
    quoted = pd.read_csv(folder / "quoted.csv")
    names = {"mean": "in_source", "std": "in_source_deviation"}
    table = table.merge(quoted.rename(columns=names), "left", ["dataset", "metric", "method"])
    return table.assign(study="uci", K=5, place=place, printed_runs=runs)


def _sizes(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "uci_sizes.csv")
    table = table.melt(["dataset", "source"], ["rows", "inputs"], "metric", "printed")
    return table.assign(study="uci", place="table 3", method="data")


def _audio(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "audio.csv").rename(columns={"value": "printed"})
    risk = table["metric"] == DISTORTION
    networks = {name: recipe.network for name, recipe in ESTIMATORS.items()}
    atoms = table["method"].replace(networks)  # the risk only knows where they are
    place = risk.map({True: "table 6", False: "table 2"})
    both = risk & (table["method"] != "m_vmf") & (table["K"] != 20)
    return table.assign(
        study="audio",
        dataset="ansyn",
        source=table.get("source", SOURCES[0]),
        place=place.mask(both, "tables 2 and 6"),
        metric=table["metric"].where(~risk, "risk"),
        measured_as=table["method"].where(~risk, atoms),
        scale=risk.map({True: PER_RADIAN_SQUARED, False: 1.0}),
        printed_runs=1,
    )


def _name(row: pd.Series) -> str:
    """Name of a number, from what it is about."""
    parts = [row["study"], row["dataset"], row["metric"], row["method"]]
    parts += [f"K{row['K']:.0f}"] if pd.notna(row["K"]) else []
    parts += [f"h{row['h']:g}"] if pd.notna(row["h"]) else []
    return "/".join(parts)
