"""Random schedules of hosts and devices: the known causes of idle time are recovered exactly.

A schedule is written in ticks of 10 µs. Hosts do one thing at a time for multiples of 500 µs,
longer than any pause between ops; each thing is recorded as a profiler would. What a device idles
for is then counted tick by tick. That launching before a kernel's first use may be loading has
cases of its own, in test_idle.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, MutableSequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.conftest import examples
from tests.programs import Row, api, launch, mark, program, span, work
from tracelens.analyses import idle_gaps, time_breakdown
from tracelens.derive.time import launch_causes, thread_axis
from tracelens.derive.time.program_phases import EARLIER, LATER, phases
from tracelens.derive.time.step_table import steps_of
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import IDLE_GAPS, PROGRAM, TIME_BREAKDOWN
from tracelens.trace import Trace

_END = pl.col("start_ns") + pl.col("duration_ns")
TICK_US = 10
UNIT = 50
LATENCY = 1
"""Ticks that work may take from the return of its launching call."""
DEEDS = {
    "input": ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "data", "load_batch"),
    "allocation": ("cudaMalloc", "cudaFree", "hipMalloc", "cudaHostAlloc"),
    "sync": ("cudaDeviceSynchronize", "cudaStreamSynchronize", "hipMemcpyWithStream"),
    "loading": ("cuModuleLoadData", "convert_frame (dynamo_timed)"),
    "host": (None, "checkpoint", "aten::sort", "<built-in function sleep>"),
    "launch": ("aten::mm",),
}
"""What a host does meanwhile, by the cause of idle time: the names that are recorded for it."""


@dataclass(frozen=True)
class Deed:
    """What a thread did from start to end.

    An op that launches has the work that it launched, by call.
    """

    thread: int
    start: int
    end: int
    cause: str
    name: str | None


@dataclass(frozen=True)
class Work:
    """A kernel or copy: launched by a deed (None if nothing tells), with times in ticks."""

    deed: int | None
    device: int
    start: int
    end: int
    name: str


@dataclass
class Schedule:
    """Deeds of threads (0 marks the steps), work of devices, and marks: number, start, end."""

    deeds: list[Deed] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    marks: list[tuple[int, int, int]] = field(default_factory=list)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """One or two threads, one or two devices, no or some steps."""
    made = Schedule()
    for thread in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, 3)) * UNIT if thread else 0
        causes = draw(
            st.lists(st.sampled_from([*DEEDS, "launch", "launch"]), min_size=1, max_size=9)
        )
        for cause in ["launch", *causes] if thread == 0 else causes:
            end = at + UNIT * draw(st.integers(1, 3))
            made.deeds.append(Deed(thread, at, end, cause, draw(st.sampled_from(DEEDS[cause]))))
            at = end
    n_devices = draw(st.integers(1, 2))
    for number, deed in enumerate(made.deeds):
        if deed.cause != "launch":
            continue
        for _ in range(draw(st.integers(1, 3))):
            start = deed.start + draw(st.integers(0, 8)) * UNIT // 2 + draw(st.integers(0, 2))
            end = start + draw(st.integers(1, 4)) * UNIT // 2
            device = draw(st.integers(1, n_devices)) - 1
            if any((one.device, one.start) == (device, start) for one in made.work):
                continue  # which of two that start together is the next one, nothing tells
            owner = number if draw(st.integers(0, 9)) else None
            made.work.append(
                Work(owner, device, start, end, draw(st.sampled_from(["gemm", "relu", "copy"])))
            )
    if not any(one.name != "copy" for one in made.work):
        made.work.append(Work(None, 0, -1, UNIT, "gemm"))
    reach = max(deed.end for deed in made.deeds if deed.thread == 0) // UNIT
    edges = sorted(draw(st.sets(st.integers(0, reach), max_size=4)))
    number = 0
    for start, end in pairwise(edges):
        number += draw(st.sampled_from([1, 1, 1, 2]))
        made.marks.append((number, start * UNIT, end * UNIT))
    return made


# ---- as a profiler records it


def trace_of(*schedules: Schedule, shift: int = 0, order: random.Random | None = None) -> Trace:
    """The trace of one rank per schedule, later by some ticks. With `order`, rows are shuffled."""
    spans, calls, kernels, copies = (
        [row | {"rank": rank} for rank, rows in enumerate(parts) for row in rows]
        for parts in zip(*(rows_of(schedule, shift) for schedule in schedules), strict=True)
    )
    for rows in (kernels, copies, calls, spans):
        if order is not None:
            order.shuffle(rows)
    # A parent is an earlier span; of two spans with the same times the first is the outer one.
    spans.sort(key=_outermost_first)
    return program(spans, calls, kernels, memcpys=copies)


def _outermost_first(row: Row) -> tuple[int, int, int, bool]:
    is_mark = row["name"].startswith("ProfilerStep")
    return row["rank"], row["start_ns"], -row["duration_ns"], not is_mark


def rows_of(schedule: Schedule, shift: int) -> tuple[list[Row], ...]:
    """Spans, calls, kernels and copies; calls are numbered by start."""

    def us(tick: int) -> int:
        return (tick + shift) * TICK_US

    spans: list[Row] = [mark(number, us(start), us(end)) for number, start, end in schedule.marks]
    calls: list[Row] = []
    calls_by_start = sorted(schedule.deeds, key=lambda deed: deed.start)
    ids = [calls_by_start.index(deed) for deed in schedule.deeds]
    for number, deed in zip(ids, schedule.deeds, strict=True):
        where = {"thread_id": deed.thread}
        times = us(deed.start), us(deed.end)
        if deed.name is None:
            continue
        if deed.cause == "launch":
            spans.append(span("op", deed.name, *times, **where))
            calls.append(launch(times[0] + 5, times[1], api_call_id=number, **where))
        elif deed.cause in ("allocation", "sync") or deed.name.startswith("cu"):
            calls.append(api(deed.name, *times, api_call_id=number, **where))
        else:
            kinds = {"aten::sort": "op", "<built-in function sleep>": "python"}
            spans.append(span(kinds.get(deed.name, "annotation"), deed.name, *times, **where))

    def call_of(one: Work) -> int | None:
        return None if one.deed is None else ids[one.deed]

    device_work = [
        work(us(one.start), us(one.end), call_of(one), device_id=one.device, name=one.name)
        for one in schedule.work
    ]
    kernels = [
        row | {"kernel_id": number}
        for number, row in enumerate(device_work)
        if row["name"] != "copy"
    ]
    copies = [
        {key: row[key] for key in row if key != "name"} | {"memcpy_id": number}
        for number, row in enumerate(device_work)
        if row["name"] == "copy"
    ]
    return spans, calls, kernels, copies


# ---- counted tick by tick


def launched_at(schedule: Schedule, one: Work) -> float:
    """When the host launched some work.

    Its call starts half a tick after the op; without a call it is the work's own start.
    """
    return one.start if one.deed is None else schedule.deeds[one.deed].start + 0.5


def steps(schedule: Schedule) -> dict[int, tuple[int, int]]:
    """Start and end of each step.

    At its end the host has begun the next one, and all work launched before is done.
    """
    found: dict[int, tuple[int, int]] = {}
    reached = -1
    marks = schedule.marks
    for place, (number, start, end) in enumerate(marks):
        goes_on = place + 1 < len(marks) and marks[place + 1][0] == number + 1
        host_end = marks[place + 1][1] if goes_on else end
        begin = max(
            [start, reached, *(w.end for w in schedule.work if launched_at(schedule, w) < start)]
        )
        reached = max(
            [
                begin,
                host_end,
                *(w.end for w in schedule.work if launched_at(schedule, w) < host_end),
            ]
        )
        found[number] = (begin, reached)
    return found


def doing(schedule: Schedule, thread: int, tick: int) -> str | None:
    """Return the cause of what a thread did in a tick; None if it did nothing that is known."""
    return next(
        (
            one.cause
            for one in schedule.deeds
            if one.thread == thread and one.start <= tick < one.end
        ),
        None,
    )


def lanes(schedule: Schedule) -> set[int]:
    """The threads that count: they launch something or mark steps.

    A copy that they wait for counts as a launch.
    """
    return {
        deed.thread
        for deed in schedule.deeds
        if deed.cause == "launch" or deed.name == "hipMemcpyWithStream"
    }


def main_thread(schedule: Schedule) -> int:
    """Return the thread with most known time.

    Of the main thread all is known; it marks steps, else launches most. Of another thread only what
    is recorded is known.
    """
    n_calls = Counter(
        one.thread
        for one in schedule.deeds
        if one.cause == "launch" or one.name == "hipMemcpyWithStream"
    )
    leading = 0 if schedule.marks or n_calls[0] >= n_calls[1] else 1
    known = {}
    for thread in sorted(lanes(schedule)):
        own = [
            (one.start, one.end)
            for one in schedule.deeds
            if one.thread == thread and one.name is not None
        ]
        own += [(start, end) for _, start, end in schedule.marks if thread == 0]
        known[thread] = sum(end - start for start, end in own)
        if thread == leading:
            known[thread] = max(end for _, end in own) - min(start for start, _ in own)
    return max(known, key=lambda thread: (known[thread], -thread))


def cause_on_host(schedule: Schedule, thread: int, tick: int) -> str:
    """Return what a thread did, or another thread while it ran Python or nothing."""
    own = doing(schedule, thread, tick) if thread in lanes(schedule) else None
    others = [doing(schedule, other, tick) for other in sorted(lanes(schedule) - {thread})]
    for cause in (own, *others):
        if cause not in (None, "host"):
            return str(cause)
    return "host"


def causes_of_gap(
    schedule: Schedule, first: int, end: int, following: Work | None, before: Work | None
) -> list[str]:
    """Return the cause of every tick of a gap before the work that ends it.

    It is None if nothing is known.
    """
    if following is None:
        found = [cause_on_host(schedule, main_thread(schedule), tick) for tick in range(first, end)]
    elif following.deed is None:
        found = ["unknown"] * (end - first)
    elif before is not None and before.deed == following.deed:
        found = ["dependency"] * (end - first)
    else:
        call = schedule.deeds[following.deed]
        found = [
            (
                cause_on_host(schedule, call.thread, tick)
                if tick < call.end
                else "launch"
                if tick < call.end + LATENCY
                else "dependency"
            )
            for tick in range(first, end)
        ]
    for place in range(1, len(found)):
        if found[place] == "launch" and found[place - 1] == "sync":
            found[place] = "sync"
    return found


def idle_ticks(schedule: Schedule, device: int, low: int, high: int) -> Iterator[tuple[int, str]]:
    """Every tick from low to high in which a device does nothing, and its cause."""
    own = sorted((w for w in schedule.work if w.device == device), key=lambda w: (w.start, w.end))
    busy = {tick for one in own for tick in range(one.start, one.end)}
    tick = low
    while tick < high:
        if tick in busy:
            tick += 1
            continue
        end = next((t for t in range(tick, high) if t in busy), high)
        following = next((w for w in own if w.start >= tick), None)
        before = next((w for w in reversed(own) if w.start < tick), None)
        yield from enumerate(causes_of_gap(schedule, tick, end, following, before), tick)
        tick = end


def edges_of(schedule: Schedule, found: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return from when to when a device is looked at: its steps.

    Without steps it is all that its work and the counted threads did.
    """
    told = [
        deed for deed in schedule.deeds if deed.thread in lanes(schedule) and deed.name is not None
    ]
    times = [*found.values()] or [(deed.start, deed.end) for deed in told]
    return min([s for s, _ in times], default=10**9), max([e for _, e in times], default=-1)


@pytest.fixture(autouse=True, scope="module")
def no_first_uses() -> Iterator[None]:
    """No launching is long enough to be loading, or to wait for another thread's allocation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch_causes, "LOADING_NS", 2**62)
        patch.setattr(thread_axis, "BLOCKED_NS", 2**62)
        yield


@given(schedules())
def test_idle_causes_are_recovered_exactly(schedule: Schedule) -> None:
    """Each device idles for each cause, in every phase and step, as long as tick by tick.

    If the trace's edges cut work off, steps begin or end with it, which test_program_phases has.
    """
    trace = trace_of(schedule)
    found = steps(schedule)
    ns = TICK_US * 1000
    table = steps_of(trace).select("step", "start_ns", end_ns=_END)
    if phases(trace).filter(pl.col("phase").is_in([EARLIER, LATER])).is_empty():
        assert {step: (start // ns, end // ns) for step, start, end in table.iter_rows()} == found
    windows = {
        (step, phase): (start // ns, end // ns)
        for step, phase, start, end in phases(trace)
        .filter(pl.col("end_ns") > pl.col("start_ns"))
        .select("step", "phase", "start_ns", "end_ns")
        .iter_rows()
    }
    frame, gaps = TIME_BREAKDOWN.check(time_breakdown(trace)), IDLE_GAPS.check(idle_gaps(trace))
    for device in sorted({one.device for one in schedule.work}):
        own = [one for one in schedule.work if one.device == device]
        whole = min(one.start for one in own), max(one.end for one in own)
        looked_at = {**windows, **({(None, None): whole} if found else {})}
        edges = [*looked_at.values(), whole]
        low, high = min(start for start, _ in edges), max(end for _, end in edges)
        ticks = dict(idle_ticks(schedule, device, low, high))
        for row in frame.filter(device_id=device).iter_rows(named=True):
            key = row["step"], row["phase"]
            start, end = looked_at.pop(key, (0, 0))
            expected = Counter(cause for tick, cause in ticks.items() if start <= tick < end)
            assert row["window_ns"] == (end - start) * ns
            assert row["idle_ns"] == expected.total() * ns
            assert idle_by_cause(row) == expected, key
        assert not looked_at
        judged = Counter(
            cause
            for (_, phase), (start, end) in windows.items()
            for tick, cause in ticks.items()
            if phase == PROGRAM and start <= tick < end
        )
        sums = gaps.filter(device_id=device).group_by("cause").agg(pl.col("idle_ns").sum() // ns)
        assert dict(sums.iter_rows()) == judged


def idle_by_cause(row: Mapping[str, int]) -> dict[str, int]:
    """The ticks that a row of the breakdown has of each cause."""
    columns = {cause: row[f"idle_{cause}_ns"] for cause in CAUSES}
    return {cause: ns // (TICK_US * 1000) for cause, ns in columns.items() if ns}


@settings(max_examples=examples(20))
@given(schedules())
def test_the_parts_of_every_window_sum_to_it(schedule: Schedule) -> None:
    trace = trace_of(schedule)
    windows = phases(trace)
    assert (windows["start_ns"] <= windows["end_ns"]).all()
    assert (windows["end_ns"].shift(1) <= windows["start_ns"]).all()
    frame = TIME_BREAKDOWN.check(time_breakdown(trace))
    parts = ("compute", "exposed_communication", "exposed_copy", "idle")
    whole = pl.sum_horizontal(f"{part}_ns" for part in parts)
    causes = pl.sum_horizontal(f"idle_{cause}_ns" for cause in CAUSES)
    assert frame.filter(whole != pl.col("window_ns")).is_empty()
    assert frame.filter(causes != pl.col("idle_ns")).is_empty()


class _Reversing(random.Random):
    """Puts rows into the reverse of their order."""

    def shuffle(self, x: MutableSequence[Any]) -> None:
        """Reverse the rows in place."""
        x.reverse()


_FIRST_WORK_STARTS_LATE = Schedule(
    deeds=[Deed(0, 0, 150, "launch", "aten::mm"), Deed(0, 250, 300, "launch", "aten::mm")],
    work=[Work(0, 0, 200, 225, "gemm"), Work(1, 0, 300, 325, "gemm")],
    marks=[(1, 0, 50)],
)


@settings(max_examples=examples(12))
@given(schedules(), st.randoms(use_true_random=False))
@example(_FIRST_WORK_STARTS_LATE, _Reversing())
def test_neither_the_order_of_rows_nor_the_time_of_day_matters(
    schedule: Schedule, order: random.Random
) -> None:
    plain, other = trace_of(schedule), trace_of(schedule, shift=10**14, order=order)
    assert_frame_equal(time_breakdown(other), time_breakdown(plain))
    at = pl.col("example_ns") - 10**14 * TICK_US * 1000
    key = ["rank", "device_id", "cause", "what"]
    assert_frame_equal(
        idle_gaps(other).with_columns(at.alias("example_ns")).sort(key).drop("example_ns"),
        idle_gaps(plain).sort(key).drop("example_ns"),
    )


@settings(max_examples=examples(20))
@given(schedules())
def test_steps_of_a_window_tile_its_time(schedule: Schedule) -> None:
    frame = steps_of(trace_of(schedule))
    for _, window in frame.group_by("window"):
        ordered = window.sort("start_ns", "step")
        ends = ordered["start_ns"] + ordered["duration_ns"]
        assert ends[:-1].to_list() == ordered["start_ns"][1:].to_list()


@settings(max_examples=examples(9))
@given(schedules(), schedules())
def test_ranks_do_not_matter_to_each_other(first: Schedule, second: Schedule) -> None:
    both = trace_of(first, second)
    key = ["device_id", "cause", "what"]
    for rank, schedule in enumerate((first, second)):
        alone = trace_of(schedule)
        for analysis, order in ((time_breakdown, ["device_id", "step"]), (idle_gaps, key)):
            ours = analysis(both).filter(pl.col("rank") == rank).drop("rank").sort(order)
            assert_frame_equal(ours, analysis(alone).drop("rank").sort(order))
