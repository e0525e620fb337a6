"""Losses of local kernels are the likelihoods of their laws."""

import math

import pytest
import torch

from vwta import Box
from vwta.estimator import local
from vwta.nn.densities import local as loss_of_studies
from vwta.nn.densities import local_nll
from vwta.nn.local import ContinuousAtoms, LocalAtoms

LINE, HALF, BOX = Box(-math.inf, math.inf), Box(-1.0, math.inf), Box(-1.0, 1.5)


def atoms_of(form: str, d: int = 1) -> LocalAtoms | ContinuousAtoms:
    """Atoms of 2 networks with 7 rows; two points coincide in a row, and some lie outside boxes."""
    source = torch.Generator().manual_seed(3)
    z, c = (torch.randn(2, 7, 5, d, generator=source).double() for _ in range(2))
    z[0, 0, 3] = z[0, 0, 1]
    log_h, logits = (torch.randn(2, 7, 5, generator=source).double() / 2 - 1 for _ in range(2))
    for part in (z, c, log_h, logits):
        part.requires_grad_()
    if form == "continuous":
        return ContinuousAtoms(z, c, log_h, z.detach())
    return LocalAtoms(z, logits, c, log_h, z.detach())


def targets(d: int = 1) -> torch.Tensor:
    return torch.linspace(-0.99, 1.49, 14 * d).double().view(2, 7, d)


@pytest.mark.parametrize("form", ["scores", "continuous"])
@pytest.mark.parametrize("domain", [LINE, HALF, BOX], ids=repr)
def test_criterion_is_the_likelihood_of_the_law(form: str, domain: Box) -> None:
    atoms, y = atoms_of(form), targets()
    found = local.objective(domain, 0.0)(atoms, y)
    torch.testing.assert_close(found, -local.law(atoms, domain).log_prob(y).mean(-1))
    whole = local.objective(domain, 10.0)(atoms, y)
    nearest = (atoms.points - y[..., None, :]).square().sum(-1).amin(-1).mean(-1)
    torch.testing.assert_close(whole, found + 10 * nearest)


@pytest.mark.parametrize(("form", "d"), [("scores", 1), ("scores", 2), ("continuous", 1)])
def test_gradients_are_those_of_the_studies_loss(form: str, d: int) -> None:
    background = local.BACKGROUND if d == 1 else None
    found = []
    for loss in (
        lambda atoms, y: local.objective(LINE, 10.0)(atoms, y),
        lambda atoms, y: loss_of_studies(atoms, y, LINE, 10.0, background),
    ):
        atoms = atoms_of(form, d)
        loss(atoms, targets(d)).sum().backward()
        found.append([part.grad for part in atoms if part.requires_grad])
    torch.testing.assert_close(*found)
    atoms = atoms_of(form, d)
    expected = local_nll(atoms, targets(d), LINE, background)
    torch.testing.assert_close(local.objective(LINE, 0.0)(atoms, targets(d)), expected)
