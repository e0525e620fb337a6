"""Spectrograms are those of scipy with the published settings, and keep their bits on disk."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.signal import stft

from vwta.io.errors import BadRecording
from vwta.paper.audio.ansyn import RATE
from vwta.paper.audio.spectrograms import (
    CHUNK,
    chunks,
    features,
    read_features,
    scene_features,
    write_features,
)

SAMPLES = np.random.default_rng(0).integers(-9000, 9000, (3 * RATE, 4), dtype=np.int16)


def test_against_scipy() -> None:
    wave = SAMPLES[:CHUNK].T / 32767
    expected = stft(wave, fs=RATE, nperseg=1764, nfft=2048)[-1][:, 1:, :-1].transpose(0, 2, 1)
    ours = features(torch.from_numpy(wave))
    assert ours.shape == (8, 100, 1024)
    np.testing.assert_allclose(ours[:4], np.abs(expected), atol=1e-14)
    turned = ours[:4] * torch.exp(1j * ours[4:])  # phases are told apart where there is sound
    np.testing.assert_allclose(turned, expected, atol=1e-14)
    np.testing.assert_allclose(features(torch.from_numpy(wave).float())[:4], ours[:4], atol=1e-7)


def test_a_tone_has_its_bin_and_amplitude() -> None:
    tone = torch.cos(2 * torch.pi * 100 * torch.arange(CHUNK, dtype=torch.float64) / 2048)
    magnitude = features(0.5 * tone.expand(4, -1))[0]
    assert (magnitude[1:].argmax(-1) == 99).all()  # bin 0 was dropped
    assert magnitude[50, 99].item() == pytest.approx(0.25, rel=1e-3)


def test_chunks_pad_and_crop() -> None:
    padded = chunks(SAMPLES, 6)
    assert padded.shape == (3, 4, CHUNK)
    np.testing.assert_allclose(padded[0, 2], SAMPLES[:CHUNK, 2] / 32767, rtol=1e-6)
    assert padded[1, :, RATE - 1].abs().sum() > 0
    assert padded[1, :, RATE:].abs().sum() == 0
    assert padded[2].abs().sum() == 0
    assert torch.equal(chunks(SAMPLES, 2), padded[:1])
    assert len(chunks(SAMPLES)) == 15
    with pytest.raises(ValueError, match="3 s is not a whole number of chunks of 2 s"):
        chunks(SAMPLES, 3)


def test_chunks_do_not_see_each_other() -> None:
    whole = features(chunks(SAMPLES, 4))
    assert whole.shape == (2, 8, 100, 1024)
    for chunk, alone in zip(chunks(SAMPLES, 4), whole, strict=True):
        torch.testing.assert_close(features(chunk), alone)


def test_storage(tmp_path: Path) -> None:
    made = scene_features(SAMPLES, 4)
    assert made.dtype == torch.float16
    path = tmp_path / "scene.npy"
    write_features(path, [made, made + 1], 2)
    read = read_features(path)
    assert isinstance(read, np.memmap)
    assert np.array_equal(read, torch.cat([made, made + 1]).numpy())
    assert [file.name for file in tmp_path.iterdir()] == ["scene.npy"]
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BadRecording, match=r"scene\.npy: .*Remedy: remove it"):
        read_features(path)
    np.save(path, np.zeros((2, 3)))
    with pytest.raises(BadRecording, match=r"float64 with shape \(2, 3\), expected float16"):
        read_features(path)
    with pytest.raises(ValueError, match=r"scene\.npy: 3 scenes were announced"):
        write_features(path, [made], 3)


def test_lowest_bands_on_a_log_scale() -> None:
    plain = scene_features(SAMPLES, 2).float()
    made = scene_features(SAMPLES, 2, bands=32, every=3, floor=1e-3).float()
    expected = torch.log(1 + plain[:, :4, :, :96:3] / 1e-3)
    torch.testing.assert_close(made[:, :4], expected, rtol=2e-3, atol=2e-3)
    assert torch.equal(made[:, 4:], plain[:, 4:, :, :96:3])
