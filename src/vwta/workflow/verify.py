"""Whether results are those of today's code, configuration and data.

Usage: python -m vwta.workflow.verify [FOLDER ...]

Every network and every table of metrics carries the digest of the code that made it, the hash of
its data and, if it was trained, its settings; a table has these of all networks behind it too. They
are compared with what the workflow would record now, so that no state of Snakemake's is needed.
Folders are those of a tier, such as results/full, or of published results; without any, all of
these. Stale files are named, and the exit status is 1 if there are any. So is the description of
published results for machines, if there are other files than it lists.
"""

from __future__ import annotations

__all__ = ["Fault", "Today", "answer", "faults_of", "verify"]

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from zipfile import ZipFile

from safetensors import safe_open

from vwta.io.errors import DataError, explained
from vwta.io.storage import read_metadata, sha256
from vwta.paper.studies import STUDIES
from vwta.workflow import validation
from vwta.workflow.audio import AudioStudy
from vwta.workflow.catalogue import published_runs
from vwta.workflow.configuration import MAIN, read_files, read_protocols
from vwta.workflow.crate import METADATA, differing
from vwta.workflow.digest import SOURCE, digest
from vwta.workflow.study import Study
from vwta.workflow.synthetic import SyntheticStudy
from vwta.workflow.uci import UCIStudy

RESULTS, PUBLISHED = Path("results"), Path("docs", "results")
# Scripts by the name of the file that they make; {} is the study.
SCRIPTS = {
    r"seed\d+|splits": "train_{}",
    r"metrics": "evaluate_{}",
    r"evaluation": "evaluate_uci",
    r"searches": "tune_{}",
    r"emd_seed\d+": "evaluate_emd",
    r"emd_truth": "evaluate_emd_truth",
    r"properties": "evaluate_properties",
    r"theory": "evaluate_synthetic_theory",
}


class Fault(NamedTuple):
    """Why a part of a file of results is stale.

    Arguments:
        stage: the script that would make it again.
        why: the difference.
    """

    stage: str
    why: str


class Today:
    """What the workflow would record now, for a tier.

    Arguments:
        root: folder of the workflow's sources.
        tier: its name; that of a file in config, or `full`.
        results: folder of the tier's results, if its data are there.
    """

    def __init__(self, root: Path, tier: str, results: Path | None = None) -> None:
        self.root, self.tier, self.results = root, tier, results

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration of the tier."""
        from snakemake.utils import update_config

        config: dict[str, Any] = validation.load(self.root / MAIN)
        if self.tier != config["tier"]:
            overlay = self.root / "config" / f"{self.tier}.yaml"
            if not overlay.exists():
                raise DataError(
                    f"{self.results}: there is no config/{overlay.name} to compare it with. "
                    "Remedy: name the folders of other tiers, or add the file of this one"
                )
            update_config(config, validation.load(overlay))
        return config

    @cached_property
    def files(self) -> dict[str, Any]:
        """The table of files from elsewhere."""
        return read_files(self.root)

    @cache  # noqa: B019
    def study(self, name: str) -> Study:
        """A study as rules see it."""
        settings = self.config[name]
        names = [*settings["protocols"], *settings.get("ablations", ())]
        protocols = read_protocols(self.root, name, names)
        if name == "synthetic":
            return SyntheticStudy(settings, protocols)
        if name == "uci":
            return UCIStudy(settings, protocols, self.files["uci"])
        return AudioStudy(settings, protocols, "")

    def code(self, stage: str) -> str:
        """The digest of a script."""
        return digest(self.root / "workflow/scripts" / f"{stage}.py")

    def settings(self, study: str, wildcards: SimpleNamespace) -> Any:
        """The settings of a training, as JSON has them."""
        own: Any = self.study(study)
        found = own.trained_with if study == "synthetic" else own.training
        return json.loads(json.dumps(found(wildcards)))

    @cache  # noqa: B019
    def data(self, study: str, protocol: str, dataset: str) -> str | None:
        """The hash of a data set, None if it is not at hand."""
        if self.results is None or study == "audio":
            return None
        if study == "synthetic":
            own = self.study(study)
            assert isinstance(own, SyntheticStudy)
            file = self.results / study / own.drawer(protocol) / dataset / "data.safetensors"
        else:
            file = Path(self.config["data"]["cache"], "uci", f"{dataset}.safetensors")
        return sha256(file) if file.exists() else None


def verify(folders: Iterable[Path], root: Path) -> dict[Path, tuple[int, Counter[Fault]]]:
    """For each file of results: of how many parts it is, and what is stale in how many of them.

    Arguments:
        folders: of tiers, or of published results.
        root: folder of the workflow's sources.
    """
    found = {}
    for folder in folders:
        published = published_runs(folder)
        for study in STUDIES:
            tier = published[study]["tier"] if study in published else folder.name
            today = Today(root, tier, None if published else folder)
            for file in _files(folder / study):
                parts = list(_parts(file))
                faults = (
                    fault for name, facts in parts for fault in _each(name, facts, study, today)
                )
                found[file] = len(parts), Counter(faults)
        if published and (crate := folder / METADATA).is_file():
            found[crate] = 1, Counter(_undescribed(folder))
    return found


def _undescribed(folder: Path) -> Iterator[Fault]:
    """The fault of a description of published files that are no longer these."""
    if names := differing(folder):
        more = f" and {len(names) - 1} more" * (len(names) > 1)
        remedy = "Remedy: python -m vwta.workflow.crate"
        yield Fault("publish", f"other files than it lists ({names[0]}{more}). {remedy}")


def _each(name: str, facts: Mapping[str, Any], study: str, today: Today) -> Iterator[Fault]:
    """The faults of a part, each once."""
    yield from dict.fromkeys(faults_of(name, facts, study, today))


def faults_of(name: str, facts: Mapping[str, Any], study: str, today: Today) -> Iterator[Fault]:
    """What is stale in a part of a file of results.

    Arguments:
        name: the path of the file that the part was taken from.
        facts: its metadata.
        study: its study.
        today: what would be recorded now.
    """
    record = facts["provenance"]
    if isinstance(record.get("data"), dict):  # of a data set, which was read from its file
        yield from _data_faults(record, today)
        return
    stage = _stage(name, study)
    protocol, dataset = _places(name, study)
    if protocol not in today.study(study).protocols:
        yield Fault(stage, f"its protocol '{protocol}' is gone or renamed")
        return
    yield from _faults(stage, protocol, dataset, record, study, today)
    if "tuning" in record and record["tuning"]["code"] != today.code(f"tune_{study}"):
        yield Fault(f"tune_{study}", "other code")
    trainer = today.study(study).trainer(protocol)
    trainings = [
        *record.get("trainings", ()),
        *([record["training"]] if "training" in record else ()),
    ]
    for training in trainings:
        yield from _faults(f"train_{study}", trainer, dataset, training, study, today)
        if training.get("data") != record.get("data", training.get("data")):
            yield Fault(stage, "its networks were trained on other data")


def _faults(
    stage: str, protocol: str, dataset: str, record: Mapping[str, Any], study: str, today: Today
) -> Iterator[Fault]:
    """What differs between a record and what would be recorded now."""
    if stage in ("train_synthetic", "train_audio") and record["model"] == "local":
        stage += "_local"
    if record["code"] != today.code(stage):
        yield Fault(stage, "other code")
    data = today.data(study, protocol, dataset)
    if data is not None and record.get("data", data) != data:
        yield Fault(stage, "other data")
    if "settings" in record:
        names = SimpleNamespace(
            protocol=protocol, **{k: record[k] for k in ("dataset", "model", "K")}
        )
        then, now = record["settings"], today.settings(study, names)
        keys = sorted(key for key in {*then, *now} if then.get(key) != now.get(key))
        if keys:
            yield Fault(stage, f"other configuration ({', '.join(keys)})")


def _data_faults(record: Mapping[str, Any], today: Today) -> Iterator[Fault]:
    """What is stale in the record of a data set of the UCI study."""
    entry = today.files["uci"].get(record["dataset"])
    stage = "prepare_own" if entry is None else "prepare_uci"
    if record["code"] != today.code(stage):
        yield Fault(stage, "other code")
    if entry is None:  # a user's own table
        return
    known = entry["file"].get("checksums")
    file, matrix = record["data"].get("file"), record["data"].get("matrix")
    if known is not None and f"sha256:{file}" not in known:
        yield Fault(stage, "other data (file)")
    if entry.get("matrix", matrix) != matrix:
        yield Fault(stage, "other data (numbers)")


def _stage(name: str, study: str) -> str:
    """The script that makes a file of results."""
    stem = Path(name.partition(" ")[0]).stem
    for pattern, script in SCRIPTS.items():
        if re.fullmatch(pattern, stem):
            return script.format(study)
    raise ValueError(f"{name}: no script is known that makes such a file")


def _places(name: str, study: str) -> tuple[str, str]:
    """Protocol and data set of a file, from its path."""
    parts = Path(name.partition(" ")[0]).parts
    at = parts.index(study)
    return parts[at + 1], parts[at + 2]


def _files(folder: Path) -> list[Path]:
    """Files of a study that carry a record: networks and tables of metrics."""
    patterns = ("*.parquet", "seed*.safetensors", "splits.zip")
    return sorted(file for pattern in patterns for file in folder.rglob(pattern))


def _parts(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The parts of a file, by the path that they were taken from, with their metadata."""
    if file.suffix == ".parquet":
        metadata = read_metadata(file)
        yield from metadata["parts"].items() if "parts" in metadata else [(str(file), metadata)]
    elif file.suffix == ".zip":
        with ZipFile(file) as bundle:
            for name in sorted(bundle.namelist()):
                with bundle.open(name) as member:
                    length = int.from_bytes(member.read(8), "little")
                    header = json.loads(member.read(length))["__metadata__"]
                yield str(file), {key: json.loads(value) for key, value in header.items()}
    else:
        with safe_open(file, "pt") as tensors:
            header = tensors.metadata()
        yield str(file), {key: json.loads(value) for key, value in header.items()}


def show(found: Mapping[Path, tuple[int, Counter[Fault]]]) -> str:
    """The answer, in lines for people."""
    lines = []
    for file, (count, faults) in found.items():
        stages: dict[str, list[str]] = defaultdict(list)
        for fault, times in faults.items():
            stages[fault.stage].append(
                fault.why if count == 1 else f"{fault.why} in {times} of {count}"
            )
        if faults:
            lines.append(f"{file}: stale")
            lines += [f"  {stage}: {'; '.join(whys)}" for stage, whys in sorted(stages.items())]
    stale = sum(bool(faults) for _, faults in found.values())
    return "\n".join([*lines, f"{stale} of {len(found)} files are stale"])


def answer(folder: Path, root: Path) -> str:
    """The answer for tables that are published in a folder, in lines; none if there are no tables.

    Arguments:
        folder: of all that is published.
        root: folder of the workflow's sources.
    """
    found = {
        path.relative_to(folder): faults
        for path, faults in verify([folder], root).items()
        if path.name != METADATA
    }
    return show(found) if found else ""


def main(arguments: list[str]) -> None:
    """Verifies folders, prints the answer, and ends with 1 if something is stale."""
    tiers = sorted({path.parent.parent for path in RESULTS.glob("*/*/metrics")})
    folders = [Path(name) for name in arguments] or [*tiers, PUBLISHED]
    found = verify(folders, SOURCE.parent)
    print(show(found))
    sys.exit(any(faults for _, faults in found.values()))


if __name__ == "__main__":
    with explained("verify"):
        main(sys.argv[1:])
