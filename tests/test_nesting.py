"""Which span encloses which: small cases by eye, arbitrary ones against a slow definition."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens.derive.events.nesting import TOLERANCE_NS, Nesting, nest

Interval = tuple[int, int]
SCHEMA = {
    "process_id": pl.Int64,
    "thread_id": pl.Int64,
    "start_ns": pl.Int64,
    "duration_ns": pl.Int64,
}


def frame(
    rows: list[tuple[int, int, int, int]], hints: list[int | None] | None = None
) -> pl.DataFrame:
    """Rows of (process, thread, start, end)."""
    made = pl.DataFrame([(p, t, s, e - s) for p, t, s, e in rows], schema=SCHEMA, orient="row")
    return made.with_columns(parent_hint=pl.Series(hints or [None] * len(rows), dtype=pl.Int64))


def nested(
    spans: list[Interval],
    calls: list[Interval] | None = None,
    hints: list[int | None] | None = None,
) -> Nesting:
    """Spans and calls of one thread, each (start, end)."""
    return nest(frame([(1, 1, *s) for s in spans], hints), frame([(1, 1, *c) for c in calls or []]))


def test_children_siblings_and_self_time() -> None:
    #        0-100: root; 10-40 and 50-90 in it; 20-30 in the first
    found = nested([(0, 100_000), (10_000, 40_000), (20_000, 30_000), (50_000, 90_000)])
    assert found.parent == [-1, 0, 1, 0]
    assert found.depth == [0, 1, 2, 1]
    assert found.self_ns == [30_000, 20_000, 10_000, 40_000]
    assert (found.n_overlaps, found.n_unreturned) == (0, 0)


def test_rows_may_come_in_any_order() -> None:
    found = nested([(20_000, 30_000), (0, 100_000), (50_000, 90_000), (10_000, 40_000)])
    assert (found.parent, found.depth) == ([3, -1, 1, 1], [2, 0, 1, 1])


def test_of_equal_starts_the_longer_is_the_parent() -> None:
    assert nested([(0, 10_000), (0, 50_000), (0, 20_000)]).parent == [2, -1, 1]
    # Of equal spans the first recorded is the parent.
    assert nested([(0, 10_000), (0, 10_000)]).parent == [-1, 0]


def test_spans_that_touch_are_siblings() -> None:
    found = nested([(0, 10_000), (10_000, 20_000)])
    assert (found.parent, found.n_overlaps) == ([-1, -1], 0)


def test_a_child_may_outlast_its_parent_by_a_microsecond() -> None:
    within, beyond = nested([(0, 10_000), (5_000, 11_000)]), nested([(0, 10_000), (5_000, 11_001)])
    assert (within.parent, within.n_overlaps) == ([-1, 0], 0)
    # Only the part inside the parent is taken off the parent's own time.
    assert within.self_ns == [5_000, 6_000]
    assert (beyond.parent, beyond.depth, beyond.n_overlaps) == ([-1, -1], [0, 0], 1)
    assert beyond.self_ns == [10_000, 6_001]


def test_a_span_that_outlasts_several_counts_once() -> None:
    found = nested([(0, 100_000), (10_000, 50_000), (20_000, 40_000), (30_000, 90_000)])
    assert (found.parent, found.n_overlaps) == ([-1, 0, 1, 0], 1)
    # 10-50 and 30-90 cover 80 of the root, no moment twice.
    assert found.self_ns == [20_000, 20_000, 20_000, 60_000]


def test_a_span_without_length_encloses_nothing() -> None:
    found = nested([(5_000, 5_000), (5_000, 5_000), (0, 10_000)], [(5_000, 5_000)])
    assert found.parent == [2, 2, -1]
    assert found.call_span == [2]
    # At its parent's very end it still belongs to it; before its start it does not.
    assert nested([(0, 10_000), (10_000, 10_000), (10_000, 10_000)]).parent == [-1, 0, 0]
    assert nested([(10_000, 20_000), (10_000, 10_000)]).parent == [-1, 0]


def test_threads_and_processes_do_not_mix() -> None:
    spans = frame(
        [(1, 1, 0, 100_000), (1, 2, 10_000, 20_000), (2, 1, 10_000, 20_000), (1, 1, 10_000, 20_000)]
    )
    calls = frame([(2, 1, 12_000, 13_000), (2, 2, 12_000, 13_000)])
    found = nest(spans, calls)
    assert (found.parent, found.call_span) == ([-1, -1, -1, 0], [2, -1])


def test_calls_go_to_the_innermost_span_around_them() -> None:
    spans = [(0, 100_000), (10_000, 40_000), (50_000, 60_000)]
    inside, between, at_the_end = (
        [(12_000, 15_000)],
        [(41_000, 45_000)],
        [(40_000, 45_000), (40_000, 40_000)],
    )
    beyond_by_more, beyond_by_1_us = [(39_000, 41_001)], [(39_000, 41_000)]
    beyond_all = [(99_000, 200_000), (300_000, 300_001)]
    calls = inside + between + at_the_end + beyond_by_more + beyond_by_1_us + beyond_all
    assert nested(spans, calls).call_span == [1, 0, 0, 1, 0, 1, -1, -1]


def test_a_call_does_not_start_in_a_span_that_is_over() -> None:
    assert nested([(0, 10_000)], [(10_000, 10_500)]).call_span == [-1]


def test_a_call_without_return_ends_with_its_caller() -> None:
    # main calls lost, which runs on to the trace's end, and then helper, which calls inner.
    spans = [(0, 100_000), (10_000, 100_000), (40_000, 60_000), (45_000, 50_000)]
    found = nested(spans, [(70_000, 71_000)], hints=[None, 0, 0, 2])
    assert found.parent == [-1, 0, 0, 2]
    assert found.n_unreturned == 1
    # lost ran 30 until main went on; main itself ran 0-10 and 60-100.
    assert found.self_ns == [50_000, 30_000, 15_000, 5_000]
    assert found.call_span == [0]


def test_unreturned_calls_and_the_ops_in_them_close_together() -> None:
    # main > lost > deeper (both never return), an op in deeper; then main calls helper.
    spans = [(0, 100_000), (10_000, 100_000), (20_000, 100_000), (25_000, 30_000), (50_000, 60_000)]
    found = nested(spans, hints=[None, 0, 1, None, 0])
    assert (found.parent, found.n_unreturned) == ([-1, 0, 1, 2, 0], 2)
    assert found.self_ns == [100_000 - 40_000 - 10_000, 10_000, 25_000, 5_000, 10_000]


def test_an_op_between_a_caller_and_its_callee_stays() -> None:
    # An op (without a recorded caller) calls back into Python: the callee is in the op.
    spans = [(0, 100_000), (10_000, 90_000), (20_000, 30_000)]
    assert nested(spans, hints=[None, None, 0]).parent == [-1, 0, 1]


@pytest.mark.parametrize("hint", [0, 1, 2])
def test_a_hint_at_a_closed_span_changes_nothing(hint: int) -> None:
    assert nested(
        [(0, 5_000), (10_000, 50_000), (20_000, 30_000)], hints=[None, None, hint]
    ).parent == [-1, -1, 1]


def test_nothing_at_all() -> None:
    assert nested([]) == Nesting([], [], [], [], 0, 0)
    assert nested([], [(0, 1)]).call_span == [-1]


# --- arbitrary spans against a definition that looks at every pair ---


def lies_in(inner: Interval, outer: Interval) -> bool:
    """Whether an interval that does not start before another lies in it."""
    if outer[0] == outer[1]:
        return False
    if inner[0] == outer[1]:
        return inner[0] == inner[1]
    return outer[0] <= inner[0] < outer[1] and inner[1] <= outer[1] + TOLERANCE_NS


def reference(spans: list[Interval]) -> tuple[list[int], list[int], list[int]]:
    """Compute parent, depth and self time by definition.

    In the order of events (start, longest first, as recorded) a span is open until the first later
    one that is not inside it, through however many parents. The parent is the last open one that it
    lies in.
    """
    order = sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1], i))
    parent = dict.fromkeys(order, -1)

    def is_inside(i: int, outer: int) -> bool:
        while i not in {-1, outer}:
            i = parent[i]
        return i == outer

    for place, i in enumerate(order):
        for before in range(place - 1, -1, -1):
            outer = order[before]
            if lies_in(spans[i], spans[outer]) and all(
                is_inside(k, outer) for k in order[before + 1 : place]
            ):
                parent[i] = outer
                break
    depth = [0] * len(spans)
    for i in order:
        depth[i] = depth[parent[i]] + 1 if parent[i] >= 0 else 0
    own = []
    for i, (start, end) in enumerate(spans):
        covered: set[int] = set()
        for child, (child_start, child_end) in enumerate(spans):
            if parent[child] == i:
                covered |= set(range(child_start, min(child_end, end), STEP))
        own.append(end - start - STEP * len(covered))
    return [parent[i] for i in range(len(spans))], depth, own


STEP = 500
"""Arbitrary times are multiples of this: half the tolerance, so that some children outlast by
exactly 1 µs."""


def intervals(max_size: int = 12) -> st.SearchStrategy[list[Interval]]:
    one = st.tuples(st.integers(0, 24), st.integers(0, 16)).map(
        lambda p: (p[0] * STEP, (p[0] + p[1]) * STEP)
    )
    return st.lists(one, max_size=max_size)


@given(intervals())
def test_agrees_with_the_definition(spans: list[Interval]) -> None:
    found = nested(spans)
    assert (found.parent, found.depth, found.self_ns) == reference(spans)


@given(intervals(), intervals(6))
def test_parents_and_calls_lie_in_time(spans: list[Interval], calls: list[Interval]) -> None:
    found = nested(spans, calls)
    for i, parent in enumerate(found.parent):
        assert 0 <= found.self_ns[i] <= spans[i][1] - spans[i][0]
        assert parent == -1 or lies_in(spans[i], spans[parent])
    for call, span in zip(calls, found.call_span, strict=True):
        assert span == -1 or lies_in(call, spans[span])


@given(intervals(), st.data())
def test_hints_keep_self_time_within_bounds(spans: list[Interval], data: st.DataObject) -> None:
    hint = st.none() | st.integers(0, max(0, len(spans) - 1))
    hints = data.draw(st.lists(hint, min_size=len(spans), max_size=len(spans)))
    found = nested(spans, hints=hints)
    for own, (start, end) in zip(found.self_ns, spans, strict=True):
        assert 0 <= own <= end - start


@given(intervals(), st.integers(-(10**15), 10**15))
def test_a_shift_in_time_changes_nothing(spans: list[Interval], shift: int) -> None:
    assert nested([(s + shift, e + shift) for s, e in spans]) == nested(spans)


@given(intervals().map(lambda spans: list(dict.fromkeys(spans))), st.randoms())
def test_the_order_of_distinct_rows_changes_nothing(spans: list[Interval], random: Any) -> None:
    order = list(range(len(spans)))
    random.shuffle(order)
    found, shuffled = nested(spans), nested([spans[i] for i in order])
    where = {row: place for place, row in enumerate(order)} | {-1: -1}
    assert [shuffled.parent[where[i]] for i in range(len(spans))] == [
        where[p] for p in found.parent
    ]
    assert [shuffled.self_ns[where[i]] for i in range(len(spans))] == found.self_ns


def test_many_calls_stand_in_the_span_around_them() -> None:
    """A thousand spans one after the other, ten calls in each and ten behind it."""
    columns = ("process_id", "thread_id", "start_ns", "duration_ns")
    spans = pl.DataFrame(
        [(1, 1, start, 5_000) for start in range(0, 10_000_000, 10_000)], columns, orient="row"
    )
    calls = pl.DataFrame(
        [(1, 1, start, 100) for start in range(50, 10_000_000, 500)], columns, orient="row"
    )
    # The tolerance holds for an end that is 50 ns late; a call that starts after the end is
    # outside.
    expected = [
        start // 10_000 if start % 10_000 < 5_000 else -1 for start in range(50, 10_000_000, 500)
    ]
    assert list(nest(spans, calls).call_span) == expected
