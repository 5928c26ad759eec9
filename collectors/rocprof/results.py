"""Read rocprofv3's JSON. Its key `rocprofiler-sdk-tool` holds a list with one object per process.

A record has a number for its kind and a number for its operation. The names for these numbers are
in the object's `strings`. source/lib/output/generateJSON.cpp of rocprofiler-sdk writes the file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import polars as pl

from tracelens.collectors.rocprof.recorded import COPIES, HOW, KERNELS, REGIONS, Agent, Recorded
from tracelens.errors import SourceError

HEAD = b'"rocprofiler-sdk-tool"'
_GPU = 2


_I64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Handle(msgspec.Struct):
    handle: int = 0


class _Stream(msgspec.Struct):
    handle: _I64 = 0


class _Size(msgspec.Struct):
    x: _Number = 0
    y: _Number = 0
    z: _Number = 0


class _Correlation(msgspec.Struct):
    internal: _Number = 0


class _Dispatch(msgspec.Struct):
    kernel_id: int = 0
    agent_id: _Handle = msgspec.field(default_factory=_Handle)
    workgroup_size: _Size = msgspec.field(default_factory=_Size)
    grid_size: _Size = msgspec.field(default_factory=_Size)
    group_segment_size: _Number | None = None


class _Record(msgspec.Struct):
    """Holds a record of any kind. Fields that its kind lacks keep their defaults."""

    start_timestamp: _Number
    end_timestamp: _Number
    kind: _Number = 0
    operation: _Number = 0
    thread_id: _I64 = 0
    bytes: _Number = 0
    correlation_id: _Correlation = msgspec.field(default_factory=_Correlation)
    stream_id: _Stream | None = None
    dispatch_info: _Dispatch = msgspec.field(default_factory=_Dispatch)
    src_agent_id: _Handle = msgspec.field(default_factory=_Handle)
    dst_agent_id: _Handle = msgspec.field(default_factory=_Handle)


class _Records(msgspec.Struct):
    kernel_dispatch: list[_Record] = []
    memory_copy: list[_Record] = []
    hip_api: list[_Record] = []
    hsa_api: list[_Record] = []
    marker_api: list[_Record] = []


class _Kind(msgspec.Struct):
    kind: str = ""
    operations: list[str] = []


class _Text(msgspec.Struct):
    key: int
    value: str


class _Strings(msgspec.Struct):
    buffer_records: list[_Kind] = []
    marker_api: list[_Text] = []


class _Symbol(msgspec.Struct):
    kernel_id: int
    formatted_kernel_name: str = ""
    kernel_name: str = ""
    arch_vgpr_count: _Number | None = None


class _Agent(Agent):
    id: _Handle = msgspec.field(default_factory=_Handle)
    type: int = 0
    logical_node_type_id: _Number = 0


class _Metadata(msgspec.Struct):
    pid: _I64 = 0


class _Process(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    agents: list[_Agent] = []
    strings: _Strings = msgspec.field(default_factory=_Strings)
    kernel_symbols: list[_Symbol] = []
    buffer_records: _Records = msgspec.field(default_factory=_Records)

    def category_and_name(self, record: _Record) -> dict[str, Any]:
        """Return the category and name of a record."""
        kinds = self.strings.buffer_records
        kind = kinds[record.kind] if record.kind < len(kinds) else _Kind()
        is_known = record.operation < len(kind.operations)
        name = kind.operations[record.operation] if is_known else "unknown"
        return {"category": kind.kind, "name": name}

    def common_columns(self, record: _Record) -> dict[str, Any]:
        """Return the record's process, times, correlation id and stream."""
        return {
            "process_id": self.metadata.pid,
            "start_ns": record.start_timestamp,
            "duration_ns": record.end_timestamp - record.start_timestamp,
            "correlation_id": record.correlation_id.internal or None,
            "stream_id": record.stream_id.handle if record.stream_id else None,
        }


class _Results(msgspec.Struct):
    processes: list[_Process] = msgspec.field(name="rocprofiler-sdk-tool")


def read_results(path: Path) -> Iterator[Recorded]:
    """Yield the records of each process. Raises SourceError if the file is damaged."""
    try:
        results = msgspec.json.decode(path.read_bytes(), type=_Results)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceError(
            f"{path}: expected rocprofv3's JSON, found a file that is damaged or ends early"
            f" ({error}); {HOW}"
        ) from error
    for process in results.processes:
        yield _recorded(process)


def _recorded(process: _Process) -> Recorded:
    gpus = {agent.id.handle: agent for agent in process.agents if agent.type == _GPU}
    ordinals = {handle: gpu.logical_node_type_id for handle, gpu in gpus.items()}
    records = process.buffer_records
    texts = {text.key: text.value for text in process.strings.marker_api}
    copies = [
        process.common_columns(record)
        | process.category_and_name(record)
        | {
            "size_bytes": record.bytes,
            "device_id": ordinals.get(
                record.dst_agent_id.handle,
                ordinals.get(record.src_agent_id.handle, 0),
            ),
        }
        for record in records.memory_copy
    ]
    regions = [
        process.common_columns(record)
        | process.category_and_name(record)
        | {
            "thread_id": record.thread_id,
            "message": texts.get(record.correlation_id.internal),
        }
        for part in (records.hip_api, records.hsa_api, records.marker_api)
        for record in part
    ]
    return Recorded(
        pl.DataFrame(_kernels(process, ordinals), schema=KERNELS),
        pl.DataFrame(copies, schema=COPIES),
        pl.DataFrame(regions, schema=REGIONS),
        {ordinals[handle]: gpu for handle, gpu in gpus.items()},
    )


def _kernels(process: _Process, ordinals: dict[int, int]) -> list[dict[str, Any]]:
    symbols = {symbol.kernel_id: symbol for symbol in process.kernel_symbols}
    rows = []
    for record in process.buffer_records.kernel_dispatch:
        info = record.dispatch_info
        symbol = symbols.get(info.kernel_id, _Symbol(0))
        grid, block = info.grid_size, info.workgroup_size
        rows.append(
            process.common_columns(record)
            | {
                "name": symbol.formatted_kernel_name or symbol.kernel_name or "unknown kernel",
                "device_id": ordinals.get(info.agent_id.handle, 0),
                "shared_bytes": info.group_segment_size,
                "registers_per_thread": symbol.arch_vgpr_count,
            }
            | {"grid_x": grid.x, "grid_y": grid.y, "grid_z": grid.z}
            | {
                "block_x": block.x or None,
                "block_y": block.y or None,
                "block_z": block.z or None,
            }
        )
    return rows
