"""Hold the collectors. Each reads one kind of source into one Capture per rank.

Some can also run a program and capture it. A new collector consists of a module that ends with
`COLLECTOR`, its test, and one line in NAMES.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tracelens.derive.ranks.validate_ranks import validate_ranks
from tracelens.errors import UsageError
from tracelens.running.nvml import Sampler
from tracelens.trace import Trace
from tracelens.trace.collector import COLLECTORS, Run
from tracelens.trace.combine import combine
from tracelens.trace.sources import read_captures

NAMES = (
    "gdb",
    "provenance",
    "graph",
    "trace_log",
    "jax",
    "rocprof",
    # torch accepts any file that begins like JSON, so gdb's logs and sidecars come before it.
    "torch",
    "nsys",
)
"""Names of the collectors' modules, in the order in which they sniff a file."""
COLLECTORS.update({name: import_module(f"{__name__}.{name}").COLLECTOR for name in NAMES})


def collect(
    paths: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    kind: str | None = None,
    ranks: Sequence[int] = (),
    events: str | None = None,
    force_mix: bool = False,
) -> Trace:
    """Read sources of one program into a Trace in memory.

    - `kind`: the kind of all sources, one of NAMES. By default it is detected from their content.
    - `ranks`: the rank of each source.
    - `events`: the profiler to use if two profilers captured the same rank, by default the first of
      them in NAMES.
    - `force_mix`: combine ranks that contradict each other, with a warning.

    Raises SourceError for a source that cannot be read, UsageError for an invalid request.
    """
    trace = combine(
        read_captures(paths, kind),
        ranks=ranks,
        events=events,
        force_mix=force_mix,
    )
    validate_ranks(trace, force_mix=force_mix or bool(ranks))
    return trace


def run_program(
    kind: str,
    command: Sequence[str],
    *,
    ranks: Sequence[int] = (),
    **options: Any,
) -> tuple[Trace, Run]:
    """Run a program under a collector while sampling GPU counters.

    Return the trace in memory, and the collector's Run. `options` are passed to the collector's
    `run`. Raises ToolError if the command cannot be run, or if nothing was captured.
    """
    run = COLLECTORS[kind].run
    if run is None:
        raise UsageError(f"{kind} runs no program; give it files to read")
    with Sampler() as sampler:
        done = run(command, **options)
    trace = combine(
        [*done.captures, sampler.capture(done.captures[0].rank)],
        ranks=ranks,
        is_one_run=True,
    )
    validate_ranks(trace, force_mix=True)
    return trace, done
