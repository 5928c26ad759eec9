"""Answer for measured times of a model: eager, compiled, and the best mixture of its layers."""

import polars as pl

from tracelens.analyses import layer_oracle
from tracelens.answers.answer import WORK, Answer, Bar, Change, Part
from tracelens.answers.words import counted
from tracelens.derive.columns.time_text import duration, three_digits
from tracelens.derive.layers.layer_times import EAGER
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

_WHOLE = (
    pl.col("module_path").is_null()
    & pl.col("quantity").is_null()
    & (pl.col("method") == "e2e")
    & ~pl.col("profiled")
    & ~pl.col("synchronized")
    & ~pl.col("is_warmup")
)
"""Rows that time whole executions of a model and measure nothing else."""


def answer_timings(trace: Trace) -> Answer:
    """Return the answer for a trace of `tracelens collect timings`.

    Raises MissingTableError without times of the whole model.
    """
    trace.require("answer", "timings")
    medians = _medians(trace)
    if not medians:
        raise MissingTableError(
            "the answer needs times of the whole model, and this trace has those of layers only;"
            " see the section timing_methods"
        )
    longest = max(medians.values()) or 1
    bars = tuple(
        Bar(
            name,
            (Part("the whole model", 1.0, WORK),),
            ns / longest,
            duration(ns),
        )
        for name, ns in medians.items()
    )
    changes = _mixture(trace)
    return Answer(
        _sentence(medians),
        bars=bars,
        changes=changes,
        changes_head="What would help (each layer measured by itself)",
        no_change=None if changes else "No mixture of eager and compiled layers would be faster",
        about=_about(trace),
        sections=("timing_methods",),
    )


def _medians(trace: Trace) -> dict[str, float]:
    """Return the median time of the model by configuration, the eager one first."""
    rows = trace.timings.filter(_WHOLE).group_by("configuration", "compile_mode")
    times = rows.agg(pl.col("duration_ns").median()).sort("configuration", "compile_mode")
    medians = {}
    for configuration, mode, ns in times.iter_rows():
        is_eager = configuration in EAGER
        name = "eager" if is_eager else "compiled" if mode in (None, "default") else str(mode)
        medians[name if configuration != "custom" else "mixture"] = float(ns)
    return dict(
        sorted(
            medians.items(),
            key=lambda pair: pair[0] != "eager",
        )
    )


def _sentence(medians: dict[str, float]) -> str:
    eager = medians.get("eager")
    others = {name: ns for name, ns in medians.items() if name != "eager"}
    if eager is None or not others:
        name, ns = next(iter(medians.items()))
        return f"The {name} model takes {duration(ns)}"
    name = min(others, key=lambda name: others[name])
    ratio = eager / others[name]
    times = f"{duration(eager)} → {duration(others[name])}"
    if ratio >= 1:
        return f"The {name} model is {three_digits(ratio)} times as fast as the eager one: {times}"
    return (
        f"The {name} model takes {three_digits(1 / ratio)} times as long as the eager one: {times}"
    )


def _mixture(trace: Trace) -> tuple[Change, ...]:
    """Return the best mixture of eager and compiled layers; empty if it is not clearly faster."""
    try:
        rows = layer_oracle(trace, trace).filter(oracle="dynamic")
    except MissingTableError:
        return ()
    total = rows.filter(layer="(total)").row(0, named=True)
    layers = rows.filter(pl.col("layer") != "(total)")
    n_compiled = layers.filter(choice="compiled").height
    if (total["speedup_over_best"] or 1) < 1.02 or not 0 < n_compiled < layers.height:
        return ()
    best = min(total["base_ns"], total["other_ns"])
    text = (
        f"compile {n_compiled} of {counted(layers.height, 'layer')}:"
        f" together {three_digits(total['speedup_over_best'])} times as fast as all of them eager"
        " or all compiled, whichever is faster; tracelens plan writes this plan"
    )
    return (
        Change(
            text,
            1 - total["cumulative_ns"] / best,
            round(total["cumulative_ns"]),
        ),
    )


def _about(trace: Trace) -> str:
    sources = trace.manifest.sources
    model = next(
        (str(s["settings"]["model"]) for s in sources if "model" in (s.get("settings") or {})),
        "",
    )
    rounds = trace.timings.filter(~pl.col("is_warmup"))["round"].n_unique()
    return f"{model + ', ' if model else ''}{counted(rounds, 'round')}, no profiler"
