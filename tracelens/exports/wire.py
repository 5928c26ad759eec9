"""Encode protobuf: messages field by field, and packets of one shape by whole columns.

Values that differ between packets are varints of a fixed width, so that the packets have the same
length. Readers of protobuf accept such padded varints. A million slices take 0.3 s, but 4.8 s as
message objects. Encoding: protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

TRACK_BYTES = 5
MOMENT_BYTES = 10
FLOW_BYTES = 10
WIDE_BYTES = 9
"""Sizes in bytes of a track's number, a timestamp, a flow's id, and a result of `wide_varints`.

The sizes of the first three include their tags.
"""
_BYTES = pa.large_binary()
_TIMESTAMP = b"\x40"


def varint(number: int, width: int = 0) -> bytes:
    """Return a non-negative number as a protobuf varint, padded to `width` bytes."""
    encoded = bytearray()
    while number > 127 or len(encoded) + 1 < width:
        low_7 = number & 127
        encoded.append(low_7 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def integer(field: int, value: int) -> bytes:
    """Return an encoded field with an integer."""
    tag = varint(field << 3)
    return tag + varint(value % (1 << 64))


def text(field: int, value: bytes | str) -> bytes:
    """Return an encoded field with text, bytes or an encoded message."""
    data = value.encode() if isinstance(value, str) else value
    tag = varint(field << 3 | 2)
    size = varint(len(data))
    return tag + size + data


def track(number: int) -> bytes:
    """Return the encoded field track_uuid of a TrackEvent."""
    return b"\x58" + varint(number, TRACK_BYTES - 1)


def packet_head(event: bytes, n_more: int) -> bytes:
    """Return the first bytes of a packet. They end with `event`.

    `event` has the first bytes of the packet's TrackEvent. The caller appends the other `n_more`
    bytes of the TrackEvent, and the timestamp.
    """
    event_size = varint(len(event) + n_more)
    head = b"\x50\x01\x68\x02\x5a" + event_size + event
    n_bytes = len(head) + n_more + MOMENT_BYTES
    return b"\x0a" + varint(n_bytes) + head


def texts(values: Sequence[bytes]) -> pa.Array:
    """Return byte strings as an Arrow array."""
    return pa.array(values, _BYTES)


def constant(value: bytes) -> pa.Scalar:
    """Return bytes that are equal in all packets, as an Arrow scalar."""
    return pa.scalar(value, _BYTES)


def moments(times: pl.Series) -> list[pa.Array | pa.Scalar]:
    """Encode the timestamps of packets, as parts that are to be joined.

    The first part is the tag, equal in all packets. The other two join to one varint per packet.
    """
    return [constant(_TIMESTAMP), *wide_varints(times)]


def wide_varints(values: pl.Series) -> list[pa.Array]:
    """Return the values as varints of nine bytes: every non-negative int64 fits.

    The result has two arrays. Their bytes follow each other in a packet.
    """
    bits = values.cast(pl.UInt64)
    low_56 = bits % (1 << 56)
    high_7 = bits // (1 << 56)
    low_bytes = _spread(low_56) + _CONTINUE_BITS
    every_last_byte = texts([bytes([number]) for number in range(128)])
    last_bytes = every_last_byte.take(high_7.to_arrow())
    return [eight_bytes(low_bytes), last_bytes]


_CONTINUE_BITS = pl.Series([0x8080_8080_8080_8080], dtype=pl.UInt64)
"""The continuation bits of eight varint bytes."""
_HALVINGS = (
    (28, 4),
    (14, 2),
    (7, 1),
)
"""Steps of `_spread`: number of bits in half a group, and number of bits to shift that half by."""


def _spread(bits: pl.Series) -> pl.Series:
    """Distribute the lowest 56 bits of each value over eight bytes, seven bits in each."""
    # Each step splits every group of bits into halves, and shifts the upper half.
    for width, gap in _HALVINGS:
        ones = (1 << width) - 1
        period = 2 * (width + gap)
        upper_halves = 0
        for shift in range(0, 64, period):
            upper_halves |= ones << shift + width
        factor = (1 << gap) - 1
        moved = (bits & upper_halves) * factor
        bits = bits + moved
    return bits


def eight_bytes(values: pl.Series) -> pa.Array:
    """Return the eight bytes of each value, like protobuf's fixed64, sfixed64 and double."""
    array = values.rechunk().to_arrow()
    _, every_byte = array.buffers()
    first_byte = array.offset * 8
    n_bytes = len(array) * 8
    buffer = every_byte.slice(first_byte, n_bytes)
    fixed = pa.Array.from_buffers(
        pa.binary(8),
        len(array),
        [None, buffer],
    )
    return pc.cast(fixed, _BYTES)


def joined(pieces: Sequence[pa.Array | pa.Scalar]) -> pa.Array:
    """Return the bytes of each packet, joined from arrays with its parts in order."""
    return pc.binary_join_element_wise(*pieces, constant(b""))


def memory(packets: pa.Array) -> pa.Buffer:
    """Return the bytes of all packets."""
    return packets.buffers()[2]


def cut(records: pa.Array, lengths: pl.Series) -> pa.Array:
    """Return the bytes of all records, cut into parts of these lengths."""
    zero = pl.Series([0], dtype=pl.Int64)
    ends_of_pieces = lengths.cum_sum().cast(pl.Int64)
    edges = pl.concat([zero, ends_of_pieces])
    _, offsets = edges.rechunk().to_arrow().buffers()
    return pa.Array.from_buffers(
        _BYTES,
        len(lengths),
        [None, offsets, memory(records)],
    )
