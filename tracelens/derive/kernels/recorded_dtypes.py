"""Parse the element types that the profiler recorded for the inputs of ops."""

import json
from math import prod
from typing import Any

import polars as pl

from tracelens.trace import Trace

# Names as C++ prints them, which the profiler records.
_DTYPES = {
    "double": ("float64", 8),
    "float": ("float32", 4),
    "c10::half": ("float16", 2),
    "half": ("float16", 2),
    "c10::bfloat16": ("bfloat16", 2),
    "bfloat16": ("bfloat16", 2),
    "long int": ("int64", 8),
    "long": ("int64", 8),
    "long long": ("int64", 8),
    "__int64": ("int64", 8),
    "int": ("int32", 4),
    "short int": ("int16", 2),
    "short": ("int16", 2),
    "signed char": ("int8", 1),
    "char": ("int8", 1),
    "unsigned char": ("uint8", 1),
    "bool": ("bool", 1),
    "unsigned short": ("uint16", 2),
    "unsigned int": ("uint32", 4),
    "unsigned long": ("uint64", 8),
    "c10::complex<float>": ("complex64", 8),
    "c10::complex<double>": ("complex128", 16),
}
_DTYPES |= {name: (name, width) for name, width in [*_DTYPES.values()]}  # as torch prints them
_FLOAT8, _FLOAT4 = ("float8", 1), ("float4", 1)
"""Name and bytes of all 8-bit float types, and of torch's float4_e2m1fn_x2.

An element of float4_e2m1fn_x2 is a byte that holds two numbers.
"""


def recorded_inputs(trace: Trace, spans: pl.DataFrame) -> pl.DataFrame:
    """Return the recorded element types and sizes of ops, one row per op: rank, span_id, inputs.

    `inputs` is a list of {dtype, width (bytes per element), elements (None if unknown)}. An op
    without recorded types has no row.
    """
    columns = ["rank", "span_id", "input_shapes", "input_dtypes"]
    if not spans.height:
        return pl.DataFrame(schema=_SCHEMA)
    wanted = spans.select("rank", "span_id").drop_nulls().unique()
    is_asked = (
        pl.col("span_id").is_in(wanted["span_id"].implode()) & pl.col("input_dtypes").is_not_null()
    )
    rows = trace.select("spans", *columns, where=is_asked).cast({pl.Categorical: pl.String})
    rows = rows.join(wanted, on=["rank", "span_id"], how="semi")
    distinct = rows.select("input_shapes", "input_dtypes").unique()
    inputs = pl.Series(
        [_inputs(*row) for row in distinct.iter_rows()],
        dtype=_INPUTS,
    )
    known = distinct.with_columns(inputs=inputs).filter(pl.col("inputs").list.len() > 0)
    with_inputs = rows.join(known, on=["input_shapes", "input_dtypes"], nulls_equal=True)
    return with_inputs.select("rank", "span_id", "inputs")


_INPUTS = pl.List(pl.Struct({"dtype": pl.String, "width": pl.Int64, "elements": pl.Int64}))
_SCHEMA = pl.Schema(
    {
        "rank": pl.Int32(),
        "span_id": pl.Int64(),
        "inputs": _INPUTS,
    }
)


def _inputs(shapes: str | None, dtypes: str) -> list[dict[str, Any]]:
    """Return all combinations of an element type and a number of elements among the inputs."""
    words = [word for word in listed(dtypes) if isinstance(word, str)]
    types = dict.fromkeys(map(element_type, words))
    sizes = dict.fromkeys(map(_elements, listed(shapes)))
    if not sizes:
        sizes = {None: None}
    # A copy may convert one tensor's type to another, so each type may have each size.
    return [
        {"dtype": dtype, "width": width, "elements": n_elements}
        for dtype, width in filter(None, types)
        for n_elements in sizes
    ]


def listed(text: str | None) -> list[Any]:
    """Decode a list in JSON.

    Return an empty list if the text is None or no list.
    """
    try:
        values = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return []
    return values if isinstance(values, list) else []


def element_type(word: str) -> tuple[str, int] | None:
    """Return the name and the bytes of an element type as written by the profiler or torch.

    Return None if the word is not an element type.
    """
    plain = word.strip().lower()
    if "float4" in plain:
        return _FLOAT4
    return _FLOAT8 if "float8" in plain else _DTYPES.get(plain)


def _elements(shape: Any) -> int | None:
    """Return the number of elements of a shape, None if the value is not one shape."""
    return (
        prod(shape)
        if isinstance(shape, list) and all(isinstance(size, int) for size in shape)
        else None
    )
