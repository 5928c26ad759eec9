"""Match the steps of two windows that do the same work, and the events in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import polars as pl

THREAD = ("process_id", "thread_id")
Work = tuple[list[str], list[str]]
"""The names of a step's kernels, and of its ops."""
_STEP = r"^ProfilerStep#[0-9]+$"
_MARK = "nn.Module: "
_RECEIVE = r"^enumerate\(DataLoader\)#_MultiProcessing"
"""The span in which a data loader takes what its worker processes have sent."""
_ALIKE = 0.9
"""The least share of ops that two steps must have in common to be matched."""
_MOST_COMPARED = 5_000
"""If two steps differ, at most this many ops of each are compared one by one."""
_END = pl.col("start_ns") + pl.col("duration_ns")
EDGES = ("row", "start_ns", "end_ns")


def is_module_mark() -> pl.Expr:
    """Return an expression for module calls that a live capture marked one by one."""
    return pl.col("name").cast(pl.String).str.starts_with(_MARK)


def steps_of(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the marks of steps by start: start_ns, end_ns and thread."""
    name = pl.col("name").cast(pl.String)
    marks = spans.filter((pl.col("kind") == "annotation") & name.str.contains(_STEP))
    return marks.select("start_ns", *THREAD, end_ns=_END).sort("start_ns")


def placed(events: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the events that begin in a step, with the step's index."""
    if marks.is_empty():
        return events.clear().with_columns(step=pl.lit(None, pl.Int64))
    place = marks["start_ns"].search_sorted(events["start_ns"], "right").cast(pl.Int64) - 1
    ends = marks["end_ns"].gather(place.clip(lower_bound=0))
    inside = (place >= 0) & (events["start_ns"] < ends)
    return events.with_columns(step=place).filter(inside)


def _named(
    events: pl.DataFrame,
    marks: pl.DataFrame,
    chosen: pl.Expr,
) -> pl.DataFrame:
    """Return row, step, thread, name and edges of the chosen events in steps, by start."""
    rows = events.with_row_index("row").filter(chosen).sort("start_ns", -pl.col("duration_ns"))
    return placed(rows, marks).select(
        pl.col("row").cast(pl.Int64),
        "step",
        *(pl.col(name).cast(pl.Int64) for name in THREAD),
        pl.col("name").cast(pl.String),
        "start_ns",
        end_ns=_END,
    )


def ops_in_steps(spans: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the ops in steps, without calls of modules."""
    return _named(
        spans,
        marks,
        (pl.col("kind") == "op") & ~is_module_mark(),
    )


def waits_in_steps(calls: pl.DataFrame | None, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the API calls in steps that wait for a device, whether an op made them or not."""
    if calls is None:
        times = dict.fromkeys(("start_ns", "duration_ns", *THREAD), pl.Int64)
        calls = pl.DataFrame(schema={"raw_api": pl.String, **times})
    named = calls.rename({"raw_api": "name"})
    return _named(
        named,
        marks,
        pl.col("name").cast(pl.String).str.contains("Synchronize"),
    )


def work_of_steps(tables: Mapping[str, pl.DataFrame], marks: pl.DataFrame) -> list[Work]:
    """Return, for each step, the names of its kernels and of its ops, in order of launch.

    Ops in which a data loader takes batches from its workers are left out: on a busy machine, one
    step takes several batches, and later steps take no batch.
    """
    spans = tables["spans"]
    kernels, ops = (
        dict(frame.group_by("step", maintain_order=True).agg("name").iter_rows())
        for frame in (
            _launched(tables, marks),
            _without_received(ops_in_steps(spans, marks), spans),
        )
    )
    return [
        (
            kernels.get(step, []),
            ops.get(step, []),
        )
        for step in range(marks.height)
    ]


def _without_received(ops: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the ops, ordered by start, that begin outside a loader's calls to its workers."""
    is_call = pl.col("name").cast(pl.String).str.contains(_RECEIVE)
    threads = (pl.col(name).cast(pl.Int64) for name in THREAD)
    calls = spans.filter((pl.col("kind") == "annotation") & is_call)
    calls = calls.select("start_ns", *threads, call_end_ns=_END).sort("start_ns")
    begun = ops.join_asof(calls, on="start_ns", by=THREAD, check_sortedness=False)
    return begun.filter((pl.col("start_ns") < pl.col("call_end_ns")).fill_null(False).not_())


def _launched(tables: Mapping[str, pl.DataFrame], marks: pl.DataFrame) -> pl.DataFrame:
    """Return the names of kernels whose call began in a step, with the step's index."""
    key = "correlation_id"
    kernels, calls = tables.get("kernels"), tables.get("api_calls")
    if kernels is None or calls is None or not {key} <= {*kernels.columns} & {*calls.columns}:
        return pl.DataFrame(schema={"step": pl.Int64, "name": pl.String})
    launches = calls.select(key, "start_ns").unique(key)
    work = kernels.select(
        key,
        pl.col("name").cast(pl.String),
        begun_ns="start_ns",
    )
    return placed(
        work.join(launches, on=key).sort("start_ns", "begun_ns"),
        marks,
    )


def partners_of(deep: Sequence[Work], light: Sequence[Work]) -> list[int]:
    """Return, for each light step, the deep step with the same work; empty if any step has none.

    If several deep steps match, the one after the previous light step's partner is preferred, then
    the one with the same index.
    """
    partners: list[int] = []
    for place, work in enumerate(light):
        same = [n for n, other in enumerate(deep) if other == work]
        wanted = [partners[-1] + 1 if partners else place, place]
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
    """Return the share of ops that two steps have in common, relative to the longer step.

    For steps without ops, it is the share of kernels.
    """
    names, others = first[1] or first[0], second[1] or second[0]
    n_common = (Counter(names) & Counter(others)).total()
    return n_common / max(len(names), len(others), 1)


def matched(
    deep: pl.DataFrame,
    light: pl.DataFrame,
    partner: int,
    place: int,
) -> pl.DataFrame:
    """Return the events that occur both in a light step and in its deep step.

    Columns are the thread, and row and edges in both. Events match if a thread calls the same names
    in the same order.
    """
    of_deep = deep.filter(pl.col("step") == partner).partition_by(THREAD, as_dict=True)
    of_light = light.filter(pl.col("step") == place).partition_by(THREAD, as_dict=True)
    empty = dict.fromkeys(
        (*THREAD, *EDGES, *(f"{name}_deep" for name in EDGES)),
        pl.Int64,
    )
    parts = [pl.DataFrame(schema=empty)]
    for thread in of_light.keys() & of_deep.keys():
        own, others = of_light[thread], of_deep[thread]
        first, second = _same_names(
            others["name"].to_list(),
            own["name"].to_list(),
        )
        edges = own[second].select(*THREAD, *EDGES)
        parts.append(
            edges.hstack(others[first].select(pl.col(*EDGES).name.suffix("_deep")).get_columns())
        )
    return pl.concat(parts)


def _same_names(deep: list[str], light: list[str]) -> tuple[list[int], list[int]]:
    """Return the positions of names that two sequences share, in order."""
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
