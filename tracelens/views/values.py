"""Write labels, units and numbers as people read them.

Labels and shown units may change between versions; only the names of columns are stable.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from os.path import commonprefix
from types import MappingProxyType
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.derive.time.since_start import MOMENTS
from tracelens.errors import printable as printable  # noqa: PLC0414 - the views take it from here
from tracelens.storage.table import Column, Table

NOTHING = "-"
ELLIPSIS = "…"
NO_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType({})

SCALES: dict[str, tuple[tuple[float, float, str], ...]] = {
    "ns": (
        (1e9, 1e9, "s"),
        (1e6, 1e6, "ms"),
        (1e3, 1e3, "µs"),
        (0, 1, "ns"),
    ),
    "bytes": (
        (1e9, 1e9, "GB"),
        (1e6, 1e6, "MB"),
        (1e3, 1e3, "kB"),
        (0, 1, "B"),
    ),
    "bytes/s": (
        (1e9, 1e9, "GB/s"),
        (1e6, 1e6, "MB/s"),
        (0, 1, "B/s"),
    ),
    "FLOP": ((1e12, 1e12, "TFLOP"), (0, 1e9, "GFLOP")),
    "FLOP/s": ((0, 1e12, "TFLOP/s"),),
    "frac": ((0, 0.01, "%"),),
}
"""Scales by stored unit, each with a least value, a divisor and a symbol.

A column gets the first scale whose least value is not above the column's largest value.
"""

_LABELS = {
    "n_sm": "SMs",
    "sm_count": "SMs",
    "module_path": "layer",
    "is_communication": "communication",
    "op_name": "op",
    "span_name": "op",
    "kernel_name": "kernel",
    "what_if_twice": "if twice as fast",
    "what_if_limit": "if it took no time",
    "other_threads_ns": "other threads",
    "other_stream_id": "other stream id",
    "library_other_ns": "other",
    "n_short": "short calls",
    "short_frac": "short share",
    "short_ns": "short time",
    "near_frac": "near roof",
    "flops_per_s": "flops rate",
}
"""Labels that differ from the column's name."""

_IDS = ("rank", "step", "line")
"""Columns of numbers without thousands separators, because the numbers identify things.

Columns that end in _id are written in the same way.
"""

_SIDE = re.compile(r"\bother\b")
"""Matches the word "other" in the names of columns of the second run; labels say "new" instead."""

_OF_ONE_PART = ("idle_", "exposed_")
"""Prefixes of columns with the idle or the exposed time of one cause; see `label_of`."""

_SINCE_EPOCH_NS = 1e15
"""A moment this large counts from an epoch, not from the trace's start.

Such moments are shown in whole nanoseconds.
"""

SHARES = ("library_", "primitive_")
"""Prefixes of the columns with the time of a library or a primitive."""
_AXES = ("x", "y", "z")
_SIDES_AND_ENDS = ("base", "other", "low", "high")


class Scale(Struct, frozen=True):
    """The divisor from stored to shown numbers, and the symbol of the shown unit."""

    divisor: float = 1.0
    symbol: str = ""


class Shown(Struct, frozen=True):
    """One column as text: `label` and `symbol` of its head, and one printable cell per row."""

    name: str
    label: str
    symbol: str
    doc: str
    cells: list[str]
    is_number: bool
    # If `decimals` is set, numbers are divided by this and written with that many decimals.
    divisor: float = 1.0
    decimals: int | None = None

    @property
    def heading(self) -> str:
        """The label and unit in one line."""
        return f"{self.label} ({self.symbol})" if self.symbol else self.label


def shorten(text: str, width: int) -> str:
    """Return the text cut to `width` characters by leaving out its middle."""
    text = text.removeprefix("void ")
    if len(text) <= width:
        return text
    # The beginning of a signature distinguishes kernels. A path needs more of its end.
    tail = width // 4 if "<" in text or "(" in text else width // 2
    tail = max(tail, 1)
    return f"{text[: width - tail - 1]}{ELLIPSIS}{text[-tail:]}"


def shorten_apart(texts: Iterable[str], width: int) -> dict[str, str]:
    """Return the shortened form of each text longer than `width`, different for different texts."""
    by_form: dict[str, list[str]] = {}
    for text in sorted({*texts}):
        by_form.setdefault(shorten(text, width), []).append(text)
    short_forms: dict[str, str] = {}
    used: Counter[str] = Counter()
    for form, same in by_form.items():
        for at, text in enumerate(same):
            own = form
            # The part that differs from the alphabetical neighbours is kept in the middle.
            if len(same) > 1:
                others = same[max(at - 1, 0) : at] + same[at + 1 : at + 2]
                begin = max(len(commonprefix([text, other])) for other in others) - width // 6  # noqa: RUF071
                piece, bare = text[max(begin, 0) : begin + width // 2], text.removeprefix("void ")
                own = f"{bare[: width // 4]}{ELLIPSIS}{piece}{ELLIPSIS}{text[-width // 4 + 2 :]}"
            used[own] += 1
            # Texts that are still equal get a number.
            short_forms[text] = own if used[own] == 1 else f"{own} #{used[own]}"
    return {text: form for text, form in short_forms.items() if form != text}


def unit_of(column: Column) -> str | None:
    """Return the column's unit as a key of SCALES, None if values are shown without scaling."""
    if column.name.endswith("_frac"):
        return "frac"
    return column.unit if column.unit in SCALES else None


def label_of(
    column: Column,
    part_words: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the column's name in words, without its unit, such as "calls" for `n_calls`.

    `part_words` has words for columns with the prefixes `idle_` and `exposed_`, such as "idle:
    module load" for `idle_loading`.
    """
    name = column.name
    if name in _LABELS:
        return _LABELS[name]
    unit = unit_of(column)
    is_share_of_time = unit == "ns" and name.startswith(SHARES)
    suffix = {None: "", "bytes/s": "_bytes_per_s", "FLOP/s": "_per_s"}.get(unit, f"_{unit}")
    quantity = (name.partition("_")[2] if is_share_of_time else name).removesuffix(suffix)
    if quantity.startswith(_OF_ONE_PART) and quantity in part_words:
        return part_words[quantity]
    words = quantity.removeprefix("n_").replace("_", " ")
    return _SIDE.sub("new", words)


def scale_of(column: Column, largest: float | None) -> Scale:
    """Return the scale of a column by its largest magnitude."""
    unit = unit_of(column)
    if unit is None:
        return Scale()
    size = abs(largest) if largest is not None and math.isfinite(largest) else 0
    return next(Scale(divisor, symbol) for least, divisor, symbol in SCALES[unit] if size >= least)


def largest_of(values: pl.Series) -> float:
    """Return the largest finite absolute value, 0 if there is none."""
    if not values.dtype.is_numeric():
        return 0.0
    ends: list[Any] = [values.min(), values.max()]
    if not all(end is None or math.isfinite(end) for end in ends):
        finite = values.filter(values.is_finite())
        ends = [finite.min(), finite.max()]
    return float(
        max(
            (abs(end) for end in ends if end is not None),
            default=0,
        )
    )


def number(value: float | None, decimals: int = 3) -> str:
    """Return a number with thousands separators, and with decimals if it is no integer."""
    if value is None or math.isnan(value):
        return NOTHING
    if isinstance(value, int) or math.isinf(value):
        return f"{value:,}"
    return f"{value:,.{decimals}f}"


def quantity(value: float | None, unit: str | None) -> str:
    """Return a value with its unit for a sentence: `quantity(2500, "ns")` is "2.50 µs"."""
    if value is None or not math.isfinite(value):
        return NOTHING
    known = "frac" if unit == "1" else unit
    scale = scale_of(Column("value", pl.Float64, "", known), value)
    scaled = value / scale.divisor
    whole = scale.divisor == 1 and scaled == int(scaled)
    decimals = decimals_for(scale, abs(scaled))
    if unit == "ns":  # three digits, as durations have
        decimals = min(
            decimals,
            0 if abs(scaled) >= 100 else 1 if abs(scaled) >= 10 else 2,
        )
    text = number(int(scaled) if whole else scaled, decimals)
    return f"{text} {scale.symbol or printable(unit or '')}".strip()


def decimals_for(scale: Scale, largest: float) -> int:
    """Return the number of decimals for all rows of a column, by its largest magnitude."""
    if scale.symbol == "%":
        return 1
    if scale.symbol in {"ns", "B", "B/s"}:
        return 0
    if scale.symbol.endswith("/s") or not scale.symbol:
        return 2 if largest >= 1 else 3
    return 3 if largest < 10_000 else 1


def columns_of(table: Table, frame: pl.DataFrame) -> dict[str, Column]:
    """Return the declarations of a frame's columns by name.

    For an undeclared column, the declaration has only its dtype.
    """
    declared = {column.name: column for column in table}
    return {
        name: declared.get(name, Column(name, dtype, "", nullable=True))
        for name, dtype in frame.schema.items()
    }


def show(
    table: Table,
    frame: pl.DataFrame,
    names: Sequence[str],
    rows: int | None = None,
    words: Mapping[str, Mapping[str, str]] = NO_WORDS,
) -> list[Shown]:
    """Return the named columns of the first `rows` rows as printable text.

    The columns `grid_x`, `grid_y` and `grid_z` are combined into one (64x7x1). `value` and `unit`
    are also combined. `words` has, by column, the words that replace stored values. The labels of
    columns such as `idle_loading` come from `words["part"]`.
    """
    columns = columns_of(table, frame)
    head = frame if rows is None else frame.head(rows)
    largest = _largest_by_quantity(frame, names)
    shown: list[Shown] = []
    for name in names:
        column = columns[name]
        stem, _, axis = name.rpartition("_")
        if stem and axis in _AXES and all(f"{stem}_{a}" in columns for a in _AXES):
            if axis == "x":
                shown.append(_folded(stem, column, head))
        elif name == "value" and "unit" in columns:
            pairs = zip(head["value"], head["unit"], strict=True)
            shown.append(
                Shown(
                    name,
                    "value",
                    "",
                    column.doc,
                    [quantity(v, u) for v, u in pairs],
                    is_number=True,
                )
            )
        elif not (name == "unit" and "value" in columns):
            cells = _in_words(head[name], words.get(name, {}))
            label = label_of(column, words.get("part", {}))
            shown.append(
                _one(
                    column,
                    label,
                    frame[name],
                    cells,
                    largest[_quantity_of(name)],
                )
            )
    return shown


def _in_words(cells: pl.Series, words: Mapping[str, str]) -> pl.Series:
    """Replace stored values by their words."""
    return cells.replace(words) if words and cells.dtype == pl.String else cells


def _folded(stem: str, column: Column, head: pl.DataFrame) -> Shown:
    sizes = zip(
        *(head[f"{stem}_{axis}"] for axis in _AXES),
        strict=True,
    )
    cells = [NOTHING if None in size else "x".join(map(str, size)) for size in sizes]
    return Shown(
        stem,
        stem.replace("_", " "),
        "",
        column.doc,
        cells,
        is_number=True,
    )


def _largest_by_quantity(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, float]:
    """Return the largest magnitude of each quantity.

    Columns of the same quantity, such as `base_ns` and `other_ns`, are shown in one unit.
    """
    largest: dict[str, float] = {}
    for name in names:
        quantity_name = _quantity_of(name)
        largest[quantity_name] = max(largest.get(quantity_name, 0), largest_of(frame[name]))
    return largest


def _quantity_of(name: str) -> str:
    """Return the name of a column's quantity: the column's name without words such as "base"."""
    return "_".join(word for word in name.split("_") if word not in _SIDES_AND_ENDS)


def _one(
    column: Column,
    label: str,
    whole: pl.Series,
    head: pl.Series,
    largest: float,
) -> Shown:
    """Return a column as text; `largest` is the largest magnitude of the column's quantity."""
    if not head.dtype.is_numeric() or column.name in _IDS or column.name.endswith("_id"):
        return Shown(
            column.name,
            label,
            "",
            column.doc,
            [_text(v) for v in head],
            head.dtype.is_numeric(),
        )
    is_moment = column.name in MOMENTS
    if is_moment and largest >= _SINCE_EPOCH_NS:
        return Shown(
            column.name,
            label,
            "ns",
            column.doc,
            [_text(v) for v in head],
            is_number=True,
        )
    scale = Scale(1e6, "ms") if is_moment else scale_of(column, largest)
    decimals = (
        0
        if scale.divisor == 1 and _is_whole(whole)
        else decimals_for(scale, largest / scale.divisor)
    )
    cells = [
        number(
            v if v is None or scale.divisor == 1 else v / scale.divisor,
            decimals,
        )
        for v in head
    ]
    return Shown(column.name, label, scale.symbol, column.doc, cells, True, scale.divisor, decimals)


def _text(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))


def _is_whole(values: pl.Series) -> bool:
    return not values.dtype.is_float() or bool((values == values.round()).all())
