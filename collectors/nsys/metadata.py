"""Read facts about an export: versions, clock, settings, devices, sampled counters, errors.

Some tables contain the program's environment, its paths and the host's name. Only values with known
names are read from them, and their form is checked.
"""

import re
from typing import Any

import polars as pl

from tracelens.collectors.nsys import enums
from tracelens.collectors.nsys.events import ACTIVITY, API_TABLES, WHOLE_GRAPHS
from tracelens.collectors.nsys.export import Export, wanted
from tracelens.collectors.nsys.session import TIME_LIMIT_NS, Session, together
from tracelens.trace.capture import Diagnostics

NEWEST_SCHEMA = (3, 25)
OLDEST_SCHEMA = (2, 9)

_READ = {
    *API_TABLES,
    *(f"{ACTIVITY}{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION")),
    WHOLE_GRAPHS,
    "DIAGNOSTIC_EVENT",
    "GPU_METRICS",
    "CUDA_GRAPH_NODE_EVENTS",
    "CUDA_GRAPH_EVENTS",
    "CUDA_CALLCHAINS",
}
_NO_EVENTS = re.compile(
    r"^(NVTX_EVENTS(_V\d)?|ENUM_.*|META_DATA_.*|TARGET_INFO_.*|ANALYSIS_.*|EXPORT_.*|StringIds"
    r"|ThreadNames|Process.*|PROCESSES|.*_(TYPES|FIELDS|SOURCES)|UnwindMethodType|NVTX_PAYLOAD_.*)$"
)
_ENVIRONMENT = ("META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV")
_HOME = r"""(?:/home|[/\\]Users)[/\\]+([^\s"'/\\:;,]+)"""
_PASSWORD = re.compile(
    r"(?i)\b(password|passwd|passphrase|secret|token|key)\b((?: +is| +was|:)?) +\S+"
)
_PLAIN_WORD = re.compile(
    r"""^[("'\[]*(--)?[A-Za-z][A-Za-z'-]*(\(\))?[)"'\].,:;!?]*$|^[\d.,]+[%).,:;]*$"""
)


def versions(export: Export, diagnostics: Diagnostics) -> dict[str, str]:
    """Return the versions of nsys, the export's schema and the driver, by name.

    A schema that tracelens does not know causes a warning.
    """
    facts = _values(export, "META_DATA_CAPTURE", "EXPORT_META_DATA", "META_DATA_EXPORT")
    driver = _values(export, "TARGET_INFO_SYSTEM_ENV").get("NvDriverVersion")
    named = {
        "nsys": facts.get("EXPORT_PRODUCT_VERSION"),
        "nsys_schema": facts.get("EXPORT_SCHEMA_VERSION"),
        "driver": driver,
    }
    versions = {
        name: text for name, text in named.items() if text and re.fullmatch(r"\d+(\.\d+)*", text)
    }
    numbers = [facts.get(f"EXPORT_SCHEMA_VERSION_{part}") or "" for part in ("MAJOR", "MINOR")]
    if not all(number.isdecimal() for number in numbers):
        numbers = versions.get("nsys_schema", "").split(".")[:2]
    is_known = len(numbers) == 2 and all(number.isdecimal() for number in numbers)
    version = tuple(map(int, numbers)) if is_known else None
    if version is None or not OLDEST_SCHEMA <= version <= NEWEST_SCHEMA:
        code = (
            "schema_unknown"
            if version is None
            else "schema_newer"
            if version > NEWEST_SCHEMA
            else "schema_older"
        )
        oldest, newest, recorded = (
            ".".join(map(str, schema_version)) if schema_version else "not recorded"
            for schema_version in (OLDEST_SCHEMA, NEWEST_SCHEMA, version)
        )
        text = (
            f"the export's schema is {recorded}, and {oldest} to {newest} are known; every column"
            " needed was there"
        )
        diagnostics.add("warning", code, text)
    return versions


def clock(export: Export, diagnostics: Diagnostics) -> tuple[int, str]:
    """Return the ns to add to the export's times, and the clock's name for the manifest."""
    # With --ts-normalize, times do not count from the start of the session.
    if (
        _values(export, "EXPORT_META_DATA", "META_DATA_EXPORT").get("EXPORT_PARAM_TIME_NORMALIZE")
        == "true"
    ):
        return 0, "unix_epoch"
    starts = export.frame("TARGET_INFO_SESSION_START_TIME", wanted(["utcEpochNs"]))[
        "utcEpochNs"
    ].drop_nulls()
    if starts.len() and abs(starts[0]) > TIME_LIMIT_NS:
        text = "the recorded start of the session is impossible; times count from the start"
        diagnostics.add("warning", "base_time_wrong", text)
        return 0, "trace_start"
    return (int(starts[0]), "unix_epoch") if starts.len() else (0, "trace_start")


def settings(export: Export) -> dict[str, Any]:
    """Return the traced APIs, and whether graphs were recorded as a whole or by node."""
    rows = export.frame("META_DATA_CAPTURE", wanted(texts=["name", "value"])).drop_nulls()
    traced = rows.filter(pl.col("name") == "CAPTURE_EVENT_TYPE")["value"].to_list()
    modes = rows.filter(pl.col("name").str.ends_with("CUDA_GRAPH_TRACE_OPTIONS:MODE"))[
        "value"
    ].to_list()
    chosen: dict[str, Any] = (
        {"traced": [word for word in traced if word.isalnum()]} if traced else {}
    )
    return chosen | ({"cuda_graph_trace": modes[0].lower()} if modes and modes[0].isalpha() else {})


def devices(export: Export) -> pl.DataFrame:
    """Return one row per process and GPU that the process used, with the columns of `devices`.

    - `device_id`: the GPU's number in the process.
    - `process_id`: an added column, None if the export lacks it.
    - `gpu_id`: an added column, the GPU's number in the export.
    """
    integers = [
        "id",
        "cuDevice",
        "smCount",
        "computeMajor",
        "computeMinor",
        "smMajor",
        "smMinor",
        "threadsPerWarp",
        "maxWarpsPerSm",
        "maxBlocksPerSm",
        "maxRegistersPerSm",
        "maxShmemPerSm",
        "totalMemory",
    ]
    gpus = export.frame("TARGET_INFO_GPU", wanted(integers, ["name"])).unique(
        "id", keep="first", maintain_order=True
    )
    seen = export.frame("TARGET_INFO_CUDA_DEVICE", wanted(["gpuId", "cudaId", "pid"])).drop_nulls(
        ["gpuId", "cudaId"]
    )
    if seen.is_empty():
        seen = gpus.select(
            gpuId="id",
            cudaId=pl.coalesce("cuDevice", "id"),
            pid=pl.lit(None, pl.Int64),
        )
    major, minor = pl.coalesce("computeMajor", "smMajor"), pl.coalesce("computeMinor", "smMinor")
    return seen.join(gpus, left_on="gpuId", right_on="id", maintain_order="left").select(
        process_id="pid",
        gpu_id="gpuId",
        device_id="cudaId",
        name=pl.col("name").fill_null("unknown"),
        sm_count="smCount",
        compute_capability=pl.format("{}.{}", major, minor),
        warp_size="threadsPerWarp",
        max_threads_per_sm=pl.col("maxWarpsPerSm") * pl.col("threadsPerWarp"),
        max_warps_per_sm="maxWarpsPerSm",
        max_blocks_per_sm="maxBlocksPerSm",
        registers_per_sm="maxRegistersPerSm",
        shared_memory_per_sm_bytes="maxShmemPerSm",
        memory_bytes="totalMemory",
    )


def counters(session: Session) -> pl.DataFrame:
    """Return the sampled GPU metrics, one row per sample.

    The low byte of a metric's type id is the device. Most metrics are percentages.
    """
    about = session.export.frame(
        "TARGET_INFO_GPU_METRICS", wanted(["typeId", "metricId"], ["metricName"])
    )
    keys = ["typeId", "metricId"]
    # Throughputs carry "[Throughput %]" in their names.
    unit = pl.col("metricName").str.extract(r"\[(?:.*\s)?(\S+)\]\s*$")
    about = about.unique(keys, keep="first").select(
        *keys,
        pl.col("metricName").fill_null("unknown").cast(pl.Categorical),
        unit=unit.cast(pl.Categorical),
    )
    parts = []
    for raw in session.chunks("GPU_METRICS", ["timestamp", "typeId", "metricId", "value"]):
        samples = session.moments(
            "GPU_METRICS", raw.drop_nulls(["timestamp", "value"]), "timestamp"
        )
        samples = samples.join(about, on=keys, how="left", maintain_order="left")
        parts.append(
            samples.select(
                name=pl.col("metricName").fill_null("unknown"),
                unit="unit",
                time_ns=pl.col("timestamp") + session.base_ns,
                value=pl.col("value").cast(pl.Float64),
                device_id=(pl.col("typeId") & 0xFF).cast(pl.Int32),
            )
        )
    return together(parts)


def note_losses(export: Export, diagnostics: Diagnostics) -> None:
    """Record in `diagnostics` how many rows are not read, and nsys's own warnings."""

    def count(severity: str, code: str, table: str, text: str) -> None:
        diagnostics.add(
            severity,
            code,
            text,
            export.n_rows(table) if export.has(table) else 0,
        )

    count(
        "warning",
        "graph_kernels_hidden",
        WHOLE_GRAPHS,
        "replays of CUDA graphs were recorded whole: each counts as one kernel, named CUDA graph N;"
        " to see the kernels in them, capture again with nsys profile --cuda-graph-trace=node",
    )
    count(
        "info",
        "callchains_not_read",
        "CUDA_CALLCHAINS",
        "frames of call stacks of CUDA API calls (CUDA_CALLCHAINS) are not read",
    )
    for table in sorted(export.columns):
        if table not in _READ and not _NO_EVENTS.match(table):
            count(
                "info",
                f"not_read_{table.lower()}",
                table,
                f"rows of the export's table {table} are not read",
            )
    private = private_names(export)
    events = export.frame("DIAGNOSTIC_EVENT", wanted(["severity"], ["text"]))
    for severity, message in events.filter(
        pl.col("severity").is_in(list(enums.SEVERITIES))
    ).iter_rows():
        text = scrub(message or "", private)
        # Without numbers, the name is the same in each run.
        name = "_".join(re.findall(r"[a-z]+", text.lower())[:6]) or "message"
        diagnostics.add(enums.SEVERITIES[severity], f"nsys_{name}", f"nsys: {text}")


def scrub(text: str, private: frozenset[str] = frozenset()) -> str:
    """Return the first line of a message, with `…` instead of anything private.

    Only plain words and numbers that are not in `private` are kept.
    """
    line = text.strip().split("\n", 1)[0].replace("\0", " ")
    line = _PASSWORD.sub(r"\1\2 …", re.sub(r"""(["'`]).*?\1""", "…", line))
    words = [
        w if _PLAIN_WORD.match(w) and w.strip(".,:;") not in private else "…" for w in line.split()
    ]
    return re.sub(r"…(\s…)+", "…", " ".join(words))[:200]


def private_names(export: Export) -> frozenset[str]:
    """Return the names of the machine and its user."""
    # These names look like plain words.
    environment = _values(export, *_ENVIRONMENT)
    named = {
        v
        for k, v in environment.items()
        if re.search(r"(?i)display_?name|host_?name|user_?name|(^|[_:])(user|logname)$", k)
    }
    homes = (match for value in environment.values() for match in re.findall(_HOME, value))
    return frozenset(named.union(homes))


def host(export: Export) -> str | None:
    """Return the machine's name, None if the export lacks it.

    The name is never written. It only shows whether captures come from one host.
    """
    environment = _values(export, *_ENVIRONMENT)
    return next(
        (
            value
            for name, value in sorted(environment.items())
            if re.search(r"(?i)host_?name$", name)
        ),
        None,
    )


def _values(export: Export, *tables: str) -> dict[str, str]:
    """Return the values in tables of names and values, by name.

    Some values are private, so callers pick single values and never copy the whole dict.
    """
    frames = [export.frame(table, wanted(texts=["name", "value"])).drop_nulls() for table in tables]
    return dict(pl.concat(frames).iter_rows())
