"""layer_host_time and threads: what layers and threads take of the host, by hand."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import make_trace
from tests.test_cpu_only import MAIN, OTHER, US, process, span, step
from tracelens.analyses import layer_host_time, threads
from tracelens.analyses.layer_host_time import notes
from tracelens.errors import MissingTableError
from tracelens.schemas.results.calls import THREADS
from tracelens.schemas.results.work import LAYER_HOST_TIME


def test_ops_belong_to_the_innermost_module() -> None:
    # Net runs fc, which runs linear and addmm within; then relu itself. A backward op of fc, the
    # optimizer's, another.
    spans: list[dict[str, Any]] = [
        {"kind": "module", "name": "Net", "module_path": "Net"},
        {"kind": "module", "name": "fc", "module_path": "fc", "parent_id": 0},
        {
            "kind": "op",
            "name": "aten::linear",
            "self_ns": 5,
            "module_path": "fc",
            "parent_id": 1,
            "phase": "forward",
        },
        {
            "kind": "op",
            "name": "aten::addmm",
            "self_ns": 20,
            "module_path": "fc",
            "parent_id": 2,
            "phase": "forward",
        },
        {
            "kind": "op",
            "name": "aten::relu",
            "self_ns": 7,
            "module_path": "Net",
            "parent_id": 0,
            "phase": "forward",
        },
        {
            "kind": "op",
            "name": "AddmmBackward0",
            "self_ns": 30,
            "module_path": "fc",
            "phase": "backward",
        },
        {
            "kind": "op",
            "name": "torch::autograd::AccumulateGrad",
            "self_ns": 2,
            "phase": "backward",
        },
        {"kind": "op", "name": "aten::add_", "self_ns": 3, "phase": "optimizer"},
        {"kind": "op", "name": "aten::randn", "self_ns": 1},
        {"kind": "python", "name": "f.py(1): f", "self_ns": 99},
    ]
    layers = [
        {"module_path": "fc", "class_name": "Linear"},
        {"module_path": "Net", "class_name": "Net"},
    ]
    trace = make_trace(spans=spans, layers=layers)
    found = LAYER_HOST_TIME.check(layer_host_time(trace))
    assert found.select(
        "layer", "class_name", "phase", "n_ops", "op_self_ns", "evidence"
    ).rows() == [
        ("fc", "Linear", "backward", 1, 30, "backward sequence"),
        ("fc", "Linear", "forward", 2, 25, "module span"),
        ("(unattributed)", None, "forward", 1, 7, "root module only"),
        ("(optimizer)", None, "optimizer", 1, 3, "optimizer marker"),
        ("(gradient accumulation)", None, "backward", 1, 2, "autograd node"),
        ("(unattributed)", None, None, 1, 1, "none"),
    ]
    assert found["share_frac"].sum() == pytest.approx(1)
    assert notes(trace, found) == [
        "Rank 0: 80.9% of the ops' self time on the host has a layer."
    ]  # 55 of 68


def test_what_a_data_loader_calls_is_the_input_s() -> None:
    spans: list[dict[str, Any]] = [
        {
            "kind": "annotation",
            "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        },
        {"kind": "op", "name": "aten::stack", "self_ns": 4, "parent_id": 0, "phase": "other"},
        {"kind": "op", "name": "aten::stack", "self_ns": 2, "phase": "other"},
    ]
    found = layer_host_time(make_trace(spans=spans)).select("layer", "op_self_ns", "evidence")
    assert found.rows() == [("(input)", 4, "data loader"), ("(unattributed)", 2, "none")]


def test_ops_of_a_compiled_graph_have_modules() -> None:
    """The graph calls addmm for fc, and a kernel for relu and tanh, which write 1 and 3 bytes."""
    spans: list[dict[str, Any]] = [
        {"kind": "annotation", "name": "## Call CompiledFxGraph abc ##"},
        {"kind": "op", "name": "aten::addmm", "self_ns": 30, "parent_id": 0, "start_ns": 1},
        {"kind": "op", "name": "aten::copy_", "self_ns": 5, "parent_id": 1, "start_ns": 2},
        {"kind": "op", "name": "graph_0_cpp_fused_relu_tanh_0", "self_ns": 40, "parent_id": 0}
        | {"start_ns": 50},
        {"kind": "op", "name": "Torch-Compiled Region: 0/0", "self_ns": 7, "start_ns": 0},
    ]
    calls: list[dict[str, Any]] = [
        {"call_order": 0, "kernel_name": "extern_kernels.addmm", "is_extern": True}
        | {"node": "addmm", "module_path": "fc", "output_bytes": 8},
        {"call_order": 1, "kernel_name": "cpp_fused_relu_tanh_0", "node": "relu"}
        | {"module_path": "act", "output_bytes": 1},
        {"call_order": 1, "kernel_name": "cpp_fused_relu_tanh_0", "node": "tanh"}
        | {"module_path": "last", "output_bytes": 3},
    ]
    rows = [call | {"graph_key": "abc", "rule": "nn_module_stack"} for call in calls]
    found = layer_host_time(make_trace(spans=spans, provenance=rows))
    assert dict(found.select("layer", "op_self_ns").iter_rows()) == {
        "fc": 35,
        "last": 30,
        "act": 10,
        "(unattributed)": 7,
    }


SPAN = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["op", "module", "python"]),
        "self_ns": st.integers(0, 1000),
        "module_path": st.sampled_from([None, "Net", "fc"]),
        "phase": st.sampled_from([None, "forward", "backward", "optimizer"]),
        "rank": st.integers(0, 1),
    }
)


@given(st.lists(SPAN, min_size=1, max_size=20))
def test_rows_sum_to_the_self_time_of_ops(rows: list[dict[str, Any]]) -> None:
    numbered = [
        row | {"span_id": sum(other["rank"] == row["rank"] for other in rows[:at])}
        for at, row in enumerate(rows)
    ]
    by_rank = {
        rank: [row["self_ns"] for row in rows if row["kind"] == "op" and row["rank"] == rank]
        for rank in (0, 1)
    }
    if not any(by_rank.values()):
        with pytest.raises(MissingTableError, match=r"^layer_host_time needs op spans"):
            layer_host_time(make_trace(spans=numbered))
        return
    found = layer_host_time(make_trace(spans=numbered))
    sums = dict(found.group_by("rank").agg(pl.col("op_self_ns").sum()).iter_rows())
    assert sums == {rank: sum(times) for rank, times in by_rank.items() if times}


def test_the_five_states_of_a_thread() -> None:
    #          0      1000         3000    4000  4500  5000     6000    8000    9000    10000
    # main     |python: f -------------------------------------------|         |sleep    |
    #                 | op        |       | item: op    |
    #                                       sync 4000-4500
    # other                                                            | mm   |
    sync = {
        "kind": "sync",
        "api": "cudaStreamSynchronize",
        "thread_id": MAIN,
        "start_ns": 4_000 * US,
    }
    trace = process(
        step(0, 0, 10_000),
        span(0, 6_000, "f.py(1): f", "python"),
        span(1_000, 3_000, "aten::mm"),
        span(4_000, 5_000, "aten::item"),
        span(6_000, 8_000, "aten::mm", thread=OTHER),
        span(9_000, 10_000, "<built-in function sleep>", "python"),
        api_calls=[sync | {"duration_ns": 500 * US}],
    )
    found = THREADS.check(threads(trace))
    parts = pl.col("wait_ns", "op_ns", "api_ns", "python_ns", "unrecorded_ns") / US
    assert found.select("thread_id", "n_ops", parts).rows() == [
        (MAIN, 2, 1_500, 2_500, 0, 3_000, 3_000),
        (OTHER, 1, 0, 2_000, 0, 0, 8_000),
    ]
    assert found["window_ns"].to_list() == [10_000 * US] * 2


TIMED = st.builds(
    lambda start, length, *more: span(start, start + length, *more),
    st.integers(0, 50),
    st.integers(0, 30),
    st.sampled_from(["x", "threading.py(320): wait"]),
    st.sampled_from(["op", "python", "module", "annotation"]),
    st.sampled_from([MAIN, OTHER]),
)


@given(st.lists(TIMED, min_size=1, max_size=10))
def test_a_threads_parts_tile_the_time_that_is_looked_at(spans: list[dict[str, Any]]) -> None:
    found = threads(process(*spans))
    parts = found.select(
        pl.sum_horizontal("wait_ns", "op_ns", "api_ns", "python_ns", "unrecorded_ns")
    ).to_series()
    assert parts.to_list() == found["window_ns"].to_list()
    assert found.filter(
        pl.min_horizontal("wait_ns", "op_ns", "api_ns", "python_ns", "unrecorded_ns") < 0
    ).is_empty()


def test_without_spans_or_calls() -> None:
    with pytest.raises(MissingTableError, match=r"^threads needs spans or api_calls"):
        threads(make_trace())
