"""Read one nsys file as one Capture per rank.

A rank is a process if no two processes share a GPU, else the whole file.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import polars as pl
from msgspec.structs import replace

from tracelens.collectors.nsys import events, metadata, nvtx
from tracelens.collectors.nsys.export import HOW_TO_EXPORT, Export, open_directory
from tracelens.collectors.nsys.session import Session, fitting, read_names
from tracelens.collectors.nsys.sniffing import CHOSEN, KIND, MAGIC, is_nsys_table
from tracelens.collectors.nsys.sqlite import SqliteExport
from tracelens.collectors.nsys.tool import RAW_SUFFIX, REPORT_SUFFIXES, exported
from tracelens.derive.assemble import assemble
from tracelens.errors import SourceError, first_line
from tracelens.schemas import TABLES
from tracelens.trace.capture import Capture, Diagnostics, HostFacts, SourceFile
from tracelens.trace.cleaning import clean

_EVERY = -2
_WORK = {
    "kernels": events.kernels,
    "memcpys": events.memcpys,
    "memsets": events.memsets,
    "synchronizations": events.synchronizations,
}
_WHY_EMPTY = {
    "spans": (
        "the capture has no NVTX ranges; capture with nsys profile -t cuda,nvtx and annotate the"
        " program"
    ),
    "api_calls": "the capture has no CUDA API calls; capture with nsys profile -t cuda",
    "kernels": (
        "the capture has no kernels; capture with nsys profile -t cuda a run that uses the GPU"
    ),
    "counters": (
        "the capture has no GPU metrics; capture with nsys profile --gpu-metrics-devices=all"
    ),
    "collectives": (
        "nsys does not record sizes or groups of collectives; tracelens collect torch does"
    ),
    "devices": "the export describes no GPU",
    "memcpys": "the capture has no copies",
    "memsets": "the capture has no fills",
    "synchronizations": "the driver recorded no waits in this capture",
    "allocations": (
        "tracelens does not read allocations from nsys; tracelens collect torch reads the"
        " allocator's"
    ),
    "layers": (
        "nsys does not record modules; tracelens collect torch does, from a profile taken"
        " with with_modules=True"
    ),
    "sites": "no call was made within an NVTX range",
    "steps": (
        "no NVTX range marks steps: call them step 0, step 1, …, or name what marks them with"
        " --step PATTERN"
    ),
    "activities": "no thread launches device work or marks steps",
}


def by_process(
    raw: dict[str, pl.DataFrame], diagnostics: Diagnostics
) -> list[dict[str, pl.DataFrame]]:
    """Return the raw tables of each rank, in the order of the GPUs.

    A rank is a process that runs kernels, and gets the rows of this process. Rows of all other
    processes go to the first rank; their number is reported. A device that belongs to no process
    goes to every rank.
    """
    owners = _owners(raw)
    processes = owners["process_id"].unique(maintain_order=True)
    shares_no_gpu = owners["gpu_id"].n_unique() == owners.height
    by_file = CHOSEN.get() == "file" or (CHOSEN.get() == "auto" and not shares_no_gpu)
    if len(processes) < 2 or by_file:
        return [raw]
    ranks = [_rank_of(name, frame, processes, owners) for name, frame in raw.items()]
    others = sum(
        int((rank == -1).sum()) for name, rank in zip(raw, ranks, strict=True) if name in TABLES
    )
    text = "rows of processes that run no kernel, or of no process; they count with the first rank"
    diagnostics.add("info", "rows_without_rank", text, others)
    return [
        {
            name: frame.filter(rank.is_in([number, _EVERY, *([-1] if number == 0 else [])]))
            for (name, frame), rank in zip(raw.items(), ranks, strict=True)
        }
        for number in range(len(processes))
    ]


def _rank_of(
    name: str,
    frame: pl.DataFrame,
    processes: pl.Series,
    owners: pl.DataFrame,
) -> pl.Series:
    """Return each row's rank, from its process or, in `counters`, from its GPU.

    The rank is -1 if no rank has this process or GPU, and _EVERY for a device without a process.
    """
    numbers = pl.Series(range(len(processes)), dtype=pl.Int64)
    if name == "counters":
        of_gpu = owners.unique("gpu_id", keep="first")
        owner = (
            frame["device_id"]
            .cast(pl.Int64)
            .replace_strict(of_gpu["gpu_id"], of_gpu["process_id"], default=None)
        )
    else:
        owner = frame["process_id"].cast(pl.Int64)
    rank = owner.replace_strict(processes, numbers, default=-1, return_dtype=pl.Int64)
    return rank.set(owner.is_null(), _EVERY) if name == "devices" else rank


def _owners(raw: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Return one row per process and device on which it runs kernels, ordered by GPU.

    Columns are process_id, device_id, and gpu_id (the export's number of the GPU).
    """
    keys = ["process_id", "device_id"]
    used = (
        raw["kernels"]
        .select(pl.col(keys).cast(pl.Int64))
        .unique()
        .filter(pl.col("process_id") != 0)
    )
    numbers = (
        raw["devices"]
        .select(pl.col(*keys, "gpu_id").cast(pl.Int64))
        .drop_nulls()
        .unique(keys, keep="first")
    )
    known = used.join(numbers, on=keys, how="left").with_columns(
        gpu_id=pl.coalesce("gpu_id", "device_id")
    )
    return known.sort("gpu_id", "process_id")


def read(path: Path) -> list[Capture]:
    """Return the captures in an export or report, one per rank.

    Raises SourceError if the source is damaged or not an export. Raises ToolError if a report
    cannot be exported here.
    """
    try:
        if path.is_file() and path.suffix in (*REPORT_SUFFIXES, RAW_SUFFIX):
            with exported(path) as export_path:
                return read_export(export_path, path)
        return read_export(path, path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {first_line(error)}") from error


def _open(path: Path) -> Export:
    if not path.exists():
        raise SourceError(
            f"{path}: no such file or directory; write one with nsys export --type sqlite"
        )
    if path.is_dir():
        if (directory := open_directory(path)) is not None:
            return directory
        raise SourceError(
            f"{path}: expected a directory of nsys tables as .parquet or .arrow files, found"
            f" {'none of them' if any(path.iterdir()) else 'it empty'}; make one with"
            f" {HOW_TO_EXPORT}"
        )
    with path.open("rb") as stream:
        head = stream.read(len(MAGIC))
    if head != MAGIC:
        found_bytes = f"the bytes {head[:8].hex(' ')}" if head else "an empty file"
        raise SourceError(
            f"{path}: expected a SQLite file written by nsys export, found {found_bytes} at byte 0;"
            f" make one with {HOW_TO_EXPORT}"
        )
    export = SqliteExport(path)
    if not any(is_nsys_table(name) for name in export.columns):
        tables = ", ".join(sorted(export.columns)[:5]) or "none"
        raise SourceError(
            f"{path}: expected the tables of an nsys export (StringIds, CUPTI_ACTIVITY_KIND_KERNEL,"
            f" …), found a SQLite file with other tables ({tables}); make an export with"
            f" {HOW_TO_EXPORT}"
        )
    return export


def read_export(path: Path, source: Path) -> list[Capture]:
    """Return the captures in an export that was made from the file or folder `source`.

    Raises SourceError as `read` does.
    """
    export = _open(path)
    # Hashing releases the interpreter's lock, so it runs while the export is read.
    with ThreadPoolExecutor(1) as pool:
        return _captures(export, pool.submit(SourceFile.of, source, KIND))


def _captures(export: Export, source: Future[SourceFile]) -> list[Capture]:
    diagnostics = Diagnostics()
    base_ns, time_base = metadata.clock(export, diagnostics)
    session = Session(export, read_names(export, diagnostics), base_ns, diagnostics)
    ranks = by_process(_raw_tables(session), diagnostics)
    versions = metadata.versions(export, diagnostics)
    metadata.note_losses(export, diagnostics)
    captures = []
    for number, raw in enumerate(ranks):
        # Losses of the file are reported with its first capture only.
        diagnostics_of_rank = Diagnostics() if number else diagnostics
        raw["devices"] = _one_numbering(raw, raw["devices"], diagnostics_of_rank)
        fitted = {
            name: fitting(TABLES[name], f, diagnostics_of_rank) if name in TABLES else f
            for name, f in raw.items()
        }
        tables = assemble(fitted, diagnostics_of_rank)
        is_severe = not {
            severity for severity, _ in (*diagnostics_of_rank.counts, *diagnostics.counts)
        }.isdisjoint({"loss", "error"})
        file = source.result()
        several = f"{file.name} (process {number + 1} of {len(ranks)})"
        capture = Capture(
            KIND,
            file if len(ranks) == 1 else replace(file, name=several),
            tables,
            producer="Nsight Systems",
            versions=versions,
            time_base=time_base,
            complete=not is_severe,
            settings=metadata.settings(export),
            reasons={name: why for name, why in _WHY_EMPTY.items() if name not in tables},
            diagnostics=diagnostics_of_rank,
            host_facts=HostFacts.on(metadata.host(export) or file.sha256),
        )
        clean(capture, metadata.private_names(export))
        captures.append(capture)
    return captures


def _raw_tables(session: Session) -> dict[str, pl.DataFrame]:
    """Return the raw tables of an export by name, with rows in any order."""
    with ThreadPoolExecutor(1) as pool:
        # Each thread counts losses separately. With one counter, counts could be lost, and their
        # order would vary.
        session_of_thread = replace(session, diagnostics=Diagnostics())
        begun = {name: pool.submit(read, session_of_thread) for name, read in _WORK.items()}
        calls = events.api_calls(session)
    raw = {"api_calls": calls}
    raw |= {
        name: events.with_process(session, work.result(), calls) for name, work in begun.items()
    }
    session.diagnostics.take(session_of_thread.diagnostics)
    raw["counters"] = metadata.counters(session)
    raw["graph_nodes"] = events.graph_nodes(session)
    raw["spans"] = nvtx.spans(session, lambda: _last_moment(raw))
    raw["devices"] = metadata.devices(session.export)
    return raw


def _last_moment(raw: dict[str, pl.DataFrame]) -> int | None:
    """Return the latest end of any event in nanoseconds, None if there are no events."""
    last = (pl.col("start_ns") + pl.col("duration_ns")).max()
    ends = [frame.select(last).item() for frame in raw.values() if "duration_ns" in frame.columns]
    return max(
        (end for end in ends if isinstance(end, int)),
        default=None,
    )


def _one_numbering(
    raw: dict[str, pl.DataFrame],
    devices: pl.DataFrame,
    diagnostics: Diagnostics,
) -> pl.DataFrame:
    """Return the devices, numbered so that each GPU has one device_id.

    Each process numbers its GPUs itself. If one number means different GPUs in two processes,
    device_id becomes the export's number of the GPU, both in the result and in the tables of `raw`.
    """
    clash = (
        devices.group_by("device_id").agg(pl.col("gpu_id").n_unique()).filter(pl.col("gpu_id") > 1)
    )
    if clash.height:
        keys = ["process_id", "device_id"]
        numbers = devices.select(*keys, "gpu_id").unique(keys, keep="first")
        for name in _WORK:
            wide = raw[name].with_columns(pl.col(keys).cast(pl.Int64))
            joined = wide.join(numbers, on=keys, how="left", maintain_order="left")
            renumbered = joined.with_columns(device_id=pl.coalesce("gpu_id", "device_id")).drop(
                "gpu_id"
            )
            raw[name] = renumbered.with_columns(
                pl.col("process_id").cast(raw[name].schema["process_id"])
            )
        devices = devices.with_columns(device_id="gpu_id")
        text = (
            "device ordinals that mean different GPUs in different processes; device_id is the"
            " GPU's number in nsys"
        )
        diagnostics.add("info", "devices_renumbered", text, clash.height)
    return devices.drop("process_id", "gpu_id").unique(
        "device_id", keep="first", maintain_order=True
    )
