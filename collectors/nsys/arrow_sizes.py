"""Read from the headers of an Arrow stream how many bytes its batches take in memory.

Headers are FlatBuffers tables: see Message and RecordBatch in Arrow's Message.fbs.
"""

import struct
from collections.abc import Iterator

import pyarrow as pa
from pyarrow import ipc

_HEADER = 2
"""Field number of a Message's `header`, which is a RecordBatch if the message has rows."""
_LENGTH, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3


def batch_bytes(stream: pa.NativeFile) -> Iterator[int]:
    """Yield how many bytes each batch of rows takes in memory, as its header says.

    Raises ValueError if a header cannot be read, or if the stream has a dictionary.
    """
    # Arrow would inflate a buffer of any size, so the sizes are read first. Arrow itself verifies
    # the header.
    for message in ipc.MessageReader.open_stream(stream):
        if message.type == "dictionary":
            # A dictionary may be far larger in memory than in the file.
            raise ValueError("the Arrow stream has a dictionary, which nsys never writes")
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
        lengths = [_inflated(body, start, n) for start, n in zip(starts, lengths, strict=True)]
    start = _field(head, batch, _LENGTH)
    n_rows = _int64(head, start) if start else 0
    if min(n_rows, *lengths, 0) < 0:
        raise ValueError("a batch has a negative size")
    return sum(lengths) + 8 * n_columns * n_rows


def _inflated(body: memoryview, offset: int, length: int) -> int:
    """Return the size of a buffer after inflation, from its prefix of 8 bytes.

    A prefix of -1 means that the buffer is stored without compression.
    """
    inflated = _int64(body, offset) if length else 0
    return length if inflated == -1 else inflated


def _field(head: memoryview, table: int, number: int) -> int:
    """Return the position of a table's field, 0 if it is absent."""
    fields = table - struct.unpack_from("<i", head, table)[0]
    size = struct.unpack_from("<H", head, fields)[0]
    offset = (
        struct.unpack_from("<H", head, fields + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    )
    return table + offset if offset else 0


def _indirect(head: memoryview, offset: int) -> int:
    return int(offset + struct.unpack_from("<I", head, offset)[0])


def _vector(head: memoryview, table: int, number: int) -> tuple[int, int]:
    """Return the position of a vector's values, and their number."""
    offset = _indirect(head, _field(head, table, number))
    return offset + 4, int(struct.unpack_from("<I", head, offset)[0])


def _int64(head: memoryview, offset: int) -> int:
    return int(struct.unpack_from("<q", head, offset)[0])
