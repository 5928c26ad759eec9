"""Describe a call's tensors to the constraint solver: shape, strides and alignment."""

import json
import math
from collections.abc import Sequence

from tracelens.derive.calls.call_graph import Node
from tracelens.derive.calls.constraints import (
    NCHW,
    Facts,
    strides_of,
)
from tracelens.derive.calls.op_catalog import CONV, LINEAR


def places_of(
    covered: Sequence[Node],
    inputs: Sequence[Node],
    layouts: Sequence[str],
) -> dict[str, Facts]:
    """Return the properties of a call's tensors by name.

    - in0, in1: the nodes `inputs` with their layouts; in1 is in0 if there is no second input
    - weight: in the layout of in0
    - window: a convolution's strides and padding
    - out: the result of the `covered` nodes
    """
    given = list(zip(inputs, layouts, strict=True))
    places = {
        f"in{number}": _facts(node.shape, layout) for number, (node, layout) in enumerate(given)
    }
    if "in0" not in places:  # the call reads only parameters
        places["in0"] = _facts(covered[0].shape, NCHW)
    if "in1" not in places:
        places["in1"] = places["in0"]
    if covered[0].op in (CONV, LINEAR):
        weight = covered[0].weight
        places["weight"] = (
            _facts(weight, layouts[0] if layouts else NCHW) if weight else places["in0"]
        )
    if covered[0].op == CONV:
        places["window"] = Facts(
            _strides_and_paddings(covered[0]),
            (1, 1, 1, 1),
        )
    out = _facts(covered[-1].shape, None)
    if out.shape[1:] == (1, 1, 1):  # a tensor of one dimension has only one layout
        out = _facts(covered[-1].shape, NCHW)
    return {**places, "out": out}


def _facts(shape: tuple[int, ...], layout: str | None) -> Facts:
    """Return the properties of a tensor with this shape and layout.

    A shape without four dimensions is replaced by one long dimension.
    """
    four = shape if len(shape) == 4 else (math.prod(shape), 1, 1, 1)
    inner = shape[1 if len(shape) == 4 else -1] if shape else 1
    align = 16 if inner % 4 == 0 else 4
    return Facts(
        four,
        None if layout is None else strides_of(four, layout),
        align=align,
    )


def _strides_and_paddings(node: Node) -> tuple[int, ...]:
    """Return the two strides and the two paddings of a convolution, zeros if not recorded."""
    arguments = json.loads(node.call)[2]
    strides_and_padding = [value for value in arguments[:2] if isinstance(value, list)]
    if len(strides_and_padding) != 2:
        return (0, 0, 0, 0)
    pairs = [value * 2 if len(value) == 1 else value for value in strides_and_padding]
    return tuple(number for pair in pairs for number in pair)


def is_flat(node: Node) -> bool:
    """Return whether the tensor has only one possible layout."""
    return len(node.shape) != 4
