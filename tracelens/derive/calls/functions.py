"""The library description: functions as data, with what they cover, demand and are realised by in torch on CUDA."""

from __future__ import annotations

from dataclasses import dataclass

from tracelens.derive.calls.terms import NCHW, NHWC, Term

CONV, NORM, RELU, ADD, LINEAR = "conv2d", "batch_norm", "relu", "add", "linear"
VIEWS = frozenset((
    "view", "_unsafe_view", "reshape", "flatten", "transpose", "t", "permute", "expand", "slice", "select", "unsqueeze",
    "squeeze", "alias", "detach", "getitem", "dropout",
))  # fmt: skip
"""Operators that move nothing where they can return a view."""
AS_IS = (
    NORM, RELU, "relu6", "silu", "sigmoid", "hardswish", "hardsigmoid", "gelu", "max_pool2d", "avg_pool2d",
    "adaptive_avg_pool2d", "mean", ADD, "mul", "cat",
)  # fmt: skip
"""Operators that torch computes in the layout of their input."""


@dataclass(frozen=True, slots=True)
class Function:
    """A call that covers operators which follow each other, each the only reader of the one before.

    `constraint` is over the places in0, in1 (the other summand), weight, out and view (a tensor in in0's memory).
    `cost_key` is the function whose measured times are its own: in place, a call takes as long as not.
    """

    name: str
    library: str
    covers: tuple[str, ...]
    constraint: Term
    realisation: str
    cost_key: str = ""
    is_transforming: bool = False

    @property
    def key(self) -> str:
        """The name under which its times are known."""
        return self.cost_key or self.name


def dense(place: str, layout: str) -> Term:
    """Whether a tensor is dense in the layout; a dimension of one element has any stride."""
    shape = [("SHAPE", place, d) for d in range(4)]
    order = (0, 1, 2, 3) if layout == NCHW else (0, 2, 3, 1)
    inner = {d: ("*", 1, *(shape[later] for later in order[at + 1 :])) for at, d in enumerate(order)}
    return ("and", *(("or", ("==", shape[d], 1), ("==", ("STRIDE", place, d), inner[d])) for d in range(4)))


def alike(*places: str) -> Term:
    """Whether all are dense in the same layout."""
    return ("or", *(("and", *(dense(place, layout) for place in places)) for layout in (NCHW, NHWC)))


_SAME_SHAPE = ("and", *(("==", ("SHAPE", "in0", d), ("SHAPE", "in1", d)) for d in range(4)))
_SAME_KIND = ("and", ("==", ("DTYPE", "in0"), ("DTYPE", "out")), ("==", ("DEVICE", "in0"), ("DEVICE", "out")))
_REPEATED = ("or", *(("and", ("==", ("STRIDE", "in1", d), 0), ("!=", ("SHAPE", "in1", d), 1)) for d in range(4)))
_SUMMAND = ("or", ("not", _SAME_SHAPE), _REPEATED, alike("in1", "out"))
"""A summand has the layout of the result, unless it is broadcast: of a smaller shape, or with a stride of 0."""
_OVERWRITES = (
    "and", ("not", ("LIVE", "in0")), ("not", ("FIXED", "in0")),
    ("not", ("and", ("ALIAS", "in0", "view"), ("LIVE", "view"))),
)  # fmt: skip
_ONE_BY_ONE = (
    "and", dense("in0", NHWC), dense("out", NHWC),
    *(("==", ("SHAPE", "weight", d), 1) for d in (2, 3)), ("==", ("SHAPE", "weight", 1), ("SHAPE", "in0", 1)),
    *(("==", ("SHAPE", "in0", d), ("SHAPE", "out", d)) for d in (2, 3)),
)  # fmt: skip
_ALIGNED = ("and", *(("<=", 16, ("ALIGN", place)) for place in ("in0", "weight", "out")))
_CONV = ("and", alike("in0", "weight", "out"), _SAME_KIND)


def _fused(name: str, ending: tuple[str, ...], constraint: Term, realisation: str) -> tuple[Function, ...]:
    """A function on a convolution, and the same on one whose batch normalisation is folded into its weights."""
    return tuple(
        Function(f"{name}{'_bn' * bool(norm)}", "cudnn", (CONV, *norm, *ending), constraint, realisation, cost_key=name)
        for norm in ((), (NORM,))
    )


TORCH = (
    Function("relu_", "aten", (RELU,), ("and", alike("in0", "out"), _OVERWRITES), "relu_", RELU),
    Function("add_", "aten", (ADD,), ("and", alike("in0", "out"), _SUMMAND, _OVERWRITES), "add_", ADD),
    Function("conv", "cudnn", (CONV,), _CONV, "conv2d"),
    Function("conv_bn", "cudnn", (CONV, NORM), _CONV, "conv2d", cost_key="conv_bias"),
    *_fused("conv_relu", (RELU,), _CONV, "cudnn_convolution_relu"),
    *_fused("conv_add_relu", (ADD, RELU), ("and", _CONV, alike("in1", "out")), "cudnn_convolution_add_relu"),
    *_fused("conv_as_gemm", (), ("and", _ONE_BY_ONE, _SAME_KIND), "addmm"),
    *_fused("conv_as_gemm_relu", (RELU,), ("and", _ONE_BY_ONE, _SAME_KIND, _ALIGNED), "_addmm_activation"),
    Function("linear", "cublas", (LINEAR,), _SAME_KIND, "linear"),
    Function("linear_relu", "cublas", (LINEAR, RELU), ("and", _SAME_KIND, _ALIGNED), "_addmm_activation"),
    *(
        Function(op, "aten", (op,), ("and", alike("in0", "out"), _SUMMAND) if op == ADD else alike("in0", "out"), op)
        for op in AS_IS
    ),
    *(Function(op, "aten", (op,), ("and", dense("in0", NCHW), dense("out", NCHW)), op) for op in sorted(VIEWS)),
    Function("to_nhwc", "aten", (), dense("out", NHWC), "contiguous", is_transforming=True),
    Function("to_nchw", "aten", (), dense("out", NCHW), "contiguous", is_transforming=True),
)
"""The first set; every one exists in torch, so that what is advised can be applied."""
OTHER = Function("other", "aten", (), ("and", dense("in0", NCHW), dense("out", NCHW)), "as it is")
"""The function for an operator that the library does not describe: as it ran, in the layout torch makes by default."""
