"""Parquet files whose pages become more than their footers say: refused before they are read."""

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cases import make_trace
from tests.nsys_exports import KERNEL
from tracelens.collectors import nsys
from tracelens.errors import SourceError
from tracelens.storage.pages import page_bytes
from tracelens.trace import Trace

LARGE = 80 << 20
"""More than any file may become whatever its size."""


def lying(file: Path, table: pa.Table) -> None:
    """Write a table of one row, and have the footer say that each column becomes 100 bytes."""
    pq.write_table(table, file, compression="zstd", use_dictionary=False, write_statistics=False)
    content, group = file.read_bytes(), pq.read_metadata(file).row_group(0)
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[begin:]
    for size in {group.total_byte_size, *(group.column(i).total_uncompressed_size for i in range(group.num_columns))}:
        if size > LARGE:
            footer = footer.replace(_varint(2 * size, 1), _varint(200, len(_varint(2 * size, 1))))
    file.write_bytes(content[:begin] + footer)
    assert pq.read_metadata(file).row_group(0).total_byte_size < 1000


def _varint(value: int, width: int) -> bytes:
    """Seven bits a byte, at least so many bytes of it; all but the last one say that more follow."""
    parts: list[int] = []
    while value or len(parts) < width:
        parts.append(value & 127)
        value >>= 7
    return bytes([*(part | 128 for part in parts[:-1]), parts[-1]])


def large_text() -> pa.Array:
    return pa.array([b"\0" * LARGE], pa.large_binary()).view(pa.large_string())


def test_pages_are_added_up(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int32(), nullable=False)])
    table = pa.table({"a": [*range(1000)], "b": [*range(1000)]}, schema=schema)
    pq.write_table(table, file, use_dictionary=False, compression="zstd", row_group_size=300, data_page_size=64)
    assert page_bytes(file) == 1000 * (8 + 4)
    assert page_bytes(file, ["b"]) == 1000 * 4


def test_a_page_of_an_export(tmp_path: Path) -> None:
    folder = tmp_path / "pqtdir"
    folder.mkdir()
    lying(folder / "StringIds.parquet", pa.table({"id": [1], "value": large_text()}))
    pq.write_table(
        pa.table({"start": [1], "end": [2], "deviceId": [0], "demangledName": [1]}), folder / f"{KERNEL}.parquet"
    )
    with pytest.raises(SourceError, match=r"StringIds\.parquet: .*set TRACELENS_MAX_EXPANSION above 200"):
        nsys.read(folder)


def test_a_page_of_a_trace(tmp_path: Path) -> None:
    folder = make_trace(spans=[{"name": "a"}]).write(tmp_path / "t.tracelens").path
    assert folder is not None
    file = folder / "spans/rank=0/part-0.parquet"
    table = pq.read_table(file, partitioning=None)
    at = table.schema.get_field_index("name")
    lying(file, table.set_column(at, "name", large_text()))
    with pytest.raises(SourceError, match=r"most of them in spans/rank=0/part-0\.parquet; set TRACELENS_MAX_EXPANSION"):
        Trace.open(folder)


@pytest.mark.parametrize("header", [b"\xff" * 12, b"\x19\xff\xff\xff\xff\xff\x0f", b"\x1c" * 40, b"\x00"])
def test_what_is_no_header_of_a_page(tmp_path: Path, header: bytes) -> None:
    folder = tmp_path / "pqtdir"
    folder.mkdir()
    file = folder / "StringIds.parquet"
    pq.write_table(pa.table({"id": [1], "value": ["a"]}), file)
    content = bytearray(file.read_bytes())
    content[4 : 4 + len(header)] = header
    file.write_bytes(content)
    with pytest.raises(SourceError, match="table StringIds cannot be read to its end"):
        nsys.read(folder)


def test_a_footer_with_a_bit_flipped(tmp_path: Path) -> None:
    """Arrow ended the process of one whose statistics had another size than they should have."""
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, None]}), file, store_schema=False)
    content = file.read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for bit in range(8 * begin, 8 * (len(content) - 8), 7):  # every bit takes five seconds
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        file.write_bytes(flipped)
        with suppress(ValueError):
            assert page_bytes(file) >= 0


def test_pages_that_several_columns_share_are_not_walked_for_each(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({name: [*range(20)] for name in "ab"}),
        file,
        store_schema=False,
        compression="none",
        use_dictionary=False,
    )
    content, group = file.read_bytes(), pq.read_metadata(file).row_group(0)
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    size = _varint(2 * group.column(0).total_compressed_size, 2)
    file.write_bytes(content[:begin] + content[begin:].replace(size, _varint(2 * (len(content) - 100), 2)))
    with pytest.raises(ValueError, match="columns of more bytes than the file has"):
        page_bytes(file)
