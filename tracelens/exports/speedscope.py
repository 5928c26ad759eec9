"""Write time by call stack, and the threads' timelines, for https://www.speedscope.app."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

import polars as pl

from tracelens.errors import printable
from tracelens.exports.export import ROWS_AT_ONCE, Export, Selection
from tracelens.exports.lanes import Lanes
from tracelens.exports.stacks import Stacks, host_stacks, kernel_stacks, stop_stacks
from tracelens.exports.threads import Thread, threads_of

_STACKS = (
    ("kernels by stack", "nanoseconds", kernel_stacks),
    ("own time of the host by stack", "nanoseconds", host_stacks),
    ("stops by stack", "none", stop_stacks),
)
"""Profiles by stack: the name, the unit of a row's weight, and the function that returns rows."""
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_EVENTS_AT_ONCE = 1 << 16


def write(selection: Selection, stream: BinaryIO) -> str:
    """Write each rank's profiles; return a text with the number of profiles.

    There are profiles of kernels in order of time, of host self time, of a debugger's stops, and of
    each thread. Raises MissingTableError for a trace without kernels, spans and stacks.
    """
    trace = selection.trace
    if not trace.has("spans") and not trace.has("frames"):
        trace.require("export --to speedscope", "kernels")
    frames: dict[str, int] = {}  # numbers of frames, by printable name
    head = f'{{"$schema":"{_SCHEMA}","exporter":"tracelens","profiles":['
    stream.write(head.encode())
    n_profiles = 0
    for rank in selection.ranks:
        for profile in _profiles(selection, rank, frames):
            stream.write(b",\n" if n_profiles else b"")
            stream.writelines(piece.encode() for piece in profile)
            n_profiles += 1
    shared = [{"name": name} for name in frames]
    tail = f'],"shared":{{"frames":{json.dumps(shared)}}}}}\n'
    stream.write(tail.encode())
    return f"{n_profiles:,} profiles, {len(shared):,} frames"


def _profiles(selection: Selection, rank: int, frames: dict[str, int]) -> Iterator[Iterator[str]]:
    """Yield the rank's profiles, each as an iterator over parts of its JSON text."""
    for what, unit, stacks_of in _STACKS:
        stacks = stacks_of(selection, rank)
        n_rows = 0
        total_ns = 0
        for part in stacks.parts():
            n_rows += part.height
            total_ns += int(part["duration_ns"].sum())
        if n_rows:
            head = _head("sampled", f"rank {rank}: {what}", total_ns, unit)
            yield _samples(stacks, head, frames)
    for thread in threads_of(selection, rank):
        yield from _lanes(thread, rank, frames)


def _samples(stacks: Stacks, head: str, frames: dict[str, int]) -> Iterator[str]:
    """Yield the text of a sampled profile, with one sample per row and the row's time as weight."""
    yield head + ',"samples":['
    yield from _separated(_sample_texts(stacks, frames))
    yield '],"weights":['
    weight = pl.col("duration_ns").cast(pl.String)
    weights = (_comma_joined(part, weight) for part in stacks.parts())
    yield from _separated(weights)
    yield "]}"


def _sample_texts(stacks: Stacks, frames: dict[str, int]) -> Iterator[str]:
    """Yield the JSON texts of samples: the numbers of each stack's frames."""
    known: dict[tuple[str | None, int], str] = {}
    stack = ("thread", "path", "name")
    for part in stacks.parts():
        stacks_of_rows = part.select(stack)
        distinct = stacks_of_rows.unique(maintain_order=True)
        texts = list[str]()
        for thread, path, name in distinct.iter_rows():
            key = (thread, path)
            if key not in known:
                known[key] = _outer_frames(stacks, thread, path, frames)
            innermost = _number(name, frames)
            texts.append(f"[{known[key]}{innermost}]")
        sample = pl.Series(texts, dtype=pl.String)
        samples = distinct.with_columns(sample=sample)
        rows = stacks_of_rows.join(
            samples,
            on=stack,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        yield _comma_joined(rows, pl.col("sample"))


def _outer_frames(
    stacks: Stacks,
    thread: str | None,
    path: int,
    frames: dict[str, int],
) -> str:
    """Return the numbers of a stack's frames except the innermost, each followed by a comma.

    The outermost frame is `thread`, if not None. The other frames are those of the path with the
    number `path` in `stacks`.
    """
    names = stacks.frames(path)
    if thread is not None:
        names.insert(0, thread)
    numbers = [_number(name, frames) for name in names]
    return "".join(f"{number}," for number in numbers)


def _number(name: str, frames: dict[str, int]) -> int:
    """Return the number of a name's frame; a new frame gets the next number."""
    return frames.setdefault(printable(name), len(frames))


def _comma_joined(rows: pl.DataFrame, text: pl.Expr) -> str:
    """Return the texts of all rows, joined by commas."""
    joined = rows.select(text.str.join(","))
    return str(joined.item())


def _separated(parts: Iterator[str]) -> Iterator[str]:
    """Yield the parts that are not empty, separated by commas."""
    between = ""
    for part in parts:
        if part:
            yield between + part
            between = ","


def _lanes(thread: Thread, rank: int, frames: dict[str, int]) -> Iterator[Iterator[str]]:
    """Yield an evented profile of each lane of a thread.

    Most threads have one lane. Events of further lanes stay in memory until the first lane is
    written.
    """
    name = f"rank {rank}: process {thread.process} thread {thread.number}"
    length_ns = thread.end_ns - thread.start_ns
    further = dict[int, list[pl.DataFrame]]()

    def of_first() -> Iterator[pl.DataFrame]:
        for lane, events in _events(thread, frames):
            if lane:
                further.setdefault(lane, []).append(events)
            else:
                yield events

    head_of_first = _head("evented", name, length_ns)
    yield _evented(head_of_first, of_first())
    for lane, parts in further.items():
        name_of_lane = f"{name}, lane {lane + 1}"
        head = _head("evented", name_of_lane, length_ns)
        yield _evented(head, iter(parts))


def _events(thread: Thread, frames: dict[str, int]) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield a lane's number with further events of the lane: begins, frame, at.

    `at` is the time since the thread's first start.
    """
    lanes = Lanes(is_nested=True)
    row_schema = {"row": pl.Int64, "frame": pl.Int64}
    opened = pl.DataFrame(schema=row_schema)
    for part in thread.parts:
        for slices in part.iter_slices(ROWS_AT_ONCE):
            first = lanes.n_rows
            after_last = first + slices.height
            rows = pl.int_range(first, after_last, eager=True)
            frame = _frame_numbers(slices["name"], frames)
            new = pl.DataFrame({"row": rows, "frame": frame})
            known = pl.concat([opened, new])
            for lane, events, times in lanes.add(slices["start_ns"], slices["end_ns"]):
                # JavaScript's numbers hold only 53 bits.
                since_start = times - thread.start_ns
                yield lane, _with_frames(events, since_start, known)
            open_rows = []
            for slices_of_lane in lanes.opened:
                open_rows += [row for _, row in slices_of_lane]
            is_open = pl.col("row").is_in(open_rows)
            opened = known.filter(is_open)
    for lane, events, times in lanes.close():
        since_start = times - thread.start_ns
        yield lane, _with_frames(events, since_start, opened)


def _frame_numbers(names: pl.Series, frames: dict[str, int]) -> pl.Series:
    """Return the number of each name's frame; new frames are numbered in order."""
    rows = names.to_frame("name")
    distinct = rows.unique(maintain_order=True)
    texts = distinct["name"].cast(pl.String)
    numbers = [_number(text, frames) for text in texts]
    frame = pl.Series(numbers, dtype=pl.Int64)
    numbered = distinct.with_columns(frame=frame)
    with_frames = rows.join(
        numbered,
        on="name",
        how="left",
        maintain_order="left",
    )
    return with_frames["frame"]


def _with_frames(
    events: pl.Series,
    at: pl.Series,
    known: pl.DataFrame,
) -> pl.DataFrame:
    """Return one row per event of a lane: begins, frame, at.

    `events` has `row` if a slice begins, `~row` if it ends.
    """
    begins = events >= 0
    ended_row = -1 - events
    rows = events.zip_with(begins, ended_row)
    placed = pl.DataFrame({"row": rows, "begins": begins, "at": at})
    return placed.join(
        known,
        on="row",
        how="left",
        maintain_order="left",
    )


def _evented(head: str, parts: Iterator[pl.DataFrame]) -> Iterator[str]:
    """Yield the text of an evented profile."""
    opening = pl.lit("O")
    closing = pl.lit("C")
    # Not pl.format: Polars 1.38 keeps both of two braces.
    event = pl.concat_str(
        pl.lit('{"type":"'),
        pl.when("begins").then(opening).otherwise(closing),
        pl.lit('","frame":'),
        "frame",
        pl.lit(',"at":'),
        "at",
        pl.lit("}"),
    )
    yield head + ',"events":['
    slices = chain.from_iterable(part.iter_slices(_EVENTS_AT_ONCE) for part in parts)
    texts = (_comma_joined(events, event) for events in slices)
    yield from _separated(texts)
    yield "]}"


def _head(
    kind: str,
    name: str,
    end: int,
    unit: str = "nanoseconds",
) -> str:
    name_as_json = json.dumps(printable(name))
    named = f'{{"type":"{kind}","name":{name_as_json},"unit":"{unit}"'
    return f'{named},"startValue":0,"endValue":{end}'


EXPORT = Export("speedscope", ".speedscope.json", "https://www.speedscope.app", write)
