"""Compare each op with the roofline: the most that the device can compute or move."""

import polars as pl

from tracelens.analyses.analysis import Analysis, Chart, Points, named
from tracelens.derive.columns.ratios import over, sum_if_known
from tracelens.derive.kernels.device_peaks import device_peaks
from tracelens.derive.kernels.peaks import Peaks
from tracelens.derive.layers.modelled_calls import (
    UNKNOWN_CONTEXTS,
    UNKNOWN_WORK,
    Modelled,
    modelled,
)
from tracelens.derive.layers.roofline_hints import hints, nearness
from tracelens.derive.time.step_table import steps_of
from tracelens.schemas.results.roofline import ROOFLINE
from tracelens.trace import Trace

NOT_MODELLED, STEP = "(not modelled)", "(step)"
_DEVICE = ("rank", "device_id")
_N_REASONS = 3
_OP = ("op", "shapes", "dtypes")
_SUMS = ("flops", "needed_flops")


def roofline(
    trace: Trace,
    *,
    peaks: Peaks | None = None,
    base: Trace | None = None,
) -> pl.DataFrame:
    """Rate ops against the roofline: one row per device, op, shapes and element types.

    A device's row `(not modelled)` sums the kernels without a model. Rows are sorted by device,
    then by time, longest first. The rows `(step)`, one per step, come last.

    - `peaks`: measured peaks of one device. Other devices use their datasheet.
    - `base`: a trace that recorded the capture of replayed graphs, or a run without graphs. The
      ops of replayed kernels are taken from `base` if `trace` does not have them.

    Raises MissingTableError without kernels or without shapes. Raises SourceError if the trace does
    not have the device of `peaks`.
    """
    work = modelled(trace, base)
    limits = device_peaks(trace, peaks)
    calls = work.calls.join(
        limits,
        on=[*_DEVICE, "precision"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    ops = calls.group_by(*_DEVICE, *_OP, maintain_order=True).agg(
        # If one call ran a kernel whose name says TF32, the op's other calls used it, too.
        pl.col("precision").sort_by(pl.col("precision") == "tf32").last(),
        pl.col(*_SUMS, "duration_ns", "n_kernels").sum(),
        pl.len().cast(pl.Int64).alias("n_calls"),
        sum_if_known("least_bytes"),
        _largest_work("flops"),
        _largest_work("bytes"),
        pl.col("assumed").drop_nulls().first(),
    )
    rest = _not_modelled(work)
    total = pl.col("duration_ns").sum().over(_DEVICE)
    shares = pl.concat([ops, rest], how="diagonal").with_columns(
        share_frac=over(pl.col("duration_ns"), total)
    )
    limited = shares.join(
        limits,
        on=[*_DEVICE, "precision"],
        how="left",
        nulls_equal=True,
    )
    no_peaks = "no peaks: the trace does not describe the device"
    of_op = pl.when(pl.col("op") != NOT_MODELLED).then(pl.col("evidence").fill_null(no_peaks))
    rated = _with_roofs(limited.with_columns(evidence=of_op.otherwise("why")))
    rows = rated.sort(
        *_DEVICE,
        "duration_ns",
        *_OP,
        descending=[False, False, True, False, False, False],
    )
    every = pl.concat(
        [rows, _steps(trace, calls, work.rest)],
        how="diagonal",
    )
    return ROOFLINE.conform(every.rename({"duration_ns": "duration_total_ns"}))


def _not_modelled(work: Modelled) -> pl.DataFrame:
    """Sum the kernels that no model covers: one row per device, with the reasons (why)."""
    sums = work.rest.group_by(_DEVICE).agg(
        pl.col("duration_ns").sum(),
        n_kernels=pl.len().cast(pl.Int64),
    )
    with_reasons = sums.join(_reasons(work.rest), on=_DEVICE, how="left")
    devices = pl.concat([work.calls.select(_DEVICE), work.rest.select(_DEVICE)]).unique()
    return devices.join(with_reasons, on=_DEVICE, how="left").with_columns(
        pl.col("duration_ns", "n_kernels").fill_null(0),
        op=pl.lit(NOT_MODELLED),
    )


def _reasons(rest: pl.DataFrame) -> pl.DataFrame:
    """Return the main reasons why kernels are not modelled, with shares, one row per device."""
    total = pl.col("duration_ns").sum().over(_DEVICE)
    shares = (
        rest.with_columns(share=over(pl.col("duration_ns"), total))
        .group_by(*_DEVICE, "why")
        .agg(pl.col("share").sum())
        .sort("share", "why", descending=[True, False])
    )
    words = pl.format(
        "{} {}%",
        "why",
        (100 * pl.col("share")).round(0).cast(pl.Int64),
    )
    return shares.group_by(_DEVICE).agg(why=words.head(_N_REASONS).str.join(", "))


def _with_roofs(rows: pl.DataFrame) -> pl.DataFrame:
    """Add each row's rates, the roof that limits it, and the share of this roof that it reaches."""
    duration_ns = pl.col("duration_ns")
    with_rates = rows.with_columns(
        flops_per_s=over(pl.col("needed_flops") * 1e9, duration_ns),
        bandwidth_bytes_per_s=over(pl.col("least_bytes") * 1e9, duration_ns),
        flops_per_byte=over(pl.col("needed_flops"), pl.col("least_bytes")),
    )
    flops_frac = over(pl.col("flops_per_s"), pl.col("peak_flops_per_s"))
    bytes_frac = over(pl.col("bandwidth_bytes_per_s"), pl.col("peak_bytes_per_s"))
    is_of_compute = pl.col("roof") == "compute"
    with_roofs = with_rates.with_columns(roof=_roof()).with_columns(
        peak_frac=pl.when(is_of_compute)
        .then(flops_frac)
        .when(pl.col("roof").is_not_null())
        .then(bytes_frac)
    )
    source = pl.when(pl.col("roof").is_not_null()).then("source").otherwise("evidence")
    is_known = ~pl.col("assumed").is_in(UNKNOWN_WORK).fill_null(value=False)
    share_to_gain = 1 - pl.col("peak_frac").clip(upper_bound=1)
    return with_roofs.with_columns(
        evidence=pl.coalesce(pl.format("{}; {}", source, "assumed"), source),
        gain_ns=pl.when(is_known).then(duration_ns * share_to_gain),
    )


def _roof() -> pl.Expr:
    """Return the roof that limits a row: compute or memory; None if unknown."""
    ridge = pl.col("peak_flops_per_s") / pl.col("peak_bytes_per_s")
    is_right_of_ridge = pl.col("flops_per_byte") >= ridge
    # If the device's peak for its type is not known, an op that is not a product counts as bound by
    # memory, because it computes few operations for each number that it moves.
    moves = pl.col("peak_bytes_per_s").is_not_null() & (pl.col("flops") == 0)
    computes = pl.coalesce(is_right_of_ridge, pl.when(moves).then(statement=False))
    return pl.when(computes).then(pl.lit("compute")).when(computes.not_()).then(pl.lit("memory"))


def _steps(trace: Trace, calls: pl.DataFrame, rest: pl.DataFrame) -> pl.DataFrame:
    """Sum kernels and work by step: one row per device and step with kernels.

    duration_ns and n_kernels are of all kernels, n_calls and work only of modelled calls.
    """
    key = [*_DEVICE, "step"]
    at_peak, is_product = (
        1e9 * pl.col("needed_flops") / pl.col("peak_flops_per_s"),
        pl.col("flops") > 0,
    )
    sums = (
        calls.drop_nulls("step")
        .group_by(key, maintain_order=True)
        .agg(
            pl.col(*_SUMS).sum(),
            pl.len().cast(pl.Int64).alias("n_calls"),
            sum_if_known("least_bytes"),
            at_peak=pl.when(at_peak.filter(is_product).null_count() == 0).then(
                at_peak.filter(is_product).sum()
            ),
        )
    )
    ns = pl.col("duration_ns")
    kernels = pl.concat(
        [
            calls.select(*key, "duration_ns", "n_kernels", modelled_ns=ns),
            rest.select(
                *key,
                "duration_ns",
                n_kernels=pl.lit(1, pl.Int64),
                modelled_ns=pl.lit(0, pl.Int64),
            ),
        ]
    )
    every = (
        kernels.drop_nulls("step")
        .group_by(key)
        .agg(pl.col("duration_ns", "n_kernels", "modelled_ns").sum())
    )
    lasting = (
        steps_of(trace)
        .select("rank", "step", step_ns="duration_ns")
        .unique(["rank", "step"], keep="first")
    )
    steps = every.join(sums, on=key, how="left").join(lasting, on=["rank", "step"], how="left")
    return (
        steps.with_columns(
            op=pl.lit(STEP),
            share_frac=over(pl.col("modelled_ns"), ns),
            mfu_frac=over(pl.col("at_peak"), pl.col("step_ns")),
            flops_per_s=over(
                pl.col("needed_flops") * 1e9,
                pl.col("duration_ns"),
            ),
            bandwidth_bytes_per_s=over(
                pl.col("least_bytes") * 1e9,
                pl.col("duration_ns"),
            ),
        )
        .sort(key)
        .drop("at_peak", "step_ns", "modelled_ns")
    )


def _largest_work(unit: str) -> pl.Expr:
    """Return the most work that calls of attention can do if some context lengths are unknown.

    The result is None if all lengths are known. It is also None if a length has no upper bound.
    """
    is_range = (pl.col("assumed") == UNKNOWN_CONTEXTS).fill_null(value=False)
    most, exact = f"most_{unit}", "flops" if unit == "flops" else "least_bytes"
    each = pl.when(is_range).then(most).otherwise(exact)
    return pl.when(is_range.any() & (each.null_count() == 0)).then(each.sum()).alias(most)


def notes(
    trace: Trace,
    frame: pl.DataFrame,
    base: Trace | None = None,  # noqa: ARG001 - as in `run`
) -> list[str]:
    """Give the modelled share, how much of the peak is used, and the source of the peaks."""
    steps = frame.filter(pl.col("op") == STEP)
    ops = frame.filter(pl.col("op") != STEP)
    is_rest = pl.col("op") == NOT_MODELLED
    total, rest = (int(part["duration_total_ns"].sum()) for part in (ops, ops.filter(is_rest)))
    calls = ops.filter(~is_rest)
    share = rest / total if total else 0
    reasons = ops.filter(is_rest).sort("duration_total_ns", descending=True)["evidence"]
    why = f", of it {reasons[0]}" if rest and reasons[0] else ""
    what = (
        f"Modelled: {calls['n_calls'].sum():,} calls, {float(calls['flops'].sum()) / 1e9:,.3f}"
        " GFLOP"
    )
    sentences = [
        *nearness(calls, total),
        *hints(trace, calls, total),
        f"{what}, {1 - share:.1%} of kernel time. Not modelled: {share:.1%}{why}.",
    ]
    if steps["mfu_frac"].count():
        low, middle, high = (getattr(steps["mfu_frac"], of)() for of in ("min", "median", "max"))
        sentences.append(
            f"Model FLOP utilization of a step: {middle:.1%} in the median, {low:.1%} to"
            f" {high:.1%}."
        )
    elif not steps.height:
        sentences.append(
            "The trace marks no steps that launch kernels, so there is no utilization of a step."
        )
    known = calls.filter(pl.col("peak_frac").is_not_null()).sort(
        "duration_total_ns", descending=True
    )
    sentences += [
        f"Where the peaks are from: {evidence}."
        for evidence in known["evidence"].unique(maintain_order=True)
    ]
    lacking = calls.filter(pl.col("roof").is_null() & pl.col("peak_flops_per_s").is_null())
    sentences += [
        f"No share of a peak for {int(part['duration_total_ns'].sum()) / total:.1%} of kernel time:"
        f" {reason}."
        for (reason,), part in lacking.group_by("evidence", maintain_order=True)
        if total
    ]
    if known.filter(pl.col("peak_frac") > 1).height:
        sentences.append(
            "Shares above 100 % are possible: inputs may lie in the cache, strides may skip part of"
            " them, and a short run may compute faster than the long one that measured the peak."
        )
    return sentences


def _charts(frame: pl.DataFrame) -> list[Chart]:
    drawn = frame.drop_nulls(["shapes", "precision"]).filter(pl.col("flops") > 0)
    limits = (
        drawn.select("precision", "peak_flops_per_s", "peak_bytes_per_s")
        .drop_nulls()
        .unique(maintain_order=True)
    )
    roofs = {precision: (flops, size) for precision, flops, size in limits.iter_rows()}
    title = (
        "Roofline: each op below what the device can compute and move; larger points took more time"
    )
    axes = ("flops_per_byte", "flops_per_s")
    return [
        Points(
            title,
            drawn,
            named(drawn, "op", "shapes"),
            axes,
            "precision",
            roofs,
        )
    ]


ANALYSIS = Analysis(
    "How near do ops come to what the device can compute or move?",
    ROOFLINE,
    roofline,
    notes=notes,
    shown=(
        "rank",
        "op",
        "shapes",
        "duration_total_ns",
        "share_frac",
        "roof",
        "peak_frac",
        "gain_ns",
        "n_calls",
        "dtypes",
        "step",
        "flops",
        "flops_per_s",
        "bandwidth_bytes_per_s",
        "mfu_frac",
        "precision",
        "needed_flops",
    ),
    charts=_charts,
)
