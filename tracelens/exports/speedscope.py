"""Write kernels and host time by call stack, and threads, for https://www.speedscope.app."""

import json
from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from tracelens.errors import printable
from tracelens.exports.export import ROWS_AT_ONCE, Export, Selection
from tracelens.exports.lanes import Lanes
from tracelens.exports.stacks import Stacks, host_stacks, kernel_stacks, stop_stacks
from tracelens.exports.tracks import Track, host_tracks

_STACKS = (
    ("kernels by stack", "nanoseconds", kernel_stacks),
    ("own time of the host by stack", "nanoseconds", host_stacks),
    ("stops by stack", "none", stop_stacks),
)
"""Names, units and rows of profiles by stack."""
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write(selection: Selection, stream: BinaryIO) -> str:
    """Write profiles of each rank's kernels, host self time and stops, and of each thread.

    Kernels are in order of time. Returns how many profiles. Raises MissingTableError where there
    are no kernels, spans or stacks.
    """
    if not any(selection.trace.has(table) for table in ("spans", "frames")):
        selection.trace.require("export --to speedscope", "kernels")
    frames: dict[str, int] = {}  # numbers of printable names
    stream.write(b'{"$schema":"' + _SCHEMA.encode() + b'","exporter":"tracelens","profiles":[')
    n_profiles = 0
    for rank in selection.ranks:
        for profile in _profiles(selection, rank, frames):
            stream.write(b",\n" if n_profiles else b"")
            stream.writelines(piece.encode() for piece in profile)
            n_profiles += 1
    shared = [{"name": name} for name in frames]
    frame_table = json.dumps(shared).encode()
    stream.write(b'],"shared":{"frames":' + frame_table + b"}}\n")
    return f"{n_profiles:,} profiles, {len(shared):,} frames"


def _profiles(selection: Selection, rank: int, frames: dict[str, int]) -> Iterator[Iterator[str]]:
    """Yield the rank's profiles, each in pieces of text.

    They are of its kernels, the host's self time and stops, if there are any, and of its threads,
    lane by lane.
    """
    for what, unit, stacks_of in _STACKS:
        stacks = stacks_of(selection, rank)
        if stacks.rows.height:
            total_ns = int(stacks.rows["duration_ns"].sum())
            head = _head("sampled", f"rank {rank}: {what}", total_ns, unit)
            yield _samples(stacks, head, frames)
    for track in host_tracks(selection, rank):
        slices = track.slices
        origin = int(slices["start_ns"][0])
        last = int(slices["end_ns"].max())  # type: ignore[arg-type]
        placed = Lanes(is_nested=True)
        lanes = dict[int, list[pl.Series]]()
        for part in slices.select("start_ns", "end_ns").iter_slices(ROWS_AT_ONCE):
            for lane, events, _ in placed.add(part["start_ns"], part["end_ns"]):
                lanes.setdefault(lane, []).append(events)
        for lane, events, _ in placed.close():
            lanes[lane].append(events)
        for lane, parts in lanes.items():
            name = f"rank {rank}: {' '.join(track.path)}" + (f", lane {lane + 1}" if lane else "")
            head_of_lane = _head("evented", name, last - origin)
            yield _events(track, pl.concat(parts), head_of_lane, frames)


def _samples(stacks: Stacks, head: str, frames: dict[str, int]) -> Iterator[str]:
    """Yield a sampled profile: a sample for each row, its weight the row's time."""
    rows = stacks.rows
    yield head + ',"samples":['
    known: dict[tuple[str | None, int], str] = {}
    samples = rows.select("place", "path", "name")
    for number_of_row, (place, path, name) in enumerate(samples.iter_rows()):
        if (place, path) not in known:
            around = [*([] if place is None else [place]), *stacks.frames(path)]
            known[place, path] = "".join(
                f"{frames.setdefault(frame, len(frames))}," for frame in around
            )
        number = frames.setdefault(printable(name), len(frames))
        yield f"{',' if number_of_row else ''}[{known[place, path]}{number}]"
    yield '],"weights":['
    for number_of_row, weight in enumerate(rows["duration_ns"]):
        yield f"{',' if number_of_row else ''}{weight}"
    yield "]}"


def _events(track: Track, events: pl.Series, head: str, frames: dict[str, int]) -> Iterator[str]:
    """Yield an evented profile.

    Times count from the first slice's start, as JavaScript's numbers hold 53 bits.
    """
    origin = track.slices["start_ns"][0]
    texts = track.slices["name"].unique().cast(pl.String)
    numbers = {name: frames.setdefault(printable(name), len(frames)) for name in texts}
    yield head + ',"events":['
    between = ""
    for part in events.to_frame("event").iter_slices(1 << 16):
        is_begin = part["event"] >= 0
        row_of_end = -1 - pl.col("event")
        event_row = pl.when(is_begin).then("event").otherwise(row_of_end)
        slice_rows = part.select(event_row).to_series()
        name_text = pl.col("name").cast(pl.String)
        rows = track.slices[slice_rows].select(name_text, "start_ns", "end_ns")
        for begins, (name, start, end) in zip(is_begin, rows.iter_rows(), strict=True):
            moment = (start if begins else end) - origin
            yield (
                f'{between}{{"type":"{"O" if begins else "C"}","frame":{numbers[name]},"at":{moment}}}'
            )
            between = ","
    yield "]}"


def _head(kind: str, name: str, end: int, unit: str = "nanoseconds") -> str:
    named = f'{{"type":"{kind}","name":{json.dumps(printable(name))},"unit":"{unit}"'
    return f'{named},"startValue":0,"endValue":{end}'


EXPORT = Export("speedscope", ".speedscope.json", "https://www.speedscope.app", write)
