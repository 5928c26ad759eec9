"""Layers of TensorRT engines: the ranges that TensorRT opens while it enqueues an engine's work."""

from __future__ import annotations

import polars as pl

from tracelens.derive.columns.distinct import each_once
from tracelens.derive.events.nesting import nest

_DOMAIN = r" TensorRT$"
_RUNS = r"^I?ExecutionContext::"


def find_layers(ranges: pl.DataFrame) -> pl.Series:
    """The path of each raw span that is a TensorRT layer, null for the others.

    In its domain, TensorRT marks calls of its own (`ExecutionContext::enqueue`), and directly in a call that runs an
    engine each layer by name; ranges within a layer, or in a call that builds or loads an engine, are no layers.
    """
    nothing = pl.repeat(None, ranges.height, dtype=pl.String, eager=True).alias("exact_path")
    rows = each_once(ranges["category"], lambda category: category.str.contains(_DOMAIN)).arg_true()
    if not len(rows):
        return nothing
    own = ranges.select("name", "process_id", "thread_id", "start_ns", "duration_ns")[rows]
    parent = pl.Series(nest(own, own.clear()).parent, dtype=pl.Int64)
    names = own["name"].cast(pl.String)
    runs = names.str.contains(_RUNS)
    is_layer = runs.gather(parent.set(parent < 0, None)).fill_null(value=False) & ~runs
    return nothing.scatter(rows.filter(is_layer), names.filter(is_layer))
