"""Compare the shapes and dtypes of op inputs, to check whether two runs do the same work."""

from collections.abc import Sequence
from math import prod
from re import findall

import polars as pl

from tracelens.derive.layers.compilation import shows_compilation
from tracelens.trace import Trace

_WEIGHTED = (
    r"^aten::_?(?:conv\w*|cudnn_conv\w*|miopen_conv\w*|mkldnn_conv\w*|mm|addmm|bmm|baddbmm|linear"
    r"|_?scaled_mm|embedding|\w*scaled_dot_product\w*|\w*(?:batch|layer|group|rms)_norm)$"
)
"""Pattern for ops that take a model's weights or inputs, whose shapes show the amount of work."""
_PRODUCTS = r"^aten::_?(?:mm|addmm|bmm|baddbmm|conv\w*|\w*scaled_dot_product\w*)$"
"""Pattern for the ops in _WEIGHTED that a compiled run also calls."""
_NO_WORK = (
    r"^aten::(?:as_strided|view|_unsafe_view|reshape|_reshape_alias|expand|t|transpose|permute"
    r"|slice|select|unsqueeze|squeeze|detach|alias|narrow|split\w*|chunk|unbind|flatten|empty\w*"
    r"|zeros|ones|full|resize_|set_|arange|item|_local_scalar_dense|lift_fresh|contiguous"
    r"|result_type|is_\w+|numpy_T|movedim|view_as|new_\w+|_has_\w+|record_stream)$"
)
"""Pattern for ops that create tensors or views, or only read properties of tensors.

Their number and their shapes depend on the library's version, not on the work.
"""
_NOT_RECORDED = "not recorded (record_shapes=True does)"
_IN_BOTH = ": only what the other has too"
_INPUTS = ("input_shapes", "input_dtypes")
_MOST_LACKING = 0.5
"""Two runs do the same work if one of them lacks at most this share of the other's calls."""


def other_work(base: Trace, other: Trace) -> str | None:
    """Return how the work of two runs differs: an op with its shapes in each run.

    Return None if it does not differ, or if shapes were not recorded.
    """
    return _difference(inputs_of_ops(base, other, "input_shapes"))


def differing_inputs(base: Trace, other: Trace, column: str) -> str | None:
    """Return an op with different inputs in the two runs, as text with an example from each run.

    Only the first op with different inputs is examined. Return None if there is none, or if one run
    also calls that op with all inputs of the other run.
    """
    # Compilers change the dtypes of an op's arguments.
    is_compiled = shows_compilation(base) != shows_compilation(other)
    if is_compiled and column == "input_dtypes":
        return None
    examples = inputs_of_ops(base, other, column)
    is_one_sided = any(text is not None and text.endswith(_IN_BOTH) for text in examples)
    return None if is_one_sided else _difference(examples)


def _difference(examples: tuple[str | None, str | None]) -> str | None:
    """Return the examples from `inputs_of_ops` as text, None if they show no difference."""
    base_example, other_example = examples
    if (
        base_example is None
        or other_example is None
        or base_example == other_example
        or _NOT_RECORDED in examples
    ):
        return None
    return f"{base_example} in base, {other_example} in new"


def inputs_of_ops(base: Trace, other: Trace, column: str) -> tuple[str | None, str | None]:
    """Return how the inputs of ops differ between two runs, as one text per run.

    `column` is input_shapes or input_dtypes. The texts are:

    - if an op has different inputs, the op with an example from each run
    - if no op has different inputs, "the same" for both runs
    - if only one run recorded inputs, "known" and "not recorded ..."
    - if the inputs cannot be compared, None for both runs
    """
    sides = [_calls_of_ops(trace, column) for trace in (base, other)]
    if not all(side[column].count() for side in sides):
        recorded = [
            None if not side.height else "known" if side[column].count() else _NOT_RECORDED
            for side in sides
        ]
        return (
            (recorded[0], recorded[1])
            if None not in recorded and recorded[0] != recorded[1]
            else (None, None)
        )
    sides = _comparable(sides, is_compiled=shows_compilation(base) != shows_compilation(other))
    if not all(side.height for side in sides):
        return None, None
    # Only ops that both runs call are compared.
    only_here = [
        calls.join(other_calls, on="name", how="semi").join(
            other_calls,
            on=["name", "key"],
            how="anti",
            nulls_equal=True,
        )
        for calls, other_calls in (sides, sides[::-1])
    ]
    # If the runs call different ops, some calls differ in any case, so most must differ.
    if column == "input_shapes" and not _call_alike(sides) and _most_is_shared(sides, only_here):
        return "the same", "the same"
    strange = [side.sort(-pl.col("n").cast(pl.Int64), "name", column) for side in only_here]
    if not any(side.height for side in strange):
        return "the same", "the same"
    first = next(side["name"][0] for side in strange if side.height)
    return _example(strange[0], first, column), _example(strange[1], first, column)


def _calls_of_ops(trace: Trace, column: str) -> pl.DataFrame:
    """Count the calls of ops by name and `column`: name, the column, n."""
    calls = trace.derived(_calls_by_inputs).group_by("name", column).agg(pl.col("n").sum())
    return calls.cast({pl.Categorical: pl.String})


def _calls_by_inputs(trace: Trace) -> pl.DataFrame:
    """Count the calls of ops by name, shapes and dtypes: name, input_shapes, input_dtypes, n."""
    spans = trace.select("spans", "kind", "name", *_INPUTS).lazy()
    is_op = pl.col("kind") == "op"
    return spans.filter(is_op).group_by("name", *_INPUTS).len("n").collect()


def _comparable(sides: Sequence[pl.DataFrame], *, is_compiled: bool) -> list[pl.DataFrame]:
    """Return, for each run, the calls that can be compared, and add the column `key`.

    Calls with the same name and key do the same work. `is_compiled` says that only one run is
    compiled.
    """
    column = next(name for name in sides[0].columns if name.startswith("input_"))
    name = pl.col("name").str
    if column == "input_shapes":
        products = _in_both(sides, name.contains(_PRODUCTS))
        # Compilers fold dimensions and exchange operands, so only numbers of elements are compared.
        if is_compiled and products:
            return [side.with_columns(key=_operands(side, sizes=True)) for side in products]
        weighted = _in_both(sides, name.contains(_WEIGHTED))
        if weighted:
            return [side.with_columns(key=_operands(side)) for side in weighted]
    does_work = ~name.contains(_NO_WORK)
    return [side.filter(does_work).with_columns(key=pl.col(column)) for side in sides]


def _in_both(sides: Sequence[pl.DataFrame], where: pl.Expr) -> list[pl.DataFrame]:
    """Return the rows of each side where `where` holds, or an empty list if a side has none."""
    chosen = [side.filter(where) for side in sides]
    has_rows = all(side.height for side in chosen)
    return chosen if has_rows else []


def _call_alike(sides: Sequence[pl.DataFrame]) -> bool:
    """Return whether both runs call the same ops."""
    return set(sides[0]["name"]) == set(sides[1]["name"])


def _most_is_shared(
    sides: Sequence[pl.DataFrame],
    strange: Sequence[pl.DataFrame],
) -> bool:
    """Return whether at least half of one run's calls also occur in the other run.

    `strange` are each run's calls that do not occur in the other run.
    """
    shares = [
        float(only["n"].sum()) / max(float(side["n"].sum()), 1)
        for side, only in zip(sides, strange, strict=True)
    ]
    return min(shares) <= _MOST_LACKING


def _operands(calls: pl.DataFrame, *, sizes: bool = False) -> pl.Series:
    """Return the shapes of each call's two operands as text, or with `sizes` their sorted sizes."""
    keys = []
    for name, text in calls.select("name", "input_shapes").iter_rows():
        shapes = findall(r"\[\d[\d, ]*\]", text or "")
        # Bias, scalars and the `out=` argument say nothing about the work.
        first = 1 if name.endswith(("addmm", "baddbmm")) else 0
        operands = [[int(n) for n in findall(r"\d+", shape)] for shape in shapes[first : first + 2]]
        keys.append(str(sorted(map(prod, operands)) if sizes else operands))
    return pl.Series("key", keys, dtype=pl.String)


def _example(strange: pl.DataFrame, name: str, column: str) -> str:
    examples = strange.filter(pl.col("name") == name)
    return f"{name} {examples[column][0]}" if examples.height else f"{name}{_IN_BOTH}"
