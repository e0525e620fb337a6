"""Compares vwta with what users would pick instead: `make bench-peers`.

A cell is a data set, a split and a method. Each writes a file when it is done, and is not done
again: a run that was cut goes on. Tables and a figure are made of the splits that all methods have
done.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from models import METHODS, fit
from picture import complete, write_figure, write_markdown, write_table
from problems import TOYS, UCI, load
from scores import scores

from vwta.io.storage import atomic


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("results/peers"), help="%(default)s")
    mirror = Path(os.environ.get("VWTA_MIRROR", "data"))
    parser.add_argument("--data", type=Path, default=mirror, help="has uci/; %(default)s")
    parser.add_argument("--datasets", nargs="*", default=[*TOYS, *UCI], metavar="NAME")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", type=int, default=5, help="%(default)s")
    parser.add_argument("--steps", type=int, default=4000, help="of networks; %(default)s")
    parser.add_argument("--rows", type=int, help="at most so many, for a trial")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    chosen.output.mkdir(parents=True, exist_ok=True)
    for split in range(chosen.splits):
        for dataset in chosen.datasets:
            for method in chosen.methods:
                _cell(dataset, split, method, chosen)
    records = [json.loads(path.read_text()) for path in sorted(chosen.output.glob("*.json"))]
    frame = complete(pd.DataFrame(records))
    frame["dataset"] = pd.Categorical(frame["dataset"], [*TOYS, *UCI]).remove_unused_categories()
    frame = frame.sort_values(["dataset", "split"])
    made = [chosen.output / f"peers.{suffix}" for suffix in ("csv", "md", "png")]
    write_markdown(write_table(frame, made[0]), made[1])
    write_figure(frame, made[2])
    print(*made, sep="\n")


def _cell(dataset: str, split: int, method: str, chosen: argparse.Namespace) -> None:
    """Does a cell, unless its file is there or the method does not apply."""
    path = chosen.output / f"{dataset}-{split}-{method}.json"
    sizes = {"steps": chosen.steps, "rows": chosen.rows}
    if path.exists():
        done = json.loads(path.read_text())
        if {key: done[key] for key in sizes} != sizes:
            raise SystemExit(
                f"{path}: made with other steps or rows than {sizes}. Remedy: name another --output"
            )
        return
    problem = load(dataset, split, chosen.data, chosen.rows)
    if problem.y.shape[1] > METHODS[method].columns:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to users about their data
        record = _measured(problem, method, chosen.steps, split)
    record = {"dataset": dataset, "split": split, "method": method, **sizes, **record}
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(record))
    print(f"{path.stem}: NLL {record['nll']:.4f}, {record['fit_seconds']:.0f} s", flush=True)


def _measured(problem: Any, method: str, steps: int, seed: int) -> dict[str, Any]:
    validated = torch.distributions.Distribution._validate_args  # zuko switches this off, for all
    start = time.process_time()
    model, chosen = fit(method, problem.x, problem.y, steps, seed)
    fitted = time.process_time()
    found = scores(model(problem.x_test), problem)
    torch.distributions.Distribution.set_default_validate_args(validated)
    seconds = {"fit_seconds": fitted - start, "predict_seconds": time.process_time() - fitted}
    return {**chosen, **found, **seconds}


if __name__ == "__main__":
    main()
