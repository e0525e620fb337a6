"""Files out of Python packages: installed ones, or wheels downloaded for the file alone."""

from __future__ import annotations

__all__ = ["take"]

import importlib.metadata
import logging
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from vwta.io.errors import foreign
from vwta.paper.downloads.archives import Limits, extract
from vwta.paper.downloads.transfer import Failed

PATIENCE = 900  # seconds that pip may take
IN_WHEEL = Limits(members=20_000, total=4 * 2**30)

log = logging.getLogger(__name__)


def take(package: str, version: str, member: str, path: Path) -> None:
    """Copies a file of a Python package; if the package is not installed, pip downloads its wheel.

    Nothing of the package is run.

    Arguments:
        package: its name.
        version: its version.
        member: the file's place in the wheel, such as `package/data/table.csv`.
        path: file to write.
    """
    installed = _installed(package, version, member)
    if installed is not None:
        log.info("%s: from the installed package %s", path, package)
        shutil.copyfile(installed, path)
        return
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        extract(_wheel(package, version, Path(folder)), member, path, IN_WHEEL)


def _installed(package: str, version: str, member: str) -> Path | None:
    """The file in an installed package of this very version, if there is one."""
    try:
        found = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    file = Path(str(found.locate_file(member)))
    return file if found.version == version and file.is_file() else None


def _wheel(package: str, version: str, folder: Path) -> Path:
    """Downloads a wheel; source distributions would have to be run."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    try:
        done = subprocess.run(
            [*command, f"{package}=={version}"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"pip did not finish within {PATIENCE} s") from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = done.stderr.strip().splitlines() or ["it says nothing"]
        raise Failed(f"pip found no wheel: {foreign(said[-1])}")
    return wheels[0]
