"""Find the steps of a program: the spans that mark them, and how long each took."""

from itertools import chain

import polars as pl

from tracelens.derive.columns.filling import gathered
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
"""Patterns of names that mark steps, outermost first."""
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
_ENDS = {"step": pl.Int64, "end_ns": pl.Int64}
"""Columns of the ends of device work launched in steps."""
_LOOSE = {"launch_ns": pl.Int64, "end_ns": pl.Int64}
"""Columns of the ends of work launched outside of steps."""


def find_marks(spans: pl.DataFrame, pattern: str | None = None) -> pl.DataFrame:
    """Return the marks of steps in spans, sorted by start.

    - `process_id`, `thread_id`, `start_ns`, `end_ns`, `name`
    - `step`: the number in the name. If a name has no number, or if a process uses a number twice,
      all marks are counted from 0.
    - `window`: number of the window. A window is a process's marks with consecutive step numbers.
    - `until_ns`: start of the next mark in the window. The last mark in a window has its own end.

    Spans have process_id, thread_id, kind, name, start_ns and duration_ns. With `pattern`, a span
    of any kind is a mark if its name matches. The pattern's first group, if any, is the number.
    """
    chosen = _chosen(_named(spans, pattern))
    is_of_server = chosen["family"].is_in([_OF_SERVERS])
    if pattern is None and is_of_server.any():
        chosen = around_batches(chosen, spans)
    marks = _windows(_numbered(chosen))
    columns = []
    for name, dtype in _MARKS.items():
        column = pl.col(name)
        columns.append(column.cast(dtype))
    return marks.select(columns)


def mark_steps(frame: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with `step`: the step of the process's last mark to begin before start_ns.

    The step is None before the first mark, and after the end of a window's last mark.
    """
    until_next_mark = marks.with_columns(end_ns="until_ns")
    return during(frame, until_next_mark, "step", pl.Int64)


def list_steps(
    marks: pl.DataFrame,
    ends: pl.DataFrame,
    loose: pl.DataFrame,
) -> pl.DataFrame:
    """List the steps: step, name, start_ns, duration_ns, host_ns, mark_ns, window, sorted by start.

    A step ends when the next one begins on the host and earlier work has ended on the device.

    - `ends`: end_ns of device work launched in each step
    - `loose`: launch_ns and end_ns of work launched outside of steps. launch_ns is None for a
      launch before the trace.
    """
    start_ns = pl.col("start_ns")
    end_ns = pl.col("end_ns")
    window = pl.col("window")
    end = pl.col("end")
    by_step = marks.group_by("step", maintain_order=True)
    one_each = by_step.agg(
        pl.col("name", "window").first(),
        start_ns.min(),
        pl.col("end_ns", "until_ns").max(),
    )
    by_start = one_each.sort("start_ns", "step")
    ends_of_step = ends.group_by("step")
    last_ends = ends_of_step.agg(done=end_ns.max())
    with_work = by_start.join(
        last_ends,
        on="step",
        how="left",
        maintain_order="left",
    )
    is_new_window = window != window.shift(-1)
    is_last = is_new_window.fill_null(value=True)
    next_start = start_ns.shift(-1)
    # A window's last step ends with its own mark, or with the last device work launched in it.
    host_end = pl.when(is_last).then("end_ns").otherwise(next_start)
    steps = with_work.with_columns(host_end=host_end)
    before = _done_by(loose, steps["start_ns"])
    done_by_order = _done_by(loose, steps["host_end"])
    latest_done = pl.max_horizontal("done", done_by_order)
    done = latest_done.cum_max().forward_fill()
    latest_end = pl.max_horizontal("host_end", done)
    with_end = steps.with_columns(end=latest_end.cum_max())
    end_of_previous = end.shift(1)
    # A window's first step begins with its mark, or when earlier work ends.
    begins = pl.max_horizontal("start_ns", before, end_of_previous)
    return with_end.select(
        "step",
        "name",
        start_ns=begins,
        duration_ns=end - begins,
        host_ns=pl.col("host_end") - start_ns,
        mark_ns=end_ns - start_ns,
        window="window",
    )


class StepTimes:
    """Builds the table of steps from tables of linked device work, added one by one."""

    def __init__(self, marks: pl.DataFrame, calls: pl.DataFrame) -> None:
        """Take the marks and the API calls (api, kind, start_ns, duration_ns) by api_call_id."""
        self._marks = marks
        self._call_starts = calls["start_ns"]
        read_calls = calls.select(name for name in CALLS if name != "api_call_id")
        every_call = read_calls.with_row_index("api_call_id")
        self._edges = CaptureEdges(
            lambda where: every_call if where is None else every_call.filter(where)
        )
        self._ends = [pl.DataFrame(schema=_ENDS)]
        self._loose = [pl.DataFrame(schema=_LOOSE)]
        self._kernel_starts: list[pl.Series] = []

    def take(self, name: str, work: pl.DataFrame) -> None:
        """Add the device work of the table `name`.

        Columns: step, start_ns, duration_ns, api_call_id, link, device_id and stream_id.
        """
        if not self._marks.height:
            return
        self._edges.take(work)
        start_ns = pl.col("start_ns").cast(pl.Int64)
        end = start_ns + pl.col("duration_ns")
        ends = work.select("step", end_ns=end)
        by_step = ends.drop_nulls("step").group_by("step")
        latest_end = pl.col("end_ns").max()
        self._ends.append(by_step.agg(latest_end))
        rows = ends["step"].is_null().arg_true()
        loose = work.select("start_ns", "api_call_id", "link")[rows]
        call_starts = gathered(self._call_starts, loose["api_call_id"])
        start_of_call = call_starts.cast(pl.Int64)
        # Work without a call was launched before the trace, or counts as launched when it started.
        is_earlier = pl.col("link") == "pre_window"
        start_without_call = pl.when(is_earlier).then(None).otherwise(start_ns)
        launch_ns = pl.coalesce(start_of_call, start_without_call)
        launches = loose.select(launch_ns=launch_ns)
        ends_of_loose = gathered(ends["end_ns"], rows)
        self._loose.append(launches.with_columns(ends_of_loose))
        if name == "kernels":
            self._kernel_starts.append(work["start_ns"])

    def take_waits(self, waits: pl.DataFrame) -> None:
        """Add recorded waits of streams: kind, device_id, stream_id, start_ns, duration_ns."""
        self._edges.take_waits(waits)

    def steps(self) -> pl.DataFrame:
        """Return the table of steps without the rank.

        It has no columns if no span marks steps.
        """
        if not self._marks.height:
            return pl.DataFrame()
        earlier_end = self._edges.unrecorded_end()
        later_start = self._edges.later_start()
        loose = [*self._loose]
        if earlier_end is not None:
            unrecorded = {"launch_ns": [None], "end_ns": [earlier_end]}
            loose.append(pl.DataFrame(unrecorded, schema=_LOOSE))
        listed = list_steps(
            self._marks,
            pl.concat(self._ends, how="vertical_relaxed"),
            pl.concat(loose, how="vertical_relaxed"),
        )
        steps = _until(listed, later_start)
        n_kernels = self._n_kernels(steps)
        with_kernels = steps.with_columns(n_kernels)
        read_marks = batches(steps["name"])
        return with_kernels.hstack(read_marks)

    def _n_kernels(self, steps: pl.DataFrame) -> pl.Series:
        """Return the number of kernels that start in each step."""
        no_kernels = pl.Series([], dtype=pl.Int64)
        columns = self._kernel_starts or [no_kernels]
        starts = pl.concat(columns).sort()
        step_starts = steps["start_ns"]
        step_ends = step_starts + steps["duration_ns"]
        n_before = starts.search_sorted(step_starts).cast(pl.Int64)
        n_until_end = starts.search_sorted(step_ends).cast(pl.Int64)
        n_within = n_until_end - n_before
        return n_within.alias("n_kernels")


def _until(steps: pl.DataFrame, moment: int | None) -> pl.DataFrame:
    """Cut the steps off at the moment; steps that begin later get length 0."""
    if moment is None:
        return steps
    start = pl.col("start_ns")
    end = start + pl.col("duration_ns")
    start_before = start.clip(upper_bound=moment)
    end_before = end.clip(upper_bound=moment)
    duration_before = end_before - start_before
    return steps.with_columns(start_ns=start_before, duration_ns=duration_before)


def _done_by(work: pl.DataFrame, moments: pl.Series) -> pl.Series:
    """Return, for each moment, when all work that was launched before the moment is done.

    The result is None if no work was launched before. `work` has launch_ns and end_ns.
    """
    ordered = work.sort("launch_ns", nulls_last=False)
    reached = ordered["end_ns"].cum_max()
    before_all = -(2**63)
    launch_ns = ordered["launch_ns"].fill_null(before_all)
    n_launched = launch_ns.search_sorted(moments, side="left")
    row = n_launched.cast(pl.Int64) - 1
    last_launched = row.set(row < 0, None)
    return gathered(reached, last_launched).alias("done_by")


def _named(spans: pl.DataFrame, pattern: str | None) -> pl.DataFrame:
    """Return the spans with names that mark steps.

    Columns: process_id, thread_id, start_ns, end_ns, name, number (text), family. Raises UsageError
    if `pattern` is not a regular expression.
    """
    families = [*FAMILIES.values()] if pattern is None else [pattern]
    if pattern is None:
        may_mark_steps = pl.col("kind").is_in(["annotation", "nvtx"])
        spans = spans.filter(may_mark_steps)
    try:
        marks = each_once(
            spans["name"],
            lambda name: _by_name(name, families),
        )
    except pl.exceptions.ComputeError as error:
        last_line = str(error).splitlines()[-1]
        reason = last_line.removeprefix("error: ")
        raise UsageError(
            f"{pattern!r} is not a regular expression for the names of steps: {reason}; "
            r"say one such as --step 'train_step (\d+)'"
        ) from error
    start_ns = pl.col("start_ns").cast(pl.Int64)
    thread = pl.col("process_id", "thread_id").cast(pl.Int64)
    columns = spans.select(
        thread,
        start_ns,
        end_ns=start_ns + pl.col("duration_ns"),
        name="name",
    )
    with_marks = columns.hstack(marks.struct.unnest())
    is_mark = pl.col("family").is_not_null()
    texts = pl.col("name", "number").cast(pl.String)
    return with_marks.filter(is_mark).with_columns(texts)


def _by_name(name: pl.Expr, families: list[str]) -> pl.Expr:
    """Return a struct: `family`, the index of the first pattern that a name matches, and `number`.

    `number` has the digits that the pattern captures, or is empty.
    """
    indices = []
    numbers = []
    for index, pattern in enumerate(families):
        matches = name.str.contains(pattern)
        index_if_match = pl.when(matches).then(pl.lit(index, pl.UInt8))
        indices.append(index_if_match)
        if _has_group(pattern):
            captured = name.str.extract(pattern)
            numbers.append(captured.str.extract(r"^(\d+)$"))
    no_number = pl.lit(None, pl.String)
    number = pl.coalesce(*numbers, no_number)
    # A number too large for an integer is not a count of steps.
    too_long = number.str.len_bytes() > _MAX_DIGITS
    is_too_long = too_long.fill_null(value=False)
    first_family = pl.coalesce(indices)
    family = pl.when(is_too_long).then(None).otherwise(first_family)
    known_number = number.fill_null("")
    return pl.struct(family=family, number=known_number)


def _has_group(pattern: str) -> bool:
    """Return whether a regular expression has a capturing group."""
    no_text = pl.lit("")
    groups = pl.select(groups=no_text.str.extract_groups(pattern))
    names_of_groups = groups["groups"].struct.fields
    return bool(names_of_groups)


def _chosen(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the outer or the inner marks of one of FAMILIES.

    An inner mark lies inside another mark of its family and thread. The families are tried in
    order, and in each family first the outer and then the inner marks. The first marks with several
    steps are returned, or else the first marks found.
    """
    candidates = []
    families = marks.partition_by("family", as_dict=True)
    for key in sorted(families):
        ordered = families[key].sort(
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
        candidates.append(ordered.filter(~is_inner))
        candidates.append(ordered.filter(is_inner))
    # The first candidate with several steps is chosen. The families come outermost first.
    with_several = filter(_mark_several_steps, candidates)
    with_marks = (candidate for candidate in candidates if candidate.height)
    chosen = next(chain(with_several, with_marks), marks)
    return chosen.sort("start_ns", "end_ns")


def _mark_several_steps(marks: pl.DataFrame) -> bool:
    """Return whether the marks have several numbers or starts."""
    steps = marks.select("number", "start_ns")
    return steps.n_unique() > 1


def _numbered(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the marks with their step number, and with `stated`, the number in their name."""
    number = pl.col("number")
    has_number = number != ""
    number_if_any = pl.when(has_number).then(number)
    stated_number = number_if_any.cast(pl.Int64)
    with_stated = marks.with_columns(stated=stated_number)
    in_order = with_stated.sort("process_id", "start_ns", "end_ns")
    # Consecutive marks with the same number are one step, which several threads may mark.
    stated = pl.col("stated")
    differs = stated != stated.shift(1)
    is_new = differs.fill_null(value=True)
    position = is_new.cum_sum().over("process_id") - 1
    with_position = in_order.with_columns(position=position.cast(pl.Int64))
    by_position = with_position.group_by("process_id", "position", maintain_order=True)
    of_first_mark = pl.col("thread_id", "start_ns", "stated", "name").first()
    last_end = pl.col("end_ns").max()
    steps = by_position.agg(of_first_mark, last_end)
    stated_numbers = steps.select("process_id", "stated")
    is_repeated = stated_numbers.is_duplicated().any()
    is_usable = not is_repeated and not steps["stated"].has_nulls()
    number_of_step = "stated" if is_usable else "position"
    return steps.with_columns(step=number_of_step)


def _windows(marks: pl.DataFrame) -> pl.DataFrame:
    """Return the marks, sorted by start, with `window` and `until_ns`.

    A window is a run of marks with names that count up by one. `until_ns` is the start of the next
    mark in the window. The last mark in a window has its own end as `until_ns`.
    """
    stated = pl.col("stated")
    is_next_number = stated == stated.shift(1) + 1
    follows = stated.is_null() | is_next_number
    begins_window = (~follows).fill_null(value=False)
    window = begins_window.cum_sum().over("process_id")
    ordered = marks.sort("process_id", "start_ns")
    with_window = ordered.with_columns(window=window)
    next_start = pl.col("start_ns").shift(-1)
    start_of_next = next_start.over("process_id", "window")
    until_ns = start_of_next.fill_null(pl.col("end_ns"))
    with_until = with_window.with_columns(until_ns=until_ns)
    return with_until.sort("start_ns", "step")
