"""Many ranks: whose collectives are one call, who waits for whom, and what limits the job."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import tracelens as tl
from tests.cases import WHOLE, make_trace
from tests.conftest import examples
from tests.schedules import Call, Schedule, schedules
from tests.sources import SAMPLES
from tests.torch_files import CAPTURES, needs_captures
from tracelens.analyses.collectives_across import notes
from tracelens.derive.kernels.peaks import Peaks
from tracelens.derive.ranks.collective_wait import waits_by_step
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

MS = 10**6


@pytest.fixture(scope="module")
def ddp() -> Trace:
    """Two GPUs. The second has twice the batch."""
    return tl.collect(CAPTURES / "ddp_resnet50_2gpu")


@needs_captures
def test_all_collectives_of_a_real_job_match(ddp: Trace) -> None:
    found = tl.analyses.collectives_across(ddp)
    assert found.group_by("name").agg(pl.col("n_calls").sum()).sort("name").rows() == [
        ("allreduce", 15),
        ("broadcast", 6),
    ]
    assert match_collectives(ddp).stops.is_empty()


@pytest.mark.slow
@needs_captures
def test_transfers_of_a_real_job(ddp: Trace) -> None:
    """Means over the ranks that waited least.

    With two ranks the bus carries as much as each holds.
    """
    found = tl.analyses.collectives_across(ddp).filter(pl.col("name") == "allreduce")
    means = {
        size: round(ns / 1e3, 3)
        for size, ns in found.select("size_in_bytes", "transfer_mean_ns").iter_rows()
    }
    assert means == {
        31_502_336: 132.512,
        26_550_272: 151.295,
        26_255_360: 123.722,
        9_724_160: 63.595,
        8_196_000: 50.506,
    }
    first = found.filter(pl.col("size_in_bytes") == 31_502_336).row(0, named=True)
    assert round(first["algbw_bytes_per_s"] / 1e9, 3) == 237.754
    assert first["busbw_bytes_per_s"] == first["algbw_bytes_per_s"]


@pytest.mark.slow
@needs_captures
def test_waiting_of_a_real_job(ddp: Trace) -> None:
    found = tl.analyses.waiting(ddp).sort("rank")
    assert found["wait_ns"].to_list() == [13_619_417, 21_935_349]
    assert [round(ns / MS, 3) for ns in found["exposed_ns"]] == [13.604, 5.712]
    assert found["awaited_rank"].to_list() == [1, 0]
    calls = match_collectives(ddp).calls.filter(pl.col("name") != "broadcast")
    waits = (
        calls.group_by("rank")
        .agg((pl.col("last_start_ns") - pl.col("start_ns")).sum())
        .sort("rank")
    )
    assert waits["last_start_ns"].to_list() == [13_188_763, 18_178_736]
    assert calls.filter(rank=0)["awaited_rank"].value_counts(sort=True).rows() == [(0, 12), (1, 3)]


@needs_captures
def test_the_job_waits_for_the_rank_that_computes_more(
    ddp: Trace,
) -> None:
    row = tl.analyses.job(ddp).row(0, named=True)
    assert (row["bound"], row["rank"], row["cause"], row["n_ranks"]) == (
        "straggler",
        1,
        "compute",
        2,
    )
    # The 99.10 and 52.74 ms of three steps.
    assert "computes 33.0 ms a step where the other rank computes 17.6" in row["evidence"]


@needs_captures
def test_overlap_of_communication_as_hta_counts_it(ddp: Trace) -> None:
    """The digits that HTA 0.6.1 prints: the share of communication while the rank computes."""
    whole = tl.analyses.time_breakdown(ddp).filter(WHOLE).sort("rank")
    hidden = 1 - whole["exposed_communication_ns"] / whole["communication_ns"]
    assert [round(100 * share, 2) for share in hidden] == [1.79, 74.02]


def test_a_live_capture_names_the_rank_that_loads_slowly() -> None:
    trace = tl.collect(SAMPLES / "ranks")
    row = tl.analyses.job(trace).row(0, named=True)
    assert (row["bound"], row["rank"], row["cause"]) == ("straggler", 0, "input")
    verdicts = tl.analyses.verdict(trace)
    assert verdicts["bound"].to_list() == ["input", "waiting"]
    assert verdicts["evidence"][1].startswith("the device waits in collectives for rank 0 ")
    assert trace.ranks.select("world_size", "node", "device_id").rows() == [(2, 0, 0), (2, 0, 1)]


def work(rank: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"rank": rank, "start_ns": start, "duration_ns": end - start, **more}


def talk(rank: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    """A communication kernel."""
    return work(
        rank, start, end, name="ncclDevKernel_AllReduce_Sum(x)", is_communication=True, **more
    )


def told(*calls: tuple[dict[str, Any], dict[str, Any]]) -> Trace:
    """A trace of communication kernels, with the fields that their library recorded."""
    ids: dict[int, int] = {}
    kernels, collectives = [], []
    for kernel, about in calls:
        number = ids[kernel["rank"]] = ids.get(kernel["rank"], -1) + 1
        kernels.append(kernel | {"kernel_id": number})
        collectives.append(
            {"rank": kernel["rank"], "kernel_id": number, "name": "allreduce", "group": "pg"}
            | about
        )
    return make_trace(kernels=kernels, collectives=collectives)


def pairs(trace: Trace) -> list[tuple[int, int, int]]:
    """Rank, kernel and index of the matched calls."""
    return (
        match_collectives(trace)
        .calls.select("rank", "kernel_id", "call")
        .sort("rank", "call")
        .rows()
    )


def test_waiting_is_exposed_where_the_rank_does_not_compute() -> None:
    """Rank 0 waits from 10 to 50 and computes from 20 to 35.

    In a second group it waits from 30 to 60: 40 + 30, 50 ns in all.
    """
    kernels = [
        talk(0, 10, 55, kernel_id=0),
        work(0, 20, 35, kernel_id=1),
        talk(0, 30, 65, kernel_id=2),
        talk(1, 50, 55, kernel_id=0),
        talk(1, 60, 65, kernel_id=1),
    ]
    about = {"name": "allreduce"}
    collectives = [
        {"rank": rank, "kernel_id": kernel, "group_id": group} | about
        for rank, kernel, group in [(0, 0, "a"), (0, 2, "b"), (1, 0, "a"), (1, 1, "b")]
    ]
    steps = [
        {"rank": 0, "step": n, "start_ns": at, "duration_ns": 30} for n, at in enumerate((0, 30))
    ]
    trace = make_trace(kernels=kernels, collectives=collectives, steps=steps)
    columns = ("rank", "wait_ns", "hidden_ns", "exposed_ns", "awaited_rank", "n_last")
    assert tl.analyses.waiting(trace).select(columns).rows() == [
        (0, 70, 15, 35, 1, 0),
        (1, 0, 0, 0, None, 2),
    ]
    assert tl.analyses.waiting_for(trace).rows() == [(0, 1, 2, 70, 35)]
    # Of step 0, until 30: waits 20, hidden from 20 to 30; of step 1: waits until 60, hidden until
    # 35.
    assert waits_by_step(trace).filter(pl.col("rank") == 0).rows() == [
        (0, None, 50, 15, 35),
        (0, 0, 20, 10, 10),
        (0, 1, 30, 5, 25),
    ]


def test_sequence_numbers_match_where_a_profiler_began_later() -> None:
    calls = [(talk(0, at, at + 5), {"sequence": at}) for at in (10, 20, 30)]
    trace = told(*calls, *((talk(1, at, at + 5), {"sequence": at}) for at in (20, 30)))
    assert pairs(trace) == [(0, 1, 1), (0, 2, 2), (1, 0, 1), (1, 1, 2)]
    said = notes(trace, tl.analyses.collectives_across(trace))
    assert said == [
        "2 collectives match across 2 ranks.",
        "1 collectives began before every rank of their group was captured: left out.",
    ]


def test_without_sequence_numbers_the_order_matches() -> None:
    """Groups of the same name and other ranks are others.

    A group with one captured rank matches nothing.
    """
    trace = told(
        *((talk(rank, 10, 20), {"group_id": "1", "group_ranks": "[0, 1]"}) for rank in (0, 1)),
        *((talk(rank, 15, 20), {"group_id": "1", "group_ranks": "[2, 3]"}) for rank in (2, 3)),
        (talk(3, 30, 40), {"group_id": "2", "group_ranks": "[3, 4]"}),
    )
    assert pairs(trace) == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)]
    assert match_collectives(trace).remarks == [
        "1 collectives are of groups of which one rank was captured.",
        "Collectives of pg have no numbers, so they are matched by order.",
    ]
    found = tl.analyses.collectives_across(trace)
    assert found.select("ranks", "n_calls").rows() == [("ranks 0 to 1", 1), ("ranks 2 to 3", 1)]


@pytest.mark.parametrize(
    ("of_last", "theirs", "usual"),
    [
        ({"name": "_allgather_base"}, "_allgather_base", "allreduce"),
        ({"dtype": "Half"}, "allreduce Half of 8 to 8 bytes", "allreduce Float of 8 to 8 bytes"),
        (
            {"size_in_bytes": 4},
            "allreduce Float of 4 to 8 bytes",
            "allreduce Float of 8 to 8 bytes",
        ),
    ],
)
def test_the_first_call_that_does_not_pair_is_named(
    of_last: dict[str, Any], theirs: str, usual: str
) -> None:
    same: dict[str, Any] = {"dtype": "Float", "size_in_bytes": 8, "size_out_bytes": 8}
    calls = [(talk(rank, at, at + 5), same) for rank in range(3) for at in (10, 20, 30)]
    calls[7] = (calls[7][0], same | of_last)
    found = match_collectives(told(*calls))
    assert found.stops.rows() == [
        ("pg", 1, f"rank 2 issued {theirs} where others issued {usual}, call 1 of pg")
    ]
    assert found.calls["call"].unique().to_list() == [0]


def test_uneven_all_to_alls_pair_whatever_their_sizes() -> None:
    sizes = [
        {"name": "all_to_allv", "size_in_bytes": 8 * n, "size_out_bytes": 16 - 8 * n}
        for n in (0, 2)
    ]
    found = tl.analyses.collectives_across(
        told(*((talk(n, 0, 10), about) for n, about in enumerate(sizes)))
    )
    assert found.select(
        "n_calls", "size_in_bytes", "size_out_bytes", "algbw_bytes_per_s"
    ).rows() == [(1, 16, 16, 1.6e9)]
    assert found["busbw_bytes_per_s"].to_list() == [0.8e9]


def test_sends_pair_with_the_peer_s_receives() -> None:
    """Rank 1 receives from 0, then sends to 2: each pair counts for itself."""
    hops = [(0, 0, "send", 1), (1, 5, "recv", 0), (1, 20, "send", 2), (2, 12, "recv", 1)]
    trace = told(
        *((talk(rank, at, 30), {"name": name, "peer": peer}) for rank, at, name, peer in hops)
    )
    assert tl.analyses.waiting_for(trace).rows() == [(2, 1, 1, 8, 8), (0, 1, 1, 5, 5)]
    # The least durations: of the receive from 12 to 30, begun at 20 by its sender, and of 5 to 30.
    columns = ("name", "ranks", "n_calls", "transfer_total_ns")
    assert tl.analyses.collectives_across(trace).select(columns).rows() == [
        ("send/recv", "ranks 0 to 1", 1, 25),
        ("send/recv", "ranks 1 to 2", 1, 10),
    ]


def test_kernels_are_matched_by_order_and_sends_not_at_all() -> None:
    send = {"name": "ncclDevKernel_SendRecv(x)", "is_communication": True}
    trace = make_trace(kernels=[talk(0, 0, 10), talk(1, 4, 10), work(1, 20, 30) | send])
    assert match_collectives(trace).remarks == [
        "2 communication kernels have no recorded collective: matched by order.",
        "1 kernels that send and receive have no recorded peer, and are left out.",
    ]
    assert tl.analyses.waiting_for(trace).rows() == [(0, 1, 1, 4, 4)]


def test_the_link_s_share_is_of_the_peak_that_was_given() -> None:
    about = {"name": "allreduce", "size_in_bytes": 1000, "kernel_id": 0}
    trace = make_trace(
        kernels=[talk(0, 0, 100, kernel_id=0), talk(1, 0, 100, kernel_id=0)],
        collectives=[{"rank": rank} | about for rank in (0, 1)],
        devices=[{"rank": 0, "name": "H"}],
    )
    given = Peaks("H", {}, 1e12, "measured", link_bytes_per_s=40e9)
    assert tl.analyses.collectives_across(trace, peaks=given)["link_frac"].to_list() == [0.25]
    assert tl.analyses.collectives_across(trace)["link_frac"].to_list() == [None]


@pytest.mark.parametrize("name", ["job", "waiting", "waiting_for", "collectives_across"])
def test_one_rank_has_no_others(name: str) -> None:
    with pytest.raises(
        MissingTableError, match=f"^{name} needs several ranks, and this trace is of one"
    ):
        getattr(tl.analyses, name)(make_trace(kernels=[talk(0, 0, 10)]))


def test_ranks_without_collectives_have_a_verdict_and_no_waiting() -> None:
    trace = make_trace(
        kernels=[work(rank, n * 10, n * 10 + 9) for rank in (0, 1) for n in range(9)]
    )
    assert tl.analyses.job(trace).select("bound", "rank", "exposed_ns").rows() == [
        ("compute", None, 0)
    ]
    with pytest.raises(
        MissingTableError, match="none match here: no rank has communication kernels"
    ):
        tl.analyses.waiting(trace)


def test_one_slow_rank_of_64_is_named() -> None:
    calls = [Call("allreduce", 4096 * n, MS, MS // 10) for n in range(1, 21)]
    trace = Schedule(64, calls, {(41, at): MS // 2 for at in range(20)}).trace()
    row = tl.analyses.job(trace).row(0, named=True)
    assert (row["bound"], row["rank"], row["cause"]) == ("straggler", 41, "compute")
    assert row["exposed_ns"] == 63 * 20 * MS // 2


def marked(lengths: list[int], *idle: tuple[int, int]) -> Trace:
    """Ranks that compute for so many µs in a step of 1,000.

    They idle as given, then all reduce to the end.
    """
    steps = [
        {"rank": rank, "step": 0, "start_ns": 0, "duration_ns": MS} for rank in range(len(lengths))
    ]
    kernels = [
        kernel
        for rank, length in enumerate(lengths)
        for kernel in (
            work(rank, 0, length * 1000, step=0),
            talk(rank, idle[rank][1] * 1000, MS, step=0),
        )
    ]
    busy = [
        {
            "rank": rank,
            "start_ns": begin * 1000,
            "duration_ns": (end - begin) * 1000,
            "cause": "input",
        }
        for rank, (begin, end) in enumerate(idle)
        if end > begin
    ]
    return make_trace(kernels=kernels, steps=steps, activities=busy)


def test_a_late_rank_is_named_with_what_makes_it_late() -> None:
    """Rank 1 loads data from 300 to 900 us, for which the others wait from 300 on."""
    trace = marked([300, 300, 300], (300, 300), (300, 900), (300, 300))
    row = tl.analyses.job(trace).row(0, named=True)
    assert (row["bound"], row["rank"], round(row["value"], 3)) == ("straggler", 1, 0.6)
    assert row["evidence"].startswith(
        "2 ranks wait for rank 1, at a cost of 60 % of the 1.00 ms that were recorded; rank 1 "
    )


@pytest.mark.parametrize("cause", ["launch", "input", "copy", "allocation"])
def test_a_late_rank_is_late_for_what_it_has_more_of(cause: str) -> None:
    """From 300 to 900 µs rank 1 copies, or its host does what the cause says.

    Then it launches the all-reduce.
    The others launch theirs at 300 µs.
    """
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("kernels", "api_calls", "steps", "memcpys")
    }
    about = {"process_id": 1, "thread_id": 1}
    busy = [work(1, 300_000, 900_000, cause=cause, **about)] if cause != "copy" else []
    for rank, launched in enumerate((300_000, 900_000, 300_000)):
        first = work(rank, 0, 300_000, step=0, kernel_id=0, api_call_id=0)
        tables["kernels"] += [first, talk(rank, launched, MS, step=0, kernel_id=1, api_call_id=1)]
        call = {"api": "cudaLaunchKernel", "kind": "kernel_launch"} | about
        tables["api_calls"] += [
            work(rank, at, at, api_call_id=n, **call) for n, at in enumerate((0, launched))
        ]
        tables["steps"].append({"rank": rank, "step": 0, "start_ns": 0, "duration_ns": MS})
    if cause == "copy":
        tables["memcpys"] = [work(1, 300_000, 900_000, memcpy_id=0, direction="h2d")]
    row = tl.analyses.job(make_trace(**tables, activities=busy)).row(0, named=True)
    assert (row["bound"], row["rank"], row["cause"], round(row["value"], 3)) == (
        "straggler",
        1,
        cause,
        0.6,
    )
    assert "600 µs" in row["evidence"]


def test_what_every_rank_loses_more_by_comes_first() -> None:
    """All are idle from 300 to 700 µs, rank 1 until 850: 15 % of waiting and 40 % of idle time."""
    row = tl.analyses.job(marked([300] * 2, (300, 700), (300, 850))).row(0, named=True)
    assert (row["bound"], row["rank"], row["value"]) == ("unknown", 1, 0.4)
    assert (row["second"], round(row["second_frac"], 3)) == ("straggler", 0.15)
    assert row["evidence"].startswith(
        "unknown idle time 40 to 55 % of the ranks' time; rank 0 waits for rank 1, at a cost of 15 % of the"
    )


@given(schedules(), st.data())
@settings(deadline=None, max_examples=examples(30))
def test_a_dropped_or_swapped_call_is_found_at_its_index(
    job: Schedule, data: st.DataObject
) -> None:
    """By order, a missing call shows at the next call that differs.

    Here that is the following one.
    """
    place = (
        data.draw(st.integers(0, job.n_ranks - 1)),
        data.draw(st.integers(1, len(job.calls) - 2)),
    )
    if data.draw(st.booleans()):
        job.dropped = place
    else:
        job.swapped = place
    found = match_collectives(job.trace())
    assert found.stops["call"].to_list() == [place[1]]
    assert f"rank {place[0]} " in found.stops["text"][0] or job.n_ranks == 2
    assert found.calls["call"].max() == place[1] - 1


@given(schedules(), st.data())
@settings(deadline=None, max_examples=examples(30))
def test_planted_waits_are_found_and_the_straggler_named(
    job: Schedule, data: st.DataObject
) -> None:
    slow = data.draw(st.integers(0, job.n_ranks - 1))
    job.late = {
        key: ns + job.calls[key[1]].compute_ns // 2 * (key[0] == slow)
        for key, ns in job.late.items()
    }
    trace = job.trace()
    found = {
        (rank, awaited): ns
        for rank, awaited, _, _, ns in tl.analyses.waiting_for(trace).iter_rows()
    }
    for rank in range(job.n_ranks):
        assert found.get((rank, slow), 0) == (job.exposed(rank, slow) if rank != slow else 0)
    row = tl.analyses.job(trace).row(0, named=True)
    assert (row["bound"], row["rank"], row["cause"]) == ("straggler", slow, "compute")


@given(schedules(most_calls=10), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(10))
def test_the_order_of_rows_does_not_matter(job: Schedule, random: Any) -> None:
    trace = job.trace()
    tables = {name: trace.frame(name) for name in ("kernels", "collectives")}
    mixed = {
        name: frame.sample(fraction=1.0, shuffle=True, seed=random.randrange(99))
        for name, frame in tables.items()
    }
    other = Trace(
        trace.manifest, dict(trace._tables) | {name: frame.lazy() for name, frame in mixed.items()}
    )
    assert_frame_equal(tl.analyses.waiting(other), tl.analyses.waiting(trace))
    assert_frame_equal(tl.analyses.collectives_across(other), tl.analyses.collectives_across(trace))


def test_in_a_group_of_two_the_peer_is_the_other_rank() -> None:
    """The profiler may record the group of a send, and not its peer. Rank 2 waits for rank 5."""
    calls = [
        (talk(2, 0, 10), {"name": "recv", "group_ranks": "[2, 5]"}),
        (talk(5, 7, 10), {"name": "send", "group_ranks": "[2, 5]"}),
    ]
    assert tl.analyses.waiting_for(told(*calls)).rows() == [(2, 5, 1, 7, 7)]
