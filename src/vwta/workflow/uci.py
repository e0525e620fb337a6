"""The UCI study as its rules see it."""

from __future__ import annotations

__all__ = ["UCIStudy"]

import math
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vwta.paper.estimators import ESTIMATORS, measured_in, swept_in
from vwta.paper.methods import NETWORKS
from vwta.workflow.study import Study
from vwta.workflow.validation import set_name

PLANNED = ("epochs", "batch_size", "learning_rate", "rate", "weight_decay")
COMPARED = ("nll", "rmse")  # metrics with a figure
# Tables of all protocols together.
TABLES = ("headline", "rivals", "rivals_more", "costs", "paired", "ablations", "sizes", "protocols")
CLEAN = "ours"  # the protocol that runs the data sets that nothing was tuned on
SLOWER = {"local": 2}  # how many times longer a training takes
UNKNOWN = {"rows": 1000}  # a user's own table is not counted before it is read


class UCIStudy(Study):
    """The UCI study as rules see it.

    Arguments:
        settings: its section of the configuration.
        protocols: the switches of each of its protocols, by stage.
        files: the table of files of its data sets.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        protocols: Mapping[str, Mapping[str, Any]],
        files: Mapping[str, Any],
    ) -> None:
        super().__init__(settings, protocols)
        self.files = files
        entries = settings["datasets"]
        self.printed = [set_name(entry) for entry in entries]
        self.asked = [*self.printed, *settings["clean"]]
        own = (entry for entry in entries if isinstance(entry, dict))
        self.own = {set_name(entry): entry for entry in own}

    def lost_tables(self) -> list[str]:
        """A line for each of the user's own tables that is missing."""
        return [
            f"{entry['csv']}: no such file; write its path as seen from {Path.cwd()}"
            for entry in self.own.values()
            if not Path(entry["csv"]).is_file()
        ]

    def absent(self, notes: Path, cache: Path) -> list[str]:
        """The data sets that could not be downloaded, and are not there."""
        return [
            name
            for name in self.asked
            if (notes / name).exists() and not (cache / "uci" / f"{name}.safetensors").exists()
        ]

    def sets(self, protocol: str) -> list[str]:
        """The data sets that a protocol runs; those that nothing was tuned on are for one alone."""
        return self.asked if protocol == CLEAN else self.printed

    def splits(self, dataset: str, model: str | None = None) -> int:
        """How many splits of a data set are run, with a model if one is named."""
        most: int = self["splits"]
        if dataset in self.own:
            most = self.own[dataset].get("splits", most)
        else:
            most = min(most, self.files[dataset]["splits"]["count"])
        fewer = self["splits_of"].get(model, {})
        return int(min(most, fewer.get(dataset, fewer.get("others", most))))

    def models(self, protocol: str, dataset: str) -> list[str]:
        """The networks that a protocol evaluates on a data set.

        They are all of the study, or those that the protocol names, without those whose package is
        not installed, and those that are not run on the data set.
        """
        wanted = self.protocols[protocol].get("models", self["models"])
        return [
            name
            for name in self["models"]
            if name in wanted and not _lacking(name) and self.splits(dataset, name)
        ]

    def splits_by_model(self, wildcards: Any) -> dict[str, int]:
        """How many splits the job evaluates, for each of its networks."""
        dataset = wildcards.dataset
        models = self.models(wildcards.protocol, dataset)
        return {model: self.splits(dataset, model) for model in models}

    def left_out(self) -> list[str]:
        """A line for each network that is left out, as its package is not installed."""
        return [
            f"The UCI study continues without {NETWORKS[name].title}: the package {package} is not "
            'installed. To add it: pip install "vwta[rivals]"'
            for name in self["models"]
            if (package := _lacking(name))
        ]

    def networks_by_model(self, pattern: str) -> Callable[[Any], dict[str, str]]:
        """Input function: the networks of each model of the job's protocol."""
        return lambda wildcards: {
            model: self.network(pattern.replace("{model}", model))(wildcards)
            for model in self.models(wildcards.protocol, wildcards.dataset)
        }

    def trained(self, pattern: str, datasets: Iterable[str]) -> list[str]:
        """Paths of a pattern, for all networks that are trained on some data sets."""
        return [
            pattern.format(protocol=name, dataset=dataset, model=model)
            for name in self.trainers
            for dataset in self.sets(name)
            if dataset in datasets
            for model in self.models(name, dataset)
        ]

    def training(self, wildcards: Any) -> dict[str, Any]:
        """All that the job's training depends on, besides its data."""
        switches = self.protocols[wildcards.protocol]
        settings = self._sizes(wildcards) | switches["data"] | switches["training"]
        plan = {name: settings.pop(name) for name in PLANNED}
        own = self["own"].get(wildcards.model, {})
        return {"plan": plan, "seed": self["seed"], "bins": self["bins"], "own": own, **settings}

    def _sizes(self, wildcards: Any) -> dict[str, Any]:
        """Sizes and lengths of the job's training: of its protocol, on its data set."""
        protocol, dataset = wildcards.protocol, wildcards.dataset
        training, restarts = self["training"], self["restarts"]
        sizes: dict[str, Any] = training.get(protocol, training["paper"])
        by_set = {
            "widths": sizes["widths"],
            "restarts": restarts.get(protocol, restarts["others"]),
        }
        mine = {name: of.get(dataset, of["others"]) for name, of in by_set.items()}
        return {**sizes, **mine}

    def tuning(self, wildcards: Any) -> dict[str, Any]:
        """All that the job's search for bandwidths depends on, besides its networks."""
        data = self.protocols[self.trainer(wildcards.protocol)]["data"]
        own = {"selected_by": None, **self.protocols[wildcards.protocol]["evaluation"]}
        return {"seed": self["seed"], **data, **own}

    def evaluation(self, wildcards: Any) -> dict[str, Any]:
        """All that the job's evaluation depends on, besides its networks and bandwidths."""
        own = {**self.tuning(wildcards), **self["evaluation"]}
        return {name: value for name, value in own.items() if name not in ("search", "factor")}

    def _passes(self, wildcards: Any, epochs: int) -> int:
        """Passes over a row in so many epochs, over all networks of a job."""
        splits = self.splits(wildcards.dataset, wildcards.model)
        networks: int = splits * self._sizes(wildcards)["restarts"]
        return epochs * networks * self._rows(wildcards)

    def _rows(self, wildcards: Any) -> int:
        return int(self.files.get(wildcards.dataset, UNKNOWN)["rows"])

    def work(self, wildcards: Any) -> int:
        """Thousands of passes over a row, over all networks of a job."""
        return self._passes(wildcards, self._sizes(wildcards)["epochs"]) // 10**3

    def steps(self, wildcards: Any) -> int:
        """Steps of a job, at most: of all settings that it tries, and of networks trained again."""
        settings = self.training(wildcards)
        batches = math.ceil(self._rows(wildcards) / settings["plan"]["batch_size"])
        one = settings["plan"]["epochs"] * batches
        if settings["steps"]:
            one = min(one, max(settings["steps"], batches))  # whole epochs, at least one
        tried = max(len(settings["betas"]), len(settings.get("weight_decays") or []))
        return int(one * settings["restarts"] * (tried + settings["retrained"]))

    def step_rows(self, wildcards: Any) -> int:
        """Rows that a step sees, over all networks that are trained at once."""
        batch = self.training(wildcards)["plan"]["batch_size"]
        rows = min(batch, self._rows(wildcards))
        return int(rows * self.splits(wildcards.dataset, wildcards.model))

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """The time limit of a training, by the passes that it takes at most.

        The slowest of those measured (docs/cluster.md) took 10 ms for 1,000 passes over a row;
        those that need an extra took up to four times as long, and local kernels twice.
        """
        settings = self._sizes(wildcards)
        epochs = settings["epochs"]
        if settings["steps"]:
            most = 1 + settings["steps"] * settings["batch_size"] // self._rows(wildcards)
            epochs = min(epochs, most)
        factor = 4 if NETWORKS[wildcards.model].package else SLOWER.get(wildcards.model, 1)
        return attempt * (20 + factor * self._passes(wildcards, epochs) // (6 * 10**6))

    def searched(self, protocol: str) -> list[str]:
        """The methods whose bandwidth, or a factor on all, a protocol searches; ensembles last."""
        switches = self.protocols[protocol]["evaluation"]
        kinds = [False, True] if switches["ensembles"] else [False]
        found = [method for averaged in kinds for method in _swept(averaged)]
        if "factor" not in switches:
            return found
        return found + [
            name
            for name, recipe in measured_in("uci").items()
            if recipe.adjusted and recipe.averaged in kinds and recipe.network in self["models"]
        ]

    @property
    def figures(self) -> list[str]:
        """Names of the figures that every protocol has."""
        return [*COMPARED, *(f"search_{method}" for method in _swept(averaged=False))]

    @property
    def tables(self) -> list[str]:
        """Names of the study's tables."""
        kinds = ("main", "nll", "rmse", "more")
        own = [f"uci_{kind}_{name}" for kind in kinds for name in self["protocols"]]
        return [*(f"uci_{name}" for name in TABLES), *own]


def _lacking(model: str) -> str | None:
    """The package of an extra that a network needs and that is not installed."""
    package = NETWORKS[model].package
    return package if package and find_spec(package) is None else None


def _swept(averaged: bool) -> list[str]:
    """Methods of the study with a bandwidth: of single networks, or of averages of several."""
    return [name for name in swept_in("uci") if ESTIMATORS[name].averaged == averaged]
