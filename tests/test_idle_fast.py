"""What a device did, in C and by whole columns, cell by cell."""

from __future__ import annotations

from array import array
from itertools import accumulate, pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from tracelens.derive.time.device_work import DeviceWork
from tracelens.derive.time.host_time import HostTime
from tracelens.derive.time.host_tracks import SEGMENTS, TRACKS_OF_THREAD, Tracks
from tracelens.derive.time.idle_sums import by_columns, by_pass
from tracelens.native import LIBRARY
from tracelens.schemas.host import CAUSES

pytestmark = pytest.mark.skipif(LIBRARY is None, reason="the native library was not compiled")
NS = 4_000
"""Nanoseconds per tick. Work may take its latency, two and a half ticks."""
THREADS = [(1, 1), (1, 2), (2, 3), (3, 4)]
PLACES = ["aten::mm", "cudaFree", "train.py(1): main"]
_TICKS = st.integers(0, 40)
_PLACE = st.integers(-1, len(PLACES) - 1)
_WORK = {"start_ns": pl.Int64, "duration_ns": pl.Int64, "call": pl.Int64, "kind": pl.UInt8}


def disjoint(edges: set[int]) -> list[tuple[int, int]]:
    """Every second stretch between edges, or all."""
    return list(pairwise(sorted(edges)))


@st.composite
def hosts(draw: st.DrawFn) -> HostTime:
    """Calls of up to four threads of three processes, and what some of these did."""
    calls = draw(st.lists(st.tuples(_TICKS, st.integers(0, len(THREADS) - 1), _PLACE), max_size=8))
    tracks: list[pl.DataFrame] = []
    for _ in range(draw(st.integers(0, 5))):
        segments = [
            (
                start * NS,
                end * NS,
                draw(st.sampled_from(range(CAUSES.index("dependency")))),
                draw(_PLACE),
            )
            for start, end in disjoint(draw(st.sets(_TICKS, max_size=8)))
            if draw(st.integers(0, 3))
        ]
        tracks.append(pl.DataFrame(segments, schema=SEGMENTS, orient="row"))
    returned = [at * NS for at, _, _ in calls]
    frame = pl.DataFrame(
        {
            "returned": returned,
            "thread": [thread for _, thread, _ in calls],
            "place": [place for *_, place in calls],
        },
        schema={"returned": pl.Int64, "thread": pl.Int32, "place": pl.Int32},
    )
    mains: dict[Any, Any] = {}
    for thread in draw(st.sets(st.sampled_from(THREADS)).map(sorted)):
        mains.setdefault(thread[0], thread)
    bounds = [*pairwise(accumulate((track.height for track in tracks), initial=0))]
    track = st.integers(-1, len(tracks) - 1)
    of_threads = [draw(st.tuples(track, track, track)) for _ in THREADS]
    looked_at = Tracks(
        pl.concat([pl.DataFrame(schema=SEGMENTS), *tracks]),
        bounds,
        pl.DataFrame(of_threads, schema=TRACKS_OF_THREAD, orient="row"),
    )
    return HostTime(frame, None, PLACES, list(THREADS), mains, looked_at)


@st.composite
def device_works(draw: st.DrawFn) -> DeviceWork:
    """A device with any work: it starts together and overlaps, and its calls may be unknown."""
    host = draw(hosts())
    call = st.integers(-1, host.calls.height)
    kinds = st.sampled_from([0, 0, 1]), st.just(2)
    rows = [
        draw(st.lists(st.tuples(_TICKS, st.integers(0, 6), call, kind), max_size=12))
        for kind in kinds
    ]
    if not any(rows):
        rows[0] = [(3, 1, -1, 0)]
    first, second = (
        pl.DataFrame(
            [
                (start * NS, length * NS, *rest)
                for start, length, *rest in sorted(part, key=lambda row: row[0])
            ],
            schema=_WORK,
            orient="row",
        )
        for part in rows
    )
    windows = [
        (a * NS, b * NS, draw(st.booleans()))
        for a, b in disjoint(draw(st.sets(_TICKS, max_size=6)))
        if draw(st.integers(0, 3))
    ]
    schema = {"start_ns": pl.Int64, "end_ns": pl.Int64, "counted": pl.Boolean}
    return DeviceWork(host, (first, second), pl.DataFrame(windows, schema=schema, orient="row"))


@given(st.lists(device_works(), min_size=1, max_size=3), st.data())
def test_fast_and_slow(each: list[DeviceWork], data: st.DataObject) -> None:
    devices, loaded = dict(enumerate(each, 7)), {}
    for number, device in devices.items():
        n_work = len(device.calls)
        some = st.lists(st.booleans(), min_size=n_work, max_size=n_work).map(
            lambda flags: pl.Series(flags, dtype=pl.Boolean)
        )
        if data.draw(st.booleans()):
            loaded[number] = data.draw(some)
    fast = by_pass(devices, loaded)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tracelens.derive.time.idle._WORK_AT_ONCE", data.draw(st.integers(1, 9)))
        slow = by_columns(devices, loaded)
    for one, other, key in (
        (fast.busy, slow.busy, ["device", "window"]),
        (fast.idle, slow.idle, ["device", "window", "within", "cause"]),
        (fast.places, slow.places, ["device", "cause", "place"]),
    ):
        numbers = [frame.select(pl.all().cast(pl.Int64)).sort(key) for frame in (one, other)]
        assert_frame_equal(*numbers, check_column_order=False)
    assert_series_equal(fast.launching, slow.launching, check_names=False)
    assert fast.ends == slow.ends


def room(n_windows: int, n_places: int, n_work: int) -> list[array[int]]:
    """Make room for sums."""
    sizes = 5 * (n_windows + 1), 20 * (n_windows + 1), 70 * (n_places + 1), n_work
    return [array("q", bytes(8 * size)) for size in sizes]


@given(st.data())
def test_no_numbers_lead_astray(data: st.DataObject) -> None:
    """Whatever stands in the columns, reads and writes stay within them.

    `make sanitized` sees it.
    """
    assert LIBRARY is not None
    number = st.integers(-3, 9) | st.sampled_from([2**62, 2**63 - 1, -(2**63), 2**31])

    def column(code: str, length: int) -> array[int]:
        size = 8 * array(code).itemsize
        values = data.draw(st.lists(number, min_size=length, max_size=length))
        return array(code, [(n + 2 ** (size - 1)) % 2**size - 2 ** (size - 1) for n in values])

    sizes = [data.draw(st.integers(0, 5)) for _ in range(7)]
    kernels, others, n_calls, n_threads, n_tracks, n_segments, n_windows = sizes
    codes = {"qqqb": (kernels, others), "qi": (n_calls,)}
    columns = [
        column(code, n) for letters, lengths in codes.items() for n in lengths for code in letters
    ]
    loaded = data.draw(st.none() | st.just(column("b", kernels + others)))
    threads = data.draw(st.none() | st.just(column("i", n_calls)))
    parts = [(n_threads, "iii"), (n_tracks, "qq"), (n_segments, "qqbi"), (n_windows, "qqb")]
    columns_of_time = [column(code, n) for n, letters in parts for code in letters]
    numbers = [data.draw(number) for _ in range(5)]
    LIBRARY.idle_time(
        *columns[:8],
        loaded,
        *columns[8:],
        threads,
        *columns_of_time,
        *numbers,
        *room(n_windows, 2, kernels + others),
    )


@pytest.mark.parametrize("at", [1, 3, 5, 8, 10, 11, 13, 14, 16, 19, 22, 23, 29, 30, 31, 32])
def test_columns_that_do_not_fit_together_are_refused(at: int) -> None:
    assert LIBRARY is not None
    letters = "qqqbqqqbbqiiiiiqqqqbiqqb"
    arguments: list[Any] = [array(letter, [0]) for letter in letters] + [0] * 5
    arguments[8] = array("b", [0, 0])
    arguments += room(1, 0, 2)
    LIBRARY.idle_time(*arguments)
    arguments[at].append(0)
    with pytest.raises(ValueError, match="expected"):
        LIBRARY.idle_time(*arguments)
