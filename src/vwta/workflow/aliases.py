"""How large a file of the configuration is once its aliases are written out.

A few lines of YAML whose aliases name each other stand for billions of values. YAML's own objects
share them, but whoever walks through the values, as Snakemake and the schema do, never ends.
"""

from __future__ import annotations

__all__ = ["BYTES", "VALUES", "of_text", "of_value"]

import math
from collections.abc import Callable, Iterable
from typing import Any

import yaml

BYTES = 10**6  # of a file of the configuration
VALUES = 10**5  # in a configuration with all aliases written out


def of_text(text: str) -> float:
    """Number of values of a YAML text, aliases written out; infinite if one contains itself."""

    def parts(node: yaml.Node) -> Iterable[yaml.Node]:
        if isinstance(node, yaml.MappingNode):
            return (part for pair in node.value for part in pair)
        return node.value if isinstance(node, yaml.SequenceNode) else ()

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    return 0 if root is None else _count(root, parts, {})


def of_value(value: object) -> float:
    """Number of values of a configuration that was read, likewise."""

    def parts(value: object) -> Iterable[object]:
        if isinstance(value, dict):
            return value.values()
        return value if isinstance(value, list) else ()

    return _count(value, parts, {})


def _count(whole: Any, parts: Callable[[Any], Iterable[Any]], known: dict[int, float]) -> float:
    """Number of values, each shared one counted as often as it is used, looked at only once."""
    if id(whole) not in known:
        known[id(whole)] = math.inf  # which is its size if it comes again within itself
        known[id(whole)] = 1 + sum(_count(part, parts, known) for part in parts(whole))
    return known[id(whole)]
