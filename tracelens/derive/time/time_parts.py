"""Hold the time model of a trace, and sum it by part, device, step and rank."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from tracelens.derive.ranks.collectives import Matched
from tracelens.derive.time.breakdown import Breakdown
from tracelens.derive.time.host_waits import is_wait
from tracelens.derive.time.process_facts import count_ops
from tracelens.schemas.results.time import IDLE_PARTS, PARTS, PROGRAM
from tracelens.trace import Trace

_WAITING = pl.min_horizontal(
    pl.col("collective_wait_ns").fill_null(0),
    "exposed_communication_ns",
)
_PART_OF_WINDOW: dict[str, pl.Expr] = {
    "compute": pl.col("compute_ns"),
    # Waiting between two communication kernels is not communication.
    "communication": pl.col("exposed_communication_ns")
    - _WAITING
    + pl.col("idle_communication_ns"),
    "waiting": _WAITING,
    "copy": pl.col("exposed_copy_ns"),
    **{cause: pl.col(f"idle_{cause}_ns") for cause in IDLE_PARTS},
}
"""Expressions for the time of each of PARTS in a window of `TimeModel.device`.

All parts sum to the window.
"""
SLOWED = ("launch", "host")
"""Parts that a profiler makes longer, because it runs inside ops, API calls and Python calls."""
_USED = 0.1
"""A device is left out if it works less than this share of its rank's busiest device."""
_COMPARABLE = 0.5
"""A part is named beside computing if it takes at least this share of the computing time."""
_ABOUT_EQUAL = 0.8
"""Computing is named beside a cause of idle time if it takes this share of the idle time."""
WORTH_IT = 0.02
"""A part is mentioned, or worth a change, if it takes at least this share of the time."""
SAME = 0.02
"""The span that marks a step is as long as the step if the two differ by less than this share."""
_BEYOND_JUDGING = 20
"""A verdict on a process is inconclusive if the profiler makes its step this many times longer."""


class TimeModel(Struct, frozen=True):
    """Holds the time of each rank and device, divided by step, part, cause and call path."""

    trace: Trace
    steps: pl.DataFrame
    host: pl.DataFrame
    """Activities of host threads, with cause and call path."""
    phases: pl.DataFrame
    """Windows in which time is summed."""
    program_steps: pl.DataFrame
    """The program's whole steps, or all its steps if none is whole."""
    processes: list[int]
    """Ranks without a device. Their time is the time of their process."""
    collectives: Matched
    """The collectives of the trace, matched between ranks."""
    waits: pl.DataFrame
    """Time that one rank waited for another in collectives, one row per pair."""
    device: pl.DataFrame
    """One row per rank, device, step and phase, with the columns of TIME_BREAKDOWN except shares.

    device_id is None for a process without a device.
    """
    idle: pl.DataFrame
    """The program's idle time by rank, device, cause and call path, the largest first.

    Columns: rank, device_id, cause, what, idle_ns, n_gaps, longest_ns (the longest interval) and
    example_ns (its start).
    """

    def by(self, *keys: str) -> pl.DataFrame:
        """Sum the program's time by part: one row per combination of keys, sorted.

        Keys are rank, device_id and step. Columns:

        - `window_ns`, `PART_ns` for each of PARTS
        - `profiler_ns`: the part of host_ns that the profiler recorded as its own
        - `n_windows`: number of summed windows
        - `n_devices`

        Devices that a rank hardly uses are left out, unless device_id is a key.
        """
        parts = {f"{part}_ns": _PART_OF_WINDOW[part] for part in PARTS}
        in_program = pl.col("phase") == PROGRAM
        windows = self.device.filter(in_program).select(
            "rank",
            "device_id",
            "step",
            "window_ns",
            "profiler_ns",
            **parts,
        )
        if "device_id" not in keys:
            windows = windows.join(
                _used_devices(windows),
                on=["rank", "device_id"],
                how="semi",
                nulls_equal=True,
            )
        n_different = pl.col("device_id").n_unique()
        sums = windows.group_by(keys).agg(
            pl.col("window_ns", *parts, "profiler_ns").sum(),
            n_windows=pl.len().cast(pl.Int64),
            n_devices=n_different.cast(pl.Int64),
        )
        return sums.sort(keys)

    @property
    def extents(self) -> pl.DataFrame:
        """The begin and end of each rank's program: rank, begin, end.

        Work that begins outside of this interval does not count.
        """
        windows = self.phases.filter(phase=PROGRAM).group_by("rank")
        return windows.agg(
            begin=pl.col("start_ns").min(),
            end=pl.col("end_ns").max(),
        )

    def kept_shares(self) -> dict[int, float]:
        """Return, by rank, the share of recorded host work that also happens without the profiler.

        The profiler adds the rest. A rank is left out if its steps were only timed with a profiler.
        """
        kept = dict[int, float]()
        unprofiled_steps_ns = self.trace.manifest.unprofiled_steps_ns()
        if not unprofiled_steps_ns:
            return kept
        waits_ns = self._waits_ns()
        for row in self.by("rank").iter_rows(named=True):
            rank = row["rank"]
            unprofiled = unprofiled_steps_ns.get(rank)
            recorded = sum(row[f"{part}_ns"] for part in PARTS) - row["profiler_ns"]
            slowed = sum(row[f"{part}_ns"] for part in SLOWED) - row["profiler_ns"]
            if unprofiled is not None and slowed:
                # A recorded step is longer than one without the profiler. The profiler's recorded
                # work explains a part of this. The rest is taken from launching and other host
                # work, but not from waits.
                added = max(recorded - unprofiled * row["n_windows"], 0)
                waiting_share = min(waits_ns.get(rank, 0) / slowed, 1.0)
                kept[rank] = max(1 - added / slowed, waiting_share)
        return kept

    def with_added(self) -> pl.DataFrame:
        """Return the table `device` with two more columns: time that the profiler is known to add.

        - `added_launch_ns`: the part of idle_launch_ns that the profiler adds
        - `added_host_ns`: the part of idle_host_ns that the profiler adds
        """
        # On a rank without steps, the profiler is only known to add its recorded own work.
        marked = self.device.drop_nulls("step")["rank"].unique()
        kept_by_rank = {rank: kept for rank, kept in self.kept_shares().items() if rank in marked}
        kept = pl.col("rank").replace_strict(
            kept_by_rank,
            default=1.0,
            return_dtype=pl.Float64,
        )
        taken = 1 - kept
        own_ns = pl.col("profiler_ns")
        of_launch = pl.col("idle_launch_ns") * taken
        of_host = (pl.col("idle_host_ns") - own_ns) * taken
        return self.device.with_columns(
            added_launch_ns=of_launch.round().cast(pl.Int64),
            added_host_ns=(own_ns + of_host).round().cast(pl.Int64),
        )

    def _waits_ns(self) -> dict[int, int]:
        """Return, by rank, the host's waiting time in ns, which no profiler makes longer."""
        waits_ns = dict[int, int]()
        of_host = self.idle.filter(cause="host").drop_nulls("what")
        for rank, what, ns in of_host.select("rank", "what", "idle_ns").iter_rows():
            if is_wait(str(what)):
                waits_ns[rank] = waits_ns.get(rank, 0) + ns
        return waits_ns

    @property
    def breakdown(self) -> Breakdown:
        """The part of the model that is merged from the breakdowns of single ranks."""
        return Breakdown(self.device, self.idle)


def _used_devices(windows: pl.DataFrame) -> pl.DataFrame:
    """List each rank's devices, except those that work far less than its busiest device."""
    works = pl.sum_horizontal("compute_ns", "communication_ns", "copy_ns").sum()
    devices = windows.group_by("rank", "device_id").agg(works=works)
    most_work = pl.col("works").max().over("rank")
    return devices.filter(pl.col("works") >= _USED * most_work)


class RankTime(Struct, frozen=True):
    """Holds the time of a rank's program in ns by part, with and without the profiler's time."""

    rank: int
    parts: dict[str, int]
    """Sums over the used devices, without the time that the profiler adds."""
    recorded: dict[str, int]
    """Sums over the used devices, with the time that the profiler adds."""
    n_work: int
    """Number of the program's kernels, or of a process's ops."""
    n_steps: int
    step_ns: int | None
    """Median recorded step, None without steps."""
    unprofiled_ns: int | None
    """Measured time of a step without the profiler, None if not known."""
    is_process: bool
    """True if the rank uses no device, so that its time is the time of its process."""
    n_devices: int = 1
    """Number of devices that the rank really uses."""

    @property
    def judged_step_ns(self) -> int | None:
        """The mean step without the time that the profiler is known to add, None without steps."""
        if not self.n_steps:
            return None
        return round(sum(self.parts.values()) / (self.n_steps * self.n_devices))

    @property
    def recorded_step_ns(self) -> int | None:
        """The mean of the rank's recorded steps, with the profiler's work, None without steps."""
        if not self.n_steps:
            return None
        return round(sum(self.recorded.values()) / (self.n_steps * self.n_devices))

    @property
    def subject(self) -> str:
        """The word for what takes the rank's time: process or device."""
        return "process" if self.is_process else "device"

    @property
    def shares(self) -> dict[str, float]:
        """The share of each part in the sum of `parts`."""
        judged_ns = max(sum(self.parts.values()), 1)
        return {part: ns / judged_ns for part, ns in self.parts.items()}

    @property
    def is_slowed_beyond_judging(self) -> bool:
        """True if the profiler takes nearly all of a process's recorded step."""
        if not self.is_process or self.unprofiled_ns is None or self.step_ns is None:
            return False
        return self.step_ns > _BEYOND_JUDGING * self.unprofiled_ns

    @property
    def bound(self) -> str:
        """The part that takes most time."""
        return max(PARTS, key=self.shares.__getitem__)

    def parts_of_step(self, step_ns: float) -> dict[str, float]:
        """Return the time in ns of each part of a step that takes `step_ns` without the profiler.

        Only launching and the host's other work differ from the mean step, because a profiler slows
        only these parts.
        """
        n_steps = max(self.n_steps * self.n_devices, 1)
        parts = {part: ns / n_steps for part, ns in self.parts.items()}
        slowed_ns = sum(parts[part] for part in SLOWED)
        others_ns = sum(parts.values()) - slowed_ns
        kept = max(step_ns - others_ns, 0.0) / slowed_ns if slowed_ns else 1.0
        return parts | {part: parts[part] * kept for part in SLOWED}

    @property
    def second(self) -> str | None:
        """The part that takes most time after `bound`, None if it takes too little to mention."""
        bound = self.bound
        shares = self.shares
        rest = max(
            (part for part in PARTS if part != bound),
            key=shares.__getitem__,
        )
        return rest if shares[rest] >= WORTH_IT else None

    @property
    def beside_computing(self) -> str | None:
        """The part that a verdict on a device names beside computing, None if there is none."""
        bound, second = self.bound, self.second
        if self.is_process or second is None:
            return None
        ratio = self.shares[second] / self.shares[bound]
        # If computing takes most time, the other part has to take at least half as long.
        if bound == "compute":
            return second if ratio >= _COMPARABLE else None
        # If a cause of idle time takes most time, computing has to take about as long.
        is_idle = bound in IDLE_PARTS and second == "compute"
        return bound if is_idle and ratio >= _ABOUT_EQUAL else None


def rank_times(model: TimeModel) -> list[RankTime]:
    """Return the time of each rank's program, without time that the profiler is known to add.

    If a rank has steps, only its time in the program's steps counts.
    """
    trace = model.trace
    steps = {
        row["rank"]: (row["n_steps"], row["median_ns"])
        for row in step_times(model).iter_rows(named=True)
    }
    unprofiled_steps_ns = trace.manifest.unprofiled_steps_ns()
    n_work = _count_kernels(model) | (count_ops(trace) if model.processes else {})
    times = model.by("rank")
    kept = model.kept_shares()
    ranks = []
    for row in times.iter_rows(named=True):
        rank = row["rank"]
        n_steps, median = steps.get(rank, (0, None))
        step_ns = None if median is None else round(median)
        recorded = {name: row[f"{name}_ns"] for name in PARTS}
        # Device work takes as long with the profiler as without.
        parts = recorded | {"host": recorded["host"] - row["profiler_ns"]}
        unprofiled = unprofiled_steps_ns.get(rank) if n_steps else None
        if unprofiled is not None:
            parts |= {name: round(parts[name] * kept.get(rank, 1.0)) for name in SLOWED}
        ranks.append(
            RankTime(
                rank,
                parts,
                recorded,
                n_work=n_work.get(rank, 0),
                n_steps=n_steps,
                step_ns=step_ns,
                unprofiled_ns=unprofiled,
                is_process=rank in model.processes,
                n_devices=row["n_devices"],
            )
        )
    return ranks


def _count_kernels(model: TimeModel) -> dict[int, int]:
    """Count the kernels in each rank's program."""
    counts = model.trace.heights("kernels")
    is_outside = pl.col("phase") != PROGRAM
    with_more = model.phases.filter(is_outside)
    if with_more.is_empty():
        return counts  # no kernel has to be read
    kernels = model.trace.select("kernels", "rank", "start_ns")
    with_extent = kernels.join(model.extents, on="rank")
    inside = with_extent.filter(pl.col("start_ns").is_between("begin", "end"))
    n_inside = inside.group_by("rank").len()
    none = dict.fromkeys(counts, 0)
    return none | dict(n_inside.iter_rows())


def step_times(model: TimeModel) -> pl.DataFrame:
    """Return statistics of the steps in `program_steps`, one row per rank.

    - `rank`, `n_steps`
    - `median_ns`, `mean_ns`
    - `low_ns`, `high_ns`: the shortest and the longest step
    - `mark_ns`: median length of the spans that mark the steps
    """
    ns = pl.col("duration_ns")
    times = model.program_steps.group_by("rank").agg(
        n_steps=pl.len(),
        median_ns=ns.median(),
        low_ns=ns.min(),
        high_ns=ns.max(),
        mean_ns=ns.mean(),
        mark_ns=pl.col("mark_ns").median(),
    )
    return times.sort("rank")


def mark_times(times: pl.DataFrame) -> dict[int, int]:
    """Return, by rank, the median length of the spans that mark steps.

    Ranks are left out if the median step is about as long. `times` is the result of `step_times`.
    """
    marked = times.select("rank", "median_ns", "mark_ns").drop_nulls("mark_ns").iter_rows()
    return {rank: round(mark) for rank, median, mark in marked if differs(median, mark)}


def differs(median: float, mark: float) -> bool:
    """Return whether a step and the span that marks the step differ in length."""
    return bool(mark) and abs(median - mark) > SAME * mark
