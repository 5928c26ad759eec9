"""Cut some steps out of an nsys capture, and remove the machine's names from it.

`cut.py FILE.sqlite OUT.sqlite [--steps 1 3] [--within "program gan_train"]` keeps three things: the
NVTX ranges and API calls that begin in the NVTX ranges `step 1` to `step 3`, the device work that
those calls started, and the strings that these rows use. FILE is what `nsys export --type sqlite`
wrote. `--within` names the NVTX range around the steps, if step names occur more than once.
"""

# ruff: noqa: S608 - the tables' names in SQL are this file's own
from __future__ import annotations

import argparse
import shutil
import sqlite3
from pathlib import Path

_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_WORK = ("KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "CUDA_EVENT")
_BEGUN = (_CALLS, "NVTX_EVENTS", "OSRT_API", "PROFILER_OVERHEAD")
"""Tables whose rows stay that begin in the steps."""
_STRINGS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("demangledName", "shortName", "mangledName"),
    "NVTX_EVENTS": ("textId",),
    **dict.fromkeys((_CALLS, "OSRT_API", "PROFILER_OVERHEAD"), ("nameId",)),
}
_EMPTIED = (
    "ANALYSIS_FILE",
    "CUDA_GRAPH_NODE_EVENTS",
    "DIAGNOSTIC_EVENT",
    "META_DATA_CAPTURE",
    "ProcessStreams",
    "TARGET_INFO_NIC_INFO",
    "TARGET_INFO_SYSTEM_ENV",
    "ThreadNames",
)
"""They name the machine and its user, or are large and of no use without the rest."""


def cut(path: Path, target: Path, first: str, last: str, within: str) -> None:
    """Write the steps from `first` to `last` to the target. Raises SystemExit if there are none."""
    shutil.copyfile(path, target)
    file = sqlite3.connect(target)
    tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master")}
    begin, end = _time_of_steps(file, first, last, within)
    for table in tables.intersection(_BEGUN):
        file.execute(f"DELETE FROM {table} WHERE start < ? OR start > ?", (begin, end))
    for table in tables.intersection(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in _WORK):
        called = f"(SELECT correlationId FROM {_CALLS})"
        file.execute(f"DELETE FROM {table} WHERE correlationId NOT IN {called}")
    for table in tables.intersection(_EMPTIED):
        file.execute(f"DELETE FROM {table}")
    recorded = "(SELECT (globalTid >> 24) & 0xFFFFFF FROM NVTX_EVENTS)"  # as nsys numbers threads
    file.execute(f"DELETE FROM PROCESSES WHERE pid NOT IN {recorded}")
    used = " UNION ".join(
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"
        for table in sorted(tables.intersection(_STRINGS))
        for column in _STRINGS[table]
    )
    file.execute(f"DELETE FROM StringIds WHERE id NOT IN ({used})")
    file.execute("UPDATE TARGET_INFO_GPU SET uuid = '', busLocation = ''")
    file.execute(
        "DELETE FROM META_DATA_EXPORT WHERE name IN ('EXPORT_HOST', 'EXPORT_USER')"
        " OR name LIKE 'EXPORT_PARAM%PATH%'"
    )
    file.commit()
    file.execute("VACUUM")
    file.close()


def _time_of_steps(file: sqlite3.Connection, first: str, last: str, within: str) -> tuple[int, int]:
    """Return when the first step begins and the last one ends."""
    text = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"
    (around,) = file.execute(
        f"SELECT min(start), max(end) FROM NVTX_EVENTS WHERE ? IN ('', {text})", (within,)
    )
    begin, end = file.execute(
        f"SELECT min(start) FILTER (WHERE {text} = ?), max(end) FILTER (WHERE {text} = ?)"
        " FROM NVTX_EVENTS WHERE start >= ? AND end <= ?",
        (f"step {first}", f"step {last}", *around),
    ).fetchone()
    if None in (begin, end):
        raise SystemExit(f"no steps {first} to {last} in {within or 'the capture'}")
    return begin, end


def main() -> None:
    """Cut a capture by the arguments of the command line."""
    parser = argparse.ArgumentParser(description="Cut steps out of an nsys capture.")
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--steps",
        nargs=2,
        default=("1", "3"),
        metavar=("FIRST", "LAST"),
    )
    parser.add_argument("--within", default="", metavar="RANGE")
    words = parser.parse_args()
    first, last = words.steps
    cut(words.file, words.out, first, last, words.within)


if __name__ == "__main__":
    main()
