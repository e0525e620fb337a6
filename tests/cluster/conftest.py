"""What the tests of clusters need; those that take long run in `make test-cluster` alone."""

import importlib.util
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from loading import load_module

collect_ignore = ["stubbed.py"]  # a program, which imports plugins
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


@pytest.fixture(scope="session")
def clone(
    tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]
) -> Path:
    """A clone: Snakemake sends the files that Git knows of to nodes."""
    folder = copy_repository(tmp_path_factory.mktemp("clone") / "tree")
    (folder / ".gitignore").write_text("__pycache__\n.snakemake\n")
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="session")
def store(cloud: None) -> Iterator[Any]:
    """An S3 on this machine, and the variables with which Snakemake finds it."""
    import boto3
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    client = boto3.resource("s3", endpoint_url=address, region_name="us-east-1", **keys)
    variables = {"endpoint_url": address, "access_key": "a", "secret_key": "b"}
    named = {f"SNAKEMAKE_STORAGE_S3_{name.upper()}": value for name, value in variables.items()}
    yield client, {"NO_PROXY": "127.0.0.1", **named}
    server.stop()
