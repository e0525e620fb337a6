"""Every public operation on the pretended device: the CPU's numbers, without mixing devices."""

from fnmatch import fnmatchcase
from typing import Any

import pytest
import torch
from device.operations import OF_ARRAYS, SPACES, Use, place, public, uses, voronoi
from device.pretended import away, home, pretended, told
from torch import Tensor
from torch.utils._pytree import tree_leaves

USES = uses()

# How often operations wait for the device at most, the first that fits; all others never do.
WAITS = {
    "Box*": 3,
    "Sphere*": 1,
    "Gaussian*": 1,
    "VonMisesFisher*": 1,
    "DiracMixture": 4,
    "KernelMixture*": 8,
    "VoronoiMixture.cell_of *": 2,
    "VoronoiMixture.components *": 0,
    "VoronoiMixture.support *": 0,
    "VoronoiMixture.log_cell_mass_error [ps][lp]*": 0,
    "VoronoiMixture *": 12,
    "VoronoiMixture.with_* line": 7,
    "VoronoiMixture.* line*": 5,
    "VoronoiMixture.* solid*": 35,
    "VoronoiMixture.sample sphere": 65,
    "VoronoiMixture.* sphere*": 26,
    "VoronoiMixture.*": 46,
    "ContinuousMixture.components *": 0,
    "ContinuousMixture.support *": 0,
    "ContinuousMixture.with_*": 10,
    "ContinuousMixture.*": 5,
    "ContinuousMixture *": 12,
    "Average plane": 18,
    "Average weights": 25,
    "Average.support *": 0,
    "Average.mean_of *": 1,
    "Average.* weights": 92,
    "Average.*": 56,
    "Robust.support *": 0,
    "Robust.mean_of *": 1,
    "Robust.* line": 14,
    "Robust.*": 84,
    "Robust *": 18,
    "line.cdf *": 7,
    "line.log_mass_between *": 12,
    "line.truncated_kernels weights": 1,
    "line.TruncatedKernels weights": 1,
    "line.TruncatedKernels.*": 2,
    "calibration.pit *": 7,
    "calibration.dequantised *": 11,
    "calibration.crps *": 10,
    "calibration.*": 3,
    "tune cut": 135,
    "adjust": 400,
    "tune uncut": 45,
    "fit": 18,
    "VoronoiRegressor.fit *": 180,
    "load": 180,
    "LocalDensity.forward sphere": 68,
    "LocalDensity.forward *": 31,
    "hdr line*": 1700,
    "scenarios line*": 900,
    "density_rank line*": 150,
    "hdr *": 350,
    "scenarios *": 350,
    "density_rank *": 350,
}


def test_every_public_operation_is_used() -> None:
    used = {use.operation for use in USES}
    assert public() - used == OF_ARRAYS, "add a use to tests/device/operations.py"
    assert used - public() == set()


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_operation(use: Use) -> None:
    torch.manual_seed(0)
    expected = use.prepare(torch.clone)()
    with pretended() as waits:
        torch.manual_seed(0)
        run = use.prepare(away)
        waits.clear()
        found = run()
        count = len(waits)
    same(home(found), expected)
    assert count <= allowed(use.name), told(waits)


def allowed(name: str) -> int:
    """How often an operation may wait."""
    return next((most for pattern, most in WAITS.items() if fnmatchcase(name, pattern)), 0)


@pytest.mark.parametrize("where", SPACES)
def test_waits_do_not_grow_with_rows(where: str) -> None:
    counts = []
    for rows in (8, 80):
        with pretended() as waits:
            voronoi(where, away, rows).log_prob(away(place(where, rows, seed=3)))
        counts.append(len(waits))
    assert counts[1] <= 1.7 * counts[0], told(waits)


def same(found: Any, expected: Any) -> None:
    """Checks that two outcomes have the same numbers."""
    pairs = zip(tree_leaves(found), tree_leaves(expected), strict=True)
    for one, other in pairs:
        if isinstance(one, Tensor):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6, equal_nan=True)
        elif isinstance(one, float):
            assert one == pytest.approx(other, rel=1e-6)
