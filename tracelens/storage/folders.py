"""Lock folders, and create temporary folders that are removed even after a process was killed."""

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows, which keeps open folders from being removed anyway
    fcntl = None  # type: ignore[assignment]

_NEW_S = 60
"""Folders younger than this are kept, because their process may not have locked them yet."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait for an exclusive lock on the folder, and hold it until the end of the `with` block.

    If the file system has no locks, the block runs without a lock.
    """
    lock = _lock(folder, wait=True)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


class OwnFolder(tempfile.TemporaryDirectory[str]):
    """A private temporary folder, locked while its process lives.

    Creating a folder also removes abandoned folders: those of this user that no process locks.
    """

    def __init__(self, prefix: str) -> None:
        """Create the folder; its name begins with `prefix`."""
        _clear_abandoned(Path(tempfile.gettempdir()), prefix)
        super().__init__(prefix=prefix)
        self._place = _lock(Path(self.name), wait=False)

    def cleanup(self) -> None:
        """Remove the folder."""
        super().cleanup()
        if self._place is not None:
            os.close(self._place)
            self._place = None


def _clear_abandoned(where: Path, prefix: str) -> None:
    for folder in where.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            is_own = (
                stat.S_ISDIR(about.st_mode) and fcntl is not None and about.st_uid == os.geteuid()
            )
            is_named_so = re.fullmatch(r"[a-z0-9_]{8}", folder.name.removeprefix(prefix))
            if not is_own or not is_named_so or time.time() - about.st_mtime < _NEW_S:
                continue
            lock = _lock(folder, wait=False)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """Return a file descriptor that locks the folder until the descriptor is closed.

    Return None if the system has no locks. Without `wait`, also return None if another process has
    the lock.
    """
    if fcntl is None:
        return None
    try:
        lock = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(lock)
        return None
    return lock
