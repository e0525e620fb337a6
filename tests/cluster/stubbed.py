"""Runs Snakemake with clouds that are not there: they note the jobs that they get, and fail them.

Usage: python tests/cluster/stubbed.py NOTES ARGUMENT ...   (NOTES is a file, ARGUMENTs Snakemake's)
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kubernetes.client
import kubernetes.config
import snakemake_executor_plugin_aws_batch as aws
from google.cloud import batch_v1
from snakemake.cli import main

notes: list[dict[str, Any]] = []


class Core:
    """Of Kubernetes: secrets and pods."""

    def create_namespaced_secret(self, namespace: str, secret: Any) -> None:
        notes.append({"secret": sorted(secret.data), "namespace": namespace})

    def delete_namespaced_secret(self, *_: Any, **__: Any) -> None:
        notes.append({"secret": None})

    def list_namespaced_pod(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(items=[])


class Jobs:
    """Of Kubernetes: jobs."""

    def create_namespaced_job(self, namespace: str, body: Any) -> None:
        job = kubernetes.client.ApiClient().sanitize_for_serialization(body)
        notes.append({"job": job, "namespace": namespace})

    def read_namespaced_job_status(self, *_: Any) -> SimpleNamespace:
        return SimpleNamespace(status=SimpleNamespace(failed=1, succeeded=0))

    def delete_namespaced_job(self, *_: Any, **__: Any) -> None:
        """It is not there."""


class Batch:
    """Of AWS."""

    def __init__(self, region_name: str) -> None:
        self.region = region_name

    def register_job_definition(self, **definition: Any) -> dict[str, Any]:
        notes.append({"definition": definition, "region": self.region})
        return {"jobDefinitionName": definition["jobDefinitionName"], "revision": 1}

    def submit_job(self, **job: Any) -> dict[str, Any]:
        notes.append({"job": job})
        return {"jobName": job["jobName"], "jobId": "1"}

    def describe_jobs(self, **_: Any) -> dict[str, Any]:
        return {"jobs": [{"jobId": "1", "status": "FAILED", "statusReason": "it is not there"}]}

    def __getattr__(self, name: str) -> Any:
        return lambda **_: {}


class Google:
    """Of Google."""

    def create_job(self, request: Any) -> Any:
        job = batch_v1.Job.to_dict(request.job, use_integers_for_enums=False)
        notes.append({"job": job, "parent": request.parent})
        return SimpleNamespace(name="1")

    def get_job(self, *_: Any, **__: Any) -> Any:
        state = batch_v1.JobStatus.State.FAILED
        return SimpleNamespace(name="1", status=SimpleNamespace(state=state, status_events=[]))

    def delete_job(self, *_: Any, **__: Any) -> None:
        """It is not there."""


if __name__ == "__main__":
    kubernetes.config.load_kube_config = lambda: None
    kubernetes.client.CoreV1Api, kubernetes.client.BatchV1Api = Core, Jobs
    aws.BatchClient, batch_v1.BatchServiceClient = Batch, Google
    try:
        main(sys.argv[2:])
    finally:
        Path(sys.argv[1]).write_text(json.dumps(notes))
