"""What measuring costs: the thesis's validation of its timing methods, its first research question."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl
from figures import Run, Speedup, kernel_speedup, speedup, spread
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
    "Do timers tell the truth (the thesis's first question)? Timers alone do, on CUDA, to a fifth;"
    " waiting for the device and the profiler change what they measure, most where layers are"
    " compiled. Wall time of an execution by each method over the plain one, medians of ten rounds"
    " of two executions, quartiles in brackets (`pure`, `sync`, `timed`, `timed-sync` of"
    " `tl.analyses.timing_methods`; captures `MODEL_timings_cuda`). Synchronised and timed"
    " executions do so around each layer, and a compiled layer is then a region of its own; `plain`"
    " and `profiled` are the model compiled as a whole."
)
Times = Mapping[tuple[str, bool], tuple[float, float, float]]
"""Milliseconds of a model in one configuration by variant and whether the profiler ran:
quartile, median, quartile."""


def profiling(run: Run) -> Section:
    """What each way of timing costs, over the plain execution, for all six models."""
    found = {
        (word, model): times_of(run, model, name)
        for name, word in CONFIGURATIONS.items()
        for model in run.models()
    }
    found = {key: times for key, times in found.items() if ("pure", False) in times}
    if not found:
        return Section("What measuring costs", ["No timings were taken."])
    rows: list[list[Any]] = [
        [
            word,
            NAMES[model],
            f"{times['pure', False][1]:.2f}",
            *(_cost(times, key) for key in METHODS),
        ]
        for (word, model), times in found.items()
    ]
    heads = ["configuration", "model", "plain, ms", *METHODS.values()]
    return Section(
        "What measuring costs", [INTRODUCTION, table(heads, rows)], [], findings(run, found)
    )


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


def ratio(times: Times, one: tuple[str, bool], other: tuple[str, bool]) -> Speedup:
    """The quotient of two medians between the least and the most that the quartiles allow."""
    (a_low, a, a_high), (b_low, b, b_high) = times[one], times[other]
    return Speedup(a_low / b_high, a / b, a_high / b_low)


def _cost(times: Times, key: tuple[str, bool]) -> str | None:
    return str(ratio(times, key, ("pure", False))) if key in times else None


Costs = Mapping[str, Speedup]
"""How many times as long each model takes one way as another."""


def costs_of(
    found: Mapping[tuple[str, str], Times], one: tuple[str, bool], other: tuple[str, bool]
) -> dict[str, Costs]:
    """Those costs by configuration, of the models of which both were taken."""
    return {
        word: {
            model: ratio(times, one, other)
            for (configuration, model), times in found.items()
            if configuration == word and {one, other} <= set(times)
        }
        for word in CONFIGURATIONS.values()
    }


_WHERE = "section 5.5.2, Fig. 5.7"
_OF_A_REGION = "a compiled model is split into a region a layer to be timed so: column "


def findings(run: Run, found: Mapping[tuple[str, str], Times]) -> list[Finding]:
    """The thesis's section 5.5.2, beside today's costs."""
    plain, timed = ("pure", False), ("timed", False)
    profiled, timers, waits = (
        costs_of(found, key, plain) for key in (("pure", True), timed, ("sync", False))
    )
    both = costs_of(found, ("timed-sync", False), timed)
    no_reason = (
        "torch.profiler of 2.11, without stacks; there of 2.3: column `profiled`; cause not"
        " established"
    )
    kinds = (
        (
            "A profiled execution takes about twice as long",
            f"about {PROFILING:g}",
            profiled,
            is_twofold,
            dict.fromkeys(profiled, no_reason),
        ),
        (
            "Timers around each layer cost little by themselves",
            "minimal impact",
            timers,
            is_little,
            {"CUDA": "column `timed`", "compiled": f"{_OF_A_REGION}`timed`"},
        ),
        (
            "Waiting for the device after each layer costs little by itself",
            "minimal impact",
            waits,
            is_little,
            {"CUDA": _waits_for_launches(run), "compiled": f"{_OF_A_REGION}`synchronised`"},
        ),
        (
            "Timers that wait are notably slower than timers alone",
            "a notable slowdown",
            both,
            is_notable,
            dict.fromkeys(both, "column `timed and synchronised` over `timed`"),
        ),
    )
    judged = [
        Finding(
            f"{claim}, {_ON[word]}", _WHERE, then, _said(costs), judge(costs[SHOWN]), reasons[word]
        )
        for claim, then, by_word, judge, reasons in kinds
        for word, costs in by_word.items()
        if SHOWN in costs
    ]
    return [*judged, _consistent(found), _more_on_cuda(both, waits), _profiler_and_clock(run)]


SHOWN = "alexnet"
"""The model of the thesis's Figure 5.7, by which its claims are judged; the others stand beside
it."""
_ON = {"CUDA": "on CUDA", "compiled": "compiled"}


def _said(costs: Costs) -> str:
    others = [cost for model, cost in costs.items() if model != SHOWN]
    more = f"; the others {_over(others)}" if others else ""
    return f"{NAMES[SHOWN]}, as there, {costs[SHOWN]} times{more}"


def _over(costs: Collection[Speedup]) -> str:
    """`1.16 to 1.40 (1.11 to 1.61 by the quartiles)`."""
    least, most = min(cost.low for cost in costs), max(cost.high for cost in costs)
    return f"{spread(cost.middle for cost in costs)} ({least:.2f} to {most:.2f} by the quartiles)"


def is_little(cost: Speedup) -> bool | None:
    """Whether it is surely less than a tenth; null where the quartiles do not tell."""
    return True if cost.high < SMALL_COST else False if cost.low > SMALL_COST else None


def is_notable(cost: Speedup) -> bool | None:
    """Whether it is surely more than a tenth."""
    little = is_little(cost)
    return None if little is None else not little


def is_twofold(cost: Speedup) -> bool | None:
    """About two, to the next half; null where the quartiles are partly so."""
    least, most = PROFILING - 0.5, PROFILING + 0.5
    return (
        True
        if least <= cost.low and cost.high <= most
        else False
        if cost.high < least or cost.low > most
        else None
    )


def _waits_for_launches(run: Run) -> str:
    """Why waiting costs more than it did: how long the kernels between two waits take here."""
    trace = run.captures.get(f"{SHOWN}_eager")
    if trace is None:
        return "cause not established"
    median_us = float(trace.kernels["duration_ns"].median() or 0) / 1000  # type: ignore[arg-type]
    return (
        f"column `synchronised`; an eager kernel of {NAMES[SHOWN]} takes {median_us:.1f} µs in the"
        f" median (`{SHOWN}_eager`), and each wait leaves the GPU idle until the next launch; that"
        " this is all of it is not established"
    )


def _more_on_cuda(both: Mapping[str, Costs], waits: Mapping[str, Costs]) -> Finding:
    """Whether waiting costs more on CUDA, both sides being split into layers."""
    pairs = [
        (cost, both["compiled"][model])
        for model, cost in both["CUDA"].items()
        if model in both["compiled"]
    ]
    more, less = (
        sum(one.low > two.high for one, two in pairs),
        sum(one.high < two.low for one, two in pairs),
    )
    return Finding(
        "Synchronising costs CUDA more than Triton",
        "section 5.5.2",
        "CUDA suffers more",
        "waiting timers over timers alone, where both are split into layers:"
        f" {_over(both['CUDA'].values())} on CUDA, {_over(both['compiled'].values())} compiled;"
        f" surely more on CUDA in {more} of {len(pairs)} models, less in {less}",
        (
            True
            if more > len(pairs) / 2 and not less
            else False
            if less > len(pairs) / 2 and not more
            else None
        ),
        f"over a plain execution it is the other way round ({_over(waits['CUDA'].values())} on"
        f" CUDA, {_over(waits['compiled'].values())} compiled), but there the compiled model is"
        " split into regions too, which costs more than the waiting",
    )


def _consistent(found: Mapping[tuple[str, str], Times]) -> Finding:
    """Whether the profiler costs as much with timers and waiting as without, in the model that the thesis shows."""
    by = {
        (word, way): ratio(times, (way, True), (way, False))
        for (word, model), times in found.items()
        for way, profiled in times
        if model == SHOWN and profiled and (way, False) in times
    }
    least, most = (pick(by, key=lambda key: by[key].middle) for pick in (min, max))
    return Finding(
        "The profiler's cost is the same whatever else is timed, and whether compiled or not",
        _WHERE,
        "consistent",
        f"{NAMES[SHOWN]}, as there: from {by[least]} times ({', '.join(least)}) to {by[most]}"
        f" ({', '.join(most)})",
        None if by[least].high >= by[most].low else by[most].middle / by[least].middle < SMALL_COST,
        "`pure`, `sync`, `timed` and `timed-sync`, each profiled over not profiled, in"
        " `MODEL_timings_cuda`",
    )


def _profiler_and_clock(run: Run) -> Finding:
    """Whether the models' speedups by the profiler's kernel times stand in the order of those by the clock."""
    rows = [
        (kernel_speedup(run, model), found.middle)
        for model, part in run.models().items()
        if (found := speedup(part, "default"))
    ]
    frame = pl.DataFrame(rows, schema=["kernels", "clock"], orient="row")
    rank = (
        frame.select(pl.corr("kernels", "clock", method="spearman")).item()
        if frame.height > 2
        else None
    )
    return Finding(
        "What the profiler says does not go with end-to-end times",
        "section 5.5.2, from Figs. 5.4 and 5.7",
        "a lack of correlation",
        (
            "not measured"
            if rank is None
            else f"rank correlation of six speedups, by kernels and by clock: {rank:.2f}"
        ),
        None if rank is None else rank < 0.5,
        "kernels fill a different part of each model's step: the last columns of the table of"
        ' milliseconds in "Out of the box"',
    )
