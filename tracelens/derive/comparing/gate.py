"""Judge gates: limits for the difference of a run from its base."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.derive.comparing.comparability import not_judged, unrelated
from tracelens.derive.comparing.expressions import COUNT, TIME, Expression, ExpressionError
from tracelens.derive.comparing.gate_values import (
    MEMORY,
    NEEDS_DEVICE,
    asked_values,
    launching_ops,
    matching_names,
    names_of,
)
from tracelens.derive.comparing.op_inputs import other_work
from tracelens.derive.comparing.per_step import of_runs
from tracelens.derive.comparing.significance import DEFAULT, REASON_TOO_FEW, TICK_NS, Rules, judge
from tracelens.derive.layers.rank_pairs import pairs_ranks
from tracelens.errors import SourceError, near
from tracelens.trace import Trace

FAILED, PASSED, UNCLEAR = "failed", "passed", "unclear"
_STATES = (UNCLEAR, PASSED, FAILED)
"""The verdicts of a row in ascending order.

A gate gets the highest verdict of its rows.
"""
_KEY = ["gate", "rank", "what", "counted_in"]
_NO_MEMORY = "both runs must record memory (profile_memory=True does)"
REASON_WIDE = "the spread is larger than the limit"
_ZEROS = "0 in both runs, so there is no share to judge"
_UNITS = {TIME: "ns", COUNT: "calls"}


class Verdict(Struct, frozen=True):
    """Holds the verdict on a gate, and the values of the row that decides. Values are per step."""

    expr: str
    verdict: str  # failed, passed or unclear
    limit: float
    unit: str  # of values, unless they are fractions of base
    reason: str
    base: float | None = None
    new: float | None = None
    value: float | None = None  # compared with `limit`
    interval: tuple[float, float] | None = None  # 95 % range of `value`
    outcome: str = UNCLEAR  # faster, slower or unclear, see `judge`

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as a dict for JSON."""
        names = ("expr", "verdict", "base", "new", "unit", "value", "limit", "interval", "reason")
        return {name: getattr(self, name) for name in names}


@pairs_ranks
def evaluate(
    base: Trace,
    other: Trace,
    /,
    expressions: Sequence[Expression],
    *,
    rules: Rules = DEFAULT,
) -> list[Verdict]:
    """Return one verdict per expression. A gate fails if one of its rows exceeds the limit.

    If the runs did different work, all verdicts are unclear, unless `rules.any_work` is set. Raises
    SourceError if the runs cannot be compared. Raises ExpressionError for a pattern without a
    match, and for ops that launch nothing.
    """
    runs = (base, *rules.base_runs), (other, *rules.other_runs)
    traces = [*runs[0], *runs[1]]
    _check(base, other, expressions, rules)
    kinds = {expression.kind for expression in expressions} - {"metric"}
    names = {kind: names_of(kind, traces) for kind in kinds}
    for expression in expressions:
        if expression.kind != "metric":
            _check_pattern(expression, names[expression.kind], traces)
    sides = [
        pl.concat(
            of_runs(
                side,
                partial(
                    asked_values,
                    expression=expression,
                    names=names.get(expression.kind, []),
                ),
            )
            .with_columns(
                gate=pl.lit(number, pl.Int64),
                counted_in=pl.lit(expression.counted_in),
            )
            .select(*_KEY, "value", "run")
            for number, expression in enumerate(expressions)
        )
        for side in runs
    ]
    is_time = pl.col("counted_in") == TIME
    tick = pl.when(is_time).then(float(TICK_NS)).otherwise(0.0)
    # The correction for many tests applies to the rows of all expressions together.
    rows = judge(sides[0], sides[1], _KEY, rules, tick=tick)
    unlike = other_work(base, other)
    return [
        _verdict(expression, rows.filter(gate=number), unlike, rules)
        for number, expression in enumerate(expressions)
    ]


def _check(
    base: Trace,
    other: Trace,
    expressions: Sequence[Expression],
    rules: Rules,
) -> None:
    """Raise SourceError if the runs cannot be compared, so that no gate passes.

    Raises ExpressionError for a GPU metric if neither run used a GPU.
    """
    with_kernels = [trace.has("kernels") for trace in (base, other)]
    for trace, has_kernels in zip((base, other), with_kernels, strict=True):
        why = trace.manifest.empty_tables.get("kernels", "the capture holds none")
        if not any(with_kernels) and not trace.has("spans"):
            raise SourceError(
                f"{trace.name}: neither kernels nor ops, so no gate can be judged; record some"
                " steps (tracelens collect torch does), and see tracelens check"
            )
        if not has_kernels and any(with_kernels):
            raise SourceError(f"{trace.name}: no kernels, so no gate can be judged: {why}")
    unlike = None if rules.any_program else unrelated(base, other)
    refused = unlike or not_judged(base, other, rules)
    if refused:
        raise SourceError(f"no gate can be judged: {refused}")
    for expression in expressions:
        if not any(with_kernels) and (
            expression.kind == "kernel" or expression.name in NEEDS_DEVICE
        ):
            words = (
                f"{expression.name} is of a GPU, and neither run used one; ask of step_time,"
                " compute, idle, op:PATTERN:duration or layer:PATTERN:duration"
            )
            raise _error_at_name(expression, words)


def _check_pattern(
    expression: Expression,
    names: Sequence[str],
    traces: Iterable[Trace],
) -> None:
    """Raise ExpressionError for a pattern that matches nothing, or ops that launch nothing."""
    message = _why_unmatched(expression, names, traces)
    if message is not None:
        raise _error_at_name(expression, message)


def _error_at_name(expression: Expression, message: str) -> ExpressionError:
    """Return an error that points at the expression's name."""
    begin = expression.text.find(expression.name)
    return ExpressionError(
        expression.text,
        slice(begin, begin + len(expression.name)),
        message,
    )


def _why_unmatched(
    expression: Expression,
    names: Sequence[str],
    traces: Iterable[Trace],
) -> str | None:
    """Return why the expression's pattern selects nothing that can be judged, or None.

    If no name matches, a count can still be judged, because it is 0.
    """
    matches = matching_names(expression, names)
    if matches and all(name.startswith("(") for name in matches):
        return f"{matches[0]} is not a {expression.kind}: rows in brackets are never judged"
    if matches and expression.kind == "op" and expression.measure == "duration":
        launching = launching_ops(traces)
        if not launching or set(matches) & launching:
            return None
        return (
            f"{matches[0]} launches no kernel, so it takes no time on the GPU;"
            f" {near(expression.name, sorted(launching))}"
        )
    if matches or expression.measure == "count":
        return None
    return (
        f"no {expression.kind} of either run is called {expression.name!r};"
        f" {near(expression.name, names)}"
    )


def _verdict(
    expression: Expression,
    rows: pl.DataFrame,
    unlike: str | None,
    rules: Rules,
) -> Verdict:
    """Return the verdict on a gate by its worst row.

    `unlike` says how the work of the runs differs, None if it does not.
    """
    n_only_new = rows.filter(pl.col("base_value").is_null()).height
    in_both = _as_asked(expression, rows.drop_nulls(["base_value", "other_value"]))
    unit = _UNITS.get(expression.counted_in, expression.counted_in)
    if in_both.is_empty():
        absent = "only in new, which is not a share of base" if n_only_new else "only in base"
        no_rows = _NO_MEMORY if expression.name in MEMORY else absent
        return Verdict(expression.text, UNCLEAR, expression.limit, unit, no_rows)
    is_wide = _is_wide(expression, rules)
    hides_breach = is_wide & ~_fails(expression)
    judged = in_both.with_columns(
        reason=pl.when(hides_breach).then(pl.lit(REASON_WIDE)).otherwise("reason"),
        state=_state(expression, is_wide),
    )
    worst_first = judged.sort(
        "state", "value", descending=True, nulls_last=True, maintain_order=True
    )
    worst_row = worst_first.row(0, named=True)
    states = [_STATES[state] for state in judged["state"]]
    worst = _STATES[worst_row["state"]]
    doubts = _doubts(states, worst, n_only_new, unlike, rules)
    reason = "; ".join([_reason(expression, worst_row), *doubts])
    where = _where(judged, worst_row, states.count(FAILED))
    has_range = worst_row["low"] is not None and worst_row["high"] is not None
    return Verdict(
        expression.text,
        worst if unlike is None or rules.any_work else UNCLEAR,
        expression.limit,
        unit,
        f"{where}: {reason}" if where else reason,
        worst_row["base_value"],
        worst_row["other_value"],
        worst_row["value"],
        (worst_row["low"], worst_row["high"]) if has_range else None,
        worst_row["outcome"],
    )


def _doubts(
    states: list[str],
    worst: str,
    n_only_new: int,
    unlike: str | None,
    rules: Rules,
) -> list[str]:
    """Return reasons to doubt a verdict: rows that are not judged, and other work."""
    doubts = []
    n_unclear = states.count(UNCLEAR)
    if n_unclear and worst != UNCLEAR:
        doubts.append(f"{n_unclear:,} of {len(states):,} cannot be judged")
    if n_only_new:
        doubts.append(f"{n_only_new:,} only in new, which are not shares of base")
    if unlike is not None:
        hint = "" if rules.any_work else " (--any-work judges it all the same)"
        doubts.append(f"the work of the runs differs: {unlike}{hint}")
    return doubts


def _where(
    judged: pl.DataFrame,
    worst_row: dict[str, Any],
    n_failed: int,
) -> str:
    """Return text that locates the worst row: its subject, its rank, the number of other failures.

    The rank is left out if there is only one.
    """
    words = [worst_row["what"]]
    if judged["rank"].n_unique() > 1:
        words.append(f"rank {worst_row['rank']}")
    if n_failed > 1:
        words.append(f"{n_failed - 1:,} more")
    return ", ".join(word for word in words if word)


def _as_asked(expression: Expression, rows: pl.DataFrame) -> pl.DataFrame:
    """Add value, low and high: the quantity that the gate limits, and its 95 % range."""
    base = pl.col("base_value")
    # "most" limits the other run's value, "more" the difference, "share" the difference divided by
    # base.
    start = base if expression.form == "most" else pl.lit(0.0)
    unit = base if expression.form == "share" else pl.lit(1.0)
    difference = pl.col("other_value") - base
    differences = {
        "value": difference,
        "low": pl.col("low"),
        "high": pl.col("high"),
    }
    return rows.with_columns(
        ((start + ns) / unit).fill_nan(None).alias(name) for name, ns in differences.items()
    )


def _is_wide(expression: Expression, rules: Rules) -> pl.Expr:
    """Return whether a row's interval is too wide to tell whether the limit is exceeded."""
    base = pl.lit(1.0) if expression.form == "share" else pl.col("base_value")
    least = pl.max_horizontal(
        pl.lit(abs(expression.limit)),
        base * rules.min_effect,
    )
    high = pl.col("high")
    # The interval ends above the limit, and its upper half is wider than the limit itself.
    return (high > expression.limit) & (high - pl.col("value") > least)


def _fails(expression: Expression) -> pl.Expr:
    """Return whether a row is judged worse by more than the limit."""
    return (pl.col("value") > expression.limit) & (pl.col("outcome") == "slower")


def _state(expression: Expression, is_wide: pl.Expr) -> pl.Expr:
    """Return the index in _STATES of each row's verdict."""
    has_samples = pl.col("reason").ne_missing(pl.lit(REASON_TOO_FEW))
    is_known = has_samples & pl.col("value").is_not_null() & ~is_wide.fill_null(value=False)
    failed, passed, unclear = (_STATES.index(word) for word in (FAILED, PASSED, UNCLEAR))
    return pl.when(_fails(expression)).then(failed).when(is_known).then(passed).otherwise(unclear)


def _reason(expression: Expression, row: dict[str, Any]) -> str:
    """Return why the worst row of a gate passed, failed or is unclear, as text."""
    if row["value"] is None:
        return _ZEROS
    more = "more than in base" if row["outcome"] == "slower" else "less than in base"
    reason = row["reason"] or more
    if row["value"] > expression.limit and row["state"] != 2:
        return f"beyond the limit, but {reason}"
    return str(reason)
