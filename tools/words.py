"""Count faults of docstrings, names and layout by package: python -m tools.words [--list].

- Docstrings: another word for None, a missing "per", riddles (a question, or a sentence without a
  subject), a pronoun in place of a noun, and functions without a verb at the beginning.
- Names: local names such as `found` that do not say what a value is.
- Layout: lines of code over 100 columns, and tokens per line of code.

The package has other limits than the studies and tools around it. Exits with 1 if a count exceeds
its limit. A limit must never be raised. With `--list`, the place of each finding is printed. ruff
finds wide docstrings.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100
VAGUE_NAMES = frozenset(("at", "found", "made", "one", "own", "said", "told"))
"""Local names that do not say what a value is."""
CASES = frozenset(("case", "planted", "program"))
"""Decorators of test cases, whose docstrings describe the case and need no verb."""
FINDINGS = ("null", "a row a", "no verb", "riddle", "no noun", "wide code")


@dataclass(frozen=True)
class Limits:
    """The largest allowed counts in some folders."""

    folders: tuple[str, ...]
    # For each package, without docstrings, comments and empty lines. The aim is 8. By this measure,
    # Holistic Trace Analysis has 6.6.
    tokens_per_line: float
    # Share of vague names among all local names
    vague_share: float
    # In the order of FINDINGS
    findings: tuple[int, ...]
    # Beginnings of paths that do not count
    left_out: tuple[str, ...] = ()


_PROSE = "samples/accuracy/blind_texts.py"
_AS_THEY_RAN = (
    "samples/blind/",
    "samples/open_points/models.py",
    "samples/whatif/held_out.py",
    "samples/whatif/held_out_hosts.py",
    "samples/whatif/networks.py",
    "samples/whatif/programs.py",
)
"""Programs that must not be edited, because bundled captures contain their line numbers."""
LIMITS = (
    Limits(
        ("collectors", "schemas", "tracelens"),
        9.0,
        0.006,
        (1, 0, 0, 0, 0, 110),
    ),
    Limits(
        ("benchmarks", "samples", "tools"),
        9.0,
        0.003,
        (0, 0, 0, 0, 0, 121),
        left_out=(*_AS_THEY_RAN, _PROSE),
    ),
)

_NULL = re.compile(r"\bnulls?\b")
_RIDDLE = re.compile(
    r"^(?:What|Whose|That|Whether|Who|How|Where|When|Why)\b"
    r"|^`tracelens [\w -]+`[.:]"
    r"|(?:^|[.]\s+|\n\s*\n\s*)Empty (?:where|if|when)\b"
)
"""Matches docstrings that begin with a question or a command's name, or lack a subject."""
_NO_NOUN = re.compile(
    r"\b(?:was|were|is|are)\s+(?:that|so)\s*[.;]|\bin\s+truth\b"
    r"|\bso\s+(?:many|much|long)\b(?!\s+(?:that|as)\b)"
)
"""Matches a pronoun as the predicate, or "so" with a quantity, in place of a noun."""
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
    findings: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in FINDINGS})


def examine(groups: Iterable[Limits] = LIMITS) -> dict[str, Package]:
    """Return the findings in every module of these groups, by package."""
    packages: dict[str, Package] = {}
    for limits in groups:
        for folder in limits.folders:
            for file in sorted((ROOT / folder).rglob("*.py")):
                inside = file.relative_to(ROOT)
                is_link = inside.parts[:2] in {
                    ("tracelens", "collectors"),
                    ("tracelens", "schemas"),
                }
                if is_link or str(inside).startswith(limits.left_out):
                    continue
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
        doc_lines |= set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
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
    """Yield each docstring of a module with its node; constants and fields also have docstrings."""
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
    """Return the names that functions bind, including parameters, each with its first line.

    A name occurs once per function.
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
    """Yield each fault of a docstring, as a word of FINDINGS."""
    if _NULL.search(text):
        yield "null"
    if _DISTRIBUTIVE.search(text):
        yield "a row a"
    if _RIDDLE.search(text.strip()):
        yield "riddle"
    if _NO_NOUN.search(text):
        yield "no noun"
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    decorators = [ast.unparse(decorator) for decorator in getattr(node, "decorator_list", [])]
    is_noun = any("property" in word or word.partition("(")[0] in CASES for word in decorators)
    first_word = re.match(r"\w*", text.strip())
    if is_function and not is_noun and first_word and first_word[0].lower() not in VERBS:
        yield "no verb"


def main() -> int:
    """Print a table for each group of folders; return 1 where a limit is exceeded."""
    packages = examine()
    for limits in LIMITS:
        _print_table(limits, _within(limits, packages))
    if "--list" in sys.argv:
        for package in packages.values():
            for name, places in package.findings.items():
                print(*(f"{place}: {name}" for place in places), sep="\n")
            print(*(f"{place}: vague name" for place in package.vague_names), sep="\n")
    return int(bool(exceeded(packages)))


def _print_table(limits: Limits, packages: dict[str, Package]) -> None:
    """Print one line per package, their sums, and the limits."""
    heads = " ".join(f"{name:>14}" for name in FINDINGS)
    print(f"{'package':34} {'tokens/line':>11} {'vague names':>11} {heads}")
    for name, package in packages.items():
        counts = " ".join(f"{len(places):14}" for places in package.findings.values())
        share = vague_share({name: package})
        density = package.n_tokens / max(1, package.n_lines)
        print(f"{name:34} {density:11.1f} {share:11.1%} {counts}")
    n_tokens = sum(package.n_tokens for package in packages.values())
    n_lines = sum(package.n_lines for package in packages.values())
    counts = " ".join(f"{total:14}" for total in totals(packages).values())
    print(f"{'all':34} {n_tokens / n_lines:11.1f} {vague_share(packages):11.1%} {counts}")
    most = " ".join(f"{limit:14}" for limit in limits.findings)
    print(f"{'limit':34} {limits.tokens_per_line:11.1f} {limits.vague_share:11.1%} {most}\n")


def _within(limits: Limits, packages: dict[str, Package]) -> dict[str, Package]:
    """Return the packages in the folders of these limits."""
    return {
        name: package
        for name, package in packages.items()
        if name.partition("/")[0] in limits.folders
    }


def vague_share(packages: dict[str, Package]) -> float:
    """Return the share of vague names among all local names."""
    n_vague = sum(len(package.vague_names) for package in packages.values())
    return n_vague / max(1, sum(package.n_names for package in packages.values()))


def totals(packages: dict[str, Package]) -> dict[str, int]:
    """Return the number of findings of each kind in all packages together."""
    return {
        name: sum(len(package.findings[name]) for package in packages.values()) for name in FINDINGS
    }


def exceeded(packages: dict[str, Package]) -> list[str]:
    """Return one text for each limit that is exceeded."""
    return [text for limits in LIMITS for text in _exceeded(limits, _within(limits, packages))]


def _exceeded(limits: Limits, packages: dict[str, Package]) -> list[str]:
    """Return one text for each exceeded limit of a group."""
    counts = zip(totals(packages).items(), limits.findings, strict=True)
    too_many = [f"{name}: {count} > {limit}" for (name, count), limit in counts if count > limit]
    dense = [
        f"{name}: {package.n_tokens / package.n_lines:.1f} tokens a line"
        for name, package in packages.items()
        if package.n_tokens > limits.tokens_per_line * package.n_lines
    ]
    share = vague_share(packages)
    is_vague = share > limits.vague_share
    vague = [f"vague names: {share:.1%} > {limits.vague_share:.1%}"] if is_vague else []
    return too_many + dense + vague


if __name__ == "__main__":
    sys.exit(main())
