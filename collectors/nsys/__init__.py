"""Collector of Nsight Systems captures: exports in SQLite, Parquet or Arrow, and reports where nsys is installed."""

from tracelens.collectors.nsys.collector import KIND, read, sniff
from tracelens.collectors.nsys.live import run
from tracelens.trace.collector import Collector

COLLECTOR = Collector(
    kind=KIND,
    expects="an nsys export (SQLite, parquetdir, arrowdir, .nsys-rep)",
    sniff=sniff,
    read=read,
    fills={
        **dict.fromkeys(("spans", "sites", "steps"), "with NVTX ranges"),
        **dict.fromkeys(("api_calls", "kernels", "memcpys", "memsets"), "of a run that used the GPU"),
        **dict.fromkeys(("activities", "counters", "devices", "synchronizations"), ""),
    },
    is_profiler=True,
    run=run,
)

__all__ = ["COLLECTOR", "KIND", "read", "run", "sniff"]
