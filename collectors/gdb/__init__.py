"""Collect call stacks from logs of gdb and cuda-gdb, or from a program that runs under either."""

from tracelens.collectors.gdb.logs import KIND, read, sniff
from tracelens.running.program import package, program, program_at
from tracelens.trace.collector import Collector, Tool, imported

run = imported("tracelens.collectors.gdb.live", "run")
_find_cuda_gdb = imported("tracelens.collectors.gdb.targets", "find_cuda_gdb")
COLLECTOR = Collector(
    kind=KIND,
    expects="a gdb log with the frames that bt prints",
    sniff=sniff,
    read=read,
    fills={"stacks": "", "frames": ""},
    run=run,
    endings=(".txt", ".log"),
    tools=(
        Tool(
            "gdb",
            "call stacks of a program at a breakpoint",
            "install gdb with the system's package manager",
            program,
        ),
        Tool(
            "cuda-gdb",
            "call stacks where the program uses a GPU",
            "comes with the CUDA toolkit",
            lambda _: program_at(_find_cuda_gdb()),
        ),
        Tool(
            "py-spy",
            "Python frames in native call stacks",
            "pip install pygdbmi py-spy",
            program,
        ),
        Tool("pygdbmi", "talking to gdb while it runs", "pip install pygdbmi py-spy", package),
    ),
)

__all__ = ["COLLECTOR", "KIND", "read", "run", "sniff"]
