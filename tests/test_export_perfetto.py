"""Exports to Perfetto: it reads what our tables hold, and protobuf's library what was written."""

import io
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tests.sample_reports import ESCAPES, SCRIPT
from tests.selection import only
from tests.sources import torch_events, torch_trace
from tests.trace_processor import ask
from tracelens.analyses import layer_attribution, time_breakdown
from tracelens.errors import SourceError
from tracelens.exports.export import Selection
from tracelens.exports.perfetto import write
from tracelens.trace import Trace

pb2 = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="needs the package perfetto"
)
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CATEGORIES = {
    "kernels": "kernel",
    "memcpys": "memcpy",
    "memsets": "memset",
    "api_calls": "api call",
    "steps": "step",
}


def written(trace: Trace, **chosen: Any) -> bytes:
    stream = io.BytesIO()
    write(Selection.of(trace, **chosen), stream)
    return stream.getvalue()


def slices_of(data: bytes) -> list[tuple[str, str, int, int]]:
    """Track, name, start and end of each slice, by protobuf's library.

    Begins and ends match like brackets.
    """
    tracks: dict[int, str] = {}
    names: dict[int, str] = {}
    opened: dict[int, list[tuple[str, int]]] = {}
    found = []
    for packet in pb2.Trace.FromString(data).packet:
        names |= {one.iid: one.name for one in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            about = packet.track_descriptor
            tracks[about.uuid] = about.name or about.thread.thread_name
        event, own = packet.track_event, opened.setdefault(packet.track_event.track_uuid, [])
        if event.type == BEGIN:
            own.append((names[event.name_iid], packet.timestamp))
        elif event.type == END:
            name, start = own.pop()
            found.append((tracks[event.track_uuid], name, start, packet.timestamp))
    assert not any(opened.values())
    return found


@pytest.mark.parametrize(
    "name",
    only(
        ["resnet50_eager"], ["resnet50_eager", "resnet50_train_f64_pageable", "resnet50_inductor"]
    ),
)
def test_perfetto_has_every_row_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("needs node on PATH")
    trace = torch_trace(name)
    file = tmp_path / "x.pftrace"
    file.write_bytes(written(trace))
    sums, lost, flows, layers, dropped, threads, arrows = ask(
        file,
        "SELECT category, COUNT(*), SUM(dur), SUM(ts % 1000000007), MIN(dur) FROM slice "
        "WHERE category IS NOT NULL GROUP BY category",
        "SELECT name, value FROM stats WHERE value > 0 AND severity IN ('error', 'data_loss')",
        "SELECT k.ts, k.dur FROM flow JOIN slice c ON c.id = slice_out JOIN slice k ON k.id ="
        " slice_in WHERE c.category = 'api call' AND k.category IN ('kernel', 'memcpy', 'memset')",
        "SELECT EXTRACT_ARG(arg_set_id, 'debug.layer'), EXTRACT_ARG(arg_set_id, 'debug.library'),"
        " EXTRACT_ARG(arg_set_id, 'debug.primitive'), EXTRACT_ARG(arg_set_id, 'debug.step'),"
        " SUM(dur) FROM slice WHERE category = 'kernel' GROUP BY 1, 2, 3, 4",
        "SELECT s.name FROM slice s JOIN track t ON s.track_id = t.id WHERE t.name = 'losses'",
        "INCLUDE PERFETTO MODULE slices.with_context; SELECT tid, COUNT(*), SUM(dur) FROM"
        " thread_slice GROUP BY tid",
        "SELECT f.ts, b.ts FROM flow JOIN slice f ON f.id = slice_out JOIN slice b ON b.id ="
        " slice_in WHERE f.category = 'op'",
    )
    start, ns = pl.col("start_ns") % 1_000_000_007, pl.col("duration_ns")
    measures = (pl.len(), ns.sum(), start.sum().alias("start"), ns.min().alias("least"))
    expected = {
        word: trace.frame(table).select(measures).row(0) for table, word in CATEGORIES.items()
    }
    expected |= {
        kind: tuple(row) for kind, *row in trace.spans.group_by("kind").agg(measures).iter_rows()
    }
    rows = {category: tuple(row) for category, *row in sums}
    idle = rows.pop("idle")
    assert rows == {category: row for category, row in expected.items() if row[0]}
    breakdown = time_breakdown(trace)
    in_steps = breakdown.filter(pl.col("step").is_not_null())
    assert idle[1] == (in_steps if in_steps.height else breakdown)["idle_ns"].sum()
    assert lost == []
    work = pl.concat(
        [
            trace.frame(t).select("api_call_id", "start_ns", "duration_ns")
            for t in list(CATEGORIES)[:3]
        ]
    )
    assert Counter(flows) == Counter(
        work.drop_nulls("api_call_id").select("start_ns", "duration_ns").rows()
    )
    assert sum(total for *_, total in layers) == trace.kernels["duration_ns"].sum()
    by_layer: Counter[str] = Counter()
    by_kind: Counter[tuple[Any, ...]] = Counter()
    for layer, library, primitive, step, total in layers:
        by_layer[layer] += total
        by_kind[library, primitive, step] += total
    placed = (
        layer_attribution(trace)
        .filter(pl.col("n_kernels") > 0)
        .group_by("layer")
        .agg(pl.col("duration_total_ns").sum())
    )
    assert by_layer == Counter(dict(placed.iter_rows()))
    kinds = trace.kernels.group_by("library", "primitive", "step").agg(ns.sum())
    assert by_kind == Counter({tuple(row[:3]): row[3] for row in kinds.iter_rows()})
    bad = trace.diagnostics.filter(pl.col("severity").is_in(["loss", "error"]))
    assert sorted(row[0] for row in dropped) == sorted(bad["code"])
    host = pl.concat(
        trace.frame(t).select("thread_id", "duration_ns") for t in ("spans", "api_calls")
    )
    on_host = host.group_by("thread_id").agg(pl.len(), ns.sum()).filter(pl.col("thread_id") > 0)
    assert {tuple(row) for row in threads} >= set(on_host.iter_rows())
    assert Counter(tuple(row) for row in arrows) == Counter(kineto_arrows(name))


def kineto_arrows(name: str) -> list[tuple[int, int]]:
    """The starts of a forward and a backward op, as Kineto itself pairs them in the JSON."""
    ends: dict[str, dict[int, int]] = {"s": {}, "f": {}}
    for event in torch_events(name):
        if event.get("cat") == "fwdbwd":
            ends[event["ph"]][event["id"]] = event["start_ns"]
    return [(start, ends["f"][flow]) for flow, start in ends["s"].items()]


def test_overlapping_and_empty_events_keep_their_times() -> None:
    at = ("start_ns", "duration_ns")
    kernels = [(10, 10), (15, 20), (20, 0), (20, 0), (20, 5), (12, 4)]
    spans = [(0, 100), (0, 100), (0, 50), (40, 30), (50, 0), (50, 50), (100, 0)]
    trace = make_trace(
        kernels=[
            dict(zip(at, one, strict=True), stream_id=7, name=f"k{i}")
            for i, one in enumerate(kernels)
        ],
        spans=[
            dict(zip(at, one, strict=True), name=f"s{i}", parent_id=None)
            for i, one in enumerate(spans)
        ],
    )
    found = slices_of(written(trace))
    assert sorted(one[1:] for one in found if one[0].startswith(("stream", "thread"))) == sorted(
        (f"{word}{i}", start, start + length)
        for word, rows in (("k", kernels), ("s", spans))
        for i, (start, length) in enumerate(rows)
    )
    lanes = {name: track for track, name, *_ in found}
    assert [lanes[f"k{i}"].removeprefix("stream 7") for i in range(6)] == [
        "",
        ", lane 3",
        *[", lane 2"] * 2,
        "",
        ", lane 2",
    ]
    assert lanes["s3"] == "thread 0, lane 2"
    assert {lanes[f"s{i}"] for i in (0, 1, 2, 4, 5, 6)} == {"thread 0"}


def test_ranks_and_steps_are_chosen_and_flows_stay_in_their_rank() -> None:
    rows = [
        {"rank": rank, "start_ns": 100 * step + 10, "duration_ns": 5, "step": step}
        for rank in (0, 3)
        for step in (4, 5)
    ]
    trace = make_trace(
        steps=[
            {"rank": r, "step": s, "start_ns": 100 * s, "duration_ns": 100, "name": f"step {s}"}
            for r in (0, 3)
            for s in (4, 5)
        ],
        api_calls=[
            row | {"api_call_id": i % 2, "api": "cudaLaunchKernel"} for i, row in enumerate(rows)
        ],
        kernels=[
            row | {"kernel_id": i % 2, "api_call_id": i % 2, "stream_id": 7}
            for i, row in enumerate(rows)
        ],
    )
    found = slices_of(written(trace, ranks=[3], steps=[5]))
    assert {start // 100 for _, _, start, _ in found} == {5}
    assert [name for track, name, *_ in found if track == "stream 7"] == ["x"]
    flows: Counter[int] = Counter()
    for packet in pb2.Trace.FromString(written(trace)).packet:
        flows.update(packet.track_event.flow_ids)
        flows.update(packet.track_event.terminating_flow_ids)
    assert sorted(flows.values()) == [2, 2, 2, 2]


def test_hostile_names_are_escaped_and_written_once() -> None:
    long = "void f<" + "T," * 500_000 + ">"
    names = [SCRIPT, ESCAPES, long, long]
    kernels = [
        {"name": name, "start_ns": 10 * i, "duration_ns": 1, "stream_id": 7}
        for i, name in enumerate(names)
    ]
    data = written(make_trace(kernels=kernels))
    found = [name for track, name, *_ in slices_of(data) if track == "stream 7"]
    assert found == [SCRIPT, r"\x1b[31mred\x1b[0m\u202egnp.exe\r\n[bold]|pipe|", long, long]
    assert len(data) < 1_100_000


def test_losses_are_on_a_track_and_no_events_an_error() -> None:
    loss = {
        "severity": "loss",
        "code": "line_damaged",
        "count": 3,
        "text": "lines that are no kernel",
    }
    trace = make_trace(kernels=[{"start_ns": 5, "duration_ns": 1}], diagnostics=[loss])
    instants = [
        p for p in pb2.Trace.FromString(written(trace)).packet if p.track_event.type == INSTANT
    ]
    assert [
        (p.timestamp, [note.int_value for note in p.track_event.debug_annotations][1])
        for p in instants
    ] == [(5, 3)]
    with pytest.raises(SourceError, match="holds no events"):
        written(make_trace(diagnostics=[loss]))


def arguments_of(data: bytes) -> dict[str, dict[str, Any]]:
    """The arguments of each slice by its name, by protobuf's library."""
    texts: dict[int, str] = {}
    found = {}
    for packet in pb2.Trace.FromString(data).packet:
        interned, event = packet.interned_data, packet.track_event
        for entries in (interned.event_names, interned.debug_annotation_names):
            texts |= {one.iid: one.name for one in entries}
        texts |= {one.iid: one.str.decode() for one in interned.debug_annotation_string_values}
        if event.type == BEGIN:
            found[texts[event.name_iid]] = {
                texts[note.name_iid]: (
                    texts[note.string_value_iid]
                    if note.HasField("string_value_iid")
                    else note.double_value
                    if note.HasField("double_value")
                    else note.int_value
                )
                for note in event.debug_annotations
            }
    return found


def test_what_is_known_of_a_slice_are_its_arguments() -> None:
    grid = {"grid_x": 8, "grid_y": 4, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
    about = {"registers_per_thread": 90, "estimated_occupancy_frac": 0.5, "shared_bytes": 0}
    ids = {"step": 300, "correlation_id": 1 << 40}
    op = {"name": "mm", "kind": "op", "input_shapes": "[[8, 8]]", "input_dtypes": '["float"]'}
    trace = make_trace(
        spans=[op | {"module_path": "fc", "phase": "forward"}],
        kernels=[
            {"name": "gemm", "span_id": 0, "duration_ns": 1, **grid, **about, **ids},
            {"name": "add", "start_ns": 9, "duration_ns": 1},
        ],
        memcpys=[{"size_bytes": 4096, "direction": "h2d", "duration_ns": 2}],
    )
    found = arguments_of(written(trace))
    shared = {"library": "unknown", "primitive": "unknown"}
    assert found["mm"] == {
        "layer": "fc",
        "phase": "forward",
        "input_shapes": "[[8, 8]]",
        "input_dtypes": '["float"]',
    }
    assert found["gemm"] == shared | {
        "layer": "fc",
        "grid": "8 x 4 x 1",
        "block": "128 x 1 x 1",
        "registers": 90,
        "occupancy": 0.5,
        "shared_bytes": 0,
        "step": 300,
        "correlation": 1 << 40,
    }
    assert found["add"] == shared | {"layer": "(unattributed)"}
    assert found["h2d copy, unknown to unknown"] == {"size_bytes": 4096}


def counters_of(data: bytes) -> dict[str, list[tuple[int, float]]]:
    """The moments and values of each counter, by protobuf's library."""
    tracks: dict[int, str] = {}
    found: dict[str, list[tuple[int, float]]] = {}
    for packet in pb2.Trace.FromString(data).packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        event = packet.track_event
        if event.type == COUNTER:
            values = found.setdefault(tracks[event.track_uuid], [])
            values.append((packet.timestamp, event.double_counter_value))
    return found


def test_queues_and_copies_are_counters() -> None:
    """Two launches at 10 and 20 begin at 30 and 40; copies of 10 and of 3 bytes a ns overlap."""
    trace = make_trace(
        api_calls=[{"start_ns": 10}, {"start_ns": 20}],
        kernels=[
            {"api_call_id": call, "start_ns": start, "duration_ns": 5, "stream_id": 7}
            for call, start in ((0, 30), (1, 40))
        ],
        memcpys=[
            {"direction": "h2d", "start_ns": 50, "duration_ns": 10, "size_bytes": 100},
            {"direction": "h2d", "start_ns": 55, "duration_ns": 10, "size_bytes": 30},
        ],
    )
    assert counters_of(written(trace)) == {
        "queue length of stream 7": [(10, 1), (20, 2), (30, 1), (40, 0)],
        "h2d bandwidth": [(50, 10), (55, 13), (60, 3), (65, 0)],
    }


def test_windows_of_rows_are_written_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows at a time: slices stay open over windows, and arrows keep their ends."""
    spans = [(0, 100), (5, 90), (10, 5), (20, 60), (30, 10), (85, 40)]
    trace = make_trace(
        spans=[
            {"name": f"s{i}", "start_ns": start, "duration_ns": ns, "parent_id": None}
            for i, (start, ns) in enumerate(spans)
        ],
        api_calls=[{"start_ns": start, "duration_ns": 2} for start in (11, 31)],
        kernels=[
            {"name": f"k{i}", "api_call_id": call, "start_ns": 40 + 9 * i, "duration_ns": 20}
            for i, call in enumerate((0, 1, 1, 0))
        ],
    )
    at_once = written(trace)
    monkeypatch.setattr("tracelens.exports.export.ROWS_AT_ONCE", 2)
    by_two = written(trace)
    assert sorted(slices_of(by_two)) == sorted(slices_of(at_once))
    assert counters_of(by_two) == counters_of(at_once)
    queue = [(11, 2), (31, 4), (40, 3), (49, 2), (58, 1), (67, 0)]
    assert counters_of(by_two) == {"queue length of stream None": queue}
    flows: Counter[int] = Counter()
    for packet in pb2.Trace.FromString(by_two).packet:
        flows.update(packet.track_event.flow_ids)
        flows.update(packet.track_event.terminating_flow_ids)
    assert sorted(flows.values()) == [2, 2, 2, 2]


def test_processes_and_threads_have_their_own_numbers() -> None:
    """Two ranks on two machines have process 7; threads of more than 31 bits are made up."""
    spans = [{"rank": rank, "process_id": 7, "thread_id": 1 << 40} for rank in (0, 1)]
    ids = [
        (about.thread.pid, about.thread.tid, about.thread.thread_name)
        for packet in pb2.Trace.FromString(written(make_trace(spans=spans))).packet
        if (about := packet.track_descriptor).HasField("thread")
    ]
    name = f"thread {1 << 40}"
    assert [(pid == 7, tid < 1 << 31, what) for pid, tid, what in ids] == [
        (True, True, name),
        (False, True, name),
    ]
    assert len({pid for pid, *_ in ids}) == len({tid for _, tid, _ in ids}) == 2
