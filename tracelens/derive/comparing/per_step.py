"""The values of a run's rows, a step each, from which a comparison knows how much they vary by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from tracelens.derive.layers.attribution import layer_step_times
from tracelens.trace import Trace


def of_runs(traces: Iterable[Trace], values: Callable[[Trace], pl.DataFrame]) -> pl.DataFrame:
    """The values of several runs of a program, one below the other, with `run` counted from 0."""
    found = [values(trace).with_columns(run=pl.lit(at, pl.Int64)) for at, trace in enumerate(traces)]
    return pl.concat([frame for frame in found if frame.height] or found[:1])


def in_steps(trace: Trace) -> pl.DataFrame:
    """rank, step: the steps that launched kernels, of ranks that mark any; steps without a kernel are none here."""
    marked = trace.select("kernels", "rank", "step").drop_nulls("step")
    return marked.unique() if marked.height else marked.clear()


def each_step(measured: pl.DataFrame, steps: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The key (with rank), value and n: sums of `value` and `n` in each of the rank's steps, 0 where a row is in none.

    `measured` has rank, the key, step, value and n. Work outside of steps is left out; of a rank that marks none, each
    row of `measured` stays as it is: a call is then what one can compare.
    """
    marked = steps["rank"].unique().implode()
    inside = measured.filter(pl.col("rank").is_in(marked)).drop_nulls("step")
    sums = inside.lazy().group_by(*key, "step").agg(pl.col("value", "n").sum()).collect()
    every = sums.select(key).unique(maintain_order=True).join(steps, on="rank")
    full = every.join(sums, on=[*key, "step"], how="left", nulls_equal=True, maintain_order="left").sort("step")
    columns = [*key, "value", "n"]
    calls = measured.filter(~pl.col("rank").is_in(marked)).select(columns)
    return pl.concat([full.with_columns(pl.col("value", "n").fill_null(0)).select(columns), calls])


def layer_values(trace: Trace) -> pl.DataFrame:
    """Time of each layer's and phase's kernels a step: rank, layer, phase, value; in all where no step is marked."""
    key = ("rank", "layer", "phase")
    measured = layer_step_times(trace).select(*key, "step", value=pl.col("duration_ns").cast(pl.Float64), n=pl.lit(1))
    return each_step(measured, in_steps(trace), key).drop("n")
