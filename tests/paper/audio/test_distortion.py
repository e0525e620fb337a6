"""The divisor of the printed distortions, by the Histogram, which needs no training."""

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from loading import ROOT

from vwta.geometry.angles import from_degrees
from vwta.geometry.grids import bin_directions
from vwta.paper.audio.ansyn import AZIMUTHS, CLASSES, ELEVATIONS
from vwta.paper.audio.distortion import DIVISOR
from vwta.paper.audio.perturbation import Perturbation

AUDIO = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))["audio"]
DRAWS = 20  # for each direction and class: 95,000 in all


def histogram_risk(rows: int, columns: int) -> float:
    """Mean squared angle between a noised direction of the data's grid and the nearest centre."""
    angles = np.array([(a, e) for a in AZIMUTHS for e in ELEVATIONS], dtype=float)
    direction = torch.from_numpy(from_degrees(*angles.T))
    shape = (DRAWS, len(direction), len(CLASSES))
    kind = torch.arange(len(CLASSES)).expand(shape)
    source = torch.Generator().manual_seed(1234)
    y = Perturbation(AUDIO["noise"]).draw(direction[:, None].expand(*shape, 3), kind, source)
    cosine = (y @ bin_directions(rows, columns).T).amax(-1)
    return float(cosine.clamp(-1, 1).acos().square().mean())


@pytest.mark.parametrize(("grid", "K"), [*zip(AUDIO["grids"], AUDIO["K"], strict=True)])
def test_the_printed_histogram_implies_the_divisor(grid: tuple[int, int], K: int) -> None:
    printed = pd.read_csv(ROOT / "config/reported/audio.csv").query("method == 'hist' and K == @K")
    assert 100 * histogram_risk(*grid) / printed["value"].item() == pytest.approx(DIVISOR, rel=0.01)
