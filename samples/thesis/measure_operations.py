"""Single operations, eager and compiled; some of them in every mode, and matrix products by NumPy."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from measure_models import MODES
from models import LARGE_ON_CPU, ON_CPU, Product, by_mode, operations
from protocol import ROUNDS, compiled, kernel_ms, timed_ms
from stage import PHASES, Stage

NUMPY = "matmul_numpy"
LARGE_ROUNDS = 3
"""Rounds of a product that takes the better part of a second."""


def study_operations(stage: Stage, options: argparse.Namespace) -> None:
    """Single operations, eager and compiled: matrix products, convolutions, blocks of convolutions."""
    rows = stage.found["operations"] = []
    with torch.no_grad():
        made = []
        for kind, what, network, shape in operations(quick=options.quick):
            device = "cpu" if kind == ON_CPU else options.device
            eager = network.to(device).eval()
            x = torch.randn(*shape, device=device)
            result = stage.attempt(f"compile {kind} {what}", lambda n=eager, x=x: compiled(n, "default", x))
            if result is not None:
                made.append((kind, what, eager, result[0], x))
        stage.ready("compiled")
        with stage.alone():
            for kind, what, eager, fast, x in made:
                row = {"kind": kind, **what}
                for name, run in (("eager", eager), ("compiled", fast)):
                    row |= times(name, partial(run, x), x.is_cuda)
                rows.append(row)
        stage.save()
    for phase in PHASES[1:]:
        stage.ready(phase)


def times(name: str, run: Callable[[], Any], is_cuda: bool, n_rounds: int = ROUNDS) -> dict[str, Any]:
    """Columns of one way to run an operation: median, quartiles and, on a GPU, its kernels' milliseconds."""
    found = timed_ms(run, "cuda" if is_cuda else "cpu", n_rounds)
    columns = {f"{name}_ms": found["median_ms"], f"{name}_quartiles_ms": [found["p25_ms"], found["p75_ms"]]}
    return columns | ({f"{name}_kernel_ms": kernel_ms(run)} if is_cuda else {})


def study_modes(stage: Stage, options: argparse.Namespace) -> None:
    """A few operations in every mode, one after the other, with what compiling each took; NumPy's matrix products."""
    rows = stage.found["modes"] = []
    # As for whole models: threads compile the kernels to choose from.
    torch._inductor.config.compile_threads = 1  # noqa: SLF001 - the documented place of these settings
    with torch.no_grad(), stage.alone():
        for device in dict.fromkeys((options.device, "cpu")):
            stage.attempt("warm up", lambda d=device: compiled(Product(), "default", torch.ones(3, 3, device=d)))
        for kind, what, network, shape in by_mode(quick=options.quick):
            device = "cpu" if kind in {ON_CPU, LARGE_ON_CPU} else options.device
            modes = MODES[:1] if kind == LARGE_ON_CPU else MODES
            n_rounds = LARGE_ROUNDS if kind == LARGE_ON_CPU else ROUNDS
            x = torch.randn(*shape, device=device)
            if kind in {ON_CPU, LARGE_ON_CPU}:
                by_numpy = partial(np.matmul, x.numpy(), x.numpy())
                rows.append({"kind": NUMPY, **what} | times("eager", by_numpy, is_cuda=False, n_rounds=n_rounds))
            row = {"kind": kind, **what, "rounds": n_rounds, "compile_s": {}}
            rows.append(row)
            row |= times("eager", partial(network.to(device).eval(), x), x.is_cuda, n_rounds)
            for mode in modes:
                if time.time() < stage.end - 20:
                    stage.attempt(
                        f"{kind} {what} {mode}",
                        lambda r=row, m=mode, n=network, x=x, k=n_rounds: row_of_mode(r, m, n, x, k),
                    )
    stage.save()
    for phase in PHASES:
        stage.ready(phase)


def row_of_mode(row: dict[str, Any], mode: str, network: Any, x: Any, n_rounds: int) -> None:
    """Add what compiling in this mode took, and the times of what came of it."""
    torch._dynamo.reset()  # noqa: SLF001 - the documented way to forget what was compiled
    fast, row["compile_s"][mode] = compiled(network, mode, x)
    row |= times(mode, partial(fast, x), x.is_cuda, n_rounds)
