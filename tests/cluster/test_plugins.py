"""The plugins for clusters, where they are installed."""

import tomllib
from importlib.metadata import version

from loading import ROOT, load_module
from pins import unpinned


def test_locks_pin_all_that_plugins_need(plugins: None) -> None:
    lock = load_module("envs/lock.py")
    added = lock.read_lock(ROOT / "requirements-cluster.lock")
    locked = lock.read_lock(ROOT / "requirements.lock") | added
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert unpinned(project["optional-dependencies"]["cluster"], locked, lock.CUDA) == []
    assert {name: version(name) for name in added} == added
