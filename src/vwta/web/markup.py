"""HTML as text that cannot be confused with plain text."""

from __future__ import annotations

__all__ = ["Html", "as_json", "element", "join", "rich"]

import html
import json
import re
from collections.abc import Iterable
from typing import Any

EMPTY = {"img", "input", "br"}  # elements without content


class Html(str):
    """Text that is HTML already; any other text is escaped where it is put into an element."""

    __slots__ = ()


def element(name: str, *content: str, **attributes: str | int | bool | None) -> Html:
    """An HTML element with its content, which is escaped unless it is :class:`Html`.

    Arguments:
        name: of the element.
        content: texts and elements.
        attributes: `_` stands for `-`, and is dropped at the end (`class_`); None and False leave
            an attribute out.

    Example:
        >>> element("p", "a < b", element("b", "!"), class_="note")
        '<p class="note">a &lt; b<b>!</b></p>'
    """
    inside = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in EMPTY:
        return Html(f"<{name}{inside}>")
    return Html(f"<{name}{inside}>{join(content)}</{name}>")


def join(content: Iterable[str]) -> Html:
    """HTML of texts and elements, one after the other."""
    return Html(
        "".join(one if isinstance(one, Html) else html.escape(one, quote=False) for one in content)
    )


def rich(text: str) -> Html:
    """HTML of a text in which `**` marks what is bold, and a backtick what is code.

    Example:
        >>> rich("**1** < `K`")
        '<strong>1</strong> &lt; <code>K</code>'
    """
    parts = re.split(r"(\*\*.+?\*\*|`[^`]+`)", text)
    names = {"*": "strong", "`": "code"}
    return join(
        element(names[one[0]], one.strip(one[0])) if place % 2 else one
        for place, one in enumerate(parts)
    )


def as_json(value: Any) -> Html:
    """A value as JSON that may stand within a `script` element of HTML."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(text)
