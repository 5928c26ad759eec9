"""The command line: parse, call, print.

Standard output holds results only; everything else goes to standard error.
"""

import gc
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import polars as pl
import typer
from typer.core import TyperGroup

from tracelens.analyses import ANALYSES
from tracelens.answers import make_answer
from tracelens.cli import collect, doctor
from tracelens.cli.advise import advise
from tracelens.cli.collect import timings
from tracelens.cli.export import export
from tracelens.cli.io import (
    OPENED,
    OneFormat,
    Sources,
    drop_output,
    emit,
    format_of,
    keep_sources,
    open_any,
    progress,
    screen,
    tell,
    write_report,
)
from tracelens.cli.next_step import suggest
from tracelens.cli.plan import plan
from tracelens.cli.report import report
from tracelens.cli.run import run
from tracelens.cli.whatif import whatif
from tracelens.derive.comparing.expressions import ExpressionError
from tracelens.derive.rank_ranges import merge_rows
from tracelens.errors import SourceError, TracelensError, UsageError, near
from tracelens.jobs.target import clean as clean_target
from tracelens.measuring import peaks as measuring
from tracelens.report import build_query, build_report
from tracelens.schemas import TABLES
from tracelens.storage.addresses import refuse_credentials, shown
from tracelens.trace.checking import blame_rows, problems
from tracelens.trace.combine import installed_version
from tracelens.views.answer_text import answer_text
from tracelens.views.describe import describe, listing
from tracelens.views.formats import FORMATS
from tracelens.views.formats.text import frame_to_text
from tracelens.views.values import printable

EXIT_INPUT, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
SAMPLE = Path("samples/planted/captures/input_slow_workers.stacks.pt.trace.json.gz")
DEMO_PAGE = Path("tracelens-demo.html")


_WRONG_WORDS: Any = typer.BadParameter.__mro__[1]
"""Typer's exception for words that it cannot parse: click's UsageError up to 0.15, its own copy
of it in 0.29."""


class _Guarded(TyperGroup):
    """Turns errors into a line on standard error and an exit code, for all commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands, collect first."""
        return sorted(super().list_commands(ctx), key=lambda name: name != "collect")

    def invoke(self, ctx: Any) -> Any:
        """Run the named command."""
        if callable(signal.getsignal(signal.SIGINT)):  # not where it is ignored
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with _blaming_rows():
                result = super().invoke(ctx)
            if sys.stdout is not None:  # as with `>&-`
                sys.stdout.flush()
        except _WRONG_WORDS as error:
            error.message = printable(error.message)
            raise
        except TracelensError as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            for mark in error.marks if isinstance(error, ExpressionError) else ():
                tell(mark)
            tell(f"error: {error}")
            raise typer.Exit(EXIT_USAGE if isinstance(error, UsageError) else EXIT_INPUT) from error
        except KeyboardInterrupt:
            tell("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            drop_output()  # the reader has seen enough
            raise typer.Exit(0) from None
        return result


@contextmanager
def _blaming_rows() -> Iterator[None]:
    """Turn an error that impossible rows of a stored trace caused into a SourceError; others go on unchanged."""
    OPENED.clear()
    try:
        yield
    except (TracelensError, typer.Exit, typer.Abort, _WRONG_WORDS, BrokenPipeError):
        raise
    except (Exception, pl.exceptions.PanicException):
        with blame_rows(*OPENED):
            raise


app = typer.Typer(
    cls=_Guarded,
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
app.add_typer(collect.app)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; on SIGTERM clean up first, and exit with the code of a signal."""
    # imported modules stay to the end; collecting among them takes a tenth of the time of `--help`
    gc.freeze()
    signal.signal(signal.SIGTERM, _terminate)
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # Polars (1.3x) catches it when imported, and so unknown here
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    words, command = split_command(sys.argv[1:] if arguments is None else arguments)
    words = repeat_against(with_report(words))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        for word in words:  # before anything repeats it
            refuse_credentials(word.partition("=")[2] if word.startswith("-") else word)
    except SourceError as error:
        tell(f"error: {error}")
        raise SystemExit(EXIT_INPUT) from None
    timings.BEGUN.clear()  # what a caller of this function has begun is its own
    try:
        app(args=words, obj=command, prog_name="tracelens")
    except SystemExit as ended:
        timings.leave(ended)
        raise
    raise SystemExit(0)


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first `--` of a collect command, and the program to run after it.

    Split before typer parses, which would take the program for FILES. Other commands keep `--` as
    end of options.
    """
    words = list(arguments)
    if "--" not in words:
        return words, []
    at = words.index("--")
    named = [word for word in words[:at] if not word.startswith("-")]
    if named[:1] != ["collect"] or named[1:2] == ["files"]:
        return words, []
    return words[:at], words[at + 1 :]


def with_report(words: Sequence[str]) -> list[str]:
    """The words with `report` before a first one that is no command but a file or an address: `tracelens FILE`."""
    first = next((at for at, word in enumerate(words) if word == "-" or word[:1] != "-"), None)
    if first is None or words[first] in {*_names_of_commands()}:
        return [*words]
    named = words[first]
    is_source = named == "-" or "://" in named or os.sep in named or Path(named).exists()
    is_source = is_source or bool(Path(named).suffix)
    return [*words[:first], *(["report"] if is_source else []), *words[first:]]


def _names_of_commands() -> Iterator[str]:
    """The words that the command line takes as commands."""
    for command in app.registered_commands:
        yield command.name or getattr(command.callback, "__name__", "").replace("_", "-")
    for group in app.registered_groups:
        yield str(group.name or getattr(group.typer_instance, "info", group).name)


def repeat_against(words: Sequence[str]) -> list[str]:
    """The words with `--against` before each of the bases that follow it, as a shell's pattern gives several.

    Only after the traces: what follows the first base of `report --against BASE TRACE` is the
    trace.
    """
    found: list[str] = []
    for word in words:
        named = [one for one in found if not one.startswith("-")]
        is_next = found[-2:-1] == ["--against"] and not word.startswith("-") and "--" not in found
        if (
            is_next
            and named[:1] == ["report"]
            and found.index("--against") > found.index("report") + 1
        ):
            found.append("--against")
        found.append(word)
    return found


def _show_version(wanted: bool) -> None:
    if wanted:
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
    """Options that stand before the command."""


for _command in (report, plan, advise, whatif):
    app.command()(_command)


@app.command()
def measure_peaks(
    *,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the peaks there, not to standard output."),
    ] = None,
) -> None:
    """Measure a GPU's peaks, for report --peaks FILE: products by element type, copy bandwidth.

    Needs PyTorch.
    """
    with progress("measuring peaks"):
        found = measuring.measure_peaks()
    for name, why in found["missing"].items():
        tell(f"no peak of {name}: {why}")
    emit(json.dumps(found, indent=1) + "\n", out)
    if out is not None:
        tell(f"wrote {out}: give it to tracelens report --peaks {out}")


@app.command()
def query(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A trace directory, or a source.")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT, in the SQL of Polars.")],
    *,
    form: OneFormat = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Rows to show, in formats for people; by default as in report."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write there, not to standard output.")
    ] = None,
) -> None:
    """Select rows of a trace's tables with SQL; tracelens schema lists tables and columns.

    One SELECT (or WITH, or VALUES), with joins, groups, windows and all functions of columns that
    Polars knows. It reads nothing but the trace's tables and writes nothing: functions that open
    files or addresses, such as read_csv, are refused before anything is opened. Ctrl-C ends it.

    tracelens query run.tracelens "SELECT name, SUM(duration_ns) AS sum_ns FROM kernels GROUP BY
    name LIMIT 9"
    """
    chosen = format_of(form, out)
    chosen.check(["query"], out)
    keep_sources([trace], [out])
    opened = open_any([trace])
    with progress("asking"):
        built = build_query(opened, sql)
    write_report(built, chosen, out, rows)


app.command()(export)
app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(
    run
)


@app.command()
def clean(
    target: Annotated[
        Path,
        typer.Argument(metavar="URL", help="A trace, or the target of an unfinished collection."),
    ],
    *,
    hours: Annotated[
        float,
        typer.Option(
            min=0, metavar="H", help="Keep what was written in the last H hours: it may be in use."
        ),
    ] = 1,
) -> None:
    """Remove files of a trace in an object store that neither its manifest nor a finished rank names."""
    with progress("cleaning"):
        n_removed = clean_target(shown(target), hours)
    tell(f"removed {n_removed:,} files from {shown(target)}")


@app.command()
def check(trace: Sources) -> None:
    """Say what a trace holds and what was lost.

    Exits with 1 when anything was lost or is broken, or rows cannot be true.
    """
    opened = open_any(trace)
    with progress("checking"):
        wrong = list(problems(opened))
    diagnostics = opened.frame("diagnostics")
    emit(_plain(opened.summary().select("table", "n_rows", "empty because")))
    if diagnostics.height:
        emit(f"\n{_plain(merge_rows(diagnostics))}")
    bad = diagnostics.filter(pl.col("severity").is_in(["loss", "error"]))
    for text in wrong:
        emit(f"\n{printable(text)}: collect anew.\n")
    if bad.height or wrong or not opened.manifest.complete:
        incomplete = "" if opened.manifest.complete else "; the capture is incomplete"
        emit(f"\nNot clean: {bad.height + len(wrong)} kinds of losses or errors{incomplete}.\n")
        raise typer.Exit(EXIT_INPUT)
    emit("\nClean: nothing was lost.\n")


@app.command()
def schema(
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE|ANALYSIS", help="Table or analysis; all when absent."),
    ] = None,
) -> None:
    """List the tables and analyses, or describe the columns of one."""
    if name is None:
        tables = listing(
            ((table.name, table.doc) for table in TABLES.values()), "table", "a row is"
        )
        analyses = listing(((a.name, a.question) for a in ANALYSES.values()), "analysis", "answers")
        emit(f"{_plain(tables)}\n{_plain(analyses)}")
        return
    table = TABLES.get(name) or (ANALYSES[name].result if name in ANALYSES else None)
    if table is None:
        known = [*TABLES, *ANALYSES]
        raise UsageError(
            f"no table or analysis is called {name}; {near(name, known)} (tracelens schema lists"
            " all)"
        )
    emit(f"{name}: {table.doc}\n\n{_plain(describe(table))}")


@app.command("doctor")
def find_tools() -> None:
    """Say which of the tools that tracelens can use are found here."""
    emit(_plain(doctor.examine()))


@app.command()
def demo() -> None:
    """Answer for a bundled trace, a training loop whose data loader is slow.

    Prints the answer, and writes its page, tracelens-demo.html, into the current folder.
    """
    sample = Path(__file__).resolve().parents[2] / SAMPLE
    if not sample.exists():
        raise SourceError(
            f"{SAMPLE} is in the source repository, not in the installed package; clone it, or give"
            " any trace of torch.profiler to tracelens report"
        )
    opened = open_any([sample])
    with progress("answering"):
        emit(answer_text(make_answer(opened), color=screen().color))
        built = build_report(opened)
    write_report(built, FORMATS["html"], DEMO_PAGE)
    suggest("tracelens run python train.py")


def _plain(frame: pl.DataFrame) -> str:
    """All rows of a small frame, its sentences wrapped."""
    return frame_to_text(frame, screen())
