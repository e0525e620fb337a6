"""Times `vwta` beside its peers: `make bench`.

Each job is done by all sides on the same data, on one thread, in turns. The median of CPU times
counts. Beside it stands the largest relative error of a sample of the results, whose true values
come from other mathematics.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aims
import numpy as np
import pandas as pd
import torch
from cells import PLANE, PLANES, SPACE, SPACE_5, SPHERE
from densities import DENSITIES, LINE, MANY, SPACE_10, UNCUT
from distances import DISTANCES
from job import Job
from picture import write_figure
from table import details, exponent, summary

from vwta.io.storage import atomic

JOBS = {
    "line": LINE,
    "plane": PLANE,
    "planes": PLANES,
    "sphere": SPHERE,
    "space": SPACE,
    "space5": SPACE_5,
    "space10": SPACE_10,
    "laws": MANY,
    **DENSITIES,
    "uncut": UNCUT,
    "distances": DISTANCES,
}
ROUNDS = 5
PATIENCE = 1.5  # CPU-seconds of a side and size after which it is not tried again
LIMIT = 30.0  # expected CPU-seconds above which a size is left out


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("results/bench"), help="%(default)s")
    parser.add_argument("--jobs", nargs="*", choices=JOBS, default=list(JOBS), metavar="NAME")
    parser.add_argument(
        "--no-aims", action="store_true", help="leave out time and memory of large jobs"
    )
    parser.add_argument("--largest", type=int, help="leave larger sizes out, for a trial")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    chosen.output.mkdir(parents=True, exist_ok=True)
    if chosen.jobs:
        records = [
            record for name in chosen.jobs for record in timed(name, JOBS[name], chosen.largest)
        ]
        table = _kept(records, chosen.output / "speed.csv")
        write_figure(table, chosen.output / "speed.png")
        print("", summary(table), details(table), sep="\n")
    if not chosen.no_aims:
        print(aims.shown(_kept(aims.measured(), chosen.output / "aims.csv")))


def _kept(records: list[dict[str, Any]], path: Path) -> pd.DataFrame:
    """The records as the file has them, to three digits."""
    with atomic(path) as temporary:
        pd.DataFrame(records).to_csv(temporary, index=False, float_format="%.3g")
    return pd.read_csv(path)


def timed(name: str, job: Job, largest: int | None) -> list[dict[str, Any]]:
    """A record for each side and size of a job; it prints them, and how costs grow."""
    print(f"\n{job.title} ({job.space}): CPU ms, and relative error", flush=True)
    records: list[dict[str, Any]] = []
    last: dict[str, float] = dict.fromkeys(job.sides, 0.0)
    for before, size in zip((job.sizes[0], *job.sizes), job.sizes, strict=False):
        if largest is not None and size > largest:
            break
        data = job.data(size)
        sides = {
            side: function
            for side, function in job.sides.items()
            if last[side] * (size / before) ** 1.5 < LIMIT
        }
        for side in job.sides.keys() - sides.keys():
            print(f"{size:>8} {side:<30} left out: it may need more than {LIMIT:.0f} s")
        place, truth = job.truth(data)
        seconds, values = in_turns(sides, data)
        for side in sides:
            last[side] = statistics.median(seconds[side])
            error = float(np.abs(values[side][place] - truth).max())
            if side == job.reference:
                error = float("nan")
            records.append(
                {"job": name, "title": job.title, "space": job.space, "size": job.size}
                | {"n": size, "side": side, "seconds": last[side], "error": error}
            )
            print(f"{size:>8} {side:<30}{last[side] * 1e3:>12.2f}{error:>12.1e}", flush=True)
    frame = pd.DataFrame(records)
    for side in job.sides:
        rows = frame[frame["side"] == side]
        print(f"  {side}: grows as {job.size}^{exponent(rows):.2f}")
    return records


def in_turns(sides: Mapping[str, Any], data: Any) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """CPU seconds of each side in several rounds, and what it found in the last."""
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    values = {}
    for _ in range(ROUNDS):
        for side, function in sides.items():
            if sum(seconds[side]) > PATIENCE:
                continue
            start = time.process_time()
            values[side] = function(data)
            seconds[side].append(time.process_time() - start)
    return seconds, values


if __name__ == "__main__":
    main()
