"""The commands `vwta fit`, `vwta predict`, `vwta sample`, `vwta diagnose`, `vwta explore`."""

from __future__ import annotations

__all__ = ["add_commands"]

import argparse
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vwta.cli.tables import Layout, check_suffix, column_of, read, write
from vwta.io.errors import BadTable

if TYPE_CHECKING:
    import pandas as pd

    from vwta.estimator.regressor import VoronoiRegressor

QUANTILES = "0.05,0.5,0.95"
SCENARIOS = 0.05  # smallest probability
HEADS = ("auto", "all", "voronoi", "kernel", "mdn", "local", "continuous")


def add_commands(commands: Any) -> None:
    """Adds the commands to the parser of `vwta`."""
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
    fit.set_defaults(run=_fit, quantiles=QUANTILES, scenarios=SCENARIOS)

    predict = _command(
        commands,
        "predict",
        "means, quantiles and scenarios for the rows of a table",
        "Writes the predicted law of each row, in the order of the table: mean, standard "
        "deviation, quantiles, and scenarios, which are the modes of its density with their odds, "
        "the likeliest first. The columns low and high are the ends of a scenario, lower and "
        "upper those of the central 90 % of its mass.",
        "vwta predict model.vwta new.csv -o predicted.csv --quantiles 0.1,0.5,0.9",
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
    _add_layout(predict)
    predict.set_defaults(run=_predict)

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
    sample.set_defaults(run=_sample)

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
    diagnose.set_defaults(run=_diagnose)

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
    explore.set_defaults(run=_explore)


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


def _layout(chosen: argparse.Namespace) -> Layout:
    sign = {"\\t": "\t", "tab": "\t"}.get(chosen.delimiter, chosen.delimiter)
    return Layout(sign, chosen.decimal)


def _fit(chosen: argparse.Namespace) -> str:
    import numpy as np

    from vwta.estimator.regressor import VoronoiRegressor

    _check_files(chosen)
    table = read(chosen.table, _layout(chosen), texts=chosen.text, numbers=chosen.target)
    for name in (*chosen.drop, *chosen.text):
        column_of(chosen.table, table, name, "--drop or --text")
    targets = _targets(chosen.table, table, chosen.target)
    inputs = table.drop(columns=[*chosen.target, *chosen.drop])
    if not inputs.shape[1]:
        raise BadTable(f"{chosen.table}: no column of inputs is left. Remedy: add one")
    if not 0 <= chosen.calibrate < 1:
        raise BadTable(f"--calibrate {chosen.calibrate}. Remedy: give a part below 1, such as 0.2")
    order = np.random.default_rng(chosen.seed).permutation(len(table))
    count = round(chosen.calibrate * len(table))
    model = VoronoiRegressor(
        chosen.hypotheses,
        head=chosen.head,
        space=chosen.space,
        members=chosen.members,
        steps=chosen.steps,
        random_state=chosen.seed,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(inputs.iloc[order[count:]], targets.iloc[order[count:]])
        if count:
            model.calibrate(inputs.iloc[order[:count]], targets.iloc[order[:count]])
    model.save(chosen.output)
    said = _summary(model, len(table) - count, count, chosen.output, caught)
    if chosen.predict is None:
        return said
    table_of, file = chosen.predict
    asked = {**vars(chosen), "model": chosen.output, "table": table_of, "output": file}
    return f"{said}\n{_predict(argparse.Namespace(**asked))}"


def _check_files(chosen: argparse.Namespace) -> None:
    """Raises an error if what is written after the fit cannot be, or would replace the table."""
    inputs, outputs = [chosen.table], [chosen.output]
    if chosen.predict is not None:
        table, file = chosen.predict
        if not table.exists():
            raise BadTable(f"{table}: no such file. Remedy: check the path after --predict")
        check_suffix(table)
        check_suffix(file)
        inputs.append(table)
        outputs.append(file)
    for output in outputs:
        if output.resolve() in [path.resolve() for path in inputs]:
            raise BadTable(f"{output} would be replaced. Remedy: name another file to write")
    twice = next((name for name in chosen.target if chosen.target.count(name) > 1), None)
    if twice is not None:
        raise BadTable(f"--target {twice!r} is given twice. Remedy: name each column once")


def _targets(path: Path, table: pd.DataFrame, names: list[str]) -> Any:
    """The target's columns, all of whose cells are there."""
    for name in names:
        empty = column_of(path, table, name, "--target").isna()
        if empty.any():
            line = int(table.index[empty.to_numpy().argmax()]) + 2
            raise BadTable(
                f"{path}, line {line}, column {name!r}: the target is missing; {int(empty.sum())} "
                "such lines. Remedy: remove them"
            )
    return table[names[0]] if len(names) == 1 else table[names]


def _summary(
    model: VoronoiRegressor, rows: int, calibrated: int, output: Path, caught: list[Any]
) -> str:
    """What was fitted, for the terminal."""
    from vwta.estimator.columns import Categories

    texts = sum(isinstance(column, Categories) for column in model.columns_.columns)
    count = len(model.columns_.columns)
    lines = [f"warning: {each.message}" for each in caught]
    lines.append(f"{rows} rows; inputs: {count - texts} of numbers, {texts} of texts")
    for name, value in sorted(model.heads_.items(), key=lambda item: -item[1]):
        chosen = " (chosen)" if name == model.head_ else ""
        lines.append(f"  log-likelihood of held-out rows, head {name}: {value:.4f}{chosen}")
    if calibrated:
        lines.append(f"regions calibrated with {calibrated} further rows")
    return "\n".join([*lines, f"wrote {output}"])


def _inputs(
    chosen: argparse.Namespace, targets: bool = False
) -> tuple[VoronoiRegressor, pd.DataFrame, Any]:
    """A model, the rows to predict with the columns that it knows, and their targets if asked."""
    from vwta.estimator.columns import Categories
    from vwta.estimator.saving import load

    model = load(chosen.model)
    kinds = dict(zip(model.feature_names_in_, model.columns_.columns, strict=True))
    texts = {name for name, column in kinds.items() if isinstance(column, Categories)}
    names = (model.targets_.names or []) if targets else []
    numbers = {*(kinds.keys() - texts), *names}
    table = read(chosen.table, _layout(chosen), texts=texts, numbers=numbers)
    for name in kinds:
        column_of(chosen.table, table, name, "the column that the model was fitted with")
    y = _targets(chosen.table, table, names) if targets else None
    return model, table[list(kinds)], y


def _predict(chosen: argparse.Namespace) -> str:
    import pandas as pd

    levels = _levels(chosen.quantiles)
    check_suffix(chosen.output)
    model, table, _ = _inputs(chosen)
    law = model.predict_dist(table)
    names = model.targets_.names or [f"y{j}" for j in range(model.targets_.dimension)]
    found: dict[str, Any] = {}
    for j, name in enumerate(names):
        one = law.marginal(j)
        found[f"{name}_mean"], found[f"{name}_std"] = one.mean.ravel(), one.std.ravel()
        for level in levels:
            found[f"{name}_q{level:g}"] = one.quantile(level).ravel()
    modes = law.scenarios(chosen.scenarios)
    for rank in range(modes["scenario"].max() + 1):
        at = modes[modes["scenario"] == rank].set_index("row").reindex(range(len(table)))
        for column in at.columns.drop("scenario"):
            found[f"scenario{rank + 1}_{column}"] = at[column].to_numpy()
    write(chosen.output, pd.DataFrame(found), _layout(chosen))
    return f"wrote {len(table)} rows to {chosen.output}"


def _sample(chosen: argparse.Namespace) -> str:
    import numpy as np
    import pandas as pd

    if chosen.n < 1:
        raise BadTable(f"-n {chosen.n}. Remedy: give a number of samples from 1 on")
    check_suffix(chosen.output)
    model, table, _ = _inputs(chosen)
    y = model.predict_dist(table).sample(chosen.n, random_state=chosen.seed)
    y = y.reshape(chosen.n, len(table), -1).swapaxes(0, 1).reshape(chosen.n * len(table), -1)
    names = model.targets_.names or [f"y{j}" for j in range(y.shape[1])]
    number = np.repeat(np.arange(1, len(table) + 1), chosen.n)
    found = {"row": number, "sample": np.tile(np.arange(1, chosen.n + 1), len(table))}
    found |= dict(zip(names, y.T, strict=True))
    write(chosen.output, pd.DataFrame(found), _layout(chosen))
    return f"wrote {chosen.n} samples of {len(table)} rows to {chosen.output}"


def _diagnose(chosen: argparse.Namespace) -> str:
    model, table, y = _inputs(chosen, targets=True)
    found = model.diagnose(table, y)
    if chosen.output is None:
        return str(found)
    found.to_html(chosen.output)
    return f"{found}\nwrote {chosen.output}"


def _explore(chosen: argparse.Namespace) -> str:
    from vwta.estimator.exploring import explore
    from vwta.estimator.saving import load

    model = load(chosen.model)
    try:
        explore(model, chosen.output, chosen.feature)
    except ValueError as error:
        raise BadTable(f"{chosen.model}: {error}") from error
    return f"wrote {chosen.output}"


def _levels(text: str) -> list[float]:
    try:
        levels = [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        levels = [-1.0]
    if not all(0 < level < 1 for level in levels):
        raise BadTable(
            f"--quantiles {text}. Remedy: give numbers between 0 and 1, such as 0.1,0.5,0.9"
        )
    return levels
