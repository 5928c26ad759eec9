"""The source's findings, judged: each where times are told apart by more than their quartiles, else left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import there
from levels import KINDS
from page import Finding, count
from rows import Row, Run

CRITICAL = {
    7: 0.786,
    8: 0.738,
    9: 0.700,
    10: 0.648,
    11: 0.618,
    12: 0.587,
    13: 0.560,
    14: 0.538,
    15: 0.521,
    16: 0.503,
    17: 0.488,
    18: 0.472,
}
"""Spearman's rank correlation that two independent rows of so many values exceed, either way, in
5 % of cases."""

CELLS = [(size, batch) for size in ("large", "small") for batch in (1, 128)]


def findings(run: Run) -> list[Finding]:
    """All verdicts, in the order of the issue's list."""
    length = [low_is_longest(run), keras_is_shortest(run)]
    return [
        *length,
        gpu_beats_cpu(run),
        higher_is_slower(run),
        *keras_slowest(run),
        naive(run),
        *overhead(run),
    ]


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


def low_is_longest(run: Run) -> Finding:
    """Whether cuDNN's code is longer than every framework's, by lines and by statements."""
    claim, where, then = there.SHRINKS
    frameworks = [name for name in run.lengths if not name.startswith("cudnn")]
    by_lines = max(frameworks, key=lambda name: run.lengths[name].lines)
    mine, longest = run.lengths["cudnn"], run.lengths[by_lines]
    holds = mine.lines > longest.lines and mine.statements > max(
        run.lengths[name].statements for name in frameworks
    )
    said = (
        f"cuDNN {mine.lines} lines, the longest in a framework {longest.lines}"
        f" ({KINDS[by_lines].label})"
    )
    why = "counted by `code_length.py`: the network and its inference, of one network at all levels"
    return Finding(f"{claim}: cuDNN's is longest", where, then, said, holds, why)


def keras_is_shortest(run: Run) -> Finding:
    """Whether Keras's code is shorter than TensorFlow's, by lines and by statements; null where they disagree."""
    claim, where, then = there.SHRINKS
    low, high = run.lengths["tf_ops"], run.lengths["keras_tensorflow_predict"]
    verdicts = {high.lines < low.lines, high.statements < low.statements}
    said = (
        f"Keras {high.lines} lines in {high.statements} statements, TensorFlow op by op {low.lines}"
        f" in {low.statements}"
    )
    why = (
        "Keras has a statement for the whole network, which takes a line a layer; counted by"
        " `code_length.py`"
    )
    return Finding(
        f"{claim}: Keras's is shorter than TensorFlow's", where, then, said, _agreed(verdicts), why
    )


def _agreed(verdicts: set[bool]) -> bool | None:
    return verdicts.pop() if len(verdicts) == 1 else None


def gpu_beats_cpu(run: Run) -> Finding:
    """How often a level's inference takes less time on the GPU; no verdict, as the CPU is another machine's."""
    wins: dict[bool | None, int] = {True: 0, False: 0, None: 0}
    slow = []
    for size, batch in CELLS:
        for level in set(run.levels("cpu")) & set(run.levels("cuda")):
            one, other = (
                run.time(device, level, size, batch, copies=True) for device in ("cpu", "cuda")
            )
            wins[slower(one, other)] += 1
            slow += [(size, batch)] if slower(one, other) is False else []
    said = (
        f"with copies, faster on the GPU in {wins[True]} of {sum(wins.values())} rows, slower in"
        f" {wins[False]}"
    )
    if slow:
        cells = [cell for cell in CELLS if cell in slow]
        said += ": " + "; ".join(
            f"{slow.count((s, n))} with {count(n, 'image')} by the {s} network" for s, n in cells
        )
    why = "CPU and GPU are of two machines, and TensorFlow has no row on the GPU: no verdict"
    return Finding(*there.GPU_BEATS_CPU, said, None, why)


def higher_is_slower(run: Run) -> Finding:
    """Rank correlation of depth and latency over the levels on the GPU, with copies and without; both must agree."""
    told, verdicts = [], []
    for copies in (True, False):
        times = {
            name: time
            for name in run.levels("cuda")
            if (time := run.time("cuda", name, copies=copies))
        }
        columns = [{name: time[column] for name, time in times.items()} for column in QUARTILES]
        text, verdict = by_depth(run, columns)
        told.append(f"{'with' if copies else 'without'} copies {text}")
        verdicts.append(verdict)
    said = (
        "rank correlation (Spearman) of calls to the library and the time of one image:"
        f" {'; '.join(told)}"
    )
    why = "`stack_large_…` and the table of times; `predict` has no time without copies"
    return Finding(
        *there.HIGHER_IS_SLOWER, said, verdicts[0] if len(set(verdicts)) == 1 else None, why
    )


QUARTILES = ("median_ms", "p25_ms", "p75_ms")


def by_depth(run: Run, columns: Sequence[Mapping[str, float]]) -> tuple[str, bool | None]:
    """Rank correlations of the levels' depths and their values, the first of them the one to quote.

    Beside the words: whether all are beyond what chance gives, False beyond it the other way, else
    null.
    """
    levels = [name for name in columns[0] if calls_of(run, name) is not None]
    if len(levels) not in CRITICAL:
        return f"of {len(levels)} levels: too few or too many", None
    depths = [calls_of(run, name) or 0 for name in levels]
    found = [rank_correlation(depths, [column[name] for name in levels]) for column in columns]
    limit = CRITICAL[len(levels)]
    text = (
        f"{found[0]:.2f} over {len(levels)} levels ({min(found):.2f} to {max(found):.2f} over the"
        f" quartiles; chance alone gives {limit:.2f} in 5 % of cases)"
    )
    return text, True if min(found) > limit else False if max(found) < -limit else None


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
            said = "; ".join(
                f"{size} {text}" for size, (_, text) in zip(SIZES, places, strict=True)
            )
            holds = False if False in verdicts else None if None in verdicts else True
            why = (
                f"one image, {'with' if copies else 'without'} the copies, against all levels that"
                " are not Keras"
            )
            if holds is False:
                why += _launches(run, name, others)
            yield Finding(f"{claim}: {KINDS[name].label}", where, then, said, holds, why)


SIZES = ("large", "small")


def _launches(run: Run, name: str, others: Sequence[str]) -> str:
    """Launches for an inference: those of the slowest of the others, and of this level."""
    times = {
        other: (run.time("cuda", other, copies=True) or {"median_ms": 0})["median_ms"]
        for other in others
    }
    slowest = max(times, key=lambda other: times[other])
    one, other = ((run.row("cuda", level) or {}).get("launches") for level in (name, slowest))
    if one is None or other is None:
        return "; cause not established"
    return (
        f"; it compiles the whole network, and the host starts {one:g} kernels an inference,"
        f" {KINDS[slowest].label} {other:g}: `trace_{name}` and `trace_{slowest}`"
        if one < other
        else "; cause not established"
    )


def _place(
    run: Run, name: str, others: Sequence[str], size: str, *, copies: bool
) -> tuple[bool | None, str]:
    """Whether it is slower than all the others, and what to say."""
    mine = run.time("cuda", name, size, copies=copies) or {"median_ms": 0}
    times = {
        other: time for other in others if (time := run.time("cuda", other, size, copies=copies))
    }
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
    said = (
        f"one image, larger network: a call an operation {quartiles(plain)} ms, fused calls"
        f" {quartiles(fused)}"
        + (f"; JAX jit, whose XLA is also TensorFlow's compiler, {quartiles(jit)}" if jit else "")
    )
    small = [run.time("cuda", name, "small") for name in ("cudnn", "cudnn_fused")]
    if small[0] and small[1]:
        said += (
            f"; smaller network: a call an operation {quartiles(small[0])}, fused calls"
            f" {quartiles(small[1])}"
        )
    if behind is False:
        why = "the naive program is no longer behind: `cudnn` and `jax_jit` in the table of times"
        return Finding(*there.NAIVE, said, holds=False, why=why)
    why = (
        "TensorFlow itself has no row on the GPU; `cudnn`, `cudnn_fused` and `jax_jit` in the table"
        " of times"
    )
    return Finding(
        *there.NAIVE,
        said,
        gained if behind else None,
        why if gained else f"cause not established; {why}",
    )


def quartiles(time: Mapping[str, float]) -> str:
    """`0.123 (0.120 to 0.130)`."""
    return f"{time['median_ms']:.3f} ({time['p25_ms']:.3f} to {time['p75_ms']:.3f})"


def overhead(run: Run) -> Iterable[Finding]:
    """Share of an inference in which kernels run; and what a CUDA graph saves of the same kernels."""
    shares: dict[str, list[float]] = {}
    for name in run.levels("cuda"):
        row, time = run.row("cuda", name) or {}, run.time("cuda", name)
        if time and row.get("kernel_ms"):
            shares[name] = [row["kernel_ms"] / time[column] for column in QUARTILES]
    if not shares:
        return
    low, high = (
        min(shares, key=lambda name: shares[name]),
        max(shares, key=lambda name: shares[name]),
    )
    text, holds = by_depth(
        run, [{name: 1 - share[at] for name, share in shares.items()} for at in range(3)]
    )
    said = (
        f"one image, larger network, without copies: kernels run in {shares[low][0]:.0%}"
        f" ({KINDS[low].label}) to {shares[high][0]:.0%} ({KINDS[high].label}) of the time; rank"
        f" correlation of calls to the library and the share without kernels {text}"
    )
    why = "time of kernels over time of the call, per level in the table of kernels"
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
        yield Finding(
            "A CUDA graph takes overhead away",
            "not in the source",
            "-",
            "; ".join(told),
            holds,
            why,
        )
