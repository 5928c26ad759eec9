"""Replace a folder so that the old or the new folder exists even after a signal or a kill."""

import ctypes
import glob
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from tracelens.storage.folders import locked

_CURRENT_FOLDER = -100
"""AT_FDCWD, which makes paths relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux's renameat2, and RENAME_SWAP of macOS's renamex_np."""
_DEFERRED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


def exchange(first: Path, second: Path) -> bool:
    """Exchange two files or folders atomically; return False if the system does not support it.

    Linux supports the exchange on most file systems (renameat2), macOS on APFS (renamex_np).
    """
    paths = os.fsencode(first), os.fsencode(second)
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return int(library.renamex_np(*paths, ctypes.c_uint(_EXCHANGE))) == 0
        here, flags = ctypes.c_int(_CURRENT_FOLDER), ctypes.c_uint(_EXCHANGE)
        return int(library.renameat2(here, paths[0], here, paths[1], flags)) == 0
    return False


def replace_folder(new: Path, target: Path) -> None:
    """Replace the target by the new folder, and remove the old target.

    After a kill, `restore` moves the old target back. The caller must hold the parent folder's
    lock.
    """
    if exchange(new, target):
        _remove(new)
        return
    # The system cannot exchange the two folders, so the old target is moved aside first.
    old = Path(
        tempfile.mkdtemp(
            prefix=_prefix(target, os.getpid()),
            suffix=".old",
            dir=target.parent,
        )
    )
    with signals_deferred():
        target.rename(old / "trace")
        try:
            new.rename(target)
        except OSError:
            (old / "trace").rename(target)
            raise
        finally:
            shutil.rmtree(old, ignore_errors=True)


def restore(target: Path) -> bool:
    """Move back the target that a killed `replace_folder` had moved aside.

    Return whether it was moved. Nothing is done if the target exists, or if another process is
    replacing it.
    """
    if os.path.lexists(target) or not _moved_aside(target):
        return False
    with locked(target.parent):
        moved = [] if os.path.lexists(target) else _moved_aside(target)
        for folder in moved:
            with suppress(OSError):
                folder.rename(target)
                shutil.rmtree(folder.parent, ignore_errors=True)
                return True
    return False


def is_running(process_id: int) -> bool:
    """Return whether a process with this id runs on this machine."""
    try:
        with suppress(PermissionError):
            os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    return True


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer signals that would end the program until the body has ended.

    Only the main thread handles signals, so nothing is deferred in another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    numbers = [getattr(signal, name) for name in _DEFERRED if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    changed = [n for n, handler in before.items() if handler not in {None, signal.SIG_IGN}]
    for number in changed:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, before[number])
        for number in received:
            signal.raise_signal(number)


def _moved_aside(target: Path) -> list[Path]:
    """Return the folders that killed processes had moved aside, the newest first."""
    folders = [
        folder / "trace"
        for folder in target.parent.glob(f".{glob.escape(target.name)}.*.old")
        if (folder / "trace").is_dir() and not _is_replacing(folder, target)
    ]
    return sorted(
        folders,
        key=lambda folder: folder.parent.stat().st_mtime,
        reverse=True,
    )


def _is_replacing(folder: Path, target: Path) -> bool:
    writer = re.fullmatch(r"([0-9]+)\..*", folder.name.removeprefix(f".{target.name}."))
    return writer is not None and is_running(int(writer[1]))


def _prefix(target: Path, process_id: int) -> str:
    return f".{target.name}.{process_id}."


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)
