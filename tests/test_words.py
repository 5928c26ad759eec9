"""How the code reads stays within its limits, which are only ever lowered."""

import ast
from pathlib import Path

import pytest

from tools.words import LIMITS, Limits, examine, exceeded, findings


@pytest.mark.parametrize(
    "limits",
    [LIMITS[0], *(pytest.param(limits, marks=pytest.mark.exhaustive) for limits in LIMITS[1:])],
    ids=lambda limits: limits.folders[0],
)
def test_no_limit_is_exceeded(limits: Limits) -> None:
    """`python -m tools.words --list` says where each finding stands."""
    packages = examine([limits])
    assert packages
    assert exceeded(packages) == []


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Return the rows.", []),
        ("The rows.", ["no verb"]),
        ("Whether there are rows.", ["riddle", "no verb"]),
        ("What the rows hold.", ["riddle", "no verb"]),
        ("`rows` of each rank.", ["no verb"]),
        ("Return the rows.\n\nEmpty where there are none.", ["riddle"]),
        ("Return the rows. Empty where there are none.", ["riddle"]),
        ("Return the rows; they are empty where there are none.", []),
        ("Return the rows, null where unknown.", ["null"]),
        ("Return the nullable columns.", []),
        ("Return the sum as if all launching was that.", ["no noun"]),
        ("Return what launching was in truth.", ["no noun"]),
        ("Wait for so many seconds.", ["no noun"]),
        ("Keep so many rows that memory is bounded; that is so many as fit.", ["no noun"]),
        ("Keep as many rows as fit.", []),
        ("Return a row a rank.", ["a row a"]),
        ("Return one row per rank.", []),
        ("A frame a kernel, null where unknown.", ["null", "a row a", "no verb"]),
    ],
)
def test_a_docstring(doc: str, expected: list[str]) -> None:
    function = ast.parse(f"def f():\n    {doc!r}").body[0]
    assert list(findings(function, doc)) == expected


def test_nouns_are_for_modules_classes_and_properties() -> None:
    source = "class Rows:\n    @property\n    def first(self): ..."
    rows = ast.parse(source).body[0]
    assert isinstance(rows, ast.ClassDef)
    assert list(findings(rows, "The rows.")) == []
    assert list(findings(rows, "What the rows hold.")) == ["riddle"]
    assert list(findings(ast.parse(""), "`tracelens rows`.")) == ["riddle"]
    assert list(findings(rows.body[0], "The first row.")) == []


def test_a_case_says_what_happens_in_it() -> None:
    source = "@case\ndef two_steps(): ...\n\n@cached\ndef three_steps(): ..."
    two_steps, three_steps = ast.parse(source).body
    assert list(findings(two_steps, "Steps take 10 ms.")) == []
    assert list(findings(three_steps, "Steps take 10 ms.")) == ["no verb"]


def test_names_of_tests_have_at_most_60_characters() -> None:
    names = {
        node.name
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert [name for name in sorted(names) if len(name) > 60] == []
