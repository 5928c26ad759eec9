"""Describe a library function as data: covered operators, constraints, and how torch calls it."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from tracelens.derive.calls.constraints import NCHW, NHWC, Term

CONV, NORM, RELU, ADD, LINEAR, GELU = "conv2d", "batch_norm", "relu", "add", "linear", "gelu"
ATTENTION = "scaled_dot_product_attention"
VIEWS = frozenset(
    (
        "view",
        "_unsafe_view",
        "reshape",
        "flatten",
        "transpose",
        "t",
        "permute",
        "expand",
        "slice",
        "select",
        "unsqueeze",
        "squeeze",
        "alias",
        "detach",
        "getitem",
        "dropout",
        "split",
        "split_with_sizes",
        "chunk",
    )
)
"""Operators that move no data if they can return a view."""


class Function(Struct, frozen=True):
    """Describes a library function that covers several operators by one call.

    Each operator's result is read only by the next operator.
    """

    name: str
    library: str
    pattern: tuple[str, ...]  # the operators in order
    # Term over the tensors in0, in1 (the other summand), weight, out, view, window
    constraints: Term
    realisation: str  # torch's function for the call
    cost_key: str = ""  # function whose measured times are used, if not this one
    # Checks what a term cannot express: arguments, and which result each operator reads.
    fits: Callable[[Sequence[Any]], bool] | None = None

    @property
    def key(self) -> str:
        """Return the name of the function in measured times."""
        return self.cost_key or self.name


def dense(operand: str, layout: str) -> Term:
    """Return the constraint that a tensor is dense in the layout.

    A dimension of one element may have any stride.
    """
    shape = [("SHAPE", operand, d) for d in range(4)]
    order = (0, 1, 2, 3) if layout == NCHW else (0, 2, 3, 1)
    inner = {
        d: (
            "*",
            1,
            *(shape[later] for later in order[position + 1 :]),
        )
        for position, d in enumerate(order)
    }
    return (
        "and",
        *(
            (
                "or",
                ("==", shape[d], 1),
                ("==", ("STRIDE", operand, d), inner[d]),
            )
            for d in range(4)
        ),
    )


AS_THEY_RAN = ("and", dense("in0", NCHW), dense("out", NCHW))
"""Input and result are dense in torch's own layout."""


def alike(*operands: str) -> Term:
    """Return the constraint that tensors, given by names such as in0, are dense in one layout."""
    return (
        "or",
        *(("and", *(dense(operand, layout) for operand in operands)) for layout in (NCHW, NHWC)),
    )


SAME_KIND = (
    "and",
    ("==", ("DTYPE", "in0"), ("DTYPE", "out")),
    ("==", ("DEVICE", "in0"), ("DEVICE", "out")),
)
ALIGNED = (
    "and",
    *(("<=", 16, ("ALIGN", operand)) for operand in ("in0", "weight", "out")),
)
"""The constraint that addresses and rows are multiples of 16 bytes."""
OTHER = Function(
    "other",
    "aten",
    (),
    ("and", dense("in0", NCHW), dense("out", NCHW)),
    "as it is",
)
"""The function for an operator that no library describes.

The operator stays as recorded, in torch's default layout.
"""


def with_norm(
    name: str,
    library: str,
    ending: tuple[str, ...],
    constraints: Term,
    call: str,
) -> tuple[Function, ...]:
    """Return the function that covers a convolution, and its variant with a batch normalisation.

    The variant folds the normalisation into the weights.
    """
    return tuple(
        Function(
            f"{name}{'_bn' * bool(norm)}",
            library,
            (CONV, *norm, *ending),
            constraints,
            call,
            cost_key=name,
        )
        for norm in ((), (NORM,))
    )
