"""The fast path of the torch reader: the slow path's frames, from a parser in C that reads the bytes of a trace."""

from __future__ import annotations

from tracelens.collectors.torch.document import ReadEvents
from tracelens.collectors.torch.text import Text
from tracelens.native import LIBRARY
from tracelens.trace.capture import Diagnostics


def read_fast(text: Text, diagnostics: Diagnostics) -> ReadEvents | None:
    """The trace as the slow path gives it, with Categorical strings; None, and nothing read, without the library.

    The text is left at what follows. Raises SourceError like `Document.events`.
    """
    if LIBRARY is None:
        return None
    from tracelens.collectors.torch.fast import reader  # noqa: PLC0415 - most commands read no trace file

    return reader.read_fast(text, diagnostics)


__all__ = ["read_fast"]
