"""Read a trace by the fast path and by the slow path, and compare what they return."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tracelens.collectors.torch.document import ReadEvents
from tracelens.collectors.torch.reading import read_documents, read_native, read_plainly
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.text import Text
from tracelens.errors import SourceError
from tracelens.trace.capture import Diagnostics


class Pieces(ByteSource):
    """Bytes as a source that yields pieces of one size."""

    def __init__(self, content: bytes, piece_bytes: int) -> None:
        super().__init__(Path("trace.json"), Diagnostics())
        self._content, self._piece_bytes = content, piece_bytes

    def blocks(self, block_bytes: int) -> Iterator[bytes]:  # noqa: ARG002 - the size is given
        """Yield the pieces, whatever size is asked for."""
        for at in range(0, len(self._content), self._piece_bytes):
            yield self._content[at : at + self._piece_bytes]


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with categories as strings, and integers of one width."""
    return frame.with_columns(
        pl.col(pl.Categorical).cast(pl.String), pl.selectors.integer().cast(pl.Int64)
    )


def assert_same(
    fast: tuple[ReadEvents, Diagnostics], other: tuple[ReadEvents, Diagnostics]
) -> None:
    """Check that every cell, fact and count is the same."""
    (one, said_one), (two, said_two) = fast, other
    assert said_one.counts == said_two.counts
    assert said_one.texts == said_two.texts
    assert (one.n_events, one.complete, one.facts) == (two.n_events, two.complete, two.facts)
    assert one.has_fractions == two.has_fractions
    assert set(one.frames) == set(two.frames)
    for name, frame in two.frames.items():
        assert_frame_equal(plain(one.frames[name]), plain(frame))


Found = list[tuple[ReadEvents, Diagnostics]] | SourceError


def read_slowly(source: ByteSource) -> Found:
    """The traces as the slow path reads them, or its error."""
    try:
        return list(read_documents(source, source.diagnostics, read_plainly))
    except SourceError as error:
        return error


def assert_read_fast(source: ByteSource, expected: Found, **how: Any) -> None:
    """Assert that the fast path reads the same traces, or fails with the same words."""

    def fast(text: Text, said: Diagnostics) -> ReadEvents:
        read = read_native(text, said, **how)
        assert read is not None
        return read

    try:
        found = list(read_documents(source, source.diagnostics, fast))
    except SourceError as error:
        assert str(error) == str(expected)  # noqa: PT017 - both are looked at
        return
    assert not isinstance(expected, SourceError), expected
    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        assert_same(one, two)


def same_of_bytes(content: bytes, piece_bytes: int, **how: Any) -> None:
    """Compare both paths on bytes in pieces; the size of the pieces must not matter."""
    assert_read_fast(
        Pieces(content, piece_bytes), read_slowly(Pieces(content, len(content) or 1)), **how
    )


def same_of_file(path: Path, *ways: dict[str, Any]) -> None:
    """Compare what the fast path reads of a file in each of these ways, or as it is by default."""
    expected = read_slowly(ByteSource(path, Diagnostics()))
    for how in ways or ({},):
        assert_read_fast(ByteSource(path, Diagnostics()), expected, **how)


# --- traces nobody writes ---

VALUES = (
    "0",
    "1",
    "-1",
    "-0",
    "7",
    "12",
    "007",
    "-0.0",
    "0.0",
    "1.5",
    "2.0",
    "-2.5",
    "1e3",
    "1E-2",
    "1e999",
    "1.",
    ".5",
    "+1",
    "-",
    "123456789.123",
    "1700000000000000.001",
    "1700000000000000.0015",
    "1700000000000000.0025",
    "5.1234567",
    "2305843009213693.9",
    "9223372036854775807",
    "999999999999999999",
    "1000000000000000000",
    "18446744073709551616",
    "9007199254740993.25",
    "0.1234567890123456789",
    "null",
    "true",
    "false",
    "nul",
    "NaN",
    "inf",
    "N/A",
    "[]",
    "{}",
    "[1,2,3]",
    "[ 1 , 2 ,3 ]",
    "[1,2]",
    "[1,2,-3]",
    "[1,2,2147483648]",
    "[[1,2],[3]]",
    '[[1, [2\n, "a"]], []]',
    '{"a": [1, {"b": null}]}',
    "[1,]",
    "[1 2]",
    "[\x0c1]",
    '"5"',
    '"-5"',
    '"007"',
    '""',
    '"a"',
    '"stream 7"',
    '"x-3"',
    '"12 34"',
    '"a\\"b"',
    '"a\\\\"',
    '"C:\\\\x\\\\y"',
    '"\\/"',
    '"\\u0041"',
    '"\\ud83d\\ude00"',
    '"\\ud83d"',
    '"\\q"',
    '"caf\u00e9"',
    '"\U0001f600"',
    '"a\x01"',
    '"nn.Module: A_0"',
    '"ProfilerStep#3"',
    '"[memory]"',
    '"X"',
    '"cpu_op"',
    '"kernel"',
    '"\\u006bernel"',
    '"}, {\\"ph\\": 1"',
    '"' + "long " * 20 + '"',
    "[" * 70 + "]" * 70,
)
BYTES = (b'"caf\xe9"', b'"\xed\xa0\x80"', b'"\xf0\x9f\x98"', b'["\xff"]')
PHASES = ('"X"',) * 6 + ('"C"', '"i"', '"M"', '"s"', '"f"', '"B"', '""', "null", "1", '"\\u0058"')
CATEGORIES = (
    "cpu_op",
    "Operator",
    "user_annotation",
    "python_function",
    "overhead",
    "cuda_runtime",
    "cuda_driver",
    "Runtime",
    "kernel",
    "Kernel",
    "gpu_memcpy",
    "gpu_memset",
    "cuda_sync",
    "ac2g",
    "gpu_user_annotation",
    "Trace",
    "",
)
NAMES = (
    '"aten::mm"',
    '"nn.Module: Linear_0"',
    '"ProfilerStep#12"',
    '"[memory]"',
    '"Memcpy HtoD"',
    '"k<1, 2>"',
)


@st.composite
def events(draw: st.DrawFn) -> bytes:
    """Draw an event, usually whole. Known and unknown keys have values of all sorts."""
    from tracelens.collectors.torch.fields import ARG_KEYS, EVENT_KEYS  # noqa: PLC0415

    values = st.sampled_from(VALUES).map(str.encode) | st.sampled_from(BYTES)
    known = {
        "ph": draw(st.sampled_from(PHASES)).encode(),
        "cat": json_string(draw(st.sampled_from(CATEGORIES))),
        "name": draw(st.sampled_from(NAMES)).encode(),
        "pid": b"1",
        "tid": b"2",
        "ts": b"%d.%03d" % (draw(st.integers(0, 10**16)), draw(st.integers(0, 999))),
        "dur": b"%d" % draw(st.integers(0, 10**6)),
    }
    for key in draw(st.lists(st.sampled_from([*EVENT_KEYS, "id", "bp", "extra"]), max_size=2)):
        known[key] = draw(values)
    for key in draw(st.lists(st.sampled_from(list(known)), max_size=1)):
        del known[key]
    arguments = [
        json_string(key) + b": " + draw(values)
        for key in draw(st.lists(st.sampled_from([*ARG_KEYS, "cbid", "other", "ph"]), max_size=6))
    ]
    if "args" not in known and draw(st.booleans()):
        known["args"] = b"{" + b", ".join(arguments) + b"}"
    between = draw(st.sampled_from([b", ", b",", b"\n  ,\n", b" , "]))
    items = [
        json_string(key) + draw(st.sampled_from([b": ", b":", b" : "])) + value
        for key, value in known.items()
    ]
    return b"{" + between.join(items) + draw(st.sampled_from([b"", b"\n", b" "])) + b"}"


def json_string(text: str) -> bytes:
    """Return the text in quotes."""
    return b'"' + text.encode() + b'"'


CHANGES = (
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b" ",
    b"\n",
    b"\0",
    b"\xff",
    b"\xc3\xa9",
    b"0",
    b"9",
    b"-",
    b".",
    b"e5",
    b"null",
    b"nan",
    b"N/A",
    b'},{"ph":',
    b'}, {"name": ',
    b"]}",
    b'"ph": "X"',
    b"\\u00e9",
    b"\\ud800",
    b"\x7f",
)


def changed(draw: st.DrawFn, content: bytes, most: int) -> bytes:
    """Draw a damaged copy of the content: bytes inserted or removed, perhaps cut short."""
    text = bytearray(content)
    for _ in range(draw(st.integers(0, most))):
        at = draw(st.integers(0, len(text)))
        text[at : at + draw(st.integers(0, 3))] = draw(st.sampled_from(CHANGES) | st.just(b""))
    if draw(st.integers(0, 3)) == 0:
        del text[draw(st.integers(0, len(text))) :]
    return bytes(text)


@st.composite
def traces(draw: st.DrawFn, most_events: int = 8, most_changes: int = 2) -> bytes:
    """Draw a trace of odd events in any layout, possibly damaged and possibly cut."""
    between = draw(st.sampled_from([b",", b",\n", b", ", b"\n,\n  "]))
    listed = between.join(draw(st.lists(events(), max_size=most_events)))
    head, tail = draw(
        st.sampled_from(
            [
                (b'{"schemaVersion": 1, "traceEvents": [', b'], "with_stack": 1}'),
                (b'{"traceEvents" : [\n', b'\n], "traceName": "t", "displayTimeUnit": "ms"}\n'),
                (b"[", b"]"),
                (b'{"traceEvents": [', b",]}"),
                (b'{"traceEvents": [', b']}{"traceEvents": [{"ph": "X"}]}'),
                (b'{"traceEvents": [', b'], "more": [{"ph": "X"}, {"ph": "X", "ts": 1}]}'),
            ]
        )
    )
    return changed(draw, head + listed + tail, most_changes)
