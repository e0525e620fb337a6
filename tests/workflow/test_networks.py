"""A job takes a network only if it is the one that its path says, with the weights it had."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from loading import ROOT

from vwta.io.bundles import bundled, unbundled
from vwta.io.errors import BadArchive, BadWeights, Damaged, DataError
from vwta.io.storage import read_tensors, sha256, write_tensors
from vwta.workflow.networks import check_networks

FACTS = {"tier": "smoke", "protocol": "paper", "dataset": "boston", "model": "wta", "K": 5}


def place(**other: Any) -> str:
    return "results/{tier}/uci/{protocol}/{dataset}/{model}/K{K}".format(**{**FACTS, **other})


def write_network(path: Path, **other: Any) -> Path:
    tensors = {"loss.weight": torch.ones(2, 3)}
    write_tensors(path, tensors, {"provenance": {**FACTS, "data": "?", **other}})
    return path


@pytest.fixture
def at(tmp_path: Path) -> Callable[..., Path]:
    """Networks in their places below a folder: of three seeds, and of two splits."""

    def write(**other: Any) -> Path:
        folder = tmp_path / place(**other)
        for seed in (1, 2, 3):
            write_network(folder / f"seed{seed}.safetensors", seed=seed, **other)
        with bundled(folder / "splits.zip") as inside:
            for split in (0, 1):
                write_network(inside / f"split{split}.safetensors", split=split, **other)
        return folder

    return write


def take(path: Path) -> None:
    """Does what a job does with a network."""
    check_networks([str(path)])
    read_tensors(path)


def test_networks_in_their_places_are_taken(at: Callable[..., Path], tmp_path: Path) -> None:
    data = tmp_path / "data.safetensors"
    write_tensors(data, {"target": torch.ones(3)}, {})
    folder = at(data=sha256(data))
    files = [str(path) for path in folder.iterdir()]
    assert len(files) == 4
    check_networks([*files, "README.md", str(tmp_path / "no/such.parquet")], str(data))


@pytest.mark.parametrize(
    ("key", "value"),
    [("tier", "quick"), ("protocol", "ours"), ("dataset", "yacht"), ("model", "mdn"), ("K", 9)],
)
@pytest.mark.parametrize("name", ["seed2.safetensors", "splits.zip"])
def test_networks_of_another_job_are_refused(
    at: Callable[..., Path], key: str, value: Any, name: str
) -> None:
    mine, other = at(), at(**{key: value})
    shutil.copy(other / name, mine / name)
    with pytest.raises(BadWeights, match=rf"its {key} is {value!r} in place of .*Remedy: delete"):
        check_networks([str(mine / name)])


def test_exchanged_seeds_and_splits_are_refused(at: Callable[..., Path], tmp_path: Path) -> None:
    folder = at()
    shutil.copy(folder / "seed1.safetensors", folder / "seed2.safetensors")
    with pytest.raises(BadWeights, match=r"seed2.* its seed is 1 in place of 2"):
        check_networks(map(str, folder.iterdir()))
    with unbundled(folder / "splits.zip") as old, bundled(folder / "splits.zip") as new:
        shutil.copy(old / "split0.safetensors", new / "split1.safetensors")
        shutil.copy(old / "split1.safetensors", new / "split0.safetensors")
    with pytest.raises(BadWeights, match=r"splits.zip/split0.* its split is 1 in place of 0"):
        check_networks([str(folder / "splits.zip")])


def test_networks_of_other_data_are_refused(at: Callable[..., Path], tmp_path: Path) -> None:
    data = tmp_path / "data.safetensors"
    write_tensors(data, {"target": torch.ones(3)}, {})
    with pytest.raises(BadWeights, match=r"its data is '[?]' in place of"):
        check_networks([str(at() / "seed1.safetensors")], str(data))


def test_any_flipped_bit_of_a_network_is_noticed(at: Callable[..., Path]) -> None:
    """Either by the check or by the reader, whatever bit it is."""
    path = at() / "seed1.safetensors"
    whole = path.read_bytes()
    for position in range(len(whole)):
        content = bytearray(whole)
        content[position] ^= 1 << position % 8
        path.write_bytes(content)
        with pytest.raises(DataError, match="Remedy: delete it"):
            take(path)


@pytest.mark.parametrize("length", [0, 3, 8, 20, -1])
def test_networks_cut_short_are_named(at: Callable[..., Path], length: int) -> None:
    folder = at()
    for name, error in (("seed1.safetensors", Damaged), ("splits.zip", BadArchive)):
        path = folder / name
        path.write_bytes(path.read_bytes()[:length])
        with pytest.raises(error, match=f"{path} is damaged"):
            take(path)


SCRIPT = """
from types import SimpleNamespace
from vwta.workflow.job import job
with job(SimpleNamespace(log=["log.txt"], input=["{path}"], output=["out/x"], threads=1)):
    print("evaluated")
"""


def test_every_job_checks(at: Callable[..., Path], tmp_path: Path) -> None:
    path = at() / "seed1.safetensors"
    program = [sys.executable, "-c", SCRIPT.format(path=path)]
    options: dict[str, Any] = {"cwd": tmp_path, "env": {"PYTHONPATH": str(ROOT / "src")}}
    assert subprocess.run(program, check=False, **options).returncode == 0
    write_network(path, seed=7)
    assert subprocess.run(program, check=False, **options).returncode == 1
    said = (tmp_path / "log.txt").read_text()
    assert "its seed is 7 in place of 1" in said
    assert "evaluated" not in said
