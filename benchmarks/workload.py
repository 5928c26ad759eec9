"""Run a training loop to capture: `python -m benchmarks.workload MODE`.

Prints the seconds from the first step's begin to the end of the last, with profiler and export. The
mode `bare` starts the profiler itself. Runs on a GPU if there is one.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tracelens.collectors.torch.live.settings import Settings

STEPS = 30
BLOCKS = 50


def model() -> nn.Module:
    """Return a small model with as many modules as ResNet-50: calls cost much, the work little."""
    blocks = [
        nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
        )
        for _ in range(BLOCKS)
    ]
    return nn.Sequential(
        nn.Conv2d(3, 8, 3),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 10),
    )


def profiler(folder: str) -> Any:
    """Return a torch.profiler with the options that `collect torch` has by default."""
    asked = Settings(folder)
    assert asked.active is not None
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    return torch.profiler.profile(
        activities=activities,
        schedule=torch.profiler.schedule(
            wait=asked.wait, warmup=asked.warmup, active=asked.active, repeat=1
        ),
        on_trace_ready=lambda ready: ready.export_chrome_trace(str(Path(folder) / "trace.json")),
        record_shapes=asked.shapes,
        with_stack=asked.stacks,
        with_modules=asked.modules,
    )


def main(mode: str) -> None:
    """Train a few steps and print how long they took."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    net, loss_of = model().to(device), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.randn(4, 3, 32, 32, device=device), torch.zeros(4, dtype=torch.long, device=device)
    with tempfile.TemporaryDirectory() as folder:
        bare = profiler(folder) if mode == "bare" else None
        begin = time.perf_counter()
        if bare is not None:
            bare.start()
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss_of(net(x), y).backward()
            optimizer.step()
            if bare is not None:
                bare.step()
        if bare is not None:
            bare.stop()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
    print(
        json.dumps(
            {
                "seconds": seconds,
                "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
