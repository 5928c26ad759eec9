"""Torch traces of an H200: counts and sums against a pass over the JSON, and their findings."""

import gzip
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl
from tests.cases import WHOLE, layers_with_kernels
from tests.selection import every
from tests.sources import ALL_TRACES, collected, torch_events, torch_file, torch_folder, torch_trace
from tracelens.derive.ranks.collectives import match_collectives

STARTS_WORK = re.compile(r"Launch|^cudaMem(cpy|set)")
DEVICE_TABLES = {"kernel": "kernels", "gpu_memcpy": "memcpys", "gpu_memset": "memsets"}
SPAN_KINDS = {
    "cpu_op": "op",
    "user_annotation": "annotation",
    "overhead": "overhead",
    "python_function": "python",
}


def events_of(name: str, *categories: str) -> list[dict[str, Any]]:
    return [
        event
        for event in torch_events(name)
        if event.get("cat") in categories and event["ph"] == "X"
    ]


def column_sum(frame: pl.DataFrame, column: str) -> int:
    return sum(frame[column].to_list())


def device_work_is_all_there_and_exact(name: str) -> None:
    for category, table in DEVICE_TABLES.items():
        expected = events_of(name, category)
        found = torch_trace(name).frame(table)
        assert found.height == len(expected)
        assert sorted(
            zip(found["start_ns"], found["duration_ns"], found["correlation_id"], strict=True)
        ) == sorted(
            (event["start_ns"], event["duration_ns"], event["args"]["correlation"])
            for event in expected
        )


def kernel_sums_by_name(name: str) -> None:
    expected: dict[str, list[int]] = defaultdict(list)
    for event in events_of(name, "kernel"):
        expected[event["name"]].append(event["duration_ns"])
    found = tl.analyses.top_kernels(torch_trace(name))
    columns = ["name", "n_calls", "duration_total_ns", "duration_min_ns", "duration_max_ns"]
    assert sorted(found.select(columns).rows()) == sorted(
        (k, len(v), sum(v), min(v), max(v)) for k, v in expected.items()
    )


def copied_bytes(name: str) -> None:
    expected = Counter[str]()
    for event in events_of(name, "gpu_memcpy"):
        expected[event["name"].split()[1].replace("to", "2").lower()] += event["args"]["bytes"]
    copies = torch_trace(name).memcpys
    assert dict(copies.group_by("direction").agg(pl.col("size_bytes").sum()).rows()) == dict(
        expected
    )


def api_calls_by_function(name: str) -> None:
    expected = Counter(event["name"] for event in events_of(name, "cuda_runtime", "cuda_driver"))
    calls = torch_trace(name).api_calls
    assert Counter(calls["raw_api"].to_list()) == expected
    assert column_sum(calls, "duration_ns") == sum(
        event["duration_ns"] for event in events_of(name, "cuda_runtime", "cuda_driver")
    )


def spans_by_kind(name: str) -> None:
    counts, sums = Counter[str](), Counter[str]()
    first: dict[str, int] = {}
    for event in events_of(name, *SPAN_KINDS):
        kind = "module" if event["name"].startswith("nn.Module: ") else SPAN_KINDS[event["cat"]]
        counts[kind] += 1
        sums[kind] += event["duration_ns"]
        first[kind] = min(first.get(kind, event["start_ns"]), event["start_ns"])
    found = (
        torch_trace(name)
        .spans.group_by("kind")
        .agg(pl.len(), pl.col("duration_ns").sum(), pl.col("start_ns").min())
    )
    assert sorted(found.rows()) == sorted(
        (kind, counts[kind], sums[kind], first[kind]) for kind in counts
    )


def work_is_linked_to_the_call_of_its_correlation_id(name: str) -> None:
    calls = {
        event["args"]["correlation"]: event
        for event in events_of(name, "cuda_runtime", "cuda_driver")
        if STARTS_WORK.search(event["name"])
    }
    trace = torch_trace(name)
    of_id = dict(trace.api_calls.select("api_call_id", pl.struct("raw_api", "start_ns")).rows())
    n_linked = 0
    for category, table in DEVICE_TABLES.items():
        for row in trace.frame(table).iter_rows(named=True):
            call = calls.get(row["correlation_id"])
            if call is None:
                assert (row["api_call_id"], row["link"]) == (None, "pre_window"), category
                continue
            assert of_id[row["api_call_id"]] == {
                "raw_api": call["name"],
                "start_ns": call["start_ns"],
            }
            assert row["link"] == ("graph" if "Graph" in call["name"] else "launched")
            n_linked += 1
    assert n_linked == sum(
        event["args"]["correlation"] in calls for event in events_of(name, *DEVICE_TABLES)
    )


def work_is_of_the_step_during_which_it_was_launched(name: str) -> None:
    steps = [
        (
            event["start_ns"],
            event["start_ns"] + event["duration_ns"],
            int(event["name"].split("#")[1]),
        )
        for event in events_of(name, "user_annotation")
        if event["name"].startswith("ProfilerStep#")
    ]
    assert steps
    calls = {
        event["args"]["correlation"]: event["start_ns"]
        for event in events_of(name, "cuda_runtime", "cuda_driver")
    }
    expected = Counter[int | None]()
    for event in events_of(name, *DEVICE_TABLES):
        launched = calls.get(event["args"]["correlation"], -1)
        expected[next((step for start, end, step in steps if start <= launched < end), None)] += 1
    trace = torch_trace(name)
    found = Counter(step for table in DEVICE_TABLES.values() for step in trace.frame(table)["step"])
    assert found == expected


@pytest.mark.parametrize("name", ["resnet50_eager", "resnet50_train_f64_pageable"])
def test_times_at_five_trillion_microseconds_are_exact(name: str, tmp_path: Path) -> None:
    added_us = 5 * 10**12
    text = gzip.decompress(torch_file(name).read_bytes())
    shifted = re.sub(rb'("ts": )(\d+)', lambda m: m[1] + str(int(m[2]) + added_us).encode(), text)
    path = tmp_path / "late.pt.trace.json"
    path.write_bytes(shifted)
    late, trace = tl.collect(path), torch_trace(name)
    for table in ("kernels", "memcpys", "memsets", "api_calls", "spans"):
        moved = late.frame(table)["start_ns"] - added_us * 1000
        assert moved.equals(trace.frame(table)["start_ns"]), table
        assert late.frame(table)["duration_ns"].equals(trace.frame(table)["duration_ns"]), table


# What copies cost: a float64 batch from pageable memory, against float32, pageable and pinned.


def h2d(trace: tl.Trace, base: tl.Trace | None = None) -> dict[str, Any]:
    rows = tl.analyses.copy_cost(trace, base=base).filter(
        (pl.col("direction") == "h2d") & pl.col("step").is_null()
    )
    return rows.row(0, named=True)


F64, PAGEABLE, PINNED = (
    f"resnet50_train_{kind}" for kind in ("f64_pageable", "f32_pageable", "f32_pinned")
)
BATCH = 32 * 3 * 64 * 64


def test_a_float64_batch_copies_twice_the_bytes() -> None:
    wide, narrow = h2d(torch_trace(F64)), h2d(torch_trace(PAGEABLE))
    assert (wide["n_calls"], wide["size_bytes"]) == (4, 4 * BATCH * 8)
    assert (narrow["n_calls"], narrow["size_bytes"]) == (4, 4 * BATCH * 4)
    (row,) = tl.analyses.compare_copies(torch_trace(F64), torch_trace(PAGEABLE)).to_dicts()
    assert row["size_ratio"] == 2.0


def test_pageable_copies_at_13_pinned_at_51_gigabytes_a_second() -> None:
    (row,) = tl.analyses.compare_copies(torch_trace(F64), torch_trace(PINNED)).to_dicts()
    assert (row["memory_base"], row["memory_other"]) == ("pageable to device", "pinned to device")
    assert row["bandwidth_base_bytes_per_s"] == pytest.approx(13e9, abs=0.5e9)
    assert row["bandwidth_other_bytes_per_s"] == pytest.approx(51e9, abs=0.5e9)


def test_the_cast_after_each_copy_tells_the_waste() -> None:
    row = h2d(torch_trace(F64))
    assert row["wasteful_dtype"] == "float64"
    assert row["wasted_bytes"] == row["size_bytes"] // 2
    for name in (PAGEABLE, PINNED):
        assert h2d(torch_trace(name))["wasteful_dtype"] is None
        assert h2d(torch_trace(name))["wasted_bytes"] == 0


def test_pinning_saves_the_rest() -> None:
    assert h2d(torch_trace(F64))["pinned_ns"] is None
    row = h2d(torch_trace(F64), base=torch_trace(PINNED))
    copies = events_of(PINNED, "gpu_memcpy")
    rate = sum(event["args"]["bytes"] for event in copies) / sum(
        event["duration_ns"] for event in copies
    )
    assert row["pinned_ns"] == pytest.approx(row["size_bytes"] / rate, abs=1)


def test_the_finding_is_said_in_words() -> None:
    trace, base = torch_trace(F64), torch_trace(PINNED)
    section = tl.analyses.ANALYSES["copy_cost"]
    assert section.notes is not None
    cast, pinning = section.notes(trace, tl.analyses.copy_cost(trace, base=base))
    assert "4 of 4 copies" in cast
    assert (
        "reads 8 bytes an element and writes 4, recorded as a float64 batch: 50% of the bytes"
        in cast
    )
    assert "13.2 GB/s" in pinning
    assert "instead of 955 µs: pinning would save" in pinning
    (alone,) = section.notes(torch_trace(PAGEABLE), tl.analyses.copy_cost(torch_trace(PAGEABLE)))
    assert "not known" in alone


# Layers.


def class_shares(trace: tl.Trace) -> dict[str, float]:
    layers = layers_with_kernels(trace)
    total = column_sum(layers, "duration_total_ns")
    by_class = layers.group_by("class_name").agg(pl.col("duration_total_ns").sum())
    return {name: round(100 * ns / total, 2) for name, ns in by_class.rows()}


def test_layers_of_resnet50_by_class() -> None:
    assert class_shares(torch_trace("resnet50_eager")) == {
        "Conv2d": 50.33,
        "BatchNorm2d": 25.71,
        "ReLU": 11.20,
        "Bottleneck": 9.80,
        "MaxPool2d": 2.10,
        "Linear": 0.51,
        "AdaptiveAvgPool2d": 0.35,
    }


def test_layout_transforms_of_resnet50() -> None:
    trace = torch_trace("resnet50_eager")
    layers = layers_with_kernels(trace)
    layout = column_sum(layers, "primitive_layout_ns") / column_sum(layers, "duration_total_ns")
    assert round(100 * layout, 1) == 12.0
    # What they are, by name: cuDNN's conversions between NCHW and NHWC, three calls of 64.
    names = [event["name"] for event in events_of("resnet50_eager", "kernel")]
    assert len(names) == 717
    assert sum("nchwToNhwc" in kernel or "nhwcToNchw" in kernel for kernel in names) == 192
    assert trace.kernels.filter(pl.col("primitive") == "layout").height == 192


@pytest.mark.parametrize(("name", "least"), [("bert_train", 0.83), ("llama_train", 0.88)])
def test_most_of_training_is_in_layers(name: str, least: float) -> None:
    layers = layers_with_kernels(torch_trace(name))
    in_brackets = layers["layer"].str.starts_with("(")
    placed = layers.filter(~in_brackets & pl.col("phase").is_in(["forward", "backward"]))
    assert (
        column_sum(placed, "duration_total_ns") / column_sum(layers, "duration_total_ns") >= least
    )
    assert placed["phase"].unique().sort().to_list() == ["backward", "forward"]
    rest = dict(
        layers.filter(in_brackets).group_by("layer").agg(pl.col("duration_total_ns").sum()).rows()
    )
    assert set(rest) == {"(optimizer)", "(unattributed)"}
    # AdamW's fused updates, by name; the loss, computed outside any module, is all that has no row
    # of its own.
    updates = [
        event for event in events_of(name, "kernel") if "multi_tensor_apply_kernel" in event["name"]
    ]
    assert rest["(optimizer)"] == sum(event["duration_ns"] for event in updates)
    assert rest["(unattributed)"] < 0.01 * column_sum(layers, "duration_total_ns")


@pytest.mark.parametrize(
    "name", ["alexnet_eager", "resnet50_eager", "bert_eager", "bert_train", "llama_train"]
)
def test_the_root_module_alone_is_no_placement(name: str) -> None:
    roots = {
        event["name"]
        for event in events_of(name, "python_function")
        if event["name"].startswith("nn.Module: ")
    }
    layers = layers_with_kernels(torch_trace(name))
    parents = {
        path.split(".")[0] for path in torch_trace(name).layers["module_path"] if "." in path
    }
    assert parents
    assert {f"nn.Module: {parent}" for parent in parents} <= roots
    assert not parents & set(layers["layer"])


def layers_sum_to_the_kernel_total(name: str) -> None:
    layers = layers_with_kernels(torch_trace(name))
    kernels = events_of(name, "kernel")
    total = sum(event["duration_ns"] for event in kernels)
    assert column_sum(layers, "duration_total_ns") == total
    assert column_sum(layers, "n_kernels") == len(kernels)
    for group in ("library", "primitive"):
        assert (
            sum(column_sum(layers, c) for c in layers.columns if c.startswith(f"{group}_")) == total
        )


@pytest.mark.parametrize("name", every(4, ALL_TRACES))
def test_everything_that_a_file_holds_is_in_the_trace(name: str) -> None:
    device_work_is_all_there_and_exact(name)
    kernel_sums_by_name(name)
    copied_bytes(name)
    api_calls_by_function(name)
    spans_by_kind(name)
    work_is_linked_to_the_call_of_its_correlation_id(name)
    work_is_of_the_step_during_which_it_was_launched(name)
    layers_sum_to_the_kernel_total(name)


# Ranks.


@pytest.fixture(scope="module")
def ddp() -> tl.Trace:
    return collected(torch_folder("ddp_resnet50_2gpu"))


def test_a_folder_of_ranks_is_one_trace(ddp: tl.Trace) -> None:
    assert ddp.manifest.ranks == [0, 1]
    outside = (
        ddp.kernels.filter(~pl.col("name").str.contains("nccl"))
        .group_by("rank")
        .agg(pl.col("duration_ns").sum())
    )
    assert {rank: round(ns / 1e6, 2) for rank, ns in outside.rows()} == {0: 52.79, 1: 99.15}
    said = (
        ddp.kernels.filter(~pl.col("is_communication"))
        .group_by("rank")
        .agg(pl.col("duration_ns").sum())
    )
    assert sorted(said.rows()) == sorted(outside.rows())


def test_rank_0_waits_in_the_last_all_reduce_of_each_step(ddp: tl.Trace) -> None:
    steps = tl.analyses.time_breakdown(ddp).drop_nulls("step")
    assert steps.height == 6
    last = {
        rank: part["last_collective_ns"] / 1e6
        for (rank,), part in steps.partition_by("rank", as_dict=True).items()
    }
    assert [round(ms, 1) for ms in (last[0].min(), last[0].max())] == [3.6, 5.4]  # type: ignore[arg-type]
    assert last[1].round(2).unique().to_list() == [0.06]
    # The all-reduce cannot be faster than on rank 1, so the rest of it is waiting, and the step has
    # no less.
    calls = match_collectives(ddp).calls.filter(rank=0).group_by("step", maintain_order=True).last()
    waits = (calls["last_start_ns"] - calls["start_ns"]) / 1e6
    assert ((last[0] - last[1] <= waits) & (waits <= last[0])).all()
    assert (steps.filter(rank=0)["collective_wait_ns"] / 1e6 >= waits).all()


def test_communication_is_split_into_hidden_and_exposed(ddp: tl.Trace) -> None:
    rows = tl.analyses.time_breakdown(ddp)
    assert rows.height == 8
    assert (rows["communication_ns"] > rows["exposed_communication_ns"]).all()
    assert (rows["exposed_communication_ns"] > 0).all()


def brute_force(name: str, *categories: str) -> int:
    """Nanoseconds in which some event of the categories runs, by walking over the sorted edges."""
    edges = sorted(
        (moment, step)
        for event in events_of(name, *categories)
        for moment, step in ((event["start_ns"], 1), (event["start_ns"] + event["duration_ns"], -1))
    )
    total = running = since = 0
    for moment, step in edges:
        total += (moment - since) * (running > 0)
        running, since = running + step, moment
    return total


@pytest.mark.parametrize("name", [name for name in ALL_TRACES if not name.startswith("ddp")])
def test_time_breakdown_against_a_walk_over_the_events(name: str) -> None:
    row = tl.analyses.time_breakdown(torch_trace(name)).filter(WHOLE).row(0, named=True)
    work = events_of(name, *DEVICE_TABLES)
    window = max(e["start_ns"] + e["duration_ns"] for e in work) - min(e["start_ns"] for e in work)
    busy = brute_force(name, *DEVICE_TABLES)
    compute = brute_force(name, "kernel")
    assert row["window_ns"] == window
    assert row["compute_ns"] == compute
    assert row["copy_ns"] == brute_force(name, "gpu_memcpy", "gpu_memset")
    assert row["exposed_copy_ns"] == busy - compute
    assert row["idle_ns"] == window - busy
