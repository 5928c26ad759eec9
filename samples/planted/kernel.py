"""A Triton kernel that is compiled once for each value of its constant."""

import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def scale(x, FACTOR: tl.constexpr, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201, N803 - as Triton has it
    """Multiply by a constant that differs in every call."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) * (1.0 + FACTOR * 1e-12))
