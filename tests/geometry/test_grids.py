"""Centres of the bins of grids against the printed formula."""

import pytest
import torch

from vwta.geometry.angles import from_degrees
from vwta.geometry.grids import bin_directions


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (4, 4), (5, 4), (5, 5)])
def test_bins_follow_the_printed_formula(rows: int, columns: int) -> None:
    pairs = [(i, j) for i in range(1, rows + 1) for j in range(1, columns + 1)]
    azimuths = [-180 + (i - 0.5) * 360 / rows for i, _ in pairs]
    elevations = [-90 + (j - 0.5) * 180 / columns for _, j in pairs]
    expected = torch.from_numpy(from_degrees(azimuths, elevations))
    assert torch.allclose(bin_directions(rows, columns), expected)
