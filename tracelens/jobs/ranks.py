"""Run one task of a job.

Its sources are fetched and read, and the ranks in them are written: their files, and a record of
each.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, replace

import tracelens.collectors  # noqa: F401 - a worker that is handed a task reads by them
from tracelens.derive.time.step_table import mark_steps_by
from tracelens.errors import SourceError, TracelensError
from tracelens.jobs.tasks import Task, local
from tracelens.running.subprocess_reader import read_sources
from tracelens.schemas import SCHEMA_VERSION
from tracelens.storage.addresses import url_of
from tracelens.storage.folders import OwnFolder
from tracelens.storage.objects import Listed, Objects
from tracelens.trace.capture import Capture, Manifest, key_of
from tracelens.trace.collector import read_by, reading_words
from tracelens.trace.combine import combine, installed_version
from tracelens.trace.fetching import PREFIX, addressed, fetch
from tracelens.trace.objects import RANKS, json_bytes, upload
from tracelens.trace.same_run import extent_of
from tracelens.trace.sources import note_skipped, sources_of


class TargetError(SourceError):
    """An error for a target that cannot take the rank.

    It ends the whole job; after other errors, only a rank is missing.
    """


class Options(Struct, frozen=True):
    """Options that change the contents of the tables.

    They are the profiler whose events are kept, and the pattern of steps. `reading` has the options
    for reading sources, by kind of collector.
    """

    events: str | None = None
    step: str | None = None
    reading: dict[str, str] = field(default_factory=reading_words)


class RankRecord(msgspec.Struct, frozen=True):
    """The content of `ranks/R.json`: the files of a collected rank, and from what they were made.

    `beside` are all ranks in the same sources. `sources` has name, size and ETag of each source.
    `made_by` has the version of tracelens, the schema's version and the options. `sizes` are the
    bytes of each table's file. `manifest` is that of a trace of this rank alone; it counts the
    files' rows. `first_ns` and `last_ns` say when the rank's events began and ended, by the rank's
    clock. `host` is a digest that is equal for ranks of one host, and valid only within this
    target. `node` is the number that a launcher gave the host. `groups` has the ranks of each of
    the rank's process groups.
    """

    rank: int
    beside: list[int]
    attempt: str
    sources: list[tuple[str, int, str]]
    made_by: dict[str, Any]
    sizes: dict[str, int]
    manifest: dict[str, Any]
    first_ns: int | None = None
    last_ns: int | None = None
    host: str | None = None
    node: int | None = None
    groups: dict[str, list[int]] = {}

    @property
    def keys(self) -> list[str]:
        """The keys of the rank's files."""
        return [key_of(table, self.rank, self.attempt) for table in self.sizes]


def made_by(options: Options) -> dict[str, Any]:
    """Return the version and options, which must be the same for a rank's record to be valid."""
    return {
        "tracelens_version": installed_version(),
        "schema_version": SCHEMA_VERSION,
        **asdict(options),
    }


def source_facts(sources: Sequence[Listed]) -> list[tuple[str, int, str]]:
    """Return name, size and ETag of the sources, as a record holds them.

    Addresses are left out, because they may reveal who ran the program.
    """
    return [(source.name, source.size_bytes, source.etag) for source in sources]


def collect_rank(
    task: Task,
    target: str,
    options: Options,
    attempt: str | None = None,
) -> list[RankRecord]:
    """Collect the ranks in the sources of a task, usually one, into the target.

    Return the records of these ranks. A task may run twice, even at the same time: the first record
    stays, and the other run returns it. To keep their files apart, file names contain `attempt`, by
    default a random word. Raises SourceError if the sources cannot be read; their ranks are then
    missing. Raises TargetError if nothing can be written, or if the rank was collected from other
    sources.
    """
    attempt = attempt or secrets.token_hex(8)
    with OwnFolder(PREFIX) as scratch:
        folder = Path(scratch)
        files: dict[Path, str] = {}
        try:
            captures = _read(task, folder, files, options.reading)
            bounds = [bound for bound in map(extent_of, captures) if bound is not None]
            trace = combine(
                captures, ranks=task.ranks, events=options.events, is_one_run=True
            )  # checked later, with all ranks together
            if options.step is not None:
                trace = mark_steps_by(trace, options.step)
            # The folder itself is locked, so the trace goes into one below it
            trace = trace.write(folder / "made" / "trace")
        except TracelensError as error:
            raise type(error)(addressed(str(error), files | {folder: task.name})) from None
        alike = {
            "beside": trace.manifest.ranks,
            "attempt": attempt,
            "sources": source_facts(task.sources),
            "made_by": made_by(options),
            "first_ns": min((first for first, _ in bounds), default=None),
            "last_ns": max((last for _, last in bounds), default=None),
        }
        try:
            objects = Objects(target)
            sizes = upload(objects, folder / "made" / "trace", attempt)
            return [
                _create(
                    objects,
                    _record(
                        rank,
                        trace.manifest,
                        sizes,
                        alike | _place(captures, rank, objects.address),
                    ),
                )
                for rank in trace.manifest.ranks
            ]
        except SourceError as error:
            raise TargetError(str(error)) from None


def _read(
    task: Task,
    folder: Path,
    files: dict[Path, str],
    reading: dict[str, str],
) -> list[Capture]:
    """Return the captures of the sources, with their large tables in the folder.

    The sources' local paths are added to `files`.
    """
    files |= _fetched(task, folder)
    given = [folder / "0" / task.folder] if task.folder else [*files]
    with read_by(reading):
        skipped: list[Path] = []
        sources = sources_of(given, task.kind, skipped)
        captures = read_sources(sources, folder / "read", None, lambda _: None)
    note_skipped(captures, skipped)
    for source in task.sources:
        if url_of(source.address) is None and local(Path(source.address)).etag != source.etag:
            raise SourceError(
                f"{source.address}: was changed while it was read; collect it again when it is"
                " complete"
            )
    if task.position is not None and not task.ranks:
        for capture in captures:
            if capture.rank is None:
                text = "sources that do not say their rank; it was taken from their order"
                capture.rank = task.position
                capture.diagnostics.add("warning", "rank_assumed", text)
    return captures


def _fetched(task: Task, folder: Path) -> dict[Path, str]:
    """Return the sources as local files, and their addresses.

    Objects are downloaded into the folder.
    """
    files = {}
    for number, source in enumerate([*task.sources, *task.beside]):
        file = Path(source.address)
        if url_of(source.address) is not None:
            # Each has a folder of its own, because names may repeat; files that belong to it are
            # put beside it.
            is_alone = task.folder is None and not task.beside
            file = fetch(
                source,
                folder / (str(number) if is_alone else "0") / (task.folder or ""),
            )
        if number < len(task.sources):
            files[file] = source.address
    return files


def _record(
    rank: int,
    manifest: Manifest,
    sizes: Mapping[str, Mapping[str, int]],
    about: dict[str, Any],
) -> RankRecord:
    """Return the record of one rank of a manifest.

    `about` has the fields that the other arguments do not determine.
    """
    sizes_of_rank = {
        table: by_rank[str(rank)] for table, by_rank in sizes.items() if str(rank) in by_rank
    }
    return RankRecord(
        rank=rank,
        sizes=sizes_of_rank,
        manifest=replace(manifest.of_rank(rank), attempts={}).as_dict(),
        **about,
    )


def _create(objects: Objects, record: RankRecord) -> RankRecord:
    """Write a rank's record.

    If there is a record of the same sources and options, it stays, and the new files are removed.
    """
    rank, key = record.rank, f"{RANKS}/{record.rank}.json"
    if objects.create(key, json_bytes(msgspec.to_builtins(record))):
        return record
    other = read_record(objects, key)
    objects.remove(record.keys)
    if other is None or other.made_by != record.made_by:
        raise TargetError(
            f"{objects.address}: rank {rank} was collected with other options; give {BEGIN_ANEW}"
        )
    if other.sources != record.sources:
        names = other.sources[0][0], record.sources[0][0]
        raise TargetError(
            f"{objects.address}: {names[0]} and {names[1]} both claim rank {rank}, or one was"
            f" changed; give --rank once for each file, in their order, or {BEGIN_ANEW}"
        )
    return other


def _place(captures: Sequence[Capture], rank: int, target: str) -> dict[str, Any]:
    """Return the rank's host, node and groups, from the first capture of this rank.

    A single capture is taken to be of this rank. The result is empty without such a capture.
    """
    first = (
        captures[0]
        if len(captures) == 1
        else next(
            (capture for capture in captures if capture.rank == rank),
            None,
        )
    )
    if first is None:
        return {}
    host, rank_rows = first.host_facts.host, first.tables.get("ranks")
    return {
        "host": (
            None if host is None else hashlib.sha256(f"{target} {host}".encode()).hexdigest()[:16]
        ),
        "node": None if rank_rows is None or not rank_rows.height else rank_rows["node"][0],
        "groups": {name: list(ranks) for name, ranks in first.host_facts.groups.items()},
    }


BEGIN_ANEW = "another --out, or --force to start again"


def read_record(objects: Objects, key: str) -> RankRecord | None:
    """Return a rank's record; None if there is none. Raises TargetError if it is damaged."""
    content = objects.read(key)
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=RankRecord)
    except msgspec.MsgspecError:
        raise TargetError(
            f"{objects.address}/{key}: is not a record of a rank; give {BEGIN_ANEW}"
        ) from None
