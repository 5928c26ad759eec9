"""Choose which sections and rows of a report are written as text.

Of a job with many ranks, only the sections in `_OF_JOB` are written.
"""

from msgspec.structs import replace

from tracelens.derive.time.step_table import process_ranks
from tracelens.report import Report, Section
from tracelens.views.columns import UNANSWERED
from tracelens.views.verdicts import list_cards

_OF_JOB = ("job", "worst_ranks", "rank_quartiles", "verdict", "collectives_across")
_MOST_ROWS = {"worst_ranks": 5, "collectives_across": 3}
_MORE = "What else this trace answers, rank by rank"


def digest(report: Report, rows: int | None) -> list[tuple[Section, int | None]]:
    """Return sections in reading order, each with the number of rows to show; None means all.

    A section is shown without rows if its notes are sufficient.
    """
    sections = report.to_read()
    if not report.is_of_many:
        return [(section, rows) for section in sections]
    by_name = {section.analysis.name: section for section in sections}
    kept = [by_name[name] for name in _OF_JOB if name in by_name]
    return [
        _shortened(section, process_ranks(report.trace))
        if section.absent is None
        else (section, rows)
        for section in kept
    ]


def endings(report: Report) -> list[tuple[str, list[str]]]:
    """Return closing lines by heading: sections that are left out, or have no answer."""
    headed_lines = [(UNANSWERED, _in_one_line(report.unanswered()))]
    if report.is_of_many:
        left_out = [
            section.analysis.name
            for section in report.to_read()
            if section.analysis.name not in _OF_JOB
        ]
        message = (
            f"{', '.join(left_out)}: name one with --section, or have all as a page with --html"
            " FILE"
        )
        headed_lines = [(_MORE, [message] if left_out else [])]
    return [(head, lines) for head, lines in headed_lines if lines]


def _in_one_line(reasons: list[str]) -> list[str]:
    """Return one line for several reasons; a single reason is unchanged."""
    if len(reasons) < 2:
        return reasons
    names = ", ".join(reason.partition(":")[0] for reason in reasons)
    return [f"{names}: the trace lacks what they need; --section NAME says what records it"]


def title(report: Report) -> str:
    """Return the report's title, with the verdict if the job has several ranks."""
    return report.title if report.headline is None else f"{report.title}: {report.headline}"


def _shortened(section: Section, processes: list[int]) -> tuple[Section, int | None]:
    """Return a section of a job with many ranks, and the number of its rows to show.

    The section `verdict` gets one sentence per group of ranks with the same verdict, and shows no
    rows. `processes` are the ranks without a device, whose sentences use other words.
    """
    if section.analysis.name != "verdict":
        return section, _MOST_ROWS.get(section.analysis.name)
    sentences = [
        f"{card['where'].capitalize()}: {card['evidence']}."
        # The evidence names a known bound, so its words are not repeated.
        if card["is_known"]
        else f"{card['where'].capitalize()}: {card['words']}: {card['evidence']}."
        for card in list_cards(section, processes)
    ]
    return replace(section, notes=[*sentences, *section.notes]), 0
