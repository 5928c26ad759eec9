"""Run analyses on an engine, with one task per rank that returns only the results."""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from tracelens.analyses import ANALYSES
from tracelens.analyses.analysis import Parallel
from tracelens.derive.time.awaited import awaited_from, give_awaited
from tracelens.derive.time.breakdown import Breakdown
from tracelens.derive.time.model import merge_models, time_model
from tracelens.errors import MissingTableError, UsageError
from tracelens.jobs.job import Engine
from tracelens.jobs.tasks import Task
from tracelens.storage.addresses import shown
from tracelens.storage.objects import Listed
from tracelens.trace import Trace

_BYTES_A_ROW = 500
"""Estimated size of a profiler's file in bytes per row of the trace's tables.

The memory of a task is estimated from this size.
"""


def ask_ranks(trace: Trace, names: Sequence[str], engine: Engine) -> Mapping[str, pl.DataFrame]:
    """Run the named analyses that can run rank by rank, and return their results by name.

    An analysis can run rank by rank if a rank's rows depend only on this rank. Raises UsageError
    for a trace that is not in files, and SourceError if a rank's tables cannot be read.
    """
    if trace.path is None or not trace.manifest.n_rows:
        raise UsageError(
            "--engine is for a trace that tracelens collect wrote: its tasks read the rank's own"
            " files; collect it first, or leave --engine out"
        )
    by_rank = [name for name in names if ANALYSES[name].parallel is Parallel.BY_RANK]
    of_time = any(ANALYSES[name].parallel is Parallel.OF_TIME for name in names)
    if len(trace.manifest.ranks) < 2 or not (by_rank or of_time):
        return {}
    address = shown(trace.path)
    awaited = awaited_from(trace)
    work = partial(_ask_rank, address=address, names=by_rank, of_time=of_time, awaited=awaited)
    answers = {}
    for task, answer in engine(_tasks(trace, address), work):
        if isinstance(answer, Exception):
            raise answer
        answers[task.ranks[0]] = answer
    frames_of_ranks, breakdowns = zip(
        *(answers[rank] for rank in trace.manifest.ranks), strict=True
    )
    if of_time:
        # Other analyses need the time model of all ranks.
        merge_models(trace, breakdowns)
    frames_by_name = {
        name: [frames[name] for frames in frames_of_ranks if name in frames] for name in by_rank
    }
    return {name: pl.concat(frames) for name, frames in frames_by_name.items() if frames}


def _tasks(trace: Trace, address: str) -> list[Task]:
    """Return one task per rank, with an estimated size of its source."""
    tasks = []
    for rank in trace.manifest.ranks:
        n_rows = sum(of_table.get(str(rank), 0) for of_table in trace.manifest.n_rows.values())
        files = Listed(address, f"rank {rank} of {trace.name}", n_rows * _BYTES_A_ROW, "")
        tasks.append(Task((files,), ranks=(rank,)))
    return tasks


def _ask_rank(
    task: Task,
    address: str,
    names: Sequence[str],
    *,
    of_time: bool,
    awaited: Mapping[int, int],
) -> tuple[dict[str, pl.DataFrame], Breakdown | None]:
    """Run the analyses `names` on a task's rank; return the results by name, and a Breakdown.

    Analyses that lack a table are left out. If `of_time` is False, the Breakdown is None. `awaited`
    is the result of `awaited_from` for all ranks.
    """
    trace = Trace.open(address, task.ranks[0]).with_listed_names()
    # This distinguishes a late rank from a rank that starts up.
    give_awaited(trace, awaited)
    frames = {}
    for name in names:
        try:
            frames[name] = ANALYSES[name].run(trace)
        except MissingTableError:
            continue
    return frames, time_model(trace).breakdown if of_time else None
