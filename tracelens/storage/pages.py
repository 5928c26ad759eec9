"""What the pages of a Parquet file say they become: readers believe these, whatever the file's footer says.

A page's header is a struct of Thrift's compact protocol; its fields are those of PageHeader in parquet.thrift.
"""

import mmap
from collections.abc import Collection
from pathlib import Path

import pyarrow.parquet as pq

_LARGEST_BYTES = 16 << 20
"""Of larger files pages are believed: one becomes 2 GiB at most, and these may become that."""
_DEEPEST = 16
_UNCOMPRESSED, _COMPRESSED = 2, 3
_INTEGERS, _BINARY, _STRUCT = (4, 5, 6), 8, 12
_FIXED = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of booleans, which are in the head of a field, bytes and floats."""


def page_bytes(file: Path, about: pq.FileMetaData, columns: Collection[str] | None = None) -> int:
    """Bytes that the pages of these columns, or of all, become; 0 for a large file.

    Raises ValueError where there is no page header where one should be.
    """
    if file.stat().st_size > _LARGEST_BYTES:
        return 0
    n_bytes = 0
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
        for group in map(about.row_group, range(about.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                if columns is not None and chunk.path_in_schema not in columns:
                    continue
                at = min(place for place in (chunk.dictionary_page_offset, chunk.data_page_offset) if place)
                end = at + chunk.total_compressed_size
                while at < end:
                    at, sizes = _struct(text, at)
                    uncompressed, compressed = sizes.get(_UNCOMPRESSED, -1), sizes.get(_COMPRESSED, -1)
                    if min(uncompressed, compressed) < 0:
                        raise ValueError("a page of no size")
                    n_bytes += uncompressed
                    at += compressed
    return n_bytes


def _struct(text: mmap.mmap, at: int, depth: int = 0) -> tuple[int, dict[int, int]]:
    """Where a struct ends, and its own integers by field."""
    found: dict[int, int] = {}
    field = 0
    while True:
        if at >= len(text) or depth > _DEEPEST:
            raise ValueError("a page without a header")
        head, at = text[at], at + 1
        if head == 0:
            return at, found
        if head >> 4:
            field += head >> 4
        else:
            at, field = _integer(text, at)
        kind = head & 15
        if kind in _INTEGERS:
            at, found[field] = _integer(text, at)
        else:
            at = _skip(text, at, kind, depth)


def _skip(text: mmap.mmap, at: int, kind: int, depth: int) -> int:
    """Where a value of another kind ends; a page's header holds no lists."""
    if kind == _BINARY:
        at, length = _varint(text, at)
        return at + length
    if kind == _STRUCT:
        return _struct(text, at, depth + 1)[0]
    if kind not in _FIXED:
        raise ValueError("a page without a header")
    return at + _FIXED[kind]


def _integer(text: mmap.mmap, at: int) -> tuple[int, int]:
    at, value = _varint(text, at)
    return at, (value >> 1) ^ -(value & 1)


def _varint(text: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if at >= len(text):
            break
        byte = text[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return at, value
    raise ValueError("a page without a header")
