"""List the facts with which a page opens: program, machine, steps, and the profiler's cost."""

from collections import Counter
from collections.abc import Sequence

import polars as pl

from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.time.time_parts import TimeModel, mark_times, step_times
from tracelens.trace import Trace

_UNKNOWN_COST = (
    "not measured: only a live capture (tracelens collect torch -- COMMAND) times steps without the"
    " profiler"
)


def card(model: TimeModel) -> list[tuple[str, str]]:
    """List pairs of a word and its text; facts that the trace lacks are left out."""
    trace = model.trace
    sources = trace.manifest.sources
    versions = {
        f"{k.replace('_', ' ')} {v}": None
        for source in sources
        for k, v in source.get("versions", {}).items()
    }
    producers = {str(source["producer"]): None for source in sources if source.get("producer")}
    facts = [
        ("program", trace.name),
        ("captured by", ", ".join(producers)),
        ("GPU", _devices(trace)),
        ("versions", ", ".join(versions)),
        ("ranks", _numbers(trace.manifest.ranks)),
        *_steps(model),
    ]
    return [(word, text) for word, text in facts if text]


def _devices(trace: Trace) -> str:
    """Name the GPUs that ran kernels, for all ranks together."""
    used = trace.select("kernels", "rank", "device_id").unique()
    names = trace.devices.join(used, on=["rank", "device_id"], how="semi").sort(
        "rank", "device_id"
    )["name"]
    counts = Counter(names.fill_null("unknown"))
    return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in counts.items())


def _steps(model: TimeModel) -> list[tuple[str, str]]:
    """Say how many steps there are, how long they take, and what the profiler adds.

    The length of a step's mark is given, too, if it is shorter than the step.
    """
    trace = model.trace
    times = step_times(model)
    if times.is_empty():
        return [("steps", "none marked" if trace.has("spans") or trace.has("kernels") else "")]
    numbers = sorted({int(n) for n in times["n_steps"]})
    steps = ("steps", " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1])))))
    middle, low, high = times.select(
        pl.col("median_ns").median(), pl.col("low_ns").min(), pl.col("high_ns").max()
    ).row(0)
    text = f"{duration(middle)} in the median; {span_text(low, high)}"
    plain = {rank: trace.manifest.unprofiled_step_ns(rank) for rank in times["rank"]}
    known = [
        (row["mean_ns"], plain[row["rank"]])
        for row in times.iter_rows(named=True)
        if plain[row["rank"]] is not None
    ]
    costs = [(with_it - without) / without for with_it, without in known if without]
    cost = _UNKNOWN_COST
    if costs:
        slowest = max(costs)
        without_ns = known[costs.index(slowest)][1] or 0
        cost = f"{slowest:.0%} of a step: {duration(without_ns)} without it"
    marks = sorted(mark_times(times).values())
    mark = f"{duration(marks[len(marks) // 2])} on the host, which a viewer shows" if marks else ""
    return [steps, ("step time", text), ("a step's mark", mark), ("profiler's cost", cost)]


def _numbers(ranks: Sequence[int]) -> str:
    """Give the number of ranks, and which they are; empty for one."""
    if len(ranks) < 2:
        return ""
    whole = [*ranks] == [*range(ranks[0], ranks[-1] + 1)]
    return f"{len(ranks)} ({ranks[0]} to {ranks[-1]})" if whole else f"{len(ranks)}"
