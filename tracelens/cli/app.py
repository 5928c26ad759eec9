"""The command line: parse, call, print. Standard output holds results only; everything else goes to standard error."""

from __future__ import annotations

import gc
import io
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import polars as pl
import typer
from typer.core import TyperGroup

from tracelens.analyses import ANALYSES
from tracelens.cli import advise as cli_advise
from tracelens.cli import collect as cli_collect
from tracelens.cli import doctor
from tracelens.cli import plan as cli_plan
from tracelens.cli.io import Step, drop_output, emit, keep_sources, open_any, screen, tell, write_report
from tracelens.errors import SourceError, TracelensError, UsageError
from tracelens.report import build_report, check_sections
from tracelens.schemas import TABLES
from tracelens.trace.checking import problems
from tracelens.trace.combine import installed_version
from tracelens.views.describe import describe, listing
from tracelens.views.formats import FORMATS
from tracelens.views.formats.format import Format
from tracelens.views.formats.text import frame_to_text
from tracelens.views.values import printable

EXIT_INPUT, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
SAMPLE = Path("samples/planted/captures/input_slow_workers.stacks.pt.trace.json.gz")
DEMO_PAGE = Path("tracelens-demo.html")


_WRONG_WORDS: Any = typer.BadParameter.__mro__[1]
"""What typer raises for words that it cannot parse: click's UsageError up to 0.15, its own copy of it in 0.29."""


class _Guarded(TyperGroup):
    """The one place where an error becomes a line on standard error and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the work: collect comes first."""
        return sorted(super().list_commands(ctx), key=lambda name: name != "collect")

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:  # as with `>&-`
                sys.stdout.flush()
        except _WRONG_WORDS as error:
            error.message = printable(error.message)
            raise
        except TracelensError as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            tell(f"error: {error}")
            raise typer.Exit(EXIT_USAGE if isinstance(error, UsageError) else EXIT_INPUT) from error
        except KeyboardInterrupt:
            tell("interrupted")
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            drop_output()  # the reader has seen enough
            raise typer.Exit(0) from None
        return result


app = typer.Typer(
    cls=_Guarded,
    name="tracelens",
    help="Trace analysis for PyTorch performance work: read profiler traces and call stacks, ask what layers cost.",
    epilog="Exit codes: 0 done; 1 bad input or a failed tool (check: losses or errors); 2 usage.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(cli_collect.app)

Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRACE",
        help="A trace directory, or the sources of one run, collected in memory; - is a torch trace on standard input.",
    ),
]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit; told to terminate, clean up first, with the exit code of a signal."""
    gc.freeze()  # what was imported stays to the end: looking through it takes a tenth of the time that `--help` takes
    signal.signal(signal.SIGTERM, _terminate)
    words, command = split_command(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(args=words, obj=command, prog_name="tracelens")
    raise SystemExit(0)


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def split_command(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first `--` of a collect command, and the program to run after it.

    Done before typer parses, which would take the program for FILES. Other commands keep `--` as end of options.
    """
    words = list(arguments)
    if "--" not in words:
        return words, []
    at = words.index("--")
    named = [word for word in words[:at] if not word.startswith("-")]
    if named[:1] != ["collect"] or named[1:2] == ["files"]:
        return words, []
    return words[:at], words[at + 1 :]


def _show_version(wanted: bool) -> None:
    if wanted:
        emit(f"tracelens {installed_version()}\n")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that stand before the command."""


@app.command()
def report(  # noqa: PLR0913 - one parameter an option
    sources: Sources,
    *,
    against: Annotated[
        Path | None, typer.Option(metavar="BASE", help="Trace or source to compare with; speedups are BASE / TRACE.")
    ] = None,
    section: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Show this section only; repeat for several.")
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a self-contained HTML page.")] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            help="What to print: by default what the ending of --out says, else text, unless --html is given.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Rows a table, in formats for people; by default "
            f"{', '.join(f'{form.rows} in {form.name}' for form in FORMATS.values() if form.rows)}, all in others.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write there, not to standard output; needed by "
            f"{', '.join(form.name for form in FORMATS.values() if not form.is_text)}.",
        ),
    ] = None,
    step: Step = None,
) -> None:
    """Answer every question that a trace can, the verdict first."""
    names = section or []
    wanted: list[tuple[Format, Path | None]] = [(FORMATS["html"], html)] if html is not None else []
    if html is None or form is not None or out is not None:
        wanted.append((_format(form, out), out))
    check_sections(names, has_base=against is not None)
    for one, target in wanted:
        one.check(names, target)
    keep_sources([*sources, *([against] if against else [])], [html, out])
    trace = open_any(sources, step)
    base = open_any([against], step) if against is not None else None
    built = build_report(trace, base, names)
    for one, target in wanted:
        write_report(built, one, target, rows)


def _format(name: str | None, out: Path | None) -> Format:
    """The format that was named, else the one that the file's ending says, else text. Raises UsageError for others."""
    if name is not None:
        if name not in FORMATS:
            raise UsageError(f"no format is called {name}; the formats are {', '.join(FORMATS)}")
        return FORMATS[name]
    if out is None or not out.suffix:
        return FORMATS["text"]
    by_ending = {ending: one for one in FORMATS.values() for ending in one.endings}
    if out.suffix.lower() not in by_ending:
        known = ", ".join(sorted(by_ending))
        raise UsageError(f"{out}: no format ends in {out.suffix}; the endings are {known} (or say --format)")
    return by_ending[out.suffix.lower()]


app.command()(cli_plan.plan)
app.command()(cli_advise.advise)


@app.command()
def check(trace: Sources) -> None:
    """Say what a trace holds and what was lost.

    Exits with 1 when anything was lost or is broken, or rows cannot be true.
    """
    opened = open_any(trace)
    wrong = list(problems(opened))
    diagnostics = opened.frame("diagnostics")
    emit(_plain(opened.summary().select("table", "n_rows", "empty because")))
    if diagnostics.height:
        emit(f"\n{_plain(diagnostics)}")
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
        str | None, typer.Argument(metavar="TABLE|ANALYSIS", help="Table or analysis; all when absent.")
    ] = None,
) -> None:
    """List the tables and analyses, or describe the columns of one."""
    if name is None:
        tables = listing(((table.name, table.doc) for table in TABLES.values()), "table", "a row is")
        analyses = listing(((a.name, a.question) for a in ANALYSES.values()), "analysis", "answers")
        emit(f"{_plain(tables)}\n{_plain(analyses)}")
        return
    table = TABLES.get(name) or (ANALYSES[name].result if name in ANALYSES else None)
    if table is None:
        raise UsageError(f"no table or analysis is called {name}; they are {', '.join([*TABLES, *ANALYSES])}")
    emit(f"{name}: {table.doc}\n\n{_plain(describe(table))}")


@app.command("doctor")
def find_tools() -> None:
    """Say which of the tools that tracelens can use are found here."""
    emit(_plain(doctor.examine()))


@app.command()
def demo() -> None:
    """Report on a bundled trace.

    Prints text, and writes tracelens-demo.html into the current folder.
    """
    sample = Path(__file__).resolve().parents[2] / SAMPLE
    if not sample.exists():
        raise SourceError(
            f"{SAMPLE} is in the source repository, not in the installed package; clone it, or give any trace of "
            "torch.profiler to tracelens report"
        )
    built = build_report(open_any([sample]))
    write_report(built, FORMATS["text"])
    write_report(built, FORMATS["html"], DEMO_PAGE)


def _plain(frame: pl.DataFrame) -> str:
    """All rows of a small frame, its sentences wrapped."""
    return frame_to_text(frame, screen())
