"""The counter of operations, on a step that can be counted by hand."""

import torch
from loading import load_module
from torch import nn

launches = load_module("benchmarks/launches.py")


def test_a_product_and_its_gradients() -> None:
    layer, x = nn.Linear(3, 5, bias=False), torch.ones(7, 3)
    with launches.Counter() as counter:
        out = layer(x)
        forward = counter.counts()
        out.view(35).sum().backward()
    product = 2 * 7 * 3 * 5
    assert forward == (product, 4 * (7 * 3 + 3 * 5 + 7 * 5), 1)
    assert counter.counts().flops == 2 * product  # x has no gradient


def test_views_and_empty_tensors_are_free() -> None:
    x = torch.ones(4, 5)
    with launches.Counter() as counter:
        x.T.reshape(20).unsqueeze(0)
        torch.empty(3)
        x[1:].expand(3, 3, 5)
    assert counter.counts() == (0, 2 * 80, 1)  # reshape copies


def test_shared_values_are_counted_once() -> None:
    assert launches.size(torch.ones(2).expand(100, 2)) == 8
    assert launches.size("no tensor") == 0
