"""Judge the time of each rank: whole steps, by part, without the time that the profiler adds."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from tracelens.derive.columns.ratios import over
from tracelens.derive.time.cpu_only import count_ops
from tracelens.derive.time.model import SLOWED, TimeModel
from tracelens.schemas.results.time import PARTS, TIME_BREAKDOWN

WORTH_IT = 0.02
"""A part that takes less than this share of the time is neither worth a change nor mentioned."""
_SAME = 0.02
"""A step's mark counts as long as the step if it differs by at most this share."""
_ROUNDED = 0.005
"""Notes give the mean and the median step if they differ by more than this share.

Shares are of all steps together, so a few long ones count in them.
"""
_SHARES = ("compute", "exposed_communication", "exposed_copy", "idle")
_BEYOND_JUDGING = 20
"""A process is not judged if the profiler makes its step this many times as long.

Nearly all of it is then the profiler's.
"""
_MANY_RANKS = 4


@dataclass(frozen=True, slots=True)
class RankTime:
    """A rank's judged time: `parts` in ns without what the profiler adds, `recorded` with it.

    `step_ns` is the median of its recorded steps, `unprofiled_ns` the measured time of a step
    without the profiler; None if not known. `is_process`: the rank uses no device, so its process's
    time is judged. n_work counts kernels, or ops of a process. Parts are summed over the
    `n_devices` that it really uses.
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
    def judged_step_ns(self) -> int | None:
        """The mean step without the time that the profiler is known to add; shares are of it.

        None without steps. Validation between some steps makes it longer than the median step.
        """
        if not self.n_steps:
            return None
        return round(sum(self.parts.values()) / (self.n_steps * self.n_devices))

    @property
    def recorded_step_ns(self) -> int | None:
        """The mean of the rank's recorded steps, with the profiler's work; None without steps."""
        if not self.n_steps:
            return None
        return round(sum(self.recorded.values()) / (self.n_steps * self.n_devices))

    @property
    def subject(self) -> str:
        """The word for what is judged: process or device."""
        return "process" if self.is_process else "device"

    @property
    def shares(self) -> dict[str, float]:
        """The share of the judged time that each part takes."""
        judged_ns = max(sum(self.parts.values()), 1)
        return {part: ns / judged_ns for part, ns in self.parts.items()}

    @property
    def is_slowed_beyond_judging(self) -> bool:
        """True where the profiler takes nearly all of a process's recorded step."""
        if not self.is_process or self.unprofiled_ns is None or self.step_ns is None:
            return False
        return self.step_ns > _BEYOND_JUDGING * self.unprofiled_ns

    @property
    def bound(self) -> str:
        """The part that takes most of the judged time."""
        return max(PARTS, key=self.shares.__getitem__)

    def bound_of(self, share: float) -> str:
        """Return the part that takes most of a step that is this share of the judged one.

        The difference is taken from launching and the host's other work, which a profiler slows.
        """
        slowed = sum(self.parts[part] for part in SLOWED)
        gone = (1 - share) * sum(self.parts.values())
        kept = max(1 - gone / slowed, 0.0) if slowed else 1.0
        times = self.parts | {part: self.parts[part] * kept for part in SLOWED}
        return max(PARTS, key=times.__getitem__)

    @property
    def second(self) -> str | None:
        """The part that takes most of the remaining time.

        It is None where each part takes less than is worth a change.
        """
        bound = self.bound
        shares = self.shares
        rest = max((part for part in PARTS if part != bound), key=shares.__getitem__)
        return rest if shares[rest] >= WORTH_IT else None


def rank_times(model: TimeModel) -> list[RankTime]:
    """Return every rank's time in the program: over its steps, or over its window without steps.

    The time that the profiler is known to add is subtracted. That is its own recorded work and,
    where the time of a step without it is known, the rest of the difference. The rest is taken from
    launching and the host's other work, in proportion. Device work takes as long with the profiler
    as without.
    """
    trace = model.trace
    steps = {
        row["rank"]: (row["n_steps"], row["median_ns"])
        for row in step_times(model).iter_rows(named=True)
    }
    n_work = trace.heights("kernels") | (count_ops(trace) if model.processes else {})
    times = model.by("rank")
    kept = model.kept_shares()
    ranks = []
    for row in times.iter_rows(named=True):
        rank = row["rank"]
        n_steps, median = steps.get(rank, (0, None))
        step_ns = None if median is None else round(median)
        recorded = {name: row[f"{name}_ns"] for name in PARTS}
        parts = recorded | {"host": recorded["host"] - row["profiler_ns"]}
        unprofiled = trace.manifest.unprofiled_step_ns(rank) if n_steps else None
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


def with_shares(model: TimeModel) -> pl.DataFrame:
    """Return the model's windows with all columns of TIME_BREAKDOWN.

    Shares are of the time without the profiler's work.
    """
    marked = model.device.drop_nulls("step")["rank"].unique()
    is_marked = pl.col("rank").is_in(marked.implode())
    kept = pl.DataFrame(
        [*model.kept_shares().items()],
        schema={"rank": pl.Int32, "kept": pl.Float64},
        orient="row",
    ).filter(is_marked)
    windows = model.device.join(kept, on="rank", how="left", maintain_order="left")
    profiler_ns = pl.col("profiler_ns")
    slowed = pl.sum_horizontal(f"idle_{part}_ns" for part in SLOWED) - profiler_ns
    kept_frac = pl.col("kept").fill_null(1.0)
    added = (slowed * (1 - kept_frac)).round().cast(pl.Int64)
    windows = windows.with_columns(profiler_ns=profiler_ns + added)
    unprofiled = pl.col("window_ns") - profiler_ns
    measures = {name: pl.col(f"{name}_ns") for name in _SHARES}
    measures["idle"] -= profiler_ns
    shares = {f"{name}_frac": over(ns, unprofiled) for name, ns in measures.items()}
    return TIME_BREAKDOWN.conform(windows.with_columns(**shares))


def step_times(model: TimeModel) -> pl.DataFrame:
    """Describe the program's steps by rank: how many, and their median, mean, least and most time.

    `mark_ns` is the median length of their marks. Steps that `program_steps` leaves out do not
    count.
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
    """Return, by rank, the median length of its steps' marks where it differs from the steps'.

    `times` is the result of `step_times`.
    """
    marked = times.select("rank", "median_ns", "mark_ns").drop_nulls("mark_ns").iter_rows()
    return {rank: round(mark) for rank, median, mark in marked if _differs(median, mark)}


def step_sentences(model: TimeModel) -> list[str]:
    """Say how long each rank's steps take, and how much that varies.

    Many ranks share one sentence.
    """
    times = step_times(model)
    if times.height <= _MANY_RANKS:
        several = len(model.trace.manifest.ranks) > 1
        ranks = {rank.rank: rank for rank in rank_times(model)}
        return [
            _sentence(f"Rank {row['rank']}: a" if several else "A", row, ranks.get(row["rank"]))
            for row in times.iter_rows(named=True)
        ]
    median_ns = pl.col("median_ns")
    low, middle, high, mark = times.select(
        low=median_ns.min(),
        middle=median_ns.median(),
        high=median_ns.max(),
        mark=pl.col("mark_ns").median(),
    ).row(0)
    spread = f"{low / 1e6:.2f} to {high / 1e6:.2f} ms"
    words = f"A step takes {middle / 1e6:.2f} ms in the median of {times.height} ranks"
    return [f"{words} ({spread}){_beside_mark(middle, mark)}."]


def _beside_mark(median: float, mark: float | None, *, is_process: bool = False) -> str:
    """Say how long the steps' marks are, where the steps themselves have another length."""
    if mark is None or not _differs(median, mark):
        return ""
    until = "its last op is over" if is_process else "the device has done the step's work"
    return f", until {until}; the host's part of it, its mark, is {mark / 1e6:.2f} ms long"


def _differs(median: float, mark: float) -> bool:
    """Return whether a step's mark and the step differ in length."""
    return bool(mark) and abs(median - mark) > _SAME * mark


def _sentence(subject: str, row: dict[str, Any], rank: RankTime | None) -> str:
    """Say how long a rank's steps take (a row of `step_times`), and which time shares refer to."""
    words = f"{subject} step takes {row['median_ns'] / 1e6:.2f} ms"
    is_process = rank is not None and rank.is_process
    beside = _beside_mark(row["median_ns"], row["mark_ns"], is_process=is_process)
    if row["n_steps"] == 1:
        return f"{words}{beside}; there is one, so nothing tells how much it varies."
    low = row["low_ns"] / 1e6
    high = row["high_ns"] / 1e6
    spread = f"median of {row['n_steps']}; {low:.2f} to {high:.2f} ms"
    judged = None if rank is None else rank.judged_step_ns
    shares = ""
    if judged is not None and abs(judged - row["median_ns"]) > _ROUNDED * judged:
        added = round(row["mean_ns"]) - judged
        own = (
            "" if added < _SAME * judged else f", without {added / 1e6:.2f} that the profiler adds"
        )
        shares = f" Percentages are of the mean step, {judged / 1e6:.2f} ms{own}."
    return f"{words} ({spread}){beside}.{shares}"
