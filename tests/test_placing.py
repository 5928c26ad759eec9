"""Calls placed by whole columns stand where the walk over spans and calls puts them, which is the definition."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples
from tracelens.derive.events import nesting, placing
from tracelens.derive.events.nesting_walk import nest_in_python

SCHEMA = dict.fromkeys(("process_id", "thread_id", "start_ns", "duration_ns"), pl.Int64)

# Few distinct times and lanes, so that spans and calls touch, contain and overlap each other.
_TIMES = st.integers(-3, 30).map(lambda n: n * 300)
_INTERVALS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), _TIMES, _TIMES.map(abs)), max_size=30)


def intervals(rows: list[tuple[int, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@settings(max_examples=examples(100))
@given(
    _INTERVALS,
    _INTERVALS,
    st.lists(st.none() | st.integers(-1, 29), min_size=30, max_size=30),
    st.tuples(st.integers(1, 40), st.sampled_from((0, 8))),
)
def test_calls_stand_where_the_walk_puts_them(
    spans: list[tuple[int, ...]], calls: list[tuple[int, ...]], hints: list[int | None], limits: tuple[int, int]
) -> None:
    """However many calls are taken at a time, and whether threads are asked for one by one or calls grouped by them."""
    own = [hint if hint is not None and hint < len(spans) else None for hint in hints[: len(spans)]]
    hinted = intervals(spans).with_columns(parent_hint=pl.Series(own, dtype=pl.Int64))
    called = intervals(calls)
    for frame in (hinted.drop("parent_hint"), hinted):
        expected = nest_in_python(frame, called)
        alone = nest_in_python(frame, called.clear())
        assert (alone.parent, alone.depth, alone.self_ns) == (expected.parent, expected.depth, expected.self_ns)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(placing, "_SLICE_ROWS", limits[0])
            patch.setattr(placing, "_FEW_THREADS", limits[1])
            assert placing.place_calls(frame, alone.parent, called).to_list() == expected.call_span


def test_many_calls_go_this_way() -> None:
    """A thousand spans one after the other, twenty calls in each and one behind it."""
    spans = intervals([(1, 1, start, 5_000) for start in range(0, 10_000_000, 10_000)])
    calls = intervals([(1, 1, start, 100) for start in range(50, 10_000_000, 500)])
    placed = nesting.nest(spans, calls).call_span
    assert isinstance(placed, pl.Series)
    # The tolerance holds for an end that is 50 ns late; a call that starts after the end is outside.
    expected = [start // 10_000 if start % 10_000 < 5_000 else -1 for start in range(50, 10_000_000, 500)]
    assert placed.to_list() == expected
