"""Compute the uncompressed size of a Parquet file's pages from their headers.

Readers of Parquet trust the headers of pages, even if the footer contradicts them. The footer and
the headers are structs of Thrift's compact protocol. The constants below are field numbers in
parquet.thrift. The footer is not read with Arrow, because Arrow aborts the process if statistics
have a wrong size (pyarrow 26).
"""

import mmap
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, TypeAlias

Text: TypeAlias = bytes | mmap.mmap
_LARGEST_BYTES = 16 << 20
"""Pages of larger files are not checked.

`may_become` allows such files 2 GiB of memory or more, and no page exceeds 2 GiB.
"""
_DEEPEST = 16
_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LIST, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 9, 12
_UNCOMPRESSED, _COMPRESSED = 2, 3
_GROUPS, _CHUNKS, _ABOUT, _PATH, _LENGTH, _FIRST_PAGE, _DICTIONARY = 4, 1, 3, 3, 7, 9, 11


def page_bytes(file: Path, columns: Collection[str] | None = None) -> int:
    """Return the uncompressed size in bytes of the pages of some columns, by default of all.

    Files larger than _LARGEST_BYTES are not read, and the result is 0. Raises ValueError if the
    footer or a page's header is missing or damaged.
    """
    if file.stat().st_size > _LARGEST_BYTES:
        return 0
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
        try:
            chunks = list(_chunks(text))
            # Chunks that overlap would count the same pages many times.
            if sum(length for _, _, length in chunks) > len(text) or any(
                min(chunk[1:]) < 0 for chunk in chunks
            ):
                raise ValueError("columns of more bytes than the file has")
            asked = (chunk for chunk in chunks if columns is None or chunk[0] in columns)
            return sum(_walked(text, begin, begin + length) for _, begin, length in asked)
        except (AttributeError, LookupError, TypeError) as error:
            raise ValueError("a value where another kind of value should be") from error


def _walked(text: mmap.mmap, position: int, end: int) -> int:
    """Return the uncompressed size in bytes of the pages between two positions of the file."""
    n_bytes = 0
    while position < end:
        position, header = _struct(text, position)
        uncompressed, compressed = header.get(_UNCOMPRESSED, -1), header.get(_COMPRESSED, -1)
        if min(uncompressed, compressed) < 0:
            raise ValueError("a page of no size")
        n_bytes += uncompressed
        position += compressed
    return n_bytes


def _chunks(text: mmap.mmap) -> Iterator[tuple[str, int, int]]:
    """Yield each column chunk of the footer: column name, position and length of its pages."""
    begin = len(text) - 8 - int.from_bytes(text[-8:-4], "little")
    _, footer = _struct(text[max(0, begin) : -8], 0)
    for chunk in (chunk[_ABOUT] for group in footer.get(_GROUPS, ()) for chunk in group[_CHUNKS]):
        first_page = min(
            offset for offset in (chunk.get(_DICTIONARY), chunk.get(_FIRST_PAGE)) if offset
        )
        yield b".".join(chunk[_PATH]).decode(errors="replace"), first_page, chunk[_LENGTH]


def _struct(text: Text, position: int, depth: int = 0) -> tuple[int, dict[int, Any]]:
    """Return the position after a struct, and its values by field number.

    Values are integers, bytes, lists or structs.
    """
    values: dict[int, Any] = {}
    field = 0
    while True:
        if position >= len(text) or depth > _DEEPEST:
            raise ValueError("a page without a header")
        head, step, kind = text[position], text[position] >> 4, text[position] & 15
        position += 1
        if head == 0:
            return position, values
        if step:
            field += step
        else:
            position, field = _integer(text, position)
        if kind not in _BOOLEANS:  # a boolean has its value in the head
            position, values[field] = _value(text, position, kind, depth)


def _value(text: Text, position: int, kind: int, depth: int) -> tuple[int, Any]:
    """Return the position after a value, and the value; None for a boolean, a byte or a double."""
    if kind in _INTEGERS:
        return _integer(text, position)
    if kind == _BINARY:
        position, length = _varint(text, position)
        return position + length, text[position : position + length]
    if kind == _STRUCT:
        return _struct(text, position, depth + 1)
    if kind == _LIST:
        return _list(text, position, depth + 1)
    if kind in (*_BOOLEANS, _BYTE, _DOUBLE):
        return position + (8 if kind == _DOUBLE else 1), None
    raise ValueError("a page without a header")


def _list(text: Text, position: int, depth: int) -> tuple[int, list[Any]]:
    if position >= len(text) or depth > _DEEPEST:
        raise ValueError("a page without a header")
    length, kind = text[position] >> 4, text[position] & 15
    position += 1
    if length == 15:
        position, length = _varint(text, position)
    values = []
    # If the length is wrong, the text ends first, because each value takes at least a byte
    for _ in range(length):
        position, value = _value(text, position, kind, depth)
        if position > len(text):
            raise ValueError("a page without a header")
        values.append(value)
    return position, values


def _integer(text: Text, position: int) -> tuple[int, int]:
    position, value = _varint(text, position)
    return position, (value >> 1) ^ -(value & 1)


def _varint(text: Text, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70 and position < len(text):
        byte = text[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return position, value
    raise ValueError("a page without a header")
