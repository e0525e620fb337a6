"""The audio study as its rules see it."""

from __future__ import annotations

__all__ = ["AudioStudy"]

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vwta.paper.estimators import ESTIMATORS
from vwta.paper.methods import PROPOSED
from vwta.paper.studies import HEADLINE
from vwta.workflow.study import Study, measuring

SECONDS, FRAMES, FEATURES, HALF = 2, 100, 8, 2  # of a chunk; bytes of a number in a file
NOTES = {"ansyn": "ansyn*", "resynthesis": "sounds", "synthetic": ".none"}


class AudioStudy(Study):
    """The audio study as rules see it.

    Arguments:
        settings: its section of the configuration.
        protocols: the switches of each of its protocols, by stage.
        features: pattern of the files of features, with the wildcards overlap, split and part;
            labels lie beside them, in a file for all parts.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        protocols: Mapping[str, Mapping[str, Any]],
        features: str,
    ) -> None:
        self.source: str = settings["source"]
        super().__init__({**settings, "datasets": [self.source]}, protocols)
        self.features = features
        self.endings = {
            name: "" if name == settings["headline"] else f"_{name}" for name in self.pictured
        }

    @property
    def splits(self) -> list[int]:
        """The splits that folds are made of."""
        return sorted({split for fold in self["folds"].values() for split in fold["splits"]})

    @property
    def pictured(self) -> list[str]:
        """The protocols that have networks of the proposed method, which pictures are drawn of."""
        network = ESTIMATORS[PROPOSED].network
        return [name for name in self.protocols if network in self.scope(name)["models"]]

    @property
    def shown(self) -> list[str]:
        """Those of them whose networks have the K of the pictures of scenes."""
        K = self["predictions"]["K"]
        return [name for name in self.pictured if K in self.scope(name)["K"]]

    def absent(self, notes: Path) -> bool:
        """Whether some of the study's data could not be downloaded."""
        return any(notes.glob(NOTES[self.source]))

    def fold(self, name: str) -> list[str]:
        """Files of the features of a fold."""
        fold = self["folds"][name]
        return [
            self.features.format(overlap=overlap, split=split, part=part)
            for overlap in self["overlaps"]
            for split in fold["splits"]
            for part in fold["parts"]
        ]

    def labels(self, *folds: str) -> list[str]:
        """Files of the labels of some folds."""
        files = (Path(file) for name in folds for file in self.fold(name))
        stems = {file.with_name(file.stem.rpartition("_")[0]) for file in files}
        return sorted(f"{stem}.safetensors" for stem in stems)

    @property
    def tables(self) -> list[str]:
        """Names of the study's tables; those of the headline protocol have no ending."""
        kinds = ("main", "quantisation", "tuned")
        return [f"audio_{kind}{ending}" for kind in kinds for ending in self.endings.values()]

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes of networks and their inputs that tables name."""
        trunk = self["training"]["trunk"]
        named = {name: trunk[name] for name in ("filters", "width", "layers")}
        return {"bands": self["features"]["bands"], **named}

    def training(self, wildcards: Any) -> dict[str, Any]:
        """All that the job's training depends on, besides its data."""
        switches = dict(self.protocols[wildcards.protocol]["training"])
        if "signed" in switches:
            floor = self["features"]["floor"]
            of = switches["signed"]["floor"] if floor is None else floor
            switches["signed"] = {"floor": of, "logarithmic": floor is not None}
        for name, model in (("local", "local"), ("likelihood", "m_vmf")):
            if wildcards.model != model:
                switches.pop(name, None)
        return {
            **self["training"],
            **switches,
            "noise": self["noise"],
            "grid": self.grid(wildcards),
        }

    def selected_by(self, wildcards: Any) -> str:
        """Which weights of a training the job's protocol takes."""
        found: str = self.protocols[wildcards.protocol]["evaluation"]["selected_by"]
        return found

    def evaluation(self, wildcards: Any) -> dict[str, Any]:
        """All that the job's evaluation depends on, besides predictions and targets.

        A perfect learner has no protocol: it is measured once, where verdicts look for it.
        """
        own = measuring(self["evaluation"])
        if own.get("perfect") is None or wildcards.protocol != HEADLINE:
            own.pop("perfect", None)
        else:
            tuning = self["evaluation"]["tuning"]
            own["interval"] = tuple(tuning[name] for name in ("low", "high", "tolerance"))
        return {**own, "noise": self["noise"]}

    @property
    def tuning(self) -> dict[str, Any]:
        """All that searches for bandwidths depend on, likewise."""
        own = {name: self["evaluation"][name] for name in ("seed", "tuning")}
        return {**own, "noise": self["noise"]}

    def training_work(self, wildcards: Any) -> int:
        """Thousands of passes of a band of a chunk of sound through a filter."""
        chunks, trunk = self.chunks("train"), self["training"]["trunk"]
        passes = self["training"]["epochs"] * chunks * trunk["filters"]
        return int(passes * self["features"]["bands"] // 10**3)

    def chunks(self, *folds: str) -> int:
        """Chunks of sound in some folds."""
        sizes, scenes = self["scenes"]["sizes"], 0
        for name in folds:
            fold = self["folds"][name]
            parts = sum(sizes[part] for part in fold["parts"])
            scenes += len(self["overlaps"]) * len(fold["splits"]) * parts
        return int(scenes * self["seconds"] // SECONDS)

    @property
    def steps(self) -> int:
        """Steps of a training."""
        training = self["training"]
        return int(training["epochs"] * math.ceil(self.chunks("train") / training["batch_size"]))

    @property
    def batches(self) -> int:
        """Batches of a network's predictions."""
        batch: int = self["training"]["batch_size"]
        return math.ceil(self.chunks("validation", "test") / batch)

    @property
    def features_mb(self) -> int:
        """What the features of an overlap and a split take on a disk."""
        chunks = sum(self["scenes"]["sizes"].values()) * self["seconds"] // SECONDS
        return int(chunks * FEATURES * FRAMES * self["features"]["bands"] * HALF // 10**6)

    def scenes_work(self, wildcards: Any) -> int:
        """Seconds of scenes of a job."""
        return int(self["seconds"] * sum(self["scenes"]["sizes"].values()))
