"""What a collector says of itself, in one object, and every collector by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tracelens.trace.capture import Capture

Tell: TypeAlias = Callable[[str], None]
"""Tells the user a line about what is under way."""


@dataclass(frozen=True, slots=True)
class Run:
    """What running a program gave: captures (the lowest rank's first), exit code as a shell tells it, and remarks."""

    captures: list[Capture]
    exit_code: int
    remarks: Sequence[str] = ()


def _itself(path: Path) -> list[Path]:
    return [path]


def _always(_: Path) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collector:
    """Reads one kind of source, a Capture a rank; `tracelens collect KIND` is made from what it says here.

    `sniff(path, head)`: could this be one? `head` is the first 64 KiB, empty for a folder. `expects`: what it reads, in
    words. `fills`: the tables that it can fill, each with what must be asked for to get it, or nothing. `is_profiler`:
    it records events, and of the profilers that captured a rank the events of one are kept. `reads_stdin`: `-` is one
    of its sources. `files_of`: the sources that a path stands for, where this collector is named. `begins_as_one`: a
    closer look, at what a folder holds. `read_several(paths, folder, limit_bytes, tell)`: the captures of each, by a
    collector that can store tables in the folder as they are finished, within a limit of memory. `run(command, ...)`:
    runs a program, with options of its own, and gives what it captured.
    """

    kind: str
    expects: str
    sniff: Callable[[Path, bytes], bool]
    read: Callable[[Path], list[Capture]]
    fills: Mapping[str, str] = field(default_factory=dict)
    is_profiler: bool = False
    reads_stdin: bool = False
    files_of: Callable[[Path], list[Path]] = _itself
    begins_as_one: Callable[[Path], bool] = _always
    read_several: Callable[[Sequence[Path], Path, int | None, Tell], list[list[Capture]]] | None = None
    run: Callable[..., Run] | None = None


COLLECTORS: dict[str, Collector] = {}
"""Collectors by kind, in the order in which they are asked what a file is; `tracelens.collectors` fills it.

Of several profilers that captured a rank, the first one's events are kept, unless another is asked for.
"""


def how_to_fill(table: str) -> str:
    """The commands that give the table; what no collector reads is measured."""
    kinds: dict[str, list[str]] = {}
    for collector in COLLECTORS.values():
        if table in collector.fills:
            kinds.setdefault(collector.fills[table], []).append(collector.kind)
    said = []
    for how, own in kinds.items():
        ending = f" {how}" if how.startswith("with ") else how and f", {how}"
        said.append(f"tracelens collect {' or '.join(own)}{ending}")
    measured = (
        ["tracelens collect calls PLAN"] if table == "call_costs" else ["tracelens collect timings", "tl.measure"]
    )
    return ", or ".join(said or measured)
