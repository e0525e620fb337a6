"""Profiles for clouds: one job is submitted through each to a service that only notes it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loading import environment

RUN = "results/smoke/synthetic/paper/single_gaussian"
NETWORK = f"{RUN}/hist/K9/seed1234.safetensors"
IMAGE = "registry.example.org/vwta:latest"
PREFIX = "s3://your-bucket/vwta"
KEYS = {"SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "a", "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "b"}


@pytest.fixture(scope="module")
def data(asked: None, store: tuple[Any, dict[str, str]]) -> dict[str, str]:
    """Variables for a storage that has the data of a training."""
    client, variables = store
    bucket = client.create_bucket(Bucket="your-bucket")
    bucket.put_object(Key=f"vwta/{RUN}/data.safetensors", Body=b"data")
    return variables


def submit(clone: Path, variables: dict[str, str], notes: Path, profile: str) -> list[Any]:
    """What a service noted when a training was submitted."""
    command = [sys.executable, str(Path(__file__).with_name("stubbed.py")), str(notes)]
    command += ["--configfile", "config/smoke.yaml", "--config", "device=cuda"]
    command += ["--workflow-profile", f"profiles/{profile}", "--retries", "0"]
    command += ["--seconds-between-status-checks", "1", "--", NETWORK]
    done = subprocess.run(
        command,
        cwd=clone,
        env=environment(clone, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    found = json.loads(notes.read_text())
    assert any("job" in note for note in found), done.stdout
    return found


def check_command(command: str) -> None:
    """A job fetches the sources from the storage, and runs them with it."""
    sources = rf"--deploy-sources {PREFIX}/snakemake-workflow-sources\.\w+\.tar\.xz \w+"
    assert re.search(sources, command)
    assert (
        command.count(f"--default-storage-prefix '{PREFIX}' --default-storage-provider 's3'") == 2
    )
    assert "export PYTHONPATH=src" in command
    assert "--allowed-rules train_synthetic " in command
    assert command.index("export PYTHONPATH") < command.index("--snakefile 'Snakefile'")


def test_kubernetes_gets_image_storage_and_requests(
    clone: Path, data: dict[str, str], tmp_path: Path
) -> None:
    first, job, *_, last = submit(clone, data, tmp_path / "notes", "kubernetes")
    assert {key.lower() for key in KEYS} <= set(first["secret"])
    assert last == {"secret": None}, "secrets are removed"
    assert job["namespace"] == "default"
    pod = job["job"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == IMAGE
    assert KEYS.keys() <= {entry["name"] for entry in container["env"]}
    asked = {"cpu": "950m", "memory": "2000M", "ephemeral-storage": "20000M", "nvidia.com/gpu": "1"}
    assert container["resources"]["requests"] == asked
    assert container["resources"]["limits"] == {**asked, "cpu": "1000m"}
    assert pod["tolerations"][0]["key"] == "nvidia.com/gpu"
    shell, command = container["args"]
    assert (container["command"], shell) == (["/bin/sh"], "-c")
    check_command(command)


def test_aws_batch_gets_image_storage_and_requests(
    clone: Path, data: dict[str, str], tmp_path: Path
) -> None:
    definition, job = submit(clone, data, tmp_path / "notes", "aws-batch")[:2]
    assert job["job"]["jobQueue"] == "arn:aws:batch:REGION:ACCOUNT:job-queue/NAME"
    assert definition["region"] == "us-east-1"
    assert definition["definition"]["timeout"] == {"attemptDurationSeconds": 129600}
    container = definition["definition"]["containerProperties"]
    assert container["image"] == IMAGE
    asked = {entry["type"]: entry["value"] for entry in container["resourceRequirements"]}
    assert asked == {"VCPU": "1", "MEMORY": "2048"}, "this plugin passes on no GPU"
    variables = {entry["name"]: entry["value"] for entry in container["environment"]}
    assert KEYS.items() <= variables.items()
    check_command(container["command"][-1])


def test_google_batch_gets_image_storage_and_requests(
    clone: Path, data: dict[str, str], tmp_path: Path
) -> None:
    (note, *_) = submit(clone, data, tmp_path / "notes", "googlebatch")
    assert note["parent"] == "projects/your-project/locations/us-central1"
    (group,) = note["job"]["task_groups"]
    task = group["task_spec"]
    assert task["compute_resource"]["memory_mib"] == "6000"
    assert task["max_run_duration"] == "129600s"
    setup, *_, runnable = task["runnables"]
    assert runnable["container"]["image_uri"] == IMAGE
    check_command(setup["script"]["text"])
