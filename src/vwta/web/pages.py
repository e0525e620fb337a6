"""Pages in one file: a browser loads nothing for them, and runs no script but theirs."""

from __future__ import annotations

__all__ = ["asset", "document", "picture", "script_hash"]

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from vwta.web.markup import Html, element, join


def asset(name: str) -> str:
    """Text of a file that pages share."""
    return files("vwta.web").joinpath("assets", name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """A script as a page's policy names it: the browser runs no other one."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def picture(png: bytes, alt: str) -> Html:
    """An image that stands in the page itself."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return element("img", src=source, alt=alt)


def document(
    title: str, body: Sequence[str], theme: bool = False, script: str = "", data: Html | None = None
) -> str:
    """A whole page.

    Arguments:
        title: of the page.
        body: its parts; texts are escaped, see :class:`~vwta.web.markup.Html`.
        theme: whether colours follow a script, which scripts that draw ask.
        script: runs at the end.
        data: JSON for the script, see :func:`~vwta.web.markup.as_json`; the element `data`.
    """
    scripts = [asset("theme.js") if theme else "", script]
    hashes = " ".join(script_hash(each) for each in scripts if each) or "'none'"
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src {hashes}; base-uri 'none'; form-action 'none'"
    )
    head = join(
        [
            Html('<meta charset="utf-8">\n'),
            Html('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'),
            Html('<meta name="color-scheme" content="light dark">\n'),
            element("title", title),
            element("script", Html(scripts[0])) if scripts[0] else Html(""),
            element("style", Html(asset("plain.css"))),
        ]
    )
    store = (
        Html("") if data is None else element("script", data, type="application/json", id="data")
    )
    last = element("script", Html(scripts[1])) if scripts[1] else Html("")
    inside = join([element("h1", title), *body])
    main = join([element("main", inside), store, last])
    page = element("html", element("head", head), element("body", main), lang="en")
    return f"<!doctype html>\n{page}\n"
