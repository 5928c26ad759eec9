"""Make the rows of a model's graph, and name their operators."""

from __future__ import annotations

from typing import Any

NAMES = {
    "_native_batch_norm_legit_no_training": "batch_norm",
    "cudnn_batch_norm": "batch_norm",
    "hardtanh": "relu6",
}
"""Names that programs use for operators, by the operators' names in torch's graphs."""
_WORDS = ("none", "tanh")
"""The only texts that are kept as arguments: GELU's approximations. Others may be secret."""


def graph_row(
    node: str,
    op: str,
    inputs: list[str | None],
    arguments: list[Any],
) -> dict[str, Any]:
    """Return a row of the graph. Columns that describe the node's result are None."""
    return {
        "node": node,
        "op": op,
        "inputs": inputs,
        "arguments": [argument if _is_plain(argument) else None for argument in arguments],
        "shape": None,
        "dtype": None,
        "strides": None,
        "alias_of": None,
        "is_input": op == "input",
        "is_output": False,
        "module_path": None,
    }


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number, a truth value, a text in `_WORDS`, or a list of these."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return value in _WORDS
    return type(value) in (bool, int, float)


def bare_name(name: str) -> str:
    """Return an operator's name without namespace, and without the `_` of in-place operators."""
    name = name.removeprefix("aten::")
    return name if name.startswith("_") else name.removesuffix("_")
