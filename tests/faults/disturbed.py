"""Runs of the smoke tier that are disturbed, and what is left of them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from loading import environment
from safetensors import safe_open
from warm import python

from vwta.io.bundles import unbundled

UNEQUAL = {"logs", "benchmarks", "report"}  # say when, and how long
TIMES = {"uci_costs"}  # a table of CPU seconds


class Tree:
    """A copy of the repository, in which the smoke tier runs as `make reproduce` runs it."""

    def __init__(self, folder: Path, *overlays: str) -> None:
        self.folder, self.overlays = folder, overlays
        self.results = folder / "results" / "smoke"
        self.started: list[subprocess.Popen[str]] = []

    def start(
        self, *targets: str, locked: bool = True, fresh: bool = False
    ) -> subprocess.Popen[str]:
        """Starts a run, whose output goes to a file.

        Arguments:
            targets: what to make.
            locked: whether it has the lock of `make reproduce`.
            fresh: whether the process is Snakemake itself, and that of a job its descendant. If
                not, they are forks of a warm Python, of the same group.
        """
        command = [sys.executable, "-m", "vwta.workflow.lock"] if locked else []
        command += [sys.executable] if fresh else python()
        command += self._options("--cores", "2", targets=targets)
        with (self.folder / "output.txt").open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdout=output,
                stderr=output,
                text=True,
                env=environment(self.folder, OMP_NUM_THREADS="1"),
                # A group of its own, see `kill`; forks can join it within the session alone.
                start_new_session=fresh,
                process_group=None if fresh else 0,
            )
        self.started.append(process)
        return process

    def _options(self, *options: str, targets: Iterable[str]) -> list[str]:
        files = ["--configfile", "config/smoke.yaml", *self.overlays]
        return ["-m", "snakemake", *options, *files, "--", *targets]

    def declared(self, *targets: str) -> set[str]:
        """Names of the results that targets need, by the rules."""
        done = subprocess.run(
            [*python(), *self._options("--dry-run", "--forceall", targets=targets)],
            cwd=self.folder,
            env=environment(self.folder),
            capture_output=True,
            text=True,
            check=True,
        )
        lines = re.findall("^ +output: (.*)$", done.stdout + done.stderr, re.MULTILINE)
        place = f"{self.results.relative_to(self.folder)}/"
        return {name.removeprefix(place) for line in lines for name in line.split(", ")}

    def close(self) -> None:
        """Kills what still runs, as after a test that failed."""
        for process in self.started:
            if process.poll() is None:
                kill(process)

    def finish(self, *targets: str) -> float:
        """Runs to the end; how many seconds it took."""
        start = time.monotonic()
        assert self.start(*targets).wait() == 0, self.output()
        return time.monotonic() - start

    def output(self) -> str:
        return (self.folder / "output.txt").read_text(errors="replace")

    def log(self, rule: str) -> str:
        return "".join(path.read_text() for path in self.results.glob(f"logs/{rule}/**/*.log"))

    def refusal(self) -> str:
        """What `make reproduce` says before it starts anything: nothing, if it starts."""
        command = [sys.executable, "-m", "vwta.workflow.lock"]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment(self.folder),
            capture_output=True,
            text=True,
            check=False,
        )
        assert bool(done.returncode) == bool(done.stderr)
        return done.stderr

    def content(self) -> dict[str, str]:
        """Hash of each file of results, without what it says of when and where it was made."""
        files = (path for path in self.results.rglob("*") if path.is_file())
        relative = {path.relative_to(self.results): path for path in files}
        return {
            str(name): _content(path)
            for name, path in relative.items()
            if name.parts[0] not in UNEQUAL and name.stem not in TIMES
        }

    def left_behind(self) -> list[str]:
        """Things that a finished run must not leave: temporary names, unfinished work, locks."""
        hidden = [path for path in self.results.rglob(".*") if path.name != ".unfinished"]
        hidden += self.results.glob(".unfinished/*")
        hidden += self.folder.glob(".snakemake/locks/*")
        return [str(path.relative_to(self.folder)) for path in hidden]


def _content(path: Path) -> str:
    if path.suffix == ".parquet":
        table = pq.read_table(path).replace_schema_metadata().combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return hashlib.sha256(sink.getvalue()).hexdigest()
    if path.suffix == ".safetensors":
        with safe_open(path, framework="np") as file:
            names = sorted(file.keys())
            parts = [f"{name} {file.get_tensor(name).tobytes().hex()}" for name in names]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    if path.suffix == ".zip":
        with unbundled(path) as folder:
            return " ".join(f"{file.name} {_content(file)}" for file in sorted(folder.iterdir()))
    if path.suffix == ".json":
        return json.dumps(_timeless(json.loads(path.read_text())), sort_keys=True)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in {"seconds", "time"}}
    return [_timeless(entry) for entry in value] if isinstance(value, list) else value


def kill(process: subprocess.Popen[str]) -> None:
    """Kills a run and all that came from it, with no warning, and waits until they are gone.

    The system signals a group in one stroke: no job can be on its way to the world meanwhile.
    """
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for one in _group(process):
        wait_until_gone(one)


def wait_until_gone(process: psutil.Process) -> None:
    """Waits for a process that was killed: its last thread to end gives its locks back."""
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1:
            time.sleep(0.02)


def _group(process: subprocess.Popen[str]) -> Iterator[psutil.Process]:
    """Processes that came from a run."""
    for one in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(one.pid) == process.pid:
                yield one


def _holders() -> set[int]:
    """Processes that hold a lock of the operating system."""
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return {int(pid) for _, kind, _, _, pid, *_ in lines if kind == "FLOCK"}


def wait_for_job(process: subprocess.Popen[str], rule: str) -> psutil.Process:
    """The process of a job of a run, once it takes part in the work of its folder."""
    while process.poll() is None:
        for one in _group(process):
            with contextlib.suppress(psutil.NoSuchProcess):
                logs = any(f"/logs/{rule}/" in file.path for file in one.open_files())
                if logs and one.pid in _holders():
                    return one
        time.sleep(0.05)
    raise AssertionError(f"the run ended before {rule} began")
