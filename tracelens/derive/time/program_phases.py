"""Split each rank's time into phases: earlier work, start-up, program, tear-down, later work."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import by_start, by_value
from tracelens.derive.events.capture_edges import CALLS, LATE_NS, CaptureEdges, ReadCalls
from tracelens.derive.time.awaited import awaited_from
from tracelens.derive.time.start_up import (
    Gaps,
    find_gaps,
    start_up_end,
    start_up_ns,
    trials_ns,
)
from tracelens.derive.time.step_table import STREAM_WAITS, WORK, activities_of, steps_of
from tracelens.schemas import DEVICE_WORK
from tracelens.schemas.results.time import PHASES, PROGRAM
from tracelens.trace import Trace

WINDOWS = {
    "rank": pl.Int32,
    "step": pl.Int64,
    "phase": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "is_whole": pl.Boolean,
}
EARLIER, START_UP, _, TEAR_DOWN, LATER = PHASES
_MUCH_LONGER = 2
"""A first step this many times as long as the others' median may hold start-up.

A shorter first step stays in the program, because it changes no median.
"""
_SEVERAL = 3
"""Trials are searched for in a first step this many times as long as the others' median.

Trials are kernels that no later step launches. There must be at least this many later steps.
"""
_MOST = 0.5
"""A first step is start-up if start-up makes at least this share of its extra time."""
_TAIL = 0.1
"""A last step is tear-down if its time and launches are below this share of steps' medians."""


def phases(trace: Trace) -> pl.DataFrame:
    """Return the phases of each rank, with the columns of WINDOWS, sorted by rank and start.

    On a rank that marks steps, there is a row for each step, for earlier_work before the first
    step, and for later_work after the last step. All steps are the program, except:

    - a first step that is mostly start-up or trials of kernels
    - a last step that is far shorter and launches far less than other steps
    - a step that is not whole, if other steps are whole

    A step is whole (`is_whole`) if it ends before the device begins the work of later_work.

    On a rank without steps, the phases cover all recorded time:

    - earlier_work: the device runs work that was launched before the trace began
    - start_up: a context is created and libraries are loaded, until the device first works steadily
    - program: until the device has done its last work
    - tear_down: the host's time after the last work
    - later_work: the device runs work that had not ended when the trace ended
    """
    return trace.derived(_of_all_ranks)


def program(trace: Trace) -> pl.DataFrame:
    """Return the program's windows, with the columns of WINDOWS.

    A rank with steps has one window per step of the program. Any other rank has one window.
    """
    return phases(trace).filter(pl.col("phase") == PROGRAM)


def program_steps(trace: Trace) -> pl.DataFrame:
    """Return the rows of the table `steps` that count in medians.

    These are the program's whole steps, or all steps of the program if none is whole.
    """
    in_program = program(trace).drop_nulls("step")
    is_whole = pl.col("is_whole")
    is_chosen = is_whole | ~is_whole.any().over("rank")
    chosen = in_program.filter(is_chosen).select("rank", "step")
    return steps_of(trace).join(
        chosen,
        on=["rank", "step"],
        how="semi",
        maintain_order="left",
    )


def in_program(trace: Trace) -> pl.Expr:
    """Return a condition on rows with rank and step: the row's step belongs to the program.

    All rows of a rank meet the condition if the rank has no steps, or if its kernels all lie
    outside of steps.
    """
    rank = pl.col("rank")
    step = pl.col("step")
    is_marked = rank.is_in(_marked_ranks(trace).implode())
    condition = step.is_not_null() | ~is_marked
    steps_with_phase = phases(trace).drop_nulls("step")
    others = steps_with_phase.filter(pl.col("phase") != PROGRAM)
    for other_rank, other_step in others.select("rank", "step").iter_rows():
        is_other = (rank == other_rank) & (step == other_step)
        condition &= (~is_other).fill_null(value=True)
    return condition


def _marked_ranks(trace: Trace) -> pl.Series:
    """Return the ranks with steps. A rank with kernels counts only if a kernel is in a step."""
    kernels = trace.select("kernels", "rank", "step")
    with_kernels = {*kernels["rank"].unique()}
    in_steps = {*kernels.drop_nulls("step")["rank"].unique()}
    with_steps = {*steps_of(trace)["rank"].unique()}
    marked = in_steps | (with_steps - with_kernels)
    return pl.Series("rank", sorted(marked), dtype=pl.Int32)


class _Rank(Struct, frozen=True, dict=True):
    """Holds one rank's steps, activities, device work by table, sorted calls, and waits."""

    rank: int
    steps: pl.DataFrame
    activities: pl.DataFrame
    work: Mapping[str, pl.DataFrame]
    calls: ReadCalls
    waits: pl.DataFrame
    ops: pl.DataFrame
    """The step of each op. This is empty if the trace has device work, as kernels count then."""

    @cached_property
    def edges(self) -> CaptureEdges:
        """The work that was running when the capture began or ended."""
        edges = CaptureEdges(self.calls)
        for table in self.work.values():
            edges.take(table)
        edges.take_waits(self.waits)
        return edges

    @cached_property
    def later(self) -> int | None:
        """The start of work that had not ended when the trace ended, None without such work."""
        moment = self.edges.later_start() if self.work else None
        if moment is None or self.end - moment < LATE_NS:
            return None
        return moment

    @cached_property
    def begin(self) -> int:
        """The start of the first activity or work."""
        return min(int(part["start_ns"].min()) for part in self._timed)  # type: ignore[arg-type]

    @cached_property
    def end(self) -> int:
        """The end of the last activity or work."""
        return max(int(part.select(END.max()).item()) for part in self._timed)

    @property
    def _timed(self) -> list[pl.DataFrame]:
        return [part for part in (self.activities, *self.work.values()) if part.height]

    def gaps(self, begin: int, end: int) -> Gaps:
        """Return the long times from `begin` to `end` in which none of the rank's devices works."""
        return find_gaps(
            self.work,
            self.activities,
            by_start(self.calls(None)),
            (begin, end),
        )


def _of_all_ranks(trace: Trace) -> pl.DataFrame:
    tables = _tables(trace)
    by_rank = {name: dict(by_value(frame, "rank")) for name, frame in tables.items()}

    def of_rank(name: str, rank: int) -> pl.DataFrame:
        return by_rank[name].get(rank, tables[name].clear())

    rows: list[tuple[object, ...]] = []
    for rank in trace.manifest.ranks:
        work = {}
        for name in DEVICE_WORK:
            if rank in by_rank[name]:
                work[name] = by_start(by_rank[name][rank])
        events = _Rank(
            rank,
            of_rank("steps", rank).sort("start_ns"),
            of_rank("activities", rank),
            work,
            _reader(trace, of_rank("api_calls", rank) if "api_calls" in tables else None),
            of_rank("synchronizations", rank),
            of_rank("ops", rank),
        )
        if events.steps.height:
            rows += [(rank, *row) for row in _of_steps(events)]
        elif events.activities.height or work:
            awaited = awaited_from(trace).get(rank)
            rows += [(rank, *row) for row in _of_recorded(events, awaited)]
    windows = pl.DataFrame(rows, schema=WINDOWS, orient="row")
    return windows.sort("rank", "start_ns", "end_ns")


def _reader(trace: Trace, calls: pl.DataFrame | None) -> ReadCalls:
    """Return a function that returns the API calls of one rank that meet a condition.

    The function filters `calls`, which holds all calls of the rank. If `calls` is None, the
    function reads the calls from the trace, which then has only one rank.
    """
    if calls is None:
        return lambda where: trace.select("api_calls", *CALLS, where=where)
    return lambda where: calls if where is None else calls.filter(where)


def _tables(trace: Trace) -> dict[str, pl.DataFrame]:
    """Read the tables from which the `_Rank` of each rank is made."""
    tables = {
        "steps": steps_of(trace),
        "activities": activities_of(trace),
        "synchronizations": trace.select("synchronizations", "rank", *STREAM_WAITS),
    }
    if len(trace.manifest.ranks) > 1:  # of a single rank's millions of calls, few are needed
        tables["api_calls"] = trace.select("api_calls", "rank", *CALLS)
    for name in DEVICE_WORK:
        more = ("name", "step") if name == "kernels" else ()
        tables[name] = trace.select(name, "rank", *WORK, *more)
    has_device = any(tables[name].height for name in DEVICE_WORK)
    if has_device:  # spans are many and not needed
        tables["ops"] = tables["kernels"].select("rank", "step").clear()
    else:
        spans = trace.select("spans", "rank", "step", "kind")
        tables["ops"] = spans.filter(pl.col("kind") == "op")
    return tables


_Row = tuple[int | None, str, int, int, bool]
"""One phase: step, phase, start_ns, end_ns and is_whole."""


def _of_recorded(known: _Rank, awaited: int | None) -> Iterable[_Row]:
    """Divide the recorded time of a rank without steps into phases.

    `awaited` is the moment from which another rank waits long for this rank, None if no rank does.
    The moment shows whether this rank is late or starts up.
    """
    if not known.work:
        return [(None, PROGRAM, known.begin, known.end, True)]
    starts = [int(part["start_ns"].min()) for part in known.work.values()]  # type: ignore[arg-type]
    ends = [int(part.select(END.max()).item()) for part in known.work.values()]
    earlier = known.edges.earlier_end()
    stop = known.later or max(ends)
    first = min(starts) if earlier is None else earlier
    gaps = known.gaps(known.begin if earlier is None else earlier, stop)
    start = start_up_end(gaps, first, awaited)
    edges = (
        known.begin,
        earlier or known.begin,
        start,
        stop,
        known.later or known.end,
        known.end,
    )
    rows: list[_Row] = []
    for name, low, high in zip(
        PHASES,
        edges,
        edges[1:],
        strict=False,
    ):
        if low < high or name == PROGRAM:
            rows.append((None, name, low, high, True))
    return rows


def _of_steps(known: _Rank) -> Iterable[_Row]:
    """Return the phase of each step, and the phases of the time before and after all steps."""
    steps = known.steps.select("step", "start_ns", end_ns=END)
    flags = _phases_of_steps(known)
    whole = [known.later is None or end < known.later for end in steps["end_ns"]]
    has_whole = (PROGRAM, True) in zip(flags, whole, strict=True)
    rows: list[_Row] = []
    for (step, start, end), flag, is_whole in zip(
        steps.iter_rows(),
        flags,
        whole,
        strict=True,
    ):
        # A step that the trace's end cuts off is no measure of a step if others are whole.
        is_cut_off = flag == PROGRAM and has_whole and not is_whole
        phase = LATER if is_cut_off else flag
        rows.append((step, phase, start, end, is_whole))
    earlier = known.edges.earlier_end() if known.work else None
    first = int(steps["start_ns"][0])
    last = int(steps["end_ns"].max())  # type: ignore[arg-type]
    if earlier is not None and known.begin < min(earlier, first):
        rows.insert(
            0,
            (
                None,
                EARLIER,
                known.begin,
                min(earlier, first),
                True,
            ),
        )
    if known.later is not None:
        start = max(known.later, last)
        rows.append((None, LATER, start, known.end, True))
    return rows


def _phases_of_steps(known: _Rank) -> list[str]:
    """Return the phase of each step, sorted by start."""
    steps = known.steps
    phases_of_steps = [
        PROGRAM if length or known.later is None else LATER for length in steps["duration_ns"]
    ]
    for index in range(steps.height - 1):
        if not _is_start_up(known, index):
            break
        phases_of_steps[index] = START_UP
    is_program = pl.Series(phases_of_steps) == PROGRAM
    counted = steps.with_columns(_launched(known))
    in_program = counted.filter(is_program)
    # The median of all steps but the shortest is the longest median of any step's others.
    usual_ns = in_program["duration_ns"].sort().slice(1).median()
    is_short = steps["duration_ns"] < _TAIL * (usual_ns or 0)  # type: ignore[operator]  # a number
    windows = steps["window"].to_list()
    for index in (is_short & is_program).arg_true():
        is_last = index + 1 == steps.height or windows[index] != windows[index + 1]
        if is_last and _is_tail(counted.row(index, named=True), in_program):
            phases_of_steps[index] = TEAR_DOWN
    return phases_of_steps


def _is_tail(step: Mapping[str, Any], in_program: pl.DataFrame) -> bool:
    """Return whether a step is much shorter than other program steps and launches much less."""
    is_other = pl.col("step").ne_missing(step["step"])
    others = in_program.filter(is_other)
    if others.is_empty():
        return False
    medians = others.select(pl.col("duration_ns", "launched").median())
    usual_ns, usual_launches = medians.row(0)
    is_short = step["duration_ns"] < _TAIL * usual_ns
    launches_little = usual_launches == 0 or step["launched"] < _TAIL * usual_launches
    return bool(is_short and launches_little)


def _launched(known: _Rank) -> pl.Series:
    """Count the kernels that each step launched; without a device, count ops."""
    steps = known.steps
    launches = known.work.get("kernels") if known.work else known.ops
    if launches is None or not launches["step"].count():
        # No launch is known, so count the kernels that started in the step.
        return steps["n_kernels"].alias("launched")
    # Neighbours are mostly of one step, and runs of equal steps are found faster than groups.
    step_of_launch = launches["step"].drop_nulls()
    runs = step_of_launch.rle().struct.unnest()
    n_launched = pl.col("len").sum().cast(pl.Int64)
    counts = runs.group_by(step="value").agg(launched=n_launched)
    with_counts = steps.join(
        counts,
        on="step",
        how="left",
        maintain_order="left",
    )
    return with_counts["launched"].fill_null(0)


def _is_start_up(known: _Rank, index: int) -> bool:
    """Return whether a step takes much longer than later steps, mostly because of start-up."""
    lengths = known.steps["duration_ns"]
    others = lengths.slice(index + 1).median()
    if not isinstance(others, float) or not known.work:
        return False
    length = int(lengths[index])
    if length < _MUCH_LONGER * others:
        return False
    start = int(known.steps["start_ns"][index])
    gaps = known.gaps(start, start + length)
    extra = length - others
    start_up = start_up_ns(gaps)
    if length >= _SEVERAL * others:
        start_up += _trials_ns(known, index)
    return start_up >= _MOST * extra


def _trials_ns(known: _Rank, index: int) -> int:
    """Return the time in ns of a step's trial kernels, which no later step launches."""
    steps, kernels = known.steps, known.work.get("kernels")
    later = steps.slice(index + 1)
    if kernels is None or later.height < _SEVERAL:
        return 0
    return trials_ns(kernels, steps["step"][index], later["step"])
