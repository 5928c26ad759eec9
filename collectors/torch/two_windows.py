"""Combine a program's two windows, a light one and a deep one, into one trace.

The deep window recorded Python calls, modules and shapes, which made the host several times slower.
The light window recorded only ops, API calls and kernels.

1. Match steps by their kernels and ops.
2. Keep the light window's events. Give the ops the shapes of the matching deep ops.
3. Move the deep window's Python calls to the times of the light window.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.collectors.torch.matched_steps import (
    THREAD,
    is_module_mark,
    match_events,
    ops_in_steps,
    partners_of,
    steps_of,
    waits_in_steps,
    work_of_steps,
)
from tracelens.derive.columns.intervals import END

Thread = tuple[int, int]
Tables = dict[str, pl.DataFrame]
_SHAPES = ("input_shapes", "input_dtypes", "input_strides", "concrete_inputs")


class StepSequence(Struct, frozen=True):
    """Maps times of the deep window to the light window, for successive steps in both."""

    begin: int
    """The first moment of the sequence, on the deep window's clock."""
    end: int
    """The moment after the sequence, on the deep window's clock."""
    anchors: dict[Thread | None, tuple[pl.Series, pl.Series]]
    """Times of the same events in the deep and in the light window, by thread.

    The key None is for all threads without a key of their own.
    """

    def on_light_clock(self, thread: Thread | None, times: pl.Series) -> pl.Series:
        """Return times of the deep window on the light window's clock."""
        deep, light = self.anchors.get(thread, self.anchors[None])
        last = deep.len() - 1
        before = (deep.search_sorted(times, "right").cast(pl.Int64) - 1).clip(0, last)
        after = (before + 1).clip(0, last)
        frame = pl.DataFrame(
            {
                "since": times - deep.gather(before),
                "deep": deep.gather(after) - deep.gather(before),
                "light": light.gather(after) - light.gather(before),
                "begin": light.gather(before),
            }
        )
        # Times are interpolated between two anchors. Outside, both clocks run at the same rate.
        is_between = (pl.col("since") >= 0) & (pl.col("deep") > 0)
        rate = pl.when(is_between).then(pl.col("light") / pl.col("deep")).otherwise(1.0)
        since = (pl.col("since") * rate).round().cast(pl.Int64)
        return frame.select(pl.col("begin") + since).to_series()


class Windows(Struct, frozen=True):
    """Holds the combined tables of both windows, and the sequences of steps that match."""

    tables: Tables
    sequences: list[StepSequence]

    def lines(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Return a sidecar's facts, with the times of source lines on the light window's clock.

        The deep window recorded these lines.
        """
        recorded = facts.get("lines")
        if not isinstance(recorded, dict) or not isinstance(recorded.get("samples"), list):
            return facts
        moved = {
            name: self._moved_entries(recorded[name], n_times)
            for name, n_times in (("samples", 1), ("calls", 2))
            if isinstance(recorded.get(name), list)
        }
        return facts | {"lines": recorded | moved}

    def _moved_entries(self, entries: list[Any], n_times: int) -> list[list[Any]]:
        """Return the entries with their times on the light window's clock, ordered by time.

        Each entry begins with `n_times` times. Damaged entries are left out.
        """
        sound = [entry for entry in entries if _has_times(entry, n_times)]
        moved: list[list[Any]] = []
        for sequence in self.sequences:
            inside = [entry for entry in sound if sequence.begin <= entry[0] < sequence.end]
            columns = (
                sequence.on_light_clock(
                    None, pl.Series([entry[index] for entry in inside], dtype=pl.Int64)
                )
                for index in range(n_times)
            )
            rests = (entry[n_times:] for entry in inside)
            moved += [[*times, *rest] for *times, rest in zip(*columns, rests, strict=True)]
        return sorted(moved, key=lambda entry: entry[0])


def _has_times(entry: Any, n_times: int) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) > n_times
        and all(type(time_ns) is int and abs(time_ns) < 2**62 for time_ns in entry[:n_times])
    )


def match_windows(deep: Tables, light: Tables) -> Windows | None:
    """Return the combined raw tables of both windows, None if their steps do different work.

    The deep window has Python calls and shapes, the light window only ops, API calls and kernels.
    """
    if "spans" not in deep or "spans" not in light:
        return None
    deep_steps, light_steps = steps_of(deep["spans"]), steps_of(light["spans"])
    partners = partners_of(work_of_steps(deep, deep_steps), work_of_steps(light, light_steps))
    if not partners:
        return None
    deep_ops = ops_in_steps(deep["spans"], deep_steps)
    light_ops = ops_in_steps(light["spans"], light_steps)
    deep_waits = waits_in_steps(deep.get("api_calls"), deep_steps)
    light_waits = waits_in_steps(light.get("api_calls"), light_steps)
    same_ops = [
        match_events(deep_ops, light_ops, partner, step) for step, partner in enumerate(partners)
    ]
    same_waits = [
        match_events(deep_waits, light_waits, partner, step)
        for step, partner in enumerate(partners)
    ]
    same_events = [pl.concat(of_step) for of_step in zip(same_ops, same_waits, strict=True)]
    sequences = [
        _step_sequence(
            (deep_steps, light_steps),
            [(step, partners[step]) for step in steps],
            same_events,
        )
        for steps in _successive(partners)
    ]
    with_shapes = _with_shapes(deep["spans"], light["spans"], pl.concat(same_ops))
    tables = light | {"spans": _with_python(deep["spans"], with_shapes, sequences)}
    if "allocations" in deep and "allocations" not in light:
        tables["allocations"] = _moved_allocations(deep["allocations"], sequences)
    return Windows(tables, sequences)


def _successive(partners: list[int]) -> list[list[int]]:
    """Return groups of successive light steps that match successive deep steps, by index."""
    groups = [[0]]
    for before, step in pairwise(range(len(partners))):
        if partners[step] == partners[before] + 1:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _step_sequence(
    steps: tuple[pl.DataFrame, pl.DataFrame],
    pairs: list[tuple[int, int]],
    same_events: list[pl.DataFrame],
) -> StepSequence:
    """Return the sequence of successive steps in `pairs`.

    - `pairs`: the index of a light step, and of the matching deep step.
    - `steps`: the marks of the deep and the light window.
    - `same_events`: the matching events of each light step.
    """
    deep, light = steps
    edges_of_steps = [
        (deep[edge][deep_step], light[edge][light_step])
        for light_step, deep_step in pairs
        for edge in ("start_ns", "end_ns")
    ]
    events = pl.concat(same_events[light_step] for light_step, _ in pairs)
    anchors: dict[Thread | None, tuple[pl.Series, pl.Series]] = {}
    for (process, thread), of_thread in events.partition_by(THREAD, as_dict=True).items():
        starts = of_thread.select("start_ns_deep", "start_ns").iter_rows()
        ends = of_thread.select("end_ns_deep", "end_ns").iter_rows()
        anchors[process, thread] = _in_order([*edges_of_steps, *starts, *ends])
    main_process, main_thread = deep.select(pl.col(*THREAD).cast(pl.Int64)).row(0)
    anchors[None] = anchors.get((main_process, main_thread), _in_order(edges_of_steps))
    is_first = pairs[0] == (0, 0)
    is_last = pairs[-1] == (light.height - 1, deep.height - 1)
    begin_ns = 0 if is_first else edges_of_steps[0][0]
    end_ns = 2**63 - 1 if is_last else edges_of_steps[-1][0]
    return StepSequence(begin_ns, end_ns, anchors)


def _in_order(times: list[tuple[int, int]]) -> tuple[pl.Series, pl.Series]:
    """Return matching times of the deep and of the light window, each in ascending order.

    A deep time that matches several light times gets the earliest of them.
    """
    pairs = pl.DataFrame(times, {"deep": pl.Int64, "light": pl.Int64}, orient="row")
    once = pairs.sort("deep", "light").unique("deep", keep="first", maintain_order=True)
    return once["deep"], once["light"].cum_max()


def _with_shapes(
    deep: pl.DataFrame,
    light: pl.DataFrame,
    same_ops: pl.DataFrame,
) -> pl.DataFrame:
    """Return the light window's spans with the input shapes of the matching deep ops."""
    shapes = [name for name in _SHAPES if name in deep.columns]
    known = same_ops.select("row").with_columns(
        deep[name].gather(same_ops["row_deep"]).alias(name) for name in shapes
    )
    rows = light.drop(shapes, strict=False).with_row_index("row").cast({"row": pl.Int64})
    return rows.join(known, on="row", how="left", maintain_order="left").drop("row")


def _with_python(
    deep: pl.DataFrame,
    light: pl.DataFrame,
    sequences: list[StepSequence],
) -> pl.DataFrame:
    """Return the light window's spans, and the deep window's Python and module calls.

    Times of these calls are converted to the light window's clock.
    """
    is_module = (pl.col("kind") == "op") & is_module_mark()
    rows = deep.with_row_index("row").filter(pl.col("kind").is_in(["python", "module"]) | is_module)
    parts, n_before = [light], light.height
    for sequence in sequences:
        inside = (pl.col("start_ns") < sequence.end) & END.gt(sequence.begin)
        part = _moved_spans(rows.filter(inside), sequence)
        new_rows = pl.int_range(n_before, n_before + part.height, dtype=pl.UInt32, eager=True)
        if "parent_hint" in part.columns:
            parents = part["parent_hint"].replace_strict(
                part["row"], new_rows, default=None, return_dtype=pl.UInt32
            )
            part = part.with_columns(parents.alias("parent_hint"))
        parts.append(part.drop("row"))
        n_before += part.height
    return pl.concat(parts, how="diagonal_relaxed")


def _moved_spans(spans: pl.DataFrame, sequence: StepSequence) -> pl.DataFrame:
    """Return the spans with times on the light window's clock, cut at the sequence's limits."""
    begin = pl.col("start_ns").clip(lower_bound=sequence.begin)
    end = END.clip(upper_bound=sequence.end)
    cut = spans.with_columns(begin_ns=begin, end_ns=end)
    begins, ends = (_moved_column(cut, name, sequence) for name in ("begin_ns", "end_ns"))
    return spans.with_columns(
        begins.alias("start_ns"),
        (ends - begins).cast(pl.Int64).alias("duration_ns"),
    )


def _moved_column(events: pl.DataFrame, name: str, sequence: StepSequence) -> pl.Series:
    """Return a column of times on the light window's clock, converted thread by thread."""
    rows = events.select(pl.col(*THREAD).cast(pl.Int64), time_ns=name).with_row_index("row")
    parts = [
        part.select(
            "row",
            sequence.on_light_clock((thread[0], thread[1]), part["time_ns"]).alias(name),
        )
        for thread, part in rows.partition_by(THREAD, as_dict=True).items()
    ]
    empty = pl.DataFrame(schema={"row": pl.get_index_type(), name: pl.Int64})
    return pl.concat([empty, *parts]).sort("row")[name]


def _moved_allocations(allocations: pl.DataFrame, sequences: list[StepSequence]) -> pl.DataFrame:
    """Return the deep window's allocations, with times on the light window's clock."""
    parts = []
    for sequence in sequences:
        time = pl.col("time_ns")
        inside = allocations.filter((time >= sequence.begin) & (time < sequence.end))
        parts.append(inside.with_columns(_moved_column(inside, "time_ns", sequence)))
    return pl.concat(parts)
