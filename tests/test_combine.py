"""Captures of one run into one trace: ranks, one profiler per rank, all stacks, one manifest."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tracelens.cli.app import main
from tracelens.errors import SourceError, UsageError
from tracelens.schemas import TABLES
from tracelens.storage.table import Stored
from tracelens.trace import Trace
from tracelens.trace.capture import Capture, SourceFile
from tracelens.trace.checking import problems
from tracelens.trace.combine import combine


def capture(
    kind: str, name: str, rank: int | None = None, **tables: list[dict[str, Any]]
) -> Capture:
    """A capture of one file; tables' rows leave out what does not matter."""
    made = make_trace(**tables)
    frames = {table: made.frame(table).drop("rank") for table in tables}
    return Capture(
        kind,
        SourceFile(name, kind, 10, "0" * 64),
        frames,
        producer=kind,
        rank=rank,
        rank_origin="said",
    )


def named(trace: Any, table: str = "spans") -> list[tuple[int, str]]:
    """(rank, name) of each row."""
    rows: list[tuple[int, str]] = trace.frame(table).select("rank", "name").rows()
    return rows


def stacks(name: str, *ids: int) -> Capture:
    """A gdb capture of stacks of two frames each, whose function is the file's name."""
    return capture(
        "gdb",
        name,
        stacks=[{"stack_id": i} for i in ids],
        frames=[
            {"stack_id": i, "level": level, "function": f"{name} {i}"}
            for i in ids
            for level in (0, 1)
        ],
    )


def test_ranks_as_said_and_the_free_ones_in_input_order() -> None:
    given = [
        capture("torch", name, rank, spans=[{"name": name}])
        for name, rank in (("a", None), ("b", 0), ("c", None), ("d", 2))
    ]
    trace = combine(given)
    assert named(trace) == [(1, "a"), (0, "b"), (3, "c"), (2, "d")]
    assert trace.manifest.ranks == [0, 1, 2, 3]
    assert [source["rank"] for source in trace.manifest.sources] == [1, 0, 3, 2]
    assert trace.diagnostics.select("rank", "code").rows() == [
        (1, "rank_assumed"),
        (3, "rank_assumed"),
    ]
    assert combine([capture("torch", "alone", spans=[{}])]).diagnostics.height == 0


def test_asked_ranks_overrule_what_the_files_say() -> None:
    pair = [
        capture("torch", "a", 0, spans=[{"name": "a"}]),
        capture("torch", "b", 0, spans=[{"name": "b"}]),
    ]
    trace = combine(pair, ranks=[4, 2])
    assert named(trace) == [(4, "a"), (2, "b")]
    assert [source["rank_origin"] for source in trace.manifest.sources] == [
        "asked for",
        "asked for",
    ]
    for ranks in ([1], [1, 2, 3], [-1, 0], [2**31, 0]):
        with pytest.raises(UsageError, match="--rank"):
            combine(pair, ranks=ranks)
    with pytest.raises(SourceError, match=r"b and a both claim rank 3 .*--rank once for each"):
        combine(pair, ranks=[3, 3])


@pytest.mark.parametrize(
    ("events", "kept"), [("torch", "torch"), ("nsys", "nsys"), (None, "torch")]
)
@pytest.mark.parametrize("order", [1, -1])
def test_torch_and_nsys_of_one_run(events: str | None, kept: str, order: int) -> None:
    both = [
        capture(
            kind,
            f"{kind}.file",
            spans=[{"name": kind}],
            kernels=[{"name": kind}],
            layers=[{}],
            devices=[{"name": kind}],
            counters=[{"name": kind}],
        )
        for kind in ("torch", "nsys")
    ][::order]
    trace = combine(both, events=events)
    for table in ("spans", "kernels", "devices"):
        assert named(trace, table) == [(0, kept)]
    assert trace.layers.height == 1
    assert sorted(named(trace, "counters")) == [(0, "nsys"), (0, "torch")]
    other = ({"torch", "nsys"} - {kept}).pop()
    assert trace.diagnostics.select("code", "text").rows() == [
        ("events_of_other_profiler", f"{other}'s events were left out: {kept}'s are kept")
    ]
    assert [source["producer"] for source in trace.manifest.sources] == [c.kind for c in both]


def test_one_profiler_fills_the_rank_that_the_other_lacks() -> None:
    trace = combine(
        [
            capture("torch", "t", 0, spans=[{"name": "torch"}]),
            capture("nsys", "n", 1, spans=[{"name": "nsys"}]),
        ]
    )
    assert named(trace) == [(0, "torch"), (1, "nsys")]


@pytest.mark.parametrize("kind", ["torch", "nsys"])
def test_a_second_file_of_one_profiler_and_rank_is_refused(kind: str) -> None:
    with pytest.raises(SourceError, match=r"b and a both claim rank 1 \(said\)"):
        combine([capture(kind, "a", 1, spans=[{}]), capture(kind, "b", 1, spans=[{}])])


@pytest.mark.parametrize("kind", ["torch", "nsys", "provenance", "trace_log", "gdb"])
@pytest.mark.parametrize("rank", [-5, 2**31, 5_000_000_000, True])
def test_a_rank_that_no_trace_can_have_is_refused(kind: str, rank: int) -> None:
    with pytest.raises(
        SourceError, match=rf"a: claims rank {rank}; ranks are whole numbers from 0 on, below 2\^31"
    ):
        combine([capture(kind, "a", rank, counters=[{}])])


@pytest.mark.parametrize("rank", [10**9, 2**31 - 1])
def test_the_largest_ranks_are_read_back(tmp_path: Path, rank: int) -> None:
    combine([capture("torch", "a", rank, spans=[{}])]).write(tmp_path / "t.tracelens")
    assert Trace.open(tmp_path / "t.tracelens").spans["rank"].to_list() == [rank]


def test_stacks_of_several_files_keep_their_frames() -> None:
    trace = combine([stacks("x", 0, 5), capture("torch", "t", spans=[{}]), stacks("y", 0, 1)])
    assert trace.stacks.select("rank", "stack_id").rows() == [(0, 0), (0, 5), (0, 6), (0, 7)]
    assert trace.frames.group_by("stack_id").agg(pl.col("function").unique()).sort(
        "stack_id"
    ).rows() == [
        (0, ["x 0"]),
        (5, ["x 5"]),
        (6, ["y 0"]),
        (7, ["y 1"]),
    ]
    assert combine([stacks("x", 3)]).stacks["stack_id"].to_list() == [3]


def test_two_sources_of_spans_in_one_rank_keep_their_rows_apart() -> None:
    """A source that is no profiler adds spans, calls and kernels to the profiler's.

    What points at them follows.
    """
    rows: dict[str, Any] = {
        "spans": [{"name": "outer"}, {"name": "inner", "parent_id": 0}],
        "sites": [{"op": "s"}],
        "api_calls": [{"span_id": 1, "op_span_id": 0, "site_id": 0}],
        "kernels": [{"api_call_id": 0, "span_id": 1, "node_span_id": 0, "site_id": 0}],
        "collectives": [{"kernel_id": 0}],
        "memcpys": [{"api_call_id": 0, "span_id": 1}],
    }
    trace = combine([capture("torch", "t", **rows), capture("plugin", "p", **rows)])
    assert trace.spans.select("span_id", "parent_id").rows() == [
        (0, None),
        (1, 0),
        (2, None),
        (3, 2),
    ]
    calls = trace.api_calls.select("api_call_id", "span_id", "op_span_id", "site_id")
    assert calls.rows() == [(0, 1, 0, 0), (1, 3, 2, 1)]
    kernels = trace.kernels.select("kernel_id", "api_call_id", "span_id", "node_span_id", "site_id")
    assert kernels.rows() == [(0, 0, 1, 0, 0), (1, 1, 3, 2, 1)]
    assert trace.collectives["kernel_id"].to_list() == [0, 1]
    assert trace.memcpys.select("memcpy_id", "api_call_id", "span_id").rows() == [
        (0, 0, 1),
        (1, 1, 3),
    ]
    assert trace.sites["site_id"].to_list() == [0, 1]
    assert list(problems(trace)) == []


def test_ids_of_a_table_on_disk_are_raised_too(tmp_path: Path) -> None:
    plugin = capture("plugin", "p", spans=[{}, {"parent_id": 0}])
    frame = plugin.tables.pop("spans")
    TABLES["spans"].write(frame, tmp_path / "spans.parquet")
    plugin.stored["spans"] = Stored(tmp_path / "spans.parquet", frame.height)
    trace = combine([capture("torch", "t", spans=[{}]), plugin])
    assert trace.spans.select("span_id", "parent_id").rows() == [(0, None), (1, None), (2, 1)]


def test_a_pointer_at_a_table_that_another_source_has_stays() -> None:
    """Only ids of rows that the capture itself brings are raised."""
    trace = combine(
        [capture("torch", "t", spans=[{}, {}]), capture("plugin", "p", kernels=[{"span_id": 1}])]
    )
    assert trace.kernels["span_id"].to_list() == [1]


def test_check_says_that_ids_are_not_unique(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = [{"span_id": 4}, {"span_id": 4}, {"span_id": 5}, {"span_id": 4, "rank": 1}]
    make_trace(spans=twice).write(tmp_path / "t.tracelens")
    with pytest.raises(SystemExit) as ended:
        main(["check", str(tmp_path / "t.tracelens")])
    assert ended.value.code == 1
    shown = capsys.readouterr().out
    assert "2 rows of spans share their span_id with another row of their rank" in shown
    assert "Not clean: 1 kinds" in shown


def test_stacks_follow_the_one_rank_asked_for() -> None:
    trace = combine([capture("torch", "t", spans=[{}]), stacks("x", 0)], ranks=[7])
    assert (trace.spans["rank"].to_list(), trace.stacks["rank"].to_list()) == ([7], [7])


def test_ids_are_those_of_each_rank() -> None:
    trace = combine(
        [capture("torch", name, kernels=[{"name": name}, {"name": name}]) for name in "ab"]
    )
    assert trace.kernels.select("rank", "kernel_id", "name").rows() == [
        (0, 0, "a"),
        (0, 1, "a"),
        (1, 0, "b"),
        (1, 1, "b"),
    ]


def test_the_manifest_tells_the_worst_and_why_tables_are_empty() -> None:
    whole, cut = capture("torch", "whole", spans=[{}]), capture("torch", "cut", spans=[{}])
    whole.time_base, whole.reasons = "unix_epoch", {"kernels": "no GPU"}
    cut.complete, cut.time_precision_ns, cut.reasons = False, 1000, {"kernels": "not profiled"}
    cut.diagnostics.add("loss", "event_cut", "the file ends inside an event", 2)
    cut.diagnostics.add("info", "harmless", "nothing lost")
    manifest = combine([whole, cut]).manifest
    assert (manifest.complete, manifest.time_base, manifest.time_precision_ns) == (
        False,
        "trace_start",
        1000,
    )
    assert manifest.dropped == [
        {"rank": 1, "code": "event_cut", "count": 2, "text": "the file ends inside an event"}
    ]
    assert manifest.empty_tables["kernels"] == "no GPU; not profiled"
    assert manifest.empty_tables["stacks"] == "a torch source does not hold it"
    assert set(manifest.empty_tables) == set(TABLES) - {"spans", "diagnostics", "ranks"}
    assert [source["complete"] for source in manifest.sources] == [True, False]


def test_stacks_alone_have_no_clock_to_disagree() -> None:
    epoch = capture("torch", "t", spans=[{}])
    epoch.time_base = "unix_epoch"
    assert combine([epoch, stacks("x", 0)]).manifest.time_base == "unix_epoch"
