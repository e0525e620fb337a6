"""Counts what a step of each training asks of a GPU, into benchmarks/launches.csv: `make launches`.

The real trainings of a tier run for two steps on random data, with the sizes of the configuration;
the second step is counted: floating point operations of matrix products and convolutions
(:class:`torch.utils.flop_counter.FlopCounterMode`), bytes that operations read and write, and the
number of operations, each of which is a kernel to launch. `read` is what a step takes from files of
features. Trainings run on the pretended device of the tests, since some choose another way on a
CPU; those of the audio study run on the CPU, whose program for recurrent layers is counted in place
of the one inside a GPU's library, which cannot be seen here.

`make plan` makes hours of GPUs of the table, see :mod:`vwta.workflow.gpu_time`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import pandas as pd
import torch
import yaml
from device.pretended import DEVICE, Away, pretended
from device.studies import folds, write_data
from snakemake.utils import update_config
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from vwta.paper.audio import local as audio_local
from vwta.paper.audio import train as audio
from vwta.paper.audio.predict import predict
from vwta.paper.audio.spectrograms import FEATURES, FRAMES
from vwta.paper.synthetic import local as synthetic_local
from vwta.paper.synthetic import train as synthetic
from vwta.paper.training import Job
from vwta.paper.uci import train as uci
from vwta.training.checkpoints import Resumable
from vwta.workflow.audio import AudioStudy
from vwta.workflow.configuration import read_protocols
from vwta.workflow.gpu_time import COLUMNS, TABLE
from vwta.workflow.synthetic import SyntheticStudy
from vwta.workflow.uci import UCIStudy

ROOT = Path(__file__).resolve().parents[1]
OURS = "ours"  # the protocol with local kernels
CHUNKS = 2  # of sound in a step: all but the launches is proportional to them
HALF = 2  # bytes of a number in a file of features
aten = torch.ops.aten
FREE = {aten.empty, aten.empty_like, aten.empty_strided, aten.new_empty, aten._unsafe_view}


class Counts(NamedTuple):
    """What was counted so far."""

    flops: int = 0
    bytes: int = 0
    launches: int = 0

    def since(self, before: Counts) -> Counts:
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))


class Counter(TorchDispatchMode):
    """Counts operations that compute or copy something, and the bytes of their tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.products = FlopCounterMode(display=False)
        self.bytes = self.launches = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func.namespace == "aten" and not (func.is_view or func.overloadpacket in FREE):
            self.launches += 1
            self.bytes += sum(map(size, tree_leaves((args, kwargs, found))))
        return found

    def __enter__(self) -> Counter:
        self.products.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.products.__exit__(*error)

    def counts(self) -> Counts:
        return Counts(self.products.get_total_flops(), self.bytes, self.launches)


def size(found: Any) -> int:
    """Bytes of a tensor, those that it shares along an axis once; 0 of all else."""
    if not isinstance(found, Tensor):
        return 0
    found = found.content if isinstance(found, Away) else found
    return min(found.numel() * found.element_size(), found.untyped_storage().nbytes())


class Stop(Exception):
    """Raised after the second step."""


def step_of(train: Any, *arguments: Any) -> Counts:
    """The counts of the second step of a training."""
    counter, seen = Counter(), list[Counts]()
    step = Resumable.step

    def counted(self: Resumable, loss: Tensor, rate: float) -> None:
        step(self, loss, rate)
        seen.append(counter.counts())
        if len(seen) == 2:
            raise Stop

    with patch.object(Resumable, "step", counted), counter:
        try:
            train(*arguments)
        except Stop:
            return seen[1].since(seen[0])
    raise RuntimeError("the training took less than two steps")


class Bench:
    """The trainings of a tier.

    Arguments:
        config: the configuration.
        folder: for data and networks.
    """

    def __init__(self, config: dict[str, Any], folder: Path) -> None:
        self.config, self.folder = config, folder

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of the table without the tier."""
        with pretended():
            yield from self.synthetic()
            yield from self.uci()
        yield from self.audio()

    def synthetic(self) -> Iterator[dict[str, Any]]:
        own = self.config["synthetic"]
        study = SyntheticStudy(own, read_protocols(ROOT, "synthetic", own["protocols"]))
        batch, seeds = study["training"]["batch_size"], study["seeds"]
        write_data(self.folder, rows=2 * batch)
        data = self.folder / "synthetic.safetensors"
        cases = [("paper", model, K) for model in study["models"] for K in ends(study["K"])]
        cases += [(OURS, "local", K) for K in ends(study["K"]) if OURS in own["protocols"]]
        for protocol, model, K in cases:
            job = self.job(model, K, seeds, "single_gaussian")
            about = wildcards(protocol, "single_gaussian", model, K)
            if model == "local":
                local = synthetic_local.Settings(**study.local_training(about))
                local = replace(local, plan={**local.plan, "epochs": 1})
                found = step_of(synthetic_local.train, job, data, local)
            else:
                switches = {**study["training"], **study.training(about), "epochs": 1}
                settings = synthetic.Settings(**switches, bins=study.bins(about))
                found = step_of(synthetic.train, job, data, {}, settings)
            rule = "train_synthetic_local" if model == "local" else "train_synthetic"
            yield row(rule, model, K, batch * len(seeds), found)

    def uci(self) -> Iterator[dict[str, Any]]:
        own = self.config["uci"]
        protocol, dataset = OURS if OURS in own["protocols"] else own["headline"], "protein"
        files = {dataset: {"splits": {"count": own["splits"]}, "rows": 0}}
        study = UCIStudy(own, read_protocols(ROOT, "uci", own["protocols"]), files)
        for model in [name for name in study.models(protocol, dataset) if name != uci.BOOSTED]:
            about = wildcards(protocol, dataset, model, own["K"])
            settings = uci.Settings(**study.training(about))
            batch, splits = settings.plan["batch_size"], study.splits(dataset, model)
            write_data(self.folder, rows=4 * batch)
            plan = {**settings.plan, "epochs": 1}
            once = {"restarts": 1, "betas": [1.0], "weight_decays": None, "retrained": False}
            found = step_of(
                uci.train,
                self.job(model, own["K"], range(splits), "toy"),
                self.folder / "uci.safetensors",
                replace(settings, plan=plan, **once),
            )
            yield row("train_uci", model, own["K"], batch * splits, found)

    def audio(self) -> Iterator[dict[str, Any]]:
        own = self.config["audio"]
        study = AudioStudy(own, read_protocols(ROOT, "audio", own["protocols"]), "")
        bands = own["features"]["bands"]
        write_data(self.folder, chunks=2 * CHUNKS, bands=bands)
        files, read = folds(self.folder), CHUNKS * FEATURES * FRAMES * bands * HALF
        cases = [(own["headline"], model, K) for model in own["models"] for K in ends(own["K"])]
        cases += [(OURS, "local", K) for K in ends(own["K"]) if OURS in own["protocols"]]
        for protocol, model, K in cases:
            settings = audio.Settings(**study.training(wildcards(protocol, "ansyn", model, K)))
            settings = replace(settings, epochs=1, batch_size=CHUNKS)
            job = self.job(model, K, [0], "ansyn", "cpu")
            local = model == "local"
            found = step_of((audio_local if local else audio).train, job, files, settings)
            rule = "train_audio_local" if local else "train_audio"
            yield row(rule, model, K, CHUNKS, found, read)
            yield row("predict_audio", model, K, CHUNKS, self.predicted(job, settings), read)

    def predicted(self, job: Job, settings: audio.Settings) -> Counts:
        """The counts of a batch of predictions."""
        make = audio_local.train if job.model == "local" else audio.train
        make(job, folds(self.folder), settings)
        path, counter = self.folder / "predictions", Counter()
        files = {"test": folds(self.folder)["test"]}
        with counter:
            predict(job.outputs[0], files, path, "loss", 2 * CHUNKS, "cpu", "")
        found = counter.counts()
        return found._replace(flops=found.flops // 2, bytes=found.bytes // 2)

    def job(self, model: str, K: int, numbers: Any, dataset: str, device: str = str(DEVICE)) -> Job:
        """A training whose outputs have numbers."""
        outputs = {number: self.folder / f"{model}{K}_{number}" for number in numbers}
        unfinished = self.folder / f"unfinished_{dataset}_{model}_{K}"
        return Job(dataset, model, K, outputs, unfinished, device, "")


def wildcards(protocol: str, dataset: str, model: str, K: int) -> Wildcards:
    return Wildcards(protocol=protocol, dataset=dataset, model=model, K=str(K))


def ends(numbers: list[int]) -> list[int]:
    return sorted({min(numbers), max(numbers)})


class Wildcards(dict[str, str]):
    """Wildcards of a job, as Snakemake gives them."""

    __getattr__ = dict.__getitem__


def row(rule: str, model: str, K: int, rows: int, found: Counts, read: int = 0) -> dict[str, Any]:
    print(f"{rule} {model} K={K}: {found}", flush=True)
    return {"rule": rule, "model": model, "K": K, "rows": rows, **found._asdict(), "read": read}


def configuration(tier: str) -> dict[str, Any]:
    """The configuration of a tier."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    if tier != config["tier"]:
        update_config(config, yaml.safe_load((ROOT / f"config/{tier}.yaml").read_text()))
    return config


def main(tier: str) -> None:
    """Replaces the rows of a tier in the table."""
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        found = pd.DataFrame([*Bench(configuration(tier), Path(folder)).rows()])
    table = pd.read_csv(ROOT / TABLE) if (ROOT / TABLE).exists() else pd.DataFrame(columns=COLUMNS)
    others = table[table["tier"] != tier]
    found = found.assign(tier=tier)[COLUMNS]
    pd.concat([others, found] if len(others) else [found]).to_csv(ROOT / TABLE, index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tier", nargs="?", default="full")
    main(parser.parse_args().tier)
