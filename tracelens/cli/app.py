"""The command line: parse, call, print.

Standard output holds results only. Messages go to standard error.
"""

import gc
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from tracelens.cli.output import AT_END, OPENED, drop_output, emit, tell
from tracelens.cli.panels import LoadedGroup, PanelledCommand
from tracelens.errors import SourceError, TracelensError, UsageError, near, printable
from tracelens.storage.addresses import refuse_credentials

EXIT_INPUT, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
_GLOBAL_OPTIONS = (
    "--version",
    "--debug",
    "--install-completion",
    "--show-completion",
    "-h",
    "--help",
)
"""Options that stand before a command. Other options in this place belong to `report`."""
_OF_THE_SYSTEM = (BrokenPipeError, MemoryError, PermissionError)
"""Errors that are never caused by the rows of a trace."""


COMMANDS = {
    "run": "Capture a program and say what limits it.",
    "report": "Say what limits a program, or what differs between two.",
    "whatif": "Predict what a step would take after a change.",
    "collect": "Read sources, or capture a program, into a trace.",
    "calibrate": "Measure what the profiler adds on this machine.",
    "baseline": "Keep earlier runs under a name, to judge new ones by.",
    "export": "Write a timeline for Perfetto, or stacks for flame graphs.",
    "query": "Ask a trace's tables with SQL.",
    "repro": "Write a script that runs one op again.",
    "mcp": "Serve traces to an agent, read only.",
    "check": "Say what a trace holds, and what was lost.",
    "schema": "Describe the tables and analyses.",
    "plan": "Choose which submodules to compile, from measured layers.",
    "advise": "Choose library calls for a model, from measured calls.",
    "peaks": "Measure a GPU's peaks, for report --peaks.",
    "clean": "Remove unfinished files from an object store.",
    "doctor": "List the tools and packages found here.",
    "demo": "Explain a bundled trace.",
}
"""Each command's line in `--help`, in this order.

A command's module has its name.
"""

_WRONG_WORDS: Any = typer.BadParameter.__mro__[1]
"""Typer's exception for words that it cannot parse.

Old versions of Typer (0.15) use click's UsageError. New ones (0.29) contain a copy of click, and
use the UsageError of this copy.
"""


@cache
def _module(name: str) -> Any:
    """Import and return a command's module."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    # Imported modules stay to the end; collecting garbage among them takes 0.02 s.
    gc.disable()
    with _without_blas_threads() if name == "report" else nullcontext():
        module = import_module(f"tracelens.cli.{name.replace('-', '_')}")
    if is_ignored:  # importing Polars (1.3x) replaces the handling of SIGINT
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.enable()
    # A verdict makes a million objects. With the usual threshold, garbage collection takes a
    # twentieth of the time of a verdict, and a tenth of the time of a page.
    gc.set_threshold(50_000)
    return module


@contextmanager
def _without_blas_threads() -> Iterator[None]:
    """Keep OpenBLAS from starting threads if NumPy is imported within this context.

    A report multiplies no matrices. On two cores, a small answer takes 0.84 s of processor time, of
    which the threads take 0.05 s. Programs that are started later have their usual threads.
    """
    name = "OPENBLAS_NUM_THREADS"
    if name in os.environ:
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]


@cache
def _load(name: str) -> Any:
    """Return a module's command: the function of its name, or the Typer application `app`."""
    module = _module(name)
    application = getattr(module, "app", None)
    if application is None:
        application = typer.Typer(add_completion=False, rich_markup_mode=None)
        function = getattr(module, name.replace("-", "_"))
        settings = getattr(module, "SETTINGS", None)
        application.command(name, cls=PanelledCommand, context_settings=settings)(function)
    return typer.main.get_command(application)


class _Commands(LoadedGroup):
    """The group of all commands.

    If a command fails, the group prints the error on one line and sets the exit code.
    """

    names = (*COMMANDS,)
    load = staticmethod(_load)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as the base class has it
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find and import a command. From then on Ctrl-C raises KeyboardInterrupt.

        Raises UsageError for a word that is no command and no file.
        """
        if args and args[0] not in COMMANDS:
            raise UsageError(
                f"{args[0]}: there is no such command, and no such file here;"
                f" {near(args[0], COMMANDS)} (tracelens --help lists all)"
            )
        resolved = super().resolve_command(ctx, args)
        _let_interrupts_raise()
        return resolved

    def invoke(self, ctx: Any) -> Any:
        """Run the named command."""
        with _ended_by_errors(debug=bool(ctx.params.get("debug"))):
            return super().invoke(ctx)


def _let_interrupts_raise() -> None:
    """Make Ctrl-C raise KeyboardInterrupt, unless the process ignores SIGINT."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _ended_by_errors(*, debug: bool) -> Iterator[None]:
    """Print an error of a command as one line, and exit with its code."""
    try:
        with _blaming_rows():
            yield
        if sys.stdout is not None:  # standard output may be closed, as with `>&-`
            sys.stdout.flush()
    except _WRONG_WORDS as error:
        # A group of commands without a command shows its help
        lines = error.message.split("\n")
        error.message = "\n".join(map(printable, lines))
        raise
    except TracelensError as error:
        if debug:
            traceback.print_exc()
        for mark in error.marks:
            tell(mark)
        tell(f"error: {error}")
        failed = error.program_exit_code or EXIT_INPUT
        raise typer.Exit(EXIT_USAGE if isinstance(error, UsageError) else failed) from error
    except PermissionError as error:  # of a folder that may not be read
        if debug:
            traceback.print_exc()
        tell(f"error: {error.filename}: {error.strerror}; name a place that you may use")
        raise typer.Exit(EXIT_INPUT) from error
    except MemoryError as error:
        tell("error: this process has used all memory that it may take; allow it more")
        raise typer.Exit(EXIT_INPUT) from error
    except KeyboardInterrupt:
        tell("interrupted")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        drop_output()  # the reader, such as `head`, has closed the pipe
        raise typer.Exit(0) from None


@contextmanager
def _blaming_rows() -> Iterator[None]:
    """Raise SourceError if an error was caused by impossible rows of a stored trace.

    Other errors are raised unchanged.
    """
    OPENED.clear()
    try:
        yield
    except (TracelensError, typer.Exit, typer.Abort, _WRONG_WORDS, *_OF_THE_SYSTEM):
        raise
    except BaseException as error:
        # A panic in Polars is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        from tracelens.trace.checking import blame_rows  # noqa: PLC0415 - only where it is needed

        with blame_rows(*OPENED):
            raise


app = typer.Typer(
    cls=_Commands,
    name="tracelens",
    help=(
        "Trace analysis for PyTorch performance work: read profiler traces and call stacks, ask"
        " what layers cost."
    ),
    epilog=(
        "Exit codes: 0 done; 1 bad input or a failed tool (check: losses or errors); 2 usage; 3 a"
        " gate failed."
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    # Typer (0.29) would import Pydantic to read the options. This takes 0.06 s, a twelfth of a
    # small answer.
    report = _module("report").report
    _let_interrupts_raise()
    try:
        with _ended_by_errors(debug=False):
            report([*map(Path, sources)], html=None if page is None else Path(page))
    except typer.Exit as ended:
        raise SystemExit(ended.exit_code) from ended


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


def _show_version(wanted: bool) -> None:
    if wanted:
        from tracelens.trace.combine import installed_version  # noqa: PLC0415 - takes a second

        emit(f"tracelens {installed_version()}\n")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Accept the options that come before the command."""
