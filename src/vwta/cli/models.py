"""What the commands `vwta fit`, `predict`, `sample`, `diagnose` and `explore` do."""

from __future__ import annotations

__all__ = ["diagnose", "explore", "fit", "predict", "sample"]

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vwta.cli.tables import Layout, check_output, check_suffix, column_of, read, write
from vwta.io.errors import BadTable

if TYPE_CHECKING:
    import pandas as pd

    from vwta.estimator.predicted import PredictedLaw
    from vwta.estimator.regressor import VoronoiRegressor


def _layout(chosen: argparse.Namespace) -> Layout:
    sign = {"\\t": "\t", "tab": "\t"}.get(chosen.delimiter, chosen.delimiter)
    if sign is not None and (len(sign) != 1 or sign in '\r\n"'):
        raise BadTable(f"--delimiter {sign!r}. Remedy: give one sign, such as ';', or tab")
    return Layout(sign, chosen.decimal)


def fit(chosen: argparse.Namespace) -> str:
    import numpy as np

    from vwta.estimator.regressor import VoronoiRegressor

    _check_fit(chosen)
    table = read(chosen.table, _layout(chosen), texts=chosen.text, numbers=chosen.target)
    for name in (*chosen.drop, *chosen.text):
        column_of(chosen.table, table, name, "--drop or --text")
    targets = _targets(chosen.table, table, chosen.target)
    inputs = table.drop(columns=[*chosen.target, *chosen.drop])
    if not inputs.shape[1]:
        raise BadTable(f"{chosen.table}: no column of inputs is left. Remedy: add one")
    if chosen.predict is not None:
        _check_columns(chosen, inputs)
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
    return f"{said}\n{predict(argparse.Namespace(**asked))}"


def _check_fit(chosen: argparse.Namespace) -> None:
    """Raises an error for arguments of which a fit would learn too late."""
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
        check_output(output, *inputs, *(path for path in outputs if path is not output))
    _check_seed(chosen.seed)
    if not 0 <= chosen.calibrate < 1:
        raise BadTable(f"--calibrate {chosen.calibrate}. Remedy: give a part below 1, such as 0.2")
    twice = next((name for name in chosen.target if chosen.target.count(name) > 1), None)
    if twice is not None:
        raise BadTable(f"--target {twice!r} is given twice. Remedy: name each column once")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 2**32:
        raise BadTable(f"--seed {seed}. Remedy: give a whole number from 0 to {2**32 - 1}")


def _check_columns(chosen: argparse.Namespace, inputs: pd.DataFrame) -> None:
    """Raises an error if the table after --predict lacks a column of inputs, or has other ones."""
    path = chosen.predict[0]
    names = [str(name) for name in inputs.columns]
    texts = {name for name in names if inputs[name].dtype == object}
    table = read(path, _layout(chosen), texts, set(names) - texts, blank=True)
    for name in names:
        column_of(path, table, name, f"the column of {chosen.table}")


def _targets(path: Path, table: pd.DataFrame, names: list[str]) -> Any:
    """The target's columns, all of whose cells are there."""
    for name in names:
        empty = column_of(path, table, name, "--target").isna()
        if empty.any():
            line = int(table.index[empty.to_numpy().argmax()]) + 2
            raise BadTable(
                f"{path}, line {line}, column {name!r}: the target is missing"
                f"{f'; {empty.sum()} such lines' if empty.sum() > 1 else ''}. Remedy: remove lines "
                "without a target"
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
) -> tuple[VoronoiRegressor, pd.DataFrame, pd.DataFrame]:
    """A model, the columns of a table that it knows, and the table, with targets or to predict."""
    from vwta.estimator.columns import Categories
    from vwta.estimator.saving import load

    if chosen.output is not None:
        check_output(chosen.output, chosen.model, chosen.table)
    model = load(chosen.model)
    kinds = dict(zip(model.feature_names_in_, model.columns_.columns, strict=True))
    texts = {name for name, column in kinds.items() if isinstance(column, Categories)}
    names = (model.targets_.names or []) if targets else []
    numbers = {*(kinds.keys() - texts), *names}
    kept = set(getattr(chosen, "keep", ())) - numbers
    table = read(chosen.table, _layout(chosen), texts | kept, numbers, blank=not targets)
    for name in kinds:
        column_of(chosen.table, table, name, "the column that the model was fitted with")
    return model, table[list(kinds)], table


def predict(chosen: argparse.Namespace) -> str:
    import numpy as np
    import pandas as pd

    levels = _levels(chosen.quantiles)
    check_suffix(chosen.output)
    model, inputs, table = _inputs(chosen)
    kept = {name: column_of(chosen.table, table, name, "--keep") for name in chosen.keep}
    law = model.predict_dist(inputs)
    names = model.targets_.names or [f"y{j}" for j in range(model.targets_.dimension)]
    found: dict[str, Any] = {"row": np.arange(1, len(table) + 1)}
    for j, name in enumerate(names):
        one = law.marginal(j)
        found[f"{name}_mean"], found[f"{name}_std"] = one.mean.ravel(), one.std.ravel()
        for level in levels:
            found[f"{name}_q{level:g}"] = one.quantile(level).ravel()
    found |= _scenarios(law, chosen.scenarios)
    for name in kept.keys() & found.keys():
        raise BadTable(f"--keep {name!r}: predictions have such a column. Remedy: rename yours")
    row = found.pop("row")
    columns = {"row": row, **{name: each.to_numpy() for name, each in kept.items()}, **found}
    write(chosen.output, pd.DataFrame(columns), _layout(chosen))
    return f"wrote {len(table)} rows to {chosen.output}"


def _scenarios(law: PredictedLaw, min_mass: float) -> dict[str, Any]:
    """Columns of each scenario of all rows."""
    modes, found = law.scenarios(min_mass), {}
    for rank in range(modes["scenario"].max() + 1):
        at = modes[modes["scenario"] == rank].set_index("row").reindex(range(len(law)))
        for column in at.columns.drop("scenario"):
            found[f"scenario{rank + 1}_{column}"] = at[column].to_numpy()
    return found


def sample(chosen: argparse.Namespace) -> str:
    import numpy as np
    import pandas as pd

    if chosen.n < 1:
        raise BadTable(f"-n {chosen.n}. Remedy: give a number of samples from 1 on")
    _check_seed(chosen.seed)
    check_suffix(chosen.output)
    model, inputs, _ = _inputs(chosen)
    y = model.predict_dist(inputs).sample(chosen.n, random_state=chosen.seed)
    rows = len(inputs)
    y = y.reshape(chosen.n, rows, -1).swapaxes(0, 1).reshape(chosen.n * rows, -1)
    names = model.targets_.names or [f"y{j}" for j in range(y.shape[1])]
    number = np.repeat(np.arange(1, rows + 1), chosen.n)
    found = {"row": number, "sample": np.tile(np.arange(1, chosen.n + 1), rows)}
    found |= dict(zip(names, y.T, strict=True))
    write(chosen.output, pd.DataFrame(found), _layout(chosen))
    return f"wrote {chosen.n} samples of {rows} rows to {chosen.output}"


def diagnose(chosen: argparse.Namespace) -> str:
    model, inputs, table = _inputs(chosen, targets=True)
    y = _targets(chosen.table, table, model.targets_.names or [])
    found = model.diagnose(inputs, y)
    if chosen.output is None:
        return str(found)
    found.to_html(chosen.output)
    return f"{found}\nwrote {chosen.output}"


def explore(chosen: argparse.Namespace) -> str:
    from vwta.estimator import exploring
    from vwta.estimator.saving import load

    check_output(chosen.output, chosen.model)
    model = load(chosen.model)
    try:
        exploring.explore(model, chosen.output, chosen.feature)
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
