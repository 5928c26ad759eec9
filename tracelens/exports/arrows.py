"""The arrows of a timeline: from calls to what they launched, from forward ops to backward ops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from tracelens.derive.events.autograd_nodes import NODE, forward_backward
from tracelens.exports.export import Selection
from tracelens.schemas import DEVICE_WORK

_OF_OPS = 1 << 31
"""The first number of arrows between ops. Those of launches are counted from 0."""


@dataclass(slots=True)
class Arrows:
    """Numbers of a rank's arrows.

    `n_of_call` is how much device work each API call launched, `first_of_call` the number of the
    first arrow from there, `n_drawn` how many of them have an end already. `pairs` has span_id,
    first_flow, n_flows and ends_flow of forward and backward ops.
    """

    n_of_call: npt.NDArray[np.int64]
    first_of_call: npt.NDArray[np.int64]
    n_drawn: npt.NDArray[np.int64]
    pairs: pl.DataFrame

    @classmethod
    def of(cls, selection: Selection, rank: int) -> Arrows:
        """Number the arrows between the chosen rows of a rank."""
        calls = [selection.rows(table, rank, "api_call_id")["api_call_id"] for table in DEVICE_WORK]
        numbers = pl.concat(calls).drop_nulls().to_numpy()
        n_of_call = np.bincount(numbers) if len(numbers) else np.zeros(0, np.int64)
        first = np.cumsum(n_of_call) - n_of_call
        return cls(n_of_call, first, np.zeros_like(n_of_call), _pairs(selection, rank))

    def of_calls(self, calls: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to calls: one arrow for each launched kernel, copy or fill."""
        known = calls["api_call_id"].to_numpy()
        inside = np.minimum(known, len(self.n_of_call) - 1)
        counts = (
            np.where(known < len(self.n_of_call), self.n_of_call[inside], 0)
            if len(self.n_of_call)
            else np.zeros(len(known), np.int64)
        )
        firsts = self.first_of_call[inside] if len(self.n_of_call) else counts
        return calls.with_columns(
            first_flow=pl.Series(firsts, dtype=pl.Int64),
            n_flows=pl.Series(counts, dtype=pl.Int64),
            ends_flow=pl.lit(value=False),
        )

    def of_work(self, work: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to device work: the next arrow from its call."""
        within = pl.col("api_call_id").cum_count().over("api_call_id") - 1
        calls = work.select("api_call_id", within=within.cast(pl.Int64))
        launched = calls["api_call_id"].is_not_null()
        known = calls.filter(launched)
        ids = known["api_call_id"].to_numpy()
        flows = self.first_of_call[ids] + self.n_drawn[ids] + known["within"].to_numpy()
        np.add.at(self.n_drawn, ids, 1)
        flow = pl.repeat(None, work.height, dtype=pl.Int64, eager=True).scatter(
            launched.arg_true(), pl.Series(flows, dtype=pl.Int64)
        )
        return work.with_columns(
            first_flow=flow, n_flows=launched.cast(pl.Int64), ends_flow=pl.lit(value=True)
        )

    def of_spans(self, spans: pl.DataFrame) -> pl.DataFrame:
        """Add first_flow and n_flows to ops that have an arrow to or from another op."""
        if self.pairs.is_empty():
            return spans
        return spans.join(self.pairs, on="span_id", how="left", maintain_order="left")


def _pairs(selection: Selection, rank: int) -> pl.DataFrame:
    """Return a row for each end of an arrow between ops; of an op with several the first."""
    columns = ("span_id", *NODE, "thread_id", "start_ns")
    has_number = pl.col("sequence_number").is_not_null()
    numbered = selection.rows("spans", rank, *columns, where=has_number)
    pairs = forward_backward(numbered).unique("span_id", keep="first", maintain_order=True)
    pairs = pairs.with_columns(first_flow=_OF_OPS + pl.int_range(pl.len()), n_flows=1)
    ends = (
        pairs.select(
            "first_flow", pl.col("n_flows").cast(pl.Int64), span_id=column, ends_flow=pl.lit(ends)
        )
        for column, ends in (("span_id", False), ("run_id", True))
    )
    return pl.concat(ends).unique("span_id", keep="first", maintain_order=True)
