"""Number a timeline's arrows, from API calls to launched work and from forward to backward ops."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from tracelens.derive.events.autograd_nodes import NODE, forward_backward
from tracelens.exports.export import Selection
from tracelens.schemas import DEVICE_WORK

_OF_OPS = 1 << 31
"""The first number of arrows between ops. Numbers of arrows from API calls begin at 0."""


class Arrows(Struct):
    """Numbers the arrows of a rank. Perfetto calls arrows flows."""

    # The launching call's id, one row per arrow to a kernel, copy or fill, sorted. The number of an
    # arrow is the number of its row.
    calls: pl.Series
    # In the row of a call's first arrow: how many of the call's arrows are drawn. Else 0.
    n_drawn: pl.Series
    # One row per end of an arrow from a forward to a backward op: span_id, first_flow, n_flows, and
    # ends_flow, True for the backward op.
    pairs: pl.DataFrame

    @classmethod
    def of(cls, selection: Selection, rank: int) -> Arrows:
        """Return the arrows between the selected rows of a rank."""
        pairs = _pairs(selection, rank)
        work = [selection.rows(table, rank, "api_call_id") for table in DEVICE_WORK]
        calls = pl.concat(work)["api_call_id"]
        launching_calls = calls.drop_nulls().sort()
        none_drawn = pl.zeros(len(launching_calls), pl.UInt32, eager=True)
        return cls(launching_calls, none_drawn, pairs)

    def of_calls(self, calls: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to calls.

        One arrow begins at a call for each kernel, copy or fill that it launched.
        """
        ids = calls["api_call_id"]
        first = self._first_of(ids)
        after_last = self.calls.search_sorted(ids, side="right")
        return calls.with_columns(
            first_flow=first,
            n_flows=after_last.cast(pl.Int64) - first,
            ends_flow=pl.lit(value=False),
        )

    def of_work(self, work: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow, n_flows and ends_flow to device work, and count its arrows as drawn.

        Each row ends an arrow of its launching call. Rows without a call have no arrow.
        """
        call = work["api_call_id"]
        calls = call.drop_nulls().value_counts()
        first = self._first_of(calls["api_call_id"])
        n_drawn = self.n_drawn.gather(first)
        next_arrow = first + n_drawn.cast(pl.Int64)
        next_of_calls = calls.select("api_call_id", next=next_arrow)
        self.n_drawn = self.n_drawn.scatter(first, n_drawn + calls["count"])
        with_next = work.join(
            next_of_calls,
            on="api_call_id",
            how="left",
            maintain_order="left",
        )
        number_within_call = pl.col("api_call_id").cum_count().over("api_call_id") - 1
        arrow = pl.col("next") + number_within_call.cast(pl.Int64)
        return work.with_columns(
            first_flow=with_next.select(arrow).to_series(),
            n_flows=call.is_not_null().cast(pl.Int64),
            ends_flow=pl.lit(value=True),
        )

    def _first_of(self, calls: pl.Series) -> pl.Series:
        """Return the number of each call's first arrow."""
        rows = self.calls.search_sorted(calls, side="left")
        return rows.cast(pl.Int64)

    def of_spans(self, spans: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow, n_flows and ends_flow to spans; only ops of `pairs` have arrows."""
        if self.pairs.is_empty():
            return spans
        return spans.join(
            self.pairs,
            on="span_id",
            how="left",
            maintain_order="left",
        )


def _pairs(selection: Selection, rank: int) -> pl.DataFrame:
    """Return the arrows from forward to backward ops in the form of `Arrows.pairs`.

    An op has at most one arrow.
    """
    columns = ("span_id", *NODE, "thread_id", "start_ns")
    has_number = pl.col("sequence_number").is_not_null()
    numbered = selection.rows("spans", rank, *columns, where=has_number)
    linked = forward_backward(numbered)
    pairs = linked.unique("span_id", keep="first", maintain_order=True)
    number = _OF_OPS + pl.int_range(pl.len())
    arrows = pairs.with_columns(first_flow=number)
    ends = []
    for op, is_head in (("span_id", False), ("run_id", True)):
        end = arrows.select(
            "first_flow",
            n_flows=pl.lit(1, pl.Int64),
            span_id=op,
            ends_flow=pl.lit(is_head),
        )
        ends.append(end)
    both_ends = pl.concat(ends)
    return both_ends.unique("span_id", keep="first", maintain_order=True)
