"""The files in which verdicts are configured, read together."""

from __future__ import annotations

__all__ = ["load"]

from pathlib import Path
from typing import Any

import yaml

from vwta.paper.verdicts.table import Settings

FILES = ("verdicts.yaml", "claims.yaml", "differences.yaml")


def load(folder: Path) -> Settings:
    """Settings of verdicts from the folder with :data:`FILES`."""
    return Settings.of(*(_read(folder / name) for name in FILES))


def _read(path: Path) -> Any:
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Remedy: name the folder of the configuration, config"
        )
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{path} is not YAML in UTF-8: {why}. Remedy: correct it there") from error
