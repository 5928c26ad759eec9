"""Recorded inputs of ops, and what a call with them moves and computes."""

import json
from typing import Any

from tracelens.derive.kernels.op_work import work_of

F, H, L = "float", "c10::BFloat16", "long int"
C = "c10::complex<float>"
FP8, BYTE = "c10::Float8_e4m3fn", "unsigned char"
FP4 = "c10::Float4_e2m1fn_x2"
S, LIST, NONE = "Scalar", "ScalarList", ""
Inputs = list[tuple[Any, str, Any]]


def moved(
    name: str, inputs: Inputs, strides: list[Any] | None = None, of: str | None = None
) -> Any:
    """Return the least bytes and operations of a call; inputs are (sizes, type, value)."""
    shapes, words, values = zip(*inputs, strict=True)
    texts = [json.dumps(each) for each in (shapes, words, strides or [], values)]
    work = work_of(name, texts, of)
    return work and (work.least_bytes, work.needed_flops)


def tensor(*sizes: int, of: str = F) -> tuple[Any, str, Any]:
    return list(sizes), of, None


def value(number: Any, of: str = S) -> tuple[Any, str, Any]:
    return [], of, number
