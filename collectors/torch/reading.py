"""The traces of a file one after another, each by compiled kernels where they are there, else by msgspec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tracelens.collectors.torch.document import BLOCK_BYTES, ReadEvents, what_follows
from tracelens.collectors.torch.fast import read_fast
from tracelens.collectors.torch.slow import read_slow
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.text import Text
from tracelens.errors import SourceError
from tracelens.trace.capture import Diagnostics

Reader = Callable[[Text, Diagnostics], ReadEvents]


def read_either(text: Text, diagnostics: Diagnostics) -> ReadEvents:
    """One trace out of the text, whichever way it can be read; the frames are the same."""
    return read_fast(text, diagnostics) or read_slow(text, diagnostics)


def read_documents(
    source: ByteSource, diagnostics: Diagnostics, reader: Reader = read_either
) -> Iterator[tuple[ReadEvents, Diagnostics]]:
    """Each trace of a file with what is to be said of it; of the first, that is `diagnostics`.

    What follows a trace and is none is counted with the trace before it, and ends the reading. Raises SourceError when
    the file does not begin with a trace.
    """
    text = Text(source.blocks(BLOCK_BYTES), str(source.path))
    said = diagnostics
    read = reader(text, said)
    while what_follows(text):
        following = Diagnostics()
        source.diagnostics = following
        try:
            after = reader(text, following)
        except SourceError:
            source.diagnostics = said
            if source.failed:
                raise
            what = "text after the end of the trace that is no other trace, and was not read"
            said.add("loss", "text_after_trace", what)
            while text.more():
                text.at = len(text.data)
            break
        yield read, said
        read, said = after, following
    if source.cut:
        read = replace(read, complete=False)
    yield read, said
