"""JSON Schema as programs need it: 9.0 is no integer, and no line break follows a name."""

from __future__ import annotations

__all__ = ["Validator"]

import re
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend


def _pattern(_: Any, pattern: str, value: object, __: Any) -> Iterator[ValidationError]:
    """A text matches from its beginning, and to its very end if the pattern ends with `$`."""
    start = pattern.removesuffix("$")
    matches = re.match if start == pattern else re.fullmatch
    if isinstance(value, str) and not matches(start, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _is_integer(_: Any, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


Validator: Any = extend(
    Draft202012Validator,
    {"pattern": _pattern},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer),
)
