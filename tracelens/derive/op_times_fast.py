"""`op_times` in machine code: sums by name in one walk, and durations ordered by name for their medians."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl

from tracelens.derive import charging
from tracelens.derive.ancestry_fast import (
    LAUNCHED,
    ORDERED,
    TIMES,
    WITHIN,
    charge,
    charge_calls,
    filled,
    run,
    whole,
)
from tracelens.derive.charging import on_lanes
from tracelens.derive.intervals import durations
from tracelens.fast.memory import Words

_SUMS = ["cuda_self_ns", "cpu_self_ns", "cuda_total_ns", "n_ops"]


def by_name(tree: pl.DataFrame, n_words: int, work: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame | None:
    """What `op_times.by_name` gives; None where there is no kernel. `tree` has marks: 1 for ops, 2 for Python calls."""
    n_spans = tree.height
    sums = np.zeros((n_words, len(_SUMS)), np.int64)
    with ThreadPoolExecutor(1) as pool:
        on_host_later = pool.submit(_on_host, tree, calls)
        codes, parents = tree["name"].to_numpy(), whole(tree["parent_id"])
        shared: dict[str, Any] = {
            "flags": tree["marks"].to_numpy(), "parents": parents, "n_parents": n_spans, "codes": codes,
            "width": codes.itemsize,
        }  # fmt: skip
        within = charge(work["span_id"], work["duration_ns"], n_spans)
        launches = {"rows": filled(work["span_id"]), "own": work["duration_ns"].to_numpy()}
        done = (
            within is not None
            and run(WITHIN, n_spans, rows=parents, result=within)
            and run(LAUNCHED, work.height, result=sums, **launches, **shared)
        )
        on_host = on_host_later.result()
    if not done or not run(TIMES, n_spans, own=on_host, starts=within, result=sums, **shared):
        return None
    del within, on_host
    ends = np.cumsum(sums[:, 3])
    ordered = np.empty(int(ends[-1]) if n_words else 0, np.int64)
    own = tree["duration_ns"].to_numpy()
    if not run(ORDERED, n_spans, own=own, table=ends - sums[:, 3], result=ordered, **shared):
        return None
    return _measures(ordered, ends, sums).cast({"name": tree.schema["name"]})


def _on_host(tree: pl.DataFrame, calls: pl.DataFrame) -> Words:
    """The time of each span on the host that is not in calls made directly in it."""
    found = charge_calls(on_lanes(calls), tree.height)
    if found is None:  # calls out of order
        found = charging.charge_calls(calls, tree.height).to_numpy(writable=True)
    np.subtract(tree["self_ns"].to_numpy(), found, out=found)
    return found


def _measures(ordered: Words, ends: Words, sums: Words) -> pl.DataFrame:
    """The measures of each code that an op has; its durations stand in `ordered` up to its end."""
    codes = np.flatnonzero(sums[:, 3])
    parts = [
        pl.DataFrame({"duration_ns": ordered[ends[code] - sums[code, 3] : ends[code]]}).select(durations())
        for code in codes
    ]
    names = pl.Series("name", codes)
    by_code = pl.DataFrame(sums[codes, :3], schema=_SUMS[:3]).with_columns(names)
    return pl.concat(parts).hstack(by_code) if parts else by_code
