"""Programs with one planted cause each, on two GPUs.

Those with two ranks find their process group set up.
"""

from __future__ import annotations

import time
from collections.abc import Generator

import torch
import torch.distributed as dist
from parts import DEVICE, ON_GPU, WIDTH, Training, inputs, planted
from torch import nn


@planted("communication", "nccl.*AllReduce", gpus=2, ranks=2)
def comm_all_reduce() -> Generator[None]:
    """Sum over both ranks a tensor far larger than what is computed."""
    training, batch = Training(), inputs()
    gradients = torch.rand(1 << (28 if ON_GPU else 18), device=DEVICE)
    while True:
        training.step(batch)
        dist.all_reduce(gradients)
        yield


@planted(
    "waiting",
    "nccl.*AllReduce",
    gpus=2,
    ranks=2,
    other_ranks={"bound": "host", "what": r"Optimizer\.step.*allreduce_", "where": "think"},
)
def wait_sleeping_rank() -> Generator[None]:
    """The second rank sleeps before each sum, and the first waits for it."""

    def think() -> None:
        time.sleep(0.015)

    training, batch = Training(), inputs()
    gradients = torch.rand(1 << 16, device=DEVICE)
    while True:
        training.step(batch)
        if dist.get_rank() == 1:
            think()
        dist.all_reduce(gradients)
        yield


@planted(
    "waiting",
    "nccl.*AllReduce",
    gpus=2,
    ranks=2,
    other_ranks={"bound": "compute", "what": "gemm|cutlass|mm"},
    marks="step",
)
def wait_uneven_batches() -> Generator[None]:
    """The second rank's batch is eight times as large, and the first waits for its gradients."""
    width = 2048 if ON_GPU else 256
    training = Training(width=width)
    training.net = nn.parallel.DistributedDataParallel(training.net)  # type: ignore[assignment]
    batch = inputs(1024 * 8 if dist.get_rank() == 1 else 1024, width)
    while True:
        training.step(batch)
        yield


# There are two devices, of which one works while the other waits. They compute for half of their
# time (49.7 % here); the wait is second (45.1 %).
@planted("compute", "ReluBackward0|aten::linear", cause="dependency", gpus=2)
def dependency_stages() -> Generator[None]:
    """Run a model in two halves on two devices.

    Everything is launched ahead, and each half waits for the other.
    """
    second = torch.device("cuda", 1) if torch.cuda.device_count() > 1 else DEVICE
    width = 4096 if ON_GPU else WIDTH
    halves = [Training(width=width, depth=3), Training(width=width, depth=3, device=second)]
    batch = inputs(2048, width)
    while True:
        loss = halves[1].net(halves[0].net(batch).to(second)).square().mean()
        for half in halves:
            half.optimizer.zero_grad()
        loss.backward()
        for half in halves:
            half.optimizer.step()
        yield
