"""Run the samples' programs for GPUs on torch's meta device: its tensors have only sizes.

Computing then takes no time, but torch.utils.flop_counter still counts it.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import islice, repeat
from types import ModuleType, SimpleNamespace
from typing import Any, Self
from unittest import mock

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map
from torch.utils.data import IterableDataset
from torch.utils.flop_counter import FlopCounterMode

from samples.accuracy.coverage import SAMPLES

Counts = dict[str, int]
"""Numbers of operations by op name."""
_CUDA_STUBS = (
    *("synchronize", "empty_cache", "Event", "Stream", "stream", "current_stream"),
    *("set_device", "_sleep"),
)


class Generator(torch.Generator):
    """Stands for the GPU's random generators; it draws nothing."""

    def __new__(cls, *_: object) -> Self:
        """Return one of the CPU's generators."""
        return super().__new__(cls)


class OnMeta(TorchFunctionMode):
    """Runs on the meta device what a program asks of a GPU.

    A number that a program reads back is 1, and a mask selects every element.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return what the function gives for tensors of the meta device."""
        args, kwargs = tree_map(_on_meta, (args, kwargs or {}))
        kwargs.pop("generator", None)
        if func is torch.device and isinstance(args[0], torch.device):
            return args[0]
        first = args[0] if args and isinstance(args[0], Tensor) else None
        # The meta device would decompose attention, and its backward pass would differ.
        if func is functional.scaled_dot_product_attention:
            return attention(*args, **kwargs)
        answer = _READ_BACK.get(getattr(func, "__name__", ""))
        answered: Any = NotImplemented
        if answer and first is not None and any(getattr(arg, "is_meta", False) for arg in args):
            answered = answer(first, *args[1:])
        return func(*args, **kwargs) if answered is NotImplemented else answered


def _on_meta(value: Any) -> Any:
    is_device = isinstance(value, torch.device) and value.type == "cuda"
    is_name = isinstance(value, str) and re.fullmatch(r"cuda(:\d)?", value)
    return torch.device("meta") if is_device or is_name else value


def _copied(target: Tensor, source: Tensor, *_: object) -> Any:
    return target if source.is_meta and not target.is_meta else NotImplemented


def _masked(x: Tensor, place: object) -> Any:
    is_mask = isinstance(place, Tensor) and place.dtype == torch.bool
    return x.flatten() if is_mask else NotImplemented


_READ_BACK: dict[str, Callable[..., Any]] = {
    "item": lambda _: 1.0,
    "__bool__": lambda _: True,
    "tolist": lambda x: torch.ones(x.shape).tolist(),
    "cpu": lambda x: torch.ones(x.shape, dtype=x.dtype),
    "copy_": _copied,
    "__getitem__": _masked,
}


def attention(query: Tensor, key: Tensor, value: Tensor, *_: Any, **options: Any) -> Tensor:
    """Compute attention with a fused op.

    Heads of keys and values are repeated to match the queries.
    """
    times = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(times, 1) for x in (key, value))
    fused = torch.ops.aten._scaled_dot_product_efficient_attention  # noqa: SLF001 - torch's name
    output: Tensor = fused(query, key, value, None, True, 0.0, options.get("is_causal", False))[0]
    return output


def loader(
    data: Any, batch_size: int = 1, collate_fn: Callable[[list[Any]], Any] = torch.stack, **_: Any
) -> Iterator[Any]:
    """Load batches in this process."""
    rows = iter(data) if isinstance(data, IterableDataset) else (data[0] for _ in repeat(None))
    while True:
        yield collate_fn(list(islice(rows, batch_size)))


def _replace_modules(old: Iterable[str], new: Mapping[str, ModuleType]) -> None:
    """Forget these modules, and use the new ones instead."""
    for name in old:
        del sys.modules[name]
    sys.modules.update(new)


@contextmanager
def as_on_gpu(rank: int = 0) -> Iterator[None]:
    """Let programs see two GPUs and two ranks. This process is one of the ranks.

    Triton kernels of a program do nothing. Of torchvision, only one network is available.
    """
    dist, torchvision = torch.distributed, ModuleType("torchvision")
    torchvision.models = SimpleNamespace(alexnet=lambda **_: alexnet())
    others: dict[str, Any] = {
        "kernel": mock.MagicMock(BLOCK=1024),
        "torchvision": torchvision,
    }
    with ExitStack() as stack:
        patch = mock.patch.object
        # mock.patch.dict would also forget modules imported meanwhile, but torch registers its
        # operators only once per process.
        before = {name: sys.modules.pop(name) for name in others if name in sys.modules}
        sys.modules.update(others)
        stack.callback(_replace_modules, others, before)
        stack.enter_context(patch(torch.cuda, "is_available", lambda: True))
        stack.enter_context(patch(torch.cuda, "device_count", lambda: 2))
        for name in _CUDA_STUBS:
            stack.enter_context(patch(torch.cuda, name, mock.MagicMock()))
        stack.enter_context(patch(torch, "compile", lambda module, **_: module))
        stack.enter_context(patch(torch, "Generator", Generator))
        stack.enter_context(patch(torch.utils.data, "DataLoader", loader))
        stack.enter_context(patch(Tensor, "pin_memory", lambda self, *_: self))
        stack.enter_context(patch(Tensor, "record_stream", lambda *_: None))
        stack.enter_context(patch(nn.parallel, "DistributedDataParallel", lambda module: module))
        stack.enter_context(patch(dist, "get_rank", lambda: rank))
        stack.enter_context(patch(dist, "get_world_size", lambda: 2))
        stack.enter_context(patch(dist, "all_reduce", lambda x: x))
        yield


@cache
def imported(folder: str, name: str) -> ModuleType:
    """Import a module of a samples' folder. Such modules import each other by bare names."""
    path, before = str(SAMPLES / folder), set(sys.modules)
    sys.path.insert(0, path)
    try:
        with as_on_gpu():
            return importlib.import_module(name)
    finally:
        sys.path.remove(path)
        for other in set(sys.modules) - before:
            if str(getattr(sys.modules[other], "__file__", "")).startswith(path):
                del sys.modules[other]


def counted(step: Callable[[], object], n: int = 1) -> Counts:
    """Return the FLOPs that torch counts in `n` calls, by op."""
    with FlopCounterMode(display=False) as counter:
        for _ in range(n):
            step()
    return {
        str(op): int(flops) for op, flops in counter.get_flop_counts().get("Global", {}).items()
    }


def alexnet() -> nn.Module:
    """Build torchvision's AlexNet, from Krizhevsky's "One weird trick" (2014)."""
    sizes = [(3, 64, 11, 4, 2), (64, 192, 5, 1, 2), (192, 384, 3, 1, 1)]
    sizes += [(384, 256, 3, 1, 1), (256, 256, 3, 1, 1)]
    first, second, *others = [nn.Conv2d(i, o, k, s, p) for i, o, k, s, p in sizes]
    pool = nn.MaxPool2d(3, 2)
    dense = [nn.Linear(256 * 36, 4096), nn.Linear(4096, 4096), nn.Linear(4096, 1000)]
    return nn.Sequential(first, pool, second, pool, *others, pool, nn.Flatten(), *dense)
