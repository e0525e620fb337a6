"""The same cells with one kernel for all, with a width for each, and with any covariance."""

import math

import matplotlib.pyplot as plt
import torch
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from torch import Tensor

from vwta import Box, Gaussian, VoronoiMixture, plot, tune
from vwta.geometry.lloyd import lloyd
from vwta.geometry.polygons import corners

SQUARE, K = Box([-2.1, -1.5], [2.1, 1.5]), 10
ANGLE = torch.linspace(0, math.pi, 400)
MOON = torch.stack([ANGLE.cos() - 0.5, ANGLE.sin() - 0.25], 1)
CURVE = torch.cat([MOON, -MOON])  # the law is uniform on it, with Gaussian noise that grows
NOISE = torch.linspace(0.05, 0.15, 400).repeat(2)


def sample(n: int) -> Tensor:
    place = torch.randint(len(CURVE), (n,))
    y = CURVE[place] + NOISE[place, None] * torch.randn(n, 2)
    return y[(y > SQUARE.low).all(1) & (y < SQUARE.high).all(1)]


def truth(y: Tensor) -> Tensor:
    parts = -torch.cdist(y, CURVE).square() / (2 * NOISE**2) - 2 * NOISE.log()
    return parts.logsumexp(1) - math.log(2 * math.pi * len(CURVE))


def local(points: Tensor, masses: Tensor, y: Tensor, steps: int, any_shape: bool) -> VoronoiMixture:
    """Centres, widths and shapes of the kernels by maximum likelihood; cells and masses stay."""
    centres = points.clone().requires_grad_()
    logs, slants = torch.full((K, 2), -1.5).requires_grad_(), torch.zeros(K).requires_grad_()
    adam = torch.optim.Adam([centres, logs, slants], 0.02)

    def law() -> VoronoiMixture:
        sizes = logs.exp() if any_shape else logs[:, :1].exp().expand(K, 2)
        roots = torch.diag_embed(sizes)
        if any_shape:
            roots = roots + torch.nn.functional.pad(slants[:, None, None], (0, 1, 1, 0))
        kernel = Gaussian(torch.ones(K))
        return VoronoiMixture(points, masses, kernel, SQUARE, centres=centres, roots=roots)

    for _ in range(steps):
        adam.zero_grad()
        (-law().log_prob(y[torch.randint(len(y), (1000,))]).mean()).backward()
        adam.step()
    with torch.no_grad():
        return law()


@plot.style()
def main(steps: int = 300) -> Figure:
    torch.manual_seed(0)
    y, held_out, fresh = sample(20_000), sample(5_000), sample(20_000)
    points, _ = lloyd(y, K, starts=10, steps=100, generator=torch.Generator().manual_seed(0))
    masses = torch.bincount(torch.cdist(y, points).argmin(1), minlength=K) / len(y)
    plain = VoronoiMixture(points, masses, Gaussian(0.2), SQUARE)
    h = tune(plain, held_out, 0.02, 2.0, 0.01).at
    laws = {
        "True law": truth,
        f"V-WTA, h = {h:.2f}": plain.with_bandwidth(h).log_prob,
        "V-WTA, local": local(points, masses, y, steps, any_shape=False).log_prob,
        "V-WTA, local, covariances": local(points, masses, y, steps, any_shape=True).log_prob,
    }
    axis_x, axis_y = (torch.linspace(low + 0.01, -low - 0.01, 180) for low in SQUARE.low.tolist())
    grid = torch.cartesian_prod(axis_x, axis_y)
    top = truth(grid).exp().max().item()
    figure, axes = plt.subplots(1, 4, figsize=(11, 2.5), layout="constrained", sharey=True)
    for ax, (name, log_prob) in zip(axes, laws.items(), strict=True):
        with torch.no_grad():
            density, nll = log_prob(grid).exp().reshape(180, 180), -log_prob(fresh).mean()
        extent = (*axis_x[[0, -1]].tolist(), *axis_y[[0, -1]].tolist())
        ax.imshow(density.T.numpy(), origin="lower", extent=extent, cmap="Blues", vmax=top)
        if log_prob is not truth:
            lines = {"facecolors": "none", "edgecolors": "black", "linewidths": 0.4}
            ax.add_collection(PolyCollection(corners(points, SQUARE), **lines))
            ax.scatter(*points.T.numpy(), s=6, c="black")
        ax.set_title(f"{name}\nNLL {nll:.3f}")
        ax.set(xlim=extent[:2], ylim=extent[2:])
        ax.set_axis_off()
    return figure
