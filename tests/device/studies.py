"""Small trainings of all studies, on any device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from vwta.io.storage import sha256, write_tensors
from vwta.paper.audio import train as audio
from vwta.paper.audio.ansyn import CLASSES
from vwta.paper.audio.networks import NETWORKS as DIRECTIONS
from vwta.paper.audio.spectrograms import FEATURES, FRAMES, write_features
from vwta.paper.methods import networks_in
from vwta.paper.networks import NETWORKS
from vwta.paper.synthetic import train as synthetic
from vwta.paper.training import Job
from vwta.paper.uci import train as uci
from vwta.seeds import generator

SEEDS, SPLITS, CHUNKS, BANDS = [3, 4], 2, 2, 8
GRID = {"grid": [3, 2], "low": [-1.0, -1.0], "high": [1.0, 1.0]}
NOISE = dict.fromkeys(CLASSES, 5.0)
SYNTHETIC = synthetic.Settings(
    epochs=2,
    batch_size=32,
    learning_rate=1e-3,
    widths=[8, 8],
    beta=1.0,
    score_reduction="sum",
    epochs_see="the same rows",
    clouds=False,
    sharing={"kind": "winner"},
    start="default",
)
UCI = uci.Settings(
    plan={"epochs": 2, "batch_size": 16, "learning_rate": 1e-3},
    widths=[8],
    restarts=1,
    seed=7,
    held_out=0.2,
    steps=None,
    betas=[1.0, 0.5],
    score_reduction="sum",
    mixture_loss="exact",
    selected_by="loss",
    retrained=True,
    bins={"low": -1.0, "high": 1.0},
)
AUDIO = audio.Settings(
    epochs=1,
    batch_size=1,
    learning_rate=1e-3,
    warm_up=2,
    trunk={"filters": 4, "pools": [4], "width": 4, "layers": 1},
    noise=NOISE,
    grid=[3, 2],
    beta=1.0,
    score_reduction="sum",
    validation="noised",
    modes="each",
)
# Without local kernels in the plane: their loss walks cells, and waits for the device in each step.
MODELS = [
    *(("synthetic", kind) for kind in networks_in("synthetic") if kind in NETWORKS),
    *(("uci", kind) for kind in NETWORKS),
    *(("audio", kind) for kind in DIRECTIONS),
]


def write_data(folder: Path) -> None:
    """Writes data of all studies."""
    source, rows = generator(0), {}
    for split, n in {"train": 64, "validation": 32, "test": 32}.items():
        rows[f"x_{split}"] = torch.rand(n, 1, generator=source)
        rows[f"y_{split}"] = 0.5 * torch.randn(n, 2, generator=source)
    write_tensors(folder / "synthetic.safetensors", rows, {})
    x = torch.randn(60, 3, generator=source, dtype=torch.float64)
    table = {"inputs": x, "target": 9 * x[:, 0] + torch.randn(60, generator=source).double()}
    write_tensors(folder / "uci.safetensors", table, {"discrete": False})
    labels, digests = {}, {}
    for part in ("train", "test"):
        spectra = torch.randn(CHUNKS, FEATURES, FRAMES, BANDS, generator=source)
        features = folder / f"ov2_split1_{part}.npy"
        write_features(features, [spectra], 1)
        digests[part] = sha256(features)
        kind = torch.randint(-1, len(CLASSES), (CHUNKS, FRAMES, 2), generator=source)
        direction = torch.randn(CHUNKS, FRAMES, 2, 3, generator=source)
        direction = torch.nn.functional.normalize(direction, dim=-1) * kind.ge(0).unsqueeze(-1)
        labels |= {f"{part}.kind": kind.to(torch.int8), f"{part}.direction": direction}
    names = {part: [part] for part in ("train", "test")}
    facts = {"names": names, "features": digests}
    write_tensors(folder / "ov2_split1.safetensors", labels, facts)


def folds(folder: Path) -> dict[str, list[Path]]:
    """Files of the folds of the audio study."""
    files = {part: [folder / f"ov2_split1_{part}.npy"] for part in ("train", "test")}
    return {"train": files["train"], "validation": files["test"], "test": files["test"]}


def train(data: Path, study: str, kind: str, out: Path, device: str) -> list[Path]:
    """Trains the networks of a kind, and gives their files."""
    numbers = {"synthetic": SEEDS, "uci": range(SPLITS), "audio": SEEDS[:1]}[study]
    outputs = {number: out / f"{study}_{kind}_{number}.safetensors" for number in numbers}
    K = 1 if kind == "gaussian" else 6
    dataset = "single_gaussian" if study == "synthetic" else "toy"
    job = Job(dataset, kind, K, outputs, out / "unfinished", device, "code")
    match study:
        case "synthetic":
            settings = replace(SYNTHETIC, bins=GRID if kind == "hist" else None)
            synthetic.train(job, data / "synthetic.safetensors", {}, settings)
        case "uci":
            uci.train(job, data / "uci.safetensors", UCI)
        case "audio":
            audio.train(job, folds(data), AUDIO)
    return [*outputs.values()]
