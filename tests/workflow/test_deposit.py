"""Deposits of trained networks: written, fetched from anywhere, and taken in place of trainings."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import pytest
import torch
from loading import snakemake

from vwta.io.bundles import bundled
from vwta.io.errors import BadWeights, Damaged, DataError, Mismatch, Unavailable
from vwta.io.storage import read_tensors, sha256, write_tensors
from vwta.paper.downloads import deposits
from vwta.paper.downloads.deposits import fetch_deposit
from vwta.paper.downloads.transfer import Policy
from vwta.workflow.audio import AudioStudy
from vwta.workflow.deposit import ARCHIVE, Deposit, check, data_of, take, write_deposit
from vwta.workflow.verify import Today

AUDIO = "audio/paper/synthetic/wta/K9/seed1234.safetensors"
LOCAL = "synthetic/ours/single_gaussian/local/K9/seed1234.safetensors"
AUDIO_LOCAL = "audio/ours/synthetic/local/K9/seed1234.safetensors"
OTHERS = (LOCAL, AUDIO, AUDIO_LOCAL)
NETWORK = "synthetic/paper/single_gaussian/wta/K9/seed1234.safetensors"
SPLITS = "uci/paper/boston/mdn/K5/splits.zip"
SETTINGS = {"epochs": 2, "widths": [3]}


def write_network(path: Path, **facts: Any) -> None:
    """A file as a training writes it, of a single number."""
    about = {"tier": "smoke", "code": "c0de", "settings": SETTINGS, **facts}
    write_tensors(path, {"w": torch.tensor([0.5])}, {"provenance": about})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.safetensors"
    write_tensors(path, {"x": torch.zeros(2)}, {})
    return path


@pytest.fixture
def results(tmp_path: Path, data: Path) -> Path:
    """A tier with a network of the synthetic study, and those of two UCI splits."""
    folder, known = tmp_path / "results/smoke", {"data": sha256(data), "protocol": "paper"}
    own = {"dataset": "single_gaussian", "model": "wta", "K": 9, "seed": 1234}
    write_network(folder / NETWORK, **known, **own)
    with bundled(folder / SPLITS) as place:
        for split in range(2):
            own = {"dataset": "boston", "model": "mdn", "K": 5, "split": split, "seed": 7}
            write_network(place / f"split{split}.safetensors", **known, **own)
    return folder


@pytest.fixture
def archive(results: Path) -> Path:
    return write_deposit(results)


@pytest.fixture
def folder(archive: Path, tmp_path: Path) -> Path:
    """A deposit that was fetched."""
    fetch_deposit(str(archive.parent), ARCHIVE, None, tmp_path / "fetched", tmp_path / "cache")
    return tmp_path / "fetched"


def test_a_deposit_says_what_it_has_and_depends_on_that_alone(results: Path, archive: Path) -> None:
    with ZipFile(archive) as opened:
        assert opened.namelist() == ["manifest.json", NETWORK, SPLITS]
        manifest = json.loads(opened.read("manifest.json"))
    assert manifest["tier"] == "smoke"
    entry = manifest["files"][NETWORK]
    assert entry["sha256"] == sha256(results / NETWORK)
    assert (entry["code"], entry["settings"], entry["networks"]) == ("c0de", SETTINGS, 1)
    assert manifest["files"][SPLITS]["networks"] == 2
    first = archive.read_bytes()
    assert write_deposit(results).read_bytes() == first
    with pytest.raises(DataError, match=r"no networks of audio\. Remedy: make reproduce"):
        write_deposit(results, ["audio"])


def test_a_deposit_is_fetched_from_a_folder_an_address_and_a_record(
    archive: Path, website: Any, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, digest = archive.read_bytes(), sha256(archive)
    file = {"key": ARCHIVE, "size": len(content)}
    file["checksum"] = f"md5:{hashlib.md5(content).hexdigest()}"
    record = json.dumps({"files": [file]}).encode()
    website.answers["/api/records/17"] = [(200, record)]
    website.answers[f"/records/17/files/{ARCHIVE}"] = [(200, content)]
    website.answers["/mine.zip"] = [(200, content)]
    monkeypatch.setattr(deposits, "ZENODO", f"{website.address}/api/records/")
    cache = tmp_path / "cache"
    for number, (source, known) in enumerate(
        [
            (str(archive), None),
            (str(archive.parent), digest),
            (f"{website.address}/mine.zip", digest),
            ("10.5281/zenodo.17", None),
            ("https://doi.org/10.5281/zenodo.17", digest),
            (f"{website.address}/api/records/17", None),
        ]
    ):
        place = tmp_path / f"place{number}"
        fetch_deposit(source, ARCHIVE, known, place, cache, policy)
        assert check(place) == 2
        assert not list(cache.rglob("*.zip")), "it is not kept twice"
    assert archive.exists()
    assert website.seen.count(f"/records/17/files/{ARCHIVE}") == 3

    for source, known, error, why in (
        (f"{website.address}/mine.zip", None, Mismatch, "Remedy: set networks.sha256"),
        (f"{website.address}/mine.zip", "0" * 64, DataError, "mine.zip"),
        (str(archive), "0" * 64, Mismatch, "in place of 000"),
        (str(tmp_path / "nothing"), None, Unavailable, "networks.source"),
    ):
        with pytest.raises(error, match=why):
            fetch_deposit(source, ARCHIVE, known, tmp_path / "refused", cache, policy)
    assert not (tmp_path / "refused").exists()


class Wildcards(dict[str, Any]):
    """Those of a job."""

    __getattr__ = dict.__getitem__


def test_a_network_is_offered_if_code_and_settings_are_the_same(folder: Path) -> None:
    wildcards = Wildcards(protocol="paper", seed=1234)
    name = NETWORK.replace("paper", "{protocol}").replace("1234", "{seed}")

    def offered(
        code: str = "c0de",
        settings: Any = SETTINGS,
        tier: str = "smoke",
        count: int = 1,
        **other: Any,
    ) -> str:
        deposit = Deposit(folder, tier)
        offers = deposit.offers(name, lambda _: "data", code, lambda _: settings, lambda _: count)
        return offers(Wildcards({**wildcards, **other}))

    assert offered() == "data"
    assert offered(settings={"widths": (3,), "epochs": 2}) == "data"  # as JSON has it
    for change in (
        {"code": "0ther"},
        {"settings": {**SETTINGS, "epochs": 3}},
        {"tier": "full"},
        {"count": 2},
        {"seed": 1244},
    ):
        assert offered(**change) == "no deposit"
    folder = folder / "nowhere"
    assert offered() == "no deposit"


def test_a_network_is_taken_unless_damaged_or_of_other_data(
    folder: Path, results: Path, data: Path, tmp_path: Path
) -> None:
    output = tmp_path / "other/smoke" / NETWORK
    take(folder, NETWORK, output, [data])
    assert output.read_bytes() == (results / NETWORK).read_bytes()
    write_tensors(data, {"x": torch.ones(2)}, {})
    output.unlink()
    with pytest.raises(BadWeights, match="was trained on other data"):
        take(folder, NETWORK, output, [data])
    content = bytearray((folder / NETWORK).read_bytes())
    content[-1] ^= 1
    (folder / NETWORK).write_bytes(content)
    for call in (lambda: take(folder, NETWORK, output, [data]), lambda: check(folder)):
        with pytest.raises(Damaged, match=r"manifest"):
            call()
    assert not output.exists()


def test_networks_of_the_audio_study_belong_to_their_labels(tmp_path: Path) -> None:
    labels = [tmp_path / f"ov{overlap}_split1.safetensors" for overlap in (1, 2)]
    for file in labels:
        file.write_text(file.stem)
    own = {"protocol": "paper", "dataset": "synthetic", "model": "wta", "K": 9, "seed": 1234}
    data = data_of(AUDIO, labels)
    write_network(tmp_path / "smoke" / AUDIO, **own, data=data)
    fetch_deposit(str(write_deposit(tmp_path / "smoke")), ARCHIVE, None, tmp_path / "f", tmp_path)
    output = tmp_path / "other/smoke" / AUDIO
    take(tmp_path / "f", AUDIO, output, labels[::-1])
    assert output.read_bytes() == (tmp_path / "smoke" / AUDIO).read_bytes()
    output.unlink()
    for others in (labels[:1], [labels[0], tmp_path / "f/manifest.json"]):
        with pytest.raises(BadWeights, match="was trained on other data"):
            take(tmp_path / "f", AUDIO, output, others)


def test_another_grid_of_bandwidths_trains_nothing(
    tmp_path: Path, copy_repository: Callable[[Path], Path]
) -> None:
    """The workflow fetches a deposit and takes networks from it, with the record of a training."""
    tree = copy_repository(tmp_path / "tree")
    smoke = ["--configfile", "config/smoke.yaml"]
    target = "results/smoke/synthetic/metrics/evaluation.parquet"

    def jobs(*arguments: str) -> set[str]:
        done = snakemake(tree, *smoke, "--dry-run", *arguments)
        assert done.returncode == 0, done.stdout
        return set(re.findall(r"^(?:local)?rule (\w+):", done.stdout, re.MULTILINE))

    def run(*arguments: str) -> None:
        done = snakemake(tree, *smoke, "--cores", "1", *arguments)
        assert done.returncode == 0, done.stdout

    config, audio = tree / "config/smoke.yaml", "  protocols: { released"
    text, own = config.read_text(), "ours: { K: [9], models: [local] }, released"
    assert audio in text
    config.write_text(text.replace(audio, audio.replace("released", own)))
    place = "results/smoke/synthetic/{}/single_gaussian/data.safetensors"
    run("--", place.format("paper"), place.format("released"))
    today, made = Today(tree, "smoke"), tmp_path / "made/smoke"
    for protocol in ("paper", "released"):
        known = {
            "data": sha256(tree / place.format(protocol)),
            "code": today.code("train_synthetic"),
        }
        for model in ("wta", "hist", "mdn"):
            own = {"protocol": protocol, "dataset": "single_gaussian", "model": model, "K": 9}
            settings = today.settings("synthetic", SimpleNamespace(**own))
            file = f"synthetic/{protocol}/single_gaussian/{model}/K9/seed1234.safetensors"
            write_network(made / file, **known, **own, seed=1234, settings=settings)
    write_others(tree, today, made)
    write_deposit(made)
    config.write_text(f"{config.read_text()}\nnetworks: {{ source: '{made}' }}\n")
    assert "train_synthetic" in jobs("--", target)
    run("--", "fetch_networks")
    rules = {"tune_synthetic", "evaluate_synthetic", "collect"}
    assert jobs("--", target) == rules | {"take_synthetic"}
    others = [f"results/smoke/{name}" for name in OTHERS]
    assert jobs("--", *others) == {"take_synthetic_local", "take_audio", "take_audio_local"}
    network = f"results/smoke/{NETWORK}"
    run("--", network, *others)
    for name in OTHERS:
        assert (tree / "results/smoke" / name).read_bytes() == (made / name).read_bytes()
    assert read_tensors(tree / network)[1]["provenance"]["model"] == "wta"
    (tmp_path / "kept").mkdir()
    (tree / "data/networks/smoke").rename(tmp_path / "kept/smoke")
    assert jobs("--", network, *others) == set(), "it is as if they had been trained"
    config.write_text(config.read_text().replace("widths: [32, 32]", "widths: [32, 16]"))
    (tmp_path / "kept/smoke").rename(tree / "data/networks/smoke")
    assert "train_synthetic" in jobs("--", target), "other settings are trained"


def write_others(tree: Path, today: Today, made: Path) -> None:
    """Networks with local kernels and of the audio study, and data in a tree that they name."""
    study = today.study("audio")
    assert isinstance(study, AudioStudy)
    source = study.source
    features = f"results/smoke/audio/features/{source}/ov{{overlap}}_split{{split}}_{{part}}.npy"
    own = AudioStudy(study.settings, study.protocols, str(tree / features))
    labels = [Path(file) for file in own.labels("train", "validation")]
    for file in (*labels, *map(Path, own.fold("train") + own.fold("validation"))):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(file.name)
    for name, protocol, model, script in (
        (AUDIO, "paper", "wta", "train_audio"),
        (AUDIO_LOCAL, "ours", "local", "train_audio_local"),
    ):
        facts = {"protocol": protocol, "dataset": source, "model": model, "K": 9}
        settings = today.settings("audio", SimpleNamespace(**facts))
        known = {"data": data_of(AUDIO, labels), "code": today.code(script)}
        write_network(made / name, **known, **facts, seed=1234, settings=settings)
    facts = {"protocol": "ours", "dataset": "single_gaussian", "model": "local", "K": 9}
    settings = today.settings("synthetic", SimpleNamespace(**facts))
    drawn = tree / "results/smoke/synthetic/paper/single_gaussian/data.safetensors"
    known = {"data": sha256(drawn), "code": today.code("train_synthetic_local")}
    write_network(made / LOCAL, **known, **facts, seed=1234, settings=settings)
