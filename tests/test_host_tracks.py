"""What held up each of many threads: first its own work, then other threads' of the process."""

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import make_trace
from tests.programs import launch, timed, work
from tracelens.analyses import time_breakdown
from tracelens.derive.time.host_time import host_times
from tracelens.derive.time.host_tracks import SEGMENTS, first_of_threads
from tracelens.derive.time.step_table import activities_of
from tracelens.trace import Trace


def many_threads(n: int) -> Trace:
    """A program of n threads: thread t launches from 10 t to 10 t + 5 µs.

    Its work runs until 10 t + 8 µs.
    One more thread allocates all the time. One step covers it all.
    """
    starts = [10 * thread for thread in range(n)]
    own = [
        timed(start, start + 5, cause="launch", thread_id=thread)
        for thread, start in enumerate(starts)
    ]
    return make_trace(
        steps=[timed(0, 10 * n)],
        activities=[*own, timed(0, 10 * n, cause="allocation", thread_id=n)],
        api_calls=[
            launch(start, start + 5, thread_id=thread) for thread, start in enumerate(starts)
        ],
        kernels=[work(start + 5, start + 8, thread) for thread, start in enumerate(starts)],
    )


@pytest.mark.parametrize("n", [200, 2_000])
@pytest.mark.parametrize("library", ["fast", "plain"])
def test_any_number_of_threads(n: int, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if library == "plain":
        monkeypatch.setattr("tracelens.derive.time.idle_sums.LIBRARY", None)
    trace = many_threads(n)
    (row,) = time_breakdown(trace).filter(step=0).to_dicts()
    assert row["compute_ns"] == 3_000 * n
    assert row["idle_launch_ns"] == 5_000 * n
    assert row["idle_allocation_ns"] == 2_000 * n
    assert row["idle_ns"] == 7_000 * n


def test_tracks_grow_with_activities_not_threads_squared() -> None:
    """Each thread has its one segment.

    The process has n of launching, and n of allocating between.
    """
    trace = many_threads(500)
    tracks = host_times(trace, activities_of(trace), [0])[0].tracks
    assert tracks.segments.height == 501 + 500 + 500
    assert len(tracks.bounds) == 501 + 1


@given(st.lists(st.tuples(st.integers(0, 1), st.sets(st.integers(0, 9), max_size=6)), max_size=7))
def test_the_first_thread_that_covers_a_moment_counts(threads: list[tuple[int, set[int]]]) -> None:
    rows = [
        (process, thread, start, end, 0, thread)
        for thread, (process, edges) in enumerate(threads)
        for start, end in [*pairwise(sorted(edges))][::2]
    ]
    schema: dict[str, type[pl.DataType]] = {
        "process": pl.Int64,
        "thread_number": pl.UInt32,
        **SEGMENTS,
    }
    merged = first_of_threads(pl.DataFrame(rows, schema=schema, orient="row"))
    found = {
        (process, moment): place
        for process, start, end, _, place in merged.rows()
        for moment in range(start, end)
    }
    assert merged.select(pl.col("end_ns") - pl.col("start_ns")).sum().item() == len(found)
    expected: dict[tuple[int, int], int] = {}
    for process, thread, start, end, *_ in rows:
        for moment in range(start, end):
            expected.setdefault((process, moment), thread)
    assert found == expected
