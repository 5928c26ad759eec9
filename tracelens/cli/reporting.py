"""Answer requests of the command `report`, and judge a comparison by gates.

This module loads no Typer, which takes 0.03 s of a small answer's 0.5 s.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.analyses import ANALYSES
from tracelens.answers import make_answer
from tracelens.answers.answer import Answer
from tracelens.cli.gates import conclude, judge_gates, parse_gates
from tracelens.cli.io import (
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


class Request(Struct, frozen=True):
    """The arguments and options of `report`; `report.py` describes them."""

    sources: Sequence[Path]
    everything: bool = False
    against: Sequence[Path] = ()
    sections: Sequence[str] = ()
    html: Path | None = None
    form: str | None = None
    rows: int | None = None
    out: Path | None = None
    step: str | None = None
    peaks: Path | None = None
    fail_on: Sequence[str] = ()
    strict: bool = False
    summary: Path | None = None
    min_effect: float = DEFAULT.min_effect
    across_devices: bool = False
    any_work: bool = False
    force: bool = False
    junit: Path | None = None
    engine: str | None = None
    address: str | None = None


def answer_request(asked: Request) -> None:
    """Write the answer, or the reports that the request names; exit with the code of the gates."""
    names = asked.sections
    base_runs = with_runs(asked.against)
    of_tables = (asked.form, asked.out, asked.rows, asked.peaks, asked.engine, asked.address)
    is_full = asked.everything or bool(names) or any(option is not None for option in of_tables)
    wanted: list[tuple[Format, Path | None]] = (
        [] if asked.html is None else [(FORMATS["html"], asked.html)]
    )
    is_page_alone = (
        asked.html is not None and not asked.everything and asked.form is None and asked.out is None
    )
    if is_full and not is_page_alone:
        wanted.append((format_of(asked.form, asked.out), asked.out))
    gates = parse_gates(
        asked.fail_on,
        has_base=bool(asked.against),
        needs_base=asked.strict or any(file is not None for file in (asked.summary, asked.junit)),
    )
    check_sections(names, has_base=bool(asked.against))
    for selected, target in wanted:
        selected.check(names, target)
    keep_sources(
        [*asked.sources, *base_runs, *([asked.peaks] if asked.peaks else [])],
        [asked.html, asked.out, asked.summary, asked.junit],
    )
    measured = None if asked.peaks is None else read_peaks(asked.peaks)
    runs = (
        [open_any([path], asked.step) for path in asked.sources]
        if asked.against
        else [open_any(asked.sources, asked.step)]
    )
    bases = [open_base(path, runs[0], asked.step) for path in base_runs]
    rules = Rules(
        asked.min_effect,
        bases[1:],
        runs[1:],
        asked.across_devices,
        asked.any_work,
        any_program=asked.force,
    )
    verdicts, blocked = judge_gates(runs, bases, gates, rules)
    base = bases[0] if bases else None
    refused = _refusal(runs[0], base, names, rules)
    if refused is not None:
        wanted = []
    shows_answer = refused is None and not wanted
    answer = _write_answer(runs[0], base, rules) if shows_answer else None
    if wanted or asked.summary is not None:
        with progress("answering"):
            frames = _frames_by_engine(runs[0], base, names, (asked.engine, asked.address))
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
            write_report(built, selected, target, asked.rows)
        if asked.summary is not None:
            _write_summary(built, rules, asked.summary)
    if asked.junit is not None:
        emit(to_junit(verdicts or []), asked.junit)
        tell(f"wrote {asked.junit}")
    if blocked is not None:
        raise blocked
    if refused is None:
        _suggest(answer, asked.sources, asked.against, names, asked.html)
    conclude(
        refused,
        verdicts or [],
        strict=asked.strict,
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
