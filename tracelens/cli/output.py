"""Write a command's output, and keep its opened traces and its last actions.

This module imports no traces, so that it loads fast.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracelens.errors import SourceError, printable
from tracelens.storage.atomic_write import replacing

OPENED: list[Any] = []
"""Traces that the command has opened.

If the command fails, their rows are checked, because impossible rows may be the reason.
"""

AT_END: list[Callable[[SystemExit], None]] = []
"""Functions to call with the command's exit before the process ends."""


def tell(text: str) -> None:
    """Write one line to standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"{printable(text)}\n")
        sys.stderr.flush()


def warn(text: str) -> None:
    """Write one line of warning to standard error."""
    tell(f"warning: {text}")


def emit(result: str | bytes, out: Path | None = None) -> None:
    """Write the result to standard output, or atomically to a file.

    A pipe or device is not replaced but written to. Raises SourceError if the target cannot be
    written.
    """
    if out is None:
        if sys.stdout is None:
            raise SourceError("standard output: cannot be written: it is closed")
        try:
            sys.stdout.write(result if isinstance(result, str) else result.decode())
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            drop_output()
            raise SourceError(
                f"standard output: cannot be written: {error.strerror or error}"
            ) from error
    else:
        with replacing(out) as part:
            part.write_bytes(result.encode() if isinstance(result, str) else result)


def drop_output() -> None:
    """Discard the buffer of standard output, because writing it at exit would fail again."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
