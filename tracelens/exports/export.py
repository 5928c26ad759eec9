"""Declare an export, and select the ranks and steps of a trace to export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import BinaryIO

import polars as pl
from msgspec import Struct

from tracelens.derive.layers.attribution import kernel_layers
from tracelens.derive.time.model import list_idle
from tracelens.derive.time.step_table import steps_of
from tracelens.errors import UsageError
from tracelens.trace import Trace

ROWS_AT_ONCE = 1 << 17
"""Number of a table's rows that are read and written at a time."""
_LARGE = ("spans", "api_calls", "kernels")


class Selection(Struct, frozen=True, dict=True):
    """Selects the ranks and steps of a trace to export.

    If `steps` is None, all time is exported, also time outside of steps.
    """

    trace: Trace
    ranks: Sequence[int]
    steps: Sequence[int] | None = None

    @classmethod
    def of(
        cls,
        trace: Trace,
        ranks: Sequence[int] = (),
        steps: Sequence[int] = (),
    ) -> Selection:
        """Return the selection of these ranks and steps, by default of all ranks and steps.

        Raises UsageError for ranks or steps that the trace does not have.
        """
        known_steps = steps_of(trace)["step"].unique().sort()
        known = known_steps.to_list()
        for what, wanted, available in (
            ("rank", ranks, trace.manifest.ranks),
            ("step", steps, known),
        ):
            missing = [number for number in wanted if number not in available]
            if missing:
                there = ", ".join(map(str, available)) if available else "none"
                raise UsageError(
                    f"no {what} {missing[0]} in this trace; its {what}s are: {there}; choose of"
                    f" these with --{what}s"
                )
        return cls(trace, ranks or trace.manifest.ranks, steps or None)

    @cached_property
    def windows(self) -> pl.DataFrame:
        """One row per selected step, in order of start: rank, start_ns, end_ns."""
        end_ns = pl.col("start_ns") + pl.col("duration_ns")
        end = end_ns.alias("end_ns")
        is_chosen = pl.col("step").is_in(self.steps or [])
        chosen = steps_of(self.trace).filter(is_chosen)
        return chosen.select("rank", "start_ns", end).sort("rank", "start_ns")

    @cached_property
    def layers(self) -> pl.DataFrame:
        """One row per kernel of the trace: rank, kernel_id, layer."""
        return kernel_layers(self.trace.uncached()).cast({"layer": pl.Categorical})

    def layers_of(self, rank: int, kernels: pl.Series) -> pl.DataFrame:
        """Return one row per given kernel id of a rank: kernel_id, layer."""
        is_of_rank = pl.col("rank") == rank
        low = pl.lit(kernels.min(), pl.Int64)
        high = pl.lit(kernels.max(), pl.Int64)
        is_near = pl.col("kernel_id").is_between(low, high)
        return self.layers.filter(is_of_rank & is_near).drop("rank")

    @cached_property
    def idle(self) -> pl.DataFrame:
        """One row per idle interval of a device, or of a process without a device.

        Columns are rank, device_id, start_ns, end_ns, cause and what. Rows are sorted by rank,
        device and start.
        """
        return list_idle(self.trace.uncached())

    def rows(
        self,
        table: str,
        rank: int,
        *columns: str,
        where: pl.Expr | None = None,
    ) -> pl.DataFrame:
        """Return columns of a rank's rows in the selected steps, strings as Categorical.

        The table must have a column of steps. `where` is a further condition.
        """
        if self.steps is not None:
            is_chosen = pl.col("step").is_in(self.steps)
            where = is_chosen if where is None else where & is_chosen
        return self.trace.uncached().select(table, *columns, where=where, rank=rank)

    def windows_of_rows(
        self,
        rank: int,
        *tables: str,
        where: pl.Expr | None = None,
    ) -> Iterator[pl.Expr]:
        """Yield conditions on start_ns for consecutive windows of a rank's time.

        A window has about ROWS_AT_ONCE rows of the largest table. Only rows that meet `where`
        count. Without `tables`, the largest of spans, API calls and kernels is used.
        """
        sizes = {}
        for name in tables or _LARGE:
            rows_by_rank = self.trace.heights(name)
            sizes[name] = rows_by_rank.get(rank, 0)
        largest = max(sizes, key=lambda name: sizes[name])
        bounds = self._bounds(rank, largest, where) if sizes[largest] > ROWS_AT_ONCE else []
        start = pl.col("start_ns")
        for low, high in pairwise([None, *bounds, None]):
            is_after = pl.lit(value=True) if low is None else start >= low
            is_before = pl.lit(value=True) if high is None else start < high
            yield is_after & is_before

    def _bounds(
        self,
        rank: int,
        table: str,
        where: pl.Expr | None,
    ) -> list[int]:
        """Return the moments in ns that divide a rank's time into windows of equally many rows.

        A window has ROWS_AT_ONCE of the table's rows that meet `where`. The last window has the
        rest of them.
        """
        trace = self.trace.uncached()
        starts = trace.select(table, "start_ns", rank=rank, where=where)["start_ns"]
        by_time = starts if starts.is_sorted() else starts.sort()
        first_of_windows = by_time.gather_every(ROWS_AT_ONCE).to_list()
        return sorted(set(first_of_windows[1:]))

    def in_time(
        self,
        frame: pl.DataFrame,
        rank: int,
        at: str = "start_ns",
    ) -> pl.DataFrame:
        """Return a rank's rows with a time in column `at` that lies in a selected step.

        Use it for frames without a column of steps.
        """
        of_rank = frame.filter(pl.col("rank") == rank)
        if self.steps is None:
            return of_rank
        windows = self.windows.filter(pl.col("rank") == rank)
        n_begun = windows["start_ns"].search_sorted(of_rank[at], side="right")
        row = n_begun.cast(pl.Int64) - 1
        last_begun = row.set(row < 0, None)
        ends = windows["end_ns"].gather(last_begun)
        is_before_end = of_rank[at] < ends
        return of_rank.filter(is_before_end.fill_null(value=False))


class Export(Struct, frozen=True):
    """A file format of another program."""

    # The word after `--to`
    name: str
    # Ending of the format's files
    ending: str
    opened_by: str
    # Writes a selection into a stream, and returns a text on the number of written items.
    write: Callable[[Selection, BinaryIO], str]
