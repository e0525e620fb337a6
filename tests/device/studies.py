"""Small trainings of all studies, on any device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from vwta.io.storage import sha256, write_tensors
from vwta.paper.audio import local as audio_local
from vwta.paper.audio import train as audio
from vwta.paper.audio.ansyn import CHANNELS, CLASSES
from vwta.paper.audio.networks import NETWORKS as DIRECTIONS
from vwta.paper.audio.spectrograms import FEATURES, FRAMES, write_features
from vwta.paper.methods import networks_in
from vwta.paper.networks import NETWORKS
from vwta.paper.synthetic import local as synthetic_local
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
# As in the protocol `ours`.
SYNTHETIC_OURS = replace(
    SYNTHETIC, plan={"rate": "warm_cosine", "clip": 0.1, "average": 0.08, "learning_rate": 2e-3}
)
SYNTHETIC_LOCAL = synthetic_local.Settings(
    plan={"epochs": 2, "batch_size": 32, **SYNTHETIC_OURS.plan},
    widths=[8, 8],
    form="scores",
    log_scale=-1.2,
    distance=10.0,
    background=None,
    low=[-1.0, -1.0],
    high=[1.0, 1.0],
    covariance=True,
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
UCI_LOCAL = replace(
    UCI,
    score_reduction="softmax",
    selected_by="last",
    weight_decays=[0.005, 0.3],
    own={
        "form": "continuous",
        "distance": 10.0,
        "background": {"share": 0.01, "h": 1.5},
        "plan": {"average": 0.08},
    },
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
AUDIO_OURS = replace(
    AUDIO,
    augmented=True,
    signed={"floor": 1e-4, "logarithmic": False},
    local={"log_scale": -0.7, "distance": 10.0, "clip": 5.0},
)
AUDIO_SETTINGS = {
    "": AUDIO,
    "ours": AUDIO_OURS,
    "released": replace(AUDIO, validation="clean", modes="single", likelihood="log_sinh"),
    "printed_density": replace(AUDIO, likelihood="printed"),
}
# Studies, those with the settings of some protocol ending with its name, and their networks.
MODELS = [
    *(("synthetic", kind) for kind in networks_in("synthetic") if kind in NETWORKS),
    *(("synthetic_ours", kind) for kind in ("wta", "mdn", "local")),
    *(("uci", kind) for kind in NETWORKS),
    ("uci_ours", "local"),
    *(("audio", kind) for kind in DIRECTIONS),
    *(("audio_ours", kind) for kind in audio_local.NETWORKS),
    ("audio_released", "m_vmf"),
    ("audio_printed_density", "m_vmf"),
]


def write_data(folder: Path, rows: int = 64, chunks: int = CHUNKS, bands: int = BANDS) -> None:
    """Writes data of all studies, with so many rows for training or chunks in a fold."""
    source, tensors = generator(0), {}
    for split, n in {"train": rows, "validation": 32, "test": 32}.items():
        tensors[f"x_{split}"] = torch.rand(n, 1, generator=source)
        tensors[f"y_{split}"] = 0.5 * torch.randn(n, 2, generator=source)
    write_tensors(folder / "synthetic.safetensors", tensors, {})
    x = torch.randn(rows, 3, generator=source, dtype=torch.float64)
    table = {"inputs": x, "target": 9 * x[:, 0] + torch.randn(rows, generator=source).double()}
    write_tensors(folder / "uci.safetensors", table, {"discrete": False})
    labels, digests = {}, {}
    for part in ("train", "test"):
        spectra = torch.randn(chunks, FEATURES, FRAMES, bands, generator=source)
        spectra[:, :CHANNELS].abs_()  # magnitudes, before phases
        features = folder / f"ov2_split1_{part}.npy"
        write_features(features, [spectra], 1)
        digests[part] = sha256(features)
        kind = torch.randint(-1, len(CLASSES), (chunks, FRAMES, 2), generator=source)
        direction = torch.randn(chunks, FRAMES, 2, 3, generator=source)
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
    name, _, protocol = study.partition("_")
    numbers = {"synthetic": SEEDS, "uci": range(SPLITS), "audio": SEEDS[:1]}[name]
    outputs = {number: out / f"{study}_{kind}_{number}.safetensors" for number in numbers}
    K = 1 if kind == "gaussian" else 6
    dataset = "single_gaussian" if name == "synthetic" else "toy"
    job = Job(dataset, kind, K, outputs, out / "unfinished", device, "code")
    match name, kind:
        case "synthetic", "local":
            synthetic_local.train(job, data / "synthetic.safetensors", SYNTHETIC_LOCAL)
        case "synthetic", _:
            settings = replace(
                SYNTHETIC_OURS if protocol else SYNTHETIC, bins=GRID if kind == "hist" else None
            )
            synthetic.train(job, data / "synthetic.safetensors", {}, settings)
        case "uci", _:
            uci.train(job, data / "uci.safetensors", UCI_LOCAL if protocol else UCI)
        case "audio", _:
            make = audio_local.train if kind == "local" else audio.train
            make(job, folds(data), AUDIO_SETTINGS[protocol])
    return [*outputs.values()]
