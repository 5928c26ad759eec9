"""Turn the spans of a Chrome trace into raw spans with kind, recorded caller and plain names."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec
import polars as pl

from tracelens.derive.columns.per_unique import each_once, each_pair_once

_ADDRESS = r" at 0x[0-9a-fA-F]+"
# A call is named `FILE(LINE): FUNCTION`. Folders may contain brackets and colons, too.
_UP_TO_PACKAGES = r"^(?:[A-Za-z]:)?[/\\].*[/\\](?:site-packages|dist-packages)[/\\]"
# Files of the standard library keep their package: json/encoder.py is not a program's encoder.py.
_UP_TO_STDLIB = (
    r"^(?:[A-Za-z]:)?[/\\].*[/\\](?:lib(?:32|64)?[/\\]python\d[\d.]*t?|Python\d+[/\\]Lib)[/\\]"
)
# A live capture's own hooks keep their folder, to distinguish them from the program's files.
_UP_TO_HOOKS = r"^(?:[A-Za-z]:)?[/\\].*[/\\](collectors[/\\]torch[/\\]live[/\\])"
_UP_TO_FILE = r"^(?:[A-Za-z]:)?[/\\].*[/\\]([^/\\]*\(\d+\): )"
_ABSOLUTE_PATH = r"(^|[\s'\"(<\[=,;])(?:[A-Za-z]:)?[/\\]+(?:[^/\\():<>]+[/\\]+)+"
_KINDS = {"cpu_op": "op", "Operator": "op", "user_annotation": "annotation", "overhead": "overhead"}
_NOT_AS_JSON = re.compile(r"\b(?:True|False)\b|\.(?![0-9])")
"""Matches what Python or C++ writes differently from JSON.

Python writes truth values as True and False. C++ writes 1.0 as `1.`, whose point is matched.
"""
_LONGEST_INPUT, _DEEPEST_INPUT = 1 << 16, 4
PROFILER_STEP = r"^ProfilerStep#[0-9]+$"
_MODULE = "nn.Module: "
_SPARSE, _FEW = 8, 1 << 16


def raw_spans(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the spans with kind, plain names, and the recorded Python caller (`parent_hint`).

    The caller is a row number. Names lose addresses and folders.
    """
    callers = _callers(spans.select("process_id", "python_id", "python_parent_id"))
    return spans.with_columns(
        each_once(
            spans["input_strides"],
            lambda text: text.map_elements(_plain, pl.String),
        ),
        each_once(
            spans["concrete_inputs"],
            lambda text: text.map_elements(_plain, pl.String),
        ),
        *each_pair_once(spans["category"], spans["name"], _named),
        callers.alias("parent_hint"),
        pl.col("process_id", "thread_id").fill_null(-1),
    ).drop("python_id", "python_parent_id")


def _plain(written: str) -> str | None:
    """Return the JSON list with None for every element that is not a number, truth value or list.

    Return None if the text is not a JSON list.
    """
    values = _decoded(written)
    if not isinstance(values, list):
        return None
    # torch writes inputs that are not tensors as strings, in Python's notation.
    read = (_decoded(_as_json(value)) if isinstance(value, str) else value for value in values)
    return json.dumps([value if _is_plain(value) else None for value in read])


def _as_json(value: str) -> str:
    """Return a value in JSON's notation if it is a number, a truth value or a list of these."""
    return _NOT_AS_JSON.sub(
        lambda match: match[0].lower() if match[0] != "." else ".0",
        value,
    )


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text) if len(text) <= _LONGEST_INPUT else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_plain(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return depth < _DEEPEST_INPUT and all(_is_plain(element, depth + 1) for element in value)
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _named(spans: pl.DataFrame) -> pl.DataFrame:
    """Return the plain name and the kind of each span.

    Names of Python calls lose addresses and folders.
    """
    is_call, is_module = (
        pl.col("category") == "python_function",
        pl.col("name").str.starts_with(_MODULE),
    )
    # Until 2022, the profiler's own step annotation had the category Operator.
    is_step = (pl.col("category") == "Operator") & pl.col("name").str.contains(PROFILER_STEP)
    kind = (
        pl.when(is_call & is_module)
        .then(pl.lit("module"))
        .when(is_call)
        .then(pl.lit("python"))
        .when(is_step)
        .then(pl.lit("annotation"))
        .otherwise(pl.col("category").replace_strict(_KINDS, default=None))
    )
    bare = pl.when(is_call & ~is_module).then(_without_folders(pl.col("name"))).otherwise("name")
    return spans.select(name=bare, kind=kind)


def _without_folders(name: pl.Expr) -> pl.Expr:
    return (
        name.str.replace_all(_ADDRESS, "")
        .str.replace(_UP_TO_PACKAGES, "")
        .str.replace(_UP_TO_STDLIB, "")
        .str.replace(_UP_TO_HOOKS, "$1")
        .str.replace(_UP_TO_FILE, "$1")
        .str.replace_all(_ABSOLUTE_PATH, "$1")
    )


def _callers(spans: pl.DataFrame) -> pl.Series:
    """Return each span's caller as a row number, None if the span names no recorded parent."""
    spans = spans.select(
        "process_id",
        pl.col("python_id", "python_parent_id").cast(pl.Int64),
    ).with_row_index("row")
    caller_rows = pl.repeat(None, spans.height, dtype=pl.UInt32, eager=True)
    if not spans["python_parent_id"].count():
        return caller_rows
    process = spans["process_id"]
    for process_id in process.unique().drop_nulls():
        of_process = spans.lazy().filter(pl.col("process_id") == process_id)
        callers = of_process.select("row", "python_id").drop_nulls().collect()
        callees = of_process.select("row", "python_parent_id").drop_nulls().collect()
        # A span's python_parent_id is the python_id of its caller in the same process.
        rows = _first_rows(callers["python_id"], callers["row"], callees["python_parent_id"])
        caller_rows = caller_rows.scatter(callees["row"], rows)
    return caller_rows


def _first_rows(numbers: pl.Series, rows: pl.Series, wanted: pl.Series) -> pl.Series:
    """Return one row per wanted number: the first with this number, None if no row has it."""
    lowest, highest = numbers.min(), numbers.max()
    # The profiler counts calls upwards, so a list indexed by number is short. A look-up in the list
    # takes a tenth of a join's time and memory.
    if (
        isinstance(lowest, int)
        and isinstance(highest, int)
        and lowest >= 0
        and highest < _SPARSE * len(rows) + _FEW
    ):
        table = pl.repeat(None, highest + 1, dtype=pl.UInt32, eager=True).scatter(numbers, rows)
        if (table.gather(numbers) == rows).all():
            return table.gather(wanted.set((wanted < 0) | (wanted > highest), None))
    first = pl.DataFrame({"number": numbers, "row": rows}).unique("number", keep="first")
    return wanted.to_frame("number").join(first, on="number", how="left", maintain_order="left")[
        "row"
    ]
