"""The workflow's rules: what all of them share, and what they know of their figures."""

from __future__ import annotations

__all__ = ["complete", "describe", "pictures", "published_runs"]

import inspect
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from snakemake.iocontainers import Wildcards


def complete(workflow: Any, root: Path, local: Iterable[str], cpu: str, gpu: str) -> None:
    """Gives every rule of this workflow its environment, and a benchmark named after its log.

    A rule without outputs has no benchmark: Snakemake would take it for an output, and run the rule
    only once.

    Arguments:
        workflow: Snakemake's, which may have rules of other workflows as well.
        root: folder of this workflow's sources.
        local: names of rules that no cluster runs; a module of another workflow may rename them.
        cpu: file of the environment, below that folder.
        gpu: that of rules that ask for a GPU.
    """
    for rule in workflow.rules:
        place = Path(rule.basedir.get_path_or_uri(secret_free=False))
        if not rule.log or not place.is_relative_to(root):
            continue
        asked = rule.resources.get("gpu")
        environment = gpu if asked is not None and asked.value else cpu
        rule.conda_env = os.path.relpath(root / environment, place)
        if not rule.output:
            continue
        rule.benchmark_modifier = rule.log_modifier
        log = str(rule.ruleinfo.log.paths[0])  # without the prefix of a module
        rule.benchmark = log.replace("/logs/", "/benchmarks/", 1).removesuffix(".log") + ".tsv"
    names = {rule.name for rule in workflow.rules}
    workflow.localrules(*names.intersection(map(workflow.modifier.modify_rulename, local)))


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
    labels = dict(_value(report.labels, wildcards) or {})
    file = Path(report.caption.get_path_or_uri(secret_free=False))
    caption = _value(dict(rule.params.items()).get("caption"), wildcards)
    text = caption or file.read_text(encoding="utf-8")
    return {"title": labels.pop("figure", ""), "labels": labels, "caption": " ".join(text.split())}


def _value(given: Any, wildcards: Wildcards) -> Any:
    """A value of a rule, or the result of its function for the job's wildcards."""
    return given(wildcards) if inspect.isfunction(given) else given


def published_runs(folder: Path) -> dict[str, Any]:
    """Records of the studies that the workflow published below a folder."""
    return {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*/provenance.json"))
    }


def pictures(
    workflow: Any, figures: Iterable[str], place: str, records: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Facts about figures of a tier, or about published ones, with the rules that draw them.

    Arguments:
        workflow: Snakemake's.
        figures: their files; those of a published study lie in its folder.
        place: folder of the results of all tiers.
        records: those of published studies; a figure of no such study is one of the results.
    """
    found = []
    for path in map(Path, figures):
        record = records.get(path.parent.parent.name, {})
        target = f"{place}/{record['tier']}/figures/{path.name}" if record else str(path)
        outdated = f"figures/{path.stem}" in record.get("outdated", ())
        found.append({**describe(workflow, target), "path": str(path), "outdated": outdated})
    return found
