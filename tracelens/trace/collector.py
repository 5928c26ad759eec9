"""Declare a collector, and keep the registry of all collectors by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field

from tracelens.hooks import HOOKS
from tracelens.trace.capture import Capture

Tell: TypeAlias = Callable[[str], None]
"""A function that shows the user a line about progress."""


class Run(Struct, frozen=True):
    """Holds the result of running a program under a collector."""

    captures: list[Capture]
    """The captures. The first is of the lowest rank."""
    exit_code: int
    """The program's exit code, as a shell reports it."""
    remarks: Sequence[str] = ()
    cost: str = ""
    """A sentence on the profiler's overhead per step, empty if the overhead is unknown."""


class Found(NamedTuple):
    """Holds the result of looking for a tool.

    `version` is None if unknown. `advice` says how to get a missing part of the tool.
    """

    is_here: bool
    version: str | None = None
    advice: str | None = None


class Tool(NamedTuple):
    """A program or package that tracelens can use.

    `find` returns whether the named tool is installed.
    """

    name: str
    used_for: str
    to_get_it: str
    find: Callable[[str], Found]


class Collector(Struct, frozen=True, kw_only=True, eq=False):
    """Reads one kind of source into one Capture per rank.

    Each collector has a command `tracelens collect KIND`.
    """

    kind: str
    expects: str
    """A description of the sources, for messages."""
    sniff: Callable[[Path, bytes], bool]
    """Returns whether a file could be such a source.

    It gets the path and the file's first 64 KiB, which are empty for a folder.
    """
    read: Callable[[Path], list[Capture]]
    """Returns the captures of a source."""
    fills: Mapping[str, str] = field(default_factory=dict)
    """The tables that the collector can fill, each with a condition such as "with --memory".

    The condition is shown in messages. It is empty for a table that needs no condition.
    """
    is_profiler: bool = False
    """True if the sources hold events. Only one profiler's events of a rank are kept."""
    reads_stdin: bool = False
    """True if the collector reads standard input."""
    files_of: Callable[[Path], list[Path]] = lambda path: [path]
    """Returns the files to read for a path."""
    begins_as_one: Callable[[Path], bool] = lambda _: True
    """Returns whether a file's content begins like a source.

    This check is stricter than `sniff`. It is made only for files found in a folder.
    """
    beside: Callable[[Path], Sequence[Path]] = lambda _: ()
    """Returns the files that are read along with a source, if they exist."""
    read_stored: Callable[[Path, Path], list[Capture]] | None = None
    """Like `read`, but writes large tables to files in a folder, the second argument."""
    run: Callable[..., Run] | None = None
    """Runs a program under the collector. The first argument is the command."""
    endings: Sequence[str] = ()
    """Endings of the sources' file names.

    The default name of a trace is its source's file name without these endings.
    """
    tools: Sequence[Tool] = ()
    """The programs and packages that the collector uses."""
    reading: ContextVar[str] | None = None
    """The user's choice of how sources are read."""
    with_shapes: str | None = None
    """Advice on recording the shapes of ops' inputs, None if sources cannot hold shapes."""


def imported(module: str, name: str) -> Callable[..., Any]:
    """Return a function that, when called, imports `module` and calls `name` of `module`.

    Reading a source does not need the code that runs programs. Importing this code takes 0.01 s.
    """

    def call(*arguments: Any, **more: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **more)

    return call


COLLECTORS: dict[str, Collector] = {}
"""All collectors by kind. `tracelens.collectors` fills this dictionary.

A source is read by the first collector whose `sniff` accepts it. If several profilers captured a
rank, the events of the profiler that comes first here are used by default.
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
    """Apply the choices in `words` to all sources that are read in the `with` block.

    `words` is the result of `reading_words` in the main process. Child processes do not inherit the
    user's choices.
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
    """Return why sources of these kinds lack the shapes of ops' inputs, and how to record them."""
    HOOKS.list_collectors()
    profilers = [kind for kind in kinds if kind in COLLECTORS and COLLECTORS[kind].is_profiler]
    ways = [way for kind in profilers if (way := COLLECTORS[kind].with_shapes)]
    if ways:
        return f"input shapes were not recorded; profile with {' or '.join(ways)}"
    return f"a trace of {' and '.join(profilers) or 'this kind'} holds no input shapes"


def how_to_fill(table: str) -> str:
    """Return the commands that fill a table, as text joined by "or"."""
    HOOKS.list_collectors()  # code that only reads tables has not imported them
    kinds: dict[str, list[str]] = {}
    for collector in COLLECTORS.values():
        if table in collector.fills:
            kinds.setdefault(collector.fills[table], []).append(collector.kind)
    commands = [
        f"tracelens collect {' or '.join(kinds_of)}{how and f' ({how})'}"
        for how, kinds_of in kinds.items()
    ]
    # No collector fills the tables of measured times.
    measured = (
        ["tracelens collect calls PLAN"]
        if table == "call_costs"
        else ["tracelens collect timings", "tl.measure"]
    )
    return ", or ".join(commands or measured)
