"""Losses on the sphere against plain loops."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import vonmises_fisher
from torch import Tensor

from vwta.geometry.grids import bin_directions
from vwta.geometry.spaces import unit
from vwta.nn.heads import Components, Hypotheses
from vwta.nn.losses import (
    scoring,
    sphere_mixture,
    sphere_scoring,
    sphere_winner_distance,
    sphere_wta,
)

B, T, K, S = 2, 6, 5, 3


def draw(K: int = K) -> tuple[Hypotheses, Tensor, Tensor]:
    """Frames with any number of targets from 0 to S; nan where there is none."""
    source = torch.Generator().manual_seed(0)
    points = unit(torch.randn(B, T, K, 3, generator=source, dtype=torch.float64))
    logits = torch.randn(B, T, K, generator=source, dtype=torch.float64)
    y = unit(torch.randn(B, T, S, 3, generator=source, dtype=torch.float64))
    active = torch.rand(B, T, S, generator=source) < 0.5
    active[0, 0], active[0, 1] = False, True
    y[~active] = math.nan
    return Hypotheses(points.requires_grad_(), logits.requires_grad_()), y, active


def loop(hypotheses: Hypotheses, y: Tensor, active: Tensor) -> tuple[list[float], list[float]]:
    """Distances of the active targets, and cross-entropies of the frames that have one."""
    distances, entropies = [], []
    for b in range(B):
        for t in range(T):
            winners = set()
            for s in range(S):
                if not active[b, t, s]:
                    continue
                row = [math.acos(float(z @ y[b, t, s])) for z in hypotheses.points[b, t].detach()]
                distances.append(min(row))
                winners.add(row.index(min(row)))
            if winners:
                scores = hypotheses.logits[b, t].sigmoid().tolist()
                entropies.append(
                    -sum(math.log(p if k in winners else 1 - p) for k, p in enumerate(scores))
                )
    return distances, entropies


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_wta_is_the_loop(reduction: str) -> None:
    hypotheses, y, active = draw()
    distances, entropies = loop(hypotheses, y, active)
    assert len(distances) == active.sum()
    assert len(entropies) < B * T
    distance, scores = np.mean(distances), np.mean(entropies) / (K if reduction == "mean" else 1)
    loss = sphere_wta(hypotheses, y, active, beta=0.7, score_reduction=reduction)
    assert loss.item() == pytest.approx(distance + 0.7 * scores)
    assert sphere_winner_distance(hypotheses, y, active).item() == pytest.approx(distance)
    assert sphere_scoring(hypotheses, y, active, reduction).item() == pytest.approx(scores)


def test_only_winners_and_heard_frames_move() -> None:
    hypotheses, y, active = draw()
    sphere_wta(hypotheses, y, active, beta=1.0, score_reduction="sum").backward()
    assert torch.isfinite(hypotheses.points.grad).all()
    cosines = torch.einsum("btsi,btki->btsk", y.nan_to_num(), hypotheses.points.detach())
    won = torch.nn.functional.one_hot(cosines.argmax(-1), K).bool() & active.unsqueeze(-1)
    assert torch.equal(hypotheses.points.grad.abs().sum(-1) > 0, won.any(-2))
    heard = active.any(-1, keepdim=True).expand(B, T, K)
    assert torch.equal(hypotheses.logits.grad != 0, heard)


def test_two_targets_of_one_winner_give_one_label() -> None:
    points = torch.tensor([[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]])
    logits = torch.tensor([[50.0, -50.0]])
    y = unit(torch.tensor([[[1.0, 0.1, 0.0], [1.0, 0.0, -0.1]]]))
    loss = sphere_scoring(Hypotheses(points, logits), y, torch.ones(1, 2, dtype=torch.bool), "sum")
    assert loss.item() == pytest.approx(0, abs=1e-12)


def test_single_targets_are_the_loss_of_the_plane() -> None:
    """With one target a frame, scores learn as in the other studies."""
    hypotheses, y, _ = draw()
    y = unit(torch.nan_to_num(y[..., :1, :], 0.5))
    active = torch.ones(B, T, 1, dtype=torch.bool)
    expected = scoring(hypotheses, y.squeeze(-2), "sum").mean()
    assert sphere_scoring(hypotheses, y, active, "sum").item() == pytest.approx(expected.item())


def test_histogram_is_scored_by_the_nearest_centre() -> None:
    hypotheses, y, active = draw(K=20)
    fixed = Hypotheses(bin_directions(5, 4).expand(B, T, 20, 3), hypotheses.logits)
    expected = np.mean(loop(fixed, y, active)[1])
    assert sphere_scoring(fixed, y, active, "sum").item() == pytest.approx(expected)


def test_silence_has_no_loss() -> None:
    hypotheses, y, _ = draw()
    silent = torch.zeros(B, T, S, dtype=torch.bool)
    flat = Components(*hypotheses, -hypotheses.logits)
    for loss in (
        sphere_wta(hypotheses, y, silent, beta=1.0, score_reduction="mean"),
        sphere_mixture(flat, y, silent),
    ):
        assert loss.item() == 0
        for gradient in torch.autograd.grad(loss, [*hypotheses]):
            assert (gradient == 0).all()


def test_hypotheses_on_and_opposite_to_targets_train() -> None:
    points = torch.tensor([[[0.0, 0.0, 1.0]], [[0.0, 0.0, -1.0]]], requires_grad=True)
    y = torch.tensor([0.0, 0.0, 1.0]).expand(2, 1, 3)
    hypotheses = Hypotheses(points, torch.zeros(2, 1))
    loss = sphere_wta(hypotheses, y, torch.ones(2, 1, dtype=torch.bool), 1.0, "sum")
    assert loss.item() == pytest.approx(math.pi / 2 + math.log(2))
    loss.backward()
    assert torch.isfinite(points.grad).all()


@pytest.mark.parametrize("log10", range(-6, 7))
def test_one_component_against_scipy(log10: int) -> None:
    """Scipy's normaliser comes from a Bessel function; kappa w stays of order 1."""
    kappa = 10.0**log10
    mean = np.array([0.36, 0.48, 0.8])
    turn = min(1.0, kappa**-0.5)
    y = math.cos(turn) * mean + math.sin(turn) * np.array([0.8, -0.6, 0.0])
    log_kappa = torch.tensor([math.log(kappa)], dtype=torch.float64)
    components = Components(torch.tensor(mean)[None], torch.zeros(1), -log_kappa)
    loss = sphere_mixture(components, torch.tensor(y)[None], torch.tensor([True]))
    expected = -vonmises_fisher(mean, kappa).logpdf(y)
    # Scipy computes kappa cos - kappa, which loses digits as kappa grows.
    assert loss.item() == pytest.approx(expected, abs=1e-12 + kappa * 1e-14)


@pytest.mark.parametrize("log10", range(-6, 7))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_component_integrates_to_one(log10: int, dtype: torch.dtype) -> None:
    """By Gauss-Legendre nodes in w = 1 - cos(angle), where the density is not negligible."""
    kappa = 10.0**log10
    nodes, weights = np.polynomial.legendre.leggauss(60)
    reach = min(2.0, 40 / kappa)
    w = torch.from_numpy(reach * (nodes + 1) / 2)
    sine = (w * (2 - w)).sqrt()
    y = torch.stack([sine, 0 * w, 1 - w], -1).to(dtype).unsqueeze(-2)
    north = torch.tensor([0.0, 0.0, 1.0], dtype=dtype).expand(1, 3)
    log_kappa = torch.tensor([math.log(kappa)], dtype=dtype)
    components = Components(north, torch.zeros(1, dtype=dtype), -log_kappa)
    yes = torch.tensor([True])
    density = torch.stack([-sphere_mixture(components, point, yes) for point in y]).double().exp()
    total = 2 * math.pi * reach / 2 * (density * torch.from_numpy(weights)).sum().item()
    assert total == pytest.approx(1, abs=1e-5 if dtype == torch.float32 else 1e-8)


@pytest.mark.parametrize("log10", range(-6, 7))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_of_the_concentration(log10: int, dtype: torch.dtype) -> None:
    r"""It is :math:`\kappa w - 1 + 2 \kappa / (e^{2 \kappa} - 1)` for its logarithm."""
    kappa = 10.0**log10
    log_kappa = torch.tensor([math.log(kappa)], dtype=dtype, requires_grad=True)
    north = torch.tensor([[0.0, 0.0, 1.0]], dtype=dtype)
    components = Components(north, torch.zeros(1, dtype=dtype), -log_kappa)
    sphere_mixture(components, north, torch.tensor([True])).backward()
    expected = -1 + (2 * kappa / math.expm1(2 * kappa) if kappa < 300 else 0)
    tolerance = 1e-6 if dtype == torch.float32 else 1e-14
    assert log_kappa.grad.item() == pytest.approx(expected, abs=tolerance)


def test_mixture_is_the_loop() -> None:
    hypotheses, y, active = draw()
    components = Components(*hypotheses, -2 * hypotheses.logits.detach().flip(-1))
    total = 0.0
    for b, t, s in active.nonzero().tolist():
        kappas = (-components.log_variances[b, t]).exp()
        cosines = components.points[b, t] @ y[b, t, s]
        densities = kappas / (4 * math.pi * kappas.sinh()) * (kappas * cosines).exp()
        total -= math.log((components.masses[b, t] * densities).sum().item())
    loss = sphere_mixture(components, y, active)
    assert loss.item() == pytest.approx(total / int(active.sum()))
    loss.backward()
    assert all(torch.isfinite(part.grad).all() for part in hypotheses)


def test_mixture_stays_finite_far_away() -> None:
    """No density here is a float, but their logarithms are."""
    log_kappas = torch.full((1, 2), math.log(1e6), requires_grad=True)
    points = torch.tensor([[[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], requires_grad=True)
    y = torch.tensor([[[0.0, 0.0, -1.0]]])
    components = Components(points, torch.zeros(1, 2), -log_kappas)
    loss = sphere_mixture(components, y, torch.ones(1, 1, dtype=torch.bool))
    assert loss.item() == pytest.approx(1e6, rel=1e-4)
    loss.backward()
    assert torch.isfinite(points.grad).all()
    assert torch.isfinite(log_kappas.grad).all()
