r"""Spectrograms of scenes, the inputs of the networks of the audio study.

A scene of 30 s is cut into chunks of 2 s. In each chunk a Hann window of 40 ms moves by 20 ms over
the samples, with zeros before and after the chunk. Frame `t` is centred on sample 882 t. With the
window :math:`w` of 1764 samples, frequency `k` of frame `t` is

.. math:: X_t(k) = \frac{1}{\sum_n w_n} \sum_n w_n x_{882 (t - 1) + n} e^{-2 \pi i k n / 2048}

so a tone of amplitude 1 has the magnitude 1/2, and phases count from the start of the window: these
are the conventions of `scipy.signal.stft`, which the published code calls.
"""

from __future__ import annotations

__all__ = [
    "BINS",
    "CHUNK",
    "FEATURES",
    "FRAMES",
    "chunks",
    "features",
    "read_features",
    "scene_features",
    "write_features",
]

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vwta.io.errors import BadRecording
from vwta.io.storage import atomic
from vwta.paper.audio.ansyn import CHANNELS, RATE

WINDOW = 1764
HOP = 882
FFT = 2048
FULL_SCALE = 32767  # of int16
CHUNK = 2 * RATE  # samples
FRAMES = CHUNK // HOP
BINS = FFT // 2
FEATURES = 2 * CHANNELS


def chunks(samples: NDArray[np.int16], seconds: float = 30.0) -> Tensor:
    """Chunks of a scene that is padded with zeros, or cropped.

    Arguments:
        samples: the recording, with shape `(n, 4)`.
        seconds: a whole number of chunks.

    Returns:
        Waves within [-1, 1], float32 with shape `(N, 4, 88200)`.

    Example:
        >>> chunks(np.ones((RATE, 4), np.int16), seconds=4).shape
        torch.Size([2, 4, 88200])
    """
    length = round(seconds * RATE)
    if length <= 0 or length % CHUNK:
        raise ValueError(f"{seconds} s is not a whole number of chunks of {CHUNK // RATE} s")
    wave = torch.zeros(length, samples.shape[1])
    kept = torch.from_numpy(samples[:length].astype(np.float32))
    wave[: len(kept)] = kept / FULL_SCALE
    return wave.reshape(-1, CHUNK, samples.shape[1]).transpose(1, 2).contiguous()


def features(wave: Tensor) -> Tensor:
    """Features of a chunk of sound: magnitudes of all channels, then their phases.

    The constant part and the last frame are dropped; there is neither a log nor any normalisation.

    Arguments:
        wave: one or more chunks, with shape `(*, C, 88200)`.

    Returns:
        The features, with shape `(*, 2 C, 100, 1024)`.
    """
    window = torch.hann_window(WINDOW, dtype=wave.dtype, device=wave.device)
    # Zeros behind the window fill up to the length of the transform.
    window = torch.nn.functional.pad(window, (0, FFT - WINDOW))
    padded = torch.nn.functional.pad(wave, (WINDOW // 2, WINDOW // 2 + FFT - WINDOW))
    spectrum = torch.stft(
        padded.flatten(0, -2), FFT, HOP, window=window, center=False, return_complex=True
    )
    spectrum = spectrum[:, 1:, :-1].transpose(1, 2) / window.sum()
    spectrum = spectrum.reshape(*wave.shape[:-1], *spectrum.shape[1:])
    return torch.cat([spectrum.abs(), spectrum.angle()], -3)


def scene_features(
    samples: NDArray[np.int16],
    seconds: float = 30.0,
    bands: int = BINS,
    every: int = 1,
    floor: float | None = None,
) -> Tensor:
    """Features of all chunks of a scene, float16 with shape `(N, 8, 100, bands)`.

    Chunks follow each other, so that only one is held in full precision.

    Arguments:
        samples: the recording, with shape `(n, 4)`.
        seconds: a whole number of chunks, see :func:`chunks`.
        bands: number of frequencies that are kept, from the lowest on.
        every: how far apart they are: 1 keeps all, 2 every second one.
        floor: magnitudes m become log(1 + m / floor); None keeps them as they are.
    """
    kept = slice(0, bands * every, every)
    whole = (features(chunk)[..., kept] for chunk in chunks(samples, seconds))
    return torch.stack([_compressed(feature, floor).half() for feature in whole])


def write_features(path: Path, scenes: Iterable[Tensor], count: int) -> None:
    """Writes features of scenes as float16, whole or not at all (`.npy`), scene by scene.

    Arguments:
        path: file to write.
        scenes: features of each scene, with shape `(N, 8, 100, F)`.
        count: number of scenes.
    """
    written, form = 0, None
    with atomic(path) as temporary, temporary.open("wb") as file:
        for scene in scenes:  # a mapped file would end the process when the disk is full
            if form is None:
                form = scene.shape
                whole = (count * len(scene), *scene.shape[1:])
                header = {"descr": "<f2", "fortran_order": False, "shape": whole}
                np.lib.format.write_array_header_1_0(file, header)
            if scene.shape != form:
                raise ValueError(f"{path}: features of shapes {form} and {scene.shape}")
            file.write(scene.half().contiguous().numpy().astype("<f2", copy=False).data)
            written += 1
        if written != count:
            raise ValueError(f"{path}: {count} scenes were announced, and {written} came")


def read_features(path: Path) -> NDArray[np.float16]:
    """Features of scenes, mapped: only what is looked at is read from the disk."""
    try:
        stored = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise BadRecording(f"{path}: {error}. Remedy: remove it and compute it again") from error
    if stored.dtype != np.float16 or stored.shape[1:3] != (FEATURES, FRAMES):
        raise BadRecording(
            f"{path}: {stored.dtype} with shape {stored.shape}, expected float16 with shape "
            f"(N, {FEATURES}, {FRAMES}, F). Remedy: remove it and compute it again"
        )
    return np.asanyarray(stored)


def _compressed(feature: Tensor, floor: float | None) -> Tensor:
    """Features `(8, 100, F)` whose magnitudes, the first half, are on a log scale above a floor."""
    if floor is None:
        return feature
    magnitudes, phases = feature.chunk(2, -3)
    return torch.cat([torch.log1p(magnitudes / floor), phases], -3)
