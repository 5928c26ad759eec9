"""The fast path of the torch reader: the slow path's frames, from kernels that read the bytes of a trace directly.

It needs numba (the extra `fast`); without it `read_fast` reads nothing and the slow path does everything.
"""

from __future__ import annotations

import importlib.util

from tracelens.capture import Diagnostics
from tracelens.collectors.torch.document import ReadEvents
from tracelens.collectors.torch.text import Text


def read_fast(text: Text, diagnostics: Diagnostics) -> ReadEvents | None:
    """The trace as the slow path gives it, with Categorical strings; None, and nothing read, where that cannot be.

    The text is left at what follows. Raises SourceError like `Document.events`.
    """
    if importlib.util.find_spec("numba") is None:
        return None
    from tracelens.collectors.torch.fast import reader  # noqa: PLC0415 - needs NumPy, which comes with numba

    return reader.read_fast(text, diagnostics)


__all__ = ["read_fast"]
