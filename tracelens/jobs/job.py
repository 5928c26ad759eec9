"""Run a job that collects sources into a trace.

An engine runs one task per source, usually one rank. A job that is started again skips finished
ranks.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, field

from tracelens.derive.ranks.validate_ranks import validate_ranks
from tracelens.derive.time.step_table import mark_steps_by
from tracelens.errors import SourceError
from tracelens.jobs.ranks import (
    Options,
    RankRecord,
    TargetError,
    collect_rank,
    made_by,
    source_facts,
)
from tracelens.jobs.target import commit_trace, finished_ranks, prepare
from tracelens.jobs.tasks import Task, tasks_of
from tracelens.running.subprocess_reader import read_sources
from tracelens.storage.addresses import shown
from tracelens.trace import Trace
from tracelens.trace.collector import Tell
from tracelens.trace.combine import combine
from tracelens.trace.fetching import fetched
from tracelens.trace.sources import Paths, given_paths, note_skipped, sources_of
from tracelens.trace.target_folder import build_folder, check_target

Work: TypeAlias = Callable[[Task], Any]
Engine: TypeAlias = Callable[[Sequence[Task], Work], Iterator[tuple[Task, Any]]]
"""A function that runs the work for each task, and yields each task with its result.

Tasks are yielded in order of completion. The work must be picklable. The result of a failed task is
a SourceError. A TargetError is raised and ends the job.
"""


class Job(Struct, frozen=True):
    """Holds the sources, the target and the options of a job."""

    paths: Paths
    target: str
    kind: str | None = None
    ranks: Sequence[int] = ()
    options: Options = field(default_factory=Options)
    force: bool = False
    min_ranks: int = 0
    """The number of ranks that suffice for a trace."""
    force_mix: bool = False
    limit_bytes: int | None = None
    """The limit for the memory of all processes that read files."""


def in_turn(tasks: Sequence[Task], work: Work) -> Iterator[tuple[Task, Any]]:
    """Run the tasks in this process one after another; yield each task with its result."""
    for task in tasks:
        yield task, attempted(task, work)


def attempted(task: Task, work: Work) -> Any:
    """Return the result of a task, or its SourceError. Raises TargetError, to end the job."""
    try:
        return work(task)
    except TargetError:
        raise
    except SourceError as error:
        return error


def collect_job(job: Job, engine: Engine | None, tell: Tell) -> tuple[Trace, dict[str, str]]:
    """Collect the sources of a job, write the trace to its target, and return the trace and errors.

    The errors are messages about sources that could not be read. Without an engine, this process
    collects all sources, and the keys of the messages are paths of sources. With an engine, the
    keys are names of tasks. Raises SourceError if there are no ranks or fewer than `min_ranks`, or
    if the target cannot be written.
    """
    return _at_once(job, tell) if engine is None else _by_rank(job, engine, tell)


def _at_once(job: Job, tell: Tell) -> tuple[Trace, dict[str, str]]:
    """Collect all sources into a local target, without an engine.

    Raises SourceError for a source that cannot be read. In a folder, damaged gzip files are skipped
    instead. They are returned with their error messages.
    """
    target = Path(job.target)
    check_target(target, force=job.force)
    skipped: list[Path] = []
    with fetched(given_paths(job.paths)) as files, build_folder(target) as folder:
        sources = sources_of(files, job.kind, skipped)
        try:
            captures = read_sources(sources, folder, job.limit_bytes, tell)
        except OSError as error:
            raise SourceError(
                f"{target}: cannot be written: {error}; free space, or name another place with"
                " --out"
            ) from error
        damaged = note_skipped(captures, skipped)
        combined = combine(
            captures, ranks=job.ranks, events=job.options.events, force_mix=job.force_mix
        )
        validate_ranks(combined, force_mix=job.force_mix or bool(job.ranks))
        pattern = job.options.step
        with_steps = combined if pattern is None else mark_steps_by(combined, pattern)
        trace = with_steps.write(target, force=job.force)
    why = "is damaged gzip, of which nothing can be read; write it again"
    return trace, {str(file): f"{file}: {why}" for file in damaged}


def _by_rank(job: Job, engine: Engine, tell: Tell) -> tuple[Trace, dict[str, str]]:
    """Collect the sources as tasks of the engine; return the trace and the errors of skipped files.

    Ranks that the target already has, from the same sources and options, are not read again.
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
            "files that are not traces were skipped:"
            f" {', '.join(skipped[:3])}{', …' if len(skipped) > 3 else ''}"
        )
    if records:
        tell(
            f"{len(records):,} ranks are there already; {len(left):,} of {len(tasks):,} sources are"
            " left to read"
        )
    failed: dict[str, str] = {}
    work = partial(collect_rank, target=job.target, options=job.options)
    for task, result in engine(left, work):
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


def _finished(job: Job, tasks: Sequence[Task]) -> list[RankRecord]:
    """Return the records of the ranks in the target.

    Raises TargetError if a rank was collected from other sources or with other options.
    """
    records = finished_ranks(job.target)
    known = {source for task in tasks for source in source_facts(task.sources)}
    for record in records:
        if record.made_by != made_by(job.options) or not known.issuperset(record.sources):
            raise TargetError(
                f"{shown(job.target)}: holds rank {record.rank} of an unfinished collection of"
                " other sources or options, or of a source that was changed since; give another"
                " --out, or --force to start again"
            )
    return records
