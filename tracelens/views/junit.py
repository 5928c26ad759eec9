"""Write gates as JUnit XML for continuous integration, and as annotations for GitHub."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from tracelens.derive.comparing.gate import FAILED, UNCLEAR, Verdict
from tracelens.views.summary import found_value
from tracelens.views.values import printable

_SUITE = "tracelens gates"


def to_junit(verdicts: Sequence[Verdict]) -> str:
    """Return JUnit XML with one test case per gate.

    A failed gate is a failure. An unclear gate is a skipped test with the reason.
    """
    n_failed = sum(verdict.verdict == FAILED for verdict in verdicts)
    n_unclear = sum(verdict.verdict == UNCLEAR for verdict in verdicts)
    counts = {"tests": len(verdicts), "failures": n_failed, "errors": 0, "skipped": n_unclear}
    suite = ET.Element(
        "testsuite",
        {"name": _SUITE} | {key: str(n) for key, n in counts.items()},
    )
    for verdict in verdicts:
        case = ET.SubElement(
            suite,
            "testcase",
            classname="gate",
            name=printable(verdict.expr),
        )
        if verdict.verdict == FAILED:
            ET.SubElement(case, "failure", message=_message(verdict))
        elif verdict.verdict == UNCLEAR:
            ET.SubElement(case, "skipped", message=_message(verdict))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def annotations(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a GitHub Actions workflow command for each failed or unclear gate.

    See https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
    """
    words = {FAILED: "error", UNCLEAR: "warning"}
    return [
        f"::{words[verdict.verdict]} title=gate {verdict.verdict}::"
        + _escaped(f"{verdict.expr}: {_message(verdict)}")
        for verdict in verdicts
        if verdict.verdict in words
    ]


def _message(verdict: Verdict) -> str:
    """Return the gate's value, and the reason for its verdict."""
    return printable(f"{found_value(verdict)}; {verdict.reason}")


def _escaped(text: str) -> str:
    """Escape characters that would end a workflow command or begin another command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
