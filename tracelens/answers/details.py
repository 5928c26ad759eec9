"""Write the lines after the first sentence on one program: facts, doubts, sections to read."""

import re

import polars as pl

from tracelens.answers.answer import LEAST_SHARE
from tracelens.answers.devices import wait_of_idlest
from tracelens.answers.limits import Limits, is_another_time, places_of
from tracelens.answers.words import counted, frame_text, function_text
from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.kernels.work_kinds import language_kinds
from tracelens.derive.replay.unprofiled import (
    UnprofiledStep,
    bounds_of_range,
    measured_range,
    unprofiled_steps,
)
from tracelens.derive.time.bound_places import CASTS, count_casts
from tracelens.derive.time.bounds import PART_WORDS, PROCESS_WORDS
from tracelens.derive.time.host_waits import is_wait
from tracelens.derive.time.idle_advice import WORKERS
from tracelens.derive.time.launch_advice import count_captured, is_capture
from tracelens.derive.time.process_facts import unseen_device
from tracelens.derive.time.python_lock import python_of_another_thread
from tracelens.derive.time.time_parts import (
    SLOWED,
    RankTime,
    TimeModel,
    mark_times,
    step_times,
)
from tracelens.trace import Trace

_SECTIONS = {
    "compute": ("top_kernels", "layer_attribution"),
    "communication": ("time_breakdown",),
    "waiting": ("waiting_for",),
    "copy": ("copy_cost",),
    "launch": ("idle_gaps", "dispatch_depth"),
}
"""Sections to read next, by the bound of the program. The default is `idle_gaps`."""
_NOT_SHOWN = {
    "graph_kernels_hidden": (
        "compute",
        "CUDA graphs were recorded whole: nsys profile --cuda-graph-trace=node shows their kernels",
    ),
    "not_read_composite_events": (
        "host",
        "the export's CPU samples are not read: Nsight Systems shows what the host ran",
    ),
    "not_read_osrt_api": (
        "host",
        "the export's calls of the operating system are not read: Nsight Systems shows them",
    ),
}
"""The part of a step that unread events would explain, and a sentence about these events.

A key is the code of the diagnostic that counts the events.
"""
_MANY = 0.2
"""Casts are named if they are this share of all kernels, or take this share of computing."""
_MOST_KINDS = 4
_LONGER = 1.5
"""A recorded step's waits are doubtful if they take this many times a step without the profiler."""
_LEAST_EARLY_NS, _LEAST_OF_KERNELS = 50_000, 0.01
"""Limits above which kernels that begin before their launches are reported.

A share _LEAST_OF_KERNELS of the kernels must begin too early, each by _LEAST_EARLY_NS or more.
Smaller differences between the clocks change no answer. If only few kernels begin too early, their
times may be recorded wrongly.
"""


def facts_of(
    model: TimeModel,
    rank: RankTime,
    limits: Limits,
    launching: str | None,
    caveat: str | None,
) -> list[str]:
    """List facts on code, devices, kernels and the host.

    `launching` is the sentence on functions that launch. `caveat` is the verdict's caveat.
    """
    both, use = limits.work_and_waits, limits.few_sms
    places = () if launching else places_of(model, rank.rank, limits.second)
    facts = (
        *(() if launching else limits.place_of_second(places)),
        None if both is None else both.smaller_part,
        wait_of_idlest(model, rank) if rank.n_devices > 1 else None,
        caveat,
        None if use is None else use.sentence,
        *_kinds_of_work(model.trace, rank),
        *_casts(model, rank),
        launching or _calling_function(model, rank),
        *loaded_once(rank),
        *_of_another_thread(model, rank, limits.last_part, limits.last_where),
    )
    return [fact for fact in facts if fact]


def _kinds_of_work(trace: Trace, rank: RankTime) -> tuple[str, ...]:
    """Name the largest kinds of work in a language model's kernels, with their shares."""
    kinds = language_kinds(trace, rank.rank, LEAST_SHARE)
    words = [
        f"{kind} {share * 100:.0f} %" for kind, share in kinds[:_MOST_KINDS] if share >= LEAST_SHARE
    ]
    return (f"kernels: {', '.join(words)}",) if words else ()


def _casts(model: TimeModel, rank: RankTime) -> tuple[str, ...]:
    """Give the number of kernels that only convert types, if they are many or take long."""
    if rank.is_process:
        return ()
    n_casts, n_kernels, share = count_casts(model, rank.rank)
    if n_casts < _MANY * n_kernels and share < _MANY:
        return ()
    which = f"{n_casts / n_kernels * 100:.0f} % of kernels"
    return (f"{CASTS}: {which}, {share * 100:.0f} % of computing",)


def loaded_once(rank: RankTime) -> tuple[str, ...]:
    """Say that steps after the recorded ones load no code; empty if they may load code."""
    if rank.unprofiled_ns is None or rank.judged_step_ns is None or rank.bound == "loading":
        return ()
    share = rank.shares["loading"]
    # Steps without the profiler follow the recorded steps. If they take no longer than a recorded
    # step without its loading, all code was loaded by then.
    without_ns = rank.judged_step_ns * (1 - share)
    if share < LEAST_SHARE or without_ns < rank.unprofiled_ns:
        return ()
    return (
        "code is loaded in the recorded steps only; later ones, without the profiler, load none",
    )


def _calling_function(model: TimeModel, rank: RankTime) -> str | None:
    """Name the Python function with op calls that take at least half of all op time.

    Return None if there is none, or if calling ops does not limit the process.
    """
    if not rank.is_process or rank.bound != "launch":
        return None
    columns = ("span_id", "parent_id", "kind", "name", "duration_ns")
    spans = model.trace.select("spans", *columns, rank=rank.rank)
    ops = spans.filter(kind="op")
    outermost = ops.join(ops.select(parent_id="span_id"), on="parent_id", how="anti")
    callers = spans.filter(kind="python").select(parent_id="span_id", caller="name")
    called = outermost.join(callers, on="parent_id").group_by("caller")
    times = called.agg(pl.col("duration_ns").sum()).sort("duration_ns", descending=True)
    for caller, ns in times.head(1).iter_rows():
        if 2 * ns >= int(outermost["duration_ns"].sum()):
            return f"most of them are called by {function_text(str(caller))}"
    return None


def _of_another_thread(
    model: TimeModel,
    rank: RankTime,
    bound: str,
    where: str | None,
) -> tuple[str, ...]:
    """Name the Python function that another thread ran during the idle time at `where`.

    The result is empty if no such function is known, or if the host does not limit the rank.
    """
    kinds = model.trace.select("spans", "kind", rank=rank.rank)["kind"]
    if bound not in ("host", "launch") or where is None or not (kinds == "python").any():
        return ()
    name = python_of_another_thread(model, rank.rank, bound, where)
    if name is None:
        return ()
    place = frame_text(re.sub(r"\.py\((\d+)\)", r".py(defined at \1)", name))
    lock = "" if is_wait(where) else "; only one thread at a time can"
    return (f"meanwhile another thread runs Python in {place}{lock}",)


def without_profiler(model: TimeModel, rank: RankTime) -> tuple[str | None, int | None]:
    """Return a sentence on a step without the profiler, and the length of such a step in ns.

    The length is None if it is not known. The sentence then gives another length of a step, such as
    the length of the step's mark on the host. The sentence is None if no other length is known.
    """
    step = unprofiled_steps(model.trace).get(rank.rank)
    sentence = _profiler_cost(model.trace, rank, step) or _replayed_step(rank, step)
    if sentence is not None:
        return sentence, None if step is None else step.unprofiled_ns
    return _profiler_work(rank) or _beside_mark(model, rank), None


def _profiler_cost(trace: Trace, rank: RankTime, step: UnprofiledStep | None) -> str | None:
    """Compare the recorded step with steps that were timed without the profiler.

    Return None if no steps were timed.
    """
    judged_ns = rank.judged_step_ns
    if step is None:
        # Without a replay, the measured time is all that is known.
        step_ns, low_ns, high_ns = measured_range(trace, rank.rank) or (None, None, None)
    else:
        step_ns, low_ns, high_ns = step.unprofiled_ns, step.low_ns, step.high_ns
    is_measured = step is None or step.evidence == "measured"
    if not is_measured or rank.recorded_step_ns is None or judged_ns is None:
        return None
    if step_ns is None or low_ns is None or high_ns is None:
        return None
    plain, recorded = duration(step_ns), duration(rank.recorded_step_ns)
    is_range = duration(low_ns) != duration(high_ns)
    spread = f" ({span_text(low_ns, high_ns)})" if is_range else ""
    words = f"without the profiler a step takes {plain}{spread}, under it {recorded}"
    # The mean and the median differ if one step is long.
    if rank.step_ns is not None and is_another_time(rank.recorded_step_ns, rank.step_ns):
        words += f" on average ({duration(rank.step_ns)} in the median)"
    # Percentages may refer to a third time: the recorded step, less the profiler's known cost.
    judged = duration(judged_ns)
    if judged in (plain, recorded):
        return words
    return f"{words}; percentages are of {judged}, without what it is known to add"


def _replayed_step(rank: RankTime, step: UnprofiledStep | None) -> str | None:
    """Give the length and the largest part of a step without the profiler, as a replay estimates.

    Return None if the estimate's range reaches the recorded length.
    """
    if step is None or step.unprofiled_ns is None or step.low_ns is None or step.high_ns is None:
        return None
    if step.high_ns >= step.recorded_ns:
        return None
    bounds = bounds_of_range(rank, step)
    nouns = PROCESS_WORDS if rank.is_process else PART_WORDS
    limits = (
        "" if bounds is None else "; limited by " + " or by ".join(nouns[part] for part in bounds)
    )
    parts = rank.parts_of_step(step.unprofiled_ns)
    largest = max(parts, key=parts.__getitem__)
    share = parts[largest] / max(sum(parts.values()), 1)
    return (
        f"without the profiler a step takes about {duration(step.unprofiled_ns)}"
        f" ({span_text(step.low_ns, step.high_ns)}), {share * 100:.0f} % of it {nouns[largest]}"
        f"{limits}"
    )


def _profiler_work(rank: RankTime) -> str | None:
    """Give the length of a recorded step if much of it is the profiler's own work."""
    recorded_ns, judged_ns = rank.recorded_step_ns, rank.judged_step_ns
    if recorded_ns is None or judged_ns is None or not is_another_time(recorded_ns, judged_ns):
        return None
    return f"a recorded step took {duration(recorded_ns)}, the profiler's own work included"


def _beside_mark(model: TimeModel, rank: RankTime) -> str | None:
    """Give the length of a step's mark on the host, unless the mark is about as long as a step."""
    marks = mark_times(step_times(model))
    if rank.rank not in marks or rank.step_ns is None:
        return None
    end = "its last op" if rank.is_process else "its last work on the GPU"
    shown = duration(marks[rank.rank])
    return f"on the host a step takes {shown}; here it lasts until {end} is done"


def doubts_of(model: TimeModel, rank: RankTime, *, is_judged: bool) -> tuple[str, ...]:
    """List the doubts about a rank.

    `is_judged` is False if too little is known to judge it.
    """
    trace = model.trace
    return (
        *_slow_host(trace, rank),
        *_waits_beyond_the_step(model, rank),
        *_clocks_differ(trace, rank),
        *_not_shown(trace, rank),
        *_capture(trace),
        *unseen_device(trace, model.processes),
        *incomplete(trace, is_judged=is_judged),
    )


def _slow_host(trace: Trace, rank: RankTime) -> tuple[str, ...]:
    """Warn of a host that was unusually slow at launching while the trace was recorded.

    The result is empty if the host does not limit the rank.
    """
    step = unprofiled_steps(trace).get(rank.rank)
    if step is None or not step.was_slow or rank.bound not in SLOWED:
        return ()
    factor = f"{step.slowness:.1f} times as long as usual"
    sentence = (
        f"the host was slow while it recorded: its launches took {factor}; ranges of a step"
        " allow for a host that is slow only then"
    )
    return (sentence,)


def _waits_beyond_the_step(model: TimeModel, rank: RankTime) -> tuple[str, ...]:
    """Warn if waits of a recorded step exceed a whole step without the profiler."""
    if rank.unprofiled_ns is None:
        return ()
    places = model.idle.filter(rank=rank.rank).group_by("what").agg(pl.col("idle_ns").sum())
    waits = sum(
        ns
        for what, ns in places.drop_nulls("what").iter_rows()
        if is_wait(str(what)) or WORKERS in str(what)
    )
    # Such waits take no longer under a profiler. But before the steps without it, the program
    # paused while the trace was written. Queues filled meanwhile, so these steps waited less.
    waits_ns = waits / (rank.n_steps * rank.n_devices)
    if waits_ns < _LONGER * rank.unprofiled_ns:
        return ()
    sentence = (
        f"a recorded step waits {duration(waits_ns)}, but a whole step without the profiler took"
        f" {duration(rank.unprofiled_ns)}: such steps were timed after a pause, in which queues"
        " fill, so they hardly wait"
    )
    return (sentence,)


def _clocks_differ(trace: Trace, rank: RankTime) -> tuple[str, ...]:
    """Warn if some kernels begin before their launches: the clocks are wrong then."""
    kernels = trace.select("kernels", "rank", "api_call_id", "start_ns", rank=rank.rank)
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns", rank=rank.rank)
    rows = rows_of(
        calls["rank"],
        calls["api_call_id"],
        kernels.select("rank", "api_call_id"),
    )
    early_ns = calls["start_ns"].gather(rows) - kernels["start_ns"]
    times = early_ns.filter(early_ns >= _LEAST_EARLY_NS).to_list()
    if len(times) <= max(_LEAST_OF_KERNELS * kernels.height, 1):
        return ()
    sentence = (
        f"kernels begin up to {duration(max(times))} before the calls that launch them, so the"
        " clocks of host and GPU differ: what the GPU waits for is uncertain"
    )
    return (sentence,)


def _capture(trace: Trace) -> tuple[str, ...]:
    """Warn of a trace that holds only the capture of graphs and their warm-up."""
    if not is_capture(trace):
        return ()
    n_kernels = counted(sum(count_captured(trace).values()), "kernel")
    return (f"this is a capture of CUDA graphs of {n_kernels}, not a run: what ran is its warm-up",)


def _not_shown(trace: Trace, rank: RankTime) -> tuple[str, ...]:
    """Name data in the source that tracelens does not read, if it would explain the bound."""
    codes = trace.select("diagnostics", "code", "count").filter(pl.col("count") > 0)["code"]
    parts = {rank.bound, rank.beside_computing}
    return tuple(
        text for code, (part, text) in _NOT_SHOWN.items() if part in parts and (codes == code).any()
    )


def incomplete(trace: Trace, *, is_judged: bool = True) -> tuple[str, ...]:
    """Warn that a trace is incomplete.

    With `is_judged`, also say that only the recorded part is judged.
    """
    if trace.manifest.complete:
        return ()
    return (f"the trace is incomplete{'; this judges the part that is there' * is_judged}",)


def next_sections(rank: RankTime, bound: str) -> tuple[str, ...]:
    """Return the sections of the report that explain the bound, most useful first."""
    if rank.is_process:
        return ("top_ops",) if bound == "compute" else ("idle_gaps",)
    return _SECTIONS.get(bound, ("idle_gaps",))
