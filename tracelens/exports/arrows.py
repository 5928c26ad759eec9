"""Draw a timeline's arrows: from calls to what they launched, from forward to backward ops."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracelens.derive.events.autograd_nodes import NODE, forward_backward
from tracelens.exports.export import Selection
from tracelens.schemas import DEVICE_WORK

_OF_OPS = 1 << 31
"""The first number of arrows between ops; those of launches begin at 0."""


@dataclass(slots=True)
class Arrows:
    """Numbers of a rank's arrows.

    `n_of_call` is how much device work each API call launched, `first_of_call` the number of its
    first arrow, and `n_drawn` how many of its arrows have an end already. `pairs` has span_id,
    first_flow, n_flows and ends_flow of forward and backward ops.
    """

    n_of_call: pl.Series
    first_of_call: pl.Series
    n_drawn: pl.Series
    pairs: pl.DataFrame

    @classmethod
    def of(cls, selection: Selection, rank: int) -> Arrows:
        """Number the arrows between the chosen rows of a rank."""
        calls = [selection.rows(table, rank, "api_call_id")["api_call_id"] for table in DEVICE_WORK]
        launching_calls = pl.concat(calls).drop_nulls()
        counted = launching_calls.value_counts()
        largest = counted["api_call_id"].max()
        assert largest is None or isinstance(largest, int)
        none = pl.zeros(0 if largest is None else largest + 1, pl.Int64, eager=True)
        launched_counts = counted["count"].cast(pl.Int64)
        n_of_call = none.clone().scatter(counted["api_call_id"], launched_counts)
        first = n_of_call.cum_sum() - n_of_call
        return cls(n_of_call, first, none, _pairs(selection, rank))

    def of_calls(self, calls: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to calls: one arrow for each launched kernel, copy or fill."""
        known = calls["api_call_id"]
        known = known.set(known >= len(self.n_of_call), None)
        return calls.with_columns(
            first_flow=self.first_of_call.gather(known),
            n_flows=self.n_of_call.gather(known).fill_null(0),
            ends_flow=pl.lit(value=False),
        )

    def of_work(self, work: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to device work: the next arrow from the launching call."""
        number_within_call = pl.col("api_call_id").cum_count().over("api_call_id") - 1
        within = number_within_call.cast(pl.Int64)
        call = work["api_call_id"]
        first_of_call = self.first_of_call.gather(call)
        first = first_of_call + self.n_drawn.gather(call)
        drawn = call.drop_nulls().value_counts()
        newly_drawn = drawn["count"].cast(pl.Int64)
        drawn_before = self.n_drawn.gather(drawn["api_call_id"])
        so_far = drawn_before + newly_drawn
        self.n_drawn = self.n_drawn.scatter(drawn["api_call_id"], so_far)
        return work.with_columns(
            first_flow=first + work.select(within).to_series(),
            n_flows=call.is_not_null().cast(pl.Int64),
            ends_flow=pl.lit(value=True),
        )

    def of_spans(self, spans: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to ops that have an arrow to or from another op."""
        if self.pairs.is_empty():
            return spans
        return spans.join(self.pairs, on="span_id", how="left", maintain_order="left")


def _pairs(selection: Selection, rank: int) -> pl.DataFrame:
    """Return one row per end of an arrow between ops; of an op's arrows, only the first counts."""
    columns = ("span_id", *NODE, "thread_id", "start_ns")
    has_number = pl.col("sequence_number").is_not_null()
    numbered = selection.rows("spans", rank, *columns, where=has_number)
    linked = forward_backward(numbered)
    pairs = linked.unique("span_id", keep="first", maintain_order=True)
    arrows = pairs.with_columns(first_flow=_OF_OPS + pl.int_range(pl.len()))
    sides = [
        arrows.select(
            "first_flow",
            n_flows=pl.lit(1, pl.Int64),
            span_id=op,
            ends_flow=pl.lit(is_end),
        )
        for op, is_end in (("span_id", False), ("run_id", True))
    ]
    both = pl.concat(sides)
    return both.unique("span_id", keep="first", maintain_order=True)
