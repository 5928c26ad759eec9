"""Gates: limits on how much worse than its base a run may be."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import polars as pl

from tracelens.derive.comparing.comparability import not_judged, unrelated
from tracelens.derive.comparing.expressions import BYTES, COUNT, TIME, Expression, ExpressionError
from tracelens.derive.comparing.per_step import (
    PARTS,
    each_step,
    in_steps,
    kernel_work,
    layer_work,
    memory_values,
    of_runs,
    op_work,
    time_values,
)
from tracelens.derive.comparing.significance import DEFAULT, FEW, TICK_NS, Rules, judge
from tracelens.derive.layers.rank_pairs import pairs_ranks
from tracelens.errors import SourceError, near
from tracelens.trace import Trace

FAILED, PASSED, UNCLEAR = "failed", "passed", "unclear"
_KEY = ["gate", "rank", "what", "counted_in"]
_PARTS = {"step_time": "window"}
_MEMORY = {"memory_peak": "allocated_peak", "memory_reserved": "reserved_peak"}
_NO_MEMORY = "both runs must record memory (profile_memory=True does)"
_ABSENT = "only one of the runs has it"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a gate: `value` is compared with `limit` and lies, at 95 %, between `low` and `high`.

    Shares are of base; else ns, bytes or calls a step. unclear: nothing could be judged. `outcome`
    is that of `judge`.
    """

    expr: str
    verdict: str
    value: float | None
    limit: float
    low: float | None
    high: float | None
    reason: str
    outcome: str = UNCLEAR

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: value for name, value in asdict(self).items() if name != "outcome"}


@pairs_ranks
def evaluate(
    base: Trace, other: Trace, /, expressions: Sequence[Expression], *, rules: Rules = DEFAULT
) -> list[Verdict]:
    """A verdict an expression.

    It fails where a row that it asks of is judged worse, and lies beyond the limit.

    All rows that all expressions ask of are judged together. Raises SourceError where the two
    cannot be compared, and ExpressionError for a pattern that finds nothing in either.
    """
    _check(base, other, rules)
    runs = (base, *rules.base_runs), (other, *rules.other_runs)
    names = {
        kind: _names(kind, [*runs[0], *runs[1]])
        for kind in {one.kind for one in expressions} - {"metric"}
    }
    for one in expressions:
        if one.kind != "metric" and one.measure != "count" and not _found(one, names):
            at = one.text.find(one.name)
            said = (
                f"no {one.kind} of either run is called {one.name!r};"
                f" {near(one.name, names[one.kind])}"
            )
            raise ExpressionError(one.text, slice(at, at + len(one.name)), said)
    sides = [
        pl.concat(
            of_runs(side, partial(_values, gate=at, one=one, names=names))
            for at, one in enumerate(expressions)
        )
        for side in runs
    ]
    tick = pl.when(pl.col("counted_in") == TIME).then(float(TICK_NS)).otherwise(0.0)
    rows = judge(sides[0], sides[1], _KEY, rules, tick=tick)
    return [_verdict(one, rows.filter(gate=at)) for at, one in enumerate(expressions)]


def _check(base: Trace, other: Trace, rules: Rules) -> None:
    """Raise SourceError where nothing can be compared: that is no reason to pass."""
    for trace in (base, other):
        if not trace.has("kernels"):
            why = trace.manifest.empty_tables.get("kernels", "the capture holds none")
            raise SourceError(f"{trace.name}: no kernels, so no gate can be judged: {why}")
    refused = unrelated(base, other) or not_judged(base, other, rules)
    if refused:
        raise SourceError(f"no gate can be judged: {refused}")


def _names(kind: str, traces: Iterable[Trace]) -> list[str]:
    """The layers, kernels or ops of any of the traces."""
    table, column = {
        "layer": ("layers", "module_path"),
        "kernel": ("kernels", "name"),
        "op": ("spans", "name"),
    }[kind]
    where = pl.col("kind") == "op" if kind == "op" else None
    found: set[str] = set()
    for trace in traces:
        found |= set(
            trace.select(table, column, where=where)[column].unique().drop_nulls().cast(pl.String)
        )
        found |= set(layer_work(trace)["layer"]) if kind == "layer" else set()
    return sorted(found)


def _found(one: Expression, names: dict[str, list[str]]) -> list[str]:
    """The names that the pattern of an expression finds."""
    return [name for name in names[one.kind] if fnmatchcase(name, one.name)]


def _values(trace: Trace, gate: int, one: Expression, names: dict[str, list[str]]) -> pl.DataFrame:
    """rank, what, value: a row a step of what the expression asks of; null of `what`: there is one row a rank."""
    part = _PARTS.get(one.name, one.name)
    if one.kind == "layer":
        work = layer_work(trace).filter(pl.col("layer").is_in(_found(one, names)))
        work = work.with_columns(
            what=pl.concat_str("layer", "phase", separator=" ", ignore_nulls=True)
        )
        found = each_step(work, in_steps(trace), ["rank", "what"])
    elif one.name in _MEMORY:
        rows = memory_values(trace) if trace.has("allocations") else pl.DataFrame(schema=_NOTHING)
        found = rows.filter(measure=_MEMORY[one.name]).with_columns(
            what=pl.format("device {}", "device")
        )
    elif one.kind == "metric" and part in PARTS:
        found = (
            time_values(trace).filter(part=part).with_columns(what=pl.format("device {}", "device"))
        )
    else:
        found = _summed(trace, _work(trace, one, names))
        value = "n" if one.counted_in == COUNT else "value"
        found = found.with_columns(
            value=pl.col(value).cast(pl.Float64), what=pl.lit(None, pl.String)
        )
    told = {"gate": pl.lit(gate, pl.Int64), "counted_in": pl.lit(one.counted_in)}
    return found.with_columns(pl.col("what").cast(pl.String), **told).select(*_KEY, "value")


_NOTHING = {"rank": pl.Int32, "device": pl.Int64, "measure": pl.String, "value": pl.Float64}


def _work(trace: Trace, one: Expression, names: dict[str, list[str]]) -> pl.DataFrame:
    """Kernels, ops or copies that the expression asks of: rank, step, value, n."""
    if one.kind == "metric" and one.name not in ("gpu_time", "kernels"):
        direction, _, _ = one.name.partition("_")
        column = "size_bytes" if one.counted_in == BYTES else "duration_ns"
        copies = trace.select("memcpys", "rank", "step", "direction", column)
        copies = copies.filter(pl.col("direction") == direction)
        return copies.select("rank", "step", value=pl.col(column).cast(pl.Float64), n=pl.lit(1))
    work = op_work(trace, on_device=True) if one.kind == "op" else kernel_work(trace)
    if one.kind != "metric":
        work = work.filter(pl.col("name").cast(pl.String).is_in(_found(one, names)))
    return work.select("rank", "step", "value", "n")


def _summed(trace: Trace, work: pl.DataFrame) -> pl.DataFrame:
    """rank, value and n of each step, 0 where nothing is; of a rank that marks none, of all."""
    steps = in_steps(trace)
    bare = [rank for rank in trace.manifest.ranks if rank not in set(steps["rank"])]
    every = pl.concat(
        [steps, pl.DataFrame({"rank": bare, "step": [None] * len(bare)}, schema=steps.schema)]
    )
    known = work.join(steps, on=["rank", "step"], how="semi") if steps.height else work.clear()
    own = work.filter(pl.col("rank").is_in(bare)).with_columns(step=pl.lit(None, pl.Int64))
    sums = pl.concat([known, own]).group_by("rank", "step").agg(pl.col("value", "n").sum())
    found = every.join(
        sums, on=["rank", "step"], how="left", nulls_equal=True, maintain_order="left"
    )
    return found.with_columns(pl.col("value", "n").fill_null(0))


def _verdict(one: Expression, rows: pl.DataFrame) -> Verdict:
    """The verdict on the rows of a gate: of the one that fails worst, else of the one nearest to failing."""
    base = pl.col("base_value")
    start, whole = (
        (base, 1.0) if one.form == "most" else (0.0, base if one.form == "share" else 1.0)
    )
    more = {"value": pl.col("other_value") - base, "low": pl.col("low"), "high": pl.col("high")}
    rows = rows.drop_nulls(["base_value", "other_value"]).with_columns(
        ((start + by) / whole).fill_nan(0.0).alias(name) for name, by in more.items()
    )
    if rows.is_empty():
        return Verdict(
            one.text,
            UNCLEAR,
            None,
            one.limit,
            None,
            None,
            _NO_MEMORY if one.name in _MEMORY else _ABSENT,
        )
    beyond, worse = pl.col("value") > one.limit, pl.col("outcome") == "slower"
    is_known = pl.col("reason").ne_missing(pl.lit(FEW))
    state = pl.when(beyond & worse).then(2).when(is_known).then(1).otherwise(0)
    ordered = rows.with_columns(state=state).sort(
        "state", "value", descending=True, maintain_order=True
    )
    row, n_failed = ordered.row(0, named=True), int((ordered["state"] == 2).sum())
    said = row["reason"] or (
        "more than in base" if row["outcome"] == "slower" else "less than in base"
    )
    if row["value"] > one.limit and row["state"] != 2:
        said = f"beyond the limit, but {said}"
    place = [row["what"], f"rank {row['rank']}" if rows["rank"].n_unique() > 1 else None]
    place += [f"{n_failed - 1:,} more" if n_failed > 1 else None]
    of = ", ".join(word for word in place if word)
    reason = f"{of}: {said}" if of else said
    verdict = (UNCLEAR, PASSED, FAILED)[row["state"]]
    return Verdict(
        one.text, verdict, row["value"], one.limit, row["low"], row["high"], reason, row["outcome"]
    )
