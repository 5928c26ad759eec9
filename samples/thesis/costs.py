"""What measuring costs: the thesis's validation of its timing methods, its first research question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from figures import Run, kernel_speedup, speedup, spread
from page import Finding, Section, table
from there import NAMES, PROFILING

import tracelens as tl

CONFIGURATIONS = {"cuda": "CUDA", "triton": "compiled"}
METHODS = {
    ("pure", True): "profiled",
    ("sync", False): "synchronised",
    ("timed", False): "timed",
    ("timed-sync", False): "timed and synchronised",
    ("timed-sync", True): "the same, profiled",
}
"""Variant, and whether the profiler ran, of the executions that are compared with plain ones."""
SMALL_COST = 1.1
"""A cost up to a tenth is little."""
INTRODUCTION = (
    "Do timers tell the truth (the thesis's first question)? Timers alone do, on CUDA, to a fifth; waiting for the "
    "device and the profiler change what they measure, most where layers are compiled. Wall time of an execution by "
    "each method over the plain one, medians of ten rounds of two executions, quartiles in brackets (`pure`, `sync`, "
    "`timed`, `timed-sync` of `tl.analyses.timing_methods`; captures `MODEL_timings_cuda`). Synchronised and timed "
    "executions do so around each layer, and a compiled layer is then a region of its own; `plain` and `profiled` are "
    "the model compiled as a whole."
)
Times = Mapping[tuple[str, bool], tuple[float, float, float]]
"""Milliseconds of a model in one configuration by variant and whether the profiler ran: quartile, median, quartile."""


def profiling(run: Run) -> Section:
    """What each way of timing costs, over the plain execution, for all six models."""
    found = {
        (word, model): times_of(run, model, name) for name, word in CONFIGURATIONS.items() for model in run.models()
    }
    found = {key: times for key, times in found.items() if ("pure", False) in times}
    if not found:
        return Section("What measuring costs", ["No timings were taken."])
    rows: list[list[Any]] = [
        [word, NAMES[model], f"{times['pure', False][1]:.2f}", *(_cost(times, key) for key in METHODS)]
        for (word, model), times in found.items()
    ]
    heads = ["configuration", "model", "plain, ms", *METHODS.values()]
    return Section("What measuring costs", [INTRODUCTION, table(heads, rows)], [], findings(run, found))


def times_of(run: Run, model: str, configuration: str) -> Times:
    """Wall times of a model's executions; empty where none were taken."""
    trace = run.captures.get(f"{model}_timings_cuda")
    if trace is None:
        return {}
    frame = tl.analyses.timing_methods(trace).filter(configuration=configuration, quantity="wall")
    by = ("variant", "profiled", "low_ns", "median_ns", "high_ns")
    return {
        (variant, profiled): (low / 1e6, middle / 1e6, high / 1e6)
        for variant, profiled, low, middle, high in frame.select(by).iter_rows()
    }


def ratio(times: Times, one: tuple[str, bool], other: tuple[str, bool]) -> tuple[float, float, float]:
    """The quotient of two medians between the least and the most that the quartiles allow."""
    (a_low, a, a_high), (b_low, b, b_high) = times[one], times[other]
    return a_low / b_high, a / b, a_high / b_low


def _cost(times: Times, key: tuple[str, bool]) -> str | None:
    if key not in times:
        return None
    low, middle, high = ratio(times, key, ("pure", False))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def costs_of(
    found: Mapping[tuple[str, str], Times], one: tuple[str, bool], other: tuple[str, bool]
) -> dict[str, list[float]]:
    """The quotient of two medians of every model, by configuration; where both were taken."""
    return {
        word: [
            ratio(times, one, other)[1]
            for (configuration, _), times in found.items()
            if configuration == word and {one, other} <= set(times)
        ]
        for word in CONFIGURATIONS.values()
    }


def _said(costs: Mapping[str, list[float]]) -> str:
    return ", ".join(f"{spread(ratios)} times {_ON[word]}" for word, ratios in costs.items() if ratios)


_ON = {"CUDA": "on CUDA", "compiled": "compiled"}
_WHERE = "section 5.5.2, Fig. 5.7"


def findings(run: Run, found: Mapping[tuple[str, str], Times]) -> list[Finding]:
    """The thesis's section 5.5.2, beside today's costs."""
    plain, timed = ("pure", False), ("timed", False)
    profiled, timers, waits = (costs_of(found, key, plain) for key in (("pure", True), timed, ("sync", False)))
    both = costs_of(found, ("timed-sync", False), timed)
    return [
        Finding(
            "A profiled execution takes about twice as long", _WHERE, f"about {PROFILING:g}",
            f"{_said(profiled)} (torch.profiler around unchanged executions)", is_twofold(max(profiled["CUDA"])),
            'torch.profiler of 2.11, and without stacks; there of 2.3: column `profiled` of "What measuring costs"; '
            "cause not established",
        ),
        _consistent(found),
        Finding(
            "Timers around each layer cost little by themselves", _WHERE, "minimal impact", _said(timers),
            max(timers["CUDA"]) < SMALL_COST,
            "work for the host, which shows where a step waits for the host, and least in AlexNet and ResNet-50, "
            "whose steps are mostly kernels; a compiled model is split into a region a layer: column `timed`",
        ),
        Finding(
            "Waiting for the device after each layer costs little by itself", _WHERE, "minimal impact", _said(waits),
            max(waits["CUDA"]) < SMALL_COST,
            "an H200 computes a layer sooner than the host launches it, so each wait costs a launch; a compiled model "
            "is split into a region a layer besides: column `synchronised`",
        ),
        Finding(
            "Timers that wait are notably slower than timers alone", _WHERE, "a notable slowdown", _said(both),
            min(map(min, filter(None, both.values()))) > SMALL_COST, "column `timed and synchronised` over `timed`",
        ),
        Finding(
            "Synchronising costs CUDA more than Triton", "section 5.5.2", "CUDA suffers more",
            f"{_said(both)} (waiting timers over timers alone, where both are split into layers)",
            min(both["CUDA"]) > max(both["compiled"]),
            f"over a plain execution it is the other way round ({_said(waits)}), but there the compiled model is split "
            "into regions too, which costs more than the waiting",
        ),
        _profiler_and_clock(run),
    ]  # fmt: skip


def _consistent(found: Mapping[tuple[str, str], Times]) -> Finding:
    """Whether the profiler costs as much with timers and waiting as without."""
    by_model: dict[str, list[float]] = {}
    for (_, model), times in found.items():
        ratios = [ratio(times, (way, True), (way, False))[1] for way, on in times if on and (way, False) in times]
        by_model.setdefault(model, []).extend(ratios)
    widest = max(by_model, key=lambda model: max(by_model[model]) / min(by_model[model]))
    return Finding(
        "The profiler's cost is the same whatever else is timed, and whether compiled or not",
        _WHERE, "consistent",
        f"{spread(cost for ratios in by_model.values() for cost in ratios)} times; in {NAMES[widest]} alone "
        f"{spread(by_model[widest])}",
        max(by_model[widest]) / min(by_model[widest]) < SMALL_COST,
        "`pure`, `sync`, `timed` and `timed-sync`, each profiled over not profiled, in `MODEL_timings_cuda`; "
        "cause not established",
    )  # fmt: skip


def _profiler_and_clock(run: Run) -> Finding:
    """Whether the models' speedups by the profiler's kernel times stand in the order of those by the clock."""
    rows = [
        (kernel_speedup(run, model), found.middle)
        for model, part in run.models().items()
        if (found := speedup(part, "default"))
    ]
    frame = pl.DataFrame(rows, schema=["kernels", "clock"], orient="row")
    rank = frame.select(pl.corr("kernels", "clock", method="spearman")).item() if frame.height > 2 else None
    return Finding(
        "What the profiler says does not go with end-to-end times", "section 5.5.2, from Figs. 5.4 and 5.7",
        "a lack of correlation",
        "not measured" if rank is None else f"rank correlation of six speedups, by kernels and by clock: {rank:.2f}",
        None if rank is None else rank < 0.5,
        "kernels fill a different part of each model's step: the last columns of the table of milliseconds in "
        '"Out of the box"',
    )  # fmt: skip


def is_twofold(ratio: float) -> bool:
    """About two, to the next half."""
    return abs(ratio - PROFILING) <= 0.5
