"""Steps of inference servers by phase: time, tokens, and how near decoding comes to its limit."""

from math import prod

import polars as pl

from tracelens.analyses.analysis import Analysis, Bars, Chart, named
from tracelens.derive.columns.ratios import over
from tracelens.derive.kernels.peaks import Peaks, peaks_of
from tracelens.derive.kernels.recorded_call import RecordedCall, UnknownWorkError
from tracelens.derive.layers.modelled_calls import modelled
from tracelens.derive.time.step_table import steps_of
from tracelens.errors import MissingTableError
from tracelens.schemas.events import RANK
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

F64, I64, STR = pl.Float64, pl.Int64, pl.String
_PHASES = ("prefill", "decode", "mixed")
_ATTENTION = r"^(vllm|sglang)::unified_attention(_with_output)?$"
"""Ops that take queries, keys and values of a batch's tokens, and read the cache beside them."""

SERVING = Table(
    "serving",
    "A phase of an inference server's steps, by the names of their marks.",
    (
        RANK,
        Column("phase", STR, "Prefill, decode, or both in a batch.", values=_PHASES),
        Column("n_steps", I64, "Steps."),
        Column("duration_total_ns", I64, "Sum of the steps' time."),
        Column("share_frac", F64, "duration_total_ns over that of all phases of the rank."),
        Column("duration_median_ns", F64, "Median step: in decode, the time between tokens."),
        Column("requests_mean", F64, "Mean number of requests of a batch."),
        Column("n_tokens", I64, "Tokens that went in, all steps together.", nullable=True),
        Column("tokens_per_s", F64, "Tokens that went in a second of the steps.", nullable=True),
        Column(
            "least_bytes",
            F64,
            "Bytes that the steps had to move, weights among them, as far as ops with sizes ran.",
            nullable=True,
        ),
        Column(
            "cache_bytes",
            F64,
            "Keys and values that attention read of the cache: the context's tokens times what each"
            " takes in all layers.",
            nullable=True,
        ),
        Column(
            "limit_frac",
            F64,
            "Time that these bytes take at the device's bandwidth over duration_total_ns.",
            nullable=True,
        ),
    ),
)


def serving(trace: Trace, *, peaks: Peaks | None = None) -> pl.DataFrame:
    """Sum an inference server's steps by phase: one row per rank and phase.

    Raises MissingTableError where no step's mark names its requests, as vLLM's and SGLang's do.
    """
    trace.require("serving", "steps")
    steps = steps_of(trace).drop_nulls("phase")
    if not steps.height:
        raise MissingTableError(
            "serving needs steps that name their batch (execute_… of vLLM, step[…] of SGLang), and"
            " this trace has none; start the server's own profiler (tracelens collect files reads"
            " what it writes)"
        )
    key = ["rank", "step"]
    steps = steps.join(_bytes_of_steps(trace), on=key, how="left")
    steps = steps.join(_cache_of_tokens(trace), on=key, how="left").with_columns(
        cache_bytes=pl.col("token_bytes") * pl.col("n_context_tokens")
    )
    limits = _bandwidths(trace, peaks)
    phases = steps.group_by("rank", "phase").agg(
        pl.len().cast(I64).alias("n_steps"),
        pl.col("duration_ns").sum().alias("duration_total_ns"),
        pl.col("duration_ns").median().alias("duration_median_ns"),
        pl.col("n_requests").mean().alias("requests_mean"),
        *(_all(name) for name in ("n_tokens", "least_bytes", "cache_bytes")),
    )
    total = pl.col("duration_total_ns").sum().over("rank")
    moved = pl.col("least_bytes") + pl.col("cache_bytes").fill_null(0)
    rated = phases.join(limits, on="rank", how="left").with_columns(
        share_frac=over(pl.col("duration_total_ns"), total),
        tokens_per_s=over(pl.col("n_tokens") * 1e9, pl.col("duration_total_ns")),
        limit_frac=over(moved * 1e9 / pl.col("bandwidth"), pl.col("duration_total_ns")),
    )
    return SERVING.conform(
        rated.sort("rank", "duration_total_ns", "phase", descending=[False, True, False])
    )


def _bytes_of_steps(trace: Trace) -> pl.DataFrame:
    """Return the least bytes of each rank's steps; no rows where no sizes were recorded."""
    try:
        calls = modelled(trace).calls
    except MissingTableError:
        return pl.DataFrame(schema={"rank": pl.Int32, "step": I64, "least_bytes": F64})
    return calls.drop_nulls("step").group_by("rank", "step").agg(pl.col("least_bytes").sum())


def _cache_of_tokens(trace: Trace) -> pl.DataFrame:
    """Return the bytes that a token's keys and values take in all layers, by rank and step."""
    is_attention = pl.col("name").cast(STR).str.contains(_ATTENTION)
    spans = trace.select(
        "spans", "rank", "step", "input_shapes", "input_dtypes", where=is_attention
    ).cast({pl.Categorical: STR})
    rows = []
    for rank, step, shapes, dtypes in spans.iter_rows():
        call = RecordedCall.parsed((shapes, dtypes, None, None))
        try:
            tensors = [*call.tensors(1), *call.tensors(2)]
        except UnknownWorkError:
            continue
        rows.append((rank, step, sum(prod(t.shape[1:]) * t.width for t in tensors)))
    schema = {"rank": pl.Int32, "step": I64, "token_bytes": I64}
    frame = pl.DataFrame(rows, schema=schema, orient="row").drop_nulls("step")
    return frame.group_by("rank", "step").agg(pl.col("token_bytes").sum())


def _bandwidths(trace: Trace, given: Peaks | None) -> pl.DataFrame:
    """Return each rank's device's bytes a second; None where unknown."""
    devices = trace.devices.select("rank", "name").unique("rank", keep="first", maintain_order=True)
    known = [peaks_of(name, given) for name in devices["name"]]
    rates = [None if peaks is None else peaks.bandwidth_bytes_per_s for peaks in known]
    return devices.select("rank").with_columns(bandwidth=pl.Series(rates, dtype=F64))


def _all(column: str) -> pl.Expr:
    """Return the sum, None where any is None."""
    return pl.when(pl.col(column).null_count() == 0).then(pl.col(column).sum()).alias(column)


def notes(trace: Trace, frame: pl.DataFrame) -> list[str]:  # noqa: ARG001 - all notes take these
    """Return a sentence for each phase: its share, tokens a second, and nearness to its limit."""
    sentences = []
    for row in frame.iter_rows(named=True):
        words = [
            f"rank {row['rank']}: {row['phase']} takes {row['share_frac']:.1%} of the steps' time",
            f"{row['duration_median_ns'] / 1e6:,.2f} ms a step in the median",
            f"{row['requests_mean']:,.1f} requests a batch",
        ]
        if row["tokens_per_s"] is not None:
            words.append(f"{row['tokens_per_s']:,.0f} tokens a second")
        if row["limit_frac"] is not None:
            words.append(
                f"what has to be read takes {row['limit_frac']:.1%} of it at the device's bandwidth"
            )
        sentences.append(", ".join(words) + ".")
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    return [Bars("Time by phase", frame, named(frame, "phase"), "duration_total_ns")]


ANALYSIS = Analysis(
    "What do prefill and decode of an inference server cost?",
    SERVING,
    serving,
    notes=notes,
    charts=_charts,
)
