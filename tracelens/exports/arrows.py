"""Draw a timeline's arrows: from calls to what they launched, from forward to backward ops."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from tracelens.derive.events.autograd_nodes import NODE, forward_backward
from tracelens.exports.export import Selection
from tracelens.schemas import DEVICE_WORK

_OF_OPS = 1 << 31
"""The first number of arrows between ops; the numbers of launches' arrows begin at 0."""


class Arrows(Struct):
    """The numbers of a rank's arrows.

    An arrow leads from an API call to a piece of work that it launched. `calls` has the API call of
    each piece of work, sorted; the arrow's number is its row in `calls`. `n_drawn` has, in the row
    of a call's first arrow, how many of the call's arrows have been drawn to their head. `pairs`
    has the arrows from forward to backward ops, one row per end: span_id, first_flow, n_flows, and
    ends_flow, which is True at the arrow's head.
    """

    calls: pl.Series
    n_drawn: pl.Series
    pairs: pl.DataFrame

    @classmethod
    def of(cls, selection: Selection, rank: int) -> Arrows:
        """Number the arrows between the chosen rows of a rank."""
        pairs = _pairs(selection, rank)
        calls = [selection.rows(table, rank, "api_call_id")["api_call_id"] for table in DEVICE_WORK]
        launching_calls = pl.concat(calls).drop_nulls().sort()
        none = pl.zeros(len(launching_calls), pl.UInt32, eager=True)
        return cls(launching_calls, none, pairs)

    def of_calls(self, calls: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to calls: one arrow for each launched kernel, copy or fill."""
        first = self._first_of(calls["api_call_id"])
        after = self.calls.search_sorted(calls["api_call_id"], side="right").cast(pl.Int64)
        return calls.with_columns(
            first_flow=first,
            n_flows=after - first,
            ends_flow=pl.lit(value=False),
        )

    def of_work(self, work: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to device work: the next arrow from the launching call."""
        number_within_call = pl.col("api_call_id").cum_count().over("api_call_id") - 1
        within = number_within_call.cast(pl.Int64)
        call = work["api_call_id"]
        known = call.drop_nulls().value_counts()
        first_of_known = self._first_of(known["api_call_id"])
        before = pl.DataFrame(
            {
                "api_call_id": known["api_call_id"],
                "next": first_of_known + self.n_drawn.gather(first_of_known).cast(pl.Int64),
            }
        )
        so_far = self.n_drawn.gather(first_of_known) + known["count"]
        self.n_drawn = self.n_drawn.scatter(first_of_known, so_far)
        with_next = work.join(before, on="api_call_id", how="left", maintain_order="left")
        return work.with_columns(
            first_flow=with_next.select(pl.col("next") + within).to_series(),
            n_flows=call.is_not_null().cast(pl.Int64),
            ends_flow=pl.lit(value=True),
        )

    def _first_of(self, calls: pl.Series) -> pl.Series:
        """Return the number of each call's first arrow."""
        return self.calls.search_sorted(calls).cast(pl.Int64)

    def of_spans(self, spans: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to ops that have an arrow to or from another op."""
        if self.pairs.is_empty():
            return spans
        return spans.join(self.pairs, on="span_id", how="left", maintain_order="left")


def _pairs(selection: Selection, rank: int) -> pl.DataFrame:
    """Return one row per end of an arrow between ops; only an op's first arrow counts."""
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
