"""Memory over time: by hand, and on real captures beside torch's own numbers."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cases import make_trace
from tests.sources import SAMPLES, collected, torch_trace
from tests.torch_files import read, write
from tracelens.analyses import memory_timeline
from tracelens.analyses.memory_timeline import notes
from tracelens.errors import MissingTableError
from tracelens.report import build_report
from tracelens.trace import Trace
from tracelens.views.charts import draw

Row = dict[str, Any]
SPANS: list[Row] = [
    {"kind": "op", "name": "aten::batch_norm", "phase": "forward", "module_path": "net.bn"},
    {
        "kind": "op",
        "name": "aten::empty_like",
        "parent_id": 0,
        "phase": "forward",
        "module_path": "net.bn",
    },
    {
        "kind": "op",
        "name": "aten::empty",
        "parent_id": 1,
        "phase": "forward",
        "module_path": "net.bn",
    },
    {"kind": "op", "name": "MmBackward0", "phase": "backward"},
    {"kind": "annotation", "name": "Optimizer.step#SGD.step", "phase": "optimizer"},
    {"kind": "python", "name": "main.py(3): main"},
]


def trace(
    *events: tuple[int | None, int, int | None], steps: list[Row] | None = None, **more: Any
) -> Trace:
    """A trace of events (address, bytes, span), 10 ns apart.

    The device had 1,000 bytes allocated before.
    """
    rows, total = [], 1_000
    for at, (address, size, span) in enumerate(events):
        total += size
        row = {
            "time_ns": 10 * at,
            "address": address,
            "size_bytes": size,
            "span_id": span,
            "device_id": 0,
        }
        rows.append(row | {"allocated_bytes": total, "reserved_bytes": 4_096} | more)
    return make_trace(allocations=rows, spans=SPANS, steps=steps or [])


def alive(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    rows = frame.filter(pl.col("what") == "alive")
    return rows.select("allocated_by", "freed_by", "n_blocks", "size_bytes").rows()


def test_the_peak_and_what_was_alive_then() -> None:
    steps = [
        {"step": 0, "start_ns": 0, "duration_ns": 25},
        {"step": 1, "start_ns": 25, "duration_ns": 100},
    ]
    made = trace(
        (1, 50, 0),
        (2, 300, 3),
        (1, -50, 0),
        (3, 200, 2),
        (2, -300, 4),
        (9, -600, 5),
        (4, 60, 5),
        steps=steps,
    )
    found = memory_timeline(made)
    (peak,) = (
        found.filter(pl.col("what") == "peak")
        .drop("freed_by", "allocated_by", "n_blocks")
        .iter_rows(named=True)
    )
    assert peak == {
        "rank": 0,
        "device_id": 0,
        "what": "peak",
        "step": 1,
        "offset_ns": 30,
        "allocated_bytes": 1_500,
        "reserved_bytes": 4_096,
        "op": "aten::empty",
        "below": "aten::batch_norm",
        "layer": "net.bn",
        "size_bytes": 200,
        "share_frac": 200 / 1_500,
    }
    # 600 of the 1,000 bytes from before are freed later, by Python; of the rest nothing is seen.
    assert alive(found) == [
        ("before the capture", "unknown", 1, 600),
        ("before the capture", "not freed", None, 400),
        ("backward", "optimizer", 1, 300),
        ("forward", "not freed", 1, 200),
    ]
    moments = found.filter(pl.col("what") == "time").select("offset_ns", "step", "allocated_bytes")
    assert moments.rows()[:4] == [(0, 0, 1_050), (10, 0, 1_350), (20, 0, 1_300), (30, 1, 1_500)]
    assert notes(made, found) == [
        (
            "Rank 0, device 0: at most 1,500 B were allocated (reserved: 4,096 B at most), in step"
            " 1 by aten::empty below aten::batch_norm of net.bn."
        ),
        (
            "Where that was allocated: 40.0% before the capture (freed in an unknown phase), 26.7%"
            " before the capture (not freed), 20.0% in backward (freed in optimizer)."
        ),
        "Frees of blocks from before the capture, or recorded before their allocation: 1.",
    ]


def test_what_does_not_fit_is_counted_and_not_guessed() -> None:
    """A free before its allocation, one of another size, one of no address, a block twice given."""
    events = (
        (1, -70, 0),
        (1, 70, 0),
        (2, 30, 0),
        (2, -31, 0),
        (3, 40, 0),
        (3, 44, 0),
        (4, 500, 3),
        (None, -5, 0),
    )
    made = trace(*events)
    found = memory_timeline(made)
    # The block at 2 and the first one at 3 went unseen. What is left of the total is from before.
    assert alive(found) == [
        ("before the capture", "not freed", None, 1_583 - 614),
        ("backward", "not freed", 1, 500),
        ("forward", "not freed", 2, 114),
    ]
    assert notes(made, found)[2:] == [
        "Frees of blocks from before the capture, or recorded before their allocation: 1.",
        (
            "Frees that fit no allocation (another size, no address, or freed twice): 2; no block"
            " is guessed for them."
        ),
        (
            "Allocations without a free of their size, at an address that was used again: 2; they"
            " count until then."
        ),
    ]


def test_without_an_address_nothing_is_said_to_be_from_before() -> None:
    assert alive(memory_timeline(trace((None, 24, 0), (1, 8, 0)))) == [
        ("unknown", "unknown", None, 1_024),
        ("forward", "not freed", 1, 8),
    ]


def test_devices_and_ranks_are_kept_apart() -> None:
    """One address on the host, on two devices, on another rank: four blocks, each with its free."""
    places: list[Row] = [
        {"device_id": None},
        {"device_id": 0},
        {"device_id": 1},
        {"device_id": 0, "rank": 1},
    ]
    rows = [
        place
        | {
            "time_ns": time,
            "address": 7,
            "size_bytes": sign * 8 * (at + 1),
            "allocated_bytes": 8 * (at + 1) * (sign > 0),
        }
        for time, sign in ((0, 1), (10, -1))
        for at, place in enumerate(places)
    ]
    found = memory_timeline(make_trace(allocations=rows, spans=SPANS))
    peaks = found.filter(pl.col("what") == "peak").select(
        "rank", "device_id", "allocated_bytes", "reserved_bytes"
    )
    assert peaks.rows() == [
        (0, None, 8, None),
        (0, 0, 16, None),
        (0, 1, 24, None),
        (1, 0, 32, None),
    ]
    assert [row[1:] for row in alive(found)] == [("unknown", 1, size) for size in (8, 16, 24, 32)]


def test_many_events_become_moments_with_their_largest_values() -> None:
    events = [(at, 1 if at % 2 else 3, 0) for at in range(10_000)]
    found = memory_timeline(trace(*events)).filter(pl.col("what") == "time")
    assert 1_900 < found.height <= 2_000
    assert found["allocated_bytes"].is_sorted()
    assert found["allocated_bytes"].max() == 1_000 + 20_000


def test_without_memory_or_totals_it_says_what_to_record() -> None:
    with pytest.raises(MissingTableError, match="allocations"):
        memory_timeline(make_trace())
    with pytest.raises(MissingTableError, match="profile_memory=True"):
        memory_timeline(trace((1, 8, 0), allocated_bytes=None))


def test_resnet50() -> None:
    found = memory_timeline(torch_trace("resnet50_eager"))
    (peak,) = found.filter(pl.col("what") == "peak").iter_rows(named=True)
    assert (peak["allocated_bytes"], peak["reserved_bytes"]) == (505_676_800, 1_140_850_688)
    assert (peak["step"], peak["op"], peak["below"]) == (0, "aten::empty", "aten::cudnn_batch_norm")
    assert peak["layer"].endswith("BatchNorm2d_4")
    assert sum(row[3] for row in alive(found)) == 505_676_800
    (section,) = build_report(torch_trace("resnet50_eager"), names=["memory_timeline"]).sections
    (drawing,) = draw(section)
    spec = drawing.chart.to_dict()
    points = spec["datasets"][spec["data"]["name"]]
    assert len(points) == 2 * 924
    assert (
        max(point["value"] for point in points if point["part"] == "allocated") == 0.5056768
    )  # GB


def test_a_training_step_beside_torchs_own_numbers() -> None:
    """torch.cuda gave max_memory_allocated and memory_reserved for the same steps."""
    counts = json.loads((SAMPLES / "roofline" / "counts.json").read_text())
    found = memory_timeline(collected(SAMPLES / "roofline" / "products.pt.trace.json.gz"))
    (peak,) = found.filter((pl.col("what") == "peak") & (pl.col("device_id") == 0)).iter_rows(
        named=True
    )
    assert peak["allocated_bytes"] == counts["max_memory_allocated"]
    assert peak["reserved_bytes"] == counts["memory_reserved"]
    assert (peak["op"], peak["below"]) == ("aten::convolution_backward", "ConvolutionBackward0")
    parts = {row[:2] for row in alive(found)}
    assert {("forward", "backward"), ("backward", "backward"), ("backward", "optimizer")} <= parts


def test_allocations_know_the_span_on_their_own_thread(tmp_path: Path) -> None:
    """Two threads run an op at the same time.

    One event has no thread, and one lies outside of all ops.
    """
    op = {"ph": "X", "cat": "cpu_op", "pid": 1, "dur": 10, "ts": 0}
    events: list[Row] = [op | {"name": "one", "tid": 1}, op | {"name": "two", "tid": 2}]
    for ts, tid in ((5, 2), (5, 1), (5, None), (99, 1)):
        event = {
            "ph": "i",
            "name": "[memory]",
            "pid": 1,
            "ts": ts,
            "args": {"Addr": 1, "Bytes": 8, "Device Type": 0},
        }
        events.append(event if tid is None else event | {"tid": tid})
    tables = read(write(tmp_path / "t.json", json.dumps({"traceEvents": events}))).tables
    names = dict(tables["spans"].select("span_id", "name").iter_rows())
    assert [names.get(span) for span in tables["allocations"]["span_id"]] == [
        "two",
        "one",
        None,
        None,
    ]
