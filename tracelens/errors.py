"""Define the errors that tracelens raises on purpose, and the wording of messages.

The command line prints each error as one line on stderr.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class TracelensError(Exception):
    """Base of every expected failure.

    Its text says what was expected, what was found, where, and what to do next.
    """

    marks: tuple[str, ...] = ()
    """Lines to show before the message, such as an expression and a caret below its error."""
    program_exit_code: int | None = None
    """The exit code of the program that was run.

    The command line exits with the same code.
    """


class SourceError(TracelensError):
    """An input file or directory is missing, unreadable, or not what its collector reads."""


class ReplacedError(SourceError):
    """Another trace replaced this one while it was read."""


class NoTraceError(SourceError):
    """A file is not a trace.

    In a folder, such a file is left out. If the user names the file itself, the error is raised.
    """


class SchemaError(TracelensError):
    """A table has the wrong columns, or a trace was written by another schema version."""


class MissingTableError(TracelensError):
    """An analysis needs a table that this trace lacks.

    The text names the collector that would fill it.
    """


class ToolError(TracelensError):
    """An outside tool (gdb, nsys, py-spy) is absent or failed."""


class UsageError(TracelensError):
    """The request itself is contradictory.

    The command line exits with 2.
    """


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the error's type if it has no message."""
    return str(error).strip().split("\n", 1)[0] or type(error).__name__


def near(word: str, known: Iterable[str]) -> str:
    """Return a phrase with the known words similar to `word`, or else with the first three."""
    names = list(dict.fromkeys(known))
    if matches := get_close_matches(word, names, n=3, cutoff=0.45):
        return f"near: {', '.join(matches)}"
    return f"there is, for example, {', '.join(names[:3])}" if names else "there is none"


def printable(text: str) -> str:
    """Return the text with control, bidirectional and invalid characters written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
