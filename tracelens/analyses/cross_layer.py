"""Sum time by op, library, primitive and family, and estimate the gain of faster primitives.

A primitive is a kind of computation, such as gemm or conv. A family is a group of primitives.
"""

from collections.abc import Iterator

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Parallel, SplitBars
from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.columns.ratios import over
from tracelens.derive.columns.time_text import duration
from tracelens.derive.events.call_tree import above
from tracelens.derive.events.span_trees import with_trees
from tracelens.derive.kernels.inductor_names import VIEW_OP
from tracelens.derive.kernels.kernel_classes import op_primitives
from tracelens.derive.layers.graph_replay import in_launch_order
from tracelens.derive.layers.provenance import recorded_calls, shares_of
from tracelens.derive.layers.time_shares import split_duration
from tracelens.derive.time.op_times import op_times
from tracelens.errors import MissingTableError
from tracelens.schemas.device import FAMILIES
from tracelens.schemas.results.cross_layer import CROSS_LAYER
from tracelens.trace import Trace

_COLUMNS = ("rank", "kernel_id", "library", "primitive", "duration_ns")
_OPERATOR = "::"
"""An op with this text in its name is an operator, such as aten::conv2d."""
_COMPUTED_ELSEWHERE = ("gemm", "conv", "attention")
"""Primitives that a library kernel computes, even if a generated kernel lists their ops."""

FAMILY_OF = {
    primitive: family for family, primitives in FAMILIES.items() for primitive in primitives
}
_KEY = ["rank", "op", "library", "primitive"]
_SHARES_NAMED = (0.8, 0.95)
"""Notes say how many pairs of library and primitive take each of these shares of time."""
_BLAS_OPS = r"^aten::_?(addmm|mm|bmm|baddbmm|addbmm|addmv|mv|addr|dot|vdot)_?$"
_NODE = r"Backward[0-9]*$"
_BLAS_NAMES = {
    "open": "openblas",
    "openblas": "openblas",
    "mkl": "mkl",
    "accelerate": "accelerate",
    "atlas": "atlas",
}
"""Names of BLAS libraries, by their names in torch's build settings (BLAS_INFO)."""

NO_OPS = (
    "No op is recorded around the kernels, as in Nsight Systems without emit_nvtx: a 1×1"
    " convolution that runs as a matrix product counts as gemm here and as conv in a torch trace."
    " Compare families, not gemm with conv."
)


def cross_layer(trace: Trace) -> pl.DataFrame:
    """Sum kernel time: one row per rank, framework op, library and primitive.

    The op is the outermost framework op (such as aten::linear) around the launch. If there is none,
    it is the outermost span of kind op. A compiled graph's fused kernel is split among the ops in
    its provenance, by the bytes that each op writes. low_ns and high_ns bound a row's time under
    any other split. Without kernels, the ops' self time on the host is summed.

    Rows are sorted by rank, then by time, longest first. Raises MissingTableError if there are
    neither kernels nor ops.
    """
    parts = _of_kernels(trace) if trace.has("kernels") else _of_host(trace)
    total, of_primitive = (
        pl.col("duration_total_ns").sum().over("rank", *more) for more in ((), ("primitive",))
    )
    frame = parts.with_columns(
        family=pl.col("primitive").replace_strict(FAMILY_OF, return_dtype=pl.String),
        share_frac=over(pl.col("duration_total_ns"), total, 0.0),
        what_if_twice=over(total, total - of_primitive / 2, 1.0),
        what_if_limit=over(total, total - of_primitive),
    ).sort(
        "rank",
        "duration_total_ns",
        *_KEY[1:],
        descending=[False, True, False, False, False],
    )
    until = pl.col("duration_total_ns").cum_sum().over("rank")
    return CROSS_LAYER.conform(frame.with_columns(cumulative_frac=over(until, total, 0.0)))


def _of_kernels(trace: Trace) -> pl.DataFrame:
    """Return the rows of a trace with kernels, without the columns of shares."""
    sums = _op_parts(trace).lazy().group_by(_KEY)
    rows = sums.agg(
        n_calls=pl.col("op_id").drop_nulls().n_unique().cast(pl.Int64),
        n_kernels=pl.len().cast(pl.Int64),
        duration_total_ns=pl.col("duration_ns").sum(),
        low_ns=pl.col("low_ns").sum(),
        high_ns=pl.col("high_ns").sum(),
    ).with_columns(n_calls=pl.when(pl.col("n_calls") > 0).then("n_calls"))
    return rows.collect().cast({pl.Categorical: pl.String})


def _op_parts(trace: Trace) -> pl.DataFrame:
    """Return one row per kernel with its op, or one row per op of a fused kernel.

    `op` is the outermost framework op around the launch. If there is none, it is the outermost span
    of kind op, or None. `op_id` is the op's span id, None for ops of a fused kernel.
    """
    kernels = _with_ops(trace).with_columns(low_ns="duration_ns", high_ns="duration_ns")
    parts = _split_fused(trace) if trace.has("provenance") else None
    if parts is None or not parts.height:
        return kernels
    key = ["rank", "kernel_id"]
    rest = kernels.join(parts.select(key).unique(), on=key, how="anti")
    return pl.concat(
        [
            rest.cast({pl.Categorical: pl.String}),
            parts.select(rest.columns),
        ]
    )


def _with_ops(trace: Trace) -> pl.DataFrame:
    """Return every kernel with its op and op_id, see `_op_parts`."""
    if trace.has("sites"):
        sites = trace.select("sites", "rank", "site_id", "op")
        # Recorded launch sites are used only if all their ops are operators.
        if matching(sites["op"], _OPERATOR)[0].sum() == sites["op"].count():
            return _of_sites(trace, sites)
    kernels = trace.select("kernels", *_COLUMNS, "span_id")
    spans = trace.select("spans", "rank", "span_id", "parent_id", "kind", "name")
    parts = []
    for tree, part in with_trees(spans, kernels):
        top = _top_op(tree, part["span_id"])
        parts.append(part.select(*_COLUMNS, op=tree["name"].gather(top), op_id=top.cast(pl.Int64)))
    return pl.concat(parts)


def _of_sites(trace: Trace, sites: pl.DataFrame) -> pl.DataFrame:
    """Return every kernel with the op of its launch site, and that op's span id."""
    kernels = trace.select("kernels", *_COLUMNS, "site_id", "api_call_id")
    calls = trace.select("api_calls", "rank", "api_call_id", "op_span_id")
    site = rows_of(sites["rank"], sites["site_id"], kernels.select("rank", "site_id"))
    call = rows_of(
        calls["rank"],
        calls["api_call_id"],
        kernels.select("rank", "api_call_id"),
    )
    return kernels.select(
        *_COLUMNS,
        op=sites["op"].gather(site),
        op_id=calls["op_span_id"].gather(call),
    )


def _top_op(tree: pl.DataFrame, rows: pl.Series) -> pl.Series:
    """Return the outermost framework op around each span at `rows`.

    If there is none, return the outermost span of kind op. Either may be the span itself.
    """
    is_op = (tree["kind"] == "op").fill_null(value=False)
    (is_named,) = matching(tree["name"], _OPERATOR)
    operator, op = (
        above(tree["parent_id"], flags.cast(pl.UInt8), rows)["top"]
        for flags in (is_op & is_named, is_op)
    )
    return operator.zip_with(operator.is_not_null(), op)


def _split_fused(trace: Trace) -> pl.DataFrame:
    """Return the fused kernels of compiled graphs, split into one row per op."""
    calls = recorded_calls(in_launch_order(trace), trace.spans, trace.provenance)
    if not calls.height:
        return pl.DataFrame()
    call = ["graph_key", "call_order"]
    fused = calls.filter(pl.col("primitive") == "fused").select(
        "rank", "kernel_id", "library", "duration_ns", *call
    )
    shares = shares_of(_computing_nodes(trace.provenance), ["op", "primitive"])
    parts = split_duration(fused.join(shares, on=call, maintain_order="left_right"))
    return parts.with_columns(duration_ns="estimate_ns", op_id=pl.lit(None, pl.Int64))


def _computing_nodes(provenance: pl.DataFrame) -> pl.DataFrame:
    """Return the nodes that a generated kernel computes itself, with op and primitive.

    An op is named like `aten::add`. Views are left out.
    """
    name = pl.col("aten_op").str.extract_groups(r"^(?<space>\w+)\.(?<word>\w+)")
    space, word = name.struct.field("space"), name.struct.field("word")
    nodes = provenance.filter(~pl.col("is_extern")).with_columns(
        word=word,
        op=pl.format("{}::{}", space, word),
    )
    nodes = nodes.filter(pl.col("op").is_not_null() & ~pl.col("word").str.contains(VIEW_OP))
    primitive = op_primitives(nodes["op"]).cast(pl.String).alias("primitive")
    return nodes.with_columns(primitive).filter(~pl.col("primitive").is_in(_COMPUTED_ELSEWHERE))


def _of_host(trace: Trace) -> pl.DataFrame:
    """Return the rows of a trace without kernels: one per op, with its self time.

    The library is inferred from the op's name.
    """
    times = op_times(trace) if trace.has("spans") else []
    if not times:
        raise MissingTableError(
            "cross_layer needs the table kernels, or op spans, and this trace has neither;"
            " tracelens collect torch gives both, tracelens collect nsys the kernels"
        )
    ops = pl.concat(times, how="diagonal").select(
        "rank", "n_calls", op="name", duration_total_ns="cpu_self_ns"
    )
    ops = ops.with_columns(op_primitives(ops["op"]).alias("primitive")).cast(
        {pl.Categorical: pl.String}
    )
    op = pl.col("op")
    # A node of the backward pass only calls the ops that compute; its own time is spent in
    # autograd.
    primitive = pl.when(op.str.contains(_NODE)).then(pl.lit("unknown")).otherwise("primitive")
    library = (
        pl.when(op.str.contains(r"mkldnn|onednn"))
        .then(pl.lit("onednn"))
        .when(op.str.contains(_BLAS_OPS))
        .then(pl.lit(_blas(trace) or "blas"))
        .when(op.str.starts_with("aten::"))
        .then(pl.lit("aten"))
        .otherwise(pl.lit("other"))
    )
    ns = pl.col("duration_total_ns")
    return ops.with_columns(
        library=library,
        primitive=primitive,
        n_kernels=pl.lit(0, pl.Int64),
        low_ns=ns,
        high_ns=ns,
    )


def _blas(trace: Trace) -> str | None:
    """Return the BLAS that torch was built with; None if the capture did not record it."""
    libraries = [source.get("settings", {}).get("blas") for source in trace.manifest.sources]
    return next((_BLAS_NAMES.get(name, name) for name in libraries if name), None)


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the share of time of each family of primitives.

    Say how many pairs of library and primitive take most of the time. Say what a faster primitive
    would gain, and why the numbers may be wrong.
    """
    sentences: list[str] = []
    for (rank,), part in frame.group_by("rank", maintain_order=True):
        sentences += _of_rank(
            f"Rank {rank}", part, "kernel time" if trace.has("kernels") else "the ops' own time"
        )
    return sentences + list(_warnings(trace, frame))


def _of_rank(name: str, part: pl.DataFrame, what: str) -> Iterator[str]:
    ns = pl.col("duration_total_ns")
    total = int(part["duration_total_ns"].sum())
    if not total:
        return
    families = (
        part.group_by("family")
        .agg(ns.sum() / total)
        .sort("duration_total_ns", "family", descending=[True, False])
    )
    family_shares = ", ".join(f"{family} {share:.1%}" for family, share in families.iter_rows())
    pairs = (
        part.group_by("library", "primitive")
        .agg(ns.sum())
        .sort("duration_total_ns", descending=True)
    )
    until = pairs["duration_total_ns"].cum_sum() / total
    ends = sorted(
        {
            min(
                int((until < least).sum()),
                pairs.height - 1,
            )
            for least in _SHARES_NAMED
        }
    )
    reach = ", ".join(f"{end + 1} take {until[end]:.1%} of it" for end in ends)
    yield (
        f"{name}: {family_shares} of {duration(total)} of {what}. Of {pairs.height}"
        f" pairs of library and primitive, {reach}."
    )
    primitives = part.group_by("primitive", "what_if_twice", "what_if_limit").agg(ns.sum())
    first = primitives.sort("duration_total_ns", "primitive", descending=[True, False]).row(
        0, named=True
    )
    limit = first["what_if_limit"]
    free = f", and if it took no time, {limit:.3f} times" if limit is not None else ""
    yield (
        f"{name}: if {first['primitive']} were twice as fast, all of {what} would be"
        f" {first['what_if_twice']:.3f} times as fast{free}. A step may gain less, as it also"
        " waits for other things."
    )


def _warnings(trace: Trace, frame: pl.DataFrame) -> Iterator[str]:
    if not trace.has("kernels"):
        blas = _blas(trace)
        which = (
            f"{_BLAS_NAMES.get(blas, blas)}, which torch was built with"
            if blas
            else "not recorded, so called blas"
        )
        yield (
            "Nothing ran on a device, so this is the ops' own time on the host. Which code ran was"
            " not recorded. Libraries are inferred from the ops' names: mkldnn's are oneDNN, and"
            f" the BLAS of matrix products is {which}."
        )
        return
    if frame["op"].null_count() == frame.height:
        yield NO_OPS
    split = int((frame["high_ns"] > frame["low_ns"]).sum())
    if split:
        yield (
            f"{split} rows hold parts of fused kernels, split by the bytes that each op"
            " writes; low and high are the results of other splits."
        )
    fused = int(frame.filter(family="fused")["duration_total_ns"].sum())
    if fused:
        share = fused / max(int(frame["duration_total_ns"].sum()), 1)
        why = (
            ""
            if trace.has("provenance")
            else "; collect torch --compile-provenance records it for torch.compile"
        )
        yield (
            f"{share:.1%} of kernel time is in fused kernels, and nothing shows from which ops they"
            f" were made{why}."
        )


def _charts(frame: pl.DataFrame) -> list[Chart]:
    order = {family: i for i, family in enumerate(FAMILIES)}
    ns = pl.col("duration_total_ns")
    sums = frame.group_by("rank", "family", "library").agg(ns.sum())
    sums = sums.sort(
        pl.col("family").replace_strict(order, return_dtype=pl.Int64),
        "library",
        "rank",
    )
    words = pl.concat_str("family", "library", separator=": ")
    wide = sums.with_columns(part=words).pivot(
        "part", index="rank", values="duration_total_ns", maintain_order=True
    )
    parts = {name: name for name in wide.columns if name != "rank"}
    wide = wide.rename({name: f"{name}_ns" for name in parts}).fill_null(0).sort("rank")
    drawn = {f"{name}_ns": name for name in parts}
    return [
        SplitBars("Time by family of operation and library", wide, ["rank"], drawn, in_order=True)
    ]


ANALYSIS = Analysis(
    "Which libraries do the work of the framework's ops, and what kind of work is it?",
    CROSS_LAYER,
    cross_layer,
    notes=notes,
    shown=(
        "rank",
        "op",
        "library",
        "primitive",
        "family",
        "duration_total_ns",
        "share_frac",
        "cumulative_frac",
        "what_if_twice",
        "n_calls",
        "n_kernels",
        "low_ns",
        "high_ns",
        "what_if_limit",
    ),
    charts=_charts,
    parallel=Parallel.BY_RANK,
)
