"""Sum the device's time by kind of work: attention, products, experts, normalisation."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, named
from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.columns.per_unique import matching
from tracelens.derive.columns.ratios import over
from tracelens.derive.columns.time_text import duration
from tracelens.derive.kernels.device_peaks import DEVICE_KEY, device_peaks, roof_ns
from tracelens.derive.kernels.peaks import Peaks
from tracelens.derive.kernels.work_kinds import KINDS, kinds_of
from tracelens.derive.layers.kernel_origins import kernel_origins
from tracelens.derive.layers.modelled_calls import CALL, UNKNOWN_WORK, modelled
from tracelens.errors import MissingTableError
from tracelens.schemas.common import RANK
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

_ALL_TO_ALL = r"(?i)all_?to_?all"
_OWN_EXCHANGE = (
    r"(?i)(intranode|internode(_ll)?|hybrid_ep)::(dispatch|combine)(_kernel)?(<|\(|$)"
    r"|a2a_?(dispatch|combine)"
)
"""Kernels that send tokens to experts and back without a collective: DeepEP, pplx, TensorRT-LLM."""
_COUNT_DTYPES = ("Long", "Int", "Int64", "Int32")
"""Element types of token counts, which ranks exchange before the tokens themselves."""
_UNEVEN = 1.05
"""Unevenness is mentioned if a rank receives this many times the mean of the ranks."""

_NEAR = 0.8
"""A call counts as near its roof if it reaches this share of the roof, as in `roofline`."""
_MOST_RANKS = 1
"""Notes name at most this many ranks.

Usually all ranks do the same work. The table has all ranks.
"""
_LEAST = 0.005
"""Notes name kinds with at least this share."""

WORK_KINDS = Table(
    "work_kinds",
    "A kind of work in one phase of one rank.",
    (
        RANK,
        Column(
            "phase",
            pl.String,
            "What a server's step does (prefill, decode, mixed), else the part of a training step"
            " (forward, backward, optimizer); null if neither is known.",
            nullable=True,
        ),
        Column(
            "kind",
            pl.String,
            "Kind of work, by layers, ops and kernels. Indexing: taking and putting by index, sorting,"
            " choosing tokens. Reductions: sums and other results of many elements, with losses,"
            " pooling, and softmax outside of attention. Elementwise: with copies, fills and random"
            " numbers.",
            values=KINDS,
        ),
        Column("n_kernels", pl.Int64, "Kernels."),
        Column("duration_total_ns", pl.Int64, "Sum of the kernels' durations."),
        Column("share_frac", pl.Float64, "duration_total_ns over the rank's sum."),
        Column(
            "roof_frac",
            pl.Float64,
            "The least time that calls need on the device, by operations or bytes, over the time"
            " that they took. Only calls whose work and peaks are known count.",
            nullable=True,
        ),
        Column(
            "near_frac",
            pl.Float64,
            "Share of duration_total_ns in calls that come within 20 % of their roof.",
            nullable=True,
        ),
    ),
)


def work_kinds(
    trace: Trace,
    *,
    peaks: Peaks | None = None,
    base: Trace | None = None,
) -> pl.DataFrame:
    """Sum kernel time by kind of work: one row per rank, phase and kind.

    A kernel of a replayed graph has the kind that was recorded when the graph was captured, in the
    trace or in `base`. Rows are sorted by rank, then by time, longest first. Raises
    MissingTableError without kernels.
    """
    trace.require("work_kinds", "kernels")
    columns = ("rank", "kernel_id", "device_id", "name", "primitive", "is_communication")
    key = ["rank", "kernel_id"]
    recorded = trace.select("kernels", *columns, "duration_ns")
    launched = recorded.join(
        kernel_origins(trace, base),
        on=key,
        how="left",
        maintain_order="left",
    )
    with_kinds = launched.with_columns(kinds_of(launched))
    kernels = with_kinds.join(
        _roofs(trace, peaks, base),
        on=key,
        how="left",
    )
    ns, roof = pl.col("duration_ns"), pl.col("roof_share")
    rows = kernels.group_by("rank", "phase", "kind").agg(
        n_kernels=pl.len().cast(pl.Int64),
        duration_total_ns=ns.sum(),
        roof_frac=over(
            (roof * ns).sum(),
            ns.filter(roof.is_not_null()).sum(),
        ),
        near_frac=pl.when(roof.is_not_null().any()).then(
            over(
                ns.filter(roof >= _NEAR).sum(),
                ns.sum(),
            )
        ),
    )
    total = pl.col("duration_total_ns").sum().over("rank")
    return WORK_KINDS.conform(
        rows.with_columns(share_frac=over(pl.col("duration_total_ns"), total, 0.0)).sort(
            "rank",
            "duration_total_ns",
            "phase",
            "kind",
            descending=[False, True, False, False],
        )
    )


def _roofs(trace: Trace, peaks: Peaks | None, base: Trace | None) -> pl.DataFrame:
    """Return rank, kernel_id and roof_share: how near the kernel's call is to the roofline.

    roof_share is the call's least time over its recorded time, at most 1. It is None if the call's
    work is unknown, such as attention with context lengths that were not recorded.
    """
    try:
        work = modelled(trace, base)
    except MissingTableError:
        schema = {"rank": pl.Int32, "kernel_id": pl.Int64, "roof_share": pl.Float64}
        return pl.DataFrame(schema=schema)
    key = [*DEVICE_KEY, "precision"]
    calls = work.calls.join(
        device_peaks(trace, peaks),
        on=key,
        how="left",
        nulls_equal=True,
    )
    share = over(roof_ns(), pl.col("duration_ns")).clip(upper_bound=1)
    is_known = ~pl.col("assumed").is_in(UNKNOWN_WORK).fill_null(value=False)
    calls = calls.select(*CALL, roof_share=pl.when(is_known).then(share))
    joined = work.kernels.join(calls, on=CALL, how="left", nulls_equal=True)
    return joined.select("rank", "kernel_id", "roof_share")


def notes(
    trace: Trace,
    frame: pl.DataFrame,
    base: Trace | None = None,  # noqa: ARG001
) -> list[str]:
    """Name the kinds of work in each phase of the first rank, the kind with most time first.

    Also describe the exchanges between experts.
    """
    sentences = []
    for (rank,), part in [*frame.group_by("rank", maintain_order=True)][:_MOST_RANKS]:
        total = int(part["duration_total_ns"].sum())
        for phase in part["phase"].unique(maintain_order=True):
            phase_rows = part.filter(pl.col("phase").eq_missing(pl.lit(phase, pl.String)))
            whole = int(phase_rows["duration_total_ns"].sum())
            words = [
                f"{kind} {ns / whole:.1%}"
                for kind, ns in phase_rows.select("kind", "duration_total_ns").iter_rows()
                if whole and ns / whole >= _LEAST
            ]
            where = (
                f"{phase}, {whole / total:.1%} of its kernel time" if phase else "without a phase"
            )
            if words:
                sentences.append(f"Rank {rank}, {where}: {', '.join(words)}.")
    return sentences + _exchange_sentences(trace, frame)


def _exchange_sentences(trace: Trace, frame: pl.DataFrame) -> list[str]:
    """Give the time of all-to-alls, the part that other kernels hide, and how uneven ranks are.

    The list is empty without all-to-alls.
    """
    columns = ("rank", "device_id", "kernel_id", "start_ns", "duration_ns", "is_communication")
    kernels = trace.select("kernels", *columns, "name")
    is_own = matching(kernels["name"], _OWN_EXCHANGE)[0]
    is_exchange = pl.col("name").cast(pl.String).str.contains(_ALL_TO_ALL)
    named = trace.select("collectives", "rank", "kernel_id", "name", "dtype", "size_out_bytes")
    named = named.filter(is_exchange).select(
        pl.all().exclude("name"),
        is_all_to_all=pl.lit(True),
    )
    kernels = kernels.join(
        named,
        on=["rank", "kernel_id"],
        how="left",
        maintain_order="left",
    )
    exchanges = kernels.filter(is_own | pl.col("is_all_to_all").fill_null(value=False))
    if not exchanges.height:
        return []
    others = kernels.filter(~pl.col("is_communication"))
    taken = int(exchanges["duration_ns"].sum())
    hidden = int(covered_ns(exchanges, others, ["rank", "device_id"]).sum())
    share = taken / max(int(kernels["duration_ns"].sum()), 1)
    sentence = (
        f"All-to-alls take {duration(taken)} in {exchanges.height:,} calls, {share:.1%} of"
        f" kernel time; other kernels hide {hidden / max(taken, 1):.1%} of it."
    )
    return [sentence, *_unevenness(exchanges, frame)]


def _unevenness(exchanges: pl.DataFrame, frame: pl.DataFrame) -> list[str]:
    """Name the rank whose experts receive the most bytes of tokens.

    If no bytes were recorded, name the rank whose experts take the most time.
    """
    tokens = exchanges.filter(~pl.col("dtype").cast(pl.String).is_in(_COUNT_DTYPES))
    order = pl.int_range(pl.len()).over("rank", order_by="start_ns")
    of_experts = frame.filter(kind="MoE experts")
    # All-to-alls alternate: one brings tokens to experts, the next brings them back.
    for part, column, verb in (
        (tokens.filter(order % 2 == 0), "size_out_bytes", "get"),
        (of_experts, "duration_total_ns", "compute for"),
    ):
        sums = part.group_by("rank").agg(pl.col(column).sum()).filter(pl.col(column) > 0)
        if sums.height >= 2:
            rank, most = sums.sort(column, "rank").row(-1)
            above_mean = most * sums.height / sums[column].sum()
            words = f"those of rank {rank} {verb} {above_mean:.2f} times the mean"
            return [f"Experts are chosen unevenly: {words}."] if above_mean >= _UNEVEN else []
    return []


def _charts(frame: pl.DataFrame) -> list[Chart]:
    return [
        Bars(
            "Kernel time by kind of work", frame, named(frame, "phase", "kind"), "duration_total_ns"
        )
    ]


ANALYSIS = Analysis(
    "What kind of work takes the time?", WORK_KINDS, work_kinds, notes=notes, charts=_charts
)
