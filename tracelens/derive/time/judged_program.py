"""What advice is derived from: judged time of all ranks together, its idle places, its kernels."""

from dataclasses import dataclass

import polars as pl

from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.model import TimeModel
from tracelens.derive.time.program_phases import in_program
from tracelens.derive.time.rank_time import rank_times
from tracelens.derive.time.slowdown import slowed_parts
from tracelens.schemas.events import CAUSES
from tracelens.schemas.results.time import PARTS
from tracelens.trace import Trace


@dataclass(frozen=True, slots=True)
class JudgedProgram:
    """A trace's judged time by part, its idle places and its kernels, of all ranks together.

    Kernels are by site and primitive. Idle times are without what the profiler is known to add.
    `n_steps` and `step_ns` are of all ranks: the number of steps, and their mean time on one
    device; without steps, the mean judged time of a device. `is_judged` is a condition for device
    work, see `in_program`. `is_measured`: the time of a step without the profiler is known for each
    rank.
    """

    trace: Trace
    parts: dict[str, int]
    places: pl.DataFrame
    kernels: pl.DataFrame
    n_steps: int
    step_ns: int
    is_judged: pl.Expr
    is_measured: bool

    @property
    def total_ns(self) -> int:
        """All judged time. It is at least 1, as it is a divisor."""
        return max(sum(self.parts.values()), 1)

    def places_of(self, cause: str) -> list[tuple[str, int]]:
        """Return the places of a cause of idle time with their times, the largest first."""
        rows = self.places.filter(pl.col("cause") == cause).drop_nulls("what")
        sums = rows.group_by("what", maintain_order=True).agg(pl.col("idle_ns").sum())
        return sums.sort("idle_ns", descending=True, maintain_order=True).rows()

    def slowdown(self, cause: str) -> tuple[float, float] | None:
        """Return the least and the most of a cause's recorded time that is the program's.

        Return None where all is. Where the time of a step without the profiler was measured, what
        it added is off already.
        """
        slowed = slowed_parts(self.trace)
        if self.is_measured or slowed.is_empty():
            return None
        # The places of launching are those of calls; its activities have none.
        key = ["cause"] if cause == "launch" else ["cause", "what"]
        idle = self.places.filter(pl.col("cause") == cause)
        kept = idle.join(slowed.select(*key, "least", "most"), on=key, how="left")
        ns = pl.col("idle_ns")
        least, most, total = kept.select(
            *((pl.col(name).fill_null(1) * ns).sum() for name in ("least", "most")), ns=ns.sum()
        ).row(0)
        return (least / total, most / total) if total else None


def judge_program(model: TimeModel) -> JudgedProgram:
    """Collect what the rules of advice need."""
    ranks = rank_times(model)
    parts = {part: sum(rank.parts[part] for rank in ranks) for part in PARTS}
    recorded = {part: max(sum(rank.recorded[part] for rank in ranks), 1) for part in PARTS}
    kept = pl.col("cause").replace_strict({name: parts[name] / recorded[name] for name in CAUSES})
    places = model.idle.filter(pl.col("what").ne_missing(PROFILER))
    places = places.with_columns(idle_ns=(pl.col("idle_ns") * kept).round().cast(pl.Int64))
    is_judged = in_program(model.trace)
    n_steps = sum(rank.n_steps for rank in ranks)
    of_devices = sum(sum(rank.parts.values()) / max(rank.n_devices, 1) for rank in ranks)
    return JudgedProgram(
        trace=model.trace,
        parts=parts,
        places=places,
        kernels=_kernels(model.trace, is_judged),
        n_steps=n_steps,
        step_ns=round(of_devices / max(n_steps or len(ranks), 1)),
        is_judged=is_judged,
        is_measured=all(rank.unprofiled_ns is not None for rank in ranks),
    )


def _kernels(trace: Trace, is_judged: pl.Expr) -> pl.DataFrame:
    """Sum judged kernels by rank, site and primitive: n, ns, the site's op, phase, module_path."""
    kernels = trace.select("kernels", "rank", "step", "site_id", "primitive", "duration_ns")
    kernels = kernels.filter(is_judged) if kernels["step"].null_count() else kernels
    by_site = (
        kernels.lazy()
        .group_by("rank", "site_id", "primitive")
        .agg(n=pl.len(), ns=pl.col("duration_ns").sum())
    )
    sites = trace.select("sites", "rank", "site_id", "op", "phase", "module_path")
    return (
        by_site.collect()
        .join(sites, on=["rank", "site_id"], how="left")
        .cast({pl.Categorical: pl.String})
    )
