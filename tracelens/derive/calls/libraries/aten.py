"""Describe the functions of ATen, torch's library of kernels."""

from tracelens.derive.calls.constraints import NCHW, NHWC
from tracelens.derive.calls.op_catalog import (
    ADD,
    AS_THEY_RAN,
    GELU,
    NORM,
    RELU,
    VIEWS,
    Function,
    alike,
    dense,
)

AS_IS = (
    NORM,
    RELU,
    "relu6",
    "silu",
    "sigmoid",
    "hardswish",
    "hardsigmoid",
    GELU,
    "max_pool2d",
    "avg_pool2d",
    "adaptive_avg_pool2d",
    "mean",
    ADD,
    "mul",
    "cat",
)
"""Operators that torch computes in the layout of their input."""
_SAME_SHAPE = (
    "and",
    *(("==", ("SHAPE", "in0", d), ("SHAPE", "in1", d)) for d in range(4)),
)
_REPEATED = (
    "or",
    *(
        (
            "and",
            ("==", ("STRIDE", "in1", d), 0),
            ("!=", ("SHAPE", "in1", d), 1),
        )
        for d in range(4)
    ),
)
_SUMMAND = ("or", ("not", _SAME_SHAPE), _REPEATED, alike("in1", "out"))
"""The constraint that the second summand, `in1`, is broadcast or has the layout of `out`.

`in1` is broadcast if it has another shape than `in0`, or if it is repeated with a stride of 0.
"""
_OVERWRITES = (
    "and",
    ("not", ("LIVE", "in0")),
    ("not", ("FIXED", "in0")),
    (
        "not",
        ("and", ("ALIAS", "in0", "view"), ("LIVE", "view")),
    ),
)
_OVER_ROWS = ("layer_norm", "rms_norm")
"""Operators that normalise each row of a tensor.

Each is a call of its own, because torch has no function that also adds a residual.
"""
_COPIED = {"cast": "_to_copy", "copy": "clone"}

FUNCTIONS = (
    Function(
        "relu_",
        "aten",
        (RELU,),
        ("and", alike("in0", "out"), _OVERWRITES),
        "relu_",
        RELU,
    ),
    Function(
        "add_",
        "aten",
        (ADD,),
        ("and", alike("in0", "out"), _SUMMAND, _OVERWRITES),
        "add_",
        ADD,
    ),
    *(
        Function(
            op,
            "aten",
            (op,),
            ("and", alike("in0", "out"), _SUMMAND) if op == ADD else alike("in0", "out"),
            op,
        )
        for op in AS_IS
    ),
    *(Function(op, "aten", (op,), AS_THEY_RAN, op) for op in (*_OVER_ROWS, *sorted(VIEWS))),
    *(
        Function(
            name,
            "aten",
            (op,),
            AS_THEY_RAN,
            "to",
            cost_key=op,
        )
        for name, op in _COPIED.items()
    ),
    Function(
        "to_nhwc",
        "aten",
        (),
        dense("out", NHWC),
        "contiguous",
    ),
    Function(
        "to_nchw",
        "aten",
        (),
        dense("out", NCHW),
        "contiguous",
    ),
)
"""Functions of this library.

Most of them compute operators of the graph. Only `to_nhwc` and `to_nchw` compute none: the search
inserts them to change a layout. The search never inserts a cast, because every function here
accepts only the dtype of the graph.
"""
