"""Read the output of AMD's rocprofv3: JSON (`--output-format json`), and rocpd, a SQLite file.

Both formats hold the environment, the command and the host's name. None of these is read. Times
count from the machine's boot.
"""

from pathlib import Path

from tracelens.collectors.rocprof.recorded import HOW
from tracelens.collectors.rocprof.results import HEAD, read_results
from tracelens.collectors.rocprof.rocpd import MAGIC, is_rocpd, read_rocpd
from tracelens.derive.assemble import assemble
from tracelens.derive.events.sound_rows import sound_rows
from tracelens.errors import SourceError
from tracelens.trace.capture import Capture, Diagnostics, SourceFile
from tracelens.trace.collector import Collector

KIND = "rocprof"
_REASONS = {
    "spans": "no roctx range was recorded; mark parts of the program, and give --marker-trace",
    "layers": "rocprofv3 records no nn.Module",
    "steps": "no roctx range marks steps: name one step 0, step 1, …, and give --marker-trace",
    "api_calls": "no HIP call was recorded; give --hip-trace or --sys-trace",
    "kernels": "no kernel was recorded; give --kernel-trace or --sys-trace",
    "memcpys": "no copy was recorded; give --memory-copy-trace or --sys-trace",
    "memsets": "rocprofv3 records fills as kernels, __amd_rocclr_fillBufferAligned",
    "allocations": "nothing is read of rocprofv3's --memory-allocation-trace",
    "stacks": "rocprofv3 records no native stacks",
    "frames": "rocprofv3 records no native stacks",
}


def sniff(path: Path, head: bytes) -> bool:
    """Return whether the file is rocprofv3's JSON, or has rocpd's tables."""
    return not path.is_dir() and (HEAD in head or (head.startswith(MAGIC) and is_rocpd(path)))


def read(path: Path) -> list[Capture]:
    """Return a file's captures, one per process.

    Raises SourceError if the file is damaged or holds neither kernels nor calls.
    """
    with path.open("rb") as stream:
        is_database = stream.read(len(MAGIC)) == MAGIC
    captures = []
    for recorded in (read_rocpd if is_database else read_results)(path):
        diagnostics = Diagnostics()
        raw = sound_rows(recorded.raw_tables(), diagnostics)
        if raw.keys() & {"kernels", "memcpys", "api_calls", "spans"}:
            captures.append(
                Capture(
                    KIND,
                    SourceFile.of(path, KIND),
                    assemble(raw, diagnostics),
                    producer="rocprofv3",
                    reasons=_REASONS,
                    diagnostics=diagnostics,
                )
            )
    if not captures:
        raise SourceError(f"{path}: expected kernels or HIP calls, found none; {HOW}")
    return captures


COLLECTOR = Collector(
    kind=KIND,
    expects="rocprofv3's output (--output-format json or rocpd)",
    sniff=sniff,
    read=read,
    is_profiler=True,
    endings=("_results.json", "_results.db"),
)
