"""The slow path of the torch reader: every event through msgspec, into the frames that define what a trace means."""

from __future__ import annotations

from tracelens.collectors.torch.columns import RawEvents
from tracelens.collectors.torch.document import Document, ReadEvents
from tracelens.collectors.torch.text import Text
from tracelens.trace.capture import Diagnostics

# Frames of a few events cost as much as frames of thousands.
_AT_ONCE = 16 << 20


def read_slow(text: Text, diagnostics: Diagnostics) -> ReadEvents:
    """One trace out of the text, which is left at what follows it. Raises SourceError when this is no Chrome trace."""
    document = Document(text, diagnostics)
    collected = RawEvents(diagnostics)
    begun = text.place
    for batch in document.events():
        collected.add(batch)
        if text.place - begun >= _AT_ONCE:
            collected.flush()
            begun = text.place
    frames = collected.frames()
    return ReadEvents(
        frames, document.facts, document.complete, document.n_events, collected.has_fractions, path="msgspec"
    )
