"""Measure whole models: compiled, traced, timed, and compiled by the oracle's plan."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from models import batch, model
from protocol import compiled, region_ns, timed_ms
from stage import PHASES, Stage

import tracelens as tl

MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
SIDE_BY_SIDE = MODES[:2]
AUTOTUNED = MODES[2:]
"""Modes that choose kernels by timing them.

They have a run of their own, one model at a time.
"""
TF32 = "-tf32"
"""Suffix of a mode's name: matrix products are computed in TF32, as convolutions are by default."""
ORACLE = "dynamic"


def study_model(stage: Stage, options: argparse.Namespace) -> None:
    """Measure everything about one model."""
    device, out = options.device, options.out
    x = batch(options.batch, options.side, device)
    eager = model(stage.name).to(device)
    found = stage.found
    found |= {
        "model": stage.name,
        "batch": options.batch,
        "side": options.side,
        "compile_s": {},
        "e2e": {},
    }
    traces = {kind: out / f"{stage.name}_{kind}.tracelens" for kind in ("eager", "compiled")}
    with torch.no_grad():
        runs = {"eager": eager} | capture_compiled(stage, options, traces["compiled"], x)
        with stage.alone():
            stage.attempt("eager trace", lambda: capture_eager(traces["eager"], eager, x))
            for name, run in runs.items():
                found["e2e"][name] = stage.attempt(
                    f"time {name}",
                    lambda r=run: timed_ms(lambda: r(x), device),
                )
            difference = runs["default"](x) - eager(x)
            found["max_difference"] = float(difference.abs().max())
            found["region_ns"] = stage.attempt("region", lambda: region_ns(device))
        stage.ready("timed")
        custom = {}
        for name, cost in (("custom", 0.0), ("custom_with_cost", (found["region_ns"] or 0.0) / 2)):
            plan = out / f"{stage.name}_{name}.json"
            found.setdefault("oracle", {})[name] = stage.attempt(
                f"oracle {name}",
                lambda p=plan, c=cost: oracle(traces, p, c),
            )
            if time.time() < stage.deadlines["planned"] - options.plan_s / 2:
                custom[name] = stage.attempt(
                    f"plan {name}",
                    lambda n=name, p=plan: planned(model(stage.name).to(device), p, (stage, n), x),
                )
        stage.ready("planned")
        with stage.alone():
            for name, run in custom.items():
                if run is not None:
                    found["e2e"][name] = stage.attempt(
                        f"time {name}",
                        lambda r=run: timed_ms(lambda: r(x), device),
                    )
        stage.save()
        stage.ready("measured")


def compile_in(
    mode: str, stage: Stage, options: argparse.Namespace, x: Any, runs: dict[str, Any]
) -> None:
    """Compile the model in this mode and add it to `runs`, if that succeeds.

    The compile time is added to the results.
    """
    network = model(stage.name).to(options.device)
    compiled_and_seconds = stage.attempt(
        f"compile {mode}",
        lambda: compiled(network, mode, x),
    )
    if compiled_and_seconds is not None:
        runs[mode], stage.found["compile_s"][mode] = compiled_and_seconds


def capture_compiled(
    stage: Stage, options: argparse.Namespace, path: Path, x: Any
) -> dict[str, Any]:
    """Compile the model in the modes without autotuning; record three steps of the default one."""
    runs: dict[str, Any] = {}
    with tl.capture(
        path,
        force=True,
        wait=2,
        warmup=1,
        active=3,
        compile_provenance=True,
    ) as recording:
        for mode in SIDE_BY_SIDE if options.device == "cuda" else MODES[:1]:
            compile_in(mode, stage, options, x, runs)
        stage.ready("compiled")
        with stage.alone():
            for _ in range(6):
                runs["default"](x)
                recording.step()
    return runs


def capture_eager(path: Path, network: Any, x: Any) -> None:
    """Capture three steps of the eager model."""
    with tl.capture(
        path,
        force=True,
        wait=2,
        warmup=1,
        active=3,
    ) as capture:
        for _ in range(6):
            network(x)
            capture.step()


def oracle(traces: dict[str, Path], plan: Path, switch_cost_ns: float) -> dict[str, Any]:
    """Compute the theoretical speedup of every oracle, and write the plan of one."""
    base, other = tl.open(traces["eager"]), tl.open(traces["compiled"])
    frame = tl.analyses.layer_oracle(base, other, switch_cost_ns=switch_cost_ns)
    tl.make_plan(base, other, oracle=ORACLE, switch_cost_ns=switch_cost_ns).write(plan)
    totals = frame.filter(frame["layer"] == "(total)")
    choices = frame.filter((frame["oracle"] == ORACLE) & (frame["layer"] != "(total)"))[
        "choice"
    ].to_list()
    return {
        "switch_cost_ns": switch_cost_ns,
        "n_eager": choices.count("eager"),
        "n_compiled": choices.count("compiled"),
        "totals": {row["oracle"]: row for row in totals.to_dicts()},
    }


def planned(network: Any, plan: Path, which: tuple[Stage, str], x: Any) -> Any:
    """Compile the model as its plan says, and run it once."""
    stage, name = which
    began = time.perf_counter()
    custom = tl.apply_plan(network, plan)
    custom(x)
    stage.found["compile_s"][name] = time.perf_counter() - began
    return custom


def autotune(stage: Stage, options: argparse.Namespace) -> None:
    """Compile one model in the modes that time kernels.

    The second mode finds the first one's choices in the cache.
    """
    stage.found |= {
        "model": stage.name,
        "batch": options.batch,
        "side": options.side,
        "compile_s": {},
        "e2e": {},
    }
    # Threads compile the kernels to choose from: those of worker processes are compiled once more
    # to be timed.
    torch._inductor.config.compile_threads = 1  # noqa: SLF001 - the documented place of these settings
    x = batch(options.batch, options.side, options.device)
    runs: dict[str, Any] = {}
    if options.tf32:
        torch.set_float32_matmul_precision("high")
    with torch.no_grad():
        for mode in AUTOTUNED:
            compile_in(mode, stage, options, x, runs)
        stage.ready("compiled")
        with stage.alone():
            for mode, run in runs.items():
                stage.found["e2e"][mode] = stage.attempt(
                    f"time {mode}",
                    lambda r=run: timed_ms(lambda: r(x), options.device),
                )
    if options.tf32:
        for by_mode in (stage.found["compile_s"], stage.found["e2e"]):
            by_mode |= {f"{mode}{TF32}": by_mode.pop(mode) for mode in list(by_mode)}
    stage.save()
    for phase in PHASES[1:]:
        stage.ready(phase)
