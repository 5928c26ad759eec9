"""Convolutions and poolings of traces without values of arguments, by hand."""

import json
from typing import Any

import pytest

from tests.cases import make_trace
from tracelens.analyses import roofline
from tracelens.derive.kernels.unrecorded_values import ASSUMED

CONV, POOL, BACKWARD = "cudnn_convolution", "max_pool2d_with_indices", "convolution_backward"
N_INPUTS = {CONV: 9, POOL: 6, BACKWARD: 11}
X, WEIGHT = [2, 3, 8, 8], [4, 3, 3, 3]


def op(name: str, *shapes: list[int], at: int, thread: int = 1) -> dict[str, Any]:
    rest = N_INPUTS.get(name, len(shapes)) - len(shapes)
    return {
        "name": f"aten::{name}",
        "kind": "op",
        "thread_id": thread,
        "start_ns": at,
        "duration_ns": 5,
        "input_shapes": json.dumps([*shapes, *[[]] * rest]),
        "input_dtypes": json.dumps(["float"] * len(shapes) + ["Scalar"] * rest),
    }


def work(*spans: dict[str, Any]) -> tuple[float, float, bool] | None:
    """FLOPs and bytes of the first op, and whether its row tells what is assumed."""
    trace = make_trace(spans=list(spans), kernels=[{"span_id": 0, "duration_ns": 1}])
    rows = roofline(trace).filter(op=spans[0]["name"])
    return (
        (rows["flops"][0], rows["least_bytes"][0], ASSUMED in rows["evidence"][0])
        if rows.height
        else None
    )


@pytest.mark.parametrize(
    ("size", "n_results"),
    [(8, 64), (6, 36), (4, 16), (3, 9)],  # padding of one or none; a stride of two; of three
)
def test_a_convolutions_result_is_read_by_the_next_op(size: int, n_results: int) -> None:
    """2 pictures, 4 channels, each number a sum over 27 products."""
    result = [2, 4, size, size]
    found = work(op(CONV, X, WEIGHT, at=0), op("relu", result, at=10))
    n_written = 2 * 4 * n_results
    assert found == (2 * n_written * 27, 4 * (2 * 3 * 64 + 4 * 27 + n_written), True)


def test_only_what_the_call_may_have_made_is_its_result() -> None:
    """A larger result, other channels, another thread's op and an earlier one are none."""
    others = [
        op("relu", [2, 4, 11, 11], at=10),
        op("relu", [2, 5, 4, 4], at=11),
        op("relu", [2, 4, 4, 4], at=12, thread=2),
        op("relu", [2, 4, 4, 4], at=2),
    ]
    assert work(op(CONV, X, WEIGHT, at=0), *others) is None
    read = op("cat", [2, 4, 6, 6], at=13)
    in_a_list = read | {"input_shapes": "[[[2, 1, 6, 6], [2, 4, 6, 6]], []]"}
    found = work(op(CONV, X, WEIGHT, at=0), *others, in_a_list)
    assert found is not None
    assert found[0] == 2 * 2 * 4 * 36 * 27


def test_recorded_values_come_first() -> None:
    """A stride of one without padding makes 6 × 6, whatever the next op reads."""
    values = [None, None, [0, 0], [1, 1], [1, 1], 1, False, False, True]
    recorded = op(CONV, X, WEIGHT, at=0) | {"concrete_inputs": json.dumps(values)}
    found = work(recorded, op("relu", [2, 4, 4, 4], at=10))
    assert found == (2 * 2 * 4 * 36 * 27, 4 * (2 * 3 * 64 + 4 * 27 + 2 * 4 * 36), False)


def test_a_poolings_result_is_read_by_the_next_op() -> None:
    """Maxima of 4 bytes, and indices of 8."""
    found = work(op(POOL, X, at=0), op("relu", [2, 3, 4, 4], at=10))
    assert found == (0, 4 * 2 * 3 * 64 + (4 + 8) * 2 * 3 * 16, True)


@pytest.mark.parametrize(("reads_input", "n_products"), [(True, 2), (False, 1)])
def test_gradients_that_ops_read_were_asked_for(reads_input: bool, n_products: int) -> None:
    """The weights' gradient goes to its parameter; a picture has none, and nothing reads it.

    The next step's pass has the same sizes, and must not count as a reader.
    """
    passes = [op(BACKWARD, [2, 4, 4, 4], X, WEIGHT, at=at) for at in (0, 100)]
    readers = [op("detach", WEIGHT, at=20)] + [op("relu", X, at=10)] * reads_input
    found = work(passes[0], *readers, passes[1])
    assert found is not None
    assert found[0] == n_products * 2 * 2 * 4 * 16 * 27
