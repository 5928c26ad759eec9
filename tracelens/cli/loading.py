"""List the commands, and import their modules when they are asked for."""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

COMMANDS = {
    "run": "Capture a program and say what limits it.",
    "report": "Say what limits a program, or what differs between two.",
    "whatif": "Predict what a step would take after a change.",
    "collect": "Read sources, or capture a program, into a trace.",
    "calibrate": "Measure what the profiler adds on this machine.",
    "baseline": "Keep earlier runs under a name, to judge new ones by.",
    "export": "Write a timeline for Perfetto, or stacks for flame graphs.",
    "query": "Ask a trace's tables with SQL.",
    "repro": "Write a script that runs one op again.",
    "mcp": "Serve traces to an agent, read only.",
    "check": "Say what a trace holds, and what was lost.",
    "schema": "Describe the tables and analyses.",
    "plan": "Choose which submodules to compile, from measured layers.",
    "advise": "Choose library calls for a model, from measured calls.",
    "peaks": "Measure a GPU's peaks, for report --peaks.",
    "clean": "Remove unfinished files from an object store.",
    "doctor": "List the tools and packages found here.",
    "demo": "Explain a bundled trace.",
}
"""Each command's line in `--help`, in this order.

A command's module has its name.
"""


@cache
def load_module(name: str) -> Any:
    """Import and return a command's module."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    # Imported modules stay to the end; collecting garbage among them takes 0.02 s.
    gc.disable()
    with _without_blas_threads() if name in {"report", "reporting"} else nullcontext():
        module = import_module(f"tracelens.cli.{name.replace('-', '_')}")
    if is_ignored:  # importing Polars (1.3x) replaces the handling of SIGINT
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.enable()
    # A verdict makes a million objects. With the usual threshold, garbage collection takes a
    # twentieth of the time of a verdict, and a tenth of the time of a page.
    gc.set_threshold(200_000)
    return module


@contextmanager
def _without_blas_threads() -> Iterator[None]:
    """Keep OpenBLAS from starting threads if NumPy is imported within this context.

    A report multiplies no matrices. On two cores, a small answer takes 0.84 s of processor time, of
    which the threads take 0.05 s. Programs that are started later have their usual threads.
    """
    name = "OPENBLAS_NUM_THREADS"
    if name in os.environ:
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]


def let_interrupts_raise() -> None:
    """Make Ctrl-C raise KeyboardInterrupt, unless the process ignores SIGINT."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.default_int_handler)
