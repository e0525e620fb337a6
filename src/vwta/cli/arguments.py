"""The commands `vwta fit`, `vwta predict`, `vwta sample`, `vwta diagnose`, `vwta explore`."""

from __future__ import annotations

__all__ = ["add_commands"]

import argparse
import textwrap
from pathlib import Path
from typing import Any

from vwta.cli import models

QUANTILES = "0.05,0.5,0.95"
SCENARIOS = 0.05  # smallest probability
HEADS = ("auto", "all", "voronoi", "kernel", "mdn", "local", "continuous")


def add_commands(commands: Any) -> None:
    """Adds the commands to the parser of `vwta`."""
    for add in (_add_fit, _add_predict, _add_sample, _add_diagnose, _add_explore):
        add(commands)


def _add_fit(commands: Any) -> None:
    fit = _command(
        commands,
        "fit",
        "fit a model to a table",
        "Fits a model to a table and writes it to a file. All columns but the target are inputs; "
        "texts and missing values are allowed. A part of the rows is held out to select the epoch, "
        "the bandwidth and the kind of density; the model is then trained again on all rows.",
        "vwta fit houses.csv --target price --drop id -o model.vwta",
        "vwta fit houses.csv --target price --predict new.csv predicted.csv",
        "vwta fit haeuser.csv --target preis --decimal ,",
    )
    fit.add_argument("table", type=Path, help="csv, tsv, parquet or xlsx; line 1 names the columns")
    fit.add_argument(
        "--target", action="append", required=True, metavar="COLUMN",
        help="what to predict; repeat it for several columns",
    )  # fmt: skip
    fit.add_argument(
        "-o", "--output", type=Path, default=Path("model.vwta"), metavar="FILE",
        help="where to write the model (default: %(default)s)",
    )  # fmt: skip
    fit.add_argument(
        "--predict", type=Path, nargs=2, metavar=("TABLE", "FILE"),
        help="write what `vwta predict` does for the rows of another table to a file, too",
    )  # fmt: skip
    fit.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN",
        help="a column that is no input, such as a number of the row; repeat it for several",
    )  # fmt: skip
    fit.add_argument(
        "--text", action="append", default=[], metavar="COLUMN",
        help="a column of categories that look like numbers; repeat it for several",
    )  # fmt: skip
    fit.add_argument(
        "--calibrate", type=float, default=0.0, metavar="PART",
        help="part of the rows, such as 0.2, that is kept to calibrate regions; none by default",
    )  # fmt: skip
    fit.add_argument(
        "--head", choices=HEADS, default="auto",
        help="kind of density; %(default)s, the default, takes the best one on held-out rows",
    )  # fmt: skip
    fit.add_argument(
        "--hypotheses",
        type=int,
        default=16,
        metavar="K",
        help="hypotheses of a network (default: %(default)s)",
    )
    fit.add_argument(
        "--members", type=int, default=1, metavar="M",
        help="networks whose densities are averaged (default: %(default)s)",
    )  # fmt: skip
    fit.add_argument(
        "--space", choices=("auto", "line", "box", "sphere"), default="auto",
        help="where targets lie: all numbers, their range and a tenth of it on each side, or unit "
        "vectors; %(default)s, the default, recognises unit vectors",
    )  # fmt: skip
    fit.add_argument(
        "--steps", type=int, default=4000, help="of the optimiser, at most (default: %(default)s)"
    )
    fit.add_argument(
        "--seed", type=int, default=0, help="of everything random (default: %(default)s)"
    )
    _add_layout(fit)
    fit.set_defaults(run=models.fit, quantiles=QUANTILES, scenarios=SCENARIOS, keep=[])


def _add_predict(commands: Any) -> None:
    predict = _command(
        commands,
        "predict",
        "means, quantiles and scenarios for the rows of a table",
        "Writes the predicted law of each row, in the order of the table: mean, standard "
        "deviation, quantiles, and scenarios, which are the modes of its density with their odds, "
        "the likeliest first. The columns low and high are the ends of a scenario, lower and "
        "upper those of the central 90 % of its mass. Rows are numbered from 1; blank lines among "
        "them count as rows without any value.",
        "vwta predict model.vwta new.csv -o predicted.csv --quantiles 0.1,0.5,0.9 --keep id",
    )
    _add_files(predict)
    predict.add_argument(
        "--quantiles",
        default=QUANTILES,
        metavar="Q,Q,...",
        help="their probabilities (default: %(default)s)",
    )
    predict.add_argument(
        "--scenarios", type=float, default=SCENARIOS, metavar="P",
        help="smallest probability of a scenario (default: %(default)s)",
    )  # fmt: skip
    predict.add_argument(
        "--keep", action="append", default=[], metavar="COLUMN",
        help="a column of the table that is copied, such as an id; repeat it for several",
    )  # fmt: skip
    _add_layout(predict)
    predict.set_defaults(run=models.predict)


def _add_sample(commands: Any) -> None:
    sample = _command(
        commands,
        "sample",
        "samples for the rows of a table",
        "Writes samples of the predicted law of each row: the number of the row, from 1, that of "
        "the sample, and the target.",
        "vwta sample model.vwta new.csv -n 100 -o samples.csv",
    )
    _add_files(sample)
    sample.add_argument(
        "-n", type=int, default=100, metavar="N", help="samples of a row (default: %(default)s)"
    )
    sample.add_argument("--seed", type=int, default=0, help="of the samples (default: %(default)s)")
    _add_layout(sample)
    sample.set_defaults(run=models.sample)


def _add_diagnose(commands: Any) -> None:
    diagnose = _command(
        commands,
        "diagnose",
        "how good a model is on the rows of a table",
        "Prints likelihood, scores and calibration of a model on rows that it was not fitted with, "
        "beside those of laws that know no inputs. With -o it writes a page with pictures, which "
        "needs the extra `plot`.",
        "vwta diagnose model.vwta test.csv -o diagnosis.html",
    )
    diagnose.add_argument("model", type=Path, help="file that `vwta fit` wrote")
    diagnose.add_argument("table", type=Path, help="table with the columns of inputs and target")
    diagnose.add_argument(
        "-o", "--output", type=Path, metavar="PAGE.html", help="where to write the page, if at all"
    )
    _add_layout(diagnose)
    diagnose.set_defaults(run=models.diagnose)


def _add_explore(commands: Any) -> None:
    explore = _command(
        commands,
        "explore",
        "a page with sliders that shows what a model predicts",
        "Writes a page, one file that needs no network, which draws the predicted law of targets "
        "of one or two columns as features change.",
        "vwta explore model.vwta -o explorer.html --feature area --feature kind",
    )
    explore.add_argument("model", type=Path, help="file that `vwta fit` wrote")
    explore.add_argument(
        "-o", "--output", type=Path, required=True, metavar="PAGE.html",
        help="where to write the page",
    )  # fmt: skip
    explore.add_argument(
        "--feature", action="append", metavar="COLUMN",
        help="a feature that gets a slider; repeat it for up to three; by default those that move "
        "predictions most",
    )  # fmt: skip
    explore.set_defaults(run=models.explore)


def _command(
    commands: Any, name: str, short: str, long: str, *examples: str
) -> argparse.ArgumentParser:
    """A command with its help, and with examples below it."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=short,
        description=textwrap.fill(long, 80),
        epilog="\n".join(["examples:", *(f"  {each}" for each in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="file that `vwta fit` wrote")
    parser.add_argument("table", type=Path, help="table with the columns of the inputs")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE",
        help="where to write; the suffix says how: csv, tsv, parquet or xlsx",
    )  # fmt: skip


def _add_layout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--delimiter", metavar="SIGN",
        help="between cells of csv files: by default a comma, a tab in tsv files",
    )  # fmt: skip
    parser.add_argument(
        "--decimal", choices=(".", ","), default=".", metavar="SIGN",
        help="decimal sign of csv files, %(default)s or a comma; cells are then separated by ;",
    )  # fmt: skip
