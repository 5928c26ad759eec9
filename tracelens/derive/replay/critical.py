"""Find the critical path of a rank's median step: the dependencies that determine its length."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from tracelens.derive.columns.filling import gathered
from tracelens.derive.replay.moment_graph import (
    CALL,
    KINDS,
    NONE,
    OP,
    PYTHON,
    START,
    WAIT,
    Flags,
    Ints,
    deciding_path,
    earliest_times,
)
from tracelens.derive.replay.replay import Replay, last_moment, step_durations, step_ends

_ROWS = {
    "rank": pl.Int32,
    "step": pl.Int64,
    "position": pl.Int64,
    "kind": pl.String,
    "what": pl.String,
    "op": pl.String,
    "module_path": pl.String,
    "cause": pl.String,
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
    "is_inferred": pl.Boolean,
}


class Labels(Struct, frozen=True):
    """Holds labels of graph edges, each None if unknown."""

    ops: list[str | None]
    layers: list[str | None]
    names: list[str | None]
    causes: list[str | None]  # why the host spent its time


def critical_path_of(replay: Replay) -> pl.DataFrame:
    """Return the critical path of the rank's median step, in order of time.

    The durations sum to the step. There is one row per graph edge, but neighbouring edges with
    equal labels are one row.
    """
    times, deciding = earliest_times(replay.table.graph)
    durations = step_durations(replay, times)
    step = int(np.argsort(durations, kind="stable")[(len(durations) - 1) // 2])
    ends = step_ends(replay, times)
    first = int(replay.excerpt.steps["start"][0])
    begin = int(ends[step - 1]) if step else first
    moment = last_moment(replay, times, step)
    edges = deciding_path(replay.table.graph, deciding, moment)
    kept, starts, lengths = _within(
        replay,
        times,
        edges,
        begin,
        int(ends[step]),
    )
    labels = labels_of(replay, np.array(kept, np.int64))
    rows = {
        "rank": replay.excerpt.rank,
        "step": replay.excerpt.steps["step"][step],
        "kind": [KINDS[kind] for kind in replay.table.kinds[kept].tolist()],
        "what": labels.names,
        "op": labels.ops,
        "module_path": labels.layers,
        "cause": labels.causes,
        "start_ns": [start + replay.excerpt.origin_ns for start in starts],
        "duration_ns": lengths,
        "is_inferred": replay.table.is_inferred[kept].astype(bool).tolist(),
    }
    if not kept:
        return pl.DataFrame(schema=_ROWS)
    return _joined(pl.DataFrame(rows, strict=False))


def _within(
    replay: Replay,
    times: Ints,
    edges: list[int],
    begin: int,
    end: int,
) -> tuple[list[int], list[int], list[int]]:
    """Return the indices, starts and durations of a path's edges, cut to the time of one step.

    Edges outside of the step are left out. The rest is in order of time.
    """
    kept = []
    starts = []
    lengths = []
    for edge in reversed(edges):
        source = max(
            int(times[replay.table.graph.sources[edge]]),
            begin,
        )
        target = min(
            int(times[replay.table.targets[edge]]),
            end,
        )
        if target > source:
            kept.append(edge)
            starts.append(source)
            lengths.append(target - source)
    return kept, starts, lengths


def labels_of(replay: Replay, edges: Ints) -> Labels:
    """Return the labels of the graph edges with these indices."""
    table = replay.table
    excerpt = replay.excerpt
    kinds = table.kinds[edges]
    items = table.items[edges]
    of_call = np.isin(kinds, (CALL, WAIT))
    of_host = np.isin(kinds, (OP, PYTHON))
    calls = np.where(of_call, items, NONE)
    is_work = ~of_call & ~of_host & (kinds != START)
    calls[is_work] = replay.work.calls[items[is_work]]
    op_rows = np.where(of_host, items, NONE)
    has_call = calls >= 0
    op_rows[has_call] = replay.call_ops[calls[has_call]]
    ops = _gathered(excerpt.ops["name"], op_rows)
    layers = _gathered(excerpt.ops["module_path"], op_rows)
    apis = _gathered(
        excerpt.calls["api"],
        np.where(of_call, items, NONE),
    )
    work = _gathered(
        excerpt.work["name"],
        np.where(is_work, items, NONE),
    )
    is_main = (of_host | of_call) & (table.is_helper[edges] == 0)
    causes, places = _activities(replay, edges, is_main)
    between = [place if kind == PYTHON else None for kind, place in zip(kinds, places, strict=True)]
    names = [
        api or name or op or place
        for api, name, op, place in zip(apis, work, ops, between, strict=True)
    ]
    return Labels(ops, layers, names, causes)


def _activities(
    replay: Replay, edges: Ints, is_main: Flags
) -> tuple[list[str | None], list[str | None]]:
    """Return the recorded cause and activity of the main threads in each edge.

    Both are None for other threads and for device work. `is_main` flags the edges of the main
    threads.
    """
    excerpt = replay.excerpt
    is_before_end = pl.col("start_ns") < excerpt.origin_ns + excerpt.marks[-1]
    frame = excerpt.activities.filter(is_before_end)
    empty: list[str | None] = [None] * len(edges)
    if not frame.height or not len(edges):
        return empty, empty
    starts = frame["start_ns"].to_numpy() - excerpt.origin_ns
    ends = starts + frame["duration_ns"].to_numpy()
    table = replay.table
    sources = table.recorded[table.graph.sources[edges]]
    middle = (sources + table.recorded[table.targets[edges]]) // 2
    rows = np.searchsorted(starts, middle, "right") - 1
    is_known = is_main & (rows >= 0) & (ends[rows] >= middle)
    rows = np.where(is_known, rows, NONE)
    return _gathered(frame["cause"], rows), _gathered(frame["what"], rows)


def _gathered(values: pl.Series, rows: Ints) -> list[str | None]:
    """Return the values at the rows as text, None for row -1."""
    indices = pl.Series(rows, dtype=pl.Int64)
    known_indices = indices.set(indices < 0, None)
    texts: list[str | None] = gathered(values.cast(pl.String), known_indices).to_list()
    return texts


def _joined(rows: pl.DataFrame) -> pl.DataFrame:
    """Merge neighbouring rows that differ only in time, and number the rows from 0."""
    key = ["kind", "what", "op", "module_path", "cause", "is_inferred"]
    is_new = pl.struct(key).ne_missing(pl.struct(key).shift(1))
    grouped = rows.with_columns(position=is_new.fill_null(value=True).cum_sum() - 1).group_by(
        "position", maintain_order=True
    )
    first = [name for name in rows.columns if name != "duration_ns"]
    joined = grouped.agg(
        pl.col(first).first(),
        pl.col("duration_ns").sum(),
    )
    return joined.select(pl.col(name).cast(dtype) for name, dtype in _ROWS.items())
