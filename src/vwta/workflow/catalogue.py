"""What the workflow knows of its figures: captions, and how each is made."""

from __future__ import annotations

__all__ = ["describe", "fill_in"]

import re
from pathlib import Path
from typing import Any

from snakemake.iocontainers import Wildcards

PLACE = re.compile(r"{{ *snakemake\.(?:wildcards|params)\.(\w+) *}}")


def describe(workflow: Any, target: str) -> dict[str, Any]:
    """Facts about a figure: its title, labels and caption, the rule that draws it, and what from.

    Arguments:
        workflow: Snakemake's.
        target: the figure's file; a file that no rule makes has no facts.
    """
    found = [rule for rule in workflow.rules if rule.is_producer(target)]
    if not found:
        return {}
    rule = found[0]
    wildcards = Wildcards(fromdict=rule.get_wildcards(target))
    facts = {
        "rule": rule.name,
        "inputs": sorted(map(str, rule.expand_input(wildcards)[0])),
        "target": target,
    }
    for output in rule.output:
        if output.match(target) and "report" in output.flags:
            facts |= _reported(output.flags["report"], rule, wildcards)
    return facts


def _reported(report: Any, rule: Any, wildcards: Wildcards) -> dict[str, Any]:
    """Title, labels and caption, as the rule reports them."""
    values = {key: value for key, value in rule.params.items() if isinstance(value, int | float)}
    values |= dict(wildcards.items())
    labels = {key: value.format(**values) for key, value in (report.labels or {}).items()}
    caption = Path(report.caption.get_path_or_uri(secret_free=False)).read_text(encoding="utf-8")
    title = labels.pop("figure", "")
    return {"title": title, "labels": labels, "caption": fill_in(caption, values)}


def fill_in(caption: str, values: dict[str, Any]) -> str:
    """A caption in which values stand for what Snakemake's own report would put there."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise KeyError(f"a caption asks for {match[1]!r}, but there are only {sorted(values)}")
        return str(values[match[1]])

    return " ".join(PLACE.sub(value, caption).split())
