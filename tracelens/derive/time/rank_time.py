"""The judged time of each rank: whole steps, without the time that the profiler adds, and the places it goes to."""

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracelens.derive.time.breakdown import break_down
from tracelens.derive.time.cpu_only import (
    count_ops,
    heaviest_ops,
    longest_communication,
    process_ranks,
)
from tracelens.derive.time.judged_parts import SLOWED, kept_shares, parts_of
from tracelens.derive.time.program_phases import program_steps
from tracelens.schemas.results.time import PARTS
from tracelens.trace import Trace

WORTH_IT = 0.02
"""A part that takes less than this share of the time is not worth a change, nor a word."""
_SAME = 0.02
"""A step's mark is as long as the step if it differs by no more than this share."""
_LONGEST = 60
_MANY_RANKS = 4


@dataclass(frozen=True, slots=True)
class RankTime:
    """A rank's judged time: `parts` in ns without what the profiler adds, and `recorded`, the same with it.

    `step_ns` is the median of its steps, `unprofiled_ns` the time of one without the profiler; null
    if not known. `is_process`: it uses no device, so its process's time is judged; n_work counts
    kernels, or else ops. Parts are summed over the `n_devices` that it really uses.
    """

    rank: int
    parts: dict[str, int]
    recorded: dict[str, int]
    n_work: int
    n_steps: int
    step_ns: int | None
    unprofiled_ns: int | None
    is_process: bool
    n_devices: int = 1

    @property
    def subject(self) -> str:
        """The word for what is judged: process or device."""
        return "process" if self.is_process else "device"

    def share(self, part: str) -> float:
        """The part's share of the judged time."""
        return self.parts[part] / max(sum(self.parts.values()), 1)

    @property
    def bound(self) -> str:
        """The part that takes most of the judged time."""
        return max(PARTS, key=self.share)

    @property
    def second(self) -> str | None:
        """The part that takes most of the rest; None where each takes less than is worth a change."""
        rest = max((part for part in PARTS if part != self.bound), key=self.share)
        return rest if self.share(rest) >= WORTH_IT else None


def judged_ranks(trace: Trace) -> list[RankTime]:
    """Return every rank's time in the program: over its steps, or where it marks none over the phase program.

    The time that the profiler is known to add is subtracted: its own recorded work, and, where the
    time of a step without it is known, the rest of the difference, from launching and the host's
    other work in proportion. Device work takes as long either way.
    """
    steps = {rank: (n, round(median)) for rank, n, median, *_ in step_times(trace).iter_rows()}
    n_work = trace.heights("kernels") | count_ops(trace)
    processes = process_ranks(trace)
    times = judged_time(trace)
    kept = kept_shares(trace, times)
    found = []
    for row in times.iter_rows(named=True):
        rank, n_devices = row["rank"], row["n_devices"]
        n_steps, step_ns = steps.get(rank, (0, None))
        recorded = {name: row[f"{name}_ns"] for name in PARTS}
        parts = recorded | {"host": recorded["host"] - row["profiler_ns"]}
        unprofiled = trace.manifest.unprofiled_step_ns(rank) if n_steps else None
        if unprofiled is not None:
            parts |= {name: round(parts[name] * kept.get(rank, 1.0)) for name in SLOWED}
        known = (n_work.get(rank, 0), n_steps, step_ns, unprofiled)
        found.append(
            RankTime(
                rank, parts, recorded, *known, is_process=rank in processes, n_devices=n_devices
            )
        )
    return found


def judged_time(trace: Trace, by: tuple[str, ...] = ("rank",)) -> pl.DataFrame:
    """Return the program's time by part, see `parts_of`: one row per rank, or combination of `by`; sorted."""
    made = break_down(trace)
    return parts_of(made.frame, made.idle, by)


def idle_places(trace: Trace) -> pl.DataFrame:
    """Return the program's idle time by rank, device, cause and place (what), most first.

    Columns: idle_ns, n_gaps, longest_ns, example_ns. The place of an activity is its own; the
    place of launching is the outermost op around the call that launched the next work, or the API
    function without such an op. `longest_ns` is the most that one gap has of it, `example_ns` the
    start of that gap.
    """
    order = ["rank", "device_id", "idle_ns", "cause", "what"]
    return break_down(trace).places.sort(order, descending=[False, False, True, False, False])


def busy_places(trace: Trace) -> dict[tuple[int, str], str]:
    """By rank and part (compute, communication, waiting, copy) the kernel, kind of copy or op that takes most of it."""
    kernels = trace.select("kernels", "rank", "name", "is_communication", "duration_ns")
    sums = (
        kernels.lazy()
        .group_by("rank", "name", "is_communication")
        .agg(pl.col("duration_ns").sum())
        .collect()
    )
    most = sums.sort("duration_ns", "name", descending=[True, False]).unique(
        ["rank", "is_communication"], keep="first", maintain_order=True
    )
    found: dict[tuple[int, str], str] = {}
    for rank, name, is_communication, _ in most.iter_rows():
        parts = ("communication", "waiting") if is_communication else ("compute",)
        found |= dict.fromkeys(((rank, part) for part in parts), short_kernel(name))
    copies = trace.select(
        "memcpys", "rank", "direction", "source_memory", "destination_memory", "duration_ns"
    )
    by_kind = copies.group_by(pl.exclude("duration_ns")).agg(pl.col("duration_ns").sum())
    for rank, direction, source, destination, _ in by_kind.sort(
        "duration_ns", "direction"
    ).iter_rows():
        found[rank, "copy"] = f"{direction} copies from {source} to {destination} memory"
    communicates = {
        (rank, "communication"): op for rank, op in longest_communication(trace).items()
    }
    return (
        found | communicates | {(rank, "compute"): op for rank, op in heaviest_ops(trace).items()}
    )


def short_kernel(name: str) -> str:
    """A kernel's name without its template arguments and parameters, cut where it is long."""
    bare = re.sub(r"^void ", "", name).replace("(anonymous namespace)::", "")
    bare = re.sub(r"[<(].*", "", bare) or name
    return bare if len(bare) <= _LONGEST else bare[: _LONGEST - 1] + "…"


def step_times(trace: Trace) -> pl.DataFrame:
    """Describe the program's steps by rank: n_steps; median_ns, low_ns and high_ns of their durations; mark_ns.

    `mark_ns` is the median length of their marks. A first step that is start-up and a last one in
    which only a tail ran are left out, see `program_steps`.
    """
    ns = pl.col("duration_ns")
    found = (
        program_steps(trace)
        .group_by("rank")
        .agg(
            n_steps=pl.len(),
            median_ns=ns.median(),
            low_ns=ns.min(),
            high_ns=ns.max(),
            mark_ns=pl.col("mark_ns").median(),
        )
    )
    return found.sort("rank")


def step_sentences(trace: Trace) -> list[str]:
    """Say how long each rank's steps take, and how much that varies; for many ranks in one sentence on all."""
    found = step_times(trace)
    if found.height <= _MANY_RANKS:
        several = len(trace.manifest.ranks) > 1
        return [
            _sentence(f"Rank {row['rank']}: a" if several else "A", row)
            for row in found.iter_rows(named=True)
        ]
    low, middle, high, mark = found.select(
        low=pl.col("median_ns").min(),
        middle=pl.col("median_ns").median(),
        high=pl.col("median_ns").max(),
        mark=pl.col("mark_ns").median(),
    ).row(0)
    spread = f"{low / 1e6:.2f} to {high / 1e6:.2f} ms"
    words = f"A step takes {middle / 1e6:.2f} ms in the median of {found.height} ranks"
    return [f"{words} ({spread}){_beside_mark(middle, mark)}."]


def _beside_mark(median: float, mark: float | None) -> str:
    """Say how long the steps' marks are, where that is another time than the steps take."""
    if not mark or abs(median - mark) <= _SAME * mark:
        return ""
    return (
        ", until the device has done the step's work; its mark on the host, which a viewer shows,"
        f" is {mark / 1e6:.2f} ms long"
    )


def _sentence(subject: str, row: dict[str, Any]) -> str:
    """Say how long a rank's steps take, of a row of `step_times`."""
    words = f"{subject} step takes {row['median_ns'] / 1e6:.2f} ms"
    beside = _beside_mark(row["median_ns"], row["mark_ns"])
    if row["n_steps"] == 1:
        return f"{words}{beside}; there is one, so nothing tells how much it varies."
    low, high = row["low_ns"] / 1e6, row["high_ns"] / 1e6
    return f"{words} (median of {row['n_steps']}; {low:.2f} to {high:.2f} ms){beside}."
