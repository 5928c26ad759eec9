"""Check whether two runs are of one program and did the same work, and what differs."""

from collections.abc import Sequence
from math import prod
from re import findall

import polars as pl

from tracelens.derive.comparing.significance import Rules
from tracelens.derive.kernels.name_spelling import one_spelling
from tracelens.derive.layers.compilation import other_device, shows_compilation
from tracelens.derive.layers.graph_replay import has_replays, tools
from tracelens.derive.time.step_table import steps_of
from tracelens.trace import Trace

INVALIDATES = {
    "program": "everything: these are two programs",
    "gpu": "every time; nothing is judged without --across-devices",
    "driver": "times of launches and copies",
    "software": "times of ops and kernels, which may be the libraries' doing",
    "ranks": "collectives, and each rank's share of the work",
    "steps": "sums over the capture, not what is compared a step",
    "calls": "totals: one run did more; compare a call",
    "shapes": "every time: another amount of work",
    "dtypes": "times of kernels and copies: other bytes, other arithmetic",
    "compiled": "ops and kernels by name, not steps and layers",
    "graphs": "launches, and what the host does meanwhile",
    "profiler": "host times: profilers cost different amounts",
    "options": "host times: recording more costs more",
}
"""Properties that may differ between two runs; for each, the comparisons that a difference
invalidates."""
_OPTIONS = (
    "record_shapes",
    "with_stack",
    "with_modules",
    "profile_memory",
    "with_flops",
    "light_window",
    "traced",
    "cuda_graph_trace",
)
_TOOLS = ("schemaVersion", "cupti_version", "nsys", "nsys_schema", "gdb", "py-spy")
_WEIGHTED = (
    r"^aten::_?(?:conv\w*|cudnn_conv\w*|miopen_conv\w*|mkldnn_conv\w*|mm|addmm|bmm|baddbmm|linear"
    r"|_?scaled_mm|embedding|\w*scaled_dot_product\w*|\w*(?:batch|layer|group|rms)_norm)$"
)
"""Ops that take a model's weights or inputs: their shapes tell how much work a run did."""
_PRODUCTS = r"^aten::_?(?:mm|addmm|bmm|baddbmm|conv\w*|\w*scaled_dot_product\w*)$"
"""Ops of _WEIGHTED that a compiled run calls, too."""
_NO_WORK = (
    r"^aten::(?:as_strided|view|_unsafe_view|reshape|_reshape_alias|expand|t|transpose|permute"
    r"|slice|select|unsqueeze|squeeze|detach|alias|narrow|split\w*|chunk|unbind|flatten|empty\w*"
    r"|zeros|ones|full|resize_|set_|arange|item|_local_scalar_dense|lift_fresh|contiguous"
    r"|result_type|is_\w+|numpy_T|movedim|view_as|new_\w+|_has_\w+|record_stream)$"
)
"""Ops that create tensors or views or only ask for properties.

Their number and shapes depend on the library.
"""
_NOT_RECORDED = "not recorded (record_shapes=True does)"
_SOME, _MOST = 0.1, 0.5


def not_judged(base: Trace, other: Trace, rules: Rules) -> str | None:
    """Return why no row of the two runs may be judged; None where they may."""
    if rules.across_devices or other_device(base, other) is None:
        return None
    return "two kinds of GPU (--across-devices judges them all the same)"


def same_steps(base: Trace, other: Trace) -> bool:
    """Return whether both runs mark steps, and equally many, so that sums may be compared."""
    steps = [steps_of(trace).height for trace in (base, other)]
    return steps[0] == steps[1] > 0


def shares(base: Trace, other: Trace) -> dict[str, float]:
    """Return the shares that both runs have in common: of kernel time, and of layers, else of ops.

    A kind that one run did not record is left out. For kernels and ops, the smaller of the two
    runs' shares counts, as all programs have some kernels in common. For layers the larger one
    counts, as a compiled run may name its outermost layers only.
    """
    shares_by_kind = {}
    for kind, table, key, weight in (
        ("kernel time", "kernels", "name", "duration_ns"),
        ("layers", "layers", "module_path", None),
        ("ops", "spans", "name", "duration_ns"),
    ):
        if kind == "ops" and base.has("kernels") and other.has("kernels"):
            continue
        sides = [_weights(trace, table, key, weight) for trace in (base, other)]
        if kind == "kernel time":
            sides = [_spelled_weights(base, other, side) for side in sides]
        if all(side.height for side in sides):
            of = [
                float(
                    weights.join(other_weights, on="key", how="semi")
                    .select(pl.col("n").sum())
                    .item()
                )
                / float(weights["n"].sum())
                for weights, other_weights in (sides, sides[::-1])
            ]
            shares_by_kind[kind] = max(of) if kind == "layers" else min(of)
    return shares_by_kind


def _weights(trace: Trace, table: str, key: str, weight: str | None) -> pl.DataFrame:
    where = pl.col("kind") == "op" if table == "spans" else None
    frame = trace.select(table, key, *([weight] if weight else []), where=where)
    n = pl.col(weight).sum() if weight else pl.lit(1)
    return (
        frame.group_by(pl.col(key).alias("key"))
        .agg(n=n)
        .filter(pl.col("n") > 0)
        .cast({"key": pl.String})
    )


def _spelled_weights(base: Trace, other: Trace, weights: pl.DataFrame) -> pl.DataFrame:
    spelled = with_one_spelling(base, other, weights, "key")
    total = pl.col("n").sum()
    return spelled.group_by("key").agg(total)


def with_one_spelling(
    base: Trace, other: Trace, kernels: pl.DataFrame, column: str = "name"
) -> pl.DataFrame:
    """Return kernels of both runs with names in one spelling, where two profilers wrote them."""
    if tools(base) == tools(other):
        return kernels
    names = one_spelling(kernels[column])
    return kernels.with_columns(names.cast(kernels[column].dtype))


def unrelated(base: Trace, other: Trace) -> str | None:
    """Return why two runs are not compared, or None if they are of one program.

    The reason names the share that both have in common.
    """
    shares_by_kind = shares(base, other)
    layers = shares_by_kind.get("layers")
    rest = shares_by_kind.get("kernel time", shares_by_kind.get("ops"))
    if not shares_by_kind:
        return _unlike_captures(base, other)
    if (layers or 0) >= _MOST or (rest or 0) >= (_SOME if layers is None else _MOST):
        return None
    percentages = " and ".join(f"{share:.0%} of {kind}" for kind, share in shares_by_kind.items())
    return (
        f"{base.name} and {other.name} are two programs: only {percentages} are in both;"
        " compare runs of one program (--force compares them all the same)"
    )


def _unlike_captures(base: Trace, other: Trace) -> str | None:
    """Return why two captures have nothing to compare: one is of times, the other of stacks."""
    contents = {
        "a timeline": ("kernels", "spans"),
        "call stacks": ("stacks",),
        "timings": ("timings",),
    }
    held = [
        [words for words, tables in contents.items() if any(map(trace.has, tables))]
        for trace in (base, other)
    ]
    if not all(held) or {*held[0]} & {*held[1]}:
        return None
    return (
        f"{base.name} holds {' and '.join(held[0])}, {other.name} {' and '.join(held[1])}: there is"
        " nothing to compare; name two captures of one kind"
    )


def facts(base: Trace, other: Trace) -> list[tuple[str, str | None, str | None]]:
    """Return the properties in INVALIDATES of both runs, as text.

    A property is None where a capture does not record it. Versions are listed if both captures
    record them.
    """
    alike = shares(base, other)
    percentages = (
        ", ".join(f"{share:.0%} of {kind} in both" for kind, share in alike.items()) or None
    )
    rows = [("program", percentages, base.name if unrelated(base, other) else percentages)]
    for what, about in _ABOUT.items():
        rows.append((what, about(base), about(other)))
        if what == "gpu":
            rows += [
                ("driver", *_versions(base, other, of_driver=True)),
                ("software", *_versions(base, other, of_driver=False)),
            ]
        if what == "calls":
            rows += [
                (column, *_inputs(base, other, f"input_{column}"))
                for column in ("shapes", "dtypes")
            ]
    return rows


def _versions(base: Trace, other: Trace, *, of_driver: bool) -> tuple[str | None, str | None]:
    """List the versions that both captures record, for each run; None where there are none."""
    sides = [_known_versions(trace, of_driver=of_driver) for trace in (base, other)]
    in_both = sides[0].keys() & sides[1].keys()
    base_words, other_words = (
        {
            f"{key} {value}".removeprefix("driver ")
            for key in in_both
            for value in sorted(versions[key])
        }
        for versions in sides
    )
    return _listed(base_words), _listed(other_words)


def _known_versions(trace: Trace, *, of_driver: bool) -> dict[str, set[str]]:
    versions: dict[str, set[str]] = {}
    for source in trace.manifest.sources:
        for key, value in (source.get("versions") or {}).items():
            if ("driver" in key) == of_driver and key not in _TOOLS:
                versions.setdefault(key, set()).add(str(value))
    return versions


def _steps(trace: Trace) -> str | None:
    launching = trace.select("kernels", "rank", "step").drop_nulls()
    n = launching.unique().group_by("rank").len()["len"]
    return _between(n.to_list()) if len(n) else ("none marked" if trace.has("kernels") else None)


def _calls(trace: Trace) -> str | None:
    kernels = trace.select("kernels", "rank", "step")
    inside = kernels.drop_nulls("step")
    n = (inside if inside.height else kernels).group_by("rank", "step").len()["len"]
    return (
        f"{_between(n.to_list())} kernels {'a step' if inside.height else 'in all'}"
        if len(n)
        else None
    )


def _inputs(base: Trace, other: Trace, column: str) -> tuple[str | None, str | None]:
    """Say whether the ops of both runs had the same inputs, with an example of a difference.

    Where the runs call different ops, as a compiled run does, most calls have to differ. Shapes are
    compared for ops with weights or with inputs of the model. Dtypes are compared for all ops that
    do any work, and so are shapes in runs without such ops. A compiled run and an eager one are
    compared by the sizes of their products.
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
    only_here = [
        calls.join(other_calls, on="name", how="semi").join(
            other_calls, on=["name", "key"], how="anti", nulls_equal=True
        )
        for calls, other_calls in (sides, sides[::-1])
    ]
    if column == "input_shapes" and not _call_alike(sides) and _most_is_shared(sides, only_here):
        return "the same", "the same"
    strange = [side.sort(-pl.col("n").cast(pl.Int64), "name", column) for side in only_here]
    if not any(side.height for side in strange):
        return "the same", "the same"
    first = next(side["name"][0] for side in strange if side.height)
    return _example(strange[0], first, column), _example(strange[1], first, column)


def _calls_of_ops(trace: Trace, column: str) -> pl.DataFrame:
    """Count the calls of ops by name and inputs: name, the column, n."""
    spans = trace.select("spans", "kind", "name", column).lazy()
    is_op = pl.col("kind") == "op"
    calls = spans.filter(is_op).group_by("name", column).len("n").collect()
    return calls.cast({pl.Categorical: pl.String})


def _comparable(sides: Sequence[pl.DataFrame], *, is_compiled: bool) -> list[pl.DataFrame]:
    """Keep the calls whose inputs show the amount of work; add `key`, equal for equal work.

    Compilers fold dimensions and exchange operands, so a product in a compiled run is identified
    only by its operands' numbers of elements.
    """
    column = next(name for name in sides[0].columns if name.startswith("input_"))
    name = pl.col("name").str
    if column == "input_shapes":
        products = _in_both(sides, name.contains(_PRODUCTS))
        if is_compiled and products:
            return [side.with_columns(key=_operands(side, sizes=True)) for side in products]
        weighted = _in_both(sides, name.contains(_WEIGHTED))
        if weighted:
            return [side.with_columns(key=_operands(side)) for side in weighted]
    does_work = ~name.contains(_NO_WORK)
    return [side.filter(does_work).with_columns(key=pl.col(column)) for side in sides]


def _in_both(sides: Sequence[pl.DataFrame], where: pl.Expr) -> list[pl.DataFrame]:
    """Return the chosen rows of each side; an empty list unless both have some."""
    chosen = [side.filter(where) for side in sides]
    has_rows = all(side.height for side in chosen)
    return chosen if has_rows else []


def _call_alike(sides: Sequence[pl.DataFrame]) -> bool:
    """Return whether both runs call the same ops."""
    return set(sides[0]["name"]) == set(sides[1]["name"])


def _most_is_shared(sides: Sequence[pl.DataFrame], strange: Sequence[pl.DataFrame]) -> bool:
    """Return whether half the calls of either run have a counterpart in the other."""
    shares = [
        float(only["n"].sum()) / max(float(side["n"].sum()), 1)
        for side, only in zip(sides, strange, strict=True)
    ]
    return min(shares) <= _MOST


def _operands(calls: pl.DataFrame, *, sizes: bool = False) -> pl.Series:
    """Write the shapes of the two operands of each call, or their sizes, sorted.

    Left out are a bias before the operands, scalars, and the result that an `out=` variant is
    given: they show nothing about the work.
    """
    keys = []
    for name, text in calls.select("name", "input_shapes").iter_rows():
        shapes = findall(r"\[\d[\d, ]*\]", text or "")
        first = 1 if name.endswith(("addmm", "baddbmm")) else 0
        operands = [[int(n) for n in findall(r"\d+", shape)] for shape in shapes[first : first + 2]]
        keys.append(str(sorted(map(prod, operands)) if sizes else operands))
    return pl.Series("key", keys, dtype=pl.String)


def other_work(base: Trace, other: Trace) -> str | None:
    """Say how the work of two runs of one program differs, by an op's shapes.

    Return None where it does not differ, and where the captures do not show it, as without
    record_shapes.
    """
    base_example, other_example = _inputs(base, other, "input_shapes")
    if (
        base_example is None
        or other_example is None
        or base_example == other_example
        or _NOT_RECORDED in (base_example, other_example)
    ):
        return None
    return f"{base_example} in base, {other_example} in the new run"


def _example(strange: pl.DataFrame, name: str, column: str) -> str:
    examples = strange.filter(pl.col("name") == name)
    return (
        f"{name} {examples[column][0]}"
        if examples.height
        else f"{name}: only what the other has too"
    )


def _options(trace: Trace) -> str | None:
    settings = [source.get("settings") or {} for source in trace.manifest.sources]
    return _listed(
        {f"{key}={options[key]}" for options in settings for key in _OPTIONS if options.get(key)}
    ) or (
        "none" if any(source.get("kind") == "torch" for source in trace.manifest.sources) else None
    )


def _listed(words: set[str]) -> str | None:
    return ", ".join(sorted(words)) or None


def _between(numbers: Sequence[int]) -> str:
    low = min(numbers)
    high = max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


_ABOUT = {
    "gpu": lambda trace: _listed(set(trace.devices["name"]) - {"unknown"}),
    "ranks": lambda trace: f"{len(trace.manifest.ranks):,}",
    "steps": _steps,
    "calls": _calls,
    "compiled": lambda trace: "yes" if shows_compilation(trace) else "no",
    "graphs": lambda trace: (
        ("replayed" if has_replays(trace) else "none") if trace.has("kernels") else None
    ),
    "profiler": lambda trace: _listed(
        {str(s.get("producer", s.get("kind"))) for s in trace.manifest.sources}
    ),
    "options": _options,
}
