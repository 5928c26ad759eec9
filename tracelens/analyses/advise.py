"""Find library calls that would compute the model faster, by a search over sequences of calls.

The method was published by Tang and Zhai, SC '19.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from tracelens.analyses.analysis import Analysis, Parallel
from tracelens.derive.calls.advising import (
    GREEDY,
    Advice,
    advise_greedily,
    advise_rank,
    judgeable_ranks,
)
from tracelens.derive.calls.call_graph import MOST_KERNELS, MOST_STEPS
from tracelens.derive.calls.costs import BOUND, least_sure
from tracelens.derive.calls.search import Call
from tracelens.derive.calls.sequence import Advised
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.schemas.results.calls import ADVISE
from tracelens.trace import Trace

_NO_PROBLEM = 0.02
"""Another layout is advised if it may save this share of kernel time.

It is also advised if layout transforms take this share now.
"""


def advise(
    trace: Trace,
    costs: Sequence[Trace] = (),
    *,
    z3: bool | None = False,
) -> pl.DataFrame:
    """List other calls that may save time: per rank, one row for the model, then one per sub-graph.

    - `costs`: further traces that time the model's calls, such as results of `tracelens collect
      calls`, or captures of the model in another layout
    - `z3`: True chooses layouts with Z3, False tries them one by one, None uses Z3 if it is
      installed. The result is the same.

    A rank that trains has no rows. Raises MissingTableError without kernels or ops.
    """
    return frame_of(advised_ranks(trace, costs, z3=z3))


def advised_ranks(
    trace: Trace,
    costs: Sequence[Trace] = (),
    *,
    z3: bool | None = False,
) -> dict[int, Advice]:
    """Return the advice of each rank that ran inference, by rank."""
    trace.require("advise", "kernels", "spans")
    with_kernels = trace.heights("kernels")
    ranks = [rank for rank in judgeable_ranks(trace) if rank in with_kernels]
    advice_by_rank = {rank: advise_rank(trace, rank, costs, z3=z3) for rank in ranks}
    return {rank: advice for rank, advice in advice_by_rank.items() if advice.calls.nodes}


def greedy_ranks(
    trace: Trace,
    costs: Sequence[Trace],
    searched: Mapping[int, Advice],
) -> dict[int, Advice]:
    """Return the advice of the greedy search for each rank in `searched`, by rank."""
    return {rank: advise_greedily(trace, rank, costs) for rank in searched}


def greedy_notes(greedy: Mapping[int, Advice], searched: Mapping[int, Advice]) -> list[str]:
    """Give each rank's kernel time for three sets of calls: recorded, chosen greedily, and best."""
    sentences = []
    for rank, order in greedy.items():
        took, as_it_ran, best = map(
            duration,
            (order.total(), order.now, searched[rank].total()),
        )
        whose = f"Rank {rank}: the" if len(greedy) > 1 else "The"
        sentences.append(
            f"{whose} greedy order (largest match first, in channels_last) takes {took} of"
            f" kernels a step; as it ran {as_it_ran}, searched {best}."
        )
    return sentences


def frame_of(advised: Mapping[int, Advice]) -> pl.DataFrame:
    """Return the advice of each rank as the rows of `advise`."""
    rows = [row for rank, advice in advised.items() for row in _rows(rank, advice)]
    return ADVISE.conform(pl.DataFrame(rows, schema=ADVISE.schema))


def _rows(rank: int, advice: Advice) -> list[dict[str, Any]]:
    calls = advice.calls
    parts = [_row((part,), number) for number, part in enumerate(advice.parts)]
    if advice.solver != GREEDY:  # greedy is run to show its losses
        parts = [row for row in parts if row["saving_high_ns"] > 0]
    whole = _row(advice.parts, None)
    if advice.launch_ns:
        whole |= _launching(advice, whole)
    root = calls.nodes[0].module_path.partition(".")[0]
    whole |= {
        "layers": f"(model) {root}" if root else "(model)",
        "device_ns": round(calls.total_ns),
        "transform_now_ns": round(calls.transform_ns),
        "n_transforming": calls.n_transforming,
        "unjudged_ns": round(calls.unjudged_ns),
    }
    return [{"rank": rank, "source": calls.source, **row} for row in (whole, *parts)]


def _launching(advice: Advice, whole: dict[str, Any]) -> dict[str, Any]:
    """Return the whole model's host times, now and with the advice, and its savings."""
    now, then = advice.host_now, advice.host_then
    judged = advice.now - advice.calls.unjudged_ns
    host_times: dict[str, Any] = {"host_now_ns": round(now), "host_then_ns": round(then)}
    # Calls take as long as their launches or their kernels, whichever is longer.
    for name in ("saving_low_ns", "saving_ns", "saving_high_ns"):
        if whole[name] is not None:
            host_times[name] = round(max(judged, now) - max(judged - whole[name], then))
    return host_times


def _row(parts: Sequence[Advised], number: int | None) -> dict[str, Any]:
    """Return the columns of one sub-graph, or of the whole model if `number` is None."""
    nodes = [node for part in parts for node in part.part.nodes]
    judged = [part for part in parts if part.is_judged]
    advised_calls = [call for part in judged for call in part.calls]
    device_ns = sum(node.device_ns or 0.0 for part in judged for node in part.part.nodes)
    first_and_last = [node.module_path or node.op for node in nodes[:1] + nodes[-1:]]
    row = {
        "sub_graph": number,
        "layers": " … ".join(dict.fromkeys(first_and_last)),
        "calls_now": _counts_text(Counter(node.op for node in nodes)),
        "calls_advised": "",
        "device_ns": round(device_ns),
        "transform_now_ns": round(sum(node.transform_ns for node in nodes)),
        "transform_then_ns": round(sum(call.cost.transform_ns for call in advised_calls)),
        "saving_low_ns": 0,
        "saving_ns": 0,
        "saving_high_ns": 0,
        "evidence": "none",
        "change": "",
        "n_unmatched": sum(node.device_ns is None for node in nodes),
        "unjudged_ns": 0,
    }
    if any(_is_changed(part) for part in judged):
        row |= _changed(advised_calls, device_ns) | {"change": _change(judged)}
    if {call.cost.evidence for call in advised_calls} == {BOUND}:
        row["saving_ns"] = None
    return row


def _changed(advised_calls: Sequence[Call], device_ns: float) -> dict[str, Any]:
    """Return the advised calls' columns: counts, savings and evidence."""
    low, usual, high = (
        sum(getattr(call.cost, name) for call in advised_calls) for name in ("low", "ns", "high")
    )
    computing = [call for call in advised_calls if not call.function.startswith("to_")]
    return {
        "calls_advised": _counts_text(
            Counter(f"{call.function} {call.layout}" for call in advised_calls)
        ),
        "saving_low_ns": round(device_ns - high),
        "saving_ns": round(device_ns - usual),
        "saving_high_ns": round(device_ns - low),
        "evidence": least_sure(call.cost.evidence for call in computing),
    }


def _is_changed(part: Advised) -> bool:
    """Return whether a part's advised calls differ from the recorded calls.

    They differ if a call is fused, has another layout, or changes a layout.
    """
    layouts = {node.name: node.layout for node in part.part.nodes if len(node.shape) == 4}
    return any(
        len(call.nodes) != 1
        or call.function.startswith("to_")
        or layouts.get(call.nodes[0], call.layout) != call.layout
        for call in part.calls
    )


def _counts_text(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items())


def _change(parts: Iterable[Advised]) -> str:
    advised_calls = [call for part in parts for call in part.calls]
    changes = []
    if any(call.layout == "NHWC" for call in advised_calls):
        changes.append("memory_format=torch.channels_last")
    fused = Counter(call.realisation for call in advised_calls if len(call.nodes) > 1)
    changes += [f"{name} for {n} {'call' if n == 1 else 'calls'}" for name, n in fused.items()]
    if any("_bn" in call.function for call in advised_calls):
        changes.append("fuse_conv_bn_eval")
    return "; ".join(changes)


def notes(trace: Trace, frame: pl.DataFrame, costs: Sequence[Trace] = ()) -> list[str]:
    """Describe the advice, its evidence, and the data that better advice would need."""
    sentences: list[str] = []
    for row in frame.filter(pl.col("sub_graph").is_null()).iter_rows(named=True):
        sentences += _advice(row, costs)
    if frame.is_empty():
        sentences.append(_nothing(trace))
    elif trace.select("kernels", "step")["step"].n_unique() > MOST_STEPS + 1:
        sentences.append(f"Only the first {MOST_STEPS} steps were read.")
    if not frame.is_empty() and not trace.has("graph"):
        sentences.append(
            "It was not recorded which op reads which result. Each op is assumed to read the"
            " one before it, and no plan can be applied. tracelens collect torch --graph"
            " records the model's graph."
        )
    return sentences


def _nothing(trace: Trace) -> str:
    if not trace.scan("spans").select(pl.col("input_shapes").is_not_null().any()).collect().item():
        return (
            "The trace has no shapes of inputs, so nothing can be advised: profile with"
            " record_shapes=True."
        )
    if not judgeable_ranks(trace):
        return (
            "A training run: only the forward pass of a model in eval mode is advised on; capture"
            " inference."
        )
    steps = trace.select("kernels", "step")["step"]
    if steps.len() > MOST_KERNELS * max(steps.drop_nulls().n_unique(), 1):
        return (
            f"One step would have more than {MOST_KERNELS:,} kernels here, more than any model has:"
            " mark the steps (profiler.step()), or record fewer of them."
        )
    return (
        "Nothing is advised: no kernel here was launched by a model's call that was recorded, as in"
        " replays of CUDA graphs. Record the program without graphs."
    )


def _advice(row: dict[str, Any], costs: Sequence[Trace]) -> list[str]:
    total = max(row["device_ns"], 1)
    share = row["transform_now_ns"] / total
    moved = (
        f"{row['n_transforming']:g} kernels a step only change layouts:"
        f" {duration(row['transform_now_ns'])}, {share:.2%} of {duration(total)} of kernels"
    )
    is_layout = "channels_last" in row["change"]
    sentences = []
    is_worth_it = row["evidence"] != "bound" and row["saving_high_ns"] >= _NO_PROBLEM * total
    if is_layout and (share >= _NO_PROBLEM or is_worth_it):
        sentences.append(
            f"Run the model in channels_last: {_range(row)} ({row['evidence']}). Now {moved}."
        )
    elif share < _NO_PROBLEM and "conv2d" in row["calls_now"]:
        sentences.append(f"Layout is not this model's problem: {moved}.")
    if row["change"] and not is_layout:
        sentences.append(
            f"Call other functions ({row['change']}): {_range(row)} ({row['evidence']})."
        )
    elif share >= _NO_PROBLEM and not is_layout:
        sentences.append(
            "No calls were found that compute the same in less time."
            f" {moved[0].upper()}{moved[1:]}."
        )
    if ";" in row["change"]:
        sentences.append(f"The plan also makes these calls: {row['change'].partition('; ')[2]}.")
    if is_layout and not costs:
        sentences.append(
            "Only the transposes that would no longer be needed are counted. How"
            " channels_last changes other kernels is not known: give a capture of it with"
            " --costs, or time single calls with tracelens collect calls."
        )
    if row["host_now_ns"]:
        sentences.append(_launches(row))
    if row["n_unmatched"] or row["unjudged_ns"] > total * 0.001:
        sentences.append(
            f"{row['unjudged_ns'] / total:.1%} of kernel time could not be judged: no call of the"
            f" graph launched it; {row['n_unmatched']} operators of the graph have no measured"
            " call, and nothing is advised around them."
        )
    return sentences


def _launches(row: dict[str, Any]) -> str:
    """Say how long launches take, now and with the advice, and whether they limit the rank."""
    now, then = row["host_now_ns"], row["host_then_ns"]
    # Calls take as long as their launches or their kernels, whichever is longer.
    longest = max(row["device_ns"] - row["unjudged_ns"], now)
    times = (
        f"launches take at least {duration(now)} a step now, and {duration(then)} with the"
        f" advice; kernels take {duration(row['device_ns'])} now. A CUDA graph needs one"
        " launch."
    )
    if longest == now or longest - row["saving_high_ns"] <= then:
        return (
            "Launches limit this trace (verdict), so calls take as long as their launches where"
            f" these take longer than their kernels: {times}"
        )
    return (
        "The device waits for the host (verdict), but launching alone is shorter than the kernels,"
        f" so other work of the host delays them, the profiler's included: {times}"
    )


def _range(row: dict[str, Any]) -> str:
    saved = span_text(row["saving_low_ns"], row["saving_high_ns"])
    total = max(row["device_ns"], row["host_now_ns"] or 0)
    expected = f", {duration(row['saving_ns'])} expected" if row["saving_ns"] is not None else ""
    return f"{saved} of {duration(total)}{expected}"


ANALYSIS = Analysis(
    "Which library calls would compute the model faster?",
    ADVISE,
    advise,
    notes=notes,
    shown=(
        "rank",
        "sub_graph",
        "layers",
        "calls_now",
        "calls_advised",
        "saving_low_ns",
        "saving_ns",
        "saving_high_ns",
        "evidence",
        "change",
    ),
    parallel=Parallel.BY_RANK,
)
