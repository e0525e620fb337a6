"""The plugins for clusters and clouds, where they are installed."""

import tomllib
from importlib.metadata import version

from loading import ROOT, load_module
from pins import unpinned


def check(extra: str, *before: str) -> None:
    """Locks pin all that an extra needs, and what they pin is installed."""
    lock = load_module("envs/lock.py")
    added = lock.read_lock(ROOT / f"requirements-{extra}.lock")
    locked = lock.read_lock(ROOT / "requirements.lock") | added
    for name in before:
        locked |= lock.read_lock(ROOT / f"requirements-{name}.lock")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert unpinned(project["optional-dependencies"][extra], locked, lock.CUDA) == []
    assert {name: version(name) for name in added} == added


def test_locks_pin_all_that_plugins_for_clusters_need(plugins: None) -> None:
    check("cluster")


def test_locks_pin_all_that_plugins_for_clouds_need(cloud: None) -> None:
    check("cloud", "cluster")
