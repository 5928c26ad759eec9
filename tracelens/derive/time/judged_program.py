"""Collect the data for advice: judged time of all ranks, call paths of idle time, and kernels.

Judged time is the time of the program, without start-up and tear-down.
"""

from collections.abc import Iterator, Mapping

import polars as pl
from msgspec import Struct

from tracelens.derive.columns.lookup import by_value
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.program_phases import in_program
from tracelens.derive.time.step_table import activities_of
from tracelens.derive.time.time_parts import TimeModel, rank_times
from tracelens.schemas.host import CAUSES
from tracelens.schemas.results.time import PARTS, PROGRAM
from tracelens.trace import Trace

PYTHON_NS = (200, 2_000)
"""The least and the most time that recording one Python call takes.

torch 2.11 takes 0.3 µs for a call without arguments on a processor of 2023, and several times as
long with arguments to format, or on a slow machine.
"""
TORCH_NS = (1_000, 3_500)
"""The least and the most time that torch.profiler takes for one op or one API call.

samples/whatif measured 1.2 to 2.7 µs on one host. Other hosts are faster or slower.
"""
_THREAD = ["rank", "process_id", "thread_id"]
_PLACE = ["cause", "what"]
_ADDED = {"cause": pl.String, "what": pl.String, "least_ns": pl.Int64, "most_ns": pl.Int64}
_SLOWED = {"cause": pl.String, "what": pl.String, "least": pl.Float64, "most": pl.Float64}


class JudgedProgram(Struct, frozen=True):
    """Holds the judged time of all ranks together by part, its idle time, and its kernels."""

    trace: Trace
    parts: dict[str, int]
    """Time of each part in ns, without time that the profiler is known to add."""
    places: pl.DataFrame
    """Idle time by call path, without time that the profiler is known to add."""
    kernels: pl.DataFrame
    """Sums by site and primitive."""
    n_steps: int
    """Number of steps of all ranks."""
    step_ns: int
    """Mean step on one device, or mean judged time of a device without steps."""
    is_judged: pl.Expr
    """Condition for judged device work."""
    is_measured: bool
    """True if each rank's step time without the profiler is known."""
    hideable_ns: dict[str, int]
    """Exposed time that computing could hide, for communication and copies."""

    @property
    def total_ns(self) -> int:
        """All judged time in ns, at least 1 because it is a divisor."""
        return max(sum(self.parts.values()), 1)

    def places_of(self, cause: str) -> list[tuple[str, int]]:
        """Return each call path's idle time in ns by this cause, the largest first."""
        is_of_cause = pl.col("cause") == cause
        rows = self.places.filter(is_of_cause).drop_nulls("what")
        by_place = rows.group_by("what", maintain_order=True)
        sums = by_place.agg(pl.col("idle_ns").sum())
        largest_first = sums.sort(
            "idle_ns",
            descending=True,
            maintain_order=True,
        )
        return largest_first.rows()

    def slowdown(self, cause: str) -> tuple[float, float] | None:
        """Return the least and the largest share of a cause's time that is the program's own.

        Return None if all of this time is the program's own.
        """
        slowed = slowed_parts(self.trace)
        # If steps were timed without the profiler, its time has been subtracted already.
        if self.is_measured or slowed.is_empty():
            return None
        # The place of idle time for launching is the launching op. Activities of launching have no
        # place, so idle time and activities are joined by cause alone.
        key = ["cause"] if cause == "launch" else ["cause", "what"]
        idle = self.places.filter(pl.col("cause") == cause)
        bounds = slowed.select(*key, "least", "most")
        kept = idle.join(bounds, on=key, how="left")
        ns = pl.col("idle_ns")
        least_ns = pl.col("least").fill_null(1) * ns
        most_ns = pl.col("most").fill_null(1) * ns
        sums = kept.select(
            least_ns=least_ns.sum(),
            most_ns=most_ns.sum(),
            ns=ns.sum(),
        )
        least, most, total = sums.row(0)
        if not total:
            return None
        return least / total, most / total


def judge_program(model: TimeModel) -> JudgedProgram:
    """Collect the data that the rules of advice need."""
    ranks = rank_times(model)
    parts = {}
    kept_fracs = {}
    for part in PARTS:
        parts[part] = sum(rank.parts[part] for rank in ranks)
        if part in CAUSES:
            recorded_ns = sum(rank.recorded[part] for rank in ranks)
            kept_fracs[part] = parts[part] / max(recorded_ns, 1)
    is_program = pl.col("what").ne_missing(PROFILER)
    kept_frac = pl.col("cause").replace_strict(kept_fracs)
    kept_ns = (pl.col("idle_ns") * kept_frac).round().cast(pl.Int64)
    places = model.idle.filter(is_program).with_columns(idle_ns=kept_ns)
    is_judged = in_program(model.trace)
    n_steps = sum(rank.n_steps for rank in ranks)
    of_devices = sum(sum(rank.parts.values()) / max(rank.n_devices, 1) for rank in ranks)
    n_parts = max(n_steps or len(ranks), 1)
    return JudgedProgram(
        trace=model.trace,
        parts=parts,
        places=places,
        kernels=_kernels(model.trace, is_judged),
        n_steps=n_steps,
        step_ns=round(of_devices / n_parts),
        is_judged=is_judged,
        is_measured=all(rank.unprofiled_ns is not None for rank in ranks),
        hideable_ns=_hideable(model, parts),
    )


def _hideable(model: TimeModel, parts: Mapping[str, int]) -> dict[str, int]:
    """Return the exposed time in ns that computing could hide, for communication and for copies."""
    windows = model.device.filter(phase=PROGRAM)
    hideable = {}
    for part in ("communication", "copy"):
        hidden = windows[f"{part}_ns"] - windows[f"exposed_{part}_ns"]
        hidden_ns = int(hidden.sum())
        # Computing that already runs beside communication or copies hides no more.
        free_ns = max(parts["compute"] - hidden_ns, 0)
        hideable[part] = min(parts[part], free_ns)
    return hideable


def _kernels(trace: Trace, is_judged: pl.Expr) -> pl.DataFrame:
    """Sum the number (n) and time (ns) of judged kernels by rank, site_id and primitive.

    Add op, phase and module_path from the table `sites`.
    """
    kernels = trace.select("kernels", "rank", "step", "site_id", "primitive", "duration_ns")
    if kernels["step"].null_count():
        kernels = kernels.filter(is_judged)
    by_site = kernels.lazy().group_by("rank", "site_id", "primitive")
    sums = by_site.agg(n=pl.len(), ns=pl.col("duration_ns").sum())
    sites = trace.select("sites", "rank", "site_id", "op", "phase", "module_path")
    at_sites = sums.collect().join(sites, on=["rank", "site_id"], how="left")
    return at_sites.cast({pl.Categorical: pl.String})


def slowed_parts(trace: Trace) -> pl.DataFrame:
    """Return the share of recorded host time that is the program's own, by cause and call path.

    Columns: cause, what (call path), and the bounds `least` and `most` of the share, 0 to 1. The
    profiler adds the rest: PYTHON_NS for each Python call, and TORCH_NS for each op and API call
    that torch.profiler records.
    """
    return trace.derived(_slowed_parts)


def _slowed_parts(trace: Trace) -> pl.DataFrame:
    is_program = pl.col("what").ne_missing(PROFILER)
    activities = activities_of(trace).filter(is_program)
    # Only a process without a device has call paths of launching. They are judged as one path.
    has_path = pl.col("cause") != "launch"
    place = pl.col("what").cast(pl.String)
    times = activities.select(
        *_THREAD,
        "start_ns",
        "duration_ns",
        pl.col("cause").cast(pl.String),
        what=pl.when(has_path).then(place),
    )
    records = pl.concat(
        [
            pl.DataFrame(schema=_ADDED),
            *_records(trace, times),
        ]
    )
    added = records.group_by(_PLACE).agg(pl.col("least_ns", "most_ns").sum())
    ns = pl.col("ns")
    recorded = times.group_by(_PLACE).agg(ns=pl.col("duration_ns").sum())
    with_added = recorded.join(
        added,
        on=_PLACE,
        nulls_equal=True,
    ).filter(ns > 0)
    least = 1 - pl.col("most_ns") / ns
    most = 1 - pl.col("least_ns") / ns
    return with_added.select(
        *_PLACE,
        least=least.clip(0, 1),
        most=most.clip(0, 1),
    )


def _records(trace: Trace, times: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the time that recording added to activities: cause, what, least_ns and most_ns."""
    kind = pl.col("kind")
    of_torch = pl.col("rank").is_in(_ranks_of_torch(trace))
    activities = dict(_by_thread(times))
    for table, where, (least_ns, most_ns) in (
        ("spans", kind == "python", PYTHON_NS),
        ("spans", (kind == "op") & of_torch, TORCH_NS),
        ("api_calls", of_torch, TORCH_NS),
    ):
        records = trace.select(
            table,
            *_THREAD,
            "start_ns",
            where=where,
        )
        counted = _with_counts(activities, records)
        n_records = pl.col("n_records")
        yield counted.select(
            *_PLACE,
            least_ns=n_records * least_ns,
            most_ns=n_records * most_ns,
        )


def _with_counts(
    activities: Mapping[tuple[int, int, int], pl.DataFrame],
    records: pl.DataFrame,
) -> pl.DataFrame:
    """Return the activities during which the profiler recorded events of their thread.

    Columns: cause, what and n_records, the number of events that begin during the activity.
    """
    parts = [pl.DataFrame(schema={"cause": pl.String, "what": pl.String, "n_records": pl.Int64})]
    for thread, of_thread in _by_thread(records):
        if thread not in activities:
            continue
        during = activities[thread]
        n_records = _n_within(of_thread["start_ns"].sort(), during)
        parts.append(during.select(*_PLACE, n_records=n_records))
    return pl.concat(parts).filter(pl.col("n_records") > 0)


def _by_thread(frame: pl.DataFrame) -> Iterator[tuple[tuple[int, int, int], pl.DataFrame]]:
    """Yield each known thread (rank, process_id, thread_id) with its rows."""
    for rank, of_rank in by_value(frame.drop_nulls(_THREAD), "rank"):
        for process, of_process in by_value(of_rank, "process_id"):
            for thread, of_thread in by_value(of_process, "thread_id"):
                yield (rank, process, thread), of_thread


def _n_within(starts: pl.Series, during: pl.DataFrame) -> pl.Series:
    """Return the number of the sorted starts that lie within each interval."""
    ends = during["start_ns"] + during["duration_ns"]
    n_before = starts.search_sorted(during["start_ns"], side="left")
    n_until = starts.search_sorted(ends, side="left")
    return n_until.cast(pl.Int64) - n_before.cast(pl.Int64)


def _ranks_of_torch(trace: Trace) -> list[int]:
    """Return the ranks that torch.profiler recorded."""
    ranks = set()
    for source in trace.manifest.sources:
        rank = source.get("rank")
        if source.get("kind") == "torch" and isinstance(rank, int):
            ranks.add(rank)
    return sorted(ranks)
