"""What `vwta` is to need at most: CPU time and memory of some large jobs, each in its own process.

Memory is what the peak of the process grows by while the job runs; results are part of it.
"""

from __future__ import annotations

__all__ = ["measured", "shown"]

import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch

from vwta import Box, Gaussian, Sphere, Uniform, VonMisesFisher, VoronoiMixture
from vwta.geometry.spaces import Space

SQUARE = Box(0.0, 1.0)


class Aim(NamedTuple):
    """A job on random atoms: how many laws `B`, atoms `K`, coordinates `e`; and its limits."""

    title: str
    laws: int
    atoms: int
    size: int
    space: Space
    kernel: Any
    run: Callable[[VoronoiMixture], object]
    seconds: float | None
    megabytes: float


def _cells(law: VoronoiMixture) -> object:
    return law.log_cell_mass


def _likelihood(law: VoronoiMixture) -> object:
    """At 1,000 points for each atom."""
    y = torch.rand(1000 * law.components, law.event_shape[0], dtype=torch.float64)
    if isinstance(law.space, Sphere):
        y = torch.nn.functional.normalize(y - 0.5, dim=-1)
    return law.log_prob(y).mean()


def _gradients(law: VoronoiMixture) -> object:
    """Of the likelihood at 100 points for each atom, by the atoms."""
    law.points.requires_grad_()
    again = VoronoiMixture(law.points, law.masses, law.kernel, law.space)
    y = torch.rand(100 * law.components, law.event_shape[0], dtype=torch.float64)
    again.log_prob(y).mean().backward()
    return law.points.grad


def _moments(law: VoronoiMixture) -> object:
    """For which coinciding atoms are looked for, too."""
    return law.mean, law.variance


def _aims() -> Iterator[tuple[str, Aim]]:
    """All aims by name: half a gigabyte is what any result may need besides itself."""
    gaussian, uniform = Gaussian(0.1), Uniform()
    places = {
        "line": ("d = 1", 1, SQUARE, gaussian),
        "plane": ("square", 2, SQUARE, gaussian),
        "sphere": ("sphere", 3, Sphere(), VonMisesFisher(0.1)),
        "space": ("d = 3", 3, SQUARE, gaussian),
    }
    for name, (where, size, space, kernel) in places.items():
        if name in ("plane", "sphere"):
            title = f"10,000 cells, {where}"
            yield f"cells_{name}", Aim(title, 1, 10_000, size, space, uniform, _cells, 1, 1024)
        title = f"NLL of a million points, K = 1,000, {where}"
        yield f"nll_{name}", Aim(title, 1, 1000, size, space, kernel, _likelihood, 2, 1024)
        if name in ("plane", "space"):
            title = f"gradients of 100,000 densities, K = 1,000, {where}"
            yield f"slopes_{name}", Aim(title, 1, 1000, size, space, kernel, _gradients, None, 512)
        laws = 100 if name in ("line", "plane") else 20
        title = f"mean and variance of {laws} laws, K = 1,000, {where}"
        yield f"moments_{name}", Aim(title, laws, 1000, size, space, kernel, _moments, None, 512)


AIMS = dict(_aims())


def measured() -> list[dict[str, Any]]:
    """A record for each aim, with its limits."""
    found = []
    for name, aim in AIMS.items():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, megabytes = pool.apply(_run, (name,))
        print(f"{aim.title}: {seconds:.2f} CPU s, {megabytes:.0f} MB", flush=True)
        found.append(
            {"aim": name, "title": aim.title, "seconds": seconds, "megabytes": megabytes}
            | {"most_seconds": aim.seconds, "most_megabytes": aim.megabytes}
        )
    return found


def shown(table: pd.DataFrame) -> str:
    """The aims as a table; what is missed is marked."""
    lines = ["| job | CPU s | at most | MB | at most |", "|---|---|---|---|---|"]
    for row in table.itertuples():
        limit = "" if pd.isna(row.most_seconds) else f"{row.most_seconds:g}"
        late = "" if pd.isna(row.most_seconds) or row.seconds <= row.most_seconds else " (missed)"
        large = "" if row.megabytes <= row.most_megabytes else " (missed)"
        lines.append(
            f"| {row.title} | {row.seconds:.2g}{late} | {limit} | {row.megabytes:.0f}{large} "
            f"| {row.most_megabytes:g} |"
        )
    return "\n".join(lines)


def _law(aim: Aim, laws: int, atoms: int) -> VoronoiMixture:
    points = torch.rand(laws, atoms, aim.size, dtype=torch.float64)
    if isinstance(aim.space, Sphere):
        points = torch.nn.functional.normalize(points - 0.5, dim=-1)
    points = points[0] if laws == 1 else points
    return VoronoiMixture(points, torch.full_like(points[..., 0], 1 / atoms), aim.kernel, aim.space)


def _run(name: str) -> tuple[float, float]:
    """CPU seconds of a job, and by how many megabytes it raises the peak of this process."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    aim = AIMS[name]
    aim.run(_law(aim, 1, 5))  # loads what is loaded once
    law, before = _law(aim, aim.laws, aim.atoms), _peak()
    start = time.process_time()
    aim.run(law)
    return time.process_time() - start, _peak() - before


def _peak() -> float:
    """Most memory that this process had, in megabytes, on Linux."""
    # getrusage has the peak of the process that started this one, if that was larger.
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024
