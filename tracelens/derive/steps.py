"""Which step of the program, and which part of it, a moment or a span belongs to."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from tracelens.derive.ancestry import nearest
from tracelens.derive.distinct import each_once
from tracelens.derive.lookup import held

STEP_NAME = r"^(?:ProfilerStep#|step )(\d+)$"

_MARKERS = (
    (
        "backward",
        r"^autograd::engine::evaluate_function|^CompiledFunctionBackward|^## Call CompiledFxGraph .* backward",
    ),
    ("optimizer", r"^Optimizer\.(?:step|zero_grad)#"),
)
_ANNOTATIONS = (("forward", r"(?i)\bforward\b"), ("backward", r"(?i)\bbackward\b"), ("optimizer", r"(?i)\boptimizer\b"))
_PHASES = ("forward", "backward", "optimizer", "other")
_OTHER = r"(?i)^\W*(?:h2d|data|dataloader|loss)\W*$|^enumerate\(DataLoader\)"


def step_intervals(spans: pl.DataFrame) -> pl.DataFrame:
    """process_id, start_ns, end_ns, step of every step the program or profiler marked, sorted by start."""
    return (
        spans.filter(pl.col("kind").is_in(["annotation", "nvtx"]))
        .select(
            "process_id",
            "start_ns",
            end_ns=pl.col("start_ns") + pl.col("duration_ns"),
            step=pl.col("name").cast(pl.String).str.extract(STEP_NAME).cast(pl.Int64, strict=False),
        )
        .drop_nulls("step")
        .sort("start_ns")
    )


def mark_steps(frame: pl.DataFrame, intervals: pl.DataFrame) -> pl.DataFrame:
    """The frame with `step`: the step of its process that was under way at start_ns; null outside any."""
    return _during(frame, intervals, "step", pl.Int64)


def _during(
    frame: pl.DataFrame, intervals: pl.DataFrame, label: str, dtype: pl.DataType | type[pl.DataType]
) -> pl.DataFrame:
    """The frame with the label of the interval of its process that was under way at start_ns, of several the latest."""
    if not intervals.height or not frame.height:
        return frame.with_columns(pl.lit(None, dtype).alias(label))
    pieces = _pieces(intervals, label)
    asked = frame.select(pl.col("process_id").cast(pl.Int64), "start_ns")
    order = None if asked["start_ns"].is_sorted() else asked["start_ns"].arg_sort()
    ordered = asked if order is None else asked[order]
    processes = {
        edge for column in (asked["process_id"], pieces["process_id"]) for edge in (column.min(), column.max())
    }
    if len(processes) == 1:
        # Rows that need not be told apart are counted, not looked at: a tenth of the time.
        found = _runs(ordered["start_ns"], pieces, label)
    else:
        joined = ordered.join_asof(pieces, on="start_ns", by="process_id", check_sortedness=False)
        is_in = pl.col("start_ns") < pl.col("end_ns")
        found = joined.select(pl.when(is_in).then(pl.col(label)).alias(label)).to_series()
    return frame.with_columns(found if order is None else found.gather(order.arg_sort()))


def _runs(starts: pl.Series, pieces: pl.DataFrame, label: str) -> pl.Series:
    """The label of the piece that each of the sorted moments lies in, null outside: as many times as there are."""
    first, after = (starts.search_sorted(pieces[edge]).cast(pl.Int64) for edge in ("start_ns", "end_ns"))
    within = pl.DataFrame({label: pieces[label], "at": first, "n": after - first})
    before = pl.DataFrame({"at": after.shift(1, fill_value=0), "n": first - after.shift(1, fill_value=0)})
    last = int(after[-1])
    rest = pl.DataFrame({"at": [last], "n": [len(starts) - last]})
    # What lies before a piece comes first where that is nothing.
    runs = pl.concat([before, rest, within], how="diagonal").filter(pl.col("n") > 0).sort("at")
    return held(runs[label].shrink_dtype(), runs["at"], len(starts))


def _pieces(intervals: pl.DataFrame, label: str) -> pl.DataFrame:
    """Disjoint pieces of time sorted by start, each with the label of the latest-started interval then under way.

    Intervals nest (a loop's own `step 0` inside ProfilerStep#3), so after an inner one the outer one goes on.
    """
    intervals = intervals.with_columns(pl.col("process_id").cast(pl.Int64))
    ordered = intervals.filter(pl.col("end_ns") > pl.col("start_ns"))
    ordered = ordered.sort("process_id", "start_ns", "end_ns", descending=[False, False, True])
    columns = ordered.select("process_id", "start_ns", "end_ns", label)
    is_apart = (pl.col("start_ns") >= pl.col("end_ns").shift()) | pl.col("process_id").diff().ne(0)
    if columns.select(is_apart.all()).item():
        return columns.sort("start_ns")
    pieces: list[tuple[int, int, int, object]] = []
    for (process,), group in ordered.group_by("process_id", maintain_order=True):
        under_way: list[tuple[int, object]] = []
        cursor = 0
        for start, end, word in [*group.select("start_ns", "end_ns", label).iter_rows(), (None, None, None)]:
            while under_way and (start is None or under_way[-1][0] <= start):
                over, its = under_way.pop()
                if over > cursor:
                    pieces.append((process, cursor, over, its))
                    cursor = over
            if start is None:
                break
            if under_way and start > cursor:
                pieces.append((process, cursor, start, under_way[-1][1]))
            under_way.append((end, word))
            cursor = start
    return pl.DataFrame(
        pieces, schema=intervals.select("process_id", "start_ns", "end_ns", label).schema, orient="row"
    ).sort("start_ns")


def mark_phases(spans: pl.DataFrame, parent: pl.Series) -> pl.Series:
    """The phase of each span: its own marker's or nearest ancestor's, else the annotation that was open at its start.

    Markers: autograd's evaluate_function and compiled backward graphs, Optimizer.step and zero_grad, annotations and
    NVTX ranges that say forward, backward or optimizer, and module calls (forward).
    """
    kind = pl.col("kind")
    said = kind.is_in(["annotation", "nvtx"])
    own = pl.coalesce(
        "marked",
        pl.when((pl.col("forward_thread_id") > 0) & (kind == "op")).then(_code("backward")),
        pl.when(said).then("annotated"),
        pl.when((kind == "module") | pl.col("is_compiled")).then(_code("forward")),
    )
    names = each_once(spans["name"], _by_name).struct.unnest()
    marked = spans.select("kind", "forward_thread_id", *names).select(phase=own, said=said)
    inherited = nearest(parent, marked["phase"])
    times = spans.select("process_id", "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns"))
    annotations = times.with_columns(marked["phase"]).filter(marked["said"] & marked["phase"].is_not_null())
    lost = inherited.is_null().arg_true()
    open_then = _during(times[lost].select("process_id", "start_ns"), annotations, "phase", pl.UInt8)["phase"]
    return pl.Series("phase", _PHASES).cast(pl.Categorical).gather(inherited.scatter(lost, open_then))


def _by_name(name: pl.Expr) -> pl.Expr:
    """What a name says: the phase it marks, the phase it is if an annotation's, and if it is a compiled region's."""
    return pl.struct(
        marked=_first(name, _MARKERS),
        annotated=_first(name, (*_ANNOTATIONS, ("other", _OTHER))),
        is_compiled=name.str.contains(r"^Torch-Compiled Region|^CompiledFunction$"),
    )


def _first(name: pl.Expr, rules: Iterable[tuple[str, str]]) -> pl.Expr:
    """The number of the first phase whose pattern is found."""
    return pl.coalesce(pl.when(name.str.contains(pattern)).then(_code(phase)) for phase, pattern in rules)


def _code(phase: str) -> pl.Expr:
    """The phase's number, narrow: it goes up and down the whole tree of spans."""
    return pl.lit(_PHASES.index(phase), pl.UInt8)
