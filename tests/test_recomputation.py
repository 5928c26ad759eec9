"""Activation checkpointing: forward ops that ran again within the backward pass."""

from pathlib import Path

import pytest

import tracelens as tl
from tests.cases import make_trace
from tracelens.analyses import recomputation
from tracelens.analyses.recomputation import notes

ENGINE = "autograd::engine::evaluate_function: AddmmBackward0"


SPANS = [
    {"name": "aten::linear", "sequence_number": 1, "duration_ns": 4},
    {"name": ENGINE, "sequence_number": 1, "start_ns": 10, "duration_ns": 30},
    {"name": "AddmmBackward0", "parent_id": 1, "sequence_number": 1, "start_ns": 11},
    {
        "name": "aten::linear",
        "parent_id": 2,
        "sequence_number": 2,
        "start_ns": 12,
        "duration_ns": 5,
        "module_path": "net.fc",
    },
    {"name": "aten::addmm", "parent_id": 3, "sequence_number": 3, "start_ns": 13},
    {"name": "aten::mm", "parent_id": 2, "start_ns": 20, "duration_ns": 9},
]
ROWS = [{"kind": "op", "duration_ns": 0} | span for span in SPANS]
AGAIN = make_trace(
    spans=ROWS,
    kernels=[
        {"span_id": span, "duration_ns": 7, "stream_id": stream}
        for span, stream in ((0, 7), (4, 7), (5, 8))
    ],
)
"""A linear and its addmm run in the forward pass, and again for 5 ns before the backward op."""


def test_an_op_that_autograd_records_within_backward_ran_again() -> None:
    assert recomputation(AGAIN).rows() == [(0, "net.fc", "aten::linear", 1, 5, 7)]
    once = make_trace(spans=ROWS[:2])
    assert notes(once, recomputation(once)) == ["No forward op ran again within the backward pass."]


@pytest.mark.slow
@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_runs_a_layer_again(reentrant: bool, tmp_path: Path) -> None:
    """Of two layers one is checkpointed: its linear and relu run again, once a step."""
    torch = pytest.importorskip("torch")
    checkpoint = pytest.importorskip("torch.utils.checkpoint").checkpoint
    inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    head, x = torch.nn.Linear(4, 4), torch.ones(2, 4, requires_grad=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(2):
            head(checkpoint(inner, x, use_reentrant=reentrant)).sum().backward()
    profiler.export_chrome_trace(str(tmp_path / "t.json"))
    frame = recomputation(tl.collect(tmp_path / "t.json"))
    counts = dict(frame.select("op", "n_calls").iter_rows())
    assert {op: counts.get(op) for op in ("aten::linear", "aten::relu")} == {
        "aten::linear": 2,
        "aten::relu": 2,
    }


def test_a_rank_without_spans_has_no_op_that_ran_again() -> None:
    kernels = [{"span_id": 0, "duration_ns": 7}, {"rank": 1, "span_id": 0, "duration_ns": 7}]
    assert recomputation(make_trace(spans=ROWS[:2], kernels=kernels)).is_empty()
