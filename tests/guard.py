"""No test changes what those after it see: variables of the environment, and the current folder.

Programs that tests start see both, so that a test could fail because of one that ran before it in
the same process. Libraries may add variables of their own, but none that such programs read.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

READ = ("GIT_", "PIP_", "PYTHON", "SNAKEMAKE", "VWTA", "XDG_")  # by programs that tests start
OWN = "PYTEST_CURRENT_TEST"


class Surroundings(NamedTuple):
    """What a program that is started now would see."""

    variables: dict[str, str]
    folder: str

    @classmethod
    def now(cls) -> "Surroundings":
        return cls({name: text for name, text in os.environ.items() if name != OWN}, os.getcwd())

    def changes(self) -> list[str]:
        """What is different now, in words."""
        then, now = self.variables, self.now().variables
        added = [name for name in now.keys() - then.keys() if name.startswith(READ)]
        changed = [name for name in then if now.get(name) != then[name]]
        moved = [] if self.folder == os.getcwd() else [f"the current folder, {os.getcwd()}"]
        return sorted(added + changed) + moved

    def restore(self) -> None:
        for name in os.environ.keys() - self.variables.keys() - {OWN}:
            if name.startswith(READ):
                del os.environ[name]
        os.environ.update(self.variables)
        os.chdir(self.folder)

    def check(self, where: str) -> None:
        """Fails if something has changed, after it was put back."""
        if changes := self.changes():
            self.restore()
            remedy = "use monkeypatch.setenv and monkeypatch.chdir"
            pytest.fail(f"{where} has changed {', '.join(changes)}: {remedy}", pytrace=False)


FIRST = Surroundings.now()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """The import of a module changes nothing."""
    report = yield
    if isinstance(collector, pytest.Module) and (changes := FIRST.changes()):
        FIRST.restore()
        report.outcome = "failed"
        report.longrepr = f"The import of {collector.path} has changed {', '.join(changes)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """After the last test of a file everything is as in the beginning."""
    yield
    if nextitem is None or nextitem.path != item.path:
        FIRST.check(f"{item.path.name} or a fixture of it")


@pytest.fixture(autouse=True)
def surroundings_stay() -> Iterator[None]:
    """A test changes nothing for those that follow in its file."""
    before = Surroundings.now()
    yield
    before.check("The test")
