"""The synthetic study as its rules see it."""

from __future__ import annotations

__all__ = ["SyntheticStudy"]

import itertools
import math
from collections.abc import Callable
from typing import Any

from vwta.paper.estimators import measured_in
from vwta.paper.methods import NETWORKS
from vwta.workflow.study import Study, taken_from


class SyntheticStudy(Study):
    """The synthetic study as rules see it. A protocol may take another's data or networks."""

    def drawer(self, name: str) -> str:
        """The protocol whose data a protocol takes: often itself."""
        trainer = self.trainer(name)
        found: str = self.protocols[trainer].get("data_of", trainer)
        return found

    def data(self, pattern: str) -> Callable[[Any], str]:
        """Input function: the file that belongs to the data that the job's protocol takes."""
        return taken_from(self.drawer, pattern)

    def stack_data(
        self, pattern: str, network: str, exists: Callable[[str], bool], is_planning: bool
    ) -> Callable[[Any], str]:
        """Input function: the data of a job that trains all seeds of a configuration at once.

        That is so if none of them has been trained yet, or all. Otherwise, such as after a seed was
        added, each is trained alone, by another rule, and nothing changes for those that exist.

        Arguments:
            pattern: of the file of data.
            network: of the file of a network, with the wildcard seed.
            exists: whether such a file exists, perhaps in a storage.
            is_planning: whether jobs are still to be chosen; a job that runs was.
        """

        def of(wildcards: Any) -> str:
            seeds, name = self["seeds"], wildcards.protocol
            network_of = name, wildcards.model, int(wildcards.K)
            run = [seed for seed in self.scope(name)["seeds"] if self._is_run(*network_of, seed)]
            together = len(seeds) > 1 and run == seeds
            if is_planning and together:
                found = {exists(network.format(**wildcards, seed=seed)) for seed in seeds}
                together = len(found) == 1
            if is_planning and not together:
                return "no stack"  # which nothing makes, so that Snakemake takes the other rule
            return self.data(pattern)(wildcards)

        return of

    def _drawn(self, wildcards: Any) -> Any:
        return self.protocols[self.drawer(wildcards.protocol)]["data"]

    def clouds(self, wildcards: Any) -> bool:
        """Whether the job's protocol draws from points drawn once."""
        found: bool = self._drawn(wildcards)["clouds"]
        return found

    def constants(self, wildcards: Any) -> dict[str, Any]:
        """The constants of the job's problem, in its protocol."""
        name, own = wildcards.dataset, self._drawn(wildcards)["constants"]
        return {**self["constants"].get(name, {}), **own.get(name, {})}

    def law(self, wildcards: Any) -> dict[str, Any]:
        """All that the law of the job's data depends on."""
        return {
            "constants": self.constants(wildcards),
            "clouds": self.clouds(wildcards),
            "rows": self["data"]["rows"],
            "seed": self["data"]["seed"],
        }

    def training(self, wildcards: Any) -> dict[str, Any]:
        """The switches of the job's protocol that its training depends on."""
        data = self._drawn(wildcards)
        rows = {name: data[name] for name in ("epochs_see", "clouds")}
        switches = {**self.protocols[wildcards.protocol]["training"], **rows}
        switches.pop("local", None)
        return switches

    def local_training(self, wildcards: Any) -> dict[str, Any]:
        """All that the job's training of local kernels depends on, besides its data."""
        sizes, switches = dict(self["training"]), self.protocols[wildcards.protocol]["training"]
        own = {"widths": sizes.pop("widths"), **switches["local"], **self["domain"]}
        return {"plan": {**sizes, **switches.get("plan", {})}, **own}

    def beside(self, name: str) -> str:
        """The protocol whose other methods stand beside the local kernels of a protocol."""
        return name if {"wta", "mdn"} <= {*self.scope(name)["models"]} else self["headline"]

    def local_figures(self) -> dict[str, list[int]]:
        """Protocols with local kernels that are run, and the K of which they run all seeds."""
        found = {}
        for name in self.trainers:
            scope, few = self.scope(name), self["protocols"][name].get("one_seed", [])
            if "local" in scope["models"] and scope["datasets"]:
                found[name] = [K for K in scope["K"] if K not in few]
        return found

    def trained_with(self, wildcards: Any) -> dict[str, Any]:
        """All settings that the job's network records."""
        if wildcards.model == "local":
            return self.local_training(wildcards)
        return {**self["training"], **self.training(wildcards), "bins": self.bins(wildcards)}

    def bins(self, wildcards: Any) -> dict[str, Any] | None:
        """The bins of a histogram with the job's K, None for another model."""
        grid = self.grid(wildcards)
        return None if grid is None else {"grid": grid, **self["domain"]}

    def _switches(self, wildcards: Any, *names: str) -> dict[str, Any]:
        found = self.protocols[wildcards.protocol]["evaluation"]
        return {name: found[name] for name in ("selected_by", *names)}

    def selected(self, wildcards: Any) -> dict[str, Any]:
        """The switch of the job's protocol that every evaluation depends on."""
        return self._switches(wildcards)

    def likelihood(self, wildcards: Any) -> dict[str, Any]:
        """The switches of the job's protocol for likelihoods."""
        own = self.protocols[wildcards.protocol]["evaluation"]
        return self._switches(wildcards, "outside", *(["factors"] if "factors" in own else []))

    def transport(self, wildcards: Any) -> dict[str, Any]:
        """The switches of the job's protocol for earth mover's distances."""
        return self._switches(wildcards, "sampler", "unif_emd", "emd_solver")

    def emd(self, wildcards: Any) -> dict[str, Any]:
        """How to measure distances, with the bandwidths of the job's problem."""
        return {**self["emd"], "h": self["emd"]["h"][wildcards.dataset]}

    def properties(self, wildcards: Any) -> dict[str, Any]:
        """How to measure properties, with the optimum where the data are the protocol's own."""
        settings = {**self["properties"], "h": self["evaluation"]["h"]}
        own = self.drawer(wildcards.protocol) == wildcards.protocol
        return {**settings, "optimum": settings["optimum"] if own else None}

    def training_work(self, wildcards: Any) -> int:
        """Millions of multiplications of a job's trainings, which its time is proportional to."""
        widths, rows = self["training"]["widths"], self["data"]["rows"]["train"]
        trunk = sum(before * after for before, after in itertools.pairwise([1, *widths]))
        heads = widths[-1] * NETWORKS[wildcards.model].outputs * int(wildcards.K)
        networks = 1 if wildcards.get("seed") else len(self["seeds"])
        return int(networks * self["training"]["epochs"] * rows * (trunk + heads) // 10**6)

    @property
    def steps(self) -> int:
        """Steps of a training, of one network or of a stack."""
        batches = math.ceil(self["data"]["rows"]["train"] / self["training"]["batch_size"])
        return int(self["training"]["epochs"] * batches)

    def step_rows(self, wildcards: Any) -> int:
        """Rows that a step sees, over all networks of a job."""
        networks = 1 if wildcards.get("seed") else len(self["seeds"])
        return int(networks * self["training"]["batch_size"])

    def evaluation_work(self, wildcards: Any) -> int:
        """Thousands of rows times K of an evaluation, over its networks."""
        rows = self["data"]["rows"]["test"] + self["data"]["rows"]["validation"]
        return int(rows * self.size(wildcards.protocol, "evaluation") // 10**3)

    def properties_work(self, wildcards: Any) -> int:
        """Millions of distances that properties take, over all networks of a job."""
        points = self["properties"]["inputs"] * self["properties"]["points"]
        return int(points * self.size(wildcards.protocol, "properties") // 10**6)

    def emd_work(self, wildcards: Any) -> int:
        """Thousands of pairs of points of a job, over the laws that it measures."""
        pairs = self["emd"]["inputs"] * self["emd"]["samples"] ** 2
        if wildcards.get("model") is None:  # the true law alone
            return int(pairs // 10**3)
        measured = measured_in("synthetic", wildcards.model).values()
        # Atoms alone are few, and cost next to nothing.
        sampled = [recipe for recipe in measured if recipe.emd and recipe.kernel != "none"]
        bandwidths = len(self["emd"]["h"][wildcards.dataset])
        laws = sum(bandwidths if recipe.swept else 1 for recipe in sampled)
        return int(pairs * laws // 10**3)

    def theory_work(self) -> int:
        """Thousands of points times K for Lloyd's algorithm."""
        optimum = self["optimum"]
        return int(sum(self["K"]) * optimum["inputs"] * optimum["rows"] // 1000)
