"""Read frames of events from an export, with the column names of a trace.

Rows are in any order, and have no row ids yet.
"""

from itertools import chain

import polars as pl

from tracelens.collectors.nsys import enums
from tracelens.collectors.nsys.session import Session, narrow, process_of, thread_of, together

API_TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
GRAPH_TABLES = ("CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS")
"""Tables of CUDA graphs. The second table is used up to schema 3.7.2."""
WHOLE_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
ACTIVITY = "CUPTI_ACTIVITY_KIND_"
_WORK = ("deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId")
_LAUNCH = (
    *(f"{what}{axis}" for what in ("grid", "block", "cluster") for axis in "XYZ"),
    "registersPerThread",
    "staticSharedMemory",
    "dynamicSharedMemory",
)
_WORK_COLUMNS = (
    "start_ns",
    "duration_ns",
    "process_id",
    "device_id",
    "context_id",
    "stream_id",
    "correlation_id",
    "graph_node_id",
)


def api_calls(session: Session) -> pl.DataFrame:
    """Return the calls of the CUDA runtime and driver, one row per call."""
    return together(
        _calls(session, table, raw)
        # Older exports have a second table for the driver's calls.
        for table in API_TABLES
        for raw in session.chunks(
            table,
            ["start", "end", "nameId"],
            ["eventClass", "globalTid", "correlationId"],
        )
    )


def _calls(session: Session, table: str, raw: pl.DataFrame) -> pl.DataFrame:
    name = session.named(raw["nameId"]).fill_null("unknown").alias("raw_api")
    # Without eventClass (early schema 2.x) the name decides: cuLaunchKernel is the driver's,
    # cudaLaunchKernel the runtime's.
    is_driver = pl.col("raw_api").cast(pl.String).str.contains("^cu[A-Z]")
    by_name = pl.when(is_driver).then(enums.constant("driver")).otherwise(enums.constant("runtime"))
    source = enums.word(pl.col("eventClass"), enums.API_CLASSES, default=None)
    if not raw["eventClass"].is_in(list(enums.API_CLASSES)).all(ignore_nulls=False):
        source = pl.coalesce(source, by_name)
    calls = session.intervals(table, raw.with_columns(name).with_columns(source_api=source))
    return narrow(
        calls.select(
            pl.col("source_api", "raw_api", "start_ns", "duration_ns"),
            process_of("globalTid").alias("process_id"),
            thread_of("globalTid").alias("thread_id"),
            _correlation().alias("correlation_id"),
        )
    )


def kernels(session: Session) -> pl.DataFrame:
    """Return kernel executions, in the form that `with_process` takes.

    If a CUDA graph was recorded as a whole, each replay is one kernel. This kernel is named `CUDA
    graph N`, and its columns of grid and block are None.
    """
    table = f"{ACTIVITY}KERNEL"
    # Cluster launches are recorded from schema 3.24 on.
    needed = ["start", "end", "deviceId", "demangledName"]
    launched = session.chunks(table, needed, [*_WORK[1:], *_LAUNCH, "shortName"])
    parts = (
        _kernels(session, table, raw.with_columns(_kernel_names(session, raw))) for raw in launched
    )
    replayed = session.chunks(WHOLE_GRAPHS, ["start", "end"], [*_WORK, "graphId", "graphExecId"])
    graphs = (_kernels(session, WHOLE_GRAPHS, _as_kernels(raw)) for raw in replayed)
    return together(chain(parts, graphs))


def _kernel_names(session: Session, raw: pl.DataFrame) -> pl.Series:
    name = session.named(raw["demangledName"])
    if name.null_count():
        name = name.zip_with(
            name.is_not_null(),
            session.named(raw["shortName"]),
        ).fill_null("unknown")
    return name.alias("name")


def _as_kernels(graphs: pl.DataFrame) -> pl.DataFrame:
    """Return the replays of whole CUDA graphs with the columns of kernels.

    A replay is named after the graph from which the executable graph was instantiated.
    """
    name = pl.concat_str(
        pl.lit("CUDA graph"),
        pl.coalesce("graphId", "graphExecId"),
        separator=" ",
        ignore_nulls=True,
    )
    launch = [pl.lit(None, pl.Int64).alias(column) for column in _LAUNCH]
    return graphs.with_columns(*launch, name=name.cast(pl.Categorical))


def _kernels(session: Session, table: str, raw: pl.DataFrame) -> pl.DataFrame:
    clusters = [pl.col(f"cluster{axis}") for axis in "XYZ"]
    return narrow(
        _work(session, table, raw).select(
            "name",
            *_WORK_COLUMNS,
            *(
                pl.col(f"{what}{axis.upper()}").alias(f"{what}_{axis}")
                for what in ("grid", "block")
                for axis in "xyz"
            ),
            registers_per_thread="registersPerThread",
            static_shared_bytes="staticSharedMemory",
            dynamic_shared_bytes="dynamicSharedMemory",
            shared_bytes=pl.col("staticSharedMemory") + pl.col("dynamicSharedMemory"),
            is_cluster_launch=pl.when(pl.any_horizontal(c.is_not_null() for c in clusters)).then(
                pl.max_horizontal(clusters) > 1
            ),
        )
    )


def graph_nodes(session: Session) -> pl.DataFrame:
    """Return the time and thread in which each CUDA graph node was made, one row per node.

    `original_id` is the node from which this node was copied, None if this node is no copy.
    """
    integers = ["globalTid", "graphNodeId", "originalGraphNodeId"]
    return together(
        session.moments(table, raw.drop_nulls(["start", "graphNodeId"]), "start").select(
            process_of("globalTid").alias("process_id"),
            thread_of("globalTid").alias("thread_id"),
            start_ns=pl.col("start") + session.base_ns,
            graph_node_id="graphNodeId",
            original_id=pl.col("originalGraphNodeId").replace(0, None),
        )
        for table in GRAPH_TABLES
        for raw in session.chunks(table, ["start"], integers)
    )


def memcpys(session: Session) -> pl.DataFrame:
    """Return copies and migrations of managed memory, in the form that `with_process` takes."""
    table = f"{ACTIVITY}MEMCPY"
    needed = ["start", "end", "deviceId", "bytes", "copyKind"]
    parts = (
        _work(session, table, raw, "bytes").select(
            enums.word(pl.col("copyKind"), enums.DIRECTIONS).alias("direction"),
            _end_of_copy("srcKind").alias("source_memory"),
            _end_of_copy("dstKind").alias("destination_memory"),
            pl.col("bytes").alias("size_bytes"),
            *_WORK_COLUMNS,
        )
        for raw in session.chunks(table, needed, [*_WORK[1:], "srcKind", "dstKind"])
    )
    return together(map(narrow, parts))


def _end_of_copy(column: str) -> pl.Expr:
    """Return the kind of memory at one end of a copy.

    A migration moves managed memory to managed memory.
    """
    is_migration = pl.col("copyKind").is_in(enums.MIGRATIONS)
    return (
        pl.when(is_migration)
        .then(enums.constant("managed"))
        .otherwise(enums.word(pl.col(column), enums.MEMORIES))
    )


def memsets(session: Session) -> pl.DataFrame:
    """Return fills of device memory, in the form that `with_process` takes."""
    table = f"{ACTIVITY}MEMSET"
    has_kind = pl.col("memKind").is_not_null()
    parts = (
        _work(session, table, raw, "bytes").select(
            pl.col("bytes").alias("size_bytes"),
            "value",
            pl.when(has_kind).then(enums.word(pl.col("memKind"), enums.MEMORIES)).alias("memory"),
            *_WORK_COLUMNS,
        )
        for raw in session.chunks(
            table,
            ["start", "end", "deviceId", "bytes"],
            [*_WORK[1:], "value", "memKind"],
        )
    )
    return together(map(narrow, parts))


def synchronizations(session: Session) -> pl.DataFrame:
    """Return the waits that the driver recorded, in the form that `with_process` takes."""
    table = f"{ACTIVITY}SYNCHRONIZATION"
    integers = [*_WORK[:-1], "syncType", "deprecatedSyncType", "eventId"]
    parts = (
        _waits(session, table, raw) for raw in session.chunks(table, ["start", "end"], integers)
    )
    return together(map(narrow, parts))


def _waits(session: Session, table: str, raw: pl.DataFrame) -> pl.DataFrame:
    code = pl.coalesce("syncType", "deprecatedSyncType")
    # nsys 2025.3 gives cudaStreamSynchronize the code of a stream's wait for an event, but no
    # event.
    code = pl.when(code == 2, pl.col("eventId") == enums.NONE_U32).then(3).otherwise(code)
    absent = {
        name: pl.col(name).replace(enums.NONE_U32, None)
        for name in ("deviceId", "contextId", "streamId")
    }
    work = _work(
        session,
        table,
        raw.with_columns(**absent, graphNodeId=pl.lit(None, pl.Int64)),
        device=False,
    )
    return work.select(
        enums.word(code, enums.SYNCHRONIZATIONS).alias("kind"),
        *_WORK_COLUMNS[:4],
        "stream_id",
        "correlation_id",
    )


def _work(
    session: Session,
    table: str,
    raw: pl.DataFrame,
    *needed: str,
    device: bool = True,
) -> pl.DataFrame:
    """Return device events with the columns that all kinds of work share.

    process_id is None if the export has none.
    """
    frame = session.intervals(
        table,
        raw,
        [*needed, *(["deviceId"] if device else [])],
    )
    return frame.with_columns(
        device_id=pl.col("deviceId"),
        context_id=pl.col("contextId"),
        stream_id=pl.col("streamId"),
        correlation_id=_correlation(),
        graph_node_id=pl.col("graphNodeId").replace(0, None),
        process_id=pl.when(pl.col("globalPid").is_not_null()).then(process_of("globalPid")),
    )


def with_process(session: Session, frame: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with process_id filled in if the export has no column globalPid.

    A row gets the process of the call with the same correlation id. If no process or several
    processes have such a call, the row gets 0.
    """
    if not frame["process_id"].null_count():
        return frame
    rows = frame.with_columns(pl.col("process_id").cast(pl.Int32))
    processes = calls["process_id"].unique()
    if processes.len() == 1:
        return rows.with_columns(pl.col("process_id").fill_null(processes.item()))
    owners = (
        calls.select(pl.col("correlation_id", "process_id").cast(pl.Int64)).drop_nulls().unique()
    )
    owners = owners.filter(pl.len().over("correlation_id") == 1)
    if owners.height:
        wide = pl.col("correlation_id").cast(pl.Int64)
        owner = wide.replace_strict(owners["correlation_id"], owners["process_id"], default=None)
        rows = rows.with_columns(pl.col("process_id").fill_null(owner))
    lost = rows["process_id"].null_count()
    text = (
        "the export does not show to which of several processes this GPU work belongs; it is"
        " listed under process 0"
    )
    session.diagnostics.add("warning", "process_unknown", text, lost)
    return rows.with_columns(pl.col("process_id").fill_null(0))


def _correlation() -> pl.Expr:
    """Return the correlation id, with None for 0, because CUPTI counts from 1."""
    return pl.col("correlationId").replace(0, None)
