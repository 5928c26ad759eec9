"""The command `report`: answer questions about a trace, and judge a comparison by gates."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from msgspec.structs import replace

from tracelens.analyses import ANALYSES
from tracelens.answers import make_answer
from tracelens.answers.answer import Answer
from tracelens.cli.gates import conclude, judge_gates, parse_gates
from tracelens.cli.io import (
    Address,
    OneFormat,
    Sources,
    Step,
    drawn,
    format_of,
    keep_sources,
    open_any,
    open_base,
    progress,
    write_report,
)
from tracelens.cli.next_step import open_command, report_command, suggest, suggest_sections
from tracelens.cli.output import emit, tell
from tracelens.cli.panels import COMPARING, GATING, RANKS, READING, SHOWING
from tracelens.derive.comparing.comparability import unrelated
from tracelens.derive.comparing.significance import DEFAULT, Rules
from tracelens.derive.kernels.peaks import read_peaks
from tracelens.derive.layers.graph_capture import is_capture_of
from tracelens.report import Report, build_report, check_sections, chosen_analyses
from tracelens.trace import Trace
from tracelens.trace.baselines import with_runs
from tracelens.views.formats import FORMATS
from tracelens.views.formats.format import Format
from tracelens.views.junit import to_junit
from tracelens.views.summary import SUMMARISED, to_summary


def report(  # noqa: PLR0913 - one parameter an option
    sources: Sources,
    *,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            rich_help_panel=SHOWING,
            help="Show every section that the trace can answer, not only the answer.",
        ),
    ] = False,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="BASE",
            rich_help_panel=COMPARING,
            help="Trace or source to compare with, or baseline:NAME, the runs that tracelens baseline"
            " keeps; speedups are BASE / TRACE. Several TRACEs are runs of one program, several"
            " BASEs of the other. From a folder with captures of CUDA graphs, those with TRACE's"
            " batch sizes are used.",
        ),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SHOWING,
            help="Show only this section; repeat for several.",
            autocompletion=lambda: [*ANALYSES],
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=SHOWING,
            help="Write a self-contained HTML page, and print "
            "nothing unless --format or --out is given.",
        ),
    ] = None,
    form: OneFormat = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=SHOWING,
            help="Number of rows of each table, in formats for people and in json (in html, of rows"
            " shown at a time); by default "
            f"{', '.join(form.rows_in_words() for form in FORMATS.values() if form.rows)},"
            " all in others.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            rich_help_panel=SHOWING,
            help="Write to this file, not to standard output; needed by "
            f"{', '.join(form.name for form in FORMATS.values() if not form.is_text)}.",
        ),
    ] = None,
    step: Step = None,
    peaks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=READING,
            help="The GPU's peaks as tracelens peaks wrote them, not its datasheet's.",
        ),
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPR",
            rich_help_panel=GATING,
            help="Exit with 3 if the run is judged worse than BASE by more than this: gpu_time >"
            " +5%, exposed_copy > 1 ms, layer:layer1.*:duration > +10%; repeat for several.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", rich_help_panel=GATING, help="Exit with 1 if a gate could not be judged."
        ),
    ] = False,
    summary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=GATING,
            help="Write gates, differences and judged rows to this file, as Markdown.",
        ),
    ] = None,
    min_effect: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="F",
            rich_help_panel=COMPARING,
            help="Least difference that counts, as a share of BASE.",
        ),
    ] = DEFAULT.min_effect,
    across_devices: Annotated[
        bool,
        typer.Option(
            "--across-devices",
            rich_help_panel=COMPARING,
            help="Judge runs even if they used two kinds of GPU.",
        ),
    ] = False,
    any_work: Annotated[
        bool,
        typer.Option(
            "--any-work",
            rich_help_panel=GATING,
            help="Let gates judge runs even if these did different work.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            rich_help_panel=COMPARING,
            help="Compare runs even if they are of two programs.",
        ),
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=GATING, help="Write the gates as JUnit's XML."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="local|ray",
            rich_help_panel=RANKS,
            help="Run each rank as a separate task, in processes of this machine or on a Ray"
            " cluster, for sections that need only one rank at a time. The trace must be one"
            " that tracelens collect wrote.",
        ),
    ] = None,
    address: Address = None,
) -> None:
    """Say what limits a program and what would help, in 25 lines; --all and --section show more.

    With an option for tables (--section, --format, --out, --rows, --peaks, --engine), tables are
    shown in place of the answer: the tables of all sections, or of the named ones.
    """
    names = section or []
    base_runs = with_runs(against or [])
    of_tables = (form, out, rows, peaks, engine, address)
    is_full = everything or bool(names) or any(option is not None for option in of_tables)
    wanted: list[tuple[Format, Path | None]] = [] if html is None else [(FORMATS["html"], html)]
    is_page_alone = html is not None and not everything and form is None and out is None
    if is_full and not is_page_alone:
        wanted.append((format_of(form, out), out))
    gates = parse_gates(
        fail_on or [],
        has_base=bool(against),
        needs_base=strict or any(file is not None for file in (summary, junit)),
    )
    check_sections(names, has_base=bool(against))
    for selected, target in wanted:
        selected.check(names, target)
    keep_sources(
        [*sources, *base_runs, *([peaks] if peaks else [])],
        [html, out, summary, junit],
    )
    measured = None if peaks is None else read_peaks(peaks)
    runs = [open_any([path], step) for path in sources] if against else [open_any(sources, step)]
    bases = [open_base(path, runs[0], step) for path in base_runs]
    rules = Rules(
        min_effect,
        bases[1:],
        runs[1:],
        across_devices,
        any_work,
        any_program=force,
    )
    verdicts, blocked = judge_gates(runs, bases, gates, rules)
    base = bases[0] if bases else None
    refused = _refusal(runs[0], base, names, rules)
    if refused is not None:
        wanted = []
    shows_answer = refused is None and not wanted
    answer = _write_answer(runs[0], base, rules) if shows_answer else None
    if wanted or summary is not None:
        with progress("answering"):
            frames = _frames_by_engine(runs[0], base, names, (engine, address))
            of_sections = build_report(
                runs[0],
                base,
                names,
                rules,
                measured,
                frames=frames,
            )
        built = replace(of_sections, gate=verdicts)
        for selected, target in wanted:
            write_report(built, selected, target, rows)
        if summary is not None:
            _write_summary(built, rules, summary)
    if junit is not None:
        emit(to_junit(verdicts or []), junit)
        tell(f"wrote {junit}")
    if blocked is not None:
        raise blocked
    if refused is None:
        _suggest(answer, sources, against or [], names, html)
    conclude(
        refused,
        verdicts or [],
        strict=strict,
        has_one_run=len(runs) == len(bases) == 1,
    )


def _refusal(
    trace: Trace,
    base: Trace | None,
    names: Sequence[str],
    rules: Rules,
) -> str | None:
    """Return why a comparison of two programs is refused; None if it is allowed."""
    if base is None or rules.any_program:
        return None
    # Only sections that may compare two programs are named.
    if names and not any(ANALYSES[name].of_one_program for name in names):
        return None
    # A base that is the capture of the trace's CUDA graphs is not compared.
    return None if not names and is_capture_of(base, trace) else unrelated(base, trace)


def _write_answer(trace: Trace, base: Trace | None, rules: Rules) -> Answer:
    """Write the answer to standard output, and return it."""
    with progress("answering"):
        answer = make_answer(trace, base, rules)
    emit(drawn(answer))
    return answer


def _suggest(
    answer: Answer | None,
    sources: Sequence[Path],
    against: Sequence[Path],
    names: Sequence[str],
    html: Path | None,
) -> None:
    """Suggest the next command: further sections, a section's columns, or the page."""
    if answer is not None:
        suggest_sections(sources, against, answer.sections)
    elif html is not None:
        suggest(open_command(html))
    elif names:
        suggest(f"tracelens schema {names[0]}")
    else:
        suggest(report_command(sources, against, "--html", "report.html"))


def _write_summary(built: Report, rules: Rules, target: Path) -> None:
    """Write the comparison as Markdown.

    If the report has only named sections, the sections of a summary are computed for it.
    """
    assert built.base is not None
    with progress("summarising"):
        chosen = (
            build_report(built.trace, built.base, SUMMARISED, rules) if built.is_asked else built
        )
        text = to_summary(replace(chosen, gate=built.gate))
    emit(text, target)
    tell(f"wrote {target}")


def _frames_by_engine(
    trace: Trace,
    base: Trace | None,
    names: Sequence[str],
    engine: tuple[str | None, str | None],
) -> Mapping[str, pl.DataFrame]:
    """Return the frames of sections that an engine (name, address) computes rank by rank.

    The result is empty without an engine.
    """
    if not any(engine):
        return {}
    from tracelens.jobs.engines import engine_of  # noqa: PLC0415
    from tracelens.jobs.run_by_rank import ask_ranks  # noqa: PLC0415

    chosen = [
        analysis.name
        for analysis in chosen_analyses(trace, base, names)
        if base is None or not analysis.takes_base
    ]
    # This also gives the trace the intermediate results for the other sections.
    return ask_ranks(trace, chosen, engine_of(*engine))
