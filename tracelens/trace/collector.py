"""Declare a collector, and keep the registry of all collectors by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, TypeAlias

from msgspec import Struct, field

from tracelens.hooks import HOOKS
from tracelens.trace.capture import Capture

Tell: TypeAlias = Callable[[str], None]
"""A function that shows the user a line about progress."""


class Run(Struct, frozen=True):
    """The result of running a program under a collector.

    It has the captures (the lowest rank's first), the exit code as a shell reports it, and remarks.
    `cost` is a sentence on how much longer recording made a step; empty where that is not known.
    """

    captures: list[Capture]
    exit_code: int
    remarks: Sequence[str] = ()
    cost: str = ""


class Found(NamedTuple):
    """The result of looking for a tool.

    It says whether the tool is here, its version if known, and advice if it lacks a part.
    """

    is_here: bool
    version: str | None = None
    advice: str | None = None


class Tool(NamedTuple):
    """A program or package that tracelens can use.

    `find` looks for it. The texts say what it is for and how to get it.
    """

    name: str
    used_for: str
    to_get_it: str
    find: Callable[[str], Found]


class Collector(Struct, frozen=True, kw_only=True, eq=False):
    """Reads one kind of source into one Capture per rank.

    The command `tracelens collect KIND` is made from it.

    - `expects`: the source in words, for messages.
    - `sniff(path, head)`: return whether a file could be such a source. `head` is the file's first
      64 KiB, empty for a folder.
    - `fills`: the tables that it can fill. Each has its condition, such as "with --memory" or "of a
      run that used the GPU", or "". Messages show the condition in parentheses.
    - `is_profiler`: it records events. If several profilers captured a rank, the events of only one
      are kept.
    - `reads_stdin`: it reads `-`.
    - `files_of`: return the files to read for a path, if the user names this collector.
    - `begins_as_one`: a closer check of files found in a folder.
    - `beside`: files that are read along with a source, if they exist.
    - `read_stored(path, folder)`: read a source, and store large tables in the folder as they are
      finished. Several large sources are read in one process each.
    - `run(command, ...)`: run a program under the collector.
    - `endings`: endings of its sources' file names; the name of a trace leaves them out.
    - `tools`: the programs and packages that it uses.
    - `reading`: the user's choice of how its sources are read.
    - `with_shapes`: how to record the shapes of ops' inputs, if its sources can contain them.
    """

    kind: str
    expects: str
    sniff: Callable[[Path, bytes], bool]
    read: Callable[[Path], list[Capture]]
    fills: Mapping[str, str] = field(default_factory=dict)
    is_profiler: bool = False
    reads_stdin: bool = False
    files_of: Callable[[Path], list[Path]] = lambda path: [path]
    begins_as_one: Callable[[Path], bool] = lambda _: True
    beside: Callable[[Path], Sequence[Path]] = lambda _: ()
    read_stored: Callable[[Path, Path], list[Capture]] | None = None
    run: Callable[..., Run] | None = None
    endings: Sequence[str] = ()
    tools: Sequence[Tool] = ()
    reading: ContextVar[str] | None = None
    with_shapes: str | None = None


COLLECTORS: dict[str, Collector] = {}
"""Collectors by kind; each sniffs a file in this order. `tracelens.collectors` fills it.

If several profilers captured a rank, the first one's events are kept unless another is asked for.
"""


def reading_words() -> dict[str, str]:
    """Return the user's choice of how sources are read, by kind of collector.

    An example is nsys's `--rank-by`.
    """
    return {
        kind: collector.reading.get()
        for kind, collector in COLLECTORS.items()
        if collector.reading is not None
    }


@contextmanager
def read_by(words: Mapping[str, str]) -> Iterator[None]:
    """Read sources in the body by the user's choices, one word per kind of collector.

    `words` is the result of `reading_words`, handed over by the process of the user's command.
    """
    known = [
        (collector.reading, words[kind])
        for kind, collector in COLLECTORS.items()
        if collector.reading is not None and kind in words
    ]
    tokens = [(reading, reading.set(word)) for reading, word in known]
    try:
        yield
    finally:
        for reading, token in tokens:
            reading.reset(token)


def why_no_shapes(kinds: Sequence[str]) -> str:
    """Say why sources of these kinds hold no shapes of ops' inputs, and how to record them."""
    HOOKS.list_collectors()
    profilers = [kind for kind in kinds if kind in COLLECTORS and COLLECTORS[kind].is_profiler]
    ways = [way for kind in profilers if (way := COLLECTORS[kind].with_shapes)]
    if ways:
        return f"input shapes were not recorded; profile with {' or '.join(ways)}"
    return f"a trace of {' and '.join(profilers) or 'this kind'} holds no input shapes"


def how_to_fill(table: str) -> str:
    """Name the commands that fill the table.

    If no collector fills a table, it comes from timing a model.
    """
    HOOKS.list_collectors()  # code that only reads tables has not imported them
    kinds: dict[str, list[str]] = {}
    for collector in COLLECTORS.values():
        if table in collector.fills:
            kinds.setdefault(collector.fills[table], []).append(collector.kind)
    commands = [
        f"tracelens collect {' or '.join(kinds_of)}{how and f' ({how})'}"
        for how, kinds_of in kinds.items()
    ]
    measured = (
        ["tracelens collect calls PLAN"]
        if table == "call_costs"
        else ["tracelens collect timings", "tl.measure"]
    )
    return ", or ".join(commands or measured)
