"""Keep named baselines, the stored runs of a program to compare a new run with."""

import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from tracelens.errors import SourceError, UsageError, near
from tracelens.storage.addresses import shown, url_of
from tracelens.storage.objects import Objects
from tracelens.trace.directory import is_stored_trace
from tracelens.trace.objects import MANIFEST
from tracelens.trace.trace import Trace

PREFIX = "baseline:"
FOLDER = Path("tracelens-baselines")
"""The folder of baselines whose names contain no path or URL."""
LATEST = 10
"""A new run is compared with at most this many of the latest runs.

Older runs say little about the machine today.
"""
_TIME = "%Y%m%dT%H%M%S%fZ"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def add_run(baseline: str, trace: Trace) -> Path:
    """Store a run in a baseline, and return the run's path.

    The baseline is created if it does not exist. A run's name is the time at which it was added
    (UTC). Raises UsageError for an invalid name, and SourceError if the run cannot be written.
    """
    added = datetime.now(UTC).strftime(_TIME)
    target = folder_of(baseline) / f"{added}-{secrets.token_hex(2)}.tracelens"
    trace.write(target)
    return target


def runs_of(baseline: str) -> list[Path]:
    """Return all runs of a baseline, the oldest first.

    Raises UsageError for an invalid name, and SourceError if there is no run.
    """
    folder = folder_of(baseline)
    names = run_names(folder)
    if not names:
        is_local = url_of(folder) is None
        known = near(baseline, names_in(folder.parent)) if is_local else "none is there"
        raise SourceError(
            f"{PREFIX}{baseline}: {shown(folder)} holds no run; {known} (tracelens baseline add"
            " NAME TRACE makes one)"
        )
    return [folder / name for name in names]


def run_names(folder: Path) -> list[str]:
    """Return the names of the runs in a baseline's folder or bucket, the oldest first."""
    url = url_of(folder)
    if url is not None:
        keys = (key.split("/") for key in Objects(url).keys())  # noqa: SIM118 - no dictionary
        return sorted(parts[0] for parts in keys if len(parts) == 2 and parts[1] == MANIFEST)
    stored = folder.iterdir() if folder.is_dir() else ()
    return sorted(path.name for path in stored if is_stored_trace(path))


def added_at(run: str) -> datetime | None:
    """Return the time (UTC) that `add_run` wrote into a run's name; None for any other name."""
    try:
        return datetime.strptime(run.partition("-")[0], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def with_runs(paths: Iterable[Path]) -> list[Path]:
    """Return the paths, with each `baseline:NAME` replaced by that baseline's latest runs."""
    opened: list[Path] = []
    for path in paths:
        text = str(path)
        is_named = text.startswith(PREFIX)
        opened += runs_of(text.removeprefix(PREFIX))[-LATEST:] if is_named else [path]
    return opened


def names_in(folder: Path) -> list[str]:
    """Return the names of the baselines in a local folder."""
    return (
        sorted(subfolder.name for subfolder in folder.iterdir() if subfolder.is_dir())
        if folder.is_dir()
        else []
    )


def folder_of(baseline: str) -> Path:
    """Return the folder of a baseline.

    A bare name is a folder in FOLDER. A path or URL may precede the name (`s3://bucket/NAME`).
    Raises UsageError for an invalid name.
    """
    parent, _, name = baseline.rpartition("/")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{baseline!r} is not a name of a baseline: letters, digits, '.', '_' and '-', after a"
            " folder or URL if there is one"
        )
    return (Path(parent) if parent else FOLDER) / name
