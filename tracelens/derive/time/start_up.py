"""Measure a program's start-up, the time in which a device waits for a context and libraries."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.intervals import END, covered_by, union
from tracelens.derive.time.activity_places import PROFILER

LONG_NS = 1_000_000
"""A call or idle time that takes this long may be start-up. Other calls take microseconds."""
_MUCH_LONGER = 3
"""A first call or idle time is start-up if all later ones are this many times shorter.

Other variation, such as an allocation of another size, stays below this factor.
"""
_MOST = 0.5
"""Start-up or input explains an idle time if it takes at least this share of the idle time."""
_LOW_UTILIZATION = 0.1
"""A gap may end start-up if utilization before it is at most this share of utilization after it."""
_MUCH = 0.3
"""If more than this share of all work ran steadily before an idle time, the program had begun."""
_ALL = 0.9
"""A step does the work of other steps if it runs at least this share of their usual kernels."""
_WAITING = ("sync", "memcpy", "memset")
"""Kinds of API calls that may last long because they wait for the device."""


class HostIntervals(Struct, frozen=True):
    """Holds the activities of a rank's host as disjoint intervals: start_ns, end_ns."""

    calls: pl.DataFrame
    """Start-up calls."""
    loads: pl.DataFrame
    """Loading and compiling of code."""
    launches: pl.DataFrame
    """Launching, allocating, and loading of code."""
    inputs: pl.DataFrame
    """Loading of data."""
    profiler: pl.DataFrame
    """The profiler's own work."""

    def start_ups(self, intervals: pl.DataFrame) -> pl.DataFrame:
        """Return the union of start-up calls, these intervals, and the profiler's own work."""
        return union(pl.concat([self.calls, intervals, self.profiler]))


class Gaps(Struct, frozen=True):
    """Holds a rank's long gaps, times in which none of its devices works, sorted by start."""

    frame: pl.DataFrame
    """One row per gap.

    - `start_ns`, `end_ns`
    - `busy_ns`: device work between `begin` and the gap
    - `load_ns`: the part of the gap that is start-up
    - `input_ns`: the part of the gap in which input is loaded
    """
    begin: int
    end: int
    """The limits of the examined time are `begin` and `end`."""
    busy_ns: int
    """All device work from `begin` to `end`."""
    input_start: int
    """First moment at which input is loaded."""

    @classmethod
    def between(
        cls,
        busy: pl.DataFrame,
        window: tuple[int, int],
        kernels: pl.DataFrame | None,
        host: HostIntervals,
    ) -> Gaps:
        """Find the gaps between the intervals of `busy`, and measure start-up in them."""
        begin, end = window
        end_ns = pl.col("end_ns")
        start_ns = pl.col("start_ns")
        length = end_ns - start_ns
        in_window = pl.col("start_ns", "end_ns").clip(begin, end)
        edges = pl.concat(
            [
                pl.DataFrame({"start_ns": [begin], "end_ns": [begin]}),
                busy.select(in_window),
                pl.DataFrame({"start_ns": [end], "end_ns": [end]}),
            ]
        )
        every_gap = edges.select(
            start_ns="end_ns",
            end_ns=start_ns.shift(-1),
            busy_ns=length.cum_sum(),
        )
        is_first = (start_ns == begin) & (length > 0)
        gaps = every_gap.filter((length >= LONG_NS) | is_first)
        profiler_ns = covered_by(host.profiler, gaps)
        loading_ns = covered_by(host.start_ups(host.loads), gaps)
        launching_ns = covered_by(host.start_ups(host.launches), gaps)
        is_before_first_use = _before_first_use(gaps, kernels)
        # Start-up calls and loading are start-up. Launching is, too, in a gap before a kernel's
        # first use that is much longer than the gaps before its later uses.
        start_up = launching_ns.zip_with(is_before_first_use, loading_ns)
        frame = gaps.with_columns(
            load_ns=start_up - profiler_ns,
            input_ns=covered_by(host.inputs, gaps),
        )
        first_input = host.inputs.filter(end_ns > begin)["start_ns"].min()
        input_start = first_input if isinstance(first_input, int) else begin
        busy_ns = int(edges.select(length.sum()).item())
        return cls(
            frame,
            begin,
            end,
            busy_ns,
            max(begin, input_start),
        )


def start_up_calls(calls: pl.DataFrame) -> pl.DataFrame:
    """Return the times of calls that create a context or load a library, as disjoint intervals.

    `calls` (api, kind, start_ns, duration_ns) are sorted by start.
    """
    ns = pl.col("duration_ns")
    is_long = ns >= LONG_NS
    waits = pl.col("kind").cast(pl.String).is_in(_WAITING)
    long_apis = calls.filter(is_long, ~waits).select("api").unique()
    columns = calls.select("api", "kind", "start_ns", "duration_ns")
    candidates = columns.join(
        long_apis,
        on="api",
        how="semi",
        maintain_order="left",
    )
    all_are_long = is_long.cast(pl.Int8).cum_min().over("api") == 1
    marked = candidates.with_columns(is_first=all_are_long)
    is_first = pl.col("is_first")
    longest = ns.filter(is_first).max().over("api")
    longest_later = ns.filter(~is_first).max().over("api").fill_null(0)
    # Such a call is the only one of its function, or one of its first, which take far longer than
    # all later calls.
    has_later = (~is_first).any().over("api")
    is_much_longer = _MUCH_LONGER * longest_later <= longest
    is_only_call = pl.len().over("api") == 1
    is_apart = (has_later & is_much_longer) | is_only_call
    start_ups = marked.filter(is_first & is_apart)
    return union(start_ups.select("start_ns", end_ns=pl.col("start_ns") + ns))


def start_up_ns(gaps: Gaps) -> int:
    """Return the time in ns of all start-up in the gaps."""
    return int(gaps.frame["load_ns"].sum())


def trials_ns(kernels: pl.DataFrame, step: int, later: pl.Series) -> int:
    """Return the time in ns of a step's kernels that no later step launches.

    `kernels` has step, name and duration_ns.
    """
    # cudnn.benchmark tries such kernels.
    of_later = kernels.filter(pl.col("step").is_in(later.implode()))
    of_step = kernels.filter(pl.col("step") == step)
    names = of_later.select("name").unique()
    usual = of_step.join(names, on="name", how="semi")
    n_usual = of_later.group_by("step").len()["len"].median()
    # A step that lacks much of the work of later steps does other work, such as a prefill.
    if not isinstance(n_usual, float) or usual.height < _ALL * n_usual:
        return 0
    usual_ns = int(usual["duration_ns"].sum())
    return int(of_step["duration_ns"].sum()) - usual_ns


def start_up_end(gaps: Gaps, first: int, awaited_from: int | None = None) -> int:
    """Return the moment at which start-up ends and the program begins.

    - `first`: end of the work that was launched before the trace began; if there is no such work,
      start of the device's first work
    - `awaited_from`: moment from which another rank waits for this rank, None if no rank does
    """
    start = first
    end_ns = pl.col("end_ns")
    lead = gaps.frame.filter(end_ns <= first)
    # Before `first`, only loading of input may belong to the program.
    if lead.height and int(lead["input_ns"].sum()) > _MOST * (first - gaps.begin):
        start = gaps.input_start
    rows = gaps.frame.filter(pl.col("start_ns") >= first)
    later = rows.filter(end_ns < gaps.end).rows(named=True)
    start = _end_of_loading(later, gaps, first, start)
    # While another rank waits, a long gap is no start-up.
    if awaited_from is not None:
        later = [row for row in later if row["end_ns"] <= awaited_from]
    end_of_longest = _end_of_longest(later, gaps, first)
    return start if end_of_longest is None else max(start, end_of_longest)


def _end_of_loading(
    rows: list[dict[str, int]],
    gaps: Gaps,
    first: int,
    start: int,
) -> int:
    """Return the end of the last gap that is mostly start-up, or `start` if there is none.

    Such gaps must take most of the time from `first` until then, and the device must not work
    steadily between them.
    """
    loading_ns = 0
    for row in rows:
        length = row["end_ns"] - row["start_ns"]
        if row["load_ns"] < _MOST * length:
            continue
        if _worked_steadily(row, gaps, start):
            break
        loading_ns += length
        if loading_ns >= _MOST * (row["end_ns"] - first):
            start = row["end_ns"]
    return start


def _end_of_longest(rows: list[dict[str, int]], gaps: Gaps, first: int) -> int | None:
    """Return the end of the last gap that is much longer than all later ones, None if none is.

    The device must have hardly worked before the gap.
    """
    longest = 0
    for row in reversed(rows):
        length = row["end_ns"] - row["start_ns"]
        is_much_longer = length >= _MUCH_LONGER * max(longest, LONG_NS)
        if is_much_longer and _hardly_worked_before(row, gaps, first):
            return row["end_ns"]
        longest = max(longest, length)
    return None


def _worked_steadily(row: dict[str, int], gaps: Gaps, start: int) -> bool:
    """Return whether much of the device's work ran steadily from `start` to a gap.

    `row` is the gap's row in `gaps.frame`.
    """
    if row["start_ns"] <= start:
        return False
    ends_at_start = pl.col("end_ns") == start
    before_start = gaps.frame.filter(ends_at_start)["busy_ns"]
    worked_ns = row["busy_ns"] - (before_start[0] if len(before_start) else 0)
    later_ns = gaps.busy_ns - row["busy_ns"]
    rate = worked_ns / (row["start_ns"] - start)
    later_rate = later_ns / max(gaps.end - row["end_ns"], 1)
    return worked_ns > _MUCH * gaps.busy_ns and rate >= _MOST * later_rate


def _hardly_worked_before(row: dict[str, int], gaps: Gaps, first: int) -> bool:
    """Return whether the device did most of its work after a gap, and hardly any before the gap.

    The result is False if input is loaded during most of the gap. `row` is the gap's row in
    `gaps.frame`. Work before the gap is measured from `first` on.
    """
    length_ns = row["end_ns"] - row["start_ns"]
    if row["input_ns"] > _MOST * length_ns:
        return False
    later_ns = gaps.busy_ns - row["busy_ns"]
    before = row["busy_ns"] / (row["end_ns"] - first)
    after = later_ns / max(gaps.end - row["end_ns"], 1)
    return later_ns > _MOST * gaps.busy_ns and before <= _LOW_UTILIZATION * after


def _before_first_use(gaps: pl.DataFrame, kernels: pl.DataFrame | None) -> pl.Series:
    """Return whether each gap lasts until a kernel's first run and is far longer than later gaps.

    The later gaps are those that last until another run of the same kernel.
    """
    if kernels is None or gaps.is_empty():
        return pl.Series(
            [False] * gaps.height,
            dtype=pl.Boolean,
        )
    end_ns = pl.col("end_ns")
    start_ns = pl.col("start_ns")
    length = pl.col("length")
    times = gaps.select("end_ns", length=end_ns - start_ns)
    starts = kernels.select("name", end_ns=start_ns.cast(pl.Int64))
    ending = times.join(starts, on="end_ns").unique("end_ns", keep="first")
    names = ending.select("name").unique()
    starts_of_named = starts.join(names, on="name", how="semi")
    first_uses = starts_of_named.group_by("name").agg(first_ns=end_ns.min())
    uses = ending.join(first_uses, on="name").sort("end_ns")
    is_later = end_ns > pl.col("first_ns")
    longest_later = length.filter(is_later).max().over("name").fill_null(0)
    is_much_longer = length >= _MUCH_LONGER * longest_later
    first_and_long = uses.filter(~is_later & is_much_longer)
    return gaps["end_ns"].is_in(first_and_long["end_ns"].implode())


def find_gaps(
    work: Mapping[str, pl.DataFrame],
    activities: pl.DataFrame,
    calls: pl.DataFrame,
    window: tuple[int, int],
) -> Gaps:
    """Find the long gaps in which none of a rank's devices works, and measure start-up in them.

    `work` maps tables of device work to rows. `calls` are sorted by start.
    """
    begin, end = window
    start_ns = pl.col("start_ns")
    times = pl.concat(
        part.select(start_ns.cast(pl.Int64), end_ns=END.cast(pl.Int64)) for part in work.values()
    )
    overlaps = times.filter(start_ns < end, pl.col("end_ns") > begin)
    is_of_profiler = _is_of_profiler()
    profiler = activities.filter(is_of_profiler).select("start_ns", end_ns=END)
    host = HostIntervals(
        calls=start_up_calls(calls),
        loads=_times_of(activities, "loading"),
        launches=_times_of(activities, "launch", "loading", "allocation"),
        inputs=_times_of(activities, "input"),
        profiler=union(profiler),
    )
    return Gaps.between(
        union(overlaps),
        window,
        work.get("kernels"),
        host,
    )


def _times_of(activities: pl.DataFrame, *causes: str) -> pl.DataFrame:
    """Return the times in which a thread's activity has one of these causes: start_ns, end_ns.

    The profiler's own work is left out.
    """
    is_of_cause = pl.col("cause").cast(pl.String).is_in(causes)
    wanted = activities.filter(is_of_cause & ~_is_of_profiler())
    return union(wanted.select("start_ns", end_ns=END))


def _is_of_profiler() -> pl.Expr:
    what = pl.col("what").cast(pl.String)
    return what.eq_missing(pl.lit(PROFILER))
