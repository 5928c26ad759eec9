"""Calls of custom ops of inference servers and training libraries, with the arguments of 2026.

Each line of data/custom_op_calls.txt has an op and its inputs as the profiler records them: tensors
as type[sizes] (letters below), numbers and truth values as they are, `-` for None and for text.
Decoding 32 tokens unless the sizes say otherwise.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

TYPES = {
    "h": "c10::BFloat16",
    "f": "float",
    "e": "c10::Float8_e4m3fn",
    "b": "unsigned char",
    "c": "signed char",
    "i": "int",
    "l": "long int",
}
_LINES = (Path(__file__).parent / "data/custom_op_calls.txt").read_text().splitlines()
CALLS = dict(line.split(" ", 1) for line in _LINES if not line.startswith("#"))
"""Inputs by the ops' names."""


def recorded(text: str) -> dict[str, list[Any]]:
    """Return sizes, types and values of the inputs in a text, as the profiler writes them."""
    dims, types, values = [], [], []
    for word in text.split():
        tensor = re.fullmatch(r"(\w)\[([\d,]*)\]", word)
        is_value = tensor is None and word != "-"
        dims.append([int(n) for n in tensor[2].split(",")] if tensor else [])
        types.append(TYPES[tensor[1]] if tensor else "Scalar" if is_value else "")
        values.append(word if is_value else "")
    return {"Input Dims": dims, "Input type": types, "Concrete Inputs": values}


def as_texts(text: str) -> list[str | None]:
    """Return sizes, types, strides and values of the inputs in a text, as tables have them."""
    inputs = recorded(text)
    values = [json.loads(word.lower()) if word else None for word in inputs["Concrete Inputs"]]
    return [
        json.dumps(inputs["Input Dims"]),
        json.dumps(inputs["Input type"]),
        None,
        json.dumps(values),
    ]
