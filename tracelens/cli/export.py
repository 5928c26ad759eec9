"""The command `export`: write a trace for other programs' viewers."""

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from tracelens.cli.io import default_target, keep_sources, open_any, progress
from tracelens.cli.next_step import suggest
from tracelens.cli.options import Sources
from tracelens.cli.output import tell
from tracelens.errors import UsageError, near
from tracelens.exports import EXPORTS
from tracelens.exports.export import Selection
from tracelens.storage.atomic_write import replacing


def export(
    sources: Sources,
    *,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(EXPORTS),
            help="Format: "
            + "; ".join(f"{form.name} for {form.opened_by}" for form in EXPORTS.values())
            + ".",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File to write; by default the trace's name."
        ),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option(metavar="N,N", help="Ranks to export, such as 0,3 or 0-7; by default all."),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            metavar="N,N",
            help="Steps to export, such as 4 or 4-6; by default all that was recorded.",
        ),
    ] = None,
) -> None:
    """Write a trace's timeline, or its kernels by call stack, for another program's viewer.

    The trace is read, and the file written, piece by piece. `--ranks` and `--steps` make the file
    smaller. Layers and idle time are still found in the whole trace.
    """
    if to is None:
        raise UsageError(f"say what to write: --to {'|'.join(EXPORTS)}")
    if to not in EXPORTS:
        raise UsageError(f"no export is called {to}; {near(to, EXPORTS)}")
    chosen = EXPORTS[to]
    wanted = _parse_numbers("--ranks", ranks), _parse_numbers("--steps", steps)
    keep_sources(sources, [out])
    trace = open_any(sources)
    target = out or Path(re.sub(r"(\.tracelens)+$", chosen.ending, default_target(sources).name))
    keep_sources(sources, [target])
    with progress(f"exporting to {to}"), replacing(target) as part, part.open("wb") as stream:
        written = chosen.write(Selection.of(trace, *wanted), stream)
    tell(f"wrote {target}: {written}")
    suggest(f"open {shlex.quote(str(target))} with {chosen.opened_by}")


def _parse_numbers(option: str, text: str | None) -> list[int]:
    """Read the numbers in a list such as 0,2-4. Raises UsageError for other text."""
    numbers: list[int] = []
    for part in (text or "").split(",") if text is not None else ():
        first, dash, last = part.strip().partition("-")
        if (
            not first.isdecimal()
            or (dash and not last.isdecimal())
            or int(last or first) - int(first) > 1 << 16
        ):
            raise UsageError(
                f"{option} {text}: expected numbers such as 0,2-4, found"
                f" {part.strip() or 'nothing'}"
            )
        numbers += range(int(first), int(last or first) + 1)
    return numbers
