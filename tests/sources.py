"""List the real captures that tests read: in samples/, and in a folder of further captures."""

import gzip
import json
import os
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tracelens as tl

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"
MORE = Path(os.environ.get("TRACELENS_CAPTURES", ROOT.parent / "shared" / "data"))
"""The folder of captures that are in no checkout.

The environment variable TRACELENS_CAPTURES names another folder, or is empty for none.
"""
_SUFFIX = ".pt.trace.json.gz"

SAMPLE_TRACES = (
    "alexnet_eager",
    "resnet50_eager",
    "resnet50_train_f32_pageable",
    "resnet50_train_f32_pinned",
    "resnet50_train_f64_pageable",
)
MORE_TRACES = (
    "alexnet_inductor",
    "bert_eager",
    "bert_inductor",
    "bert_train",
    "ddp_resnet50_2gpu/rank0",
    "ddp_resnet50_2gpu/rank1",
    "llama_train",
    "resnet50_channels_last",
    "resnet50_cudagraph",
    "resnet50_inductor",
    "resnet50_torchscript",
)
ALL_TRACES = SAMPLE_TRACES + MORE_TRACES


def torch_file(name: str) -> Path:
    """Return the file of a torch trace; skip the test if it is not there."""
    if name in SAMPLE_TRACES:
        return SAMPLES / "torch" / f"{name}{_SUFFIX}"
    return _there(MORE / "torch" / f"{name}{_SUFFIX}")


def torch_folder(name: str) -> Path:
    """Return a folder of torch traces, one per rank; skip the test if it is not there."""
    return _there(MORE / "torch" / name)


def _there(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is neither in samples/ nor in {MORE}")
    return path


def torch_trace(name: str) -> tl.Trace:
    """Return the trace, collected once per session."""
    return collected(torch_file(name))


@cache
def collected(path: Path) -> tl.Trace:
    """Collect the capture that lies there, once per session."""
    return tl.collect(path)


def check_kernel_time_adds_up(trace: tl.Trace) -> None:
    """Check that cross_layer's rows hold the kernel time of top_kernels and of the table."""
    across, top = (
        frame.group_by("rank").agg(pl.col("duration_total_ns").sum()).sort("rank")
        for frame in (tl.analyses.cross_layer(trace), tl.analyses.top_kernels(trace))
    )
    assert across.equals(top)
    assert trace.kernels["duration_ns"].sum() == across["duration_total_ns"].sum()


@cache
def torch_events(name: str) -> list[dict[str, Any]]:
    """Return the trace's events as the JSON has them, every fraction a Decimal.

    They are read without tracelens.
    """
    with gzip.open(torch_file(name), "rb") as stream:
        document = json.load(stream, parse_float=Decimal)
    events: list[dict[str, Any]] = document["traceEvents"]
    base = int(document.get("baseTimeNanoseconds") or 0)
    for event in events:
        if "ts" in event:
            event["start_ns"] = base + exact_ns(event["ts"])
            event["duration_ns"] = exact_ns(event.get("dur", 0))
    return events


def exact_ns(microseconds: Decimal | int) -> int:
    """Convert microseconds with at most three decimals to whole nanoseconds."""
    value = Decimal(microseconds) * 1000
    assert value == int(value), microseconds
    return int(value)
