"""Notes below the tables of the audio study."""

from __future__ import annotations

__all__ = [
    "DENOMINATOR",
    "DISTORTION",
    "HISTOGRAM",
    "LOCAL",
    "PERFECTION",
    "PRINTED_SIZES",
    "SCENES",
    "TRUTH",
    "UNIFORM",
    "VOLUMES",
    "on_sizes",
]

import math
from collections.abc import Mapping

from vwta.paper.audio.distortion import DIVISOR

DISTORTION = (
    "Distortion: mean squared angle between a target and the nearest atom (of M-vMF: the nearest "
    f"mean direction), in rad², and on the printed scale, 100 × rad² / {DIVISOR}. The published "
    "evaluation multiplies by 100 and divides once more by the number of active items of a batch. "
    "The printed Histogram, which needs no training, tells this divisor."
)
VOLUMES = "Our volumes of the cells are exact; the paper estimates them with random points."
HISTOGRAM = "Hist has uniform kernels: no bandwidth, so that its NLL is the same for all h."
SCENES = {
    "resynthesis": (
        "Scenes were re-synthesised from the sounds that ANSYN was made of: numbers are not "
        "comparable one to one with the printed ones."
    ),
    "synthetic": (
        "Scenes were synthesised from artificial sounds: numbers are not comparable one to one "
        "with the printed ones."
    ),
}
# Of the paper: frequency bands of a recording, and of the trunk the filters, width and layers.
PRINTED_SIZES = {"bands": 1024, "filters": 64, "width": 128, "layers": 4}
UNIFORM = f"The uniform density has log 4π = {math.log(4 * math.pi):.2f}."
LOCAL = "h of local kernels: the factor on all of their bandwidths, with a temperature of scores."
PERFECTION = (
    "Perfect learner: it knows the true law of a frame, and is measured on some test targets. "
    "V-WTA and K-WTA have the atoms of Lloyd's algorithm and the best bandwidth for these very "
    "targets: with these atoms no h has a lower NLL. M-vMF is fitted by EM: the best K modes have "
    "an expected NLL of at most its own, and at least the true law's."
)
DENOMINATOR = (
    "Over all places: as the published evaluation has the NLL of M-vMF, divided by the number of "
    "all places for a source, taken or not; of the other methods, and in all other lines here, by "
    "the number of sources."
)
TRUTH = "The true law has the lowest expected NLL; it does not depend on K."


def on_sizes(sizes: Mapping[str, int]) -> list[str]:
    """A note on those sizes that are not the paper's, if there are any.

    Arguments:
        sizes: those of the keys of :data:`PRINTED_SIZES`.
    """
    if sizes == PRINTED_SIZES:
        return []
    names = {
        "bands": "frequency bands",
        "filters": "filters of each convolution",
        "width": "width of a recurrent layer",
        "layers": "recurrent layers",
    }
    other = [
        f"{name} {sizes[key]} in place of {PRINTED_SIZES[key]}"
        for key, name in names.items()
        if sizes[key] != PRINTED_SIZES[key]
    ]
    return [f"Networks are not of the paper's size: {', '.join(other)}."]
