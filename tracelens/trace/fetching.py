"""List sources in object stores, and download them to a private folder for the collectors."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tracelens.errors import SourceError, TracelensError
from tracelens.storage.addresses import url_of
from tracelens.storage.folders import OwnFolder
from tracelens.storage.objects import Listed, Objects
from tracelens.trace.collector import COLLECTORS

PREFIX = "tracelens-fetched-"
"""Prefix of temporary folders for fetched objects."""
REQUESTS = 16
"""Number of objects that are requested at the same time."""


def listed(url: str) -> tuple[list[Listed], list[Listed]]:
    """Return the objects at a URL, and the files that are read along with them.

    The URL names one object, or a folder with objects directly in it. Raises SourceError if there
    is no object.
    """
    above, _, name = url.rpartition("/")
    if above.count("/") > 1:
        objects = Objects(above)
        itself = objects.about(name)
        if itself is not None:
            more = [objects.about(path.name) for path in beside(Path(name))]
            return [itself], [listed_file for listed_file in more if listed_file is not None]
    members = [
        listed_file
        for listed_file in Objects(url).members()
        if not listed_file.name.startswith(".")
    ]
    if not members:
        raise SourceError(
            f"{url}: there is no such object, and none below it; give a trace, or what a profiler"
            " wrote"
        )
    return members, []


def beside(source: Path) -> list[Path]:
    """Return the files that are read along with a source, if they exist."""
    return [path for collector in COLLECTORS.values() for path in collector.beside(source)]


def fetch(one: Listed, folder: Path) -> Path:
    """Download an object into the folder, and return the file.

    Raises SourceError if the object has changed since it was listed.
    """
    above, _, key = one.address.rpartition("/")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / one.name
    Objects(above).download(key, file, one.etag)
    if file.stat().st_size != one.size_bytes:
        raise SourceError(
            f"{one.address}: was changed while it was read; collect it again when it is complete"
        )
    return file


@contextmanager
def fetched(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the paths, with a local copy in place of each URL.

    The copies are deleted at the end of the `with` block. Errors of the block name the URLs.
    """
    urls = {at: url for at, path in enumerate(paths) if (url := url_of(path)) is not None}
    if not urls:
        yield [*paths]
        return
    with OwnFolder(PREFIX) as temporary, ThreadPoolExecutor(REQUESTS) as pool:
        local_paths = [*paths]
        for at, url in urls.items():
            sources, more = listed(url)
            is_itself = sources[0].address == url
            local_paths[at] = Path(temporary, str(at), url.rpartition("/")[2])
            folder = local_paths[at].parent if is_itself else local_paths[at]
            list(
                pool.map(
                    lambda one, folder=folder: fetch(one, folder),
                    [*sources, *more],
                )
            )
        try:
            yield local_paths
        except TracelensError as error:
            raise type(error)(
                addressed(
                    str(error),
                    {local_paths[at]: url for at, url in urls.items()},
                )
            ) from None


def addressed(message: str, address_of: dict[Path, str]) -> str:
    """Return the message with each local copy's path replaced by the source's address."""
    for file, address in address_of.items():
        message = message.replace(str(file), address)
    return message
