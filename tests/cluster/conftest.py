"""Slurm for the tests that ask for it, which run in `make test-cluster` alone."""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from loading import load_module

PLUGINS = ("snakemake_executor_plugin_slurm", "snakemake_executor_plugin_cluster_generic")


@pytest.fixture(scope="session")
def script() -> ModuleType:
    """The script that starts Slurm."""
    return load_module(Path(__file__).with_name("slurm.py"))


@pytest.fixture(scope="session")
def plugins() -> None:
    """Skips where the plugins are not installed."""
    if absent := [name for name in PLUGINS if importlib.util.find_spec(name) is None]:
        pytest.skip(f"not tested on a cluster: no {', '.join(absent)}; `make cluster` adds them")


@pytest.fixture(scope="session")
def ended(script: ModuleType, plugins: None) -> Iterator[Path]:
    """A Slurm that runs; the file in which it notes the jobs that have ended."""
    if reason := script.obstacle():
        pytest.skip(f"not tested on a cluster: {reason}")
    if not os.environ.get("VWTA_CLUSTER"):
        pytest.skip("not tested on a cluster: `make test-cluster` does that")
    with script.slurm() as file:
        yield file
