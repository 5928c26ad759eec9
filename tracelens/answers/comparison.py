"""Answer for the comparison of two runs: speed, parts of the time, and changed work."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from tracelens.analyses import (
    compare_copies,
    compare_kernels,
    compare_layers,
    compare_ops,
    compare_time,
)
from tracelens.answers.answer import REST, WORK, Answer, Bar, Part
from tracelens.answers.recorded import about, has_stacks
from tracelens.answers.step_bar import kind_of, label_of
from tracelens.derive.columns.time_text import change_text, difference, duration, three_digits
from tracelens.derive.comparing.comparability import unrelated
from tracelens.derive.comparing.op_inputs import differing_inputs
from tracelens.derive.comparing.significance import DEFAULT, REASON_TOO_FEW, Rules
from tracelens.derive.layers.compilation import other_device, shows_compilation
from tracelens.derive.layers.graph_replay import has_replays
from tracelens.derive.time.bound_places import short_kernel
from tracelens.derive.time.model import model_for_times
from tracelens.derive.time.step_table import steps_of
from tracelens.derive.time.time_parts import RankTime, rank_times
from tracelens.errors import MissingTableError
from tracelens.schemas.results.time import PARTS
from tracelens.trace import Trace

_NAMES = {"exposed_communication": "communication", "exposed_copy": "copy"}
_MOST_CHANGED, _LEAST_CHANGE = 3, 0.01
_MOST_PARTS = 4
_LONGEST_NAME = 36
_ONLY_IN = {"added": " (only in new)", "removed": " (only in base)"}
_COMMUNICATES = r"(?i)^record_param_comms$|^c10d::|nccl|rccl"
"""Names of ops and kernels that communicate."""


def answer_comparison(base: Trace, other: Trace, rules: Rules = DEFAULT) -> Answer:
    """Return the comparison of two runs. Raises MissingTableError without kernels and ops."""
    refused = None if rules.any_program else unrelated(base, other)
    if refused is not None:
        return Answer("Two programs are not compared", refused=refused)
    compared = compare_time(base, other, rules=rules)
    if base.has("kernels") != other.has("kernels"):
        return _across_processors(base, other, compared)
    times = _middle_rank(compared)
    if times.is_empty():
        reason = f"{base.name} and {other.name} have no rank and device in common"
        return Answer("Two runs of other ranks are not compared", refused=reason)
    if _marks_steps(base) != _marks_steps(other):
        return _of_one_with_steps(base, other, times["rank"][0])
    parts = {row["part"]: row for row in times.iter_rows(named=True)}
    whole = parts.pop("window")
    parts.pop("idle", None)
    by_layer = _changed_layers(base, other, rules)
    by_work = () if by_layer else _changed_work(base, other, rules, whole)
    shapes = differing_inputs(base, other, "input_shapes")
    dtypes = differing_inputs(base, other, "input_dtypes")
    ranks = _rank_time(base, whole["rank"]), _rank_time(other, whole["rank"])
    return Answer(
        _sentence(
            whole,
            _step_words(ranks, whole) if _marks_steps(base) else "",
            ", for other work" if shapes else "",
        ),
        bars=_bars(ranks, whole),
        details=(
            *(f"other work: {text}" for text in (shapes,) if text),
            *(f"other types: {text}" for text in (dtypes,) if text),
            *_changed_parts(
                parts,
                whole["base_ns"],
                _copy_words(base, other, whole["rank"]),
            ),
            *by_layer,
            *by_work,
        ),
        no_change=_advice(other),
        about=f"base: {about(base, model_for_times(base))}",
        doubts=(f"new: {about(other, model_for_times(other))}", *_doubts(base, other, whole)),
        sections=(
            "compare_time",
            "compare_layers"
            if by_layer
            else "compare_kernels"
            if other.has("kernels")
            else "compare_ops",
        ),
    )


def _across_processors(base: Trace, other: Trace, times: pl.DataFrame) -> Answer:
    """Return the answer if only one run used a GPU.

    It compares only the times of a step.
    """
    windows = times.filter(part="window").select(pl.median("base_ns", "other_ns"))
    before, after = map(duration, windows.row(0))
    step = "a step" if _marks_steps(base) and _marks_steps(other) else "the program"
    gpu, cpu = ("base", "new") if base.has("kernels") else ("new", "base")
    return Answer(
        f"Only {gpu} used a GPU, {cpu} did not: {step} took {before}, and {after} in new",
        about=f"base: {about(base, model_for_times(base))}",
        doubts=(f"new: {about(other, model_for_times(other))}",),
        sections=("compare_setup", "compare_ops"),
    )


def _middle_rank(times: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of one rank and device: the device with the median step time in base.

    Only devices that are in both runs are considered. Without such devices, the result is empty.
    """
    in_both = times.filter(part="window").drop_nulls(["base_ns", "other_ns"])
    if in_both.is_empty():
        return in_both
    windows = in_both.sort("base_ns", "rank", "device")
    row = windows.row((windows.height - 1) // 2, named=True)
    is_same_device = pl.col("device").eq_missing(pl.lit(row["device"], pl.Int32))
    return times.filter((pl.col("rank") == row["rank"]) & is_same_device)


def _of_one_with_steps(base: Trace, other: Trace, rank: int) -> Answer:
    """Return the answer if only one run marks steps.

    The marked run's step is compared with the time that the other run takes for the same number of
    kernels. Runs without a device are compared by number of ops.
    """
    names = ("new", "base") if _marks_steps(other) else ("base", "new")
    traces = (other, base) if _marks_steps(other) else (base, other)
    marked, bare = (_rank_time(trace, rank) for trace in traces)
    step_ns = marked.judged_step_ns or 0
    n_steps = bare.n_work / max(marked.n_work / max(marked.n_steps, 1), 1)
    as_much_ns = sum(bare.parts.values()) / bare.n_devices / max(n_steps, 1e-9)
    kind = "ops" if bare.is_process else "kernels"
    return Answer(
        f"Only {names[0]} marks steps: one takes {duration(step_ns)}; as many {kind} of"
        f" {names[1]} take {duration(as_much_ns)}",
        no_change="What would help: mark the steps of both runs (prof.step(); NVTX ranges step 0,"
        " step 1, …)",
        about=f"base: {about(base, model_for_times(base))}",
        doubts=(f"new: {about(other, model_for_times(other))}",),
        sections=("compare_ops",) if bare.is_process else ("compare_kernels", "compare_ops"),
    )


def _marks_steps(trace: Trace) -> bool:
    return steps_of(trace).height > 0


def _rank_time(trace: Trace, rank: int) -> RankTime:
    """Return the time of the rank, or of the first rank if the trace does not have it."""
    ranks = rank_times(model_for_times(trace))
    return next((judged for judged in ranks if judged.rank == rank), ranks[0])


def _step_words(ranks: tuple[RankTime, RankTime], whole: dict[str, Any]) -> str:
    """Return " in the median step" if a run's mean and median step differ, else " a step"."""
    medians = whole["base_ns"], whole["other_ns"]
    means = (rank.judged_step_ns for rank in ranks)
    # Lengths that are written alike are equal.
    is_uneven = any(
        mean is not None and duration(mean) != duration(median)
        for mean, median in zip(means, medians, strict=True)
    )
    return " in the median step" if is_uneven else " a step"


def _sentence(whole: dict[str, Any], step: str, work: str) -> str:
    """Give the speed of the other run relative to base, with both times and the noise.

    `work` is a phrase for runs that did different work, and empty for equal work.
    """
    before, after = whole["base_ns"], whole["other_ns"]
    times = f"{change_text(before, after)}{step}"
    low, high = whole["more_low_ns"], whole["more_high_ns"]
    noise = "" if low is None else f" (noise ±{duration((high - low) / 2)})"
    if whole["outcome"] == "unclear" and whole["reason"] != REASON_TOO_FEW:
        return f"Within noise{work}: {times}{noise}"
    ratio = before / after if after else float("inf")
    if ratio >= 1:
        return f"{three_digits(ratio)} times as fast{work}: {times}{noise}"
    return f"Takes {three_digits(1 / ratio)} times as long{work}: {times}{noise}"


def _bars(ranks: tuple[RankTime, RankTime], whole: dict[str, Any]) -> tuple[Bar, ...]:
    """Draw a step of each run as a bar on the same scale, with the largest parts."""
    totals = whole["base_ns"] or 1, whole["other_ns"] or 1
    longest = max(totals)
    sides = list(zip(("base", "new"), ranks, totals, strict=True))
    size = {part: max(rank.shares[part] * total for _, rank, total in sides) for part in PARTS}
    named = sorted(size, key=lambda name: -size[name])[:_MOST_PARTS]
    named = [name for name in named if size[name] >= _LEAST_CHANGE * longest]
    named.sort(key=lambda part: kind_of(part) != WORK)
    bars = []
    for label, rank, total in sides:
        drawn = [
            Part(
                label_of(name, is_process=rank.is_process),
                rank.shares[name],
                kind_of(name),
            )
            for name in named
        ]
        rest = 1 - sum(part.share for part in drawn)
        drawn += [Part("other", rest, REST)] if rest >= _LEAST_CHANGE / 2 else []
        bars.append(
            Bar(
                label,
                tuple(drawn),
                total / longest,
                duration(total),
            )
        )
    return tuple(bars)


def _copy_words(base: Trace, other: Trace, rank: int) -> str | None:
    """Name the kind of source memory, such as pageable, of the copies whose time changed most.

    The text is empty if there are no copies. Return None for a process without a device.
    """
    if not base.has("kernels"):
        return None
    try:
        copies = compare_copies(base, other).filter(rank=rank)
    except MissingTableError:
        return ""
    n_base, n_other = (max(_rank_time(trace, rank).n_steps, 1) for trace in (base, other))
    more_ns = pl.col("duration_other_ns") / n_other - pl.col("duration_base_ns") / n_base
    most = copies.sort(more_ns.abs(), descending=True)
    memory = pl.coalesce("memory_other", "memory_base")
    return "".join(f" (from {words} memory)" for words in most.select(memory).to_series().head(1))


def _label(part: str, *, is_process: bool) -> str:
    return label_of(
        _NAMES.get(part, part.removeprefix("idle_")),
        is_process=is_process,
    )


def _changed_parts(
    parts: dict[str, dict[str, Any]],
    step_ns: float,
    copy_words: str | None,
) -> Iterator[str]:
    """Yield two lines: the parts that take less time than in base, and the parts that take more.

    `copy_words` describe copies; None for a process without a device.
    """
    rows = [row for row in parts.values() if abs(row["more_ns"] or 0) >= _LEAST_CHANGE * step_ns]
    for word, sign in (("less", -1), ("more", 1)):
        changed = sorted(
            (row for row in rows if row["more_ns"] * sign > 0),
            key=lambda row: -abs(row["more_ns"]),
        )
        sentences = [
            _label(row["part"], is_process=copy_words is None)
            + f" {difference(row['more_ns'])}"
            + (copy_words or "" if row["part"] == "exposed_copy" else "")
            for row in changed[:_MOST_CHANGED]
        ]
        yield f"{word}: {', '.join(sentences) or 'nothing'}"


def _changed_layers(base: Trace, other: Trace, rules: Rules) -> tuple[str, ...]:
    """Name the layers with the largest changes beyond noise; empty unless both runs have layers."""
    try:
        layers = compare_layers(base, other, rules=rules)
    except MissingTableError:
        return ()
    is_changed = pl.col("outcome").is_in(["faster", "slower"])
    changed = layers.filter(is_changed & ~pl.col("layer").str.starts_with("("))
    if not changed.height:
        return ()
    most = changed.sort(pl.col("saved_ns").abs(), descending=True).head(_MOST_CHANGED)
    sentences = [
        f"{'.'.join(row['layer'].split('.')[-2:])} {row['phase'] or ''}".strip()
        + f" {difference(-row['saved_ns'])}"
        for row in most.iter_rows(named=True)
    ]
    return (f"layers: {', '.join(sentences)}",)


def _changed_work(
    base: Trace,
    other: Trace,
    rules: Rules,
    whole: dict[str, Any],
) -> tuple[str, ...]:
    """Name the ops whose time changed most and beyond noise.

    If a trace has no ops, name kernels instead. The result is empty if no change is large enough.
    """
    work = "ops"
    try:
        rows = compare_ops(base, other, rules=rules)
    except MissingTableError:
        if not base.has("kernels"):
            return ()
        work, rows = "kernels", compare_kernels(base, other, rules=rules)
    more_ns = pl.col("other_ns").fill_null(0) - pl.col("base_ns").fill_null(0)
    # Work that only one run has counts as changed.
    is_sure = pl.col("outcome").is_in(["faster", "slower"]) | (pl.col("change") != "both")
    is_large = more_ns.abs() >= _LEAST_CHANGE * whole["base_ns"]
    # Communication is a part of the step itself, so its ops are left out.
    communicates = pl.col("name").cast(pl.String).str.contains(_COMMUNICATES)
    changed = rows.filter(is_sure & is_large & ~communicates, rank=whole["rank"])
    most = changed.sort(more_ns.abs(), descending=True).head(_MOST_CHANGED)
    sentences = [
        f"{_short(name)} {difference(ns)}{_ONLY_IN.get(change, '')}"
        for name, ns, change in most.select("name", more_ns, "change").iter_rows()
    ]
    return (f"{work}: {', '.join(sentences)}",) if sentences else ()


def _short(name: str) -> str:
    """Shorten the name of an op or kernel, so that several fit into two lines."""
    short = short_kernel(name)
    return short if len(short) <= _LONGEST_NAME else f"{short[: _LONGEST_NAME - 1]}…"


def _advice(other: Trace) -> str | None:
    """Advise what to do next with the new run; None without advice."""
    ranks = rank_times(model_for_times(other))
    if not ranks or ranks[0].is_process or not shows_compilation(other) or has_replays(other):
        return None
    launching = ranks[0].shares["launch"]
    if launching < 0.1:
        return None
    return (
        f"new is compiled and waits for launches {launching * 100:.0f} % of a step:"
        ' torch.compile(mode="reduce-overhead") would replay them as a CUDA graph'
    )


def _doubts(base: Trace, other: Trace, whole: dict[str, Any]) -> Sequence[str]:
    doubts = []
    if len(base.manifest.ranks) != len(other.manifest.ranks):
        doubts.append(f"the runs have different numbers of ranks: rank {whole['rank']} is compared")
    if whole["reason"] == REASON_TOO_FEW:
        doubts.append("fewer than three steps on a side: what is noise cannot be told")
    if (device := other_device(base, other)) is not None:
        doubts.append(device)
    if has_stacks(base) != has_stacks(other):
        doubts.append(
            "only one has stacks, which slow the host: its waiting for launches is not the program's"
        )
    return doubts
