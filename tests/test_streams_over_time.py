"""Short kernels, overlap of streams, queues and copies over time: by hand, and as HTA has them."""

import pytest

from tests.cases import make_trace
from tests.hta_peer import parsed_by_hta
from tests.sources import torch_trace
from tracelens.analyses import copy_bandwidth, kernel_sizes, queue_length, stream_overlap
from tracelens.analyses.kernel_sizes import notes
from tracelens.analyses.queue_length import notes as queue_notes
from tracelens.analyses.stream_overlap import notes as overlap_notes


def test_short_runs_and_the_first_one() -> None:
    """Three runs of a kernel: the first takes 9 µs, the others 2 and 4; one of another takes 5."""
    runs = [("k", 0, 9_000), ("k", 20_000, 2_000), ("k", 30_000, 4_000), ("other", 40_000, 5_000)]
    kernels = [{"name": name, "start_ns": at, "duration_ns": ns} for name, at, ns in runs]
    trace = make_trace(kernels=kernels)
    frame = kernel_sizes(trace)
    assert frame.rows() == [
        (0, "k", 3, 2, 6_000, 2 / 3, 0, 9_000, 3_000.0),
        (0, "other", 1, 0, 0, 0.0, 40_000, 5_000, None),
    ]
    (sentence,) = notes(trace, frame)
    assert sentence.startswith("2 of 4 kernels take less than 5 µs, 6.00 µs together;")
    assert sentence.endswith("first runs took 6.00 µs more than later ones.")


def test_two_streams_overlap_for_a_part_of_their_time() -> None:
    """Stream 7 works from 0 to 10 and 20 to 30, stream 9 from 5 to 22: both for 5 and 2."""
    work = [(7, 0, 10), (7, 20, 10), (9, 5, 17)]
    kernels = [{"stream_id": s, "start_ns": at, "duration_ns": ns} for s, at, ns in work]
    assert stream_overlap(make_trace(kernels=kernels)).rows() == [
        (0, 0, 7, 7, 20, 1.0),
        (0, 0, 9, 9, 17, 1.0),
        (0, 0, 7, 9, 7, 7 / 17),
    ]
    alone = make_trace(kernels=kernels[:2])
    assert overlap_notes(alone, stream_overlap(alone)) == [
        "All work of each device is on one stream, so that none of it overlaps."
    ]


def test_a_queue_grows_with_launches_and_shrinks_as_work_begins() -> None:
    """Two launches at 0 and 50; their kernels begin at 100 and 200: 1, then 2, then 1 waits."""
    calls = [{"start_ns": at, "duration_ns": 9} for at in (0, 50)]
    kernels = [{"api_call_id": n, "start_ns": 100 + 100 * n, "duration_ns": 90} for n in (0, 1)]
    frame = queue_length(make_trace(api_calls=calls, kernels=kernels))
    assert frame.filter(start_ns=60)["length_max"].to_list() == [2]
    assert frame.filter(start_ns=150)["length_mean"].to_list() == [1.0]
    weighted = (frame["length_mean"] * frame["duration_ns"]).sum()
    assert weighted == pytest.approx(50 * 1 + 50 * 2 + 100 * 1)


def test_of_very_many_streams_the_busiest_have_queues() -> None:
    """Each would have 200 rows. Streams 0 to 39; the last eight launch twice."""
    streams = [*range(40), *range(32, 40)]
    calls = [{"start_ns": n, "duration_ns": 1} for n in range(len(streams))]
    kernels = [
        {"api_call_id": n, "stream_id": stream, "start_ns": 100 + n, "duration_ns": 1}
        for n, stream in enumerate(streams)
    ]
    frame = queue_length(make_trace(api_calls=calls, kernels=kernels))
    assert sorted(frame["stream_id"].unique()) == [*range(24), *range(32, 40)]


def test_of_equally_long_queues_the_first_streams_is_named() -> None:
    """On each of 30 streams a launch at 0 waits until 100: one waits, all the time."""
    calls = [{"start_ns": 0, "duration_ns": 9} for _ in range(30)]
    kernels = [
        {"api_call_id": n, "stream_id": n, "start_ns": 100, "duration_ns": 90} for n in range(30)
    ]
    trace = make_trace(api_calls=calls, kernels=kernels)
    (sentence,) = queue_notes(trace, queue_length(trace))
    assert sentence == (
        "Rank 0: the queue of stream 0 held 1.0 launches on average, at most 1: the host is ahead."
    )


def test_a_short_queue_says_how_long_the_device_waits() -> None:
    """Six launches take 40 ns each, one after the other; each kernel begins after 28 ns, for 10.

    The device waits for 30 ns before five of them, in 210 ns. A launch waits for 28 ns six times in
    the 228 ns from the first one to the last kernel.
    """
    launch = {"api": "cudaLaunchKernel", "kind": "kernel_launch", "duration_ns": 40}
    calls = [launch | {"start_ns": 40 * n} for n in range(6)]
    kernels = [
        {"api_call_id": n, "start_ns": 40 * n + 28, "duration_ns": 10, "stream_id": 7}
        for n in range(6)
    ]
    trace = make_trace(api_calls=calls, kernels=kernels)
    (sentence,) = queue_notes(trace, queue_length(trace))
    assert sentence == (
        f"Rank 0: the device waits for launches {150 / 210:.0%} of the time; the queue of stream 7"
        f" held {6 * 28 / 228:.1f} launches on average, at most 1."
    )


def test_bandwidth_of_two_copies_at_once_adds_up() -> None:
    """1,000 bytes from 0 to 100 ns and 500 from 50 to 100: 10 GB/s, then 20 GB/s."""
    copies = [
        {"direction": "h2d", "size_bytes": size, "start_ns": at, "duration_ns": ns}
        for size, at, ns in ((1_000, 0, 100), (500, 50, 50))
    ]
    frame = copy_bandwidth(make_trace(memcpys=copies))
    assert frame.filter(start_ns=10)["mean_bytes_per_s"].to_list() == [10e9]
    assert frame["max_bytes_per_s"].max() == 20e9
    moved = float((frame["mean_bytes_per_s"] * frame["duration_ns"]).sum()) / 1e9
    assert moved == pytest.approx(1_500)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["alexnet_eager"])
def test_queues_are_those_of_hta(name: str) -> None:
    pytest.importorskip("hta", reason="HTA is not installed")
    theirs = parsed_by_hta(name, last_step=True).get_queue_length_time_series([0])[0]
    ours = queue_length(torch_trace(name))
    for stream, rows in theirs.groupby("stream"):
        times, lengths = rows["ts"].to_numpy(), rows["queue_length"].to_numpy()
        waiting_ns = float((lengths[:-1] * (times[1:] - times[:-1])).sum()) * 1e3
        mine = ours.filter(stream_id=int(stream))
        assert mine["length_max"].max() == lengths.max()
        assert (mine["length_mean"] * mine["duration_ns"]).sum() == pytest.approx(
            waiting_ns, rel=1e-6
        )
