"""Likelihoods of trained cells: the identity of the uniform kernel, and Monte Carlo volumes."""

from __future__ import annotations

__all__ = ["direction_rows", "identity_rows"]

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from vwta.distributions.mixtures import VoronoiMixture
from vwta.geometry.directions import Directions
from vwta.geometry.kernels import Gaussian, Uniform
from vwta.geometry.spaces import Box
from vwta.paper.theory.optimality import nll_from_cells, optimal_nll, winners


def identity_rows(
    points: Tensor, masses: Tensor, areas: Tensor, first: Tensor, second: Tensor, box: Box
) -> list[dict[str, Any]]:
    r"""Both sides of theory's identity of the negative log-likelihood of the uniform kernel.

    With :math:`P_k` the mass of a cell and :math:`\lambda_k` its area in a domain of area V

    .. math:: -E[\log p(y)] = \sum_k P_k \log(\lambda_k / \gamma_k)
        = -\mathrm{KL}(P_k \| \lambda_k / V) + \log V \quad \text{if } \gamma_k = P_k.

    `nll_identity_left` is the mean of the library's :math:`-\log p` over the first points, with the
    trained scores; `nll_identity_right` the sum, of polygons' areas and the shares of the second
    points: they differ at random, with the standard deviation `nll_identity_noise`. With the shares
    of the first points, `nll_identity_right_same_points`, the sum is the left side by algebra, so
    that it checks the library's volumes against areas, and the cells, but not the sampling.

    `nll_optimal_left`, `nll_optimal_right` and `nll_optimal_right_same_points` are the same in the
    paper's form, where the scores are exact: shares of the first points as scores on the left, of
    the second on the right. Both are lower than with the true masses, by about :math:`(K - 1) / 2m`
    for m points, since shares fit their own points. The cost of trained scores is
    `nll_identity_left` less `nll_optimal_left`.

    Points outside the domain are left out: the law is the one restricted to it.

    Arguments:
        points: atoms, with shape `(n, K, 2)`.
        masses: scores with sum 1, with shape `(n, K)`.
        areas: areas of the cells, with shape `(n, K)`.
        first: points of the law, with shape `(n, m, 2)`.
        second: others, with shape `(n, m', 2)`.
        box: the domain.
    """
    inside = box.contains(first)
    counts = _counts(points, first, inside), _counts(points, second, box.contains(second))
    shares, others = (c / c.sum(1, keepdim=True) for c in counts)
    volume = (box.high - box.low).expand(2).prod().item()
    left, variance = _nll(points, masses, first, inside, box)
    best, _ = _nll(points, shares, first, inside, box)
    noise = sum((variance / c.sum(1)).sum().item() for c in counts)
    values = {
        "nll_identity_left": left,
        "nll_identity_right": nll_from_cells(masses, areas, others),
        "nll_identity_right_same_points": nll_from_cells(masses, areas, shares),
        "nll_optimal_left": best,
        "nll_optimal_right": optimal_nll(others, areas, volume),
        "nll_optimal_right_same_points": optimal_nll(shares, areas, volume),
    }
    means = {metric: value.mean().item() for metric, value in values.items()}
    means["nll_identity_noise"] = math.sqrt(noise) / len(points)
    n = int(inside.sum())
    return [
        {"method": "unif_v_wta", "metric": metric, "value": value, "n": n}
        for metric, value in means.items()
    ]


@torch.no_grad()
def direction_rows(
    network: nn.Module,
    x: Tensor,
    y: Tensor,
    box: Box,
    h: Sequence[float],
    count: int,
    seeds: Sequence[int],
) -> Iterator[dict[str, Any]]:
    r"""Bias of the NLL by volumes that are means over random directions, against theory.

    The log of a noisy volume is too small on average (Jensen), and so is the NLL, which has
    :math:`+\log V`: the estimate flatters. `nll_directions_bias` is the NLL with random directions,
    drawn anew for each point, less that with exact volumes; `nll_directions_scatter` its standard
    deviation over draws of the directions.

    Arguments:
        network: a WTA network.
        x: inputs, with shape `(n, 1)`.
        y: targets, with shape `(n, 2)`; those outside the domain are left out.
        box: the domain.
        h: bandwidths; the uniform kernel comes on top.
        count: number of directions for each volume; the paper has 40.
        seeds: seeds of the directions.
    """
    inside = box.contains(y)
    x, y = x[inside], y[inside]
    atoms = network(x)
    for kernel, sweep in ((Uniform(), [None]), (Gaussian(1.0), h)):
        exact, *noisy = (
            VoronoiMixture(atoms.points, atoms.masses, kernel, box, directions)
            for directions in (None, *(Directions(count, seed, random=True) for seed in seeds))
        )
        for value in sweep:
            nll, *others = (
                -(law if value is None else law.with_bandwidth(value)).log_prob(y).mean()
                for law in (exact, *noisy)
            )
            bias = torch.stack(others) - nll
            found = {"nll_directions_bias": bias.mean(), "nll_directions_scatter": bias.std()}
            method = "unif_v_wta" if value is None else "v_wta"
            for metric, number in found.items():
                row = {"method": method, "h": value, "metric": metric, "value": number.item()}
                yield {**row, "n": len(y)}


def _counts(points: Tensor, y: Tensor, inside: Tensor) -> Tensor:
    """Number of points `(n, m, 2)` in each cell that count, with shape `(n, K)`."""
    winner = winners(points, y)
    return points.new_zeros(points.shape[:2]).scatter_add_(1, winner, inside.to(points))


def _nll(
    points: Tensor, masses: Tensor, y: Tensor, inside: Tensor, box: Box
) -> tuple[Tensor, Tensor]:
    """Mean and variance over points `(n, m, 2)` of the uniform kernel's -log p, `(n,)` each."""
    law = VoronoiMixture(points, masses, Uniform(), box)
    nll = -law.log_prob(y.transpose(0, 1)).T
    count = inside.sum(1)
    mean = torch.where(inside, nll, 0.0).sum(1) / count
    square = torch.where(inside, nll - mean[:, None], 0.0).square().sum(1)
    return mean, square / (count - 1)
