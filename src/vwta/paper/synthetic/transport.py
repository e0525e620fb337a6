"""Third stage, continued: how far the estimators' samples are from those of the true law."""

from __future__ import annotations

__all__ = [
    "Reference",
    "Settings",
    "as_published",
    "evaluate_emd",
    "evaluate_emd_truth",
]

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from vwta.distributions.atoms import safe_log
from vwta.distributions.mixtures import DiracMixture, KernelMixture, VoronoiMixture
from vwta.geometry.spaces import Box
from vwta.io.storage import read_tensors, sha256
from vwta.nn.models import Estimator
from vwta.paper.emd import emd
from vwta.paper.estimators import KERNELS, measured_in
from vwta.paper.metrics import MetricsFile
from vwta.paper.synthetic.clouds import cloud
from vwta.paper.synthetic.estimators import estimators
from vwta.paper.synthetic.trained import load_network
from vwta.paper.synthetic.true_laws import problem
from vwta.seeds import generator

logger = logging.getLogger(__name__)
Law = DiracMixture | KernelMixture | VoronoiMixture
WIDE = 1.0  # half a side of the square
CHUNK = 200  # inputs between two lines of progress


@dataclass(frozen=True)
class Reference:
    """Samples of a synthetic problem's true law that estimators are compared with by EMD.

    Attributes:
        seed: seed of all samples.
        inputs: how many of the test inputs to take, from the first on.
        samples: points drawn from each of the two laws, for each input.
        clouds: whether the true law's are drawn as in the published code, see
            :func:`vwta.paper.synthetic.clouds.cloud`.
    """

    seed: int
    inputs: int
    samples: int
    clouds: bool


@dataclass(frozen=True)
class Settings(Reference):
    """How earth mover's distances of the synthetic study are measured.

    Attributes:
        h: bandwidths.
        low: lower corner of the domain.
        high: upper corner.
        selected_by: criterion of the weights to take, see
            :func:`vwta.paper.synthetic.trained.load_network`.
        sampler: `exact`, or `published`: see :func:`as_published`.
        unif_emd: what stands for a uniform kernel: `cells`, itself; or `gaussian`, as in the
            published code, a Gaussian of bandwidth :data:`WIDE` that is cut to the cells.
    """

    h: list[float]
    low: list[float]
    high: list[float]
    selected_by: str
    sampler: str
    unif_emd: str


class Candidate(NamedTuple):
    """A law of the synthetic study to be measured by EMD, for a batch of inputs."""

    method: str
    h: float | None
    law: Law


@torch.no_grad()
def evaluate_emd(
    network: Path,
    data: Path,
    constants: Mapping[str, Any],
    settings: Settings,
    output: MetricsFile,
    model: str,
    K: int,
) -> None:
    """Writes the tidy EMD of the estimators that follow from a network of the synthetic study.

    All networks of a problem meet the same points of the true law. A Dirac mixture is compared by
    its weighted atoms, all others by samples.

    Arguments:
        network: file of the trained network.
        data: file of the data set, for the test inputs.
        constants: the problem's constants.
        settings: how to measure.
        output: file to write.
        model: kind of the network.
        K: number of atoms.
    """
    dataset = output.dataset
    x, reference = _reference(data, dataset, constants, settings)
    trained, metadata = load_network(network, settings.selected_by)
    seed = metadata["provenance"]["seed"]
    rows = []
    for method, h, law in _candidates(model, trained, x, settings):
        source = generator(settings.seed, dataset, "prediction", model, K, seed, method, str(h))
        name = method if h is None else f"{method} at h={h:g}"
        value = _mean_emd(reference, *_atoms(law, settings.samples, source), name)
        rows.append({"method": method, "h": h, "value": value})
    common = {"metric": "emd", "n": len(x), "K": K, "seed": seed}
    rows = [{**common, **row} for row in rows]
    output.write(rows, data=sha256(data), training=metadata["provenance"])


def as_published(law: VoronoiMixture) -> VoronoiMixture:
    r"""The law that the published code draws from to measure EMD: large cells are favoured.

    It chooses a cell by its mass, draws from the kernel, and starts again, with another cell, if
    the point is outside. Cells then have masses proportional to :math:`\gamma_k V_k`.

    Arguments:
        law: the law as the paper's text has it, with masses :math:`\gamma_k`.
    """
    masses = (safe_log(law.masses) + law.log_cell_mass).softmax(-1)
    return VoronoiMixture(law.points, masses, law.kernel, law.space)


def evaluate_emd_truth(
    data: Path, constants: Mapping[str, Any], settings: Reference, output: MetricsFile
) -> None:
    """Writes the tidy EMD between two samples of a synthetic problem's true law.

    No estimator can beat it.
    If one is drawn in clouds, the other is not: no estimator knows of them.
    Arguments as of :func:`evaluate_emd`.
    """
    dataset = output.dataset
    x, reference = _reference(data, dataset, constants, settings)
    source = generator(settings.seed, dataset, "second reference")
    second = problem(dataset, **constants).sample(x, settings.samples, source)
    value = _mean_emd(reference, second.transpose(0, 1), None, "true law")
    row = {"method": "truth", "metric": "emd", "value": value, "n": len(x)}
    output.write([row], data=sha256(data))


def _reference(
    data: Path, dataset: str, constants: Mapping[str, Any], settings: Reference
) -> tuple[Tensor, Tensor]:
    """Inputs `(N, 1)` and points of the true law at each, `(N, n, 2)`."""
    tensors, _ = read_tensors(data)
    x = tensors["x_test"][: settings.inputs].double()
    source, law = generator(settings.seed, dataset, "reference"), problem(dataset, **constants)
    draw = partial(cloud, law) if settings.clouds else law.sample
    y = draw(x, settings.samples, source)
    return x, y.transpose(0, 1)


def _candidates(
    model: str, network: nn.Module, x: Tensor, settings: Settings
) -> Iterator[Candidate]:
    """The laws to be measured at inputs `(N, 1)`, one after the other."""
    domain, published = Box(settings.low, settings.high), settings.sampler == "published"
    laws, atoms = estimators(model, network, domain), Estimator(network)
    measured = {name: one for name, one in measured_in("synthetic", model).items() if one.emd}
    for method in sorted(measured, key=lambda name: KERNELS.index(measured[name].kernel)):
        recipe = measured[method]
        if recipe.limit_of and settings.unif_emd == "gaussian":
            law = laws[recipe.limit_of](x).with_bandwidth(WIDE)
        else:
            law = (atoms if recipe.kernel == "none" else laws[method])(x)
        for h in settings.h if recipe.swept else [None]:
            at = law if h is None else law.with_bandwidth(h)
            cut = isinstance(at, VoronoiMixture)
            yield Candidate(method, h, as_published(at) if cut and published else at)


def _atoms(law: Law, n: int, source: torch.Generator) -> tuple[Tensor, Tensor | None]:
    """A law as points `(N, m, 2)` and masses `(N, m)`: its own, or samples."""
    if isinstance(law, DiracMixture):
        return law.points, law.masses
    return law.sample((n,), generator=source).transpose(0, 1), None


def _mean_emd(reference: Tensor, points: Tensor, masses: Tensor | None, name: str) -> float:
    """Mean over inputs of the distance between two sets of points `(N, n, 2)` and `(N, m, 2)`."""
    y, z = reference.numpy(), points.numpy()
    q = None if masses is None else masses.numpy()
    values = np.empty(len(y))
    for index in range(len(y)):
        other_masses = None if q is None else q[index]
        values[index] = emd(y[index], z[index], other_masses=other_masses)
        if (index + 1) % CHUNK == 0 or index + 1 == len(y):
            mean = values[: index + 1].mean()
            logger.info("%s: %d/%d inputs, EMD %.4f", name, index + 1, len(y), mean)
    return float(values.mean())
