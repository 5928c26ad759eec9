"""Sizes of an Arrow stream's batches once inflated, read from their headers: Arrow would inflate any size in one piece.

A message's header is a FlatBuffers table, which Arrow has verified: Message and RecordBatch of Message.fbs.
"""

import struct
from collections.abc import Iterator

import pyarrow as pa
from pyarrow import ipc

_HEADER, _RECORD_BATCH = 2, 3
"""Places in a Message of its header, and the kind of header that is a batch of rows; dictionaries are none."""
_LENGTH, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3


def batch_bytes(stream: pa.NativeFile) -> Iterator[int]:
    """Bytes that each batch of rows becomes, by its header: those of its buffers, and eight for each of its values.

    Raises ValueError for a header that cannot be read, and for a dictionary, of which a few bytes become many.
    """
    for message in ipc.MessageReader.open_stream(stream):
        if message.type == "dictionary":
            raise ValueError("the Arrow stream has a dictionary, which nsys writes none of")
        if message.type == "record batch":
            try:
                yield _sizes(memoryview(message.metadata), memoryview(message.body))
            except (struct.error, IndexError) as error:
                raise ValueError("the header of a batch cannot be read") from error


def _sizes(head: memoryview, body: memoryview) -> int:
    batch = _indirect(head, _field(head, _indirect(head, 0), _HEADER))
    n_columns, buffers = _vector(head, batch, _NODES)[1], _vector(head, batch, _BUFFERS)
    lengths = [_int64(head, buffers[0] + 16 * k + 8) for k in range(buffers[1])]
    if _field(head, batch, _COMPRESSION):
        starts = [_int64(head, buffers[0] + 16 * k) for k in range(buffers[1])]
        lengths = [_inflated(body, at, n) for at, n in zip(starts, lengths, strict=True)]
    at = _field(head, batch, _LENGTH)
    n_rows = _int64(head, at) if at else 0
    if min(n_rows, *lengths, 0) < 0:
        raise ValueError("a batch of less than nothing")
    return sum(lengths) + 8 * n_columns * n_rows


def _inflated(body: memoryview, at: int, length: int) -> int:
    """The length that a compressed buffer begins with; -1 there: it is not compressed."""
    inflated = _int64(body, at) if length else 0
    return length if inflated == -1 else inflated


def _field(head: memoryview, table: int, number: int) -> int:
    """Where a field of a table lies; 0 where it is absent."""
    fields = table - struct.unpack_from("<i", head, table)[0]
    size = struct.unpack_from("<H", head, fields)[0]
    place = struct.unpack_from("<H", head, fields + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    return table + place if place else 0


def _indirect(head: memoryview, at: int) -> int:
    return int(at + struct.unpack_from("<I", head, at)[0])


def _vector(head: memoryview, table: int, number: int) -> tuple[int, int]:
    """Where a vector's values begin, and how many there are."""
    at = _indirect(head, _field(head, table, number))
    return at + 4, int(struct.unpack_from("<I", head, at)[0])


def _int64(head: memoryview, at: int) -> int:
    return int(struct.unpack_from("<q", head, at)[0])
