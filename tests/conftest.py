"""What several tests need."""

import importlib
import pkgutil
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import vwta.figures

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


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures in place of their files, whichever module draws them."""
    figures: list[Figure] = []

    def keep(figure: Figure, paths: list[Path]) -> None:
        figure.draw_without_rendering()
        figures.append(figure)
        plt.close(figure)

    for found in pkgutil.iter_modules(vwta.figures.__path__):
        module = importlib.import_module(f"vwta.figures.{found.name}")
        if hasattr(module, "save"):
            monkeypatch.setattr(module, "save", keep)
    return figures
