"""Run one task of a job: read its sources, and write the files and the record of each rank."""

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
    """An error of the target, which ends the job. Any other error only leaves out one rank."""


class Options(Struct, frozen=True):
    """Options that change the contents of the tables."""

    events: str | None = None
    """The profiler to use if several profilers captured a rank."""
    step: str | None = None
    """The pattern of the names of steps."""
    reading: dict[str, str] = field(default_factory=reading_words)
    """The choices of how sources are read, by kind of collector."""


class RankRecord(msgspec.Struct, frozen=True):
    """The content of `ranks/R.json`: a collected rank with its sources and files."""

    rank: int
    beside: list[int]
    """All ranks in the same sources."""
    attempt: str
    """The word in the names of the rank's files."""
    sources: list[tuple[str, int, str]]
    """Name, size and ETag of each source."""
    made_by: dict[str, Any]
    """The version of tracelens, the version of the schema, and the options."""
    sizes: dict[str, int]
    """The size in bytes of each table's file."""
    manifest: dict[str, Any]
    """The manifest of a trace with this rank only."""
    first_ns: int | None = None
    """The start of the rank's first event, by the rank's clock."""
    last_ns: int | None = None
    """The end of the rank's last event, by the rank's clock."""
    host: str | None = None
    """A digest that is equal for ranks of one host. Digests of two targets differ."""
    node: int | None = None
    """The host's number, if a launcher gave one."""
    groups: dict[str, list[int]] = {}
    """The process groups that contain this rank, by name: all ranks of each group."""

    @property
    def keys(self) -> list[str]:
        """The keys of the rank's files."""
        return [key_of(table, self.rank, self.attempt) for table in self.sizes]


def made_by(options: Options) -> dict[str, Any]:
    """Return the versions and options; a rank's record is valid only if they are unchanged."""
    return {
        "tracelens_version": installed_version(),
        "schema_version": SCHEMA_VERSION,
        **asdict(options),
    }


def source_facts(sources: Sequence[Listed]) -> list[tuple[str, int, str]]:
    """Return name, size and ETag of each source, for a rank's record.

    Addresses are left out, because they may reveal who ran the program.
    """
    return [(source.name, source.size_bytes, source.etag) for source in sources]


def collect_rank(
    task: Task,
    target: str,
    options: Options,
    attempt: str | None = None,
) -> list[RankRecord]:
    """Collect the ranks in a task's sources into the target, and return the ranks' records.

    `attempt` is the word in the files' names, by default random. Raises SourceError if the sources
    cannot be read. Raises TargetError if nothing can be written, or if the target has a rank from
    other sources.
    """
    attempt = attempt or secrets.token_hex(8)
    with OwnFolder(PREFIX) as scratch:
        folder = Path(scratch)
        files: dict[Path, str] = {}
        try:
            captures = _read(task, folder, files, options.reading)
            bounds = [bound for bound in map(extent_of, captures) if bound is not None]
            # Whether ranks are of one program is checked after all tasks.
            combined = combine(captures, ranks=task.ranks, events=options.events, is_one_run=True)
            with_steps = combined if options.step is None else mark_steps_by(combined, options.step)
            # The folder itself is locked, so the trace goes into one below it
            trace = with_steps.write(folder / "made" / "trace")
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
            records = [
                _record(
                    rank, trace.manifest, sizes, alike | _place(captures, rank, objects.address)
                )
                for rank in trace.manifest.ranks
            ]
            # A task may run twice, even at the same time. The first record stays.
            return [_create(objects, record) for record in records]
        except SourceError as error:
            raise TargetError(str(error)) from None


def _read(
    task: Task,
    folder: Path,
    files: dict[Path, str],
    reading: dict[str, str],
) -> list[Capture]:
    """Return the captures of a task's sources, with their large tables in files of the folder.

    For each source, `files` receives the local path as key and the address as value. `reading` is
    as in Options.
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
    """Return the addresses of a task's sources by local path; objects are downloaded first."""
    files = {}
    for number, source in enumerate([*task.sources, *task.beside]):
        file = Path(source.address)
        if url_of(source.address) is not None:
            # Names may repeat, so each source gets its own folder, unless files belong together.
            is_alone = task.folder is None and not task.beside
            subfolder = str(number) if is_alone else "0"
            file = fetch(source, folder / subfolder / (task.folder or ""))
        if number < len(task.sources):
            files[file] = source.address
    return files


def _record(
    rank: int,
    manifest: Manifest,
    sizes: Mapping[str, Mapping[str, int]],
    about: dict[str, Any],
) -> RankRecord:
    """Return the record of one rank of a manifest, with the fields in `about`."""
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
    """Write a rank's record, and return the valid record.

    If the target already has a record of the same sources and options, that record is valid, and
    the new files are removed. Raises TargetError if the sources or options differ.
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
    """Return `host`, `node` and `groups` of a record, from the first capture of the rank.

    The result is empty if no capture is of the rank.
    """
    # A single capture is taken to be of this rank.
    of_rank = captures if len(captures) == 1 else [c for c in captures if c.rank == rank]
    first = next(iter(of_rank), None)
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
    """Return a rank's record, None if there is none; raise TargetError if it is damaged."""
    content = objects.read(key)
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=RankRecord)
    except msgspec.MsgspecError:
        raise TargetError(
            f"{objects.address}/{key}: is not a record of a rank; give {BEGIN_ANEW}"
        ) from None
