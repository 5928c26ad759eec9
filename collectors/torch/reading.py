"""The traces of a file one after another, each read by the C parser if compiled, else by msgspec."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tracelens.collectors.torch.columns import RawEvents
from tracelens.collectors.torch.document import BLOCK_BYTES, Document, ReadEvents, what_follows
from tracelens.collectors.torch.native import read_native
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.text import Text
from tracelens.errors import SourceError
from tracelens.trace.capture import Diagnostics

Reader = Callable[[Text, Diagnostics], ReadEvents]


def read_plainly(text: Text, diagnostics: Diagnostics) -> ReadEvents:
    """One trace out of the text, which is left after its end, decoded by msgspec: this defines a trace's meaning.

    Raises NoTraceError when this is no Chrome trace.
    """
    document, collected = Document(text, diagnostics), RawEvents(diagnostics)
    for events in document.events():
        collected.add(events)
    frames = collected.frames()
    return ReadEvents(frames, document.facts, document.complete, document.n_events, collected.has_fractions, "msgspec")


def read_either(text: Text, diagnostics: Diagnostics) -> ReadEvents:
    """One trace out of the text, read by the C parser if compiled."""
    return read_native(text, diagnostics) or read_plainly(text, diagnostics)


def read_documents(
    source: ByteSource, diagnostics: Diagnostics, reader: Reader = read_either
) -> Iterator[tuple[ReadEvents, Diagnostics]]:
    """Each trace of a file with its diagnostics; the first one's are `diagnostics`.

    Text after a trace that is no further trace is counted with the trace before it, and ends the reading. Raises
    SourceError when the file does not begin with a trace.
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
