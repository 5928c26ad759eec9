"""The calling-context tree of the host's time."""

import polars as pl
import pytest

import tracelens as tl
from tests.cases import make_trace
from tracelens.analyses import call_tree
from tracelens.errors import MissingTableError
from tracelens.report import build_report

#  step 0        0-100   (self 100 - 60 - 20 = 20)
#    mm         10-70    (60: of it 25 in launches)
#      launch   20-30, launch 40-55
#    mm         75-95    (20)
#  step 1       100-150  (self 50 - 30 = 20)
#    mm         110-140  (30)
#  other thread: load 0-40
SPANS = [
    {"name": "ProfilerStep#0", "duration_ns": 100, "self_ns": 20, "depth": 0, "step": 0},
    {"name": "mm", "parent_id": 0, "duration_ns": 60, "self_ns": 60, "depth": 1, "step": 0},
    {"name": "mm", "parent_id": 0, "duration_ns": 20, "self_ns": 20, "depth": 1, "step": 0},
    {"name": "ProfilerStep#1", "duration_ns": 50, "self_ns": 20, "depth": 0, "step": 1},
    {"name": "mm", "parent_id": 3, "duration_ns": 30, "self_ns": 30, "depth": 1, "step": 1},
    {"name": "load", "duration_ns": 40, "self_ns": 40, "depth": 0, "thread_id": 2},
]
CALLS = [
    {"api": "cudaLaunchKernel", "span_id": 1, "start_ns": 20, "duration_ns": 10, "step": 0},
    {"api": "cudaLaunchKernel", "span_id": 1, "start_ns": 40, "duration_ns": 15, "step": 0},
]
STEPS = [{"step": 0, "duration_ns": 100}, {"step": 1, "duration_ns": 50}]
SHOWN = ("path", "depth", "n_calls", "host_total_ns", "host_self_ns", "step_self_ns")


def rows(trace: tl.Trace, smallest_frac: float = 0.0) -> list[tuple[object, ...]]:
    return call_tree(trace, smallest_frac=smallest_frac).select(SHOWN).rows()


def test_time_is_summed_by_chain_of_calls() -> None:
    trace = make_trace(spans=SPANS, api_calls=CALLS, steps=STEPS)
    assert rows(trace) == [
        ("ProfilerStep#* > mm", 1, 3, 110, 85, 42.5),
        ("ProfilerStep#*", 0, 2, 150, 40, 20.0),
        ("load", 0, 1, 40, 40, 0.0),
        ("ProfilerStep#* > mm > cudaLaunchKernel", 2, 2, 25, 25, 12.5),
    ]


@pytest.mark.parametrize("smallest_frac", [0.0, 0.15, 0.3, 1.0])
def test_own_times_sum_to_the_outermost_totals(smallest_frac: float) -> None:
    trace = make_trace(spans=SPANS, api_calls=CALLS, steps=STEPS)
    tree = call_tree(trace, smallest_frac=smallest_frac)
    outermost = tree.filter(pl.col("parent_node_id").is_null())
    assert tree["host_self_ns"].sum() == outermost["host_total_ns"].sum() == 190
    assert tree["step_self_ns"].sum() == outermost["step_total_ns"].sum() == 75


def test_small_chains_are_one_row_of_their_parent() -> None:
    """Of 190 ns, 25 % is 47.5: load and the launches are below it."""
    trace = make_trace(spans=SPANS, api_calls=CALLS, steps=STEPS)
    assert rows(trace, 0.25)[2:] == [
        ("(other calls)", 0, 1, 40, 40, 0.0),
        ("ProfilerStep#* > mm > (other calls)", 2, 2, 25, 25, 12.5),
    ]


def test_calls_outside_of_spans_and_traces_without_steps() -> None:
    trace = make_trace(api_calls=[{"api": "cudaMalloc", "duration_ns": 7}])
    assert rows(trace) == [("cudaMalloc", 0, 1, 7, 7, None)]


def test_of_a_deep_chain_the_innermost_calls_are_named() -> None:
    spans = [
        {"name": f"f{k}", "parent_id": k - 1 if k else None, "depth": k, "self_ns": 1}
        for k in range(100)
    ]
    path = call_tree(make_trace(spans=spans)).row(99, named=True)["path"]
    assert path.startswith("… > f68 > f69")
    assert path.endswith("f98 > f99")


def test_it_is_in_a_report_that_asks_for_it() -> None:
    trace = make_trace(spans=SPANS)
    assert "call_tree" not in {section.analysis.name for section in build_report(trace).sections}
    with pytest.raises(MissingTableError, match="call_tree needs spans or api_calls"):
        call_tree(make_trace())
