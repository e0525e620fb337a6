"""Say what a run would cost before it starts, from the recorded costs of earlier jobs.

Usage: python -m vwta.workflow.plan TIER [--record] [--debug] [SNAKEMAKE ARGUMENT ...]

The jobs come from Snakemake's dry run. A job costs what finished jobs of its rule did: those of
this very run first (their benchmark files), else those in benchmarks/recorded.csv. A rule that was
never recorded is listed as unknown. What was recorded on CPUs says nothing about a GPU: the time of
a job that asks for one is an estimate of :mod:`vwta.workflow.gpu_time`. Rules may declare resources
for this: `work` (a number that the time is proportional to, e.g. epochs times points), `gpu` (how
many), `steps` and `step_rows` (of a training), `download_mb` (what a job fetches) and `output_mb`
(what it stores). `--record` adds the finished jobs to benchmarks/recorded.csv, `--debug` shows
where an error comes from.
"""

from __future__ import annotations

__all__ = ["Job", "dry_run", "estimate", "measure", "show"]

import contextlib
import io
import logging
import math
import os
import platform
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vwta.io.errors import debugging, explained
from vwta.workflow import gpu_time
from vwta.workflow.configuration import check

RECORD = Path("benchmarks/recorded.csv")
KEY = ["tier", "rule", "work"]
COLUMNS = [*KEY, "n", "seconds", "max_rss_mb", "output_mb", "machine"]
NUMBERS = ("work", "gpu", "steps", "step_rows", "download_mb", "output_mb")
ESTIMATED = "estimated for a GPU"


class Job(NamedTuple):
    """A job as Snakemake's dry run describes it; 0 stands for "not declared"."""

    rule: str
    output: tuple[str, ...] = ()
    benchmark: str | None = None
    threads: int = 1
    work: float = 0
    gpu: float = 0
    steps: float = 0
    step_rows: float = 0
    download_mb: float = 0
    output_mb: float = 0
    model: str = ""
    K: int = 0
    input: tuple[str, ...] = ()
    log: tuple[str, ...] = ()


def dry_run(arguments: list[str]) -> list[Job]:
    """Return the jobs that Snakemake would run; what it says is shown if it fails."""
    from snakemake.cli import main
    from snakemake.logging import logger

    check(arguments)
    jobs: list[Job] = []

    def listen(event: logging.LogRecord) -> bool:
        if getattr(event, "event", None) == "job_info":
            jobs.append(read_job(vars(event)))
        return event.levelno >= logging.WARNING

    said = io.StringIO()
    logger.addFilter(listen)
    try:
        with contextlib.redirect_stderr(said):
            main(["--dry-run", *arguments])
    except SystemExit as end:
        if end.code:  # the workflow's own message, or a number
            sys.exit(said.getvalue() + (end.code if isinstance(end.code, str) else ""))
    finally:
        logger.removeFilter(listen)
    return [job for job in jobs if job.output]  # a target such as `all` makes nothing


def read_job(event: dict[str, Any]) -> Job:
    """Read a job from Snakemake's log event about it."""
    resources = dict(event["resources"].items())
    wildcards = event.get("wildcards") or {}
    numbers = {
        name: resources[name] for name in NUMBERS if isinstance(resources.get(name), int | float)
    }
    return Job(
        rule=event["rule_name"],
        output=tuple(event["output"]),
        benchmark=event["benchmark"],
        threads=event["threads"],
        model=wildcards.get("model", ""),
        K=int(wildcards.get("K", 0)),
        input=tuple(event["input"]),
        log=tuple(event["log"]),
        **numbers,
    )


def measure(jobs: Iterable[Job], tier: str) -> pd.DataFrame:
    """Return for the plan what finished jobs cost on average, a row for each rule and work."""
    rows = []
    for job in jobs:
        if job.benchmark and Path(job.benchmark).is_file():
            times = pd.read_csv(job.benchmark, sep="\t")
            numbers = times["s"].mean(), times["max_rss"].max(), size_mb(job.output)
            rows.append((tier, job.rule, job.work, 1, *numbers, machine()))
    costs = pd.DataFrame(rows, columns=COLUMNS)
    how = dict.fromkeys(COLUMNS[4:], "mean") | {"n": "sum", "max_rss_mb": "max", "machine": "first"}
    return costs.groupby(KEY, as_index=False).agg(how)[COLUMNS].round(3)


def size_mb(files: Iterable[str]) -> float:
    """Return for the plan the size of files and folders, those that exist."""
    paths = [path for file in files for path in (Path(file), *Path(file).rglob("*"))]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def machine() -> str:
    """Describe for the plan the processor and the number of cores that may be used."""
    name = platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        name = models[0] if models else name
    return f"{name}, {cores()} cores"


def cores() -> int:
    """Return for the plan how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def estimate(
    jobs: Iterable[Job],
    tier: str,
    here: pd.DataFrame,
    recorded: pd.DataFrame,
    counted: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the plan: jobs, CPU and GPU hours, disk, downloads and the source for each rule.

    Hours are those for which cores and GPUs are taken: Snakemake measures the CPU time of a job
    at times far apart and misses its end.
    Each kind of job takes the record nearest in work, scaled to its own work; the hours and disk
    of a rule are NaN if any of its jobs has no record. Jobs on a GPU take no hours of a record, but
    those of the counts, and NaN if there are none.
    """
    counted = pd.DataFrame(columns=gpu_time.COLUMNS) if counted is None else counted
    same_tier = recorded["tier"] == tier
    sources = [(here, "this run"), (recorded[same_tier], "recorded")]
    sources += [
        (costs, f"recorded at {other}") for other, costs in recorded[~same_tier].groupby("tier")
    ]
    rows = []
    kinds = Counter(
        job._replace(output=(), benchmark=None, input=(), log=(), **_unused(job)) for job in jobs
    )
    for job, n in kinds.items():
        rule, work = job.rule, job.work
        hours = disk = math.nan
        source = "unknown"
        for costs, name in sources:
            same = costs[(costs["rule"] == rule) & ((costs["work"] > 0) == (work > 0))]
            if len(same):
                cost = same.loc[(np.log1p(same["work"]) - np.log1p(work)).abs().idxmin()]
                hours = cost["seconds"] / 3600 * (work / cost["work"] if work else 1)
                disk = cost["output_mb"]
                source = name if work or cost["tier"] == tier else f"{name}, not scaled"
                break
        if job.gpu:
            hours, source = _on_gpu(job, tier, counted)
            rule += "" if source == ESTIMATED else f" ({job.model})"  # beside what is known
        own = n * hours * job.threads, n * hours * job.gpu if job.gpu else 0.0
        rows.append((rule, n, *own, n * (job.output_mb or disk), n * job.download_mb, source))
    columns = ["rule", "jobs", "CPU h", "GPU h", "disk MB", "download MB", "source"]
    table = pd.DataFrame(rows, columns=columns).groupby("rule", as_index=False, sort=False)
    how = dict.fromkeys(columns[1:6], lambda values: values.sum(skipna=False))
    return table.agg(how | {"source": lambda names: ", ".join(dict.fromkeys(names))})


def _unused(job: Job) -> dict[str, Any]:
    """What jobs on CPUs may differ in without being another kind of job."""
    return {} if job.gpu else {"model": "", "K": 0, "steps": 0, "step_rows": 0}


def _on_gpu(job: Job, tier: str, counted: pd.DataFrame) -> tuple[float, str]:
    """Hours of a job on a GPU, and where they come from."""
    numbers = job.model, job.K, job.steps, job.step_rows
    hours = gpu_time.hours(counted, tier, job.rule, *numbers)
    return hours, "unknown" if math.isnan(hours) else ESTIMATED


def show(table: pd.DataFrame, tier: str) -> str:
    """Return the plan as text."""
    if table.empty:
        return f"tier {tier}: nothing left to do"
    total = table[table.columns[1:6]].sum(min_count=1)
    lines = pd.concat([table, pd.DataFrame([{"rule": "total", **total, "source": ""}])])
    lines["jobs"] = lines["jobs"].astype(int)
    text = lines.to_string(index=False, na_rep="unknown", float_format="{:.2f}".format)
    end = []
    hours, one = max(total["CPU h"] / cores(), total["GPU h"]), total["GPU h"] > 0
    if hours > 0:
        time = f"{hours:.1f} h" if hours > 1 else f"{60 * hours:.0f} min"
        gpu = " and one GPU" if one else ""
        end.append(f"About {time} on the {cores()} cores of this machine{gpu}.")
    if table["source"].str.contains(ESTIMATED).any():
        end.append(f"GPU h are an estimate, not a measurement: {gpu_time.ASSUMED}.")
    unknown = table.loc[table["CPU h"].isna(), "rule"]
    if len(unknown):
        end.append(f"Not in the total, as nothing is recorded: {', '.join(unknown)}.")
    return "\n".join([f"tier {tier}: {total['jobs']:.0f} jobs left", text, *end])


def main(tier: str, record: bool, arguments: list[str]) -> None:
    """Print the plan of a tier, or record what its finished jobs cost."""
    recorded = pd.read_csv(RECORD) if RECORD.exists() else pd.DataFrame(columns=COLUMNS)
    here = measure(dry_run(["--forceall", *arguments]), tier)
    if record:
        both = pd.concat([recorded, here]) if len(recorded) else here
        both.drop_duplicates(KEY, keep="last").sort_values(KEY).to_csv(RECORD, index=False)
        print(f"{RECORD}: {len(here)} rows for tier {tier}")
    else:
        counted = pd.read_csv(gpu_time.TABLE) if gpu_time.TABLE.exists() else None
        print(show(estimate(dry_run(arguments), tier, here, recorded, counted), tier))


if __name__ == "__main__":
    own = ("--record", "--debug")
    words = [word for word in sys.argv[1:] if word not in own]
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    with explained("plan", debug="--debug" in sys.argv or debugging()):
        main(words[0], "--record" in sys.argv, words[1:])
