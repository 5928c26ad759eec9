"""Describe inference servers' steps by phase: time, tokens, how near decoding is to its limit."""

import polars as pl
from msgspec import Struct

from tracelens.analyses.analysis import Analysis, Bars, Chart, named
from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.per_unique import each_once
from tracelens.derive.columns.ratios import over, sum_if_known
from tracelens.derive.columns.time_text import duration
from tracelens.derive.events.serving_marks import PHASES
from tracelens.derive.kernels.peaks import Peaks, peaks_of
from tracelens.derive.layers.modelled_calls import modelled
from tracelens.derive.time.step_table import steps_of
from tracelens.errors import MissingTableError
from tracelens.schemas.common import RANK
from tracelens.storage.table import Column, Table
from tracelens.trace import Trace

_KINDS = (
    (r"(?i)sched", "scheduler"),
    (r"(?i)detoken|tokenizer|output_processor", "detokenising"),
    (r"(?i)sampl|logits", "sampling"),
    (r"(?i)runner|cuda_graph|graphs\.py", "model runner"),
)
"""Purposes of a server's own Python files, by words in their names."""
_N_PLACES = 4
_CHECKED = "step[TARGET_VERIFY"
"""Beginning of the name that SGLang gives to steps which verify draft tokens.

The name does not say how many draft tokens were accepted.
"""

F64, I64, STR = pl.Float64, pl.Int64, pl.String
_MOST_REST = 0.1
"""Largest ratio of unmodelled kernel time to modelled time in a step whose bytes are given."""

SERVING = Table(
    "serving",
    "The steps of an inference server in one phase on one rank. The names of the steps' marks give the phase.",
    (
        RANK,
        Column("phase", STR, "Prefill, decode, or both in a batch.", values=PHASES),
        Column("n_steps", I64, "Steps."),
        Column("duration_total_ns", I64, "Sum of the steps' time."),
        Column("share_frac", F64, "duration_total_ns over the rank's time in all phases."),
        Column("duration_median_ns", F64, "Median step: in decode, the time between tokens."),
        Column("requests_mean", F64, "Mean number of requests of a batch."),
        Column("n_tokens", I64, "Input tokens of all steps.", nullable=True),
        Column("tokens_per_s", F64, "n_tokens over duration_total_ns.", nullable=True),
        Column(
            "least_bytes",
            F64,
            "Bytes that the steps had to move, with weights and cache. Null if, in a step,"
            " unmodelled kernels take over a tenth of the time of modelled ones.",
            nullable=True,
        ),
        Column(
            "cache_bytes",
            F64,
            "The part of least_bytes for keys and values that attention reads from the cache: the"
            " context's tokens times the bytes of a token in all layers.",
            nullable=True,
        ),
        Column(
            "limit_frac",
            F64,
            "Time that least_bytes take at the device's bandwidth over duration_total_ns.",
            nullable=True,
        ),
        Column(
            "between_ns",
            I64,
            "Host time between replays of CUDA graphs: from the end of a replay's work to the next"
            " replay's launch. It counts in the step of that launch. Times in which a step without"
            " replays ran are left out.",
            nullable=True,
        ),
    ),
)


def serving(
    trace: Trace,
    *,
    peaks: Peaks | None = None,
    base: Trace | None = None,
) -> pl.DataFrame:
    """Sum an inference server's steps by phase: one row per rank and phase.

    If `base` holds the capture of a graph that `trace` replays, the bytes that the graph moves are
    taken from `base`. Raises MissingTableError if no step names its requests, as steps of vLLM,
    SGLang and TensorRT-LLM do.
    """
    trace.require("serving", "steps")
    named_steps = steps_of(trace).drop_nulls("phase")
    if not named_steps.height:
        raise MissingTableError(
            "serving needs steps that name their batch (execute_… of vLLM, step[…] of SGLang,"
            " _forward_step of TensorRT-LLM),"
            " and this trace has none; start the server's own profiler (tracelens collect files reads"
            " what it writes)"
        )
    key = ["rank", "step"]
    with_bytes = named_steps.join(_bytes_of_steps(trace, base), on=key, how="left")
    steps = with_bytes.join(_replay_gaps(trace).by_step, on=key, how="left")
    limits = _bandwidths(trace, peaks)
    phases = steps.group_by("rank", "phase").agg(
        pl.len().cast(I64).alias("n_steps"),
        pl.col("duration_ns").sum().alias("duration_total_ns"),
        pl.col("duration_ns").median().alias("duration_median_ns"),
        pl.col("n_requests").mean().alias("requests_mean"),
        *(sum_if_known(name) for name in ("n_tokens", "least_bytes", "cache_bytes")),
        between_ns=pl.when(pl.col("between_ns").count() > 0).then(pl.col("between_ns").sum()),
    )
    total = pl.col("duration_total_ns").sum().over("rank")
    rated = phases.join(limits, on="rank", how="left").with_columns(
        share_frac=over(pl.col("duration_total_ns"), total),
        tokens_per_s=over(
            pl.col("n_tokens") * 1e9,
            pl.col("duration_total_ns"),
        ),
        limit_frac=over(
            pl.col("least_bytes") * 1e9 / pl.col("bandwidth"),
            pl.col("duration_total_ns"),
        ),
    )
    return SERVING.conform(
        rated.sort("rank", "duration_total_ns", "phase", descending=[False, True, False])
    )


def _bytes_of_steps(trace: Trace, base: Trace | None) -> pl.DataFrame:
    """Return the least bytes that each step moves; no rows if no sizes were recorded.

    A step with much unmodelled work has no row.
    """
    try:
        work = modelled(trace, base)
    except MissingTableError:
        schema = {"rank": pl.Int32, "step": I64, "least_bytes": F64, "cache_bytes": F64}
        return pl.DataFrame(schema=schema)
    key = ["rank", "step"]
    sums = (
        work.calls.drop_nulls("step")
        .group_by(key)
        .agg(pl.col("least_bytes", "cache_bytes", "duration_ns").sum())
    )
    rest = work.rest.group_by(key).agg(rest_ns=pl.col("duration_ns").sum())
    sums = sums.join(rest, on=key, how="left").with_columns(pl.col("rest_ns").fill_null(0))
    return sums.filter(pl.col("rest_ns") <= _MOST_REST * pl.col("duration_ns")).select(
        *key,
        "least_bytes",
        cache_bytes=pl.when(pl.col("cache_bytes") > 0).then("cache_bytes"),
    )


def _bandwidths(trace: Trace, given: Peaks | None) -> pl.DataFrame:
    """Return the memory bandwidth of each rank's device in bytes per second; None if unknown."""
    devices = trace.devices.select("rank", "name").unique("rank", keep="first", maintain_order=True)
    known = [peaks_of(name, given) for name in devices["name"]]
    rates = [None if peaks is None else peaks.bandwidth_bytes_per_s for peaks in known]
    return devices.select("rank").with_columns(bandwidth=pl.Series(rates, dtype=F64))


def notes(
    trace: Trace,
    frame: pl.DataFrame,
    base: Trace | None = None,  # noqa: ARG001 - all notes take these
) -> list[str]:
    """Describe each phase: its share, tokens per second, and how near it is to its limit.

    Then describe the host's time between replays of graphs.
    """
    sentences = []
    is_checked = pl.col("name").cast(pl.String).str.starts_with(_CHECKED)
    checked = set(steps_of(trace).filter(is_checked).select("rank", "phase").iter_rows())
    for row in frame.iter_rows(named=True):
        words = [
            f"Rank {row['rank']}: {row['phase']} takes {row['share_frac']:.1%} of the steps' time",
            f"{duration(row['duration_median_ns'])} in the median step",
            f"{row['requests_mean']:,.1f} requests a batch",
        ]
        if row["tokens_per_s"] is not None:
            drafts = ", refused drafts among them" if (row["rank"], row["phase"]) in checked else ""
            words.append(f"{row['tokens_per_s']:,.0f} tokens a second{drafts}")
        if row["limit_frac"] is not None:
            words.append(
                f"moving its bytes at full bandwidth would take {row['limit_frac']:.1%} of its time"
            )
        sentences.append(", ".join(words) + ".")
    return sentences + _replay_gaps(trace).sentences


class _ReplayGaps(Struct, frozen=True):
    """The host's time between replays of graphs."""

    # Columns: rank, step and between_ns, the time before the step's replays
    by_step: pl.DataFrame
    # On this time and the Python code that takes it
    sentences: list[str]


def _replay_gaps(trace: Trace) -> _ReplayGaps:
    """Return the times between replays on each rank; empty without replays."""
    replays = _graph_launches(trace)
    previous_end = pl.col("end_ns").shift(1).over("rank")
    between = replays.with_columns(begin_ns=previous_end, until_ns=pl.col("start_ns"))
    # A step without graphs in between runs its own kernels, so this gap is no host time.
    previous_step = pl.col("step").shift(1).over("rank")
    skips_step = pl.col("step") > previous_step + 1
    has_time = pl.col("begin_ns") < pl.col("until_ns")
    gaps = between.filter(has_time, ~skips_step.fill_null(value=False))
    between_ns = pl.col("until_ns") - pl.col("begin_ns")
    sums = gaps.group_by("rank", "step").agg(between_ns=between_ns.sum())
    sentences = [_sentence(trace, int(part["rank"][0]), part) for part in gaps.partition_by("rank")]
    return _ReplayGaps(sums.drop_nulls("step"), sentences)


def _graph_launches(trace: Trace) -> pl.DataFrame:
    """Return each rank's launches of graphs, in order, with the end of their last kernel."""
    is_launch = pl.col("kind") == "graph_launch"
    columns = ("rank", "api_call_id", "step", "thread_id", "start_ns")
    launches = trace.select("api_calls", *columns, where=is_launch)
    kernels = trace.select("kernels", "rank", "api_call_id", "start_ns", "duration_ns", "link")
    of_graphs = kernels.filter(pl.col("link") == "graph")
    ends = of_graphs.group_by("rank", "api_call_id").agg(end_ns=END.max())
    return launches.join(ends, on=["rank", "api_call_id"]).sort("rank", "start_ns")


def _sentence(trace: Trace, rank: int, gaps: pl.DataFrame) -> str:
    lengths = gaps.select(pl.col("until_ns") - pl.col("begin_ns")).to_series()
    median = lengths.median()
    assert isinstance(median, float)
    places = _places(trace, rank, gaps)
    named = ", ".join(f"{place} {share:.0%}" for place, share in places)
    where = f": {named}" if named else " (record Python calls to see where: with_stack=True)"
    return (
        f"Rank {rank}: between replays of graphs the host takes {duration(int(lengths.sum()))},"
        f" {duration(median)} in the median of {len(lengths):,}{where}."
    )


def _places(trace: Trace, rank: int, gaps: pl.DataFrame) -> list[tuple[str, float]]:
    """Return the main purposes of Python calls between replays, with their shares of time."""
    columns = ("rank", "thread_id", "name", "start_ns", "duration_ns", "self_ns")
    calls = trace.select(
        "spans",
        *columns,
        where=pl.col("kind") == "python",
    )
    is_of_thread = pl.col("thread_id").is_in(gaps["thread_id"].unique().implode())
    of_threads = calls.filter(pl.col("rank") == rank, is_of_thread).sort("start_ns")
    in_order = gaps.sort("begin_ns").select("begin_ns", "until_ns")
    begun = of_threads.join_asof(
        in_order, left_on="start_ns", right_on="begin_ns", strategy="backward"
    )
    inside = begun.filter(pl.col("until_ns") >= END)
    kind = each_once(inside["name"], _kind_of).cast(pl.String)
    sums = inside.select("self_ns", kind=kind).group_by("kind").sum()
    total_ns = int(sums["self_ns"].sum())
    if not total_ns:
        return []
    largest = sums.sort("self_ns", "kind", descending=[True, False]).head(_N_PLACES)
    return [(str(kind), ns / total_ns) for kind, ns in largest.iter_rows()]


def _kind_of(name: pl.Expr) -> pl.Expr:
    """Return the purpose of a Python call in a server, by its file.

    If the purpose is unknown, return the file's name, or `other` without a file.
    """
    kinds = (pl.when(name.str.contains(words)).then(pl.lit(kind)) for words, kind in _KINDS)
    return pl.coalesce(*kinds, name.str.extract(r"([^/()\s]+\.py)\("), pl.lit("other"))


def _charts(frame: pl.DataFrame) -> list[Chart]:
    return [Bars("Time by phase", frame, named(frame, "phase"), "duration_total_ns")]


ANALYSIS = Analysis(
    "What do prefill and decode of an inference server cost?",
    SERVING,
    serving,
    notes=notes,
    charts=_charts,
)
