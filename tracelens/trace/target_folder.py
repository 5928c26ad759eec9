"""Prepare the folder that a trace is written to: check the target, build beside it, swap it in."""

import glob
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracelens.errors import SourceError
from tracelens.storage.addresses import url_of
from tracelens.storage.folders import OwnFolder
from tracelens.storage.swap import is_running, replace_folder, restore
from tracelens.trace.directory import is_stored_trace
from tracelens.trace.objects import check_url

_ABANDONED_S = 3600


@contextmanager
def build_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder to build a trace in, and remove the folder afterwards.

    The folder lies beside the target, or among this machine's temporary files if the target is in
    an object store. Raises SourceError if the folder cannot be created.
    """
    if url_of(target) is not None:
        with OwnFolder("tracelens-write-") as own:
            yield Path(own)
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Killed processes leave their folders.
        _clear_abandoned(target)
        folder = Path(
            tempfile.mkdtemp(
                prefix=f".{target.name}.{os.getpid()}.", suffix=".part", dir=target.parent
            )
        )
    except OSError as error:
        raise SourceError(
            f"{target}: cannot be written: {error}; free space, or name another place with --out"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_target(target: Path, *, force: bool) -> None:
    """Raise SourceError if a trace cannot be written to the target.

    Call it before a capture, so that hours of capture are not lost.
    """
    url = url_of(target)
    if url is not None:
        check_url(url, force=force)
        return
    try:
        str(target).encode()
    except UnicodeEncodeError as error:
        raise SourceError(
            f"{target}: cannot be written: the name is not UTF-8; give another --out"
        ) from error
    restore(target)
    within = next((f for f in Path(os.path.realpath(target)).parents if is_stored_trace(f)), None)
    if within is not None:
        raise SourceError(f"{target}: lies in the trace {within.name}; give another --out")
    if os.path.lexists(target):
        if not force:
            raise SourceError(
                f"{target}: exists already; give another --out, or --force to replace it"
            )
        if not is_stored_trace(target):
            raise SourceError(
                f"{target}: exists and is not a tracelens trace, so --force does not replace it"
            )
    above = next(folder for folder in target.absolute().parents if os.path.lexists(folder))
    try:
        Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=above)).rmdir()
    except OSError as error:
        raise SourceError(
            f"{target}: cannot be written: {above}: {error.strerror or error}; name another place"
            " with --out"
        ) from error


def _clear_abandoned(target: Path) -> None:
    """Remove the folders of killed processes that were writing the same trace."""
    for folder in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        writer = re.fullmatch(r"([0-9]+)\..*", folder.name.removeprefix(f".{target.name}."))
        # The process may run on another machine, invisible from here. So the folder must also be
        # unchanged for an hour.
        if (
            writer
            and not is_running(int(writer[1]))
            and time.time() - folder.stat().st_mtime > _ABANDONED_S
        ):
            shutil.rmtree(folder, ignore_errors=True)


def swap_in(build: Path, target: Path, *, force: bool) -> None:
    """Rename the finished directory to the target.

    Without `force`, raises SourceError if the target exists. With `force`, an old trace is
    replaced. The caller must hold the parent folder's lock.
    """
    if not (force and target.exists()):
        # Another process may just have written the target.
        try:
            build.rename(target)
        except OSError as error:
            if force or not os.path.lexists(target):
                raise
            raise SourceError(
                f"{target}: another process wrote it meanwhile, and its trace stays; give another"
                " --out, or --force"
            ) from error
        return
    replace_folder(build, target)
