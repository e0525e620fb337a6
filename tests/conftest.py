"""What several tests need."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ["Snakefile", "config", "envs", "profiles", "src", "workflow"]


@pytest.fixture(scope="session")
def copy_repository() -> Callable[[Path], Path]:
    """Copies all that the workflow consists of into a folder, and gives the folder."""

    def copy_repository(tree: Path) -> Path:
        tree.mkdir(exist_ok=True)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, tree / part)
        return tree

    return copy_repository
