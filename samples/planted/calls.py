"""Planted causes in calls of the device library: sync, allocation, loading."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import torch
from parts import DEVICE, LARGE, ON_GPU, WIDTH, Training, inputs, planted, synchronize
from torch import nn

# -- sync --------------------------------------------------------------------------------------


def narrow(n_layers: int) -> nn.ModuleList:
    """Run layers whose work takes a few microseconds each."""
    return nn.ModuleList(nn.Linear(256, 256) for _ in range(n_layers)).to(DEVICE)


@planted("sync", "aten::(item|_local_scalar_dense)", where="watch")
def sync_item() -> Generator[None]:
    """Read a number from the device after each layer."""

    def watch(x: torch.Tensor) -> float:
        return x.mean().item()

    layers, batch = narrow(40), inputs(256, 256)
    while True:
        x, history = batch, []
        with torch.no_grad():
            for layer in layers:
                x = layer(x)
                history.append(watch(x))
        yield


@planted("sync", "cudaDeviceSynchronize", where="sync_synchronize.*synchronize", marks="step")
def sync_synchronize() -> Generator[None]:
    """Synchronize after each layer, as left behind by timing by hand."""
    layers, batch = narrow(60), inputs(256, 256)
    while True:
        x, took = batch, []
        with torch.no_grad():
            for layer in layers:
                began = time.perf_counter()
                x = layer(x).relu()
                synchronize()
                took.append(time.perf_counter() - began)
        yield


@planted("sync", "cudaEventSynchronize", where="sync_event.*synchronize", needs_gpu=True)
def sync_event() -> Generator[None]:
    """Time each layer with events, and read each time at once."""
    layers, batch = narrow(60), inputs(256, 256)
    while True:
        x, took = batch, []
        with torch.no_grad():
            for layer in layers:
                began, ended = (
                    torch.cuda.Event(enable_timing=True),
                    torch.cuda.Event(enable_timing=True),
                )
                began.record()
                x = layer(x).relu()
                ended.record()
                ended.synchronize()
                took.append(began.elapsed_time(ended))
        yield


@planted("sync", "aten::(index|nonzero)", where="sync_nonzero.*aten::(index|nonzero)")
def sync_nonzero() -> Generator[None]:
    """Index with boolean masks: the host must know how many rows are left."""
    layers, batch = narrow(40), inputs(256, 256)
    while True:
        x = batch
        with torch.no_grad():
            for layer in layers:
                x = layer(batch)
                x = x[x > 0]
        yield


@planted("sync", "aten::(to|_to_copy|copy_)", where="clip", marks="step")
def sync_cpu() -> Generator[None]:
    """Decide on the host in every layer, from a small tensor that is copied there."""

    def clip(x: torch.Tensor) -> torch.Tensor:
        largest = x.abs().max().cpu()
        return x / 2 if largest > 1 else x

    layers, batch = narrow(30), inputs(256, 256)
    while True:
        x = batch
        with torch.no_grad():
            for layer in layers:
                x = clip(layer(x))
        yield


# -- allocation --------------------------------------------------------------------------------


@planted("allocation", "cudaFree|cudaMalloc", where="alloc_empty_cache.*(cudaFree|cudaMalloc)")
def alloc_empty_cache() -> Generator[None]:
    """Empty the allocator's cache in every step, as programs do against running out of memory."""
    training, batch = Training(), inputs()
    size = 1 << 26 if ON_GPU else 1 << 16
    while True:
        buffers = [torch.empty(size, dtype=torch.uint8, device=DEVICE) for _ in range(24)]
        for buffer in buffers:
            buffer[:1024].fill_(1)
        training.step(batch)
        del buffers, buffer
        torch.cuda.empty_cache()
        yield


@planted(
    "allocation",
    "cudaMalloc|cudaFree",
    spread=True,
    variables={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
)
def alloc_uncached() -> Generator[None]:
    """Run without a caching allocator.

    Every tensor is a cudaMalloc, and a cudaFree that waits for the device.
    """
    training, batch = Training(), inputs()
    while True:
        training.step(batch)
        yield


@planted("allocation", "cudaMalloc", where="alloc_growing.*cudaMalloc", marks="step")
def alloc_growing() -> Generator[None]:
    """Allocate tensors that grow a little in each step, so that no free block is large enough."""
    training, batch = Training(depth=1), inputs()
    size = 24 << 20 if ON_GPU else 1 << 16
    while True:
        size += (2 << 20) if ON_GPU else 1024
        buffers = [torch.empty(size, dtype=torch.uint8, device=DEVICE) for _ in range(40)]
        training.step(batch)
        del buffers
        yield


@planted("allocation", "cudaHostAlloc|cudaHostRegister", where="alloc_pinned.*pin_memory")
def alloc_pinned() -> Generator[None]:
    """Pin each batch anew and keep it: pinned memory is allocated in every step."""
    training = Training()
    batch, kept = torch.rand(LARGE // 4, WIDTH), []
    while True:
        kept.append(batch.pin_memory() if ON_GPU else batch.clone())
        training.step(kept[-1][:WIDTH].to(DEVICE, non_blocking=True))
        yield


# -- loading -----------------------------------------------------------------------------------


def first_calls() -> Iterator[list[Callable[[], Any]]]:
    """Yield, for each step, functions that have not run in this process.

    Their kernels are not loaded yet.
    """
    x = torch.rand(256, 256, device=DEVICE) + 0.5
    image = torch.rand(4, 8, 32, 32, device=DEVICE)
    yield [lambda: x + 1, x.sum]
    yield [
        lambda: x @ x,
        x.sort,
        lambda: x.topk(4),
        lambda: x.cumsum(1),
        lambda: x.softmax(1),
        x.tanh,
        x.sqrt,
    ]
    yield [
        lambda: nn.functional.conv2d(image, image),
        x.half,
        x.argmax,
        lambda: x.half() @ x.half(),
        x.double,
        x.exp,
    ]
    yield [
        lambda: torch.fft.rfft(x),
        x.mode,
        x.histc,
        lambda: x.double() @ x.double(),
        lambda: x.kthvalue(3),
        x.erf,
    ]
    while True:
        yield [
            lambda: x.cumprod(1),
            lambda: x.bfloat16() @ x.bfloat16(),
            lambda: x.logcumsumexp(0),
            x.median,
        ]


@planted("loading", "aten::", fresh=True, variables={"CUDA_MODULE_LOADING": "LAZY"})
def loading_first_calls() -> Generator[None]:
    """Run the first steps of a process: kernels and libraries are loaded at their first call."""
    for functions in first_calls():
        for function in functions:
            function()
        yield


COMPILED = {
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}


@planted("loading", "dynamo|inductor|compile", rounds=1, stacks=False, variables=COMPILED)
def loading_recompiles() -> Generator[None]:
    """Compile for one shape at a time, with another shape in every step."""
    torch._dynamo.config.recompile_limit = 1000  # noqa: SLF001 - the module's public name is this one
    training, batch, table = Training(), inputs(), inputs(4096)
    scale = torch.compile(lambda x: (x.sin() * 2).softmax(-1).sum(0), dynamic=False)
    rows = 64
    while True:
        rows += 8
        scale(table[:rows])
        training.step(batch)
        yield


UNNAMED = r"step's begin|cu(Module|Library)Load"


@planted(
    "loading", UNNAMED, bare="loading|host|launch", where="compile|scale", rounds=1, needs_gpu=True
)
def loading_triton() -> Generator[None]:
    """Launch a Triton kernel with a constant that changes, so that each step compiles it anew."""
    from kernel import BLOCK, scale  # noqa: PLC0415 - only here is Triton needed

    training, batch = Training(), inputs()
    factor = os.getpid()  # differs from the factors in an earlier process's cache
    while True:
        factor += 1
        scale[(batch.numel() // BLOCK,)](batch, factor, BLOCK)
        training.step(batch)
        yield
