"""Match steps of two windows that do the same work, and the events in these steps.

The deep window was recorded with stacks, shapes and modules, the light window without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import polars as pl

from tracelens.collectors.torch.raw_spans import PROFILER_STEP
from tracelens.derive.columns.intervals import END

THREAD = ("process_id", "thread_id")
Work = tuple[list[str], list[str]]
"""The names of a step's kernels, and the names of its ops."""
_MARK = "nn.Module: "
_RECEIVE = r"^enumerate\(DataLoader\)#_MultiProcessing"
"""Matches the span in which a data loader receives batches from its worker processes."""
_ALIKE = 0.9
"""The least share of ops that two steps must have in common to be matched."""
_MOST_COMPARED = 5_000
"""If two steps differ, at most this many ops of each are compared one by one."""
EDGES = ("row", "start_ns", "end_ns")


def is_module_mark() -> pl.Expr:
    """Return an expression that is True for module calls marked by a live capture."""
    return pl.col("name").cast(pl.String).str.starts_with(_MARK)


def steps_of(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the marks of steps, ordered by start: start_ns, end_ns and thread."""
    name = pl.col("name").cast(pl.String)
    marks = spans.filter((pl.col("kind") == "annotation") & name.str.contains(PROFILER_STEP))
    return marks.select("start_ns", *THREAD, end_ns=END).sort("start_ns")


def events_in_steps(events: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the events that begin in a step, with the step's index."""
    if marks.is_empty():
        return events.clear().with_columns(step=pl.lit(None, pl.Int64))
    step = marks["start_ns"].search_sorted(events["start_ns"], "right").cast(pl.Int64) - 1
    ends = marks["end_ns"].gather(step.clip(lower_bound=0))
    inside = (step >= 0) & (events["start_ns"] < ends)
    return events.with_columns(step=step).filter(inside)


def _chosen_in_steps(
    events: pl.DataFrame,
    marks: pl.DataFrame,
    chosen: pl.Expr,
) -> pl.DataFrame:
    """Return the chosen events that begin in a step, ordered by start.

    Columns are row, step, thread, name, start_ns and end_ns.
    """
    rows = events.with_row_index("row").filter(chosen).sort("start_ns", -pl.col("duration_ns"))
    return events_in_steps(rows, marks).select(
        pl.col("row").cast(pl.Int64),
        "step",
        *(pl.col(name).cast(pl.Int64) for name in THREAD),
        pl.col("name").cast(pl.String),
        "start_ns",
        end_ns=END,
    )


def ops_in_steps(spans: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the ops in steps, except marks of module calls.

    Columns are as in `_chosen_in_steps`.
    """
    return _chosen_in_steps(spans, marks, (pl.col("kind") == "op") & ~is_module_mark())


def waits_in_steps(calls: pl.DataFrame | None, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the API calls in steps, if they wait for a device.

    Columns are as in `_chosen_in_steps`.
    """
    if calls is None:
        times = dict.fromkeys(("start_ns", "duration_ns", *THREAD), pl.Int64)
        calls = pl.DataFrame(schema={"raw_api": pl.String, **times})
    waits_for_device = pl.col("name").cast(pl.String).str.contains("Synchronize")
    return _chosen_in_steps(calls.rename({"raw_api": "name"}), marks, waits_for_device)


def work_of_steps(tables: Mapping[str, pl.DataFrame], marks: pl.DataFrame) -> list[Work]:
    """Return the names of each step's kernels and ops, kernels in order of launch.

    Ops that receive batches in a data loader are left out.
    """
    spans = tables["spans"]
    kernels, ops = (
        dict(frame.group_by("step", maintain_order=True).agg("name").iter_rows())
        for frame in (
            _launched(tables, marks),
            # On a busy machine, one step receives several batches, and later steps receive none.
            _without_received(ops_in_steps(spans, marks), spans),
        )
    )
    return [(kernels.get(step, []), ops.get(step, [])) for step in range(marks.height)]


def _without_received(ops: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the ops that do not receive batches in a data loader. `ops` are ordered by start."""
    is_call = pl.col("name").cast(pl.String).str.contains(_RECEIVE)
    threads = (pl.col(name).cast(pl.Int64) for name in THREAD)
    calls = spans.filter((pl.col("kind") == "annotation") & is_call)
    calls = calls.select("start_ns", *threads, call_end_ns=END).sort("start_ns")
    begun = ops.join_asof(calls, on="start_ns", by=THREAD, check_sortedness=False)
    return begun.filter((pl.col("start_ns") < pl.col("call_end_ns")).fill_null(False).not_())


def _launched(tables: Mapping[str, pl.DataFrame], marks: pl.DataFrame) -> pl.DataFrame:
    """Return the names of kernels, each with the index of the step that launched it."""
    key = "correlation_id"
    kernels, calls = tables.get("kernels"), tables.get("api_calls")
    if kernels is None or calls is None or not {key} <= {*kernels.columns} & {*calls.columns}:
        return pl.DataFrame(schema={"step": pl.Int64, "name": pl.String})
    launches = calls.select(key, "start_ns").unique(key)
    work = kernels.select(key, pl.col("name").cast(pl.String), begun_ns="start_ns")
    return events_in_steps(work.join(launches, on=key).sort("start_ns", "begun_ns"), marks)


def partners_of(deep: Sequence[Work], light: Sequence[Work]) -> list[int]:
    """Return for each light step the index of the deep step that does the same work.

    If none does exactly the same work, take the step with most ops in common. The list is empty if
    less than `_ALIKE` of a step's ops is in common.
    """
    partners: list[int] = []
    for step, work in enumerate(light):
        same = [n for n, other in enumerate(deep) if other == work]
        # Of several equal steps, prefer the successor of the previous partner, then the same index.
        wanted = [partners[-1] + 1 if partners else step, step]
        chosen = next(
            (n for n in wanted if n in same),
            same[0] if same else None,
        )
        if chosen is None:
            shares = [_common(other, work) for other in deep]
            if max(shares, default=0) < _ALIKE:
                return []
            chosen = shares.index(max(shares))
        partners.append(chosen)
    return partners


def _common(first: Work, second: Work) -> float:
    """Return the share of ops that two steps have in common, relative to the step with more ops.

    For steps without ops, return the share of kernels.
    """
    names, others = first[1] or first[0], second[1] or second[0]
    n_common = (Counter(names) & Counter(others)).total()
    return n_common / max(len(names), len(others), 1)


def match_events(
    deep: pl.DataFrame,
    light: pl.DataFrame,
    deep_step: int,
    light_step: int,
) -> pl.DataFrame:
    """Return the events that occur both in a light step and in the matching deep step.

    Events match if a thread calls the same names in the same order. Columns:

    - the thread
    - row, start_ns, end_ns: of the event in the light window
    - row_deep, start_ns_deep, end_ns_deep: of the event in the deep window
    """
    of_deep = deep.filter(pl.col("step") == deep_step).partition_by(THREAD, as_dict=True)
    of_light = light.filter(pl.col("step") == light_step).partition_by(THREAD, as_dict=True)
    empty = dict.fromkeys(
        (*THREAD, *EDGES, *(f"{name}_deep" for name in EDGES)),
        pl.Int64,
    )
    parts = [pl.DataFrame(schema=empty)]
    for thread in of_light.keys() & of_deep.keys():
        light_events, deep_events = of_light[thread], of_deep[thread]
        deep_rows, light_rows = _same_names(
            deep_events["name"].to_list(),
            light_events["name"].to_list(),
        )
        deep_edges = deep_events[deep_rows].select(pl.col(*EDGES).name.suffix("_deep"))
        edges = light_events[light_rows].select(*THREAD, *EDGES)
        parts.append(edges.hstack(deep_edges.get_columns()))
    return pl.concat(parts)


def _same_names(deep: list[str], light: list[str]) -> tuple[list[int], list[int]]:
    """Return the positions of matching names in each of two sequences, in order."""
    if deep == light:
        return list(range(len(deep))), list(range(len(light)))
    if max(len(deep), len(light)) > _MOST_COMPARED:
        n_same = next(
            (n for n, (a, b) in enumerate(zip(deep, light, strict=False)) if a != b),
            min(len(deep), len(light)),
        )
        return list(range(n_same)), list(range(n_same))
    blocks = SequenceMatcher(None, deep, light, autojunk=False).get_matching_blocks()
    return (
        [block.a + n for block in blocks for n in range(block.size)],
        [block.b + n for block in blocks for n in range(block.size)],
    )
