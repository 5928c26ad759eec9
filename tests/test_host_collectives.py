"""Ranks without a device that communicate: who waits for whom in gloo, on pairs made by hand."""

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

import tracelens as tl
from tests.cases import WHOLE, make_trace
from tests.test_cpu_work import FLOATS, LARGE
from tracelens.answers import make_answer
from tracelens.derive.ranks.collectives import match_collectives
from tracelens.derive.ranks.host_collectives import communicating_spans
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

MS = 10**6
MAIN, GLOO = 1, 2


def span(
    rank: int, start: float, end: float, name: str, thread: int = MAIN, **more: Any
) -> dict[str, Any]:
    """A span from one ms to another. An annotation, unless its kind is given."""
    times = {"start_ns": round(start * MS), "duration_ns": round((end - start) * MS)}
    return {"rank": rank, "name": name, "thread_id": thread, "kind": "annotation", **times, **more}


def adding(rank: int, start: float, end: float) -> dict[str, Any]:
    return span(rank, start, end, "aten::add", kind="op", input_shapes=LARGE, input_dtypes=FLOATS)


def reducing(rank: int, start: float, end: float, n: int = 256, **more: Any) -> dict[str, Any]:
    shapes = {"input_shapes": f"[[{n}]]", "input_dtypes": '["float"]'}
    return span(rank, start, end, "gloo:all_reduce", GLOO, **shapes, **more)


def step(rank: int, number: int, start: float, end: float) -> list[dict[str, Any]]:
    marks = {"step": number}
    return [span(rank, start, end, f"ProfilerStep#{number}", **marks)]


def traced(*spans: dict[str, Any], **tables: list[dict[str, Any]]) -> Trace:
    """The trace of spans; each rank's ids count from 0, by start."""
    rows = sorted(spans, key=lambda row: (row["rank"], row["start_ns"], -row["duration_ns"]))
    ids: dict[int, int] = {}
    for row in rows:
        row["span_id"] = ids[row["rank"]] = ids.get(row["rank"], -1) + 1
    return make_trace(spans=rows, **tables)


def pair(meanwhile: bool = False) -> Trace:
    # ms      0   4                     30  34  36  40
    # rank 0  |add|                      (|add|)     |      step: 0 to 40
    #             |------ all_reduce --------- 36|
    # rank 1  |      sleep                    |34  40|
    #                                         |36|          all_reduce 34 to 36
    spans = []
    for number, at in enumerate((0, 40, 80)):
        spans += step(0, number, at, at + 40) + step(1, number, at, at + 40)
        spans += [
            adding(0, at, at + 4),
            reducing(0, at + 4, at + 36, step=number),
            *([adding(0, at + 30, at + 34)] if meanwhile else []),
            adding(0, at + 36, at + 40),
            span(1, at, at + 30, "train.py(7): <module> > sleep", kind="python"),
            adding(1, at + 30, at + 34),
            reducing(1, at + 34, at + 36, step=number),
            adding(1, at + 36, at + 40),
        ]
    return traced(*spans)


def test_time_in_gloo_is_waiting_until_the_last_rank_begins() -> None:
    """Rank 0 is in gloo for 32 ms: until 34 it waits for rank 1, and 4 of these it computes."""
    trace = pair(meanwhile=True)
    rows = tl.analyses.waiting(trace).select("rank", "exposed_ns", "hidden_ns", "awaited_rank")
    assert rows.rows() == [(0, 3 * 26 * MS, 3 * 4 * MS, 1), (1, 0, 0, None)]
    parts = tl.analyses.time_breakdown(trace).filter(WHOLE).sort("rank")
    assert parts["collective_wait_ns"].to_list() == [3 * 26 * MS, 0]
    assert parts["exposed_communication_ns"].to_list() == [3 * 28 * MS, 3 * 2 * MS]


def test_the_late_rank_and_its_line_are_the_answer() -> None:
    answer = make_answer(pair())
    assert answer.sentence == "Rank 0 waits for rank 1, at a cost of 75 % of a step of 40.0 ms"
    assert answer.place == "at train.py:7 <module> > sleep"
    assert answer.details == (
        "rank 1 does 30.0 ms a step of other work where the other rank does 0.00 µs",
    )
    assert answer.changes[0].text.startswith("on rank 1: ")
    # Without the sleep a step has the two adds of 4 ms and the transfer of 2.
    assert answer.changes[0].after_ns == 10 * MS


def test_communication_that_waits_for_nobody_is_its_own_cost() -> None:
    both = [
        row
        for rank in (0, 1)
        for number in range(3)
        for row in (
            *step(rank, number, 40 * number, 40 * number + 40),
            adding(rank, 40 * number, 40 * number + 10),
            reducing(rank, 40 * number + 10, 40 * number + 40, step=number),
        )
    ]
    assert tl.analyses.verdict(traced(*both))["bound"].to_list() == ["communication"] * 2
    # The 10 ms of the add can hide so much of the 30 of the transfer; the other 20 remain.
    after = {
        change.text.split()[0]: change.after_ns for change in make_answer(traced(*both)).changes
    }
    assert after == {"communicate": 20 * MS, "overlap": 30 * MS}


def test_calls_of_one_step_pair_by_what_they_carry() -> None:
    """Two threads of gloo may begin two calls in either order; the first step of rank 1 is cut."""
    spans = [
        *step(0, 0, 0, 10),
        *step(0, 1, 10, 20),
        *step(1, 1, 10, 20),
        reducing(0, 2, 4, step=0),
        reducing(0, 12, 18, 512, step=1),
        reducing(0, 13, 19, 256, step=1),
        reducing(1, 14, 19, 256, step=1),
        reducing(1, 15, 18, 512, step=1),
    ]
    calls = match_collectives(traced(*spans)).calls
    starts = calls.select("rank", "size_in_bytes", "own_start_ns").sort("rank", "size_in_bytes")
    assert [(rank, n, ns // MS) for rank, n, ns in starts.iter_rows()] == [
        (0, 1024, 13),
        (0, 2048, 12),
        (1, 1024, 14),
        (1, 2048, 15),
    ]


def test_calls_of_several_groups_are_not_taken_for_one() -> None:
    """Ranks 0 and 1 reduce among themselves before 2 and 3 do."""
    spans = [reducing(rank, 0, 5) for rank in (0, 1)] + [reducing(rank, 6, 9) for rank in (2, 3)]
    trace = traced(*spans, ranks=[{"rank": rank, "node": 0} for rank in range(4)])
    trace.amend(replace(trace.manifest, time_base="unix_epoch"))
    matched = match_collectives(trace)
    assert matched.calls.is_empty()
    assert "one rank ended a call before another began it" in " ".join(matched.remarks)
    with pytest.raises(MissingTableError, match="calls of several groups"):
        tl.analyses.waiting(trace)


@pytest.mark.parametrize("name", ["mpi:all_reduce", "ucc:all_reduce", "c10d::allreduce_"])
def test_other_backends_and_more_ranks(name: str) -> None:
    """Three ranks begin at 0, 3 and 8 ms; a backend without spans of its own has torch's op."""
    kind = "op" if name.startswith("c10d") else "annotation"
    starts = (0, 3, 8)
    spans = [span(rank, at, 10, name, kind=kind) for rank, at in enumerate(starts)]
    spans += [adding(rank, 10, 12) for rank in range(3)]
    waits = tl.analyses.waiting(traced(*spans)).sort("rank")
    assert waits["exposed_ns"].to_list() == [8 * MS, 5 * MS, 0]
    assert waits["awaited_rank"].to_list() == [2, 2, None]


def test_small_ranks_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend's spans count for its rank only; a read for each rank took quadratic time."""
    trace = traced(
        span(0, 0, 1, "c10d::allreduce_"),
        reducing(0, 1, 2),
        span(1, 0, 1, "c10d::allreduce_"),
        adding(2, 0, 1),
    )
    select, ranks_read = Trace.select, []

    def counted(trace: Trace, *names: str, **more: Any) -> pl.DataFrame:
        ranks_read.append(more.get("rank"))
        return select(trace, *names, **more)

    monkeypatch.setattr(Trace, "select", counted)
    by_rank = communicating_spans(trace)
    names = {rank: spans["name"].to_list() for rank, spans in by_rank.items()}
    assert names == {0: ["gloo:all_reduce"], 1: ["c10d::allreduce_"]}
    assert [ranks for ranks in ranks_read if ranks is not None] == [[0, 1, 2]] * 2


def test_sends_and_receives_of_hosts_are_left_out_and_said() -> None:
    spans = [span(0, 0, 5, "gloo:send"), span(1, 2, 5, "gloo:recv")]
    matched = match_collectives(traced(*spans))
    assert matched.calls.is_empty()
    assert matched.remarks[0].startswith("2 sends and receives of processes")


def test_in_a_job_of_two_a_receive_waits_for_the_other_rank() -> None:
    """Rank 0 adds until 20 ms, then sends; rank 1 receives from 0 to 21 ms, then adds for 10."""
    spans = []
    for number, at in enumerate((0, 40)):
        spans += step(0, number, at, at + 40) + step(1, number, at, at + 40)
        spans += [adding(0, at, at + 20), span(0, at + 20, at + 21, "gloo:send", GLOO)]
        spans += [span(1, at, at + 21, "gloo:recv", GLOO), adding(1, at + 21, at + 31)]
    trace = traced(*spans, ranks=[{"rank": rank, "world_size": 2} for rank in (0, 1)])
    waits = tl.analyses.waiting(trace).sort("rank")
    assert waits["exposed_ns"].to_list() == [0, 40 * MS]
    assert waits["awaited_rank"].to_list() == [None, 0]


def test_who_receives_from_an_unknown_rank_is_told_no_overlap() -> None:
    adds = [adding(0, at, at + 1) for at in range(30, 40)]
    spans = [*step(0, 0, 0, 40), span(0, 0, 30, "gloo:recv", GLOO, step=0), *adds]
    answer = make_answer(traced(*spans))
    assert answer.sentence.startswith("The process waits for another rank's data, or receives it")
    (change,) = answer.changes
    assert change.text.startswith("a receive waits until the other rank sends")
