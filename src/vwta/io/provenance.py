"""How a result came about: what it takes to trace a number back to code, data and machine."""

from __future__ import annotations

__all__ = ["provenance", "revision"]

import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "numpy", "scipy", "pandas", "safetensors", "POT", "scikit-learn")


def provenance(**extra: Any) -> dict[str, Any]:
    """Facts about this process, to be stored with what it makes.

    Arguments:
        extra: facts that only the caller knows, such as the seed and the hash of the data.
    """
    import torch

    return {
        "revision": revision(),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "packages": _packages(),
        "system": platform.platform(),
        "processor": _processor(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": torch.get_num_threads(),
        "cpu_seconds": round(time.process_time(), 1),  # of the process so far
        **extra,
    }


@cache
def revision() -> str | None:
    """Revision of the source, with `-dirty` behind it if the tree differs; None outside git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    folder = Path(__file__).parent
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


@cache
def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
