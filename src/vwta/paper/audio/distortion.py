r"""The scale of the printed distortions, calibrated by the Histogram.

The published evaluation multiplies the mean squared angle R, in :math:`\mathrm{rad}^2`, by 100 and
divides it once more by the number of active items of a batch, which is not printed:

.. math:: \text{printed} = 100 R / \text{divisor}

The Histogram's R needs no training: sounds lie on the grid of the data, all classes are as likely,
and the noise on their directions is known. It is .296, .173, .130 and .112 for K = 9, 16, 20 and
25, and implies a divisor of 24.1, 24.1, 23.7 and 23.9. These agree up to 1 %, by which two printed
decimals differ.
"""

from __future__ import annotations

__all__ = ["DIVISOR", "PER_RADIAN_SQUARED"]

DIVISOR = 23.9  # the mean of the four; a test draws them
PER_RADIAN_SQUARED = 100 / DIVISOR  # printed units
