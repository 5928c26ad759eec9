"""layer_attribution: whose a kernel is, in a network of a convolution and a linear layer."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.cases import layers_with_kernels, make_trace
from tracelens.analyses.layer_attribution import layer_attribution, notes
from tracelens.errors import MissingTableError
from tracelens.schemas.device import LIBRARIES, LINKS, PRIMITIVES
from tracelens.schemas.host import PHASES
from tracelens.schemas.results.work import LAYER_ATTRIBUTION
from tracelens.trace import Trace

LAYERS = [
    {"module_path": "Net_0", "class_name": "Net", "call_order": 0},
    {"module_path": "Net_0.Conv2d_0", "class_name": "Conv2d", "call_order": 1},
    {"module_path": "Net_0.Linear_0", "class_name": "Linear", "call_order": 2},
    {"module_path": "MSELoss_0", "class_name": "MSELoss", "call_order": 3},
]
SPANS: list[dict[str, Any]] = [
    {"name": "Net_0", "kind": "module", "module_path": "Net_0", "phase": "forward"},
    {"name": "aten::conv2d", "module_path": "Net_0.Conv2d_0", "phase": "forward", "parent_id": 0},
    {"name": "ConvolutionBackward0", "module_path": "Net_0.Conv2d_0", "phase": "backward"},
    {"name": "Optimizer.step#SGD.step", "phase": "optimizer"},
    {
        "name": "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
        "phase": "backward",
    },
    {"name": "aten::add_", "phase": "backward", "parent_id": 4},
    {"name": "aten::mse_loss", "module_path": "MSELoss_0", "phase": "forward"},
    {"name": "aten::item"},
    {
        "name": "Conv2d_0",
        "kind": "module",
        "module_path": "Net_0.Conv2d_0",
        "phase": "forward",
        "parent_id": 0,
    },
]
ROOT, CONV, CONV_BACKWARD, OPTIMIZER, ADD, LOSS, ITEM = 0, 1, 2, 3, 5, 6, 7


def kernel(span_id: int | None, duration: int, **more: Any) -> dict[str, Any]:
    return {"span_id": span_id, "duration_ns": duration, **more}


def net(*kernels: dict[str, Any]) -> Trace:
    return make_trace(layers=LAYERS, spans=SPANS, kernels=list(kernels))


@pytest.mark.parametrize(
    ("work", "layer", "class_name", "phase", "evidence"),
    [
        (kernel(CONV, 5), "Net_0.Conv2d_0", "Conv2d", "forward", "module span"),
        (kernel(CONV_BACKWARD, 5), "Net_0.Conv2d_0", "Conv2d", "backward", "backward sequence"),
        (
            kernel(LOSS, 5),
            "MSELoss_0",
            "MSELoss",
            "forward",
            "module span",
        ),  # outermost, but nothing is within it
        (kernel(ROOT, 5), "(unattributed)", None, "forward", "root module only"),
        (kernel(OPTIMIZER, 5), "(optimizer)", None, "optimizer", "optimizer marker"),
        (kernel(ADD, 5), "(gradient accumulation)", None, "backward", "autograd node"),
        (
            kernel(ADD, 5, is_communication=True),
            "(communication)",
            None,
            "backward",
            "communication kernel",
        ),
        (
            kernel(None, 5, link="pre_window"),
            "(pre-window)",
            None,
            None,
            "launched before the trace began",
        ),
        (kernel(None, 5, link="unlinked"), "(unattributed)", None, None, "none"),
        (kernel(ITEM, 5), "(unattributed)", None, None, "none"),
    ],
)
def test_placement(
    work: dict[str, Any], layer: str, class_name: str | None, phase: str | None, evidence: str
) -> None:
    found = LAYER_ATTRIBUTION.check(layers_with_kernels(net(work)))
    assert found.select("layer", "class_name", "phase", "evidence").rows() == [
        (layer, class_name, phase, evidence)
    ]


def test_time_by_library_and_primitive() -> None:
    found = layers_with_kernels(
        net(
            kernel(CONV, 60, library="cudnn", primitive="conv"),
            kernel(CONV, 15, library="cudnn", primitive="layout"),
            kernel(CONV, 5, library="aten", primitive="elementwise"),
            kernel(CONV_BACKWARD, 20, library="cudnn", primitive="conv"),
        )
    )
    columns = [
        "phase",
        "n_kernels",
        "duration_total_ns",
        "share_frac",
        "layout_frac",
        "library_cudnn_ns",
        "library_aten_ns",
        "primitive_conv_ns",
        "primitive_layout_ns",
        "low_ns",
        "estimate_ns",
        "high_ns",
    ]
    assert found.select(columns).rows() == [
        ("forward", 3, 80, 0.8, 15 / 80, 75, 5, 60, 15, 80, 80, 80),
        ("backward", 1, 20, 0.2, 0.0, 20, 0, 20, 0, 20, 20, 20),
    ]


def test_unplaced_rows_are_there_for_each_rank() -> None:
    found = LAYER_ATTRIBUTION.check(
        layer_attribution(net(kernel(CONV, 5), kernel(None, 7, rank=1, link="pre_window")))
    )
    assert found.select(
        "rank", "layer", "n_kernels", "duration_total_ns", "share_frac", "evidence"
    ).rows() == [
        (0, "Net_0.Conv2d_0", 1, 5, 1.0, "module span"),
        (0, "(pre-window)", 0, 0, 0.0, "no kernel"),
        (0, "(unattributed)", 0, 0, 0.0, "no kernel"),
        (1, "(pre-window)", 1, 7, 1.0, "launched before the trace began"),
        (1, "(unattributed)", 0, 0, 0.0, "no kernel"),
    ]


def test_a_kernel_without_time_divides_by_nothing() -> None:
    assert layers_with_kernels(net(kernel(CONV, 0))).select("share_frac", "layout_frac").rows() == [
        (0.0, 0.0)
    ]


def test_shares_are_of_the_rank() -> None:
    found = layers_with_kernels(
        net(
            kernel(None, 5), kernel(None, 7, rank=1), kernel(None, 7, rank=1, is_communication=True)
        )
    )
    assert found.select("rank", "share_frac").rows() == [(0, 1.0), (1, 0.5), (1, 0.5)]


def test_notes_say_how_much_was_placed() -> None:
    trace = net(kernel(CONV, 75, primitive="layout"), kernel(ITEM, 25))
    (said,) = notes(trace, layer_attribution(trace))
    assert "75.0% of kernel time belongs to a layer" in said
    assert "75.0% is layout transforms (1 of 2 kernels)" in said
    bare = make_trace(kernels=[kernel(None, 5)])
    assert "with_stack=True, with_modules=True" in notes(bare, layer_attribution(bare))[1]


def test_without_kernels() -> None:
    with pytest.raises(MissingTableError, match="tracelens collect torch or nsys"):
        layer_attribution(net())


KERNEL = st.fixed_dictionaries(
    {
        "span_id": st.sampled_from([None, *range(len(SPANS))]),
        "duration_ns": st.integers(0, 10**12),
        "library": st.sampled_from(LIBRARIES),
        "primitive": st.sampled_from(PRIMITIVES),
        "link": st.sampled_from(LINKS),
        "is_communication": st.booleans(),
        "rank": st.integers(0, 1),
        "start_ns": st.integers(0, 10),
    }
)


@given(
    st.lists(KERNEL, min_size=1),
    st.lists(st.sampled_from(PHASES), min_size=len(SPANS), max_size=len(SPANS)),
)
def test_layers_and_rows_in_brackets_sum_to_the_kernel_total(
    kernels: list[dict[str, Any]], phases: list[str]
) -> None:
    spans = [span | {"phase": phase} for span, phase in zip(SPANS, phases, strict=True)]
    found = layer_attribution(make_trace(layers=LAYERS, spans=spans, kernels=kernels))
    for rank in {kernel["rank"] for kernel in kernels}:
        total = sum(kernel["duration_ns"] for kernel in kernels if kernel["rank"] == rank)
        mine = found.filter(pl.col("rank") == rank)
        assert mine["duration_total_ns"].sum() == total
        assert {"(unattributed)", "(pre-window)"} <= set(mine["layer"])
        assert mine["n_kernels"].sum() == sum(kernel["rank"] == rank for kernel in kernels)
        for words, group in ((LIBRARIES, "library"), (PRIMITIVES, "primitive")):
            assert sum(mine[f"{group}_{word}_ns"].sum() for word in words) == total
        assert mine["share_frac"].sum() == pytest.approx(1 if total else 0)
    moved = [kernel | {"start_ns": kernel["start_ns"] + 10**18} for kernel in reversed(kernels)]
    assert_frame_equal(
        layer_attribution(make_trace(layers=LAYERS, spans=spans, kernels=moved)), found
    )


def test_by_step_the_layers_of_each_step_and_of_none_are_rows() -> None:
    trace = net(
        kernel(CONV, 5, step=0), kernel(CONV, 3, step=0), kernel(CONV, 4, step=1), kernel(ITEM, 2)
    )
    found = layer_attribution(trace, by_step=True)
    assert found.select("step", "layer", "n_kernels", "duration_total_ns").rows() == [
        (None, "(unattributed)", 1, 2),
        (0, "Net_0.Conv2d_0", 2, 8),
        (1, "Net_0.Conv2d_0", 1, 4),
    ]
    assert found["share_frac"].sum() == pytest.approx(1)
