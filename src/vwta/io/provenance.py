"""Provenance: the facts that trace a result back to its code, data and machine."""

from __future__ import annotations

__all__ = ["provenance", "revision"]

import json
import platform
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

from vwta import __version__

PACKAGES = ("torch", "numpy", "scipy", "pandas", "safetensors", "POT", "scikit-learn")


def provenance(**extra: Any) -> dict[str, Any]:
    """Facts about this process, to be stored with its results.

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
def revision() -> str:
    """Git revision of the source, followed by `-dirty` if files differ from it.

    Outside a clone it is the revision that pip installed, or the version of a wheel: `v0.1.0`.
    """
    # An environment may lie within some other repository, which does not track this file.
    tracked = _git("ls-files", "--error-unmatch", Path(__file__).name) is not None
    found = _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*") if tracked else ""
    return found or _installed() or f"v{__version__}"


def _installed() -> str | None:
    """The revision of this package that pip installed out of a repository, if it did."""
    with suppress(PackageNotFoundError):
        package = distribution("vwta")
        if package.locate_file("vwta/io/provenance.py") == Path(__file__):
            origin = json.loads(package.read_text("direct_url.json") or "{}")
            commit: str | None = origin.get("vcs_info", {}).get("commit_id")
            return commit
    return None


def _git(*arguments: str) -> str | None:
    """Output of a git command in the folder of this module, None if it fails."""
    command = ["git", *arguments]
    folder = Path(__file__).parent
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


@cache
def _packages() -> dict[str, str]:
    """Versions of those of :data:`PACKAGES` that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def _processor() -> str:
    """Model of the processor, or its architecture where the model is unknown."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
