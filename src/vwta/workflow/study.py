"""Studies as rules see them: their settings, their protocols, and the files of their runs.

Methods that take `wildcards` are passed to Snakemake, which calls them with those of a job.
"""

from __future__ import annotations

__all__ = ["Study", "growing", "measuring", "taken_from", "unrecorded", "warnings"]

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from vwta.paper.methods import NETWORKS

Files = Callable[[Any], list[str]]
KEYS = ("datasets", "models", "K", "seeds")


class Study:
    """A study as rules see it.

    Arguments:
        settings: its section of the configuration.
        protocols: the switches of each of its protocols, by stage.
    """

    def __init__(
        self, settings: Mapping[str, Any], protocols: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.settings = settings
        self.protocols = protocols

    def __getitem__(self, key: str) -> Any:
        return self.settings[key]

    def trainer(self, name: str) -> str:
        """The protocol whose networks a protocol takes: often itself."""
        found: str = self.protocols[name].get("networks_of", name)
        return found

    @property
    def trainers(self) -> list[str]:
        """The protocols that train networks of their own."""
        return [name for name in self.protocols if self.trainer(name) == name]

    def scope(self, name: str, stage: str | None = None) -> dict[str, list[Any]]:
        """Parts of the study that a protocol runs in a stage: datasets, models, K and seeds.

        A protocol may name models that the study does not run otherwise.
        """
        restriction = self["protocols"][name]
        narrowed = {**self.settings, **restriction, **restriction.get(stage, {})}
        there = {**self.settings, "models": [*self["models"], *restriction.get("models", [])]}
        return {
            key: [value for value in dict.fromkeys(there[key]) if value in narrowed[key]]
            for key in KEYS
        }

    def _is_run(self, name: str, model: str, K: int, seed: int) -> bool:
        """Whether a protocol runs a seed: of the K and models in its `one_seed` the first alone."""
        few = self["protocols"][name].get("one_seed", [])
        return not {model, K} & {*few} or bool(seed == self["seeds"][0])

    def runs(
        self,
        stage: str | None,
        pattern: str,
        protocols: Iterable[str] | None = None,
        **narrower: Sequence[Any],
    ) -> list[str]:
        """Paths of a pattern, for all that protocols run in a stage.

        Arguments:
            stage: evaluation, emd, properties, or None for all that is trained.
            pattern: with the wildcards protocol, dataset, model, K and seed.
            protocols: names of protocols, every one if there are none.
            narrower: values of `datasets`, `models`, `K` or `seeds`; others are left out.
        """
        paths = []
        for name in self["protocols"] if protocols is None else protocols:
            wanted = self.scope(name, stage)
            for key, values in narrower.items():
                wanted[key] = [value for value in wanted[key] if value in values]
            for dataset, model, K, seed in itertools.product(*wanted.values()):
                if self._is_run(name, model, K, seed):
                    paths.append(
                        pattern.format(protocol=name, dataset=dataset, model=model, K=K, seed=seed)
                    )
        return list(dict.fromkeys(paths))

    def networks(self, stage: str | None, pattern: str) -> Files:
        """Input function: the networks that the job's protocol takes in a stage, of its data."""

        def of(wildcards: Any) -> list[str]:
            own = pattern.replace("{protocol}", self.trainer(wildcards.protocol))
            chosen = {"datasets": [wildcards.dataset]}
            return self.runs(stage, own, [wildcards.protocol], **chosen)

        return of

    def network(self, pattern: str) -> Callable[[Any], str]:
        """Input function: the network that the job's protocol takes for its own."""
        return taken_from(self.trainer, pattern)

    def grid(self, wildcards: Any) -> list[int] | None:
        """The grid of a histogram with the job's K, None for another model."""
        if not NETWORKS[wildcards.model].on_grid:
            return None
        grids = {math.prod(grid): grid for grid in self["grids"]}
        return list(grids[int(wildcards.K)])

    def size(self, name: str, stage: str) -> int:
        """The sum of K over all networks of one data set that a protocol takes in a stage."""
        wanted = self.scope(name, stage)
        networks = itertools.product(wanted["models"], wanted["K"], wanted["seeds"])
        return sum(int(one[1]) for one in networks if self._is_run(name, *one))


def taken_from(owner: Callable[[str], str], pattern: str) -> Callable[[Any], str]:
    """Input function: a pattern's path in another protocol, which follows from the job's own."""
    return lambda wildcards: pattern.format(**{**wildcards, "protocol": owner(wildcards.protocol)})


def measuring(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """A section on evaluation without the search for bandwidths, but for the methods with one."""
    own = {name: value for name, value in evaluation.items() if name != "tuning"}
    return {**own, "tuned": evaluation["tuning"]["methods"]}


def growing(amount: int) -> Callable[[Any, int], int]:
    """Resource function: an amount, and as much again for each attempt that failed."""
    return lambda wildcards, attempt: amount * attempt


def unrecorded(value: Any) -> Callable[[Any, Any], Any]:
    """Params function: a value whose change runs nothing again.

    Snakemake records no params that follow from the output.
    """
    return lambda wildcards, output: value


def warnings(
    absent: Sequence[str],
    without_audio: bool,
    notes: str,
    cache: str,
    nodes: int | None,
    at_once: int | None,
) -> Iterator[str]:
    """Warnings that the workflow gives before a run.

    Arguments:
        absent: data sets of the UCI study that could not be downloaded.
        without_audio: whether the audio study's data could not be.
        notes: folder of the notes that say why.
        cache: folder of the downloads.
        nodes: how many submissions to a cluster there are at once, None without a cluster.
        at_once: how many cores may be used, None for any number.
    """
    if nodes and at_once != 1:
        yield (
            "On a cluster jobs of a submission run one after the other, but the time they ask for "
            f"is that of {at_once or 'all'} at once: it may not suffice. Remedy: "
            "--workflow-profile profiles/slurm, in place of profiles/default and not beside it as "
            "with --profile; or --cores 1"
        )
    if absent:
        again = " ".join(f"{cache}/uci/{name}.safetensors" for name in absent)
        yield (
            f"The UCI study continues without {', '.join(absent)}, which could not be downloaded: "
            f"{notes} says why. To try again: snakemake {again}"
        )
    if without_audio:
        yield (
            f"The audio study is left out, as its data could not be downloaded: {notes} says why. "
            "To try again: snakemake audio"
        )
