"""Run analyses over a trace into a report that the views draw."""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.analyses import ANALYSES, Analysis
from tracelens.analyses.analysis import Chart, Scope
from tracelens.answers import make_answer
from tracelens.answers.answer import Answer
from tracelens.derive.comparing.comparability import unrelated
from tracelens.derive.comparing.gate import Verdict
from tracelens.derive.comparing.significance import DEFAULT, Rules
from tracelens.derive.kernels.peaks import Peaks
from tracelens.derive.layers.graph_capture import is_capture_of
from tracelens.derive.layers.graph_replay import tools
from tracelens.derive.rank_ranges import MANY, merge_ranks
from tracelens.derive.stacks.frame_roles import ROLE_WORDS
from tracelens.derive.time.bounds import CELL_WORDS, PART_WORDS, PROCESS_CELL_WORDS, bound_words
from tracelens.derive.time.since_start import since_start
from tracelens.errors import MissingTableError, UsageError, near
from tracelens.progress import Share, log_share
from tracelens.schemas import TABLES
from tracelens.storage.limits import NAMES
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace
from tracelens.trace.checking import blame_rows

_OF_PARTS = ("cause", "bound", "second", "part")
"""Columns whose values name parts of the time, such as "compute"."""
_OF_SIDES = {
    "match": {"only_base": "only in base", "only_other": "only in new"},
    "choice": {"other": "new"},
}
"""Displayed words for stored values, by column of a comparison.

Reports call the second run "new".
"""
_LOG = logging.getLogger(__name__)


class Section(Struct, frozen=True):
    """The result of one analysis."""

    analysis: Analysis
    # Empty, with all columns, if the analysis has no result
    frame: pl.DataFrame
    notes: list[str]
    # The reason if the analysis has no result
    missing: str | None = None
    # True for the result of a query. All its columns are drawn.
    is_query: bool = False
    # `frame` with times that count from the trace's first event, for texts and charts
    from_start: pl.DataFrame | None = None
    charts: Sequence[Chart] = ()
    # True without kernels. Parts of time are then named in the words for a process.
    is_process: bool = False

    @property
    def words(self) -> dict[str, Mapping[str, str]]:
        """The displayed words for stored values, by column; none for a query."""
        if self.is_query:
            return {}
        parts = PROCESS_CELL_WORDS if self.is_process else CELL_WORDS
        words: dict[str, Mapping[str, str]] = dict.fromkeys(_OF_PARTS, parts)
        words |= {"role": ROLE_WORDS, **_OF_SIDES, **self.analysis.words}
        # Only causes in `what` have words. A layer can have the same name as a cause.
        if {"kind", "what"} <= {*self.frame.columns}:
            is_cause = pl.col("kind") == "cause"
            others = {*self.frame.filter(~is_cause)["what"]}
            causes = {*self.frame.filter(is_cause)["what"]} - others
            words["what"] = {name: word for name, word in parts.items() if name in causes}
        return words

    @property
    def absent(self) -> str | None:
        """The reason why the section has no rows, in words; None if it has some."""
        if self.missing is not None:
            return f"No answer: {self.missing}"
        return "Nothing in this trace." if self.frame.is_empty() else None


class Report(Struct, frozen=True):
    """The input of every view: a trace, its base if compared, and sections in order of analyses."""

    trace: Trace
    base: Trace | None
    sections: list[Section]
    # True if the user named the sections. Then each is drawn, even without rows.
    is_asked: bool = False
    # The reason if two traces are not compared, as they are not of one program
    refused: str | None = None
    # Results of --fail-on
    gate: list[Verdict] | None = None
    # The answer, stored in a report of all sections only
    whole: Answer | None = None
    # How comparisons are judged
    rules: Rules = DEFAULT

    @property
    def answer(self) -> Answer:
        """The answer about the trace, or about its comparison with the base."""
        return self.whole or make_answer(self.trace, self.base, self.rules)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The rows of each section, by its name."""
        return {section.analysis.name: section.frame for section in self.sections}

    @property
    def title(self) -> str:
        """The trace's name, and the base's name in a comparison."""
        return (
            self.trace.name if self.base is None else f"{self.trace.name} against {self.base.name}"
        )

    @property
    def sources(self) -> str:
        """The files from which the trace was read, with their kinds.

        Of many files, only the number and the ranks are given.
        """
        sources, ranks = self.trace.manifest.sources, self.trace.manifest.ranks
        if len(sources) > MANY and len(ranks) > 1:
            return f"{len(sources):,} files, rank {ranks[0]} … {ranks[-1]}"
        return ", ".join(f"{source.get('name')} ({source.get('kind')})" for source in sources)

    def to_read(self) -> list[Section]:
        """Return the sections to draw in reading order, verdicts first.

        A section without rows is drawn only if the user named it. Times count from the trace's
        first event.
        """
        drawn = [
            section if section.from_start is None else replace(section, frame=section.from_start)
            for section in self.sections
            if section.missing is None or self.is_asked
        ]
        firsts = {"job": 0, "verdict": 1}
        return sorted(
            drawn,
            key=lambda section: (
                section.missing is not None,
                firsts.get(section.analysis.name, len(firsts)),
            ),
        )

    @property
    def headline(self) -> str | None:
        """The limit of the job in one line: a straggler with its cause, or the part with most time.

        It is None if the report's section `job` is absent or has no rows.
        """
        job = self.frames.get("job")
        if job is None or job.is_empty():
            return None
        row = job.row(0, named=True)
        if row["bound"] != "straggler":
            pair = (row[name] for name in ("bound", "value", "second", "second_frac"))
            return f"{len(self.trace.manifest.ranks)} ranks, {bound_words(*pair)}"
        cause = PART_WORDS.get(row["cause"], row["cause"]) or "no cause known"
        return f"{row['n_ranks']:,} ranks, {row['culprit']} is the straggler ({cause})"

    @property
    def is_of_many(self) -> bool:
        """True for a full report on one trace of more than MANY ranks.

        The text view of such a report shows quartiles over the ranks.
        """
        return len(self.trace.manifest.ranks) > MANY and self.base is None and not self.is_asked

    def unanswered(self) -> list[str]:
        """List why sections have no rows: one line per reason, with the sections' names.

        The list is empty if the report's sections were asked for by name.
        """
        by_reason: dict[str, list[str]] = {}
        for section in self.sections:
            if section.missing is not None and not self.is_asked:
                name = section.analysis.name
                by_reason.setdefault(section.missing.removeprefix(f"{name} "), []).append(name)
        return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def check_sections(names: Sequence[str], *, has_base: bool) -> None:
    """Raise UsageError for unknown names, and for comparisons if only one trace is given."""
    unknown = [name for name in names if name not in ANALYSES]
    if unknown and unknown[0] in TABLES:
        raise UsageError(
            f"{unknown[0]} is a table, not a section; its rows are shown by tracelens query"
            f" (its columns: tracelens schema {unknown[0]})"
        )
    if unknown:
        raise UsageError(
            f"no section is called {unknown[0]}; {near(unknown[0], ANALYSES)} (tracelens schema"
            " lists all)"
        )
    needs_base = [name for name in names if ANALYSES[name].is_pair and not has_base]
    if needs_base:
        raise UsageError(
            f"{', '.join(needs_base)} compares two traces; name the other one with --against"
        )


def chosen_analyses(trace: Trace, base: Trace | None, names: Sequence[str]) -> list[Analysis]:
    """Return the named analyses, or all that apply if no names are given."""
    if names:
        return [ANALYSES[name] for name in ANALYSES if name in names]
    # A base that is only the capture of the trace's CUDA graphs is not compared.
    is_compared = base is not None and not is_capture_of(base, trace)
    return [
        analysis
        for analysis in ANALYSES.values()
        if _applies(analysis, trace, base) and (is_compared or not analysis.is_pair)
    ]


def build_report(  # noqa: PLR0913 - one parameter an input
    trace: Trace,
    base: Trace | None = None,
    names: Sequence[str] = (),
    rules: Rules = DEFAULT,
    peaks: Peaks | None = None,
    *,
    frames: Mapping[str, pl.DataFrame] = MappingProxyType({}),
) -> Report:
    """Run the named analyses over the trace, or all that apply if no names are given.

    - `peaks`: the device's measured peaks
    - `frames`: results by analysis. These analyses are not run again.

    If a table has very many names, only the names with the most time are reported, see
    `Trace.with_listed_names`. Raises UsageError for an unknown name or a missing base.
    """
    check_sections(names, has_base=base is not None)
    trace, base = trace.with_listed_names(), base and base.with_listed_names()
    rules = replace(
        rules,
        base_runs=[run.with_listed_names() for run in rules.base_runs],
        other_runs=[run.with_listed_names() for run in rules.other_runs],
    )
    chosen = chosen_analyses(trace, base, names)
    refused = (
        unrelated(base, trace)
        if base is not None
        and not rules.any_program
        and any(analysis.of_one_program for analysis in chosen)
        else None
    )

    def run(analysis: Analysis) -> Section:
        if refused and analysis.of_one_program:
            return Section(analysis, analysis.result.empty(), [], refused)
        return run_section(
            analysis,
            trace,
            base,
            rules,
            peaks,
            frame=frames.get(analysis.name),
        )

    sections = _in_two_threads(chosen, run)
    report = Report(
        trace,
        base,
        sections,
        bool(names),
        refused,
        rules=rules,
    )
    if names:
        return report
    with blame_rows(*_not_none(trace, base)):
        return replace(report, whole=report.answer)


def _in_two_threads(
    chosen: Sequence[Analysis],
    run: Callable[[Analysis], Section],
) -> list[Section]:
    """Run the analyses in two threads, and return their sections in the given order."""
    left, sections = deque(chosen), dict[str, Section]()

    def work(take: Callable[[], Analysis]) -> None:
        while True:
            try:
                analysis = take()
            except IndexError:
                return
            if len(chosen) > 1:
                log_share(
                    _LOG,
                    Share(len(sections), len(chosen)),
                    analysis.name,
                )
            sections[analysis.name] = run(analysis)

    # An analysis keeps about one core busy. Neighbours share intermediate results, so one thread
    # takes analyses from the front, the other from the back.
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(work, left.pop) if len(chosen) > 1 else None
        try:
            work(left.popleft)
        finally:
            left.clear()
        if other is not None:
            other.result()
    return [sections[analysis.name] for analysis in chosen]


def build_query(trace: Trace, sql: str) -> Report:
    """Run the query and report its rows as one section.

    A result column gets meaning and unit from a table's column of the same name, if there is one.
    Raises UsageError for an invalid query.
    """
    frame = trace.sql(sql)
    known = {column.name: column for table in TABLES.values() for column in table}
    columns = [
        replace(
            known.get(name, Column(name, dtype, "")),
            dtype=dtype,
            nullable=True,
            values=(),
        )
        for name, dtype in frame.schema.items()
    ]
    analysis = Analysis(
        sql,
        Table("query", "A row that the query selects.", tuple(columns)),
        trace.sql,
    )
    return Report(
        trace,
        None,
        [Section(analysis, frame, [], is_query=True)],
        is_asked=True,
    )


def _applies(analysis: Analysis, trace: Trace, base: Trace | None) -> bool:
    match analysis.scope:
        case Scope.HOST:
            return not trace.has("kernels")
        case Scope.RANKS:
            return len(trace.manifest.ranks) != 1
        case Scope.PROFILERS:
            return base is not None and tools(base) != tools(trace)
        case Scope.ASKED:
            return False
    return True


def run_section(  # noqa: PLR0913 - one parameter an input
    analysis: Analysis,
    trace: Trace,
    base: Trace | None = None,
    rules: Rules = DEFAULT,
    peaks: Peaks | None = None,
    *,
    frame: pl.DataFrame | None = None,
) -> Section:
    """Run one analysis and return its section, or make the section from a given `frame`.

    If the trace lacks a table, the section's frame is empty, and its `missing` says why.
    """
    _LOG.debug("%s", analysis.name)
    traces = (base, trace) if analysis.is_pair else (trace,)
    more: dict[str, Any] = ({"base": base} if analysis.takes_base else {}) | (
        {"rules": rules} if analysis.takes_rules else {}
    )
    more |= {"peaks": peaks} if analysis.takes_peaks else {}
    try:
        with blame_rows(*_not_none(base, trace)):
            frame = analysis.run(*traces, **more) if frame is None else frame
            others = (base,) if analysis.takes_base else ()
            sentences = analysis.notes(*traces, frame, *others) if analysis.notes else []
            sentences = merge_ranks(sentences) + _explain_shared_names(frame, base, trace)
            from_start = since_start(trace, frame)
            return Section(
                analysis,
                frame,
                sentences,
                from_start=from_start,
                charts=_charts(analysis, from_start),
                is_process=not trace.has("kernels"),
            )
    except MissingTableError as error:
        return Section(analysis, analysis.result.empty(), [], str(error))


def _charts(analysis: Analysis, frame: pl.DataFrame) -> Sequence[Chart]:
    """Return the charts of a result that has rows."""
    if analysis.charts is None or frame.is_empty():
        return ()
    return analysis.charts(frame)


def _not_none(*traces: Trace | None) -> list[Trace]:
    """Return the traces that are not None."""
    return [trace for trace in traces if trace is not None]


def _explain_shared_names(frame: pl.DataFrame, *traces: Trace | None) -> list[str]:
    """Explain texts in the frame such as "(2,900,000 other ops)", which replace many names."""
    shared = {others for trace in _not_none(*traces) for others in trace.shared_names.values()}
    texts = frame.select(pl.col(pl.String))
    return [
        f"{others}: all whose names are not among the {NAMES.value:,} names with the most time;"
        f" {NAMES.variable} says how many have rows."
        for others in sorted(shared)
        if any(text.str.contains(others, literal=True).any() for text in texts)
    ]
