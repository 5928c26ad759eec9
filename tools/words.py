"""Print how the code reads, package by package: python -m tools.words [--list].

Docstrings count if they say "null" or "a row a rank", begin with a question, or lack a subject
(riddles). They also count if a pronoun or "so many" stands in place of a noun, and docstrings of
functions if they begin without a verb. Further counts are lines of code over 100 columns, tokens in
a line of code, and local names such as `found` that do not say what a value is. Exits with 1 if a
count is above its limit; a limit is only ever lowered. With `--list`, says where each finding
stands. Wide docstrings are ruff's to find.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("collectors", "schemas", "tracelens")
WIDTH = 100
TOKENS_PER_LINE = 11.3
"""The most tokens per line of code that a package may have. The aim is 9.

Docstrings and comments do not count as tokens. A line counts if it has code. By this measure,
Holistic Trace Analysis has 6.6.
"""
VAGUE_NAMES = frozenset(("at", "found", "made", "one", "own", "said", "told"))
"""Local names that do not say what a value is."""
VAGUE_SHARE = 0.006
"""The largest allowed share of vague names among all local names."""
LIMITS = {"null": 1, "a row a": 0, "no verb": 0, "riddle": 0, "no noun": 0, "wide code": 110}
"""The largest allowed number of each finding, in all packages together."""

_NULL = re.compile(r"\bnulls?\b")
_RIDDLE = re.compile(
    r"^(?:What|Whose|That|Whether|Who|How|Where|When|Why)\b"
    r"|^`tracelens [\w -]+`[.:]"
    r"|(?:^|[.]\s+|\n\s*\n\s*)Empty (?:where|if|when)\b"
)
"""Matches a docstring that begins with a question or with a command's name, or lacks a subject."""
_NO_NOUN = re.compile(
    r"\b(?:was|were|is|are)\s+(?:that|so)\s*[.;]|\bin\s+truth\b"
    r"|\bso\s+(?:many|much|long)\b(?!\s+(?:that|as)\b)"
)
"""Matches a pronoun as the predicate, or "so many" where a noun or a parameter has a name."""
_DISTRIBUTIVE = re.compile(
    r"\b(?:an?|one) (row|frame|line|file|table|capture|process|list|entry|bar|note) an? \w+",
    re.IGNORECASE,
)
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
VERBS = frozenset(Path(__file__).with_name("verbs.txt").read_text(encoding="utf-8").split())
"""Words that a docstring in the imperative mood may begin with."""


@dataclass
class Package:
    """The findings in the files of a package."""

    n_lines: int = 0
    n_tokens: int = 0
    n_names: int = 0
    vague_names: list[str] = field(default_factory=list)
    findings: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in LIMITS})


def examine() -> dict[str, Package]:
    """Read every module, by package."""
    packages: dict[str, Package] = {}
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            inside = file.relative_to(ROOT)
            if inside.parts[:2] in {("tracelens", "collectors"), ("tracelens", "schemas")}:
                continue  # links to the folders above
            package = packages.setdefault(str(inside.parent), Package())
            _examine_file(file.read_text(encoding="utf-8"), str(inside), package)
    return packages


def _examine_file(text: str, where: str, package: Package) -> None:
    """Add the findings of one module to its package."""
    lines = text.splitlines()
    doc_lines: set[int] = set()
    tree = ast.parse(text)
    for name, line in _local_names(tree):
        package.n_names += 1
        if name in VAGUE_NAMES:
            package.vague_names.append(f"{where}:{line}")
    for node, doc in _docstrings(tree):
        span = range(doc.lineno, (doc.end_lineno or doc.lineno) + 1)
        doc_lines |= set(span)
        for finding in findings(node, str(doc.value)):
            package.findings[finding].append(f"{where}:{doc.lineno}")
    code_lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE and token.start[0] not in doc_lines:
            package.n_tokens += 1
            code_lines |= set(range(token.start[0], token.end[0] + 1))
    package.n_lines += len(code_lines)
    wide_code = [number for number in sorted(code_lines) if len(lines[number - 1]) > WIDTH]
    package.findings["wide code"] += [f"{where}:{number}" for number in wide_code]


def _docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.Constant]]:
    """Go through the docstrings of a module, also those below constants and fields."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for statement in body:
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                yield (node if statement is body[0] else statement), statement.value


def _local_names(tree: ast.Module) -> set[tuple[str, int]]:
    """List the names that functions bind, including parameters.

    Each name is listed once per function, with its first line.
    """
    bound: dict[tuple[ast.AST, str], int] = {}

    def visit(node: ast.AST, function: ast.AST | None) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            function = node
        name = node.arg if isinstance(node, ast.arg) else None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        if function is not None and name is not None:
            bound.setdefault((function, name), getattr(node, "lineno", 0))
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(tree, None)
    return {(name, line) for (_, name), line in bound.items()}


def findings(node: ast.AST, text: str) -> Iterator[str]:
    """Name each fault of a docstring."""
    if _NULL.search(text):
        yield "null"
    if _DISTRIBUTIVE.search(text):
        yield "a row a"
    if _RIDDLE.search(text.strip()):
        yield "riddle"
    if _NO_NOUN.search(text):
        yield "no noun"
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    is_property = is_function and any(
        "property" in ast.unparse(decorator) for decorator in getattr(node, "decorator_list", [])
    )
    first_word = re.match(r"\w*", text.strip())
    if is_function and not is_property and first_word and first_word[0].lower() not in VERBS:
        yield "no verb"


def main() -> int:
    """Print the table; return 1 where a limit is exceeded."""
    packages = examine()
    heads = " ".join(f"{name:>14}" for name in LIMITS)
    print(f"{'package':34} {'tokens/line':>11} {'vague names':>11} {heads}")
    for name, package in packages.items():
        counts = " ".join(f"{len(places):14}" for places in package.findings.values())
        share = len(package.vague_names) / max(1, package.n_names)
        density = package.n_tokens / max(1, package.n_lines)
        print(f"{name:34} {density:11.1f} {share:11.1%} {counts}")
    totals = {name: sum(len(p.findings[name]) for p in packages.values()) for name in LIMITS}
    n_tokens, n_lines = (
        sum(getattr(package, name) for package in packages.values())
        for name in ("n_tokens", "n_lines")
    )
    print(
        f"{'all':34} {n_tokens / n_lines:11.1f} {vague_share(packages):11.1%} "
        + " ".join(f"{total:14}" for total in totals.values())
    )
    print(
        f"{'limit':34} {TOKENS_PER_LINE:11.1f} {VAGUE_SHARE:11.1%} "
        + " ".join(f"{limit:14}" for limit in LIMITS.values())
    )
    if "--list" in sys.argv:
        for package in packages.values():
            for name, places in package.findings.items():
                print(*(f"{place}: {name}" for place in places), sep="\n")
            print(*(f"{place}: vague name" for place in package.vague_names), sep="\n")
    return int(bool(exceeded(packages)))


def vague_share(packages: dict[str, Package]) -> float:
    """Return the share of all local names that do not say what a value is."""
    n_vague = sum(len(package.vague_names) for package in packages.values())
    return n_vague / max(1, sum(package.n_names for package in packages.values()))


def exceeded(packages: dict[str, Package]) -> list[str]:
    """Name the limits that are exceeded."""
    totals = {name: sum(len(p.findings[name]) for p in packages.values()) for name in LIMITS}
    too_many = [
        f"{name}: {totals[name]} > {LIMITS[name]}" for name in LIMITS if totals[name] > LIMITS[name]
    ]
    dense = [
        f"{name}: {package.n_tokens / package.n_lines:.1f} tokens a line"
        for name, package in packages.items()
        if package.n_tokens > TOKENS_PER_LINE * package.n_lines
    ]
    share = vague_share(packages)
    vague = [f"vague names: {share:.1%} > {VAGUE_SHARE:.1%}"] if share > VAGUE_SHARE else []
    return too_many + dense + vague


if __name__ == "__main__":
    sys.exit(main())
