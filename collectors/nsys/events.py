"""Frames of events from an export: columns named and coded as in a trace, rows neither sorted nor linked.

An id of a process or thread is packed as hardware (8 bits), virtual machine (8), process (24), thread (24).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tracelens.capture import Diagnostics
from tracelens.collectors.nsys import codes
from tracelens.collectors.nsys.export import Export, wanted
from tracelens.errors import SourceError

API_TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_ACTIVITY = "CUPTI_ACTIVITY_KIND_"
_WORK = ("deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId")
_WORK_COLUMNS = (
    "start_ns", "duration_ns", "process_id", "device_id", "context_id", "stream_id", "correlation_id", "graph_node_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Session:
    """What reading any table of one export takes: the strings that names refer to, and what time zero is."""

    export: Export
    names: pl.DataFrame
    base_ns: int
    diagnostics: Diagnostics

    def name(self, column: str) -> pl.Expr:
        """The string that a column of ids refers to."""
        ids = pl.col(column)
        if self.names.is_empty():
            return pl.lit(None, pl.String)
        return ids.replace_strict(self.names["id"], self.names["value"], default=None, return_dtype=pl.String)

    def rows(
        self, table: str, needed: Sequence[str], integers: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> pl.DataFrame:
        """Columns of a table that may be absent. Raises SourceError when it is there without a needed column."""
        if self.export.has(table):
            missing = [name for name in needed if name not in self.export.columns[table]]
            if missing:
                found = ", ".join(sorted(self.export.columns[table]))
                raise SourceError(
                    f"{self.export.path}: expected the columns {', '.join(missing)} in {table}, found {found}; "
                    "upgrade with pip install -U tracelens-toolkit, or export with another version of nsys"
                )
        return self.export.frame(table, wanted([*needed, *integers], texts))

    def intervals(self, table: str, frame: pl.DataFrame, needed: Sequence[str] = ()) -> pl.DataFrame:
        """The frame with start_ns and duration_ns; rows without times, or that end before they start, are counted."""
        usable = frame.filter(
            pl.col("start").is_not_null(), pl.col("end") >= pl.col("start"), *(pl.col(c).is_not_null() for c in needed)
        )
        lost = frame.height - usable.height
        self.diagnostics.add(
            "loss", "broken_rows", f"rows of {table} had no usable times or ids and were left out", lost
        )
        return usable.with_columns(start_ns=pl.col("start") + self.base_ns, duration_ns=pl.col("end") - pl.col("start"))


def read_names(export: Export) -> pl.DataFrame:
    """The export's strings by id; most are names, but the program's environment is among them, so none is kept."""
    return export.frame("StringIds", wanted(["id"], ["value"])).drop_nulls("id").unique("id", keep="first")


def process_of(column: str) -> pl.Expr:
    """The process in a packed id; 0 where the export has none."""
    return (pl.col(column) // 2**24 & 0xFFFFFF).fill_null(0)


def thread_of(column: str) -> pl.Expr:
    """The thread in a packed id; 0 where the export has none."""
    return (pl.col(column) & 0xFFFFFF).fill_null(0)


def api_calls(session: Session) -> pl.DataFrame:
    """Calls of the CUDA runtime and driver, which share one table; a driver's own table is read too."""
    parts = []
    for table in API_TABLES:
        raw = session.rows(table, ["start", "end", "nameId"], ["eventClass", "globalTid", "correlationId"])
        name = session.name("nameId").fill_null("unknown")
        # Before schema 2.x had eventClass, only the name told: cuLaunchKernel, but cudaLaunchKernel.
        by_name = pl.when(name.str.contains(r"^cu[A-Z]")).then(pl.lit("driver")).otherwise(pl.lit("runtime"))
        by_class = codes.word(pl.col("eventClass"), codes.API_CLASSES)
        parts.append(
            session.intervals(table, raw).select(
                pl.when(by_class == "unknown").then(by_name).otherwise(by_class).alias("source_api"),
                name.alias("raw_api"),
                "start_ns",
                "duration_ns",
                process_of("globalTid").alias("process_id"),
                thread_of("globalTid").alias("thread_id"),
                _correlation().alias("correlation_id"),
            )
        )
    return pl.concat(parts)


def kernels(session: Session, calls: pl.DataFrame) -> pl.DataFrame:
    """Kernel executions. A cluster launch is told from schema 3.24 on, null before."""
    table = f"{_ACTIVITY}KERNEL"
    shapes = [f"{what}{axis}" for what in ("grid", "block", "cluster") for axis in "XYZ"]
    raw = session.rows(
        table,
        ["start", "end", "deviceId", "demangledName"],
        [*_WORK[1:], *shapes, "shortName", "registersPerThread", "staticSharedMemory",
         "dynamicSharedMemory"],
    )  # fmt: skip
    name = pl.coalesce(session.name("demangledName"), session.name("shortName"), pl.lit("unknown"))
    clusters = [pl.col(f"cluster{axis}") for axis in "XYZ"]
    return _work(session, table, raw, calls).select(
        name.alias("name"),
        *_WORK_COLUMNS,
        *(pl.col(f"{what}{axis.upper()}").alias(f"{what}_{axis}") for what in ("grid", "block") for axis in "xyz"),
        registers_per_thread="registersPerThread",
        static_shared_bytes="staticSharedMemory",
        dynamic_shared_bytes="dynamicSharedMemory",
        shared_bytes=pl.col("staticSharedMemory") + pl.col("dynamicSharedMemory"),
        is_cluster_launch=pl.when(pl.any_horizontal(c.is_not_null() for c in clusters)).then(
            pl.max_horizontal(clusters) > 1
        ),
    )


def memcpys(session: Session, calls: pl.DataFrame) -> pl.DataFrame:
    """Copies, and migrations of managed memory."""
    table = f"{_ACTIVITY}MEMCPY"
    raw = session.rows(table, ["start", "end", "deviceId", "bytes", "copyKind"], [*_WORK[1:], "srcKind", "dstKind"])
    return _work(session, table, raw, calls, "bytes").select(
        codes.word(pl.col("copyKind"), codes.DIRECTIONS).alias("direction"),
        codes.word(pl.col("srcKind"), codes.MEMORIES).alias("source_memory"),
        codes.word(pl.col("dstKind"), codes.MEMORIES).alias("destination_memory"),
        pl.col("bytes").alias("size_bytes"),
        *_WORK_COLUMNS,
    )


def memsets(session: Session, calls: pl.DataFrame) -> pl.DataFrame:
    """Fills of device memory."""
    table = f"{_ACTIVITY}MEMSET"
    raw = session.rows(table, ["start", "end", "deviceId", "bytes"], [*_WORK[1:], "value", "memKind"])
    return _work(session, table, raw, calls, "bytes").select(
        pl.col("bytes").alias("size_bytes"),
        "value",
        pl.when(pl.col("memKind").is_not_null()).then(codes.word(pl.col("memKind"), codes.MEMORIES)).alias("memory"),
        *_WORK_COLUMNS,
    )


def synchronizations(session: Session, calls: pl.DataFrame) -> pl.DataFrame:
    """Waits that the driver recorded."""
    table = f"{_ACTIVITY}SYNCHRONIZATION"
    raw = session.rows(table, ["start", "end"], [*_WORK[:-1], "syncType", "deprecatedSyncType", "eventId"])
    code = pl.coalesce("syncType", "deprecatedSyncType")
    # nsys 2025.3 writes cudaStreamSynchronize with the code of a stream's wait for an event, but without an event.
    code = pl.when(code == 2, pl.col("eventId") == codes.NONE_U32).then(3).otherwise(code)
    absent = {name: pl.col(name).replace(codes.NONE_U32, None) for name in ("deviceId", "contextId", "streamId")}
    return _work(
        session, table, raw.with_columns(**absent, graphNodeId=pl.lit(None, pl.Int64)), calls, device=False
    ).select(codes.word(code, codes.SYNCHRONIZATIONS).alias("kind"), *_WORK_COLUMNS[:4], "stream_id", "correlation_id")


def _work(
    session: Session, table: str, raw: pl.DataFrame, calls: pl.DataFrame, *needed: str, device: bool = True
) -> pl.DataFrame:
    """Device events with the columns that all kinds of work share."""
    frame = session.intervals(table, raw, [*needed, *(["deviceId"] if device else [])])
    frame = frame.with_columns(
        device_id=pl.col("deviceId"),
        context_id=pl.col("contextId"),
        stream_id=pl.col("streamId"),
        correlation_id=_correlation(),
        graph_node_id=pl.col("graphNodeId").replace(0, None),
        process_id=pl.when(pl.col("globalPid").is_not_null()).then(process_of("globalPid")),
    )
    return _with_process(session, frame, calls) if frame["process_id"].null_count() else frame


def _with_process(session: Session, frame: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Fill processes that an export before globalPid left out: that of the only call with the correlation id."""
    processes = calls["process_id"].unique()
    if processes.len() == 1:
        return frame.with_columns(pl.col("process_id").fill_null(processes.item()))
    owners = calls.drop_nulls("correlation_id").unique(["correlation_id", "process_id"])
    owners = owners.filter(pl.len().over("correlation_id") == 1)
    if owners.height:
        owner = pl.col("correlation_id").replace_strict(owners["correlation_id"], owners["process_id"], default=None)
        frame = frame.with_columns(pl.col("process_id").fill_null(owner))
    lost = frame["process_id"].null_count()
    text = "the export does not tell which of several processes this GPU work belongs to; it stands under process 0"
    session.diagnostics.add("warning", "process_unknown", text, lost)
    return frame.with_columns(pl.col("process_id").fill_null(0))


def _correlation() -> pl.Expr:
    """The correlation id; CUPTI counts from 1, and 0 is none."""
    return pl.col("correlationId").replace(0, None)
