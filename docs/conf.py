"""The site, built by `make docs`: warnings are errors, and the gallery's examples are executed."""

import importlib.util
import logging
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from pygments.lexers import TextLexer

mpl.use("agg")
logging.getLogger("vwta").setLevel(logging.WARNING)  # examples say nothing while they are trained

HERE = Path(__file__).parent
EXAMPLES = tuple(sorted(path.stem for path in (HERE / "examples").glob("*.py")))

project = "vwta"
author = "the vwta authors"
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "results", "peers"]
html_theme = "furo"
html_title = "vwta"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
default_role = "code"  # docstrings mark code by single backticks
napoleon_custom_sections = [("Arguments", "params_style"), ("Attributes", "params_style")]


def setup(app: Any) -> None:
    """Runs the examples before pages are read."""
    app.connect("builder-inited", lambda _: draw())
    app.connect("source-read", add_findings)
    app.connect("source-read", link_to_results)
    app.add_lexer("mermaid", TextLexer)


def add_findings(app: Any, name: str, source: list[str]) -> None:
    """The findings stand in README alone, and are shown on a page of the site, too."""
    if name == "findings":
        readme = (HERE.parent / "README.md").read_text()
        found = readme.split("## What we found")[1].split("\n## ")[0]
        source[0] += found.replace("](docs/", "](")


def link_to_results(app: Any, name: str, source: list[str]) -> None:
    """Files of published runs are no pages of the site: links to them are downloads."""
    source[0] = re.sub(r"\]\((results/[^)]+|peers/[^)]+\.(?:csv|md))\)", r"](path:\1)", source[0])


def draw() -> None:
    """Draws the pictures of the gallery, those that are older than their example or missing."""
    folder = HERE / "_build" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    for name in EXAMPLES:
        source, picture = HERE / "examples" / f"{name}.py", folder / f"{name}.png"
        if picture.exists() and picture.stat().st_mtime > source.stat().st_mtime:
            continue
        spec = importlib.util.spec_from_file_location(name, source)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        print(f"gallery: {name}", file=sys.stderr)
        module.main().savefig(picture, dpi=110)
