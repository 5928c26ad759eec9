"""Read Chrome traces of torch.profiler (Kineto).

They may be plain or gzip, of any format version since 2021, from NVIDIA and ROCm machines.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.collectors.torch import sidecar
from tracelens.collectors.torch.distributed import (
    describe_rank,
    distributed,
    host_facts_of,
    rank_of,
    with_group_ranks,
)
from tracelens.collectors.torch.document import BLOCK_BYTES, Document, ReadEvents
from tracelens.collectors.torch.raw_tables import devices, raw_tables
from tracelens.collectors.torch.reading import read_documents
from tracelens.collectors.torch.sampled_lines import RecordedLines, with_sampled_lines
from tracelens.collectors.torch.stream import ByteSource
from tracelens.collectors.torch.text import Text
from tracelens.collectors.torch.two_windows import Windows, match_windows
from tracelens.collectors.torch.values import integer
from tracelens.derive.assemble import assemble
from tracelens.derive.time.frame_lines import frames_entered_earlier, mark_lines
from tracelens.errors import NoTraceError, SourceError
from tracelens.running.program import package
from tracelens.schemas import TABLES
from tracelens.storage.limits import TRACES
from tracelens.storage.store import Store
from tracelens.trace.capture import Capture, Diagnostics, HostFacts
from tracelens.trace.collector import Collector, Tool, imported
from tracelens.trace.same_run import WORLD_SIZE
from tracelens.trace.sidecars import unzipped

KIND = "torch"
_LOG = logging.getLogger(__name__)
_JSON_START = re.compile(rb"^(?:\xef\xbb\xbf)?\s*[{\[]")
_VERSIONS = (
    "schemaVersion",
    "cupti_version",
    "cuda_runtime_version",
    "cuda_driver_version",
    "hip_runtime_version",
    "hip_driver_version",
)
_SETTINGS = ("record_shapes", "with_stack", "with_modules", "with_flops", "profile_memory")
_EPOCH_NS = 10**18
_TWO_WINDOWS = (
    "steps were recorded twice: times are of the second time, without stacks, shapes and modules;"
    " these are of the first, placed at the same ops"
)
_WINDOWS_DIFFER = (
    "a second window was recorded, but the work of its steps differs from the first one's, or its"
    " file is damaged: times are those of steps that recording stacks and shapes slowed"
)
_WITHOUT_PHASE = "(ph none)"
"""Suffix of the diagnostic code for objects that have no phase (`ph`), so they are no events."""
_REASONS = {
    "layers": "no nn.Module calls in the trace; profile with with_stack=True, with_modules=True",
    "sites": "no call was made within a span",
    "steps": (
        "nothing marks steps: call the profiler's step(), or name what marks them with --step"
        " PATTERN"
    ),
    "activities": "no thread launches device work or runs ops",
    "allocations": "memory was not profiled; profile with profile_memory=True",
    "memcpys": "the trace holds no copy",
    "memsets": "the trace holds no memset",
    "kernels": (
        "the trace holds no kernel; profile with ProfilerActivity.CUDA on a machine with a GPU"
    ),
    "collectives": "no communication kernel describes its collective",
    "synchronizations": (
        "not recorded; profile with _ExperimentalConfig(enable_cuda_sync_events=True)"
    ),
    "devices": "the trace has no deviceProperties",
    "stacks": "a torch trace holds no native stacks",
    "frames": "a torch trace holds no native stacks",
    "counters": "the trace has no counter events",
}


def sniff(path: Path, head: bytes) -> bool:
    """Return whether the content could be a Chrome trace: JSON, plain or gzip."""
    return not sidecar.is_sidecar(path) and _JSON_START.match(unzipped(head)) is not None


def read(path: Path, folder: Path | None = None) -> list[Capture]:
    """Read one trace file (`-`: standard input), or each trace file of a directory of ranks.

    - A file with several traces one after another gives one capture for each.
    - A trace that ends early gives its complete events. Its `complete` is then False, and its
      `diagnostics` count the loss.
    - If a `folder` is given, large tables are written to it, and `stored` of a capture lists them.
      The folder need not exist yet.

    Raises SourceError if a file cannot be read, is not a Chrome trace, or has no event.
    """
    parts = count()
    return [capture for file in trace_files(path) for capture in _read_file(file, folder, parts)]


def trace_files(path: Path) -> list[Path]:
    """Return the trace files of a path: the file itself, or all traces in a directory of ranks.

    Raises SourceError for a directory without traces.
    """
    if not path.is_dir():
        return [path]
    files = sorted(
        p
        for p in path.iterdir()
        if p.name.endswith((".json", ".json.gz")) and not sidecar.is_sidecar(p)
    )
    if not files:
        raise SourceError(
            f"{path}: expected a directory of .json or .json.gz traces, found none; name the trace"
            " files themselves"
        )
    return files


def begins_as_trace(path: Path) -> bool:
    """Return whether the first objects in a file are events of a trace.

    Only the beginning of the file is read.
    """
    diagnostics = Diagnostics()
    text = Text(ByteSource(path, diagnostics).blocks(BLOCK_BYTES), str(path))
    try:
        first = next(Document(text, diagnostics).events(), [])
    except NoTraceError:
        return False
    return not first or any(isinstance(event.ph, str) for event in first)


def _read_file(path: Path, folder: Path | None, parts: Iterator[int]) -> list[Capture]:
    if sidecar.is_sidecar(path):
        stem = path.name.removesuffix(sidecar.SUFFIX).removesuffix(sidecar.LIGHT_SUFFIX)
        raise SourceError(
            f"{path}: stands beside a trace and is read with it; give {stem}.pt.trace.json"
        )
    diagnostics = Diagnostics()
    source = ByteSource(path, diagnostics)
    captures: list[Capture] = []
    for number, (read, notes) in enumerate(read_documents(source, diagnostics)):
        _refuse_other_json(path, read, notes)
        if number == TRACES.value:
            raise SourceError(
                f"{path}: holds more than {TRACES.value:,} traces; {TRACES.how_to_raise}"
            )
        if read.n_events:
            with Store(folder / str(next(parts))) if folder is not None else nullcontext() as store:
                captures.append(_capture(path, source, read, notes, store))
        elif captures:
            what = "traces without an event, after the first in one file"
            captures[0].diagnostics.add("warning", "empty_trace", what)
    if not captures:
        raise _no_events(path, diagnostics)
    for number, capture in enumerate(captures, 1):
        capture.source = source.describe(KIND)
        if len(captures) > 1:
            _number_in_file(capture, number, len(captures))
    return captures


def _no_events(path: Path, diagnostics: Diagnostics) -> SourceError:
    """Return the error for a trace without events."""
    has_losses = any(severity == "loss" for severity, _ in diagnostics.counts)
    why = (
        "no event of the trace is whole; export it again with prof.export_chrome_trace(path)"
        if has_losses
        else "the trace has no events; profile at least one step before exporting"
    )
    return SourceError(f"{path}: {why}")


def _refuse_other_json(path: Path, read: ReadEvents, notes: Diagnostics) -> None:
    """Raise NoTraceError if no object in the list is an event."""
    # Every event has a phase (`ph`).
    n_strange = sum(n for (_, code), n in notes.counts.items() if code.endswith(_WITHOUT_PHASE))
    if read.n_events and read.n_events == n_strange and not read.frames:
        raise NoTraceError(
            f"{path}: expected a torch.profiler Chrome trace, found JSON whose {n_strange:,}"
            " objects are not trace events (none has a phase, ph); collect what"
            " prof.export_chrome_trace(path) wrote"
        )


def _number_in_file(capture: Capture, number: int, n_traces: int) -> None:
    """Add the trace's number to the name of a source file with several traces."""
    capture.source = replace(
        capture.source, name=f"{capture.source.name} (trace {number} of {n_traces})"
    )
    # All traces of the file would have this rank.
    if capture.rank_origin in {"file name", "launcher"}:
        capture.rank, capture.rank_origin = None, "input order"
        capture.host_facts = HostFacts(capture.host_facts.host)
    capture.diagnostics.add(
        "info", "several_traces", "traces that stand in one file, one after another; each is a rank"
    )


def _with_lines(
    activities: pl.DataFrame,
    spans: object,
    beside: dict[str, Any],
) -> pl.DataFrame:
    """Return the activities with recorded source lines in their call paths.

    If a frame's running line was not recorded, the path shows where its function is defined.
    """
    recorded = spans if isinstance(spans, pl.DataFrame) else None
    earlier = frozenset() if recorded is None else frames_entered_earlier(recorded)
    activities = activities.with_columns(mark_lines(activities["what"], earlier))
    lines = RecordedLines.of(beside)
    return activities if lines is None else with_sampled_lines(activities, lines, recorded)


def _capture(
    path: Path,
    source: ByteSource,
    read: ReadEvents,
    diagnostics: Diagnostics,
    store: Store | None,
) -> Capture:
    """Return the Capture of one trace.

    The source's size and hash are added later, once the whole file was read.
    """
    facts = read.facts
    _LOG.debug("linking events")
    recorded = _recorded(path, read, diagnostics)
    raw, beside = recorded.tables, recorded.beside
    rank, origin = rank_of(path, facts, beside)
    ranks, host_facts = describe_rank(rank, path.name, facts, beside), host_facts_of(path, facts)
    starts = [frame["start_ns"].min() for frame in raw.values() if "start_ns" in frame.columns]
    is_since_epoch = any(isinstance(start, int) and start > _EPOCH_NS for start in starts)
    tables = assemble(raw, diagnostics, store)
    if isinstance(tables.get("activities"), pl.DataFrame):
        tables["activities"] = _with_lines(tables["activities"], tables.get("spans"), beside)
    if "layers" in tables:
        tables["layers"] = sidecar.describe_layers(tables["layers"], beside)
    if not read.complete:
        diagnostics.add(
            "loss",
            "trace_cut",
            "the file ends before the trace does; whole events before that were kept",
        )
    stored = store.finish() if store is not None else {}
    return Capture(
        kind=KIND,
        source=source.describe(KIND),
        tables=tables | {"ranks": ranks},
        producer="torch.profiler",
        versions={
            key: str(facts[key]) for key in _VERSIONS if isinstance(facts.get(key), (int, str))
        },
        rank=rank,
        rank_origin=origin,
        time_base="unix_epoch" if is_since_epoch else "trace_start",
        time_precision_ns=1 if read.has_fractions else 1000,
        complete=read.complete,
        settings=recorded.settings,
        reasons={
            name: _REASONS.get(name, "a torch trace does not hold it")
            for name in TABLES
            if name not in tables | stored | {"ranks": 1}
        },
        diagnostics=diagnostics,
        stored=stored,
        host_facts=host_facts,
    )


class _Recorded(Struct, frozen=True):
    """Holds a trace's raw tables, its sidecar's facts, and the settings for the manifest.

    `beside` holds the facts, and is empty without a sidecar.
    """

    tables: dict[str, pl.DataFrame]
    beside: dict[str, Any]
    settings: dict[str, Any]


def _recorded(path: Path, read: ReadEvents, diagnostics: Diagnostics) -> _Recorded:
    """Combine the trace with its sidecar and with a second, less detailed recording, if any."""
    facts = read.facts
    base_ns = integer(facts.get("baseTimeNanoseconds")) or 0
    raw = raw_tables(read.frames, base_ns, diagnostics)
    written_beside, light = sidecar.read_sidecar(path, diagnostics), sidecar.light_of(path)
    has_light = str(path) != "-" and light.is_file()
    windows = _light_window(light, raw, diagnostics) if has_light else None
    with_lines = written_beside
    if windows is not None:
        raw, with_lines = windows.tables, windows.lines(written_beside)
    if "spans" in raw:
        raw["spans"] = sidecar.exact_paths(raw["spans"], with_lines, diagnostics)
    settings = {key: facts[key] for key in _SETTINGS if isinstance(facts.get(key), int)}
    beside = sidecar.without_cupti(with_lines, raw)
    settings |= {"reader": read.path, **sidecar.step_times(beside)}
    if windows is not None:
        settings |= sidecar.light_step_times(beside)
    raw["devices"] = devices(facts.get("deviceProperties"), raw.get("kernels"), diagnostics)
    if "collectives" in raw:
        raw["collectives"] = with_group_ranks(raw["collectives"], facts)
    n_ranks = integer(distributed(facts).get(WORLD_SIZE))
    if n_ranks is not None:
        settings[WORLD_SIZE] = n_ranks
    return _Recorded(raw, beside, settings)


def _light_window(
    light: Path,
    raw: dict[str, pl.DataFrame],
    diagnostics: Diagnostics,
) -> Windows | None:
    """Merge the file of a live capture's second, light window into the raw tables.

    Return None if the steps of the two windows do different work, or if the file is damaged.
    """
    notes = Diagnostics()
    try:
        read, _ = next(read_documents(ByteSource(light, notes), notes))
        base_ns = integer(read.facts.get("baseTimeNanoseconds")) or 0
        windows = (
            match_windows(raw, raw_tables(read.frames, base_ns, notes)) if read.complete else None
        )
    except (SourceError, StopIteration):
        windows = None
    if windows is None:
        diagnostics.add("warning", "windows_differ", _WINDOWS_DIFFER)
    else:
        diagnostics.add("info", "two_windows", _TWO_WINDOWS)
    return windows


COLLECTOR = Collector(
    kind=KIND,
    expects="a torch.profiler Chrome trace (.json, .json.gz)",
    sniff=sniff,
    read=read,
    fills={
        **dict.fromkeys(
            ("spans", "sites", "steps", "activities", "counters", "devices", "ranks"),
            "",
        ),
        **dict.fromkeys(
            ("api_calls", "kernels", "memcpys", "memsets"), "of a run that used the GPU"
        ),
        "synchronizations": "with --cuda-sync",
        "collectives": "of a run that used NCCL",
        "allocations": "with --memory",
        "layers": "of a profile taken with with_stack=True, with_modules=True",
        "provenance": "with --compile-provenance",
        "graph": "with --graph",
    },
    is_profiler=True,
    with_shapes="record_shapes=True",
    reads_stdin=True,
    files_of=trace_files,
    begins_as_one=begins_as_trace,
    beside=lambda path: [sidecar.sidecar_of(path), sidecar.light_of(path)],
    read_stored=read,
    run=imported("tracelens.collectors.torch.running", "run"),
    endings=(".json", ".gz", ".zst", ".pt.trace", ".trace"),
    tools=(Tool("torch", "profiling a program of yours", "pip install torch", package),),
)

__all__ = ["COLLECTOR", "KIND", "begins_as_trace", "read", "sniff", "trace_files"]
