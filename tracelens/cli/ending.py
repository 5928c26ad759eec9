"""End a command that failed: with a line on standard error, and the exit code of its error."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from tracelens.cli.output import OPENED, drop_output, tell
from tracelens.errors import TracelensError, UsageError

EXIT_INPUT, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
_OF_THE_SYSTEM = (BrokenPipeError, MemoryError, PermissionError)
"""Errors that are never caused by the rows of a trace."""


@contextmanager
def ended_by_errors(
    *,
    debug: bool,
    passed: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Print an error of a command as one line, and exit with its code.

    Errors in `passed` are raised unchanged.
    """
    try:
        with _blaming_rows(passed):
            yield
        if sys.stdout is not None:  # standard output may be closed, as with `>&-`
            sys.stdout.flush()
    except TracelensError as error:
        if debug:
            traceback.print_exc()
        for mark in error.marks:
            tell(mark)
        tell(f"error: {error}")
        failed = error.program_exit_code or EXIT_INPUT
        raise SystemExit(EXIT_USAGE if isinstance(error, UsageError) else failed) from error
    except PermissionError as error:  # of a folder that may not be read
        if debug:
            traceback.print_exc()
        tell(f"error: {error.filename}: {error.strerror}; name a place that you may use")
        raise SystemExit(EXIT_INPUT) from error
    except MemoryError as error:
        tell("error: this process has used all memory that it may take; allow it more")
        raise SystemExit(EXIT_INPUT) from error
    except KeyboardInterrupt:
        tell("interrupted")
        raise SystemExit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        drop_output()  # the reader, such as `head`, has closed the pipe
        raise SystemExit(0) from None


@contextmanager
def _blaming_rows(passed: tuple[type[Exception], ...]) -> Iterator[None]:
    """Raise SourceError if an error was caused by impossible rows of a stored trace.

    Other errors are raised unchanged.
    """
    not_of_rows: tuple[type[Exception], ...] = (TracelensError, *passed, *_OF_THE_SYSTEM)
    OPENED.clear()
    try:
        yield
    except not_of_rows:
        raise
    except BaseException as error:
        # A panic in Polars is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        from tracelens.trace.checking import blame_rows  # noqa: PLC0415 - only where it is needed

        with blame_rows(*OPENED):
            raise
