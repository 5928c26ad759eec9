"""Summarise a comparison in a few lines of Markdown, for example for a pull request."""

import textwrap
from math import isinf

import polars as pl
from msgspec.structs import replace

from tracelens.derive.comparing.gate import FAILED, UNCLEAR, Verdict
from tracelens.report import Report, Section
from tracelens.views.answer_text import answer_text
from tracelens.views.formats.markdown import bullets, escape, table
from tracelens.views.values import quantity

_MOST = 10
_JUDGED = ("faster", "slower", "less", "more")
SUMMARISED = (
    "compare_setup",
    "compare_time",
    "compare_layers",
    "compare_blocks",
    "compare_kernels",
    "compare_ops",
    "compare_memory",
)


def gate_lines(verdicts: list[Verdict]) -> list[str]:
    """Return one line per gate with its verdict, expression and value."""
    return [
        f"{verdict.verdict}: {verdict.expr} ({found_value(verdict)}; {verdict.reason})"
        for verdict in verdicts
    ]


def found_value(verdict: Verdict) -> str:
    """Return the value of a gate's verdict as text, with the interval of the value if it is known.

    The value is a share of the base if the gate's expression ends in "%". Otherwise it has a unit.
    """
    if verdict.value is None:
        return "no value"
    if isinf(verdict.value):  # the base is 0, so there is no share
        return "only in new"
    values = [verdict.value, *(verdict.interval or ())]
    if verdict.expr.rstrip().endswith("%"):
        texts = [f"{share:+.2%}" for share in values]
    else:
        signs = ["-" if value < 0 else "" for value in values]
        texts = [
            f"{sign}{quantity(abs(value), verdict.unit)}"
            for sign, value in zip(signs, values, strict=True)
        ]
    if verdict.interval is None:
        return texts[0]
    value, low, high = texts
    return f"{value}, {low} to {high}"


def to_summary(report: Report) -> str:
    """Return Markdown with the answer, the gates, and the sections that compare the runs."""
    answer = answer_text(report.answer).rstrip()
    # An indented block shows a name as it is, whatever it contains.
    parts = [f"# {escape(report.title)}", textwrap.indent(answer, "    ")]
    if report.gate is not None:
        n = {
            word: sum(verdict.verdict == word for verdict in report.gate)
            for word in (FAILED, UNCLEAR)
        }
        unclear = f", {n[UNCLEAR]} could not be judged" if n[UNCLEAR] else ""
        sentence = f"**{n[FAILED]} of {len(report.gate)} gates failed{unclear}.**"
        lines = ["| gate | verdict | found | why |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {escape(verdict.expr)} | {verdict.verdict} | {escape(found_value(verdict))} |"
            f" {escape(verdict.reason)} |"
            for verdict in report.gate
        ]
        parts += [sentence, "\n".join(lines)]
    if report.refused is not None:
        parts.append(escape(report.refused))
    parts += [
        _section(verdict)
        for verdict in report.sections
        if verdict.analysis.name in SUMMARISED and verdict.missing is None
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> str:
    """Return a section's notes as Markdown, with the rows that have an `outcome` in `_JUDGED`."""
    parts = [f"## {escape(section.analysis.question)}", bullets(section.notes)]
    if "outcome" in section.frame:
        judged = section.frame.filter(pl.col("outcome").is_in(_JUDGED))
        if judged.height:
            parts.append(table(replace(section, frame=judged), _MOST))
    return "\n\n".join(part for part in parts if part)
