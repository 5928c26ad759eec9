"""Time single operations, eager and compiled.

Some run in every mode, and matrix products on the CPU also in NumPy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from measure_models import MODES
from models import ON_CPU, ON_NUMPY, Product, by_mode, numpy_product, operations
from protocol import compiled, kernel_ms, timed_ms
from stage import PHASES, Stage

ONE_MODE_S = 12
"""Seconds that one operation in one mode may need; with less time left it is not started."""


def study_operations(stage: Stage, options: argparse.Namespace) -> None:
    """Time single operations, eager and compiled: products, convolutions, several in a row."""
    rows = stage.found["operations"] = []
    with torch.no_grad():
        compiled_operations = []
        for kind, what, network, shape in operations(quick=options.quick):
            device = "cpu" if kind == ON_CPU else options.device
            eager = network.to(device).eval()
            x = torch.randn(*shape, device=device)
            result = stage.attempt(
                f"compile {kind} {what}",
                lambda n=eager, x=x: compiled(n, "default", x),
            )
            if result is not None:
                fast, _ = result
                compiled_operations.append((kind, what, eager, fast, x))
        stage.ready("compiled")
        with stage.alone():
            for kind, what, eager, fast, x in compiled_operations:
                row = {"kind": kind, **what}
                for name, run in (("eager", eager), ("compiled", fast)):
                    row |= times(name, partial(run, x), x.is_cuda)
                rows.append(row)
        stage.save()
    for phase in PHASES[1:]:
        stage.ready(phase)


def times(name: str, run: Callable[[], Any], is_cuda: bool) -> dict[str, Any]:
    """Return the columns of one operation and method: median and quartiles.

    On a GPU there is kernel time in ms, too.
    """
    quartiles = timed_ms(run, "cuda" if is_cuda else "cpu")
    columns: dict[str, Any] = {
        f"{name}_ms": quartiles["median_ms"],
        f"{name}_quartiles_ms": [quartiles["p25_ms"], quartiles["p75_ms"]],
    }
    if is_cuda:
        columns[f"{name}_kernel_ms"] = kernel_ms(run)
    return columns


def study_modes(stage: Stage, options: argparse.Namespace) -> None:
    """Time a few operations in every mode, one after the other, with compile times.

    On the CPU NumPy takes part.
    """
    rows = stage.found["modes"] = []
    # As for whole models: threads compile the kernels to choose from.
    torch._inductor.config.compile_threads = 1  # noqa: SLF001 - the documented place of these settings
    with torch.no_grad(), stage.alone():
        for device in dict.fromkeys((options.device, "cpu")):
            stage.attempt(
                "warm up",
                lambda d=device: compiled(Product(), "default", torch.ones(3, 3, device=d)),
            )
        for kind, what, network, shape in by_mode(quick=options.quick, only=options.sizes):
            device = "cpu" if kind == ON_CPU else options.device
            x = torch.randn(*shape, device=device)
            row = {"kind": kind, **what, "compile_s": {}}
            rows.append(row)
            in_every_mode(stage, row, network.to(device).eval(), x)
            if kind == ON_CPU:
                row = {"kind": ON_NUMPY, **what, "compile_s": {}}
                rows.append(row)
                in_every_mode(stage, row, numpy_product, x.numpy())
    stage.save()
    for phase in PHASES:
        stage.ready(phase)


def in_every_mode(stage: Stage, row: dict[str, Any], network: Callable[[Any], Any], x: Any) -> None:
    """Add the operation's times, eager and in each compile mode.

    The compile times are added too, in seconds.
    """
    is_cuda = isinstance(x, torch.Tensor) and x.is_cuda

    def in_mode(mode: str) -> None:
        torch._dynamo.reset()  # noqa: SLF001 - the documented way to forget what was compiled
        fast, row["compile_s"][mode] = compiled(network, mode, x)
        row.update(times(mode, partial(fast, x), is_cuda))

    row |= times("eager", partial(network, x), is_cuda)
    for mode in MODES:
        if time.time() < stage.end - ONE_MODE_S:
            stage.attempt(
                f"{row['kind']} {mode}",
                partial(in_mode, mode),
            )
