"""Helpers for tests of advice: a small model, its trace, the costs of its calls, and captures."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

import tracelens as tl
from tests.cases import make_trace
from tracelens.derive.calls.constraints import has_z3

ROOT = Path(__file__).resolve().parents[1]
EAGER = ROOT / "samples/torch/resnet50_eager.pt.trace.json.gz"
LAST = ROOT / "samples/torch/resnet50_channels_last.pt.trace.json.gz"
CAPTURES = ROOT / "samples/advisor/captures"
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch, which is not installed"
)
needs_z3 = pytest.mark.skipif(
    not has_z3(), reason="needs z3-solver (the extra advisor), which is not installed"
)
SEQUENCE = [
    ("conv2d", "0"),
    ("batch_norm", "1"),
    ("relu", "2"),
    ("conv2d", "3"),
    ("relu", "4"),
    ("flatten", "5"),
]


def model() -> Any:
    import torch  # noqa: PLC0415 - only where it is installed

    torch.manual_seed(0)
    made = torch.nn.Sequential(
        torch.nn.Conv2d(4, 8, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
    )
    made[1].running_mean.normal_()
    made[1].running_var.uniform_(0.5, 2)
    return made.eval()


def traced(tmp_path: Path) -> tl.Trace:
    """The model's recorded graph, and for each operator a span and a kernel of 100 µs.

    A GPU would give such a trace.
    """
    import torch  # noqa: PLC0415 - only where it is installed

    with torch.no_grad(), tl.capture(tmp_path / "run.tracelens", graph=True) as cap:
        model()(torch.randn(2, 4, 6, 6))
    assert cap.trace is not None
    spans = [
        {
            "kind": "op",
            "name": f"aten::{op}",
            "module_path": path,
            "start_ns": at * 1000,
            "duration_ns": 500,
            "step": 0,
            "input_shapes": "[[2, 8, 6, 6]]",
        }
        for at, (op, path) in enumerate(SEQUENCE)
    ]
    kernels = [
        {
            "span_id": at,
            "duration_ns": 100_000,
            "start_ns": at * 1000,
            "step": 0,
            "primitive": "conv",
        }
        for at in range(5)
    ]
    return make_trace(spans=spans, kernels=kernels, graph=cap.trace.frame("graph").to_dicts())


def with_costs(candidates: list[dict[str, str]], cheap: str) -> tl.Trace:
    """A trace of calls timed alone: 1 µs for a function and layout changes, 1 ms for any other."""

    def ns(function: str) -> int:
        return 1000 if function in (cheap, "to_nhwc", "to_nchw") else 1_000_000

    rows = [
        dict.fromkeys(("median_ns", "q1_ns", "q3_ns"), ns(c["function"])) | {"n_calls": 1, **c}
        for c in candidates
    ]
    return make_trace(call_costs=rows)
