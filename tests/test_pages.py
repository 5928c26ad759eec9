"""Files that decompress to far more than their size are refused before they are read."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from tests.cases import make_trace
from tests.nsys_exports import KERNEL
from tracelens.collectors import nsys
from tracelens.collectors.nsys.arrow_sizes import batch_bytes
from tracelens.errors import SourceError
from tracelens.storage.pages import page_bytes
from tracelens.trace import Trace

LARGE = 80 << 20
"""More than a file may become, however large it is."""


def lying(file: Path, table: pa.Table) -> None:
    """Write a table of one row whose footer says that each column becomes 100 bytes."""
    pq.write_table(table, file, compression="zstd", use_dictionary=False, write_statistics=False)
    content, group = file.read_bytes(), pq.read_metadata(file).row_group(0)
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[begin:]
    for size in {
        group.total_byte_size,
        *(group.column(i).total_uncompressed_size for i in range(group.num_columns)),
    }:
        if size > LARGE:
            footer = footer.replace(_varint(2 * size, 1), _varint(200, len(_varint(2 * size, 1))))
    file.write_bytes(content[:begin] + footer)
    assert pq.read_metadata(file).row_group(0).total_byte_size < 1000


def _varint(value: int, width: int) -> bytes:
    """Encode a number, seven bits per byte, in at least so many bytes.

    All but the last one say that more follow.
    """
    parts: list[int] = []
    while value or len(parts) < width:
        parts.append(value & 127)
        value >>= 7
    return bytes([*(part | 128 for part in parts[:-1]), parts[-1]])


def large_text() -> pa.Array:
    return pa.array([b"\0" * LARGE], pa.large_binary()).view(pa.large_string())


def test_pages_are_added_up(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    schema = pa.schema(
        [pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int32(), nullable=False)]
    )
    table = pa.table({"a": [*range(1000)], "b": [*range(1000)]}, schema=schema)
    pq.write_table(
        table, file, use_dictionary=False, compression="zstd", row_group_size=300, data_page_size=64
    )
    assert page_bytes(file) == 1000 * (8 + 4)
    assert page_bytes(file, ["b"]) == 1000 * 4


def test_a_page_of_an_export_that_lies_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pqtdir"
    folder.mkdir()
    lying(folder / "StringIds.parquet", pa.table({"id": [1], "value": large_text()}))
    pq.write_table(
        pa.table({"start": [1], "end": [2], "deviceId": [0], "demangledName": [1]}),
        folder / f"{KERNEL}.parquet",
    )
    with pytest.raises(
        SourceError, match=r"StringIds\.parquet: .*set TRACELENS_MAX_EXPANSION above 200"
    ):
        nsys.read(folder)


def shared(n_rows: int, n_bytes: int) -> pa.Array:
    """A column of one text, held once for all rows."""
    return pa.DictionaryArray.from_arrays(
        pa.array([0] * n_rows, pa.int32()), pa.array(["y" * n_bytes])
    )


BOMBS: dict[str, tuple[str, Callable[[], dict[str, Any]], str]] = {
    "a compressed batch": (
        ".arrow",
        lambda: {"id": [1], "value": large_text()},
        "that say they are",
    ),
    "rows without buffers": (".arrow", lambda: {"id": pa.nulls(LARGE)}, "that say they are"),
    "a dictionary": (
        ".arrow",
        lambda: {"id": [1, 2], "value": shared(2, 9)},
        "the Arrow stream has a dictionary",
    ),
    "a value of many rows": (
        ".parquet",
        lambda: {"id": range(90), "value": shared(90, 1 << 20)},
        "that say they are",
    ),
    "a value in place of numbers": (
        ".parquet",
        lambda: {"id": shared(90, 1 << 20)},
        "that say they are",
    ),
    "a list in place of a number": (
        ".parquet",
        lambda: {"id": [[1], [2]]},
        "the column id is list<element: int64>",
    ),
    "values of one length": (
        ".parquet",
        lambda: {"id": pa.array([b"y" * 99], pa.binary(99))},
        "is fixed_size_binary",
    ),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_bomb_in_an_export(tmp_path: Path, what: str) -> None:
    suffix, made, said = BOMBS[what]
    for name, rows in (
        ("StringIds", pa.table(made())),
        (KERNEL, pa.table({"start": [1], "end": [2]})),
    ):
        file = tmp_path / f"{name}{suffix}"
        if suffix == ".parquet":
            pq.write_table(
                rows, file, compression="zstd", dictionary_pagesize_limit=LARGE, store_schema=False
            )
            continue
        with ipc.new_stream(
            file, rows.schema, options=ipc.IpcWriteOptions(compression="zstd")
        ) as stream:
            stream.write_table(rows)
        if what == "a compressed batch":  # which nobody could inflate: it is refused before
            file.write_bytes(file.read_bytes().replace(bytes.fromhex("28b52ffd"), b"none"))
    with pytest.raises(SourceError, match=f"StringIds.*{said}"):
        nsys.read(tmp_path)


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_batches_are_added_up(tmp_path: Path, compression: str | None) -> None:
    schema = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int32())])
    table = pa.table({"a": [*range(1000)], "b": [7] * 1000}, schema=schema)
    with ipc.new_stream(
        tmp_path / "t", schema, options=ipc.IpcWriteOptions(compression=compression)
    ) as stream:
        stream.write_table(table, max_chunksize=300)
    with pa.memory_map(str(tmp_path / "t")) as mapped:
        # Its buffers, and eight bytes for each of two columns' values.
        assert [*batch_bytes(mapped)] == [n * (8 + 4 + 2 * 8) for n in (300, 300, 300, 100)]


def test_names_that_many_rows_of_an_export_refer_to_are_cut(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"id": [1, 2], "value": ["k" * 9000, "short"]}), tmp_path / "StringIds.parquet"
    )
    kernels = {"start": [1, 5], "end": [2, 6], "deviceId": [0, 0], "demangledName": [1, 2]}
    pq.write_table(pa.table(kernels), tmp_path / f"{KERNEL}.parquet")
    (capture,) = nsys.read(tmp_path)
    assert capture.tables["kernels"]["name"].cast(pl.String).to_list() == [
        "k" * 8192 + "…",
        "short",
    ]
    assert capture.diagnostics.frame().filter(code="name_cut")["count"].to_list() == [1]


def test_a_long_text_of_many_rows_of_a_trace(tmp_path: Path) -> None:
    kernels: list[dict[str, Any]] = [{"name": "k" * (1 << 20), "grid_x": i + 1} for i in range(90)]
    written = make_trace(kernels=kernels).write(tmp_path / "t.tracelens")
    said = (
        "rows share texts that are 94,371,840 bytes in all; set TRACELENS_MAX_EXPANSION above 200"
    )
    for read in (
        lambda: written.select("kernels", "name"),
        lambda: [*written.batches("kernels", "name")],
        lambda: written.frame("kernels"),
    ):
        with pytest.raises(SourceError, match=said):
            read()


def test_a_page_of_a_trace(tmp_path: Path) -> None:
    folder = make_trace(spans=[{"name": "a"}]).write(tmp_path / "t.tracelens").path
    assert folder is not None
    file = folder / "spans/rank=0/part-0.parquet"
    table = pq.read_table(file, partitioning=None)
    at = table.schema.get_field_index("name")
    lying(file, table.set_column(at, "name", large_text()))
    with pytest.raises(
        SourceError,
        match=r"most of them in spans/rank=0/part-0\.parquet; set TRACELENS_MAX_EXPANSION",
    ):
        Trace.open(folder)


@pytest.mark.parametrize(
    "header", [b"\xff" * 12, b"\x19\xff\xff\xff\xff\xff\x0f", b"\x1c" * 40, b"\x00"]
)
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
    """Arrow ended the process if statistics in the footer had a wrong size."""
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


def test_pages_shared_by_columns_are_walked_once(tmp_path: Path) -> None:
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
    file.write_bytes(
        content[:begin] + content[begin:].replace(size, _varint(2 * (len(content) - 100), 2))
    )
    with pytest.raises(ValueError, match="columns of more bytes than the file has"):
        page_bytes(file)
