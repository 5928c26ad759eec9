"""Judge a comparison by gates, as --fail-on asks, and exit with a code of its own if one failed."""

import os
from collections.abc import Sequence

from tracelens.cli.io import progress
from tracelens.cli.output import tell, warn
from tracelens.derive.comparing.expressions import Expression, parse
from tracelens.derive.comparing.gate import FAILED, REASON_WIDE, UNCLEAR, Verdict, evaluate
from tracelens.derive.comparing.significance import REASON_TOO_FEW, Rules
from tracelens.errors import SourceError, UsageError
from tracelens.trace import Trace
from tracelens.views.junit import annotations
from tracelens.views.summary import gate_lines

EXIT_UNJUDGED, EXIT_GATE = 1, 3


def parse_gates(texts: Sequence[str], *, has_base: bool, needs_base: bool) -> list[Expression]:
    """Return the expressions of --fail-on. Raises UsageError for wrong text, or without a base."""
    if not has_base and (texts or needs_base):
        raise UsageError(
            "--fail-on, --strict, --summary and --junit need a comparison; name the base"
            " with --against"
        )
    return [parse(text) for text in texts]


def judge_gates(
    runs: Sequence[Trace],
    bases: Sequence[Trace],
    gates: Sequence[Expression],
    rules: Rules,
) -> tuple[list[Verdict] | None, SourceError | None]:
    """Return the gates' results and None, or None and the error to raise after the report.

    Without gates, return None and None.
    """
    if not gates:
        return None, None
    with progress("judging"):
        try:
            return evaluate(bases[0], runs[0], gates, rules=rules), None
        except SourceError as error:
            return None, error


def conclude(
    refused: str | None,
    gate: list[Verdict],
    *,
    strict: bool,
    has_one_run: bool,
) -> None:
    """Report the gates' results, and exit with their code.

    Raises SourceError with the reason if the comparison was refused.
    """
    if refused is not None:
        raise SourceError(refused)
    for line in gate_lines(gate):
        tell(f"gate {line}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations(gate):
            tell(line)
    verdicts = [result.verdict for result in gate]
    if FAILED in verdicts and has_one_run:
        warn(
            "one run per side does not show how much runs differ by chance, which may fail"
            " gates; give three of each, or judge by tracelens baseline"
        )
    if FAILED in verdicts:
        raise SystemExit(EXIT_GATE)
    if UNCLEAR in verdicts:
        n = verdicts.count(UNCLEAR)
        reasons = [result.reason for result in gate if result.verdict == UNCLEAR]
        advice = _advice_on_unclear(reasons)
        failure = "" if strict else "; --strict makes this a failure"
        warn(f"{n} of {len(verdicts)} gates could not be judged{advice}{failure}")
        if strict:
            raise SystemExit(EXIT_UNJUDGED)


def _advice_on_unclear(reasons: Sequence[str]) -> str:
    """Return what to profile so that the gates can be judged, empty if nothing is known to help."""
    if any(REASON_TOO_FEW in reason for reason in reasons):
        return "; profile three steps or more, or give several runs"
    if any(REASON_WIDE in reason for reason in reasons):
        return "; profile more steps, or give more runs of each, on a quiet machine"
    return ""
