"""What the tests of clusters need; those that take long run in `make test-cluster` alone."""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from loading import load_module

PLUGINS = {
    "cluster": (
        "snakemake_executor_plugin_slurm",
        "snakemake_executor_plugin_cluster_generic",
        "snakemake_storage_plugin_fs",
    ),
    "cloud": (
        "flask_cors",
        "moto",
        "snakedeploy",
        "snakemake_executor_plugin_aws_batch",
        "snakemake_executor_plugin_googlebatch",
        "snakemake_executor_plugin_kubernetes",
        "snakemake_storage_plugin_s3",
    ),
}


def need(extra: str) -> None:
    """Skips where the packages of an extra are not installed."""
    if absent := [name for name in PLUGINS[extra] if importlib.util.find_spec(name) is None]:
        pytest.skip(f"not tested: no {', '.join(absent)}; `make {extra}` adds them")


@pytest.fixture(scope="session")
def script() -> ModuleType:
    """The script that starts Slurm."""
    return load_module(Path(__file__).with_name("slurm.py"))


@pytest.fixture(scope="session")
def plugins() -> None:
    """Skips where the plugins for clusters are not installed."""
    need("cluster")


@pytest.fixture(scope="session")
def cloud(plugins: None) -> None:
    """Skips where the plugins for clouds are not installed."""
    need("cloud")


@pytest.fixture(scope="session")
def asked() -> None:
    """Skips what takes long."""
    if not os.environ.get("VWTA_CLUSTER"):
        pytest.skip("not tested on a cluster: `make test-cluster` does that")


@pytest.fixture(scope="session")
def ended(script: ModuleType, plugins: None, asked: None) -> Iterator[Path]:
    """A Slurm that runs; the file in which it notes the jobs that have ended."""
    if reason := script.obstacle():
        pytest.skip(f"not tested on a cluster: {reason}")
    with script.slurm() as file:
        yield file
