"""Networks with local kernels for directions, and their loss."""

import math

import pytest
import torch

from vwta.geometry.spaces import Sphere, unit
from vwta.nn.densities import LocalDensity, local_law, sphere_local, sphere_local_nll
from vwta.nn.local import LocalAtoms
from vwta.nn.local_directions import LocalDirectionHead, LocalDirectionNetwork
from vwta.nn.seldnet import Sizes

SIZES = Sizes(channels=4, frames=10, bands=8, filters=4, pools=[4], width=6, layers=1)


def atoms_of(*shape: int, K: int = 5) -> LocalAtoms:
    torch.manual_seed(0)
    head = LocalDirectionHead(6, K)
    torch.nn.init.normal_(head.weight)
    atoms = head(torch.randn(*shape, 6))
    assert isinstance(atoms, LocalAtoms)
    return atoms


def test_head_gives_unit_vectors_and_widths_within_bounds() -> None:
    atoms = atoms_of(50)
    for vectors in (atoms.points, atoms.centres, atoms.cells):
        torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(50, 5))
    assert atoms.log_scales.min() >= math.log(0.02)
    torch.testing.assert_close(atoms.masses.sum(-1), torch.ones(50))
    start = LocalDirectionHead(6, 5, log_scale=-0.4)(torch.zeros(6))
    torch.testing.assert_close(start.centres, start.points)  # at the atoms, as plain kernels
    torch.testing.assert_close(start.log_scales, torch.full((5,), -0.4))
    with pytest.raises(ValueError, match="shape"):
        LocalDirectionNetwork(hypotheses=5, **SIZES)(torch.rand(2, 8, 10, 8))


def test_loss_is_that_of_the_law_of_each_target() -> None:
    atoms, active = atoms_of(2, 4), torch.rand(2, 4, 3) < 0.6
    active[0, 0], active[1, 2] = False, True
    y = unit(torch.randn(2, 4, 3, 3))
    nll, distance = [], []
    for b, t, s in torch.nonzero(active).tolist():
        law = local_law(LocalAtoms(*(part[b, t] for part in atoms)), atoms.points[b, t], Sphere())
        nll.append(-law.log_prob(y[b, t, s]))
        distance.append((atoms.points[b, t] - y[b, t, s]).square().sum(-1).min())
    y[~active] = math.nan
    found = sphere_local_nll(atoms, y, active)
    torch.testing.assert_close(found, torch.stack(nll).mean())
    expected = found + 3 * torch.stack(distance).mean()
    torch.testing.assert_close(sphere_local(atoms, y, active, distance=3.0), expected)
    assert sphere_local(atoms, y, torch.zeros_like(active)) == 0


def test_likelihood_moves_kernels_and_scores_but_no_hypotheses() -> None:
    torch.manual_seed(0)
    network = LocalDirectionNetwork(hypotheses=5, **SIZES)
    x, y = torch.rand(2, 4, 10, 8), unit(torch.randn(2, 10, 2, 3))
    active = torch.ones(2, 10, 2, dtype=torch.bool)
    sphere_local_nll(network(x), y, active).backward()
    gradient = network.heads.weight.grad
    assert isinstance(gradient, torch.Tensor)
    angles, steps, b, h, scores = gradient.split([10, 15, 1, 5, 5])
    assert not angles.any()
    for part in (steps, b, h, scores):
        assert part.isfinite().all()
        assert part.any()
    network.zero_grad()
    sphere_local(network(x), y, active).backward()
    assert network.heads.weight.grad[:10].any()
    law = LocalDensity(network, Sphere())(x)
    assert law.log_prob(y[:, :, 0]).shape == (2, 10)
