"""Define what the study's three Python levels share: options, the batch, a step and its timing.

A step trains or infers.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from resnet import noise, resnet50
from torch import Tensor, nn

DTYPES = {name: getattr(torch, name) for name in ("float16", "bfloat16", "float32", "float64")}

Prepare = Callable[[nn.Module, Tensor], Callable[[Tensor], Tensor]]
"""A function that makes a level.

It takes the model and a batch, and returns what is called instead of the model.
"""


@dataclass(frozen=True)
class Work:
    """One point to measure."""

    options: argparse.Namespace
    device: torch.device
    batch: int
    size: int


def main(level: str, prepare: Prepare) -> None:
    """Run the workload at this level, and print one line of JSON for each point."""
    options = parse()
    name = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    for batch, size in options.sweep or [(options.batch, options.size)]:
        work = Work(options, torch.device(name), batch, size)
        print(json.dumps({"level": level, **measure(work, prepare)}), flush=True)
        if name == "cuda":
            torch.cuda.empty_cache()  # so that the next point's memory does not include this one's


def parse() -> argparse.Namespace:
    """Parse the options that all five levels share."""
    parser = argparse.ArgumentParser(description="ResNet-50, forward or a training step.")
    parser.add_argument(
        "--batch",
        type=int,
        default=32,
        help="images a batch",
    )
    parser.add_argument(
        "--size",
        type=int,
        default=64,
        help="height and width of an image",
    )
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        default="float32",
        help="of weights and activations",
    )
    parser.add_argument(
        "--input-dtype", choices=DTYPES, help="of the batch on the host, cast on the device"
    )
    parser.add_argument("--mode", choices=("infer", "train"), default="infer")
    parser.add_argument(
        "--iterations",
        type=int,
        default=10,
        help="steps that are timed, at least",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=0,
        help="go on with timed steps for as long",
    )
    parser.add_argument(
        "--warmup",
        type=int,
        default=5,
        help="steps before them",
    )
    memory = parser.add_mutually_exclusive_group()
    memory.add_argument(
        "--pinned", action="store_true", help="the batch lies in pinned host memory"
    )
    memory.add_argument(
        "--pageable",
        dest="pinned",
        action="store_false",
        help="in pageable memory (the default)",
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), help="cuda where there is one")
    parser.add_argument(
        "--sweep",
        type=points,
        metavar="BATCHxSIZE,…",
        help="several points instead of one",
    )
    return parser.parse_args()


def points(text: str) -> list[tuple[int, int]]:
    """Parse `8x64,32x64` into pairs of batch and size."""
    return [
        (int(batch), int(size)) for batch, size in (point.split("x") for point in text.split(","))
    ]


def measure(work: Work, prepare: Prepare) -> dict[str, object]:
    """Time the steps of one point; warm-up steps are listed separately."""
    options = work.options
    dtype = DTYPES[options.dtype]
    shape = (work.batch, 3, work.size, work.size)
    host = (
        noise(work.batch * 3 * work.size**2, seed=0)
        .view(shape)
        .to(DTYPES[options.input_dtype or options.dtype])
    )
    host = host.pin_memory() if options.pinned else host
    model = resnet50().to(work.device, dtype).train(options.mode == "train")
    run = prepare(model, host.to(work.device, dtype))
    step = (train_step if options.mode == "train" else infer_step)(model, run, work)

    def once() -> Tensor:
        # Two statements, because to(device, dtype) would cast on the host. These give the paper's
        # doubled copies.
        images = host.to(work.device, non_blocking=options.pinned)
        return step(images.to(dtype))

    first = once().double().abs().sum().item()
    for _ in range(options.warmup - 1):
        once()
    return {
        "mode": options.mode,
        "batch": work.batch,
        "size": work.size,
        "dtype": options.dtype,
        "input_dtype": options.input_dtype or options.dtype,
        "memory": "pinned" if options.pinned else "pageable",
        "device": work.device.type,
        "n_parameters": sum(parameter.numel() for parameter in model.parameters()),
        "checksum": first,
        **timed(once, work),
    }


def infer_step(
    model: nn.Module, run: Callable[[Tensor], Tensor], work: Work
) -> Callable[[Tensor], Tensor]:
    """Run a forward pass and return the logits."""
    del model, work
    return torch.no_grad()(run)


def train_step(
    model: nn.Module, run: Callable[[Tensor], Tensor], work: Work
) -> Callable[[Tensor], Tensor]:
    """Run forward, backward and the optimizer's step; return the loss."""
    labels = torch.arange(work.batch, device=work.device)
    loss_of = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)

    def step(images: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = loss_of(run(images), labels % 1000)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def timed(once: Callable[[], Tensor], work: Work) -> dict[str, object]:
    """Return each step's milliseconds, and when it ran.

    CUDA events measure the time; on the CPU the clock does.
    """
    marks = []
    start_ns = time.time_ns()
    while (
        len(marks) < work.options.iterations
        or time.time_ns() - start_ns < work.options.seconds * 1e9
    ):
        before = mark(work.device)
        with step_range(len(marks), work.device):
            once()
        marks.append((before, mark(work.device)))
        if work.options.seconds and len(marks) % 10 == 0:
            synchronize(
                work.device
            )  # otherwise the host runs ahead and queues more steps than the time allows
    synchronize(work.device)
    milliseconds = [
        a.elapsed_time(b) if isinstance(a, torch.cuda.Event) else (b - a) / 1e6 for a, b in marks
    ]
    return {"start_ns": start_ns, "end_ns": time.time_ns(), "step_ms": milliseconds}


def mark(device: torch.device) -> torch.cuda.Event | int:
    """Record a moment on the device's stream."""
    if device.type == "cpu":
        return time.perf_counter_ns()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


@contextmanager
def step_range(number: int, device: torch.device) -> Iterator[None]:
    """Open an NVTX range `step N`. nsys distinguishes the steps by it."""
    if device.type == "cpu":
        yield
        return
    torch.cuda.nvtx.range_push(f"step {number}")
    yield
    torch.cuda.nvtx.range_pop()


def synchronize(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize()
