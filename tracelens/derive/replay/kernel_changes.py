"""Predict a step with other kernels: channels-last layout, a fused or a capturable optimizer."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracelens.derive.replay.host import covered_ns
from tracelens.derive.replay.moment_graph import CALL, KERNEL, LAUNCH, QUEUE, Flags, Ints, picked
from tracelens.derive.replay.subject import Spread, Subject, require
from tracelens.derive.time.advice_rules import CONTIGUOUS_NORMS
from tracelens.errors import UsageError

_FUSED_HOST, _FUSED_DEVICE = 0.05, 0.3
"""Ratios of a fused to an unfused optimizer's time, on the host and on the device.

They were measured on four programs of samples/whatif, whose errors are in docs/accuracy.md.
"""
_FOREACH_HOST = (0.05, 0.2, 0.4)
"""Least, usual and largest ratio of a fused optimizer's host time to a foreach optimizer's.

The ratio was 0.04 and 0.30 in two programs of samples/blind. The limits are chosen by hand around
these two values.
"""
_NOT_FUSED = (
    r"^Optimizer\.step#(?:ASGD|Adadelta|Adafactor|Adagrad|Adamax|LBFGS|Muon|NAdam|RAdam|RMSprop|Rprop"
    r"|SparseAdam)\.step$"
)
"""Marks of torch's optimizers that have no fused form on a GPU (torch 2.13)."""
_FUSED_LISTS = 7
"""Number of lists of tensors that a fused Adam reads and writes.

It reads parameters, gradients and two moments, and writes all but the gradients.
"""
_SHORT_PASS = 4
"""A foreach optimizer's kernel is short if another takes more than this many times as long.

Short kernels work on small tensors, such as step counts, instead of the parameters.
"""
_LEAST_CONVOLUTION, _LEAST_NORMALIZATION = 0.49, 0.58
"""Smallest ratio of kernel time with channels last to kernel time without.

The first ratio is for convolutions, the second for normalisations. Both were measured on six pairs
of captures: ResNet-50 and MobileNet of samples/advisor with batches of 1 and 32, samples/torch, and
conv_infer_large of samples/whatif.
"""
_MOST_NORMALIZATION_NS = 10_200
"""Longest time in ns that a normalisation of a single picture took with channels last.

The same normalisation took 3 µs without channels last.
"""
_USUAL_CONVOLUTION = 0.81
"""Median ratio of a convolution's time with channels last to its time without.

It is the median of the pairs of captures behind _LEAST_CONVOLUTION, without conv_infer_large.
"""
_ALONG_CHANNELS, _MOST_ALONG_CHANNELS = "(?i)upsample|CatArray|reduce_kernel", 2
"""Kernels that run slower with channels last, and the largest ratio of their times.

Interpolation, concatenation and the search for the largest channel took 1.7 to 2 times as long in
parts_infer_wide of samples/blind. The limit is chosen around these ratios.
"""
_CAPTURABLE_KERNELS, _SMALL_QUANTILE = 12, 0.1
"""Number of kernels that only a `capturable` Adam has, and a quantile for their time.

The number is counted in `torch.optim.adam._single_tensor_adam` (torch 2.11). These kernels compute
a single number. So each is assumed to take as long as this quantile of the trace's kernels.
"""


def channels_last(subject: Subject, _: str | None) -> Spread:
    """Remove the kernels that transpose tensors for convolutions, and shorten the convolutions.

    The time of convolutions is multiplied by _USUAL_CONVOLUTION. Raises UsageError if another op
    would transpose the images back.
    """
    table = subject.replay.table
    work = subject.replay.excerpt.work
    rows = work["name"].str.contains("(?i)nchwToNhwc|nhwcToNchw").fill_null(value=False).to_numpy()
    require(rows, "channels_last: no kernel of these steps turns a layout round")
    if subject.replay.excerpt.spans["name"].cast(pl.String).str.contains(CONTIGUOUS_NORMS).any():
        raise UsageError(
            "channels_last: group norm and instance norm turn images back on a GPU, so there is no"
            " number; three measured programs with group norm took 3 to 40 % more"
        )
    calls = subject.replay.work.calls[rows]
    gone = np.isin(table.kinds, (KERNEL, LAUNCH, QUEUE)) & picked(rows, table.items)
    gone |= (table.kinds == CALL) & np.isin(table.items, calls[calls >= 0])
    convolutions, normalizations = (
        (table.kinds == KERNEL)
        & ~gone
        & picked(
            work["primitive"].eq_missing(kind).to_numpy(),
            table.items,
        )
        for kind in ("conv", "normalization")
    )

    along = work["name"].str.contains(_ALONG_CHANNELS).fill_null(value=False).to_numpy()
    is_along = (table.kinds == KERNEL) & ~gone & picked(along, table.items)

    def turned(weights: Ints) -> Ints:
        return np.where(gone, 0, weights)

    def usual(weights: Ints) -> Ints:
        shares = np.where(convolutions, _USUAL_CONVOLUTION, 1.0)
        return (turned(weights) * shares).astype(np.int64)

    def at_least(weights: Ints) -> Ints:
        shares = np.where(convolutions, _LEAST_CONVOLUTION, 1.0)
        shares[normalizations] = _LEAST_NORMALIZATION
        return (turned(weights) * shares).astype(np.int64)

    def at_most(weights: Ints) -> Ints:
        slowest = np.maximum(weights, _MOST_NORMALIZATION_NS)
        strided = np.where(is_along, weights * _MOST_ALONG_CHANNELS, turned(weights))
        return np.where(normalizations, slowest, strided)

    return Spread(usual, at_least, at_most)


def fused_optimizer(subject: Subject, _: str | None) -> Spread:
    """Multiply the optimizer's host and device time by the measured ratios of fused optimizers.

    The trace must mark the optimizer's steps. Raises UsageError if torch has no fused form of the
    optimizer.
    """
    replay = subject.replay
    table = subject.replay.table
    begins, ends = _optimizer_steps(subject, r"^Optimizer\.step#")
    require(begins >= 0, "fused_optimizer: the trace marks no step of an optimizer")
    not_fused = _optimizer_steps(subject, _NOT_FUSED)[0]
    if len(not_fused) == len(begins):
        raise UsageError(
            "fused_optimizer: torch has a fused form of Adam, AdamW and SGD only; this is another"
            " of its optimizers"
        )
    rows = _lies_in(replay.work.launched, begins, ends)
    names = replay.excerpt.work["name"].fill_null("")
    if (names.str.contains("(?i)fused").to_numpy() & rows).any():
        raise UsageError("fused_optimizer: this optimizer is fused already")
    # A `foreach` optimizer, torch's default, updates several parameters at once. So it gains less.
    joined = names.str.contains("multi_tensor").to_numpy() & rows
    least, usual, most = _FOREACH_HOST if joined.any() else (_FUSED_HOST,) * 3
    sources = table.recorded[table.graph.sources]
    targets = table.recorded[table.targets]
    inside = covered_ns(targets, begins, ends) - covered_ns(sources, begins, ends)
    shares = np.where(
        subject.is_host,
        inside / np.maximum(targets - sources, 1),
        0,
    )
    on_device = np.isin(table.kinds, (KERNEL, QUEUE)) & picked(rows, table.items)

    def change(weights: Ints, kept: float = usual, kept_on_device: float = _FUSED_DEVICE) -> Ints:
        shorter = weights * (1 - shares * (1 - kept))
        return np.where(on_device, shorter * kept_on_device, shorter).astype(np.int64)

    if not joined.any():
        return Spread(change, change, change)
    most_on_device = _largest_fused_ratio(replay.excerpt.work.filter(pl.Series(joined)))
    return Spread(
        change,
        lambda weights: change(weights, least),
        lambda weights: change(weights, most, most_on_device),
    )


def _largest_fused_ratio(kernels: pl.DataFrame) -> float:
    """Return the largest ratio of a fused optimizer's device time to a foreach optimizer's.

    `kernels` are the kernels of the foreach optimizer.
    """
    # Each kernel that is not short reads at least one list of tensors and writes one.
    length = (pl.col("end") - pl.col("start")).sum()
    lengths = kernels.group_by("name").agg(length.alias("ns"))["ns"]
    n_passes = lengths.filter(_SHORT_PASS * lengths >= lengths.max()).len()
    return min(_FUSED_LISTS / (2 * n_passes), 1.0)


def _optimizer_steps(subject: Subject, pattern: str) -> tuple[Ints, Ints]:
    """Return begins and ends of the optimizer steps whose marks match the pattern, by start."""
    excerpt = subject.replay.excerpt
    spans = subject.trace.select("spans", "name", "start_ns", "duration_ns", rank=excerpt.rank)
    is_step = pl.col("name").cast(pl.String).str.contains(pattern)
    steps = spans.filter(is_step).sort("start_ns")
    begins = steps["start_ns"].to_numpy() - excerpt.origin_ns
    return begins, begins + steps["duration_ns"].to_numpy()


def capturable_ns(subject: Subject, gap_ns: int) -> Ints:
    """Return the time in ns that Adam's `capturable=True` adds to each edge of the replay's graph.

    A CUDA graph can capture Adam only with this argument. No edge gets longer if the trace shows no
    Adam, or if its Adam is capturable already.
    """
    replay = subject.replay
    table = subject.replay.table
    names = replay.excerpt.work["name"].fill_null("")
    # With `capturable`, the device computes the bias corrections, in small kernels per parameter or
    # group of parameters. Their time is added to the last kernel of each, `addcdiv`.
    in_steps = _lies_in(replay.work.launched, *_optimizer_steps(subject, r"^Optimizer\.step#Adam"))
    if (names.str.contains("pow_tensor").to_numpy() & in_steps).any():
        return np.zeros(len(table.kinds), np.int64)
    last = (names.str.contains("(?i)addcdiv") & ~names.str.contains("(?i)fused")).to_numpy()
    kernels = table.kinds == KERNEL
    of_last = kernels & picked(last & in_steps, table.items)
    small_ns = np.quantile(table.graph.weights[kernels], _SMALL_QUANTILE) if of_last.any() else 0
    return np.where(
        of_last,
        _CAPTURABLE_KERNELS * (round(small_ns) + gap_ns),
        0,
    )


def _lies_in(moments: Ints, begins: Ints, ends: Ints) -> Flags:
    """Return whether each moment lies in an interval; intervals are sorted and disjoint."""
    if not len(begins):
        return np.zeros(len(moments), bool)
    interval = np.searchsorted(begins, moments, "right") - 1
    inside: Flags = (interval >= 0) & (moments < ends[interval])
    return inside
