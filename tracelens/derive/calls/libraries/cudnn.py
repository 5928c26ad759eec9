"""Describe the functions of cuDNN: convolutions fused with the operators after them."""

from tracelens.derive.calls.op_catalog import (
    ADD,
    CONV,
    NORM,
    RELU,
    SAME_KIND,
    Function,
    alike,
    with_norm,
)

_CONV = ("and", alike("in0", "weight", "out"), SAME_KIND)

FUNCTIONS = (
    Function("conv", "cudnn", (CONV,), _CONV, "conv2d"),
    Function(
        "conv_bn",
        "cudnn",
        (CONV, NORM),
        _CONV,
        "conv2d",
        cost_key="conv_bias",
    ),
    *with_norm("conv_relu", "cudnn", (RELU,), _CONV, "cudnn_convolution_relu"),
    *with_norm(
        "conv_add_relu",
        "cudnn",
        (ADD, RELU),
        ("and", _CONV, alike("in1", "out")),
        "cudnn_convolution_add_relu",
    ),
)
