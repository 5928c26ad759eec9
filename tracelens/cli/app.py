"""The command line: parse, call, print.

Standard output holds results only. Messages go to standard error.
"""

import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tracelens.cli.ending import EXIT_INPUT, ended_by_errors
from tracelens.cli.loading import COMMANDS, let_interrupts_raise, load_module
from tracelens.cli.output import AT_END, tell
from tracelens.errors import SourceError
from tracelens.storage.addresses import refuse_credentials

_GLOBAL_OPTIONS = (
    "--version",
    "--debug",
    "--install-completion",
    "--show-completion",
    "-h",
    "--help",
)
"""Options that stand before a command. Other options in this place belong to `report`."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    On SIGTERM clean up first, and exit with the code of a signal.
    """
    signal.signal(signal.SIGTERM, _terminate)
    words, command = split_command(sys.argv[1:] if arguments is None else arguments)
    words = repeat_against(with_report(words))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        for word in words:  # checked before any message repeats it
            refuse_credentials(word.partition("=")[2] if word.startswith("-") else word)
    except SourceError as error:
        tell(f"error: {error}")
        raise SystemExit(EXIT_INPUT) from None
    AT_END.clear()  # actions of an earlier call of this function do not belong to this command
    try:
        has_page = words[-2:-1] == ["--html"] and not words[-1].startswith("-")
        sources = words[1:-2] if has_page else words[1:]
        if words[:1] == ["report"] and _are_traces(sources):
            _report(sources, words[-1] if has_page else None)
        else:
            from tracelens.cli.commands import app  # noqa: PLC0415 - loads Typer, see `_report`

            app(args=words, obj=command, prog_name="tracelens")
    except SystemExit as ended:
        for end in AT_END:
            end(ended)
        raise
    raise SystemExit(0)


def _are_traces(words: Sequence[str]) -> bool:
    """Return whether each word can be the name of a trace; False without words.

    A word that begins with "-" is an option, but "-" alone can be a trace. A file that cannot be
    read is no trace.
    """
    are_files = all(word == "-" or word[:1] != "-" for word in words)
    are_readable = all(os.access(word, os.R_OK) for word in words if os.path.lexists(word))
    return bool(words) and are_files and are_readable


def _report(sources: Sequence[str], page: str | None) -> None:
    """Answer for traces, or write their page, as `report` does, but without Typer."""
    # Typer (0.29) takes 0.03 s to import, and imports Pydantic to read options, in 0.06 s. A small
    # answer takes 0.5 s.
    reporting = load_module("reporting")
    let_interrupts_raise()
    with ended_by_errors(debug=False):
        asked = reporting.Request(
            [*map(Path, sources)],
            html=None if page is None else Path(page),
        )
        reporting.answer_request(asked)


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before the first `--` of a collect command, and the program after it.

    The program is empty for other commands and for `collect files`.
    """
    # Typer would take the program for FILES.
    words = list(arguments)
    if "--" not in words:
        return words, []
    position = words.index("--")
    named = [word for word in words[:position] if not word.startswith("-")]
    if named[:1] != ["collect"] or named[1:2] == ["files"]:
        return words, []
    return words[:position], words[position + 1 :]


def with_report(words: Sequence[str]) -> list[str]:
    """Put `report` before the words if they begin with a file, an address or an option of `report`.

    This makes `tracelens FILE` and `tracelens --all FILE` work.
    """
    if (
        words
        and words[0][:1] == "-"
        and words[0] != "-"
        and not words[0].startswith(_GLOBAL_OPTIONS)
    ):
        return ["report", *words]
    first = next(
        (position for position, word in enumerate(words) if word == "-" or word[:1] != "-"),
        None,
    )
    if first is None or words[first] in COMMANDS:
        return [*words]
    named = words[first]
    is_source = named == "-" or "://" in named or os.sep in named or Path(named).exists()
    is_source = is_source or bool(Path(named).suffix)
    return [
        *words[:first],
        *(["report"] if is_source else []),
        *words[first:],
    ]


def repeat_against(words: Sequence[str]) -> list[str]:
    """Repeat `--against` before each further base.

    A shell replaces a pattern such as `--against base*` by several names after one `--against`.
    """
    repeated: list[str] = []
    for word in words:
        named = [earlier for earlier in repeated if not earlier.startswith("-")]
        is_next = (
            repeated[-2:-1] == ["--against"] and not word.startswith("-") and "--" not in repeated
        )
        if (
            is_next
            and named[:1] == ["report"]
            # In `report --against BASE TRACE`, the last word is no base.
            and repeated.index("--against") > repeated.index("report") + 1
        ):
            repeated.append("--against")
        repeated.append(word)
    return repeated
