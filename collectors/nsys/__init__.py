"""Collect captures of Nsight Systems.

Exports in SQLite, Parquet or Arrow are read. Reports are read if nsys is installed.
"""

from collections.abc import Callable
from pathlib import Path

from tracelens.collectors.nsys.sniffing import CHOSEN, KIND, RANK_BY, ranked_by, sniff
from tracelens.collectors.nsys.tool import INSTALL, look_for_nsys
from tracelens.running.program import package
from tracelens.trace.capture import Capture
from tracelens.trace.collector import Collector, Tool, imported

read: Callable[[Path], list[Capture]] = imported("tracelens.collectors.nsys.collector", "read")
run = imported("tracelens.collectors.nsys.live", "run")
COLLECTOR = Collector(
    kind=KIND,
    expects="an nsys export (SQLite, parquetdir, arrowdir, .nsys-rep)",
    sniff=sniff,
    read=read,
    fills={
        **dict.fromkeys(("spans", "sites", "steps"), "with NVTX ranges"),
        **dict.fromkeys(
            ("api_calls", "kernels", "memcpys", "memsets"), "of a run that used the GPU"
        ),
        **dict.fromkeys(("activities", "counters", "devices", "synchronizations"), ""),
    },
    is_profiler=True,
    with_shapes="torch.autograd.profiler.emit_nvtx(record_shapes=True)",
    run=run,
    endings=(".sqlite", ".nsys-rep", "_parquetdir", "_arrowdir"),
    tools=(
        Tool(
            "nsys",
            "recording a program, and turning .nsys-rep into SQLite or Parquet",
            INSTALL,
            look_for_nsys,
        ),
        Tool(
            "adbc-driver-sqlite",
            "reading large nsys SQLite files faster",
            "pip install adbc-driver-sqlite",
            package,
        ),
    ),
    reading=CHOSEN,
)

__all__ = ["COLLECTOR", "KIND", "RANK_BY", "ranked_by", "read", "run", "sniff"]
