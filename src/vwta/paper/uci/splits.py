"""Rows of a data set in all splits: standardised, cut into training, validation and test."""

from __future__ import annotations

__all__ = ["Division", "Scaling", "divide"]

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from vwta.paper.uci.regression import Split
from vwta.seeds import generator
from vwta.training.stacking import Rows


class Scaling(NamedTuple):
    """Mean and standard deviation of each column of a UCI data set, `(S, 1, c)`, in each split."""

    mean: Tensor
    deviation: Tensor


@dataclass(frozen=True)
class Division:
    """The rows of S splits of a UCI data set, standardised again each time they are asked for.

    They are in float64.

    Attributes:
        inputs: of the whole table, with shape `(N, d)`.
        target: likewise, with shape `(N,)`.
        train_rows: numbers of the rows to train on, with shape `(S, n)`.
        validation_rows: of those by which epochs and bandwidths are chosen.
        whole_rows: of all on the training side of the split.
        test_rows: of those on its test side.
        x_scaling: by which inputs are standardised.
        y_scaling: by which targets are.
    """

    inputs: Tensor
    target: Tensor
    train_rows: Tensor
    validation_rows: Tensor
    whole_rows: Tensor
    test_rows: Tensor
    x_scaling: Scaling
    y_scaling: Scaling

    @property
    def train(self) -> Rows:
        return self._rows(self.train_rows)

    @property
    def validation(self) -> Rows:
        return self._rows(self.validation_rows)

    @property
    def whole(self) -> Rows:
        return self._rows(self.whole_rows)

    @property
    def test(self) -> Rows:
        return self._rows(self.test_rows)

    @property
    def mean(self) -> Tensor:
        """Mean of the targets on the training side, with shape `(S,)`."""
        return self.y_scaling.mean.flatten()

    @property
    def scale(self) -> Tensor:
        """Their standard deviation, with shape `(S,)`."""
        return self.y_scaling.deviation.flatten()

    def _rows(self, index: Tensor) -> Rows:
        x, y = self.inputs[index], self.target[index][..., None]
        for values, scaling in ((x, self.x_scaling), (y, self.y_scaling)):
            values.sub_(scaling.mean).div_(scaling.deviation)
        return Rows(x, y)


def divide(
    inputs: Tensor, target: Tensor, splits: Sequence[Split], held_out: float | None, seed: int
) -> Division:
    """Divides a UCI data set into the rows of its splits.

    Inputs and targets are standardised by mean and standard deviation of the rows on the training
    side; columns that do not vary there are only centred.

    Arguments:
        inputs: with shape `(N, d)`.
        target: with shape `(N,)`.
        splits: S splits, all with the same number of rows on each side.
        held_out: part of the training rows, chosen at random, that is for validation; None to
            train on all of them and to validate on the test rows, as the published code does.
        seed: seed of the choice.

    Example:
        >>> from vwta.paper.uci.regression import splits
        >>> parts = divide(torch.rand(10, 2), torch.rand(10), splits(10, 3), 0.2, seed=1)
        >>> [tuple(rows.x.shape) for rows in (parts.train, parts.validation, parts.test)]
        [(3, 7, 2), (3, 2, 2), (3, 1, 2)]
    """
    sides = [[torch.from_numpy(side) for side in split] for split in splits]
    whole, test = (torch.stack(side) for side in zip(*sides, strict=True))
    train, validation = (whole, test) if held_out is None else _cut(whole, held_out, seed)
    scalings = _scaling(inputs[whole]), _scaling(target[whole][..., None])
    return Division(inputs, target, train, validation, whole, test, *scalings)


def _scaling(values: Tensor) -> Scaling:
    """That of values `(S, n, c)`; columns that do not vary are divided by 1."""
    mean = values.mean(1, keepdim=True)
    constant = (values == values[:, :1]).all(1, keepdim=True)
    deviation = values.sub_(mean).square_().mean(1, keepdim=True).sqrt()
    return Scaling(mean, deviation.masked_fill(constant, 1.0))


def _cut(whole: Tensor, part: float, seed: int) -> tuple[Tensor, Tensor]:
    """Row numbers `(S, n)` cut at random into those to train on and the part to validate on."""
    n = whole.shape[1]
    count = min(max(round(part * n), 1), n - 1)
    orders = [
        torch.randperm(n, generator=generator(seed, "validation", split))
        for split in range(len(whole))
    ]
    mixed = whole.take_along_dim(torch.stack(orders), 1)
    return mixed[:, count:], mixed[:, :count]
