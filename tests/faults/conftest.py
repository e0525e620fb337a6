"""Tests that take minutes: `make test` shows them as skipped, `make test-faults` runs them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from disturbed import Tree


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "KILLS" not in os.environ:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="takes minutes: make test-faults"))


@pytest.fixture(scope="session")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, copy_repository: Callable[[Path], Path]
) -> tuple[dict[str, str], float]:
    """Results of the smoke tier, and how many seconds it takes."""
    tree = Tree(copy_repository(tmp_path_factory.mktemp("undisturbed")))
    with closing(tree):
        seconds = tree.finish()
    assert tree.left_behind() == []
    return tree.content(), seconds


@pytest.fixture
def tree(tmp_path: Path, copy_repository: Callable[[Path], Path]) -> Iterator[Tree]:
    with closing(Tree(copy_repository(tmp_path / "tree"))) as tree:
        yield tree
