"""The GPU that jobs use, and the shares of it that rules ask for.

A scheduler gives each job a GPU of its own. On one machine jobs share the first GPU that they see:
small trainings ask for a part of its memory, those of the audio study for all of it, and Snakemake
starts no more jobs than its memory allows (the resource `gpu_mb`).
"""

from __future__ import annotations

__all__ = ["GPU", "memory"]

import os
import subprocess
from collections.abc import Callable
from typing import Any

PATIENCE = 10  # seconds


class GPU:
    """What rules ask of GPUs.

    Arguments:
        device: the configuration's `auto`, `cpu` or `cuda`.
        here: whether jobs run on this machine, not through a scheduler.
        limit: memory in MB that they may use together, if that is set.
    """

    def __init__(self, device: str, here: bool, limit: int | None = None) -> None:
        found = (limit or memory()) if here and device != "cpu" else 0
        self.asked = int(device == "cuda" or found > 0)
        # If nothing tells its memory, one job at a time has the GPU.
        self.megabytes = (found or 1) if here and self.asked else 0

    def share(self, megabytes: int) -> Callable[[Any, int], int]:
        """Resource function: a part of the memory, and as much again for each failed attempt."""
        return lambda wildcards, attempt: min(megabytes * attempt, self.megabytes)

    @property
    def whole(self) -> int:
        """All of the memory."""
        return self.megabytes


def memory() -> int:
    """Memory in MB of the first GPU that jobs on this machine see, 0 if there is none.

    It is NVIDIA's own command that tells: torch would take seconds to import, and may be installed
    for CPUs here and for GPUs in the environment of jobs.
    """
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    if first in ("", "-1"):
        return 0
    query = ["--query-gpu=memory.total", "--format=csv,noheader,nounits", f"--id={first}"]
    try:
        done = subprocess.run(
            ["nvidia-smi", *query], capture_output=True, text=True, timeout=PATIENCE, check=True
        )
        return int(done.stdout.split()[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return 0
