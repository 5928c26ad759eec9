"""The judged time of each rank: whole steps, without the time that the profiler adds, and the places it goes to."""

import re
from dataclasses import dataclass

import polars as pl

from tracelens.derive.time.bounds import PARTS
from tracelens.derive.time.breakdown import break_down
from tracelens.derive.time.cpu_only import count_ops, heaviest_ops, process_ranks
from tracelens.derive.time.host_activity import PROFILER
from tracelens.derive.time.step_table import steps_of
from tracelens.schemas.events import CAUSES
from tracelens.trace import Trace

_USED = 0.1
"""A device that works less than this share of the time of the rank's busiest one is left out."""
_SLOWED = ("launch", "host")
"""The parts that a profiler slows, as it runs inside ops, API calls and Python calls."""
WORTH_IT = 0.02
"""A part that takes less than this share of the time is not worth a change, nor a word."""
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
    """Every rank's time over all steps; for a rank that marks none, over all that was recorded.

    The time that the profiler is known to add is subtracted: its own recorded work, and, where the
    time of a step without it is known, the rest of the difference, from launching and the host's
    other work in proportion. Device work takes as long either way.
    """
    steps = {rank: (n, round(median)) for rank, n, median, *_ in step_times(trace).iter_rows()}
    n_work = trace.heights("kernels") | count_ops(trace)
    processes = process_ranks(trace)
    own = (
        idle_places(trace)
        .filter(pl.col("what") == PROFILER)
        .group_by("rank")
        .agg(pl.col("idle_ns").sum())
    )
    by_profiler = dict(own.iter_rows())
    found = []
    for row in judged_time(trace).iter_rows(named=True):
        rank, n_devices = row["rank"], row["n_devices"]
        n_steps, step_ns = steps.get(rank, (0, None))
        recorded = {name: row[f"{name}_ns"] for name in PARTS}
        parts = recorded | {"host": recorded["host"] - by_profiler.get(rank, 0)}
        unprofiled = trace.manifest.unprofiled_step_ns(rank) if n_steps else None
        if unprofiled is not None:
            added = max(sum(parts.values()) - unprofiled * n_steps, 0)
            slowed = sum(parts[name] for name in _SLOWED)
            kept = max(1 - added / slowed, 0) if slowed else 1
            parts |= {name: round(parts[name] * kept) for name in _SLOWED}
        known = (n_work.get(rank, 0), n_steps, step_ns, unprofiled)
        found.append(
            RankTime(
                rank, parts, recorded, *known, is_process=rank in processes, n_devices=n_devices
            )
        )
    return found


def judged_time(trace: Trace, by: tuple[str, ...] = ("rank",)) -> pl.DataFrame:
    """Sum PARTS for the devices that each rank really uses: one row per combination of `by`, with n_devices; sorted."""
    made = break_down(trace)
    in_steps = pl.col("step").is_not_null()
    marked = made.frame.filter(in_steps)["rank"].unique().implode()
    is_judged = in_steps | ~pl.col("rank").is_in(marked)
    waiting = pl.min_horizontal(
        pl.col("collective_wait_ns").fill_null(0), "exposed_communication_ns"
    )
    key = ["rank", "device_id"]
    busy = (
        made.frame.filter(is_judged)
        .group_by(key)
        .agg(
            pl.col("compute_ns").sum(),
            communication_ns=(pl.col("exposed_communication_ns") - waiting).sum(),
            waiting_ns=waiting.sum(),
            copy_ns=pl.col("exposed_copy_ns").sum(),
        )
    )
    idle = (
        made.idle.filter(is_judged)
        .group_by(key)
        .agg(
            pl.col("idle_ns").filter(pl.col("cause") == cause).sum().alias(f"{cause}_ns")
            for cause in CAUSES
        )
    )
    parts = [f"{name}_ns" for name in PARTS]
    times = busy.join(idle, on=key, how="left", nulls_equal=True).with_columns(
        pl.col(parts).fill_null(0)
    )
    works = pl.sum_horizontal("compute_ns", "communication_ns", "copy_ns")
    used = times if "device_id" in by else times.filter(works >= _USED * works.max().over("rank"))
    return used.group_by(by).agg(pl.col(parts).sum(), n_devices=pl.len()).sort(by)


def idle_places(trace: Trace) -> pl.DataFrame:
    """A row a rank, device, cause and place (what): idle_ns, n_gaps, longest_ns, example_ns; most idle time first.

    For steps; on a rank without steps, for all known time. The place of an activity is its own; the
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
        found |= dict.fromkeys(((rank, part) for part in parts), _short_kernel(name))
    copies = trace.select(
        "memcpys", "rank", "direction", "source_memory", "destination_memory", "duration_ns"
    )
    by_kind = copies.group_by(pl.exclude("duration_ns")).agg(pl.col("duration_ns").sum())
    for rank, direction, source, destination, _ in by_kind.sort(
        "duration_ns", "direction"
    ).iter_rows():
        found[rank, "copy"] = f"{direction} copies from {source} to {destination} memory"
    return found | {(rank, "compute"): op for rank, op in heaviest_ops(trace).items()}


def _short_kernel(name: str) -> str:
    """A kernel's name without its template arguments and parameters, cut where it is long."""
    bare = re.sub(r"^void ", "", name).replace("(anonymous namespace)::", "")
    bare = re.sub(r"[<(].*", "", bare) or name
    return bare if len(bare) <= _LONGEST else bare[: _LONGEST - 1] + "…"


def step_times(trace: Trace) -> pl.DataFrame:
    """A row for each rank that marks steps: n_steps, median_ns, low_ns, high_ns of their durations."""
    ns = pl.col("duration_ns")
    found = (
        steps_of(trace)
        .group_by("rank")
        .agg(n_steps=pl.len(), median_ns=ns.median(), low_ns=ns.min(), high_ns=ns.max())
    )
    return found.sort("rank")


def step_sentences(trace: Trace) -> list[str]:
    """A sentence for each rank on the time of its steps and its spread; for many ranks one sentence on all."""
    found = step_times(trace)
    if found.height <= _MANY_RANKS:
        several = len(trace.manifest.ranks) > 1
        return [
            _sentence(f"Rank {rank}: a" if several else "A", *row)
            for rank, *row in found.iter_rows()
        ]
    low, middle, high = found.select(
        low=pl.col("median_ns").min(),
        middle=pl.col("median_ns").median(),
        high=pl.col("median_ns").max(),
    ).row(0)
    spread = f"{low / 1e6:.2f} to {high / 1e6:.2f} ms"
    return [f"A step takes {middle / 1e6:.2f} ms in the median of {found.height} ranks ({spread})."]


def _sentence(subject: str, n: int, median: float, low: int, high: int) -> str:
    if n == 1:
        return (
            f"{subject} step takes {median / 1e6:.2f} ms; there is one, so nothing tells how much"
            " it varies."
        )
    return (
        f"{subject} step takes {median / 1e6:.2f} ms (median of {n}; {low / 1e6:.2f} to"
        f" {high / 1e6:.2f} ms)."
    )
