"""The fast path of the torch reader: the slow path's frames, from kernels that read the bytes of a trace directly.

It needs numba (the extra `fast`); without it `read_fast` reads nothing and the slow path does everything.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from tracelens.capture import Diagnostics
from tracelens.collectors.torch.stream import ByteSource

if TYPE_CHECKING:
    from tracelens.collectors.torch.fast.reader import FastResult


def read_fast(source: ByteSource, diagnostics: Diagnostics) -> FastResult | None:
    """The trace as the slow path gives it, with Categorical strings; None, and nothing read, where that cannot be."""
    if importlib.util.find_spec("numba") is None:
        return None
    from tracelens.collectors.torch.fast import reader  # noqa: PLC0415 - needs NumPy, which comes with numba

    return reader.read_fast(source, diagnostics)


__all__ = ["read_fast"]
