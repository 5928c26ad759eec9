"""Describe the functions of cuBLAS: matrix products and their epilogues.

The matrix products include 1×1 convolutions.
"""

import json
from collections.abc import Sequence
from typing import Any

from tracelens.derive.calls.constraints import NCHW, NHWC
from tracelens.derive.calls.op_catalog import (
    ADD,
    ALIGNED,
    GELU,
    LINEAR,
    RELU,
    SAME_KIND,
    Function,
    dense,
    with_norm,
)

_WINDOW = tuple(("==", ("SHAPE", "window", d), wanted) for d, wanted in enumerate((1, 1, 0, 0)))
_ONE_BY_ONE = (
    "and",
    *(("==", ("SHAPE", "weight", d), 1) for d in (2, 3)),
    ("==", ("SHAPE", "weight", 1), ("SHAPE", "in0", 1)),
    *_WINDOW,
    SAME_KIND,
)
"""The constraint for a 1×1 convolution with stride 1, no padding and one group."""
_ROWS = ("and", _ONE_BY_ONE, dense("in0", NHWC), dense("out", NHWC))
_ONE_IMAGE = (
    "and",
    _ONE_BY_ONE,
    ("==", ("SHAPE", "in0", 0), 1),
    dense("in0", NCHW),
    dense("out", NCHW),
)
"""The constraint for the 1×1 convolution of a single image in NCHW.

Each pixel of the image is a column of the matrix. So the bias is one number per row, and no cuBLAS
epilogue adds such a bias.
"""


def _adds_instead_of_a_bias(nodes: Sequence[Any]) -> bool:
    """Return whether a product without a bias is followed by the addition of a tensor.

    The tensor must have the shape of the product. One call of cuBLAS can add either a bias or such
    a tensor.
    """
    product, total = nodes
    return (
        not json.loads(product.call)[1][2] and json.loads(total.call)[1] == [list(total.shape)] * 2
    )


def _is_approximate(nodes: Sequence[Any]) -> bool:
    """Return whether the GELU is the tanh approximation, the only GELU of cuBLAS."""
    return bool(json.loads(nodes[-1].call)[2] == ["tanh"])


FUNCTIONS = (
    *with_norm("conv_as_gemm", "cublas", (), ("or", _ROWS, _ONE_IMAGE), "addmm"),
    *with_norm(
        "conv_as_gemm_relu",
        "cublas",
        (RELU,),
        ("and", _ROWS, ALIGNED),
        "_addmm_activation",
    ),
    Function("linear", "cublas", (LINEAR,), SAME_KIND, "linear"),
    Function(
        "linear_add",
        "cublas",
        (LINEAR, ADD),
        SAME_KIND,
        "addmm",
        fits=_adds_instead_of_a_bias,
    ),
    Function(
        "linear_relu",
        "cublas",
        (LINEAR, RELU),
        ("and", SAME_KIND, ALIGNED),
        "_addmm_activation",
    ),
    Function(
        "linear_gelu",
        "cublas",
        (LINEAR, GELU),
        ("and", SAME_KIND, ALIGNED),
        "_addmm_activation",
        fits=_is_approximate,
    ),
)
