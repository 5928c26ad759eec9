"""Describe attention: a fused call for two matrix products with a softmax between them."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

from tracelens.derive.calls.op_catalog import ADD, AS_THEY_RAN, ATTENTION, Function

_SCALES: tuple[tuple[str, ...], ...] = ((), ("div",), ("mul",))
_MASKS: tuple[tuple[str, ...], ...] = ((), (ADD,))


def is_attention(nodes: Sequence[Any]) -> bool:
    """Return whether nodes of the pattern compute softmax(query · key + mask) · value."""
    first, last = nodes[0], nodes[-1]
    # Each node reads the scores of the previous node. A scale is one number. A mask is not larger
    # than the scores. The softmax runs along the keys.
    scores = first.shape
    for node, before in zip(
        nodes[1:-1],
        nodes[:-2],
        strict=True,
    ):
        _, shapes, arguments = json.loads(node.call)
        if node.shape != scores or node.inputs[0] != before.name:
            return False
        if node.op in ("div", "mul") and shapes[1:] != [[]]:
            return False
        if node.op == "softmax" and arguments not in ([-1], [len(scores) - 1]):
            return False
    return len(scores) == 4 and last.inputs[0] == nodes[-2].name


def attention_call(nodes: Sequence[Any]) -> str:
    """Return the fused call for a benchmark, as JSON with the shapes of query, key, value, mask."""
    query, transposed_key = _shapes_of(nodes[0])
    value = _shapes_of(nodes[-1])[1]
    *batch, width, length = transposed_key
    key = [*batch, length, width]
    masks = [_shapes_of(node)[1] for node in nodes if node.op == ADD]
    if not masks:
        masks = [[]]
    shapes = [query, key, value, *masks]
    return json.dumps([ATTENTION, shapes, []])


def _shapes_of(node: Any) -> list[Any]:
    """Return the shapes of the tensors in a node's call."""
    shapes: list[Any] = json.loads(node.call)[1]
    return shapes


FUNCTIONS = tuple(
    Function(
        "_".join(("attention", *scale, *("masked" for _ in mask))),
        "aten",
        ("matmul", *scale, *mask, "softmax", "matmul"),
        AS_THEY_RAN,
        ATTENTION,
        cost_key=ATTENTION,
        fits=is_attention,
    )
    for scale, mask in itertools.product(_SCALES, _MASKS)
)
