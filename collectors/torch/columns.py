"""Collect the events of a Chrome trace into raw frames, one for each table of `fields`.

Events that belong to no table are counted.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import polars as pl

from tracelens.collectors.torch import fields
from tracelens.collectors.torch.events import Args, CounterEvent, Event, attribute
from tracelens.collectors.torch.values import (
    TIME_LIMIT_NS,
    decoded,
    integers,
    nanoseconds,
    numbers,
    spaced_alike,
    texts,
)
from tracelens.derive.columns.per_unique import each_once
from tracelens.errors import NoTraceError
from tracelens.trace.capture import Diagnostics

# Categories that repeat other events, or describe the profiler itself.
_NOTHING_LOST = {"gpu_user_annotation", "Trace", "cuda_event", "external_correlation"}
_IGNORED = ("M", "s", "t", "f")
"""Phases (`ph`) of events without a table: names of processes and threads, and flow arrows."""
_NO_ARGS = Args()
# The number of events that are turned into a frame at once. A frame costs the same for a few events
# as for thousands.
_AT_ONCE = 1 << 17
_RAW = (fields.TIME, fields.JSON, fields.TRIPLE)
_KEYS = {
    name: {key: attrgetter(attribute(key)) for of in table for key in (of.key, of.second) if key}
    for name, table in fields.TABLES.items()
}
"""The keys from which each table is made. Each key has a function that gets its value."""
_Refused = tuple[Event, dict[str, int]]


_MOST_WITHOUT_PHASE = 100_000
"""A list that begins with this many objects without a phase is not a trace."""


class RawEvents:
    """Collects events in file order. `frames()` returns one raw frame for each table.

    A raw frame has the columns that `fields` declares. Strings are categories, and integers are as
    narrow as their values allow.
    """

    def __init__(self, diagnostics: Diagnostics) -> None:
        """Start without events."""
        self.has_fractions = False
        """True once any start has a fraction of a microsecond."""
        self._diagnostics = diagnostics
        self._parts: dict[str, list[pl.DataFrame]] = {}
        self._waiting: dict[str, list[dict[str, list[Any]]]] = {}
        self._n_waiting = 0
        self._unplaced: Counter[tuple[str, bool]] = Counter()
        self._n_without_phase = 0

    def refuse_other_objects(self, name: str) -> None:
        """Raise NoTraceError if none of the first objects of the list called `name` is an event."""
        # Every event has a phase. Even a small gzip file may hold millions of other objects.
        is_other = self._n_without_phase >= _MOST_WITHOUT_PHASE
        n_unplaced = self._unplaced.total()
        if (
            is_other
            and not self._parts
            and not self._waiting
            and n_unplaced == self._n_without_phase
        ):
            raise NoTraceError(
                f"{name}: expected a torch.profiler Chrome trace, found JSON whose first"
                f" {_MOST_WITHOUT_PHASE:,} objects are not trace events (none has a phase, ph);"
                " collect what prof.export_chrome_trace(path) wrote"
            )

    def add(self, events: list[Event]) -> None:
        """Add the values of a batch of events.

        The events themselves are dropped. Each would keep in memory the whole text from which it
        was read.
        """
        placed: dict[str, list[Event]] = {name: [] for name in fields.NAMES}
        of_category = {
            c: placed[name] for c, name in fields.CATEGORIES.items() if name != "counters"
        }
        for event in events:
            if event.ph == "X" and isinstance(event.cat, str) and event.cat in of_category:
                of_category[event.cat].append(event)
            elif event.ph not in _IGNORED:
                for name, single in self._placed(event):
                    placed[name].append(single)
        for name, events_of_table in placed.items():
            if events_of_table:
                self._waiting.setdefault(name, []).append(_values(name, events_of_table))
                self._n_waiting += len(events_of_table)
        if self._n_waiting > _AT_ONCE:
            self.flush()

    def add_frames(
        self,
        frames: dict[str, list[pl.DataFrame]],
        refused: Sequence[_Refused],
    ) -> None:
        """Add the C parser's result for a block: rows by table, and events that it refused.

        Each refused event comes with the number of rows before it in each table.
        """
        self.flush()
        among: dict[str, list[tuple[Event, int]]] = {}
        for event, n_before in refused:
            for name, single in self._placed(event):
                among.setdefault(name, []).append((single, n_before[name]))
        for name in {*frames, *among}:
            parts = frames.get(name, [])
            if name in among:
                events, positions = zip(*among[name], strict=True)
                refused_rows = self._frame(
                    name,
                    [_values(name, events)],
                    pl.Series("position", positions, pl.Int64),
                )
                rows = (
                    [pl.concat(parts).with_columns(position=pl.int_range(pl.len()))]
                    if parts
                    else []
                )
                # A refused event goes before the row with this number.
                both = pl.concat([refused_rows, *rows], how="vertical_relaxed").sort(
                    "position", maintain_order=True
                )
                parts = [both.drop("position")]
            self._parts.setdefault(name, []).extend(parts)

    def flush(self) -> None:
        """Turn the events added so far into frames."""
        for name, batches in self._waiting.items():
            self._parts.setdefault(name, []).append(self._frame(name, batches))
        self._waiting, self._n_waiting = {}, 0

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the raw frames by table name.

        Events that belong to no table are counted in the diagnostics.
        """
        self.flush()
        for (category, is_lost), count in self._unplaced.most_common():
            lost = "events of a category that is not read: they are in no table and no total"
            severity, text = ("loss", lost) if is_lost else ("info", "events that no table holds")
            self._diagnostics.add(severity, f"category_{category}"[:80], text, count)
        return {
            name: _joined(self._parts.pop(name)) for name in fields.NAMES if name in self._parts
        }

    def count_unplaced(self, phase: Any, category: Any, n: int = 1) -> None:
        """Count `n` events that belong to no table, except the phases in `_IGNORED`."""
        if phase == "X":
            category = _word(category)
            self._unplaced[category, category not in _NOTHING_LOST] += n
        elif phase not in _IGNORED:  # not a set, as the value may not be hashable
            self._n_without_phase += n if phase is None else 0
            self._unplaced[f"{_word(category)} (ph {_word(phase)})", False] += n

    def _placed(self, event: Event) -> list[tuple[str, Event]]:
        """Return the event with the name of its table. A counter gives one event per series.

        The list is empty for an event that belongs to no table. Such events are counted.
        """
        name = fields.table_of(event.ph, event.cat, event.name)
        if not name:
            self.count_unplaced(event.ph, event.cat)
            return []
        return [
            (name, single)
            for single in (event.series() if isinstance(event, CounterEvent) else [event])
        ]

    def _frame(
        self,
        name: str,
        batches: Sequence[dict[str, list[Any]]],
        positions: pl.Series | None = None,
    ) -> pl.DataFrame:
        """Return a raw frame of the events that have valid times. Other events are counted.

        `positions` has a value for each event, and is added to the frame as a column.
        """
        values = {
            key: list(chain.from_iterable(batch[key] for batch in batches)) for key in _KEYS[name]
        }
        self.has_fractions = self.has_fractions or any(b"." in start for start in values["ts"])
        frame = pl.DataFrame([_column(of, values).alias(of.name) for of in fields.TABLES[name]])
        self._count_unsized(name, frame)
        good = pl.col("start_ns").is_between(-TIME_LIMIT_NS, TIME_LIMIT_NS)
        if "duration_ns" in frame.columns and name != "counters":  # a sample has no duration
            good &= pl.col("duration_ns").is_between(0, TIME_LIMIT_NS).fill_null(value=False)
        frame = frame.with_columns([] if positions is None else [positions])
        kept = frame.filter(good)
        text = "events whose start or duration is missing or wrong"
        self._diagnostics.add("loss", "event_without_time", text, frame.height - kept.height)
        return kept.with_columns(
            column.shrink_dtype() for column in kept.get_columns() if column.dtype == pl.Int64
        )

    def _count_unsized(self, name: str, frame: pl.DataFrame) -> None:
        if name in {"memcpys", "memsets", "allocations"}:
            n, text = (
                frame["size_bytes"].null_count(),
                "copies, fills and allocations without a size, which count as 0",
            )
            self._diagnostics.add("warning", "size_unknown", text, n)
        elif name == "counters":
            n = frame["value"].null_count()
            self._diagnostics.add(
                "loss", "counter_without_value", "counter events without a number", n
            )


def _joined(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Return the parts as one contiguous frame.

    Columns are copied one by one, and each is removed from its part to free the memory early.
    """
    return pl.DataFrame(
        [
            pl.concat(
                [part.drop_in_place(name).to_frame() for part in parts],
                how="vertical_relaxed",
                rechunk=True,
            )[name]
            for name in parts[0].columns
        ]
    )


def _word(value: Any) -> str:
    return value if isinstance(value, str) and value else "none"


def _values(name: str, events: Sequence[Event]) -> dict[str, list[Any]]:
    """Return the values of events for each key of a table. Times and JSON values stay bytes."""
    args = [event.args or _NO_ARGS for event in events]
    values_by_key = {}
    for key, get in _KEYS[name].items():
        kind = fields.KEYS[key]
        values = map(get, events if key in fields.EVENT_KEYS else args)
        # JSON holds no zero byte. Joining and splitting by it takes a third of the time of copying
        # each value.
        values_by_key[key] = b"\0".join(values).split(b"\0") if kind in _RAW else list(values)
    return values_by_key


def _column(of: fields.Column, values: dict[str, list[Any]]) -> pl.Series:
    """Return a column of a raw frame from the values of its keys."""
    column = _read(of.key, of.axis, values)
    if of.second:
        other = _read(of.second, of.axis, values)
        if of.how == fields.UNLESS_ZERO:
            return column.set((other == 0).fill_null(value=False), None)
        is_present = (
            column.is_not_null() if of.how != fields.WORD else (column != "").fill_null(value=False)
        )
        column = column.zip_with(is_present | other.is_null(), other)
    if of.how == fields.NAME:
        column = column.fill_null("")
    return column.cast(pl.Categorical) if of.how in fields.STRINGS else column


def _read(key: str, axis: int, of_keys: dict[str, list[Any]]) -> pl.Series:
    """Return the values of a key as a column, with None for a value of the wrong type.

    The value of a grid or block is a list of three sizes. `axis` selects one of them.
    """
    values = of_keys[key]
    match fields.KEYS[key]:
        case fields.TIME:
            return nanoseconds(values)
        case fields.JSON:
            return each_once(decoded(values), spaced_alike)
        case fields.TRIPLE:
            return each_once(
                decoded(values),
                lambda text: text.map_elements(lambda t: _part(t, axis), pl.Int64),
            )
        case fields.TEXT:
            return texts(values)
        case fields.REAL:
            return numbers(values)
    return integers(values)


def _part(written: str, axis: int) -> int | None:
    """Return the size of a grid or block on one axis, None if the value is not three integers."""
    try:
        parts = msgspec.json.decode(written)
    except (msgspec.DecodeError, RecursionError):
        return None
    is_triple = isinstance(parts, list) and len(parts) == 3
    return (
        parts[axis]
        if is_triple and all(type(part) is int and 0 <= part < 2**31 for part in parts)
        else None
    )
