"""`op_times` in machine code, group of rows by group: of millions of spans only what must be is held, 12 bytes each.

Memory that was never touched before costs more than reading and adding up. See PLACED in `ancestry_kernel`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl

from tracelens.derive import charging
from tracelens.derive.ancestry_fast import CALLS, LAUNCHED, ORDERED, PLACED, TIMES, TOTALS, filled, frame, run, series
from tracelens.derive.intervals import durations
from tracelens.derive.op_times import WORK
from tracelens.derive.span_trees import rows_of_rank
from tracelens.fast.memory import Words
from tracelens.trace import Trace

# As in ancestry_kernel.
CODE, UP, FIRST_ROW, N_OPS, OWN_NS, DEVICE_NS, N_WORDS = range(7)
N_NODES, OP, PYTHON, MODULE, HEAD = range(5)
_N_SLOTS = 1 << 18  # of nodes' hashes; half as many nodes, chains of names, are more than any program has
_N_LANES = 1 << 10
_KINDS = ("op", "python", "module")
_PLACING = ("span_id", "parent_id", "kind", "name")
_CALLS = ("process_id", "thread_id", "span_id", "start_ns", "duration_ns")
_SUMS = ["cuda_self_ns", "cpu_self_ns", "cuda_total_ns"]


class _Ops:
    """One rank's ops while its tables are read."""

    def __init__(self, n_spans: int) -> None:
        self.first = self.timed = self.ordered = 0
        # Memory asked for like this is there only where it is written.
        self.in_calls = np.zeros(n_spans, np.int64)
        self.nodes = np.zeros((_N_SLOTS // 2 + 1, N_WORDS), np.int64)
        self.slots = np.zeros(HEAD + _N_SLOTS, np.int64)
        # Held: Polars counts words from 0 again when no categories are left anywhere.
        self.kinds = pl.Series(_KINDS, dtype=pl.Categorical)
        self.slots[:HEAD] = [1, *_codes(self.kinds)]
        self.places = np.empty(n_spans, np.uint32)
        self.lanes = np.zeros(3 + 3 * _N_LANES, np.int64)
        self.lanes[1] = np.iinfo(np.int64).min
        self.words: dict[int, str] = {}
        self.ends, self.durations = self.lanes[:0], self.lanes[:0]
        self._shared: dict[str, Any] = {"nodes": self.nodes, "places": self.places, "n_places": n_spans}

    def place(self, spans: pl.DataFrame) -> bool:
        """Find the node of each span; whether that could be."""
        names = _codes(spans["name"])
        before = self.slots[N_NODES]
        arrays = {
            "rows": filled(spans["parent_id"]), "lanes": spans["span_id"].to_numpy(), "codes": names,
            "kinds": _codes(spans["kind"]), "table": self.slots, "n_table": _N_SLOTS, "first": self.first,
        }  # fmt: skip
        if not run(PLACED, spans.height, result=self.nodes, **arrays, **self._shared):
            return False
        found = self.nodes[before : self.slots[N_NODES]]
        rows = found[~np.isin(found[:, CODE], list(self.words)), FIRST_ROW] - self.first
        self.words |= zip(names[rows].tolist(), spans["name"].gather(rows.tolist()).cast(pl.String), strict=True)
        self.first += spans.height
        return True

    def charge_calls(self, calls: pl.DataFrame) -> bool:
        """Take calls off the spans that they are made in; whether that could be."""
        arrays = {
            "rows": filled(calls["span_id"]), "starts": calls["start_ns"].to_numpy(),
            "own": calls["duration_ns"].to_numpy(), "codes": calls["process_id"].to_numpy(),
            "lanes": calls["thread_id"].to_numpy(), "table": self.lanes, "n_table": _N_LANES,
        }  # fmt: skip
        return run(CALLS, calls.height, result=self.in_calls, n_result=len(self.in_calls), **arrays)

    def launch(self, work: pl.DataFrame) -> bool:
        """Charge device work to nodes."""
        arrays = {"rows": filled(work["span_id"]), "own": work["duration_ns"].to_numpy()}
        return run(LAUNCHED, work.height, result=self.nodes, **arrays, **self._shared)

    def time(self, spans: pl.DataFrame) -> bool:
        """Charge to nodes what spans take themselves; whether that could be."""
        arrays = {"own": spans["self_ns"].to_numpy(), "starts": self.in_calls, "first": self.timed}
        self.timed += spans.height
        return run(TIMES, spans.height, result=self.nodes, **arrays, **self._shared)

    def expect(self) -> None:
        """Make room for durations, by code, now that ops are counted."""
        found = self.nodes[1 : self.slots[N_NODES]]
        counts = np.zeros(max(self.words, default=-1) + 1, np.int64)
        np.add.at(counts, found[:, CODE], found[:, N_OPS])
        self.ends = np.cumsum(counts) - counts  # where the next of each code goes
        self.durations = np.empty(int(counts.sum()), np.int64)

    def order(self, spans: pl.DataFrame) -> bool:
        """Put the durations of ops by code; whether that could be."""
        arrays = {"own": spans["duration_ns"].to_numpy(), "table": self.ends, "first": self.ordered}
        self.ordered += spans.height
        n_ops = len(self.durations)
        return run(ORDERED, spans.height, result=self.durations, n_result=n_ops, **arrays, **self._shared)

    def measures(self) -> pl.DataFrame:
        """Name, and of its ops' durations the measures, by code."""
        begins = np.concatenate([np.zeros(1, np.int64), self.ends])
        parts = [
            pl.DataFrame({"duration_ns": series(self.durations[begins[code] : begins[code + 1]])}).select(durations())
            for code in sorted(self.words)
        ]
        return pl.concat(parts).with_columns(name=pl.Series([self.words[code] for code in sorted(self.words)]))

    def sums(self) -> pl.DataFrame | None:
        """The sums by code; None where they cannot be had."""
        sums = np.zeros((len(self.ends), len(_SUMS)), np.int64)
        above = np.full(len(self.ends), -1, np.int64)
        if not run(TOTALS, int(self.slots[N_NODES]), result=sums, table=above, **self._shared):
            return None
        return frame(sums[sorted(self.words)], _SUMS)


def op_times(trace: Trace) -> list[pl.DataFrame] | None:
    """What `op_times.op_times` gives; None where there is no kernel, or where ids are not rows."""
    ranks = {rank: _Ops(n) for rank, n in trace.heights("spans").items()}
    with ThreadPoolExecutor(1) as pool:
        in_calls = pool.submit(_charge_calls, trace, ranks)
        if not all(ops.place(part) for ops, part in _by_rank(trace, ranks, "spans", *_PLACING)):
            return None
        charged = pool.submit(_charge, trace, ranks)
        ranks = {rank: ops for rank, ops in ranks.items() if ops.words}
        for ops in ranks.values():
            ops.expect()
        if not all(ops.order(part) for ops, part in _by_rank(trace, ranks, "spans", "duration_ns")):
            return None
        measures = {rank: ops.measures() for rank, ops in ranks.items()}
        in_calls.result()
        if not charged.result():
            return None
    found = []
    for rank, names in measures.items():
        sums = ranks[rank].sums()
        if sums is None:
            return None
        found.append(names.hstack(sums).with_columns(rank=pl.lit(rank, pl.Int32)))
    return found


def _by_rank(trace: Trace, ranks: dict[int, _Ops], name: str, *columns: str) -> Iterator[tuple[_Ops, pl.DataFrame]]:
    """Some rows of a table at a time, with the ops of their rank; what is of ranks without spans is left out."""
    for rows in trace.groups(name, "rank", *columns):
        is_one = rows["rank"].min() == rows["rank"].max()
        for part in [rows] if rows.height and is_one else rows.partition_by("rank", maintain_order=True):
            ops = ranks.get(part["rank"][0])
            if ops is not None:
                yield ops, part.rechunk()


def _charge_calls(trace: Trace, ranks: dict[int, _Ops]) -> None:
    """Take the calls off the spans of all ranks."""
    if all(ops.charge_calls(part) for ops, part in _by_rank(trace, ranks, "api_calls", *_CALLS)):
        return
    # They are out of order, or of very many threads.
    calls = trace.select("api_calls", "rank", *_CALLS)
    for rank, ops in ranks.items():
        n_spans = len(ops.in_calls)
        ops.in_calls = charging.charge_calls(rows_of_rank(calls, rank, n_spans), n_spans).to_numpy()


def _charge(trace: Trace, ranks: dict[int, _Ops]) -> bool:
    """Charge device work and the spans' own time to the ops of all ranks; whether that could be."""
    timed = all(ops.time(part) for ops, part in _by_rank(trace, ranks, "spans", "self_ns"))
    parts = (_by_rank(trace, ranks, name, "span_id", "duration_ns") for name in WORK)
    return timed and all(ops.launch(part) for table in parts for ops, part in table)


def _codes(words: pl.Series) -> Words:
    """Words as numbers that are the same for all columns."""
    return words.cast(pl.Categorical).to_physical().to_numpy()
