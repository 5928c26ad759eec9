"""Write kernel names in one spelling, because the demanglers of two profilers differ.

- nsys: `<unnamed>`, `<(int)128, (bool)1>`, `[lambda(float) (instance 1)]`, `T2 *`
- CUPTI: `(anonymous namespace)`, `<128, true>`, `{lambda(float)#1}`, `float*`
"""

from collections.abc import Iterable

import polars as pl

from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.layers.graph_replay import tools
from tracelens.trace import Trace

_UNNAMED = r"\(anonymous namespace\)|\{anonymous\}|<unnamed>"
_RETURN_TYPE = r"\b(void|std::enable_if<[^<>]*>::type) ([A-Za-z_<])"
_SPELLINGS = (
    (_UNNAMED, "<unnamed>"),
    (r"^(__global__|static) ", ""),
    (r"\(bool\)0\b", "false"),
    (r"\(bool\)1\b", "true"),
    (r"\((unsigned )?(int|long|short|char)( long| int)?\)(-?\d)", "${4}"),
    (r"\b(\d+)(u|l|ul|ll|ull)\b", "${1}"),
    (r"operator \(\)|operator\(\)", "operator«»"),
    (r"\[lambda\(([^()]*)\) \(instance (\d+)\)\]", "{lambda«${1}»#${2}}"),
    (r"\{lambda\(([^()]*)\)#(\d+)\}", "{lambda«${1}»#${2}}"),
    (r"\(([\w:]+)\)(-?\d)", "«${1}»${2}"),
    (r"\bconst ([A-Za-z_][\w:]*)", "${1} const"),
)
"""Pairs of a pattern and its replacement.

Parentheses that are to stay are written as « and ». Then all text in parentheses is removed as
parameters, and _LAST_SPELLINGS turns « and » into parentheses again.
"""
_LAST_SPELLINGS = (
    (_RETURN_TYPE, "${2}"),
    (r" *([*&>])", "${1}"),
    ("«", "("),
    ("»", ")"),
)
_PARAMETERS = r"\([^()]*\)"
_MOST_NESTED = 12


def one_spelling(names: pl.Series) -> pl.Series:
    """Return each kernel's name in one spelling, without parameters and result type.

    Template arguments are kept, because they distinguish kernels. Mangled names do not change. The
    result is Categorical.
    """
    return each_once(names, _spelled)


def with_one_spelling(
    base: Trace,
    other: Trace,
    kernels: pl.DataFrame,
    column: str = "name",
) -> pl.DataFrame:
    """Return the kernels with names in one spelling, if the runs are from different profilers."""
    if tools(base) == tools(other):
        return kernels
    names = one_spelling(kernels[column])
    return kernels.with_columns(names.cast(kernels[column].dtype))


def _spelled(name: pl.Expr) -> pl.Expr:
    respelled = _replaced(name.cast(pl.String), _SPELLINGS)
    without_parameters = _replaced(respelled, [(_PARAMETERS, "")] * _MOST_NESTED)
    return _replaced(without_parameters, _LAST_SPELLINGS)


def _replaced(
    text: pl.Expr,
    replacements: Iterable[tuple[str, str]],
) -> pl.Expr:
    for pattern, replacement in replacements:
        text = text.str.replace_all(pattern, replacement)
    return text
