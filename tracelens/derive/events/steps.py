"""Find the steps of a program: the spans that mark them, and how long each took."""

import polars as pl

from tracelens.derive.columns.interval_lookup import during
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.events.capture_edges import CALLS, CaptureEdges
from tracelens.derive.events.serving_marks import around_batches, batches
from tracelens.errors import UsageError

FAMILIES = {
    "profiler": r"^ProfilerStep#(\d+)$",
    "annotation": (
        r"(?i)^(?:(?:train(?:ing)?|test|val(?:idation)?|eval)[ _-]?)?(?:step|iter(?:ation)?)["
        r" _#:-]*(\d+)$"
    ),
    "server": r"^(?:execute_\w|step\[|(?:prefill|decode)\[bs=|\[Executor\] _forward_step)",
}
"""Patterns of names that mark steps, outermost first.

They match torch's own marks, programs' own, and batches of vLLM, SGLang and TensorRT-LLM.
"""
_OF_SERVERS = [*FAMILIES].index("server")

STEP_NAME = "|".join(f"(?:{FAMILIES[family]})" for family in ("profiler", "annotation"))
"""Names of marks that contain the step's number."""

_MARKS = {
    "process_id": pl.Int64,
    "thread_id": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "until_ns": pl.Int64,
    "step": pl.Int64,
    "window": pl.Int64,
    "name": pl.String,
}
_MAX_DIGITS = 18


def find_marks(spans: pl.DataFrame, pattern: str | None = None) -> pl.DataFrame:
    """Return the marks of steps in spans, sorted by start.

    Spans have process_id, thread_id, kind, name, start_ns and duration_ns. There is one row per
    mark: process_id, thread_id, start_ns, end_ns, until_ns, step, window, name. until_ns is the
    begin of the process's next mark; for a window's last mark, its own end. A window is a run of
    steps with consecutive numbers. The first family of FAMILIES with at least two marks is used. Of
    nested marks, the outer ones are used; SGLang's forward passes are replaced by the batch around
    them. A step has the number in its mark's name. If no name has one, or a process uses one twice,
    marks are counted from 0. `pattern` replaces the known marks, for spans of any kind; its first
    group, if any, is the number.
    """
    chosen = _chosen(_named(spans, pattern))
    if pattern is None and chosen["family"].is_in([_OF_SERVERS]).any():
        chosen = around_batches(chosen, spans)
    return _windows(_numbered(chosen)).select(
        pl.col(name).cast(dtype) for name, dtype in _MARKS.items()
    )


def mark_steps(frame: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with `step`: the step of the process's last mark to begin before start_ns.

    The step is None before the first mark, and after the end of a window's last mark. If marks of
    several threads overlap, the one that begins later counts.
    """
    until_next_mark = marks.with_columns(end_ns="until_ns")
    return during(frame, until_next_mark, "step", pl.Int64)


def list_steps(
    marks: pl.DataFrame,
    ends: pl.DataFrame,
    loose: pl.DataFrame,
) -> pl.DataFrame:
    """List the steps by start: step, name, start_ns, duration_ns, host_ns, mark_ns, window.

    A step ends when the host has begun the next one and the device has finished the work launched
    before, whichever is later. A window's first step begins with its mark, or when earlier work
    ends. A window's last step ends with its own mark, or with the last device work launched in it.
    `ends` (step, end_ns) lists the ends of device work launched in steps. `loose` (launch_ns,
    end_ns) lists the ends of work launched outside of steps; launch_ns is None if the launch came
    before the trace began.
    """
    start_ns = pl.col("start_ns")
    end_ns = pl.col("end_ns")
    window = pl.col("window")
    end = pl.col("end")
    one_each = marks.group_by("step", maintain_order=True).agg(
        pl.col("name", "window").first(),
        start_ns.min(),
        pl.col("end_ns", "until_ns").max(),
    )
    mark_ns = end_ns - start_ns
    by_start = one_each.sort("start_ns", "step")
    steps = by_start.with_columns(mark_ns=mark_ns)
    is_new_window = window != window.shift(-1)
    is_last = is_new_window.fill_null(value=True)
    latest_end = end_ns.max().alias("done")
    last_end = ends.group_by("step").agg(latest_end)
    next_start = start_ns.shift(-1)
    steps = steps.join(last_end, on="step", how="left", maintain_order="left").with_columns(
        is_last=is_last,
        host_end=pl.when(is_last).then("end_ns").otherwise(next_start),
    )
    before = _done_by(loose, steps["start_ns"])
    done_by_order = _done_by(loose, steps["host_end"])
    done = pl.max_horizontal("done", done_by_order).cum_max().forward_fill()
    latest_so_far = pl.max_horizontal("host_end", done).cum_max()
    steps = steps.with_columns(end=latest_so_far)
    begins = pl.max_horizontal("start_ns", before, end.shift(1))
    host_ns = pl.col("host_end") - start_ns
    return steps.select(
        "step",
        "name",
        start_ns=begins,
        duration_ns=end - begins,
        host_ns=host_ns,
        mark_ns="mark_ns",
        window="window",
    )


class StepTimes:
    """Builds the table of steps from tables of linked device work, which are added one by one."""

    def __init__(self, marks: pl.DataFrame, calls: pl.DataFrame) -> None:
        """Take the marks and the API calls (api, kind, start_ns, duration_ns) by api_call_id."""
        self._marks = marks
        self._call_starts = calls["start_ns"]
        read_calls = calls.select(name for name in CALLS if name != "api_call_id")
        self._edges = CaptureEdges(read_calls.with_row_index("api_call_id"))
        self._ends = [pl.DataFrame(schema={"step": pl.Int64, "end_ns": pl.Int64})]
        self._loose = [pl.DataFrame(schema={"launch_ns": pl.Int64, "end_ns": pl.Int64})]
        self._kernel_starts: list[pl.Series] = []

    def take(self, name: str, work: pl.DataFrame) -> None:
        """Add the work of a table.

        Columns: step, start_ns, duration_ns, api_call_id, link, device_id and stream_id.
        """
        if not self._marks.height:
            return
        self._edges.take(work)
        start_ns = pl.col("start_ns")
        end = start_ns.cast(pl.Int64) + pl.col("duration_ns")
        ends = work.select("step", end_ns=end)
        latest_end = pl.col("end_ns").max()
        self._ends.append(ends.drop_nulls("step").group_by("step").agg(latest_end))
        rows = ends["step"].is_null().arg_true()
        loose = work.select("start_ns", "api_call_id", "link")[rows]
        call_starts = self._call_starts.gather(loose["api_call_id"])
        launched = call_starts.cast(pl.Int64)
        # Work without a call was launched before the trace, or counts as launched when it started.
        is_earlier = pl.col("link") == "pre_window"
        unknown = pl.when(is_earlier).then(None).otherwise(start_ns.cast(pl.Int64))
        launch_ns = loose.select(
            pl.when(launched.is_null()).then(unknown).otherwise(launched)
        ).to_series()
        self._loose.append(
            pl.DataFrame([launch_ns.alias("launch_ns"), ends["end_ns"].gather(rows)])
        )
        if name == "kernels":
            self._kernel_starts.append(work["start_ns"])

    def take_waits(self, waits: pl.DataFrame) -> None:
        """Add waits that the driver recorded, see `CaptureEdges`."""
        self._edges.take_waits(waits)

    def steps(self) -> pl.DataFrame:
        """Return the table of steps without the rank.

        It has no columns if no span marks steps.
        """
        if not self._marks.height:
            return pl.DataFrame()
        earlier_end = self._edges.unrecorded_end()
        later_start = self._edges.later_start()
        unrecorded = {"launch_ns": [None], "end_ns": [earlier_end]}
        without_calls = pl.DataFrame(unrecorded, schema=self._loose[0].schema)
        loose = without_calls.drop_nulls("end_ns")
        listed = list_steps(
            self._marks,
            pl.concat(self._ends, how="vertical_relaxed"),
            pl.concat([*self._loose, loose], how="vertical_relaxed"),
        )
        listed = _until(listed, later_start)
        starts = (
            pl.concat(self._kernel_starts).sort()
            if self._kernel_starts
            else pl.Series([], dtype=pl.Int64)
        )
        end = pl.col("start_ns") + pl.col("duration_ns")
        edges = listed.select("start_ns", end=end)
        first, after = (
            starts.search_sorted(edges[edge]).cast(pl.Int64) for edge in ("start_ns", "end")
        )
        listed = listed.with_columns(n_kernels=after - first)
        read_marks = batches(listed["name"])
        return pl.concat([listed, read_marks], how="horizontal")


def _until(steps: pl.DataFrame, moment: int | None) -> pl.DataFrame:
    """Cut the steps off at the moment; steps that begin later get length 0."""
    if moment is None:
        return steps
    start = pl.col("start_ns")
    end = pl.col("start_ns") + pl.col("duration_ns")
    begins = start.clip(upper_bound=moment)
    end_in_window = end.clip(upper_bound=moment)
    return steps.with_columns(start_ns=begins, duration_ns=end_in_window - begins)


def _done_by(work: pl.DataFrame, moments: pl.Series) -> pl.Series:
    """Return the latest end of work (launch_ns, end_ns) that was launched before each moment.

    Return None if there is no such work.
    """
    ordered = work.sort("launch_ns", nulls_last=False)
    reached = ordered["end_ns"].cum_max()
    launch_ns = ordered["launch_ns"].fill_null(-(2**63))
    n_launched = launch_ns.search_sorted(moments, side="left").cast(pl.Int64)
    last_launched = (n_launched - 1).set(n_launched == 0, None)
    return reached.gather(last_launched).alias("done_by")


def _named(spans: pl.DataFrame, pattern: str | None) -> pl.DataFrame:
    """Return the spans whose names mark steps.

    Columns: process_id, thread_id, start_ns, end_ns, name, number (text), family. Raises UsageError
    if `pattern` is not a regular expression.
    """
    families = [*FAMILIES.values()] if pattern is None else [pattern]
    spans = spans.filter(pl.col("kind").is_in(["annotation", "nvtx"])) if pattern is None else spans
    try:
        marks = each_once(spans["name"], lambda name: _by_name(name, families)).struct.unnest()
    except pl.exceptions.ComputeError as error:
        reason = str(error).splitlines()[-1].removeprefix("error: ")
        raise UsageError(
            f"{pattern!r} is not a regular expression for the names of steps: {reason}; "
            r"say one such as --step 'train_step (\d+)'"
        ) from error
    end = pl.col("start_ns").cast(pl.Int64) + pl.col("duration_ns")
    place = pl.col("process_id", "thread_id", "start_ns").cast(pl.Int64)
    columns = spans.select(
        place,
        end_ns=end,
        name="name",
    )
    is_mark = marks["family"].is_not_null()
    return pl.concat(
        [columns.filter(is_mark), marks.filter(is_mark)],
        how="horizontal",
    ).with_columns(
        pl.col("name").cast(pl.String),
        pl.col("number").cast(pl.String),
    )


def _by_name(name: pl.Expr, families: list[str]) -> pl.Expr:
    """Return the index of the first pattern that a name matches, as `family`.

    Also return the digits that the pattern captures, as `number`.
    """
    family = pl.coalesce(
        pl.when(name.str.contains(words)).then(pl.lit(place, pl.UInt8))
        for place, words in enumerate(families)
    )
    number = pl.coalesce(
        (
            name.str.extract(words).str.extract(r"^(\d+)$")
            if pl.select(pl.lit("").str.extract_groups(words))
            .to_series()
            .struct.fields  # if the pattern has a group
            else pl.lit(None, pl.String)
        )
        for words in families
    )
    # A number too large for an integer is not a count of steps.
    too_long = number.str.len_bytes() > _MAX_DIGITS
    is_too_long = too_long.fill_null(value=False)
    return pl.struct(
        family=pl.when(is_too_long).then(None).otherwise(family),
        number=number.fill_null(""),
    )


def _chosen(found: pl.DataFrame) -> pl.DataFrame:
    """Return the marks of one family, without those inside another mark of their thread.

    If the outer marks all share one number and start, the inner ones are returned instead.
    """
    candidates = []
    families = found.partition_by("family", as_dict=True)
    for _, family in sorted(families.items()):
        ordered = family.sort(
            "process_id",
            "thread_id",
            "start_ns",
            "end_ns",
            descending=[False, False, False, True],
        )
        end_ns = pl.col("end_ns")
        end_of_earlier = end_ns.cum_max().shift(1)
        reached = end_of_earlier.over("process_id", "thread_id")
        is_inner = (end_ns <= reached).fill_null(value=False)
        candidates += [ordered.filter(~is_inner), ordered.filter(is_inner)]
    several = [
        marks
        for marks in candidates
        if marks.select(pl.struct("number", "start_ns").n_unique()).item() > 1
    ]
    whole = [marks for marks in candidates if marks.height]
    return (several or whole or [found])[0].sort("start_ns", "end_ns")


def _numbered(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the marks with `step`, and with `stated`, the number in their name.

    Consecutive marks with one number in one process become one mark.
    """
    number = pl.col("number")
    stated_number = pl.when(number != "").then(number)
    stated = stated_number.cast(pl.Int64)
    marks = marks.with_columns(stated=stated).sort("process_id", "start_ns", "end_ns")
    # Consecutive marks with the same number are one step, which several threads may mark.
    differs = pl.col("stated") != pl.col("stated").shift(1)
    is_new = differs.fill_null(value=True)
    place = is_new.cum_sum().over("process_id") - 1
    marks = marks.with_columns(place=place.cast(pl.Int64))
    by_place = marks.group_by("process_id", "place", maintain_order=True)
    from_first = pl.col("thread_id", "start_ns", "stated", "name").first()
    marks = by_place.agg(from_first, pl.col("end_ns").max())
    repeats = (
        marks["stated"].has_nulls() or marks.select("process_id", "stated").is_duplicated().any()
    )
    return marks.with_columns(step=pl.col("place" if repeats else "stated"))


def _windows(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the marks, by start, with `window` and `until_ns`.

    A window is a run of marks whose stated numbers count up by one, numbered within the process.
    `until_ns` is the start of the window's next mark, or the end of its last one.
    """
    stated = pl.col("stated")
    is_next_number = stated == stated.shift(1) + 1
    follows = stated.is_null() | is_next_number
    begins_window = (~follows).fill_null(value=False)
    window = (begins_window.cum_sum()).over("process_id")
    ordered = marks.sort("process_id", "start_ns")
    marks = ordered.with_columns(window=window)
    next_start = pl.col("start_ns").shift(-1)
    following = next_start.over("process_id", "window")
    until_ns = following.fill_null(pl.col("end_ns"))
    return marks.with_columns(until_ns=until_ns).sort("start_ns", "step")
