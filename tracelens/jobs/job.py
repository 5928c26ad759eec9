"""A job: sources to tasks, tasks to ranks by an engine, ranks to a trace.

Started again, it goes on where it ended.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tracelens.derive.ranks.validate_ranks import validate_ranks
from tracelens.derive.time.step_table import mark_steps_by
from tracelens.errors import SourceError
from tracelens.jobs.ranks import (
    Options,
    RankRecord,
    TargetError,
    collect_rank,
    made_by,
    read_sources,
    source_facts,
)
from tracelens.jobs.target import commit_trace, finished_ranks, prepare
from tracelens.jobs.tasks import Task, tasks_of
from tracelens.storage.addresses import shown
from tracelens.trace import Trace
from tracelens.trace.collector import Tell
from tracelens.trace.combine import combine
from tracelens.trace.directory import build_folder, check_target
from tracelens.trace.fetching import fetched
from tracelens.trace.sources import Paths, given_paths

Work: TypeAlias = Callable[[Task], Any]
Engine: TypeAlias = Callable[[Sequence[Task], Work], Iterator[tuple[Task, Any]]]
"""Runs the work, which can be pickled, for each task, and yields results in any order as they come.

A SourceError is yielded for a task whose sources cannot be read, or that was lost for good; a
TargetError is raised."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job: its sources, its target, and how many ranks suffice.

    Kind and ranks are given where the sources do not say them.
    """

    paths: Paths
    target: str
    kind: str | None = None
    ranks: Sequence[int] = ()
    options: Options = field(default_factory=Options)
    force: bool = False
    min_ranks: int = 0
    force_mix: bool = False


def in_turn(tasks: Sequence[Task], work: Work) -> Iterator[tuple[Task, Any]]:
    """Run the tasks in this process, one after another."""
    for task in tasks:
        yield task, attempted(task, work)


def attempted(task: Task, work: Work) -> Any:
    """Return the result of a task, or the error that costs the job its ranks.

    Raises TargetError, which ends the job.
    """
    try:
        return work(task)
    except TargetError:
        raise
    except SourceError as error:
        return error


def collect_job(job: Job, engine: Engine, tell: Tell) -> tuple[Trace, dict[str, str]]:
    """Collect the sources into the target.

    Return the trace, and messages by the name of each task that failed. Ranks that are in the
    target already, of the same sources and options, are not read again. Raises SourceError
    where fewer ranks than asked for, or none, could be collected, or the target cannot be
    written.
    """
    skipped: list[str] = []
    tasks = tasks_of(job.paths, job.kind, job.ranks, skipped)
    prepare(job.target, force=job.force)
    records = {record.rank: record for record in _finished(job, tasks)}
    done = {
        source
        for record in records.values()
        if records.keys() >= {*record.beside}
        for source in record.sources
    }
    left = [task for task in tasks if not done.issuperset(source_facts(task.sources))]
    if skipped:
        tell(
            "files that are no traces were skipped:"
            f" {', '.join(skipped[:3])}{', …' if len(skipped) > 3 else ''}"
        )
    if records:
        tell(
            f"{len(records):,} ranks are there already; {len(left):,} of {len(tasks):,} sources are"
            " left to read"
        )
    failed: dict[str, str] = {}
    for task, result in engine(left, partial(collect_rank, target=job.target, options=job.options)):
        if isinstance(result, SourceError):
            failed[task.name] = str(result)
        else:
            records |= {record.rank: record for record in result}
    mix = job.force_mix or bool(job.ranks)
    commit_trace(
        job.target,
        [*records.values()],
        failed,
        min_ranks=job.min_ranks,
        force=job.force,
        force_mix=mix,
    )
    return Trace.open(job.target), failed


def collect_together(
    job: Job, target: Path, limit_bytes: int | None, tell: Tell
) -> tuple[Trace, dict[str, str]]:
    """Collect all sources at once, in this process, into a local target.

    A job of one task: what `collect_job` gives, without records of ranks to go on from. Files that
    would take more than `limit_bytes` are read in processes of their own. Raises SourceError for a
    source that cannot be read, but for damaged gzip in a folder, which costs its ranks.
    """
    check_target(target, force=job.force)
    is_forced = job.force_mix or bool(job.ranks)
    with fetched(given_paths(job.paths)) as local, build_folder(target) as folder:
        try:
            captures, damaged = read_sources(local, job.kind, folder, limit_bytes, tell)
        except OSError as error:
            raise SourceError(f"{target}: cannot be written: {error}") from error
        trace = combine(
            captures, ranks=job.ranks, events=job.options.events, force_mix=job.force_mix
        )
        validate_ranks(trace, force_mix=is_forced)
        if job.options.step is not None:
            trace = mark_steps_by(trace, job.options.step)
        trace = trace.write(target, force=job.force)
    why = "is damaged gzip, of which nothing can be read; write it again"
    return trace, {str(file): f"{file}: {why}" for file in damaged}


def _finished(job: Job, tasks: Sequence[Task]) -> list[RankRecord]:
    """Return the records in the target. Raises TargetError for one of other sources or options."""
    records = finished_ranks(job.target)
    known = {source for task in tasks for source in source_facts(task.sources)}
    for record in records:
        if record.made_by != made_by(job.options) or not known.issuperset(record.sources):
            raise TargetError(
                f"{shown(job.target)}: holds rank {record.rank} of an unfinished collection of"
                " other sources or options, or of a source that was changed since; give another"
                " --out, or --force to begin anew"
            )
    return records
