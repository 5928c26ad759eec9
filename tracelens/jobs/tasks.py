"""List the tasks of a job, each with the sources that it reads."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tracelens.errors import SourceError
from tracelens.storage.addresses import url_of
from tracelens.storage.folders import OwnFolder
from tracelens.storage.objects import Listed, Objects
from tracelens.trace.fetching import PREFIX, REQUESTS, addressed, beside, listed
from tracelens.trace.sources import HEAD_BYTES, Paths, given_paths, is_damaged, sources_of

_TABLES = (".parquet", ".arrow")
"""A folder with files of these endings is one source."""
_RANK = re.compile(r"(?<![a-z])rank[-_ ]?(\d{1,9})(?!\d)", re.IGNORECASE)


class Task(Struct, frozen=True):
    """Holds sources that are read together, and the files beside them that are also read."""

    sources: tuple[Listed, ...]
    beside: tuple[Listed, ...] = ()
    kind: str | None = None
    ranks: tuple[int, ...] = ()
    """The requested ranks."""
    folder: str | None = None
    """The folder's name, if the sources are the files of one exported folder."""
    position: int | None = None
    """The rank to use if neither the user nor the sources state a rank.

    It is None if one task has all sources.
    """

    @property
    def size_bytes(self) -> int:
        """The size of all sources in bytes."""
        return sum(source.size_bytes for source in self.sources)

    @property
    def name(self) -> str:
        """The name in messages: the folder, else the first source and how many more there are."""
        more = len(self.sources) - 1
        return self.folder or self.sources[0].name + (f" and {more} more" if more else "")


def tasks_of(
    paths: Paths,
    kind: str | None = None,
    ranks: Sequence[int] = (),
    skipped: list[str] | None = None,
) -> list[Task]:
    """Return the tasks for the sources at these paths.

    - If profilers wrote all sources, each source gets a task.
    - If something else wrote any source, such as a call stack, and all names contain a rank,
      sources of the same rank share a task.
    - Otherwise, all sources share one task.

    Names of files that are no traces are appended to `skipped`. Raises SourceError for sources that
    cannot be read, and UsageError without paths.
    """
    skipped = [] if skipped is None else skipped
    tasks_by_profile: list[tuple[bool, Task]] = []
    for path in given_paths(paths):
        url = url_of(path)
        tasks_by_profile += (
            _local(path, kind, skipped) if url is None else _remote(url, kind, skipped)
        )
    tasks = [task for _, task in tasks_by_profile]
    if not all(is_profile for is_profile, _ in tasks_by_profile):
        tasks = _together(tasks)
    if ranks and len(ranks) == len(tasks):
        return [
            replace(task, ranks=(rank,), position=number)
            for number, (task, rank) in enumerate(zip(tasks, ranks, strict=True))
        ]
    if len(tasks) == 1 or ranks:
        return [replace(_one(tasks), ranks=tuple(ranks))]
    return [replace(task, position=number) for number, task in enumerate(tasks)]


def _one(tasks: Sequence[Task]) -> Task:
    if len(tasks) == 1:
        return tasks[0]
    folders = [task.name for task in tasks if task.folder is not None]
    if folders:
        raise SourceError(
            f"{folders[0]}: is a source that is a folder; collect it by itself, into a trace of"
            " its own"
        )
    sources = tuple(source for task in tasks for source in task.sources)
    return Task(sources, tuple(source for task in tasks for source in task.beside), tasks[0].kind)


def _together(tasks: Sequence[Task]) -> list[Task]:
    """Join tasks with the same rank in their names; join all tasks if some name has no rank."""
    by_rank: dict[int | None, list[Task]] = {}
    for task in tasks:
        match = _RANK.search(task.name)
        by_rank.setdefault(int(match[1]) if match else None, []).append(task)
    return (
        [_one(tasks)]
        if None in by_rank
        else [_one(tasks_of_rank) for tasks_of_rank in by_rank.values()]
    )


def _local(path: Path, kind: str | None, skipped: list[str]) -> list[tuple[bool, Task]]:
    strange: list[Path] = []
    file_tasks = [
        (is_profile, Task((local(file),), (), kind))
        for file, is_profile in _chosen(path, kind, strange)
    ]
    skipped += [file.name for file in strange]
    return file_tasks


def _chosen(path: Path, kind: str | None, strange: list[Path]) -> list[tuple[Path, bool]]:
    """Return the files to read for a path, sorted, each with whether a profiler wrote it.

    Files of a folder that are no traces are appended to `strange`. Raises SourceError if there is
    no file to read.
    """
    files = [path] if path.is_file() else path.iterdir() if path.is_dir() else ()
    # Damaged gzip stays, so that its task reports it and only this rank is lost.
    chosen = {file: True for file in files if file.is_file() and is_damaged(file)}
    left: list[Path] = []
    try:
        chosen |= {file: collector.is_profiler for collector, file in sources_of(path, kind, left)}
    except SourceError:
        if not chosen:
            raise
    strange += [file for file in left if file not in chosen]
    return sorted(chosen.items())


def local(path: Path) -> Listed:
    """Return a local file as a source. Its ETag is its modification time and size."""
    about = path.stat()
    return Listed(
        str(path.absolute()),
        path.name,
        about.st_size,
        f"{about.st_mtime_ns:x}-{about.st_size:x}",
    )


def _remote(url: str, kind: str | None, skipped: list[str]) -> list[tuple[bool, Task]]:
    """Return the sources at a URL as tasks, each with whether a profiler wrote it.

    If the URL is an object, the object is the only source. If not, the objects directly below the
    URL are the sources. If no collector recognises an object's first bytes, the object's name is
    appended to `skipped`.
    """
    members, more = listed(url)
    is_itself = members[0].address == url
    name = url.rpartition("/")[2]
    if not is_itself and any(member.name.endswith(_TABLES) for member in members):
        return [(True, Task(tuple(members), (), kind, (), name))]
    with OwnFolder(PREFIX) as scratch:
        folder = Path(scratch, name)
        folder.mkdir()
        with ThreadPoolExecutor(REQUESTS) as pool:
            list(pool.map(lambda member: _fetch_head(member, folder), members))
        top = folder / name if is_itself else folder
        strange: list[Path] = []
        try:
            chosen = _chosen(top, kind, strange)
        except SourceError as error:
            raise SourceError(addressed(str(error), {top: url})) from None
    known = {member.name: member for member in [*members, *more]}
    remote_tasks = []
    for file, is_profile in chosen:
        own_beside = tuple(known[path.name] for path in beside(file) if path.name in known)
        remote_tasks.append((is_profile, Task((known[file.name],), own_beside, kind)))
    read_along = {member.name for _, task in remote_tasks for member in task.beside}
    skipped += [file.name for file in strange if file.name not in read_along]
    return remote_tasks


def _fetch_head(member: Listed, folder: Path) -> None:
    above, _, key = member.address.rpartition("/")
    (folder / member.name).write_bytes(
        Objects(above).head(key, HEAD_BYTES) if member.size_bytes else b""
    )
