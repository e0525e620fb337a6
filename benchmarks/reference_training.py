"""The plain way to train a WTA network, for comparison: a head for each output, a DataLoader."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy
from torch.utils.data import DataLoader, TensorDataset


class Heads(nn.Module):
    """Trunk of a few layers, then two linear layers for each of K hypotheses."""

    def __init__(self, inputs: int, outputs: int, count: int, widths: Sequence[int]) -> None:
        super().__init__()
        sizes, layers = [inputs, *widths], []
        for before, after in zip(sizes, widths, strict=False):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.trunk = nn.Sequential(*layers)
        self.points = nn.ModuleList(nn.Linear(widths[-1], outputs) for _ in range(count))
        self.scores = nn.ModuleList(nn.Linear(widths[-1], 1) for _ in range(count))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.trunk(x)
        points = torch.stack([torch.tanh(head(features)) for head in self.points], 1)
        scores = torch.cat([torch.sigmoid(head(features)) for head in self.scores], 1)
        return points, scores


def loss(points: Tensor, scores: Tensor, y: Tensor) -> Tensor:
    distance, winner = (points - y[:, None]).square().sum(-1).min(1)
    target = torch.zeros_like(scores).scatter(1, winner[:, None], 1.0)
    cross_entropy = binary_cross_entropy(scores, target, reduction="none").sum(1)
    return (distance + cross_entropy).mean()


class Training:
    """A network of K hypotheses and its rows; each call of `epoch` passes over them once."""

    def __init__(
        self,
        count: int,
        widths: Sequence[int],
        train: tuple[Tensor, Tensor],
        held_out: tuple[Tensor, Tensor],
        batch: int,
    ) -> None:
        self.network = Heads(train[0].shape[1], train[1].shape[1], count, widths)
        self.adam = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        self.rows = DataLoader(TensorDataset(*train), batch_size=batch, shuffle=True)
        self.held_out = DataLoader(TensorDataset(*held_out), batch_size=batch)

    def epoch(self) -> float:
        """Trains for an epoch; the mean loss over the batches of the held-out rows."""
        for x, y in self.rows:
            self.adam.zero_grad()
            loss(*self.network(x), y).backward()
            self.adam.step()
        with torch.no_grad():
            values = [loss(*self.network(x), y).item() for x, y in self.held_out]
        return sum(values) / len(values)
