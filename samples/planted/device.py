"""Planted causes on the device and in launches and copies to it."""

from __future__ import annotations

from collections.abc import Generator

import torch
from parts import DEVICE, LARGE, ON_GPU, WIDTH, Training, inputs, planted
from torch import nn

# -- compute -----------------------------------------------------------------------------------


@planted("compute", "gemm|cutlass|mm|linear", cpu=True)
def compute_matmul() -> Generator[None]:
    """Multiply large matrices, forward and backward."""
    training = Training(width=4096 if ON_GPU else 768, depth=2)
    batch = inputs(2048 if ON_GPU else 512, 4096 if ON_GPU else 768)
    while True:
        training.step(batch)
        yield


@planted("compute", "conv|cudnn|fprop|wgrad|dgrad", marks="step")
def compute_convnet() -> Generator[None]:
    """Train a small convolutional network with a large batch."""
    channels, batch = (128, 128) if ON_GPU else (8, 4)
    layers = [
        layer
        for _ in range(4)
        for layer in (nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())
    ]
    net = nn.Sequential(*layers).to(DEVICE)
    images = torch.rand(batch, channels, 56, 56, device=DEVICE)
    while True:
        net.zero_grad()
        net(images).mean().backward()
        yield


@planted("compute", "softmax|gemm|bmm|elementwise")
def compute_attention() -> Generator[None]:
    """Compute attention written out: batched products around a softmax over large scores."""
    heads, length = (64, 2048) if ON_GPU else (2, 128)
    query, key, value = (torch.rand(heads, length, 64, device=DEVICE) for _ in range(3))
    while True:
        for _ in range(3):
            scores = (query @ key.transpose(1, 2) / 8).softmax(-1)
            query = (scores @ value).contiguous()
        yield


@planted("compute", "elementwise|gelu|layer_norm", marks="step")
def compute_memory() -> Generator[None]:
    """Compute element-wise over large tensors, which is limited by device memory."""
    batch = inputs(LARGE * 16, WIDTH)
    while True:
        x = torch.nn.functional.gelu(batch)
        x = torch.nn.functional.layer_norm(x, (WIDTH,))
        x.mul_(0.5).add_(1.0).tanh_()
        yield


@planted("compute", "gemm|cutlass|mm", needs_gpu=True)
def compute_cuda_graph() -> Generator[None]:
    """Replay large products as a CUDA graph, so that the host does next to nothing."""
    batch, weight = inputs(2048, 2048), inputs(2048, 2048)
    torch.mm(batch, weight)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(16):
            batch = torch.mm(batch, weight) / 1024
    while True:
        graph.replay()
        yield


@planted("compute", "gemm|cutlass|mm", marks="step")
def compute_run_ahead() -> Generator[None]:
    """Launch a few long products at once, so that the host runs far ahead of the device."""
    size = 4096 if ON_GPU else 256
    batch, weight = inputs(size, size), inputs(size, size)
    while True:
        for _ in range(3):
            batch = torch.mm(batch, weight) / size
        yield


# -- launch ------------------------------------------------------------------------------------


@planted("launch", "aten::(mul|sub)")
def launch_tiny_kernels() -> Generator[None]:
    """Launch hundreds of tiny element-wise kernels in eager mode."""
    x = torch.rand(1024, device=DEVICE)
    while True:
        for _ in range(150):
            x = x.mul(1.5).sub(0.25)
        yield


@planted("launch", "aten::(linear|relu)|(Addmm|Relu)Backward0", marks="step")
def launch_deep_narrow() -> Generator[None]:
    """Run a deep network of narrow layers with a small batch."""
    training = Training(width=64, depth=40)
    batch = inputs(8, 64)
    while True:
        training.step(batch)
        yield


@planted("launch", "Adam|aten::(lerp_|mul_|addcmul_|sqrt|div|add_|addcdiv_)")
def launch_optimizer() -> Generator[None]:
    """Step an optimizer parameter by parameter, with a handful of kernels each."""
    training = Training(width=64, depth=30)
    training.optimizer = torch.optim.Adam(training.net.parameters(), foreach=False, fused=False)
    batch = inputs(64, 64)
    training.step(batch)
    while True:
        training.optimizer.step()
        yield


# -- copy --------------------------------------------------------------------------------------


@planted("copy", "h2d copies from pageable")
def copy_pageable() -> Generator[None]:
    """Copy batches from pageable memory that are far larger than the part used."""
    training = Training()
    batches = [torch.rand(LARGE, WIDTH) for _ in range(2)]
    while True:
        batches.reverse()
        batch = batches[0].to(DEVICE)
        training.step(batch[:WIDTH])
        yield


@planted("copy", "h2d copies from pageable", marks="step")
def copy_wide() -> Generator[None]:
    """Copy a float64 batch as it is, and cast it on the device."""
    training = Training()
    batch = torch.rand(LARGE // 2, WIDTH, dtype=torch.float64)
    while True:
        training.step(batch.to(DEVICE).float()[:WIDTH])
        yield


@planted("copy", "h2d copies from pinned", needs_gpu=True)
def copy_pinned() -> Generator[None]:
    """Copy pinned memory asynchronously, but more than the link carries in a step."""
    training = Training()
    batch = torch.rand(LARGE * 4, WIDTH).pin_memory()
    while True:
        training.step(batch.to(DEVICE, non_blocking=True)[:WIDTH])
        yield


@planted("copy", "h2d copies from pinned", needs_gpu=True)
def copy_side_stream() -> Generator[None]:
    """Copy on a separate stream, for which the computing stream then waits."""
    training, side = Training(), torch.cuda.Stream()
    batch = torch.rand(LARGE * 4, WIDTH).pin_memory()
    while True:
        with torch.cuda.stream(side):
            moved = batch.to(DEVICE, non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        moved.record_stream(torch.cuda.current_stream())
        training.step(moved[:WIDTH])
        yield


@planted("copy", "d2h copies from device to pageable")
def copy_results() -> Generator[None]:
    """Copy large results to the host in every step, into memory that exists already."""
    training, batch = Training(), inputs()
    results = torch.zeros(LARGE, WIDTH)
    while True:
        training.step(batch)
        with torch.no_grad():
            results.copy_(training.net(batch).repeat(LARGE // WIDTH, 1))
        yield
