"""Time of each host thread: waiting, in ops, in API calls, in Python, and unrecorded."""

from __future__ import annotations

import polars as pl

from tracelens.derive.columns.distinct import each_once, matching
from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.events.api_names import waits_for_device
from tracelens.derive.events.span_trees import span_trees
from tracelens.derive.time.completing import steps_of
from tracelens.trace import Trace

_LANE = ["process_id", "thread_id"]
_WAITS = (
    r"^(?:.*/)?(?:threading|selectors|queue|multiprocessing/\w+|concurrent/futures/\w+)\.py\(\d+\): "
    r"(?:wait|wait_for|join|get|poll|select|recv|_wait_for_tstate_lock|result)$"
    r"|^<built-in (?:method|function) (?:acquire|wait|sleep|select|poll|epoll_wait|sem_timedwait)\b|^time\.sleep"
)
"""Names of Python calls that wait: for a lock, queue, pipe, thread or time."""
_TIMES = [*_LANE, "start_ns", "duration_ns"]


def thread_times(trace: Trace) -> pl.DataFrame:
    """A row a rank and thread: window_ns, its parts (wait, op, api, python, unrecorded), which tile it, and n_ops."""
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name", *_TIMES)
    calls = trace.select("api_calls", "rank", "api", *_TIMES)
    calls = calls.with_columns(is_sync=each_once(calls["api"], waits_for_device))
    steps = steps_of(trace)
    trees = {int(tree["rank"][0]): tree for tree in span_trees(spans)}
    found = []
    for rank in sorted({*trees, *calls["rank"].unique()}):
        tree, own = trees.get(rank, spans.clear()), calls.filter(pl.col("rank") == rank)
        is_op, is_python = tree["kind"] == "op", tree["kind"].is_in(["python", "module"])
        waiting = is_python & matching(tree["name"], _WAITS)[0]
        ops, python, waited = (_outermost(tree, flags) for flags in (is_op, is_python, waiting))
        called, synced = (_times(of) for of in (own, own.filter("is_sync")))
        known = pl.concat([_times(tree), called])
        lanes = known.select(_LANE).unique()
        windows = _windows(known, steps.filter(pl.col("rank") == rank)).join(lanes, how="cross")
        times = _split(windows, {"wait": [waited, synced], "op": [ops], "api": [called], "python": [python]})
        counts = tree.filter(is_op).group_by(_LANE).agg(n_ops=pl.len().cast(pl.Int64))
        counts = counts.with_columns(pl.col(_LANE).cast(pl.Int64))
        times = times.join(counts, on=_LANE, how="left").with_columns(pl.col("n_ops").fill_null(0))
        found.append(times.with_columns(rank=pl.lit(rank, pl.Int32)))
    return pl.concat(found) if found else pl.DataFrame()


def _outermost(tree: pl.DataFrame, flags: pl.Series) -> pl.DataFrame:
    """Thread and time of the flagged spans that are not directly in another flagged one."""
    within = flags.gather(tree["parent_id"]).fill_null(value=False)
    return _times(tree.select(_TIMES)[(flags & ~within).arg_true()])


def _times(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(_TIMES).cast(pl.Int64))


def _windows(known: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The windows of time to break down: start_ns, duration_ns; the steps, or else all recorded time."""
    if steps.height:
        return steps.select("start_ns", "duration_ns")
    end = pl.col("start_ns") + pl.col("duration_ns")
    return known.select(start_ns=pl.col("start_ns").min(), duration_ns=end.max() - pl.col("start_ns").min())


def _split(windows: pl.DataFrame, parts: dict[str, list[pl.DataFrame]]) -> pl.DataFrame:
    """For each thread the windows' time in each part, outside of the parts before it; and in no part."""
    covers = [
        pl.concat([frame for frames in list(parts.values())[: n + 1] for frame in frames]) for n in range(len(parts))
    ]
    covered = windows.with_columns(
        covered_ns(windows, cover, _LANE).alias(name) for name, cover in zip(parts, covers, strict=True)
    )
    sums = covered.group_by(_LANE).agg(pl.col("duration_ns").sum().alias("window_ns"), pl.col(*parts).sum())
    before: dict[str, pl.Expr] = dict(zip(parts, [pl.lit(0), *map(pl.col, parts)], strict=False))
    own = ((pl.col(name) - before[name]).alias(f"{name}_ns") for name in parts)
    return sums.select(*_LANE, "window_ns", *own, unrecorded_ns=pl.col("window_ns") - pl.col([*parts][-1]))
