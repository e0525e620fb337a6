"""A device that is not there: its tensors hold real numbers, and refuse what a GPU refuses.

A tensor on it claims to lie on a device of another type, while its numbers lie in an ordinary
tensor that only this module sees. Each operation of torch passes through :meth:`Pretence.run`,
which

* refuses to mix both devices, and to draw with a generator of the CPU;
* counts the operations for which a program that uses a GPU waits for it (`waits`);
* computes the outcome on the CPU, so that it can be compared.

The type of the device is `lazy`: it is the only one besides the CPU's whose gradients torch
computes without a driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from sys import _getframe
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten

DEVICE = torch.device("lazy", 0)
CPU = torch.device("cpu")
FUSED = "torch.optim.optimizer._get_fused_kernels_supported_devices"
SOURCES = str(Path(__file__).parents[2] / "src")

# The shape or a number of the outcome is needed before the program can go on.
READS = {
    aten._local_scalar_dense.default,
    aten._unique2.default,
    aten.bincount.default,
    aten.equal.default,
    aten.is_nonzero.default,
    aten.linalg_eigh.default,  # whether it has converged
    aten._linalg_eigh.default,
    aten._linalg_svd.default,
    aten.masked_select.default,
    aten.nonzero.default,
    aten.repeat_interleave.Tensor,
    aten.unique_consecutive.default,
    aten.unique_dim.default,
}
INDEXING = {
    aten.index.Tensor,
    aten._unsafe_index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}


class Mixed(RuntimeError):
    """Raised where a GPU would refuse tensors or generators of different devices."""


class Away(Tensor):
    """A tensor on the pretended device, whose numbers lie in `content`."""

    content: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, content: Tensor, requires_grad: bool = False) -> Away:
        like = {"dtype": content.dtype, "layout": content.layout, "device": DEVICE}
        strides = {"strides": content.stride(), "storage_offset": content.storage_offset()}
        tensor: Away = Tensor._make_wrapper_subclass(
            cls, content.size(), **strides, **like, requires_grad=requires_grad
        )
        return tensor

    def __init__(self, content: Tensor, requires_grad: bool = False) -> None:
        self.content = content

    def __repr__(self, **_: Any) -> str:
        return f"Away({self.content})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copy = Away(self.content.detach().clone(), self.requires_grad)
        if getattr(self, "_is_param", False):
            copy = torch.nn.Parameter(copy, self.requires_grad)
        memo[id(self)] = copy
        return copy

    def tolist(self) -> Any:
        Pretence.note("tolist")
        return self.content.tolist()

    def new_tensor(self, data: Any, dtype: torch.dtype | None = None, **_: Any) -> Away:
        Pretence.note("new_tensor")
        return Away(torch.tensor(data, dtype=dtype or self.dtype))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return Pretence.run(func, args, kwargs or {})


class Pretence(TorchDispatchMode):
    """While it is entered, tensors can be made on the pretended device and moved to it."""

    waits: ClassVar[list[str]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.run(func, args, kwargs or {})

    @classmethod
    def note(cls, what: str) -> None:
        """Counts a wait for the device."""
        cls.waits.append(f"{_place()}: {what}")

    @classmethod
    def run(cls, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The outcome of an operation, whichever device it is on."""
        tensors = _tensors((*args, *kwargs.values()))
        away = any(isinstance(tensor, Away) for tensor in tensors)
        asked = kwargs.get("device")
        target = (torch.device(asked) if asked is not None else DEVICE if away else CPU).type
        if func is aten._to_copy.default:
            cls._note_transfer(func, away, target == DEVICE.type, kwargs)
        elif func is aten.copy_.default:
            cls._note_transfer(func, *(isinstance(one, Away) for one in args[:2]), kwargs)
        elif away:
            cls._refuse_mixture(func, args, tensors)
            cls._note_reads(func, args)
        if away or target == DEVICE.type:
            _refuse_generators(func, args, kwargs)
        if asked is not None:
            kwargs = {**kwargs, "device": CPU}
        outcome = func(*map(_content, args), **{key: _content(kwargs[key]) for key in kwargs})
        return _outcome(func, args, kwargs, outcome, target == DEVICE.type)

    @classmethod
    def _note_transfer(cls, func: Any, one: bool, other: bool, kwargs: dict[str, Any]) -> None:
        if one != other and not kwargs.get("non_blocking"):
            cls.note(f"{func} between devices")

    @classmethod
    def _refuse_mixture(cls, func: Any, args: Sequence[Any], tensors: Sequence[Tensor]) -> None:
        """Numbers of the CPU may be used everywhere, and indices to index a tensor elsewhere."""
        here = [tensor for tensor in tensors if not isinstance(tensor, Away)]
        if func in INDEXING and isinstance(args[0], Away):
            here = [one for one in args[2:3] if not isinstance(one, Away)]
        joined = func in (aten.cat.default, aten.stack.default)
        if bad := [tuple(one.shape) for one in here if one.dim() or joined]:
            there = [tuple(one.shape) for one in tensors if isinstance(one, Away)]
            raise Mixed(f"{_place()}: {func}: {bad} on the CPU, {there} elsewhere")

    @classmethod
    def _note_reads(cls, func: Any, args: Sequence[Any]) -> None:
        if func in READS:
            cls.note(str(func))
        elif func is aten.multinomial.default and (args[1] == 1 or not any(args[2:3])):
            cls.note("multinomial without replacement")
            cls.note("multinomial without replacement")  # it checks for infinite sums, and for 0
        elif func in INDEXING:
            found = [index for index in args[1] if index is not None]
            masks = any(index.dtype in (torch.bool, torch.uint8) for index in found)
            if masks and not (len(args) > 2 and _is_number(args[2])):  # that fills, without a wait
                cls.note(f"{func} by a mask")
            if not all(isinstance(index, Away) for index in found):
                cls.note(f"{func} by indices of the CPU")


class Calls(TorchFunctionMode):
    """Replaces what torch does without telling the dispatcher, or by changing shapes in place."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        device = kwargs.get("device")
        literal = func in (torch.tensor, torch.as_tensor) and not isinstance(args[0], Tensor)
        if literal and device is not None and torch.device(device).type == DEVICE.type:
            Pretence.note(func.__name__)
            return Away(func(*args, **{**kwargs, "device": CPU}))
        if func is torch.gru and isinstance(args[0], Away):
            return _gru(*args)
        if func is torch.quantile and isinstance(args[0], Away):
            return Away(func(args[0].content, *args[1:], **kwargs))
        return func(*args, **kwargs)


@contextmanager
def pretended() -> Iterator[list[str]]:
    """Lets the device exist, and gives the waits for it, which are counted from here."""
    Pretence.waits = []
    fused, module = ["cpu", DEVICE.type], SimpleNamespace(_initialized=False)
    with ExitStack() as stack:
        stack.enter_context(patch(FUSED, lambda: fused))
        stack.enter_context(patch.object(torch, DEVICE.type, module, create=True))
        stack.enter_context(Calls())
        stack.enter_context(Pretence())
        yield Pretence.waits


def told(waits: list[str]) -> str:
    """Waits and how often each occurred, for a message."""
    return "\n".join(f"{count} x {what}" for what, count in Counter(waits).most_common())


def away(tensor: Tensor) -> Tensor:
    """A copy of a tensor on the device; no wait is counted."""
    return Away(tensor.detach().clone(), tensor.requires_grad)


def home(found: Any) -> Any:
    """Tensors anywhere in an outcome as ordinary ones; no wait is counted."""
    return tree_map(lambda one: one.content if isinstance(one, Away) else one, found)


def places(found: Any) -> set[str]:
    """Types of the devices of all tensors in an outcome."""
    return {leaf.device.type for leaf in tree_leaves(found) if isinstance(leaf, Tensor)}


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    """Tensors among the arguments of an operation, which are values or lists of values."""
    flat = (
        one for value in values for one in (value if isinstance(value, (list, tuple)) else (value,))
    )
    return [one for one in flat if isinstance(one, Tensor)]


def _content(value: Any) -> Any:
    """The numbers of a tensor, or of a list of tensors, of the device."""
    if isinstance(value, (list, tuple)):
        return [_content(one) for one in value]
    return value.content if isinstance(value, Away) else value


def _claim(value: Any) -> Any:
    """The same tensor, or list of tensors, on the device."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_claim, value))
    return Away(value) if isinstance(value, Tensor) else value


def _is_number(value: Tensor) -> bool:
    return not isinstance(value, Away) and value.numel() == 1


def _refuse_generators(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Generator) and value.device.type != DEVICE.type:
            raise Mixed(f"{_place()}: {func}: a generator of {value.device} draws elsewhere")


def _outcome(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], value: Any, is_away: bool
) -> Any:
    """What an operation returns: its own arguments, if it wrote into them."""
    written = [
        args[place] if place < len(args) else kwargs.get(name) for place, name in _written(func)
    ]
    if written:
        for one in _tensors(written):
            if isinstance(one, Away) and one.shape != one.content.shape:
                raise NotImplementedError(f"{_place()}: {func} changes a shape in place")
        returns = len(func._schema.returns)
        return None if returns == 0 else written[0] if returns == 1 else tuple(written)
    if not is_away:
        return value
    return _claim(value)


@cache
def _written(func: Any) -> list[tuple[int, str]]:
    """Places and names of the arguments that an operation writes into."""
    arguments = enumerate(func._schema.arguments)
    written = ((place, one) for place, one in arguments if one.alias_info is not None)
    return [(place, one.name) for place, one in written if one.alias_info.is_write]


def _gru(
    x: Tensor, first: Tensor, weights: Sequence[Tensor], biases: bool, layers: int, *_: Any
) -> tuple[Tensor, Tensor]:
    """Gated recurrent units that read `(B, T, f)` in both directions, step by step."""
    assert biases
    assert len(weights) == 8 * layers
    for layer in range(layers):
        there, back = (weights[start : start + 4] for start in (8 * layer, 8 * layer + 4))
        forwards = _read(x, first[2 * layer], *there)
        backwards = _read(x.flip(1), first[2 * layer + 1], *back).flip(1)
        x = torch.cat([forwards, backwards], -1)
    return x, first


def _read(
    x: Tensor, state: Tensor, w_input: Tensor, w_state: Tensor, b_input: Tensor, b_state: Tensor
) -> Tensor:
    """States of one layer in one direction, `(B, T, width)`."""
    states = []
    for gates in linear(x, w_input, b_input).unbind(1):
        reset, update, new = gates.chunk(3, -1)
        old_reset, old_update, old_new = linear(state, w_state, b_state).chunk(3, -1)
        update = torch.sigmoid(update + old_update)
        new = torch.tanh(new + torch.sigmoid(reset + old_reset) * old_new)
        state = (1 - update) * new + update * state
        states.append(state)
    return torch.stack(states, 1)


def _place() -> str:
    """Where in the package the last call came from."""
    frame = _getframe(1)
    while frame.f_back is not None:
        if frame.f_code.co_filename.startswith(SOURCES):
            return f"{frame.f_code.co_filename[len(SOURCES) + 1 :]}:{frame.f_lineno}"
        frame = frame.f_back
    return "elsewhere"


Move = Callable[[Tensor], Tensor]
