"""The declaration of an export, and the part of a trace that is exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import polars as pl

from tracelens.derive.layers.attribution import kernel_layers
from tracelens.derive.time.model import time_model
from tracelens.derive.time.step_table import steps_of
from tracelens.errors import UsageError
from tracelens.trace import Trace


@dataclass(frozen=True)
class Selection:
    """The ranks and steps of a trace that are exported.

    With `steps` None, all time is exported, also that outside of steps.
    """

    trace: Trace
    ranks: Sequence[int]
    steps: Sequence[int] | None = None

    @classmethod
    def of(cls, trace: Trace, ranks: Sequence[int] = (), steps: Sequence[int] = ()) -> Selection:
        """Return the named ranks and steps, or all.

        Raises UsageError for what the trace does not have.
        """
        known = steps_of(trace)["step"].unique().sort().to_list()
        for what, wanted, own in (("rank", ranks, trace.manifest.ranks), ("step", steps, known)):
            missing = [number for number in wanted if number not in own]
            if missing:
                there = ", ".join(map(str, own)) if own else "none"
                raise UsageError(
                    f"no {what} {missing[0]} in this trace; its {what}s are: {there}; choose of"
                    f" these with --{what}s"
                )
        return cls(trace, ranks or trace.manifest.ranks, steps or None)

    @cached_property
    def windows(self) -> pl.DataFrame:
        """The start and end of each chosen step: rank, start_ns, end_ns, by start."""
        end = (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")
        chosen = steps_of(self.trace).filter(pl.col("step").is_in(self.steps or []))
        return chosen.select("rank", "start_ns", end).sort("rank", "start_ns")

    @cached_property
    def layers(self) -> pl.DataFrame:
        """The layer of each kernel of the trace: rank, kernel_id, layer."""
        return kernel_layers(self.trace)

    @cached_property
    def idle(self) -> pl.DataFrame:
        """Idle time of devices, and of processes without any.

        Columns are rank, device_id, start_ns, end_ns, cause and what.
        """
        return time_model(self.trace).idle_intervals()

    def rows(self, table: str, rank: int, *columns: str) -> pl.DataFrame:
        """Return columns of a rank's chosen rows of a table with a step, strings as Categorical."""
        chosen = None if self.steps is None else pl.col("step").is_in(self.steps)
        return self.trace.select(table, *columns, where=chosen, rank=rank)

    def in_time(self, frame: pl.DataFrame, rank: int, at: str = "start_ns") -> pl.DataFrame:
        """Return the rank's rows whose moment `at` lies in a chosen step.

        Steps are no column of the frame.
        """
        own = frame.filter(pl.col("rank") == rank)
        if self.steps is None:
            return own
        windows = self.windows.filter(pl.col("rank") == rank)
        row = windows["start_ns"].search_sorted(own[at], side="right").cast(pl.Int64) - 1
        ends = windows["end_ns"].gather(row.set(row < 0, None))
        return own.filter((own[at] < ends).fill_null(value=False))


@dataclass(frozen=True, slots=True)
class Export:
    """A format of another program.

    `name` is the word after `--to`, `ending` that of its files. `write` puts the selection into a
    binary stream as it reads it, and returns in words what was written; it raises TracelensError.
    """

    name: str
    ending: str
    opened_by: str
    write: Callable[[Selection, BinaryIO], str]
