"""The source's findings, judged: each where times are told apart by more than their quartiles, else left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import there
from levels import KINDS
from page import Finding, listed
from rows import Row, Run

CRITICAL = {
    7: 0.786, 8: 0.738, 9: 0.700, 10: 0.648, 11: 0.618, 12: 0.587, 13: 0.560, 14: 0.538, 15: 0.521, 16: 0.503,
    17: 0.488, 18: 0.472,
}  # fmt: skip
"""Spearman's rank correlation that two independent rows of so many values exceed, either way, in 5 % of cases."""

CELLS = [(size, batch) for size in ("large", "small") for batch in (1, 128)]


def findings(run: Run) -> list[Finding]:
    """All verdicts, in the order of the issue's list."""
    return [shrinks(run), gpu_beats_cpu(run), higher_is_slower(run), *keras_slowest(run), naive(run), *overhead(run)]


def slower(one: Row | None, other: Row | None) -> bool | None:
    """Whether the one takes longer; null where their quartiles overlap, or one was not measured."""
    if one is None or other is None:
        return None
    if one["p25_ms"] > other["p75_ms"]:
        return True
    return False if one["p75_ms"] < other["p25_ms"] else None


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each value in their order, from 1 on; equal ones share the mean of their places."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's: Pearson's correlation of the ranks; 0 where all values of a side are equal."""
    a, b = ranks(one), ranks(other)
    mean = (len(a) + 1) / 2
    products = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    spread = (sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)) ** 0.5
    return products / spread if spread else 0.0


def shrinks(run: Run) -> Finding:
    """Code length along the ladder: no level longer than one below it, of those that the source compared."""
    lines = {name: run.lengths[name].lines for name in ("cudnn", "tf_ops", "keras_tensorflow_predict")}
    holds = lines["cudnn"] > lines["tf_ops"] >= lines["keras_tensorflow_predict"]
    said = ", ".join(f"{KINDS[name].label} {n}" for name, n in lines.items())
    why = (
        "from cuDNN to any framework the code shrinks by three quarters or more; among the Python levels a few lines "
        "decide, and Keras's are not the fewest: a line a layer, and most lines hold no more than its name. By "
        f"statements Keras is shortest ({run.lengths['keras_tensorflow_predict'].statements}). Counted by "
        "`code_length.py`"
    )
    return Finding(*there.SHRINKS, f"{said} lines of the network and its inference", holds, why)


def gpu_beats_cpu(run: Run) -> Finding:
    """Every level's time of one image on the GPU against the same level's on the processor beside it."""
    wins: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for size in SIZES:
        for level in run.levels("host"):
            if run.row("cuda", level, size):
                one, other = (run.time(device, level, size, copies=True) for device in ("host", "cuda"))
                wins[slower(one, other)].append(f"{KINDS[level].label} ({size})")
    total = sum(map(len, wins.values()))
    if not total:
        return Finding(*there.GPU_BEATS_CPU, "not measured in one machine", None, "heights of two do not compare")
    said = (
        f"one image with copies: the GPU is faster in {len(wins[True])} of {total} rows, slower in {len(wins[False])}"
    )
    if wins[False]:
        said += f": {listed(wins[False])}"
    holds = False if wins[False] else None if wins[None] else True
    why = (
        "one image is too little work: kernels run in a small part of the call (table of kernels), and launching them "
        "and copying takes the rest; TensorFlow has no row on the GPU"
    )
    return Finding(*there.GPU_BEATS_CPU, said, holds, "TensorFlow has no row on the GPU" if holds else why)


def higher_is_slower(run: Run) -> Finding:
    """Rank correlation of depth and latency over the levels on the GPU; its range over the quartiles."""
    levels = [name for name in run.levels("cuda") if calls_of(run, name) is not None and run.time("cuda", name)]
    if len(levels) not in CRITICAL:
        return Finding(*there.HIGHER_IS_SLOWER, f"{len(levels)} levels have both depth and time", None)
    depths = [calls_of(run, name) or 0 for name in levels]
    found = {}
    for column in ("p25_ms", "median_ms", "p75_ms"):
        times = [(run.time("cuda", name) or {})[column] for name in levels]
        found[column] = rank_correlation(depths, times)
    limit = CRITICAL[len(levels)]
    is_clear = min(found.values()) > limit or max(found.values()) < limit
    holds = found["median_ms"] > limit if is_clear else None
    said = (
        f"Spearman's rank correlation of calls to the library and the time of one image: {found['median_ms']:.2f} over "
        f"{len(levels)} levels ({min(found.values()):.2f} to {max(found.values()):.2f} over the quartiles)"
    )
    without = [KINDS[name].label for name in run.levels("cuda") if name not in levels]
    why = f"chance alone gives {limit:.2f} in 5 % of cases; rows `stack_…` and the table of times below"
    if without:
        why += f". Without {listed(without)}: no time without copies, or no depth"
    return Finding(*there.HIGHER_IS_SLOWER, said, holds, why)


def calls_of(run: Run, level: str) -> int | None:
    """Calls from the level's `infer` to the library; null where the stack does not reach back to it."""
    return run.depths.get(level, {}).get("calls")


def keras_slowest(run: Run) -> Iterable[Finding]:
    """Keras against every other level on the GPU: `model(x)` without copies, `predict` with them, as it makes them."""
    claim, where, then = there.KERAS_SLOWEST
    others = [name for name in run.levels("cuda") if not name.startswith("keras")]
    for name in run.levels("cuda"):
        if name.startswith("keras") and others:
            copies = name.endswith("predict")
            places = [_place(run, name, others, size, copies=copies) for size in SIZES]
            verdicts = {holds for holds, _ in places}
            said = "; ".join(f"{size} {text}" for size, (_, text) in zip(SIZES, places, strict=True))
            holds = False if False in verdicts else None if None in verdicts else True
            why = f"one image, {'with' if copies else 'without'} the copies, against all levels that are not Keras"
            if holds is False:
                why += _launches(run, name, others)
            yield Finding(f"{claim}: {KINDS[name].label}", where, then, said, holds, why)


SIZES = ("large", "small")


def _launches(run: Run, name: str, others: Sequence[str]) -> str:
    """What the slowest of the others starts for an inference, and what this level does."""
    times = {other: (run.time("cuda", other, copies=True) or {"median_ms": 0})["median_ms"] for other in others}
    slowest = max(times, key=lambda other: times[other])
    one, other = ((run.row("cuda", level) or {}).get("launches") for level in (name, slowest))
    if one is None or other is None:
        return "; cause not established"
    return (
        f"; it compiles the whole network, and the host starts {one:g} kernels an inference, {KINDS[slowest].label} "
        f"{other:g}: `trace_{name}` and `trace_{slowest}`"
        if one < other
        else "; cause not established"
    )


def _place(run: Run, name: str, others: Sequence[str], size: str, *, copies: bool) -> tuple[bool | None, str]:
    """Whether it is slower than all the others, and what to say."""
    mine = run.time("cuda", name, size, copies=copies) or {"median_ms": 0}
    times = {other: time for other in others if (time := run.time("cuda", other, size, copies=copies))}
    judged = [slower(mine, time) for time in times.values()]
    slowest = max(times, key=lambda other: times[other]["median_ms"])
    said = f"{mine['median_ms']:.3f} ms, {KINDS[slowest].label} {times[slowest]['median_ms']:.3f}"
    return (False if False in judged else None if None in judged else True), said


def naive(run: Run) -> Finding:
    """Naive cuDNN against fused calls, and both against the compilers' graphs."""
    plain, fused = (run.time("cuda", name) for name in ("cudnn", "cudnn_fused"))
    jit = run.time("cuda", "jax_jit")
    if plain is None or fused is None:
        return Finding(*there.NAIVE, "not measured", None)
    behind, gained = slower(plain, jit), slower(plain, fused)
    said = f"one image, larger network: a call an operation {quartiles(plain)} ms, fused calls {quartiles(fused)}" + (
        f"; JAX jit, whose XLA is also TensorFlow's compiler, {quartiles(jit)}" if jit else ""
    )
    if behind is False:
        why = "the naive program is no longer behind: `cudnn` and `jax_jit` in the table of times"
        return Finding(*there.NAIVE, said, holds=False, why=why)
    why = "TensorFlow itself has no row on the GPU; `cudnn`, `cudnn_fused` and `jax_jit` in the table of times"
    return Finding(*there.NAIVE, said, gained if behind else None, why if gained else f"cause not established; {why}")


def quartiles(time: Mapping[str, float]) -> str:
    """`0.123 (0.120 to 0.130)`."""
    return f"{time['median_ms']:.3f} ({time['p25_ms']:.3f} to {time['p75_ms']:.3f})"


def overhead(run: Run) -> Iterable[Finding]:
    """Share of an inference in which kernels run; and what a CUDA graph saves of the same kernels."""
    shares = {}
    for name in run.levels("cuda"):
        row, time = run.row("cuda", name) or {}, run.time("cuda", name)
        if time and row.get("kernel_ms"):
            shares[name] = row["kernel_ms"] / time["median_ms"]
    if not shares:
        return
    low, high = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
    said = (
        f"one image, larger network: kernels run in {shares[low]:.0%} ({KINDS[low].label}) to {shares[high]:.0%} "
        f"({KINDS[high].label}) of the time"
    )
    with_depth = [name for name in shares if calls_of(run, name) is not None]
    holds, why = None, "time of kernels over time of the call, per level in the table of times"
    if len(with_depth) in CRITICAL:
        depths = [calls_of(run, name) or 0 for name in with_depth]
        found = rank_correlation(depths, [1 - shares[name] for name in with_depth])
        holds = found > CRITICAL[len(with_depth)]
        why += f"; rank correlation of depth and the share without kernels {found:.2f} over {len(with_depth)} levels"
    yield Finding(*there.OVERHEAD, said, holds, why)
    yield from _graphs(run)


def _graphs(run: Run) -> Iterable[Finding]:
    """The same calls one by one, and replayed."""
    pairs = (("cudnn_fused", "cudnn_graph"), ("compile", "reduce_overhead"))
    told, verdicts = [], []
    for one, other in pairs:
        before, after = run.time("cuda", one), run.time("cuda", other)
        if before and after:
            told.append(f"{KINDS[one].label} {quartiles(before)} ms, replayed {quartiles(after)}")
            verdicts.append(slower(before, after))
    if told:
        holds = verdicts[0] if len(set(verdicts)) == 1 else None
        why = "one image, larger network; `…graph` and `reduce_overhead` in the table of times"
        yield Finding("A CUDA graph takes overhead away", "not in the source", "-", "; ".join(told), holds, why)
