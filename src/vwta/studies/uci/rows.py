"""The rows of a set in all its splits: standardised, and cut into training, validation and test."""

from __future__ import annotations

__all__ = ["Division", "divide"]

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vwta.data.regression import Split
from vwta.seeds import generator
from vwta.stacking import Rows


@dataclass(frozen=True)
class Division:
    """The rows of S splits, in float64; inputs and targets are standardised.

    Attributes:
        train: rows to train on.
        validation: rows by which epochs and bandwidths are chosen.
        whole: all rows of the training side of the split.
        test: rows of its test side.
        mean: mean of the targets of `whole`, with shape `(S,)`.
        scale: their standard deviation, likewise.
    """

    train: Rows
    validation: Rows
    whole: Rows
    test: Rows
    mean: Tensor
    scale: Tensor


def divide(
    inputs: Tensor, target: Tensor, splits: Sequence[Split], held_out: float | None, seed: int
) -> Division:
    r"""Divides a table.

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
        >>> from vwta.data.regression import splits
        >>> parts = divide(torch.rand(10, 2), torch.rand(10), splits(10, 3), 0.2, seed=1)
        >>> [tuple(rows.x.shape) for rows in (parts.train, parts.validation, parts.test)]
        [(3, 7, 2), (3, 2, 2), (3, 1, 2)]
    """
    sides = [[torch.from_numpy(side) for side in split] for split in splits]
    whole, test = (torch.stack(side) for side in zip(*sides, strict=True))
    x_mean, x_scale = _moments(inputs[whole])
    y_mean, y_scale = _moments(target[whole][..., None])

    def rows(index: Tensor) -> Rows:
        return Rows(
            (inputs[index] - x_mean) / x_scale, (target[index][..., None] - y_mean) / y_scale
        )

    train, validation = whole, test
    if held_out is not None:
        train, validation = _cut(whole, held_out, seed)
    return Division(
        train=rows(train),
        validation=rows(validation),
        whole=rows(whole),
        test=rows(test),
        mean=y_mean.flatten(),
        scale=y_scale.flatten(),
    )


def _moments(values: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of values `(S, n, c)` over n, `(S, 1, c)`; 1 in place of 0."""
    mean, scale = values.mean(1, keepdim=True), values.std(1, correction=0, keepdim=True)
    constant = (values == values[:, :1]).all(1, keepdim=True)
    return mean, scale.masked_fill(constant, 1.0)


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
