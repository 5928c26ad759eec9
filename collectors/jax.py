"""Read what jax.profiler writes: the Chrome trace `plugins/profile/TIME/HOST.trace.json.gz`.

TensorFlow's profiler writes the same file. The file has these processes:

- `/host:CPU`: host events
- `/device:GPU:N`: device work, in threads named `Stream #7(Compute)`. Further threads repeat this
  work by module, step or name. They are left out.

xla/backends/profiler/gpu/cupti_collector.cc gives a kernel these arguments:

- `hlo_op`, `hlo_module` and `correlation_id`
- `name`: the names of jax.named_scope around the kernel
- `kernel_details`: `regs:32 static_shared:0 dynamic_shared:0 grid:2,1,1 block:32,1,1 occ_pct:50`
"""

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
import polars as pl

from tracelens.derive.assemble import assemble
from tracelens.derive.events.sound_rows import sound_rows
from tracelens.errors import SourceError
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.collector import Collector
from tracelens.trace.sidecars import unzipped

KIND = "jax"
_PROCESS = re.compile(rb'"name":\s*"/(?:host|device):')
_ENDING, _UNREAD = ".trace.json.gz", ".xplane.pb"
_DEVICE = re.compile(r"^/device:GPU:(\d+)")
_STREAM = re.compile(r"^Stream #(\d+)")
_DETAIL = re.compile(r"(\w+):([\w.,]+)")
_CALL = re.compile(r"^(?:cu|hip)[A-Z]|^cuda[A-Z]")
_COPIES = ("h2d", "d2h", "d2d", "p2p")
_MEMORIES = {"host": "pageable", "pageable": "pageable", "pinned": "pinned", "device": "device"}
_MOST_EVENTS = 1_000_000
"""Above this number of events, XLA leaves out less important events, without a notice."""
_MOST_DIGITS = 18
_AXES = ("x", "y", "z")
_PLACE = ("process_id", "thread_id", "start_ns", "duration_ns")
_REASONS = {
    "layers": "JAX calls no nn.Module; ops carry the names of jax.named_scope, or of the function",
    "steps": "nothing marks steps: with jax.profiler.StepTraceAnnotation('train', step_num=n)",
    "kernels": "the trace holds no stream of a GPU; profile on a machine with one",
    "devices": "jax.profiler's Chrome trace does not say what the device is",
    "allocations": "memory is not in jax.profiler's Chrome trace",
    "stacks": "a JAX trace holds no native stacks",
    "frames": "a JAX trace holds no native stacks",
}


_I64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Microseconds: TypeAlias = Annotated[float, msgspec.Meta(ge=-(2.0**50), le=2.0**50)]


class _Event(msgspec.Struct):
    ph: str = ""
    name: str = ""
    pid: _I64 = 0
    tid: _I64 = 0
    ts: _Microseconds = 0.0
    dur: _Microseconds = 0.0
    args: dict[str, Any] = {}

    def number(self, name: str) -> int | None:
        """Return an argument as a whole number, None if it is absent or not a number."""
        return _number(str(self.args.get(name, "")))

    def text(self, name: str) -> str | None:
        """Return an argument as text, None if it is absent or empty."""
        return str(self.args[name]) if self.args.get(name) else None

    def times(self) -> dict[str, int]:
        """Return start and duration in nanoseconds.

        The file counts microseconds from the profiler's start.
        """
        start, end = round(self.ts * 1000), round((self.ts + self.dur) * 1000)
        return {"start_ns": start, "duration_ns": end - start}


class _Trace(msgspec.Struct):
    events: list[_Event] = msgspec.field(name="traceEvents")


def sniff(path: Path, head: bytes) -> bool:
    """Return whether this is a trace of jax.profiler, a folder of traces, or a lone XPlane file."""
    if path.is_dir():
        return bool(_runs(path))
    # `read` refuses an XPlane file without a trace, and says what to give it.
    if path.name.endswith(_UNREAD):
        return not path.with_name(path.name.removesuffix(_UNREAD) + _ENDING).exists()
    start = unzipped(head)
    return b'"highres-ticks"' in start and _PROCESS.search(start) is not None


def files_of(path: Path) -> list[Path]:
    """Return the traces of the latest run in a folder of jax.profiler.trace, or the file itself."""
    return sorted(_runs(path)[-1].glob(f"*{_ENDING}")) if path.is_dir() else [path]


def _runs(folder: Path) -> list[Path]:
    """Return the folders in `plugins/profile` that hold a trace, one per run, oldest first.

    The folders' names are times.
    """
    runs = folder / "plugins" / "profile"
    return sorted(p for p in runs.glob("*") if any(p.glob(f"*{_ENDING}"))) if runs.is_dir() else []


def read(path: Path) -> list[Capture]:
    """Read the trace of one process. Raises SourceError if the file is damaged or has no event."""
    if path.name.endswith(_UNREAD):
        raise SourceError(
            f"{path}: XPlane is not read; take the {_ENDING} that jax.profiler writes beside it"
        )
    events = _events(path)
    diagnostics = Diagnostics()
    text = "the file has as many events as XLA writes at most: others may be missing"
    diagnostics.add("loss", "events_capped", text, int(len(events) >= _MOST_EVENTS))
    raw = sound_rows(_raw_tables(events, diagnostics), diagnostics)
    if not raw:
        raise SourceError(
            f"{path}: expected events of /host:CPU or of streams of a GPU, found none; profile some"
            " steps: with jax.profiler.trace(FOLDER)"
        )
    return [
        Capture(
            KIND,
            SourceFile.of(path, KIND),
            assemble(raw, diagnostics),
            producer="jax.profiler",
            complete=len(events) < _MOST_EVENTS,
            reasons=_REASONS,
            diagnostics=diagnostics,
        )
    ]


def _events(path: Path) -> list[_Event]:
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        return msgspec.json.decode(content, type=_Trace).events
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read: {error.strerror or error}; name a file that you may read"
        ) from error
    except (EOFError, zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceError(
            f"{path}: expected the Chrome trace of jax.profiler, found a file that is damaged or"
            f" ends early ({error}); copy or record it again"
        ) from error


def _raw_tables(events: list[_Event], diagnostics: Diagnostics) -> dict[str, pl.DataFrame]:
    """Sort events into raw tables, by the names of their processes and threads."""
    names = {
        (e.pid, e.tid if e.name == "thread_name" else None): str(e.args.get("name", ""))
        for e in events
        if e.ph == "M" and e.name in ("process_name", "thread_name")
    }
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    launched_ops: dict[int, set[_Op]] = defaultdict(set)
    n_others = 0
    for event in events:
        if event.ph != "X":
            continue
        process = names.get((event.pid, None), "")
        stream = _STREAM.match(names.get((event.pid, event.tid), ""))
        device = _DEVICE.match(process)
        if device and stream:
            table, row = _device_work(event)
            rows[table].append(
                row
                | {
                    "device_id": int(device[1]),
                    "stream_id": int(stream[1]),
                }
            )
            if row["correlation_id"] is not None:
                launched_ops[row["correlation_id"]].add(_op(event))
        elif process.startswith("/host:"):
            table, row = _host_event(event)
            rows[table].append(row)
        else:
            n_others += not device
    text = "events of processes that are neither the host nor a GPU, as a TPU's; not read"
    diagnostics.add("loss", "device_unknown", text, n_others)
    rows["spans"] += _op_spans(rows["api_calls"], launched_ops)
    frames = {name: pl.DataFrame(some, infer_schema_length=None) for name, some in rows.items()}
    return {name: frame.drop("op", strict=False) for name, frame in frames.items() if frame.height}


class _Op(NamedTuple):
    """Holds the names of an HLO op, its layer and its XLA module. An unknown name is None."""

    name: str | None
    layer: str | None
    module: str | None


def _op(event: _Event) -> _Op:
    """Return the HLO op of an event, with its layer and module.

    The layer is the path of jax.named_scope names around the op, else the XLA module.
    """
    # The last part of the path is the primitive.
    scopes = (event.text("name") or "").rpartition("/")[0]
    module = event.text("hlo_module")
    return _Op(event.text("hlo_op"), scopes or module, module)


def _host_event(event: _Event) -> tuple[str, dict[str, Any]]:
    """Return the name of the raw table for a host event, and the event's row."""
    thread_and_times = {"process_id": event.pid, "thread_id": event.tid} | event.times()
    correlation = event.number("correlation_id")
    if correlation is not None and _CALL.match(event.name):
        api = "driver" if event.name.startswith("cu") and event.name[2].isupper() else "runtime"
        call = {"source_api": api, "raw_api": event.name, "correlation_id": correlation}
        return "api_calls", call | {"op": _op(event)} | thread_and_times
    op = _op(event)
    kind, name = _kind_and_name(event, op)
    category = event.name if name != event.name else None
    span = {"kind": kind, "category": category, "name": name}
    return "spans", span | {
        "module_path": op.layer if op.name is not None else None
    } | thread_and_times


def _kind_and_name(event: _Event, op: _Op) -> tuple[str, str]:
    """Return the kind and name of the span for a host event."""
    step = event.number("step_num")
    if op.name is not None:
        return "op", op.name
    if event.name.startswith("$"):
        return "python", event.name[1:]
    if step is not None:
        return "annotation", f"step {step}"
    is_of_library = "_src" in event.args or "::" in event.name
    return "other" if is_of_library else "annotation", event.name


def _device_work(event: _Event) -> tuple[str, dict[str, Any]]:
    """Return the name of the raw table for an event on a stream, and the event's row."""
    row: dict[str, Any] = {"correlation_id": event.number("correlation_id")} | event.times()
    name = event.name.lower()
    if "memcpy_details" in event.args or name.startswith("memcpy"):
        details = dict(_DETAIL.findall(event.text("memcpy_details") or ""))
        source, destination = (
            _MEMORIES.get(details.get(f"kind_{end}", "").lower(), "unknown")
            for end in ("src", "dst")
        )
        return "memcpys", row | {
            "direction": next((word for word in _COPIES if word in name), "unknown"),
            "source_memory": source,
            "destination_memory": destination,
            "size_bytes": _number(details.get("size")) or 0,
        }
    if "Memset_details" in event.args or name.startswith("memset"):
        details = dict(_DETAIL.findall(event.text("Memset_details") or ""))
        return "memsets", row | {"size_bytes": _number(details.get("num_bytes")) or 0}
    launch_columns = _parse_kernel_details(event.text("kernel_details") or "")
    return "kernels", row | {"name": event.name} | launch_columns


@lru_cache(maxsize=1 << 12)
def _parse_kernel_details(details: str) -> dict[str, int | None]:
    """Return a kernel's grid, block, registers and shared memory as columns of `kernels`."""
    known = dict(_DETAIL.findall(details))
    static, dynamic = (_number(known.get(f"{word}_shared")) for word in ("static", "dynamic"))
    sizes = {
        f"{word}_{axis}": _number(size)
        for word in ("grid", "block")
        for axis, size in zip(_AXES, known.get(word, ",,").split(","), strict=False)
    }
    return sizes | {
        "registers_per_thread": _number(known.get("regs")),
        "static_shared_bytes": static,
        "dynamic_shared_bytes": dynamic,
        "shared_bytes": None if static is None or dynamic is None else static + dynamic,
    }


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _op_spans(
    calls: Iterable[dict[str, Any]],
    launched_ops: dict[int, set[_Op]],
) -> list[dict[str, Any]]:
    """Return op spans, one around each API call, named after the HLO op that the call launches.

    A call that launches several ops is named after their XLA module. A call without a known op or
    module gets no span.
    """
    spans = []
    for call in calls:
        ops = launched_ops.get(call["correlation_id"]) or {call["op"]}
        modules = {op.module for op in ops}
        op = next(iter(ops))
        if len(ops) > 1:
            module = op.module if len(modules) == 1 else None
            op = _Op(module, module, module)
        if op.name is not None:
            about = {"kind": "op", "category": "hlo_op", "name": op.name, "module_path": op.layer}
            spans.append(about | {key: call[key] for key in _PLACE})
    return spans


COLLECTOR = Collector(
    kind=KIND,
    expects="a trace or folder of jax.profiler (.trace.json.gz)",
    sniff=sniff,
    read=read,
    files_of=files_of,
    is_profiler=True,
    endings=(_ENDING,),
)
