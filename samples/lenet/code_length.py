"""Measure each level's code: the lines between `begin LEVEL …` and `end` in its file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from samples.lenet.levels import HERE, KINDS

_BEGIN = re.compile(r"\s*(?:#|//) begin (.+)")
_END = re.compile(r"\s*(?:#|//) end\s*")
_IMPORT = re.compile(r"\s*(?:import |from \S+ import |#include|using namespace )")
_CPP_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True)
class Length:
    """The marked code's length: lines, statements and bytes.

    Blank lines, comments, docstrings and imports are not counted as lines. A statement is Python's
    own by its grammar; in C++ semicolons are counted. `file_bytes` is the size of the whole file.
    """

    lines: int
    statements: int
    n_bytes: int
    file_bytes: int


def of_level(name: str) -> Length:
    """Return the length of a level's code."""
    kind = KINDS[name]
    return of_text((HERE / kind.file).read_text(), kind.part, is_python=kind.file.endswith(".py"))


def of_text(text: str, part: str, *, is_python: bool) -> Length:
    """Return the length of a file's parts that are marked with this name."""
    lines = text.split("\n")
    marked = set(_marked(lines, part))
    if not marked:
        raise ValueError(f"no code is marked `begin {part}`")
    n_bytes = sum(len(lines[number].encode()) + 1 for number in marked)
    if is_python:
        counted, statements = _python(text, marked)
    else:
        counted, statements = _cpp(text, marked)
    return Length(counted, statements, n_bytes, len(text.encode()))


def _marked(lines: list[str], part: str) -> Iterator[int]:
    """Yield the numbers of the lines, from 0, between markers that have this name."""
    is_wanted, opened = False, None
    for number, line in enumerate(lines):
        if begin := _BEGIN.fullmatch(line):
            if opened is not None:
                raise ValueError(
                    f"line {number + 1}: the part begun in line {opened + 1} has no end"
                )
            is_wanted, opened = part in begin[1].split(), number
        elif _END.fullmatch(line):
            if opened is None:
                raise ValueError(f"line {number + 1}: an end without a begin")
            is_wanted, opened = False, None
        elif is_wanted:
            yield number
    if opened is not None:
        raise ValueError(f"the part begun in line {opened + 1} has no end")


def _python(text: str, marked: set[int]) -> tuple[int, int]:
    tree = ast.parse(text)
    nodes = [
        node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno - 1 in marked
    ]
    left_out = [
        node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node)
    ]
    skipped = {
        number
        for node in left_out
        for number in range(node.lineno - 1, node.end_lineno or node.lineno)
    }
    lines = text.split("\n")
    counted = [
        number
        for number in marked - skipped
        if lines[number].strip() and not lines[number].lstrip().startswith("#")
    ]
    return len(counted), len(nodes) - len(left_out)


def _is_text(node: ast.stmt) -> bool:
    """Return whether the node is a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _cpp(text: str, marked: set[int]) -> tuple[int, int]:
    # Comments and quoted text are removed, except for line ends within them.
    bare = _CPP_TEXT.sub(
        lambda text_or_comment: (
            '""' if text_or_comment[0][0] == '"' else "\n" * text_or_comment[0].count("\n")
        ),
        text,
    ).split("\n")
    counted = [
        bare[number]
        for number in marked
        if bare[number].strip() and not _IMPORT.match(bare[number])
    ]
    return len(counted), sum(line.count(";") for line in counted)


def main() -> None:
    """Print the lengths of all levels."""
    for name in KINDS:
        print(f"{name:26} {of_level(name)}")


if __name__ == "__main__":
    main()
