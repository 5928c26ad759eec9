"""Combine a program's two windows into one trace: times of the light one, all else of the deep one.

The deep window recorded Python calls, modules and shapes, which slows the host several times. The
light one recorded only ops, API calls and kernels. Steps are matched by their kernels and ops. The
light window's events stay as they are. Its ops get the shapes of the ops that they match. The deep
window's Python calls are moved to the times at which the ops around them ran.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.collectors.torch.matched_steps import (
    THREAD,
    is_module_mark,
    matched,
    ops_in_steps,
    partners_of,
    steps_of,
    waits_in_steps,
    work_of_steps,
)

Thread = tuple[int, int]
Tables = dict[str, pl.DataFrame]
_SHAPES = ("input_shapes", "input_dtypes", "input_strides", "concrete_inputs")
_END = pl.col("start_ns") + pl.col("duration_ns")


class Stretch(Struct, frozen=True):
    """Successive steps of the deep window, and the successive light steps that match them.

    `begin` and `end` limit the stretch on the deep window's clock. `anchors` lists moments of the
    deep window and the same moments of the light one, by thread; the key None is for any other
    thread.
    """

    begin: int
    end: int
    anchors: dict[Thread | None, tuple[pl.Series, pl.Series]]

    def moved(self, thread: Thread | None, moments: pl.Series) -> pl.Series:
        """Return moments of the deep window on the light one's clock.

        Between two anchors, moments are interpolated. Before the first anchor and after the last
        one, the clocks run at the same rate.
        """
        deep, light = self.anchors.get(thread, self.anchors[None])
        last = deep.len() - 1
        before = (deep.search_sorted(moments, "right").cast(pl.Int64) - 1).clip(0, last)
        after = (before + 1).clip(0, last)
        frame = pl.DataFrame(
            {
                "since": moments - deep.gather(before),
                "deep": deep.gather(after) - deep.gather(before),
                "light": light.gather(after) - light.gather(before),
                "begin": light.gather(before),
            }
        )
        is_between = (pl.col("since") >= 0) & (pl.col("deep") > 0)
        rate = pl.when(is_between).then(pl.col("light") / pl.col("deep")).otherwise(1.0)
        since = (pl.col("since") * rate).round().cast(pl.Int64)
        return frame.select(pl.col("begin") + since).to_series()


class Windows(Struct, frozen=True):
    """The tables of both windows combined, and the stretches in which the windows were matched."""

    tables: Tables
    stretches: list[Stretch]

    def lines(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Return a sidecar's facts, with the recorded source lines on the light window's clock."""
        recorded = facts.get("lines")
        if not isinstance(recorded, dict) or not isinstance(recorded.get("samples"), list):
            return facts
        moved = {
            name: self._moved(recorded[name], n_times)
            for name, n_times in (("samples", 1), ("calls", 2))
            if isinstance(recorded.get(name), list)
        }
        return facts | {"lines": recorded | moved}

    def _moved(self, entries: list[Any], n_times: int) -> list[list[Any]]:
        """Return entries that begin with times, in order of time, on the light window's clock.

        Damaged entries are left out.
        """
        sound = [entry for entry in entries if _has_times(entry, n_times)]
        moved: list[list[Any]] = []
        for stretch in self.stretches:
            inside = [entry for entry in sound if stretch.begin <= entry[0] < stretch.end]
            times = (
                stretch.moved(
                    None,
                    pl.Series(
                        [entry[at] for entry in inside],
                        dtype=pl.Int64,
                    ),
                )
                for at in range(n_times)
            )
            rests = (entry[n_times:] for entry in inside)
            moved += [[*at, *rest] for *at, rest in zip(*times, rests, strict=True)]
        return sorted(moved, key=lambda entry: entry[0])


def _has_times(entry: Any, n_times: int) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) > n_times
        and all(type(time_ns) is int and abs(time_ns) < 2**62 for time_ns in entry[:n_times])
    )


def match_windows(deep: Tables, light: Tables) -> Windows | None:
    """Return the raw tables of both windows combined; None if their steps do different work."""
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
        matched(deep_ops, light_ops, partner, place) for place, partner in enumerate(partners)
    ]
    same_waits = [
        matched(deep_waits, light_waits, partner, place) for place, partner in enumerate(partners)
    ]
    same_events = [pl.concat(of_step) for of_step in zip(same_ops, same_waits, strict=True)]
    stretches = [
        _stretch(
            (deep_steps, light_steps),
            [(place, partners[place]) for place in places],
            same_events,
        )
        for places in _in_a_row(partners)
    ]
    with_shapes = _with_shapes(
        deep["spans"],
        light["spans"],
        pl.concat(same_ops),
    )
    tables = light | {"spans": _with_python(deep["spans"], with_shapes, stretches)}
    if "allocations" in deep and "allocations" not in light:
        tables["allocations"] = _moved_allocations(deep["allocations"], stretches)
    return Windows(tables, stretches)


def _in_a_row(partners: list[int]) -> list[list[int]]:
    """Group indices of light steps whose deep steps follow each other."""
    groups = [[0]]
    for before, place in pairwise(range(len(partners))):
        if partners[place] == partners[before] + 1:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _stretch(
    steps: tuple[pl.DataFrame, pl.DataFrame],
    pairs: list[tuple[int, int]],
    same_events: list[pl.DataFrame],
) -> Stretch:
    """Join successive steps to a stretch.

    `pairs` has the index of each light step, and of the deep step that matches it.
    """
    deep, light = steps
    edges_of_steps = [
        (deep[edge][partner], light[edge][place])
        for place, partner in pairs
        for edge in ("start_ns", "end_ns")
    ]
    events = pl.concat(same_events[place] for place, _ in pairs)
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
    return Stretch(begin_ns, end_ns, anchors)


def _in_order(moments: list[tuple[int, int]]) -> tuple[pl.Series, pl.Series]:
    """Return matching moments of the deep and of the light window, in order.

    Each moment of the deep window occurs once.
    """
    pairs = pl.DataFrame(
        moments,
        {"deep": pl.Int64, "light": pl.Int64},
        orient="row",
    )
    once = pairs.sort("deep", "light").unique("deep", keep="first", maintain_order=True)
    return once["deep"], once["light"].cum_max()


def _with_shapes(
    deep: pl.DataFrame,
    light: pl.DataFrame,
    same_ops: pl.DataFrame,
) -> pl.DataFrame:
    """Return the light window's spans with the shapes of the ops that they match."""
    shapes = [name for name in _SHAPES if name in deep.columns]
    known = same_ops.select("row").with_columns(
        deep[name].gather(same_ops["row_deep"]).alias(name) for name in shapes
    )
    rows = light.drop(shapes, strict=False).with_row_index("row").cast({"row": pl.Int64})
    return rows.join(known, on="row", how="left", maintain_order="left").drop("row")


def _with_python(
    deep: pl.DataFrame,
    light: pl.DataFrame,
    stretches: list[Stretch],
) -> pl.DataFrame:
    """Return the light window's spans, and the deep one's Python and module calls moved in time."""
    is_module = (pl.col("kind") == "op") & is_module_mark()
    rows = deep.with_row_index("row").filter(pl.col("kind").is_in(["python", "module"]) | is_module)
    parts, n_before = [light], light.height
    for stretch in stretches:
        inside = (pl.col("start_ns") < stretch.end) & _END.gt(stretch.begin)
        part = _moved(rows.filter(inside), stretch)
        places = pl.int_range(
            n_before,
            n_before + part.height,
            dtype=pl.UInt32,
            eager=True,
        )
        if "parent_hint" in part.columns:
            parents = part["parent_hint"].replace_strict(
                part["row"],
                places,
                default=None,
                return_dtype=pl.UInt32,
            )
            part = part.with_columns(parents.alias("parent_hint"))
        parts.append(part.drop("row"))
        n_before += part.height
    return pl.concat(parts, how="diagonal_relaxed")


def _moved(spans: pl.DataFrame, stretch: Stretch) -> pl.DataFrame:
    """Return spans cut at the stretch's limits, on the light window's clock."""
    begin = pl.col("start_ns").clip(lower_bound=stretch.begin)
    end = _END.clip(upper_bound=stretch.end)
    cut = spans.with_columns(begin_ns=begin, end_ns=end)
    begins, ends = (_moved_column(cut, name, stretch) for name in ("begin_ns", "end_ns"))
    return spans.with_columns(
        begins.alias("start_ns"),
        (ends - begins).cast(pl.Int64).alias("duration_ns"),
    )


def _moved_column(events: pl.DataFrame, name: str, stretch: Stretch) -> pl.Series:
    """Return a column of moments on the light window's clock, converted thread by thread."""
    rows = events.select(
        pl.col(*THREAD).cast(pl.Int64),
        moment=name,
    ).with_row_index("row")
    parts = [
        part.select(
            "row",
            stretch.moved(
                (thread[0], thread[1]),
                part["moment"],
            ).alias(name),
        )
        for thread, part in rows.partition_by(THREAD, as_dict=True).items()
    ]
    empty = pl.DataFrame(schema={"row": pl.get_index_type(), name: pl.Int64})
    return pl.concat([empty, *parts]).sort("row")[name]


def _moved_allocations(allocations: pl.DataFrame, stretches: list[Stretch]) -> pl.DataFrame:
    """Return the deep window's allocations on the light window's clock."""
    parts = []
    for stretch in stretches:
        time = pl.col("time_ns")
        inside = allocations.filter((time >= stretch.begin) & (time < stretch.end))
        parts.append(inside.with_columns(_moved_column(inside, "time_ns", stretch)))
    return pl.concat(parts)
