"""Synthesised sounds for the classes of ANSYN, so that scenes can be made without any data.

They need not sound real: each class has its own spectrum and rhythm, and within a class pitch,
tempo and duration vary as they do between recordings.
"""

from __future__ import annotations

__all__ = ["RECIPES", "synthesise", "synthesise_all"]

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from vwta.paper.audio.ansyn import CLASSES, RATE
from vwta.seeds import stream

Wave = NDArray[np.float64]
FADE = 0.003  # seconds at both ends


def synthesise(kind: str, number: int, seed: int) -> NDArray[np.float32]:
    """One sound of a class, by formula.

    Arguments:
        kind: one of :data:`CLASSES`.
        number: tells the sounds of a class apart.
        seed: seed of all.

    Returns:
        Mono samples at 44.1 kHz with shape `(n,)`, .2 to 3 seconds, with peak 1.

    Example:
        >>> synthesise("knock", 0, seed=1).dtype
        dtype('float32')
    """
    if kind not in RECIPES:
        raise ValueError(f"unknown class {kind!r}: expected one of {', '.join(RECIPES)}")
    rng = np.random.default_rng(stream(seed, "sound", kind, number))
    wave = RECIPES[kind](rng)
    ramp = np.minimum(np.arange(len(wave)) / (FADE * RATE), 1)
    wave = wave * ramp * ramp[::-1]
    return np.asarray(wave / np.abs(wave).max(), dtype=np.float32)


def synthesise_all(per_class: int, seed: int) -> dict[str, NDArray[np.float32]]:
    """As many sounds of each class, by a file name such as `clearthroat002.wav`."""
    return {
        f"{kind}{number:03}.wav": synthesise(kind, number, seed)
        for kind in CLASSES
        for number in range(per_class)
    }


def _speech(rng: np.random.Generator) -> Wave:
    """A gliding voice with three formants that change with each syllable, some 4 a second."""
    t = _time(rng.uniform(1.0, 3.0))
    rate, pitch = rng.uniform(3.5, 5.0), rng.uniform(100, 200)
    wave = np.zeros_like(t)
    for start in np.arange(0, t[-1] - 0.1, 1 / rate):
        formants = [rng.uniform(350, 750), rng.uniform(1100, 1900), rng.uniform(2300, 2900)]
        part = _time(0.85 / rate)
        glide = pitch * (1 + 0.15 * np.sin(2 * np.pi * part * rng.uniform(0.5, 2)))
        _add(wave, start, _voice(glide, formants, width=120) * _hill(len(part)))
    return wave


def _phone(rng: np.random.Generator) -> Wave:
    """Two pure tones that alternate 20 times a second, in rings with pauses."""
    t = _time(rng.uniform(0.8, 3.0))
    low = rng.uniform(1300, 1600)
    turn = np.sin(2 * np.pi * rng.uniform(17, 23) * t) > 0
    phase = 2 * np.pi * np.cumsum(np.where(turn, 1.25 * low, low)) / RATE
    ring = (t % 0.6) < 0.4
    return (np.sin(phase) + 0.4 * np.sin(3 * phase)) * ring


def _keyboard(rng: np.random.Generator) -> Wave:
    """Dry clicks around 4 kHz, some 7 a second and not quite even."""
    wave = np.zeros_like(_time(rng.uniform(1.1, 3.0)))
    start, pace = 0.02, rng.uniform(0.11, 0.18)
    while start < len(wave) / RATE - 0.05:
        click = _noise(rng, 0.04, 2500, 6000) * np.exp(-_time(0.04) / 0.006)
        _add(wave, start, click * rng.uniform(0.4, 1))
        start += pace * rng.uniform(0.6, 1.4)
    return wave


def _doorslam(rng: np.random.Generator) -> Wave:
    """One thump of low modes that die within a fifth of a second, with a dull crack."""
    seconds = rng.uniform(0.3, 0.9)
    modes = rng.uniform(50, 140, 4)
    wave = _modes(seconds, modes, rng.uniform(0.06, 0.12, 4))
    return wave + 0.5 * _noise(rng, seconds, 80, 500) * np.exp(-_time(seconds) / 0.03)


def _laughter(rng: np.random.Generator) -> Wave:
    """A high voice in short open syllables, 5 a second and falling, with breath between them."""
    t = _time(rng.uniform(0.6, 2.7))
    rate, pitch = rng.uniform(4.5, 5.5), rng.uniform(260, 380)
    wave = 0.12 * _noise(rng, len(t) / RATE, 1500, 5000) * (1 - (t * rate % 1))
    for start in np.arange(0, t[-1] - 0.1, 1 / rate):
        part = _time(0.5 / rate)
        fall = pitch * (1.1 - 0.2 * part * rate) * (1 - 0.1 * start)
        _add(wave, start, _voice(fall, [850, 1400, 3300], width=200) * _hill(len(part)))
    return wave


def _keys_drop(rng: np.random.Generator) -> Wave:
    """Metal: high modes out of tune with each other, struck a few times in ever shorter steps."""
    wave = np.zeros_like(_time(rng.uniform(0.2, 0.5)))
    start, step = 0.0, rng.uniform(0.06, 0.12)
    for _ in range(rng.integers(3, 6)):
        modes = rng.uniform(5000, 13000, 8)
        _add(wave, start, _modes(0.15, modes, rng.uniform(0.01, 0.04, 8)) * rng.uniform(0.5, 1))
        start, step = start + step, step * 0.7
    return wave


def _pageturn(rng: np.random.Generator) -> Wave:
    """A swell of hiss whose crackle is as fine as paper."""
    seconds = rng.uniform(0.6, 2.0)
    hiss = _noise(rng, seconds, 1200, 12000)
    grain = np.arange(0, seconds + 0.02, 0.01)
    crackle = np.interp(_time(seconds), grain, rng.random(len(grain)))
    return hiss * crackle**2 * _hill(len(hiss))


def _drawer(rng: np.random.Generator) -> Wave:
    """Rolling: low rumble with the rattle of the rail, and a thud at the end."""
    seconds = rng.uniform(0.6, 1.8)
    t = _time(seconds)
    rattle = 1 + 0.8 * np.sin(2 * np.pi * rng.uniform(12, 18) * t)
    wave = _noise(rng, seconds, 250, 900) * rattle * np.minimum(t / 0.1, 1)
    thud = _modes(0.15, rng.uniform(150, 300, 3), rng.uniform(0.02, 0.04, 3))
    _add(wave, seconds - 0.16, 3 * thud)
    return wave


def _cough(rng: np.random.Generator) -> Wave:
    """One to three bursts of breath around 1 kHz, each sudden and gone in a third of a second."""
    bursts = rng.integers(1, 4)
    pace = rng.uniform(0.4, 0.6)
    wave = np.zeros_like(_time(0.3 + pace * bursts))
    for burst in range(bursts):
        t = _time(0.35)
        breath = _noise(rng, 0.35, 500, 2200) + 0.25 * _noise(rng, 0.35, 2500, 5000)
        _add(wave, burst * pace, breath * np.minimum(t / 0.01, 1) * np.exp(-t / 0.08))
    return wave


def _clearthroat(rng: np.random.Generator) -> Wave:
    """A deep voice made rough by a flutter of 30 a second, in one or two strokes."""
    t = _time(rng.uniform(0.4, 1.6))
    pitch = rng.uniform(75, 105) * (1 + 0.1 * np.sin(2 * np.pi * t * rng.uniform(1, 2)))
    flutter = 0.3 + 0.7 * (np.sin(2 * np.pi * rng.uniform(26, 34) * t) > 0)
    strokes = np.abs(np.sin(np.pi * t / t[-1] * rng.integers(1, 3)))
    voice = _voice(pitch, [rng.uniform(250, 400), rng.uniform(550, 700)], width=90)
    voice += 0.05 * _noise(rng, len(t) / RATE, 100, 1000)
    return np.asarray(voice * flutter * strokes)


def _knock(rng: np.random.Generator) -> Wave:
    """Three to five even taps on wood: modes of a few hundred Hz that die in 20 ms."""
    taps, pace = rng.integers(3, 6), rng.uniform(0.14, 0.2)
    modes, decays = rng.uniform(350, 1100, 5), rng.uniform(0.01, 0.025, 5)
    wave = np.zeros_like(_time(taps * pace + 0.05))
    for tap in range(taps):
        strike = _modes(0.12, modes, decays) * rng.uniform(0.7, 1)
        _add(wave, 0.01 + tap * pace, strike)
    return wave


RECIPES: dict[str, Callable[[np.random.Generator], Wave]] = {
    "speech": _speech,
    "phone": _phone,
    "keyboard": _keyboard,
    "doorslam": _doorslam,
    "laughter": _laughter,
    "keysDrop": _keys_drop,
    "pageturn": _pageturn,
    "drawer": _drawer,
    "cough": _cough,
    "clearthroat": _clearthroat,
    "knock": _knock,
}


def _time(seconds: float) -> Wave:
    return np.arange(round(seconds * RATE)) / RATE


def _hill(samples: int) -> Wave:
    """One arch from 0 to 1 and back."""
    return np.sin(np.pi * (np.arange(samples) + 0.5) / samples)


def _add(wave: Wave, start: float, part: Wave) -> None:
    """Adds a part that starts at some second; what would stick out is cut."""
    first = round(start * RATE)
    room = max(len(wave) - first, 0)
    wave[first : first + len(part)] += part[:room]


def _noise(rng: np.random.Generator, seconds: float, low: float, high: float) -> Wave:
    """Noise of power 1 in a band, with edges of a third of an octave."""
    n = round(seconds * RATE)
    octave = np.log2(np.maximum(np.fft.rfftfreq(n, 1 / RATE), 1))
    outside = np.maximum(np.maximum(np.log2(low) - octave, octave - np.log2(high)), 0)
    wave = np.fft.irfft(np.fft.rfft(rng.standard_normal(n)) * np.exp(-((3 * outside) ** 2)), n)
    return np.asarray(wave / wave.std())


def _modes(seconds: float, frequencies: Wave, decays: Wave) -> Wave:
    r"""Sum of :math:`e^{-t/\tau} \sin 2 \pi f t` over modes, f in Hz and tau in seconds `(M,)`."""
    t = _time(seconds)[:, None]
    return np.asarray((np.exp(-t / decays) * np.sin(2 * np.pi * frequencies * t)).sum(1))


def _voice(pitch: Wave, formants: Sequence[float], width: float) -> Wave:
    """Harmonics of a pitch `(n,)` below 5 kHz, each as strong as formants of some width let it."""
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    middle = float(pitch.mean())
    wave = np.zeros_like(phase)
    for harmonic in range(1, int(5000 / middle) + 1):
        gains = [
            1 / (1 + ((harmonic * middle - formant) / width) ** 2) / (place + 1)
            for place, formant in enumerate(formants)
        ]
        wave += sum(gains) * np.sin(harmonic * phase)
    return wave
