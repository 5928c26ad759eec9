"""The rules of advice: each names a sign in the trace, what to change, and the time at stake."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from tracelens.derive.columns.intervals import covered_ns
from tracelens.derive.kernels.copy_casts import casts_after_copies
from tracelens.derive.kernels.large_scores import has_large_scores
from tracelens.derive.kernels.pinned_copies import LARGE_COPY, pinned_bytes_per_s
from tracelens.derive.processes.cpu_work import COPY
from tracelens.derive.time.bounds import INSIDE_OP, UNRECORDED
from tracelens.derive.time.cpu_only import busiest_places, count_reads, reads_of
from tracelens.derive.time.graph_use import GraphUse, graph_use, op_of_changing_sizes
from tracelens.derive.time.host_waits import WAITS
from tracelens.derive.time.judged_program import JudgedProgram
from tracelens.derive.time.migrations import migrations, stalls_by_place, waiting_kernels
from tracelens.derive.time.receives import is_mostly_receiving
from tracelens.derive.time.thread_axis import IN_ANOTHER_THREAD
from tracelens.derive.time.time_parts import WORTH_IT
from tracelens.trace import Trace

_UNFUSED_LAUNCHES = 20
"""An optimizer counts as unfused above this many kernel launches per step.

None of these kernels works on many tensors at once.
"""
_REPEATED = 10
"""In a trace without steps: memory allocated and released this often counts as not cached."""
_DEVICE_ALLOCATES = r"^(cuda|hip)Malloc$|^hipExtMallocWithFlags$|^cuMem(Alloc|Create)(_v2)?$"
_DEVICE_RELEASES = r"^(cuda|hip)Free$|^cuMem(Free|Release)(_v2)?$"

_BY_CAUSE = {
    "input": "Have input ready before it is asked for",
    "allocation": "Allocate outside the loop, and keep what is allocated",
    "sync": "Do not wait for the device, or only once at the end",
    "loading": "Load and compile before the steps: warm up, keep shapes fixed",
    "host": "Shorten this work of the host, or do it while the device works",
}
_EXPRESSIONS = {
    "input": "input_ready",
    "allocation": "without=allocation",
    "sync": "no_sync",
    "loading": "without=loading",
    "host": "without=host",
}
"""Changes that a replay can compute, by the cause of idle time that they remove."""
WORKERS = "_MultiProcessing"
"""Part of every call path inside a data loader with worker processes."""
_BY_LOADER = {
    "_SingleProcess": "The data loader works in the main process; give it workers (num_workers)",
    WORKERS: "The loader's workers do not keep up; more of them, or cheaper decoding",
}
_IN_LOADER = r"DataLoader|_next_data"
_FOR_OTHERS = "The program only waits (sleep, lock, queue, request): wait less, or work meanwhile"
_BY_TORCH = "Let torch do less on the host between ops: torch.compile, or a fused optimizer"
_INSIDE_TORCH = (
    r"(?:^|> )(?:backward|Optimizer\.\w+#\S+|(?:_tensor|optim/\w+|autograd/\w+|nn/modules/\w+)\.py"
    r"(?:\((?:defined at )?\d+\))?: \S+)$"
)
"""Places of the host's time that are torch's own code, which a program cannot shorten itself."""
_IN_OPTIMIZER = r"(?:^|> )Optimizer\.\w+#"
_BY_HOST_OPTIMIZER = (
    "The optimizer runs on the CPU: keep it on the device, or run it while the device works"
)
_BY_OP = (
    "The host works in this op before it launches: keep its sizes the same, or use another"
    " implementation"
)
_BETWEEN_OPS = "Shorten what the program does outside of ops, or do it in a thread or process"
_UNSEEN = "Shorten this work of the host (stacks would show it), or do it while the device works"
_BY_HOST_PLACE = {
    WAITS: _FOR_OTHERS,
    _INSIDE_TORCH: _BY_TORCH,
    rf"^(?:{'|'.join(UNRECORDED)})": _UNSEEN,
}
_OF_CHANGING_SIZES = (
    "Launch fewer kernels: larger batches, or a CUDA graph once sizes stay the same (those of {}"
    " change from step to step)"
)
_BY_WAIT = {
    r"aten::(?:item|_local_scalar_dense)\b": "Read the value later or less often (.item(), float(), if)",
    r"aten::(?:nonzero|masked_select|index\w*|unique\w*)\b": (
        "Do not ask the device how many elements a mask selects: torch.where keeps the shape"
    ),
    r"aten::(?:_?to(?:_copy)?|copy_|cpu)\b": (
        "Copy without waiting: pinned memory and non_blocking=True, and read it later"
    ),
    r"\bsynchronize\b|cudaDeviceSynchronize": (
        "Leave out torch.cuda.synchronize(), or wait once at the end"
    ),
}
"""Advice on a wait for the device, by a pattern that its call path matches."""
_OF_PROCESS = "Call fewer ops from Python: torch.compile, or larger batches"
_LAUNCHES = {
    GraphUse.NONE: ("Launch fewer kernels: a CUDA graph, torch.compile or larger batches"),
    GraphUse.COMPILED: (
        'Launch fewer kernels: torch.compile(mode="reduce-overhead"), or larger batches'
    ),
    GraphUse.REPLAYED: (
        "Launch fewer kernels between the replays of the graph, or use larger batches"
    ),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """Advice for one program: what to change, which time shrinks, and by how much at most.

    `ns` is the most of all judged time that it can save. `is_of_host` marks time of the host, which
    recording makes longer. `places` says where the time lies, the largest first. `expression` is
    the change as `whatif` takes it, None where a replay cannot make it.
    """

    ns: int
    text: str
    cause: str
    section: str
    is_of_host: bool = False
    places: list[tuple[str, int]] = field(default_factory=list)
    expression: str | None = None


def _idle(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on each cause of idle time, with all its places."""
    for cause, words in _BY_CAUSE.items():
        places = program.places_of(cause)
        text = words
        if cause == "input":
            text = _by_loader(places) or words
        if cause == "host" and not program.trace.has("kernels"):
            text = _BETWEEN_OPS
        kinds = {"host": _BY_HOST_PLACE, "sync": _BY_WAIT}.get(cause, {})
        if cause == "host" and _is_mostly(places, INSIDE_OP):
            kinds = kinds | {_in_launching_ops(program.trace): _BY_OP}
        if cause == "host" and _has_host_optimizer(program):
            kinds = {_IN_OPTIMIZER: _BY_HOST_OPTIMIZER} | kinds
        text = next((say for kind, say in kinds.items() if _is_mostly(places, kind)), text)
        if cause == "allocation":
            text = _uncached(program) or words
        is_replayed = text != _BY_OP and not _is_mostly(places, f"{IN_ANOTHER_THREAD}$")
        yield Rule(
            ns=program.parts[cause],
            text=text,
            cause=cause,
            section="idle_gaps",
            is_of_host=cause != "sync",
            places=places,
            expression=_EXPRESSIONS.get(cause) if is_replayed else None,
        )


def _has_host_optimizer(program: JudgedProgram) -> bool:
    """Return whether the optimizer's ops run, beside a device, without launching any kernel."""
    if not program.trace.has("kernels") or program.kernels["phase"].is_in(["optimizer"]).any():
        return False
    is_of_optimizer = (pl.col("kind") == "op") & (pl.col("phase") == "optimizer")
    return program.trace.select("spans", "rank", where=is_of_optimizer).height > 0


def _in_launching_ops(trace: Trace) -> str:
    """Return a pattern of the places inside operators that launch."""
    ops = trace.select("sites", "op")["op"].drop_nulls().unique().sort()
    names = [re.escape(op) for op in ops if re.search(INSIDE_OP, op)]
    return rf"(?:^|> )(?:{'|'.join(names) or '(?!)'})$"


def _by_loader(places: list[tuple[str, int]]) -> str | None:
    """Return the advice on torch's loader if most input time is in one, else None."""
    times = {loader: sum(ns for what, ns in places if loader in what) for loader in _BY_LOADER}
    loader = max(times, key=lambda name: times[name])
    return _BY_LOADER[loader] if times[loader] and _is_mostly(places, _IN_LOADER) else None


def _is_mostly(places: list[tuple[str, int]], kind: str) -> bool:
    """Return whether places that match a pattern have at least half of the time of all places."""
    of_kind = sum(ns for what, ns in places if re.search(kind, what))
    return bool(places) and 2 * of_kind >= sum(ns for _, ns in places)


def _uncached(program: JudgedProgram) -> str | None:
    """Say that the caching allocator seems off: each step allocates and frees device memory.

    Return None where it does not.
    """
    is_memory = pl.col("kind") == "memory"
    calls = program.trace.select("api_calls", "rank", "step", "api", where=is_memory)
    api = pl.col("api")
    in_step = calls.filter(program.is_judged)
    counts = in_step.with_columns(api.cast(pl.String))
    allocates, releases = (
        counts.filter(api.str.contains(pattern))
        for pattern in (_DEVICE_ALLOCATES, _DEVICE_RELEASES)
    )
    for part in (allocates, releases):
        steps = part.drop_nulls("step").select("rank", "step").n_unique()
        if (steps < max(program.n_steps, 2)) if program.n_steps else (part.height < _REPEATED):
            return None
    n = max(program.n_steps, 1)
    counts_in_words = [
        f"{part['api'].mode().sort()[0]} {part.height / n:,.3g}" for part in (allocates, releases)
    ]
    every = "a step" if program.n_steps else "in all"
    return (
        f"Keep memory: {counts_in_words[0]} and {counts_in_words[1]} times {every};"
        " is the caching allocator off, or emptied by empty_cache()?"
    )


def _launches(program: JudgedProgram) -> Iterator[Rule]:
    """Advise fewer launches, in a way that the program does not use yet.

    There is no advice where a graph is captured.
    """
    use = graph_use(program.trace)
    of_process = not program.trace.has("kernels")
    if use == GraphUse.CAPTURED:
        return
    is_worth = program.parts["launch"] >= WORTH_IT * program.total_ns
    asks_for_graph = is_worth and not of_process and use != GraphUse.REPLAYED
    changing = op_of_changing_sizes(program.trace) if asks_for_graph else None
    reads = _reads(program) if of_process else None
    if reads is not None:
        yield reads
    text = _LAUNCHES[use] if changing is None else _OF_CHANGING_SIZES.format(changing)
    is_without = of_process or use == GraphUse.REPLAYED or changing is not None
    yield Rule(
        ns=program.parts["launch"] - (reads.ns if reads is not None else 0),
        text=_OF_PROCESS if of_process else text,
        cause="launch",
        section="idle_gaps, top_ops" if of_process else "idle_gaps, dispatch_depth",
        is_of_host=True,
        places=[
            (what, ns)
            for what, ns in program.places_of("launch")
            if reads is None or what not in dict(reads.places)
        ],
        expression=None if is_without else "cuda_graph",
    )


def _reads(program: JudgedProgram) -> Rule | None:
    """Advise on reading single values of tensors."""
    reads = reads_of(program.places_of("launch"))
    if not reads:
        return None
    n_reads = sum(count_reads(program.trace, rank) for rank in program.trace.manifest.ranks)
    text = "Read values back less often: .item() once a step, or .tolist() for many at once"
    if n_reads <= program.n_steps:
        text = "Read the value back only every few steps"
    ns = sum(ns for _, ns in reads)
    return Rule(ns, text, "launch", "idle_gaps", is_of_host=True, places=reads)


def _hideable_ns(program: JudgedProgram, part: str) -> int:
    """Return the most of a part (communication or copy) that can run beside computing instead.

    No more can be hidden than there is computing beside which nothing of the part runs yet.
    """
    free_ns = max(program.parts["compute"] - program.hidden.get(part, 0), 0)
    return min(program.parts[part], free_ns)


def _process_copies(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on copies of memory in a process without a device."""
    if program.trace.has("kernels"):
        return
    words = "Copy less memory: keep one buffer and write into it (out=, copy_), or use a view"
    by_rank = busiest_places(program.trace, COPY).values()
    places = sorted(
        (place for of_rank in by_rank for place in of_rank), key=lambda place: -place[1]
    )
    yield Rule(program.parts["copy"], words, "copy", "top_ops", places=places)


def _copies(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on copies to the device that run alone, and on needlessly wide ones.

    Copies from pageable memory stop the host; others wait only because nothing runs beside them.
    """
    columns = (
        "rank",
        "device_id",
        "memcpy_id",
        "step",
        "direction",
        "source_memory",
        "start_ns",
        "duration_ns",
    )
    duration_ns = pl.col("duration_ns")
    written_bytes = pl.col("written_bytes")
    read_bytes = pl.col("read_bytes")
    is_upload = pl.col("direction") == "h2d"
    copies = program.trace.select("memcpys", *columns).filter(
        is_upload & (duration_ns > 0) & program.is_judged
    )
    if copies["duration_ns"].sum() < WORTH_IT * program.total_ns:
        return
    kernels = program.trace.select("kernels", "rank", "device_id", "start_ns", "duration_ns")
    copies = copies.with_columns(
        exposed=duration_ns - covered_ns(copies, kernels, ["rank", "device_id"])
    )
    is_pageable = pl.col("source_memory") == "pageable"
    pageable, others = (
        int(copies.filter(kind)["exposed"].sum()) for kind in (is_pageable, ~is_pageable)
    )
    words = "Pin the host memory of copies to the device, and copy with non_blocking=True"
    yield Rule(pageable, words, "copy", "copy_cost", expression="pinned")
    beside = min(others, _hideable_ns(program, "copy"))
    words = "Copy input beside computing: on a stream of its own, a step ahead"
    yield Rule(beside, words, "copy", "copy_cost")
    if others > 2 * beside:
        words = "Copy less input: as a narrower type, or keep on the device what is used again"
        yield Rule(others - beside, words, "copy", "copy_cost")
    casts = casts_after_copies(program.trace).join(copies, on=["rank", "memcpy_id"])
    wide = 1 - written_bytes / read_bytes
    widens = read_bytes > written_bytes
    saved = casts.filter(widens).select((pl.col("exposed") * wide).sum()).item()
    words = "Cast before copying: what is copied is cast to a narrower type on the device"
    yield Rule(int(saved or 0), words, "copy", "copy_cost")


def _downloads(program: JudgedProgram) -> Iterator[Rule]:
    """Advise pinned memory for large copies to the host, as far as no kernel runs beside them.

    The host still has to wait for what it reads: only the copy itself gets shorter.
    """
    columns = ("rank", "device_id", "step", "direction", "destination_memory", "size_bytes")
    is_slow = (pl.col("direction") == "d2h") & (pl.col("destination_memory") == "pageable")
    copies = program.trace.select("memcpys", *columns, "start_ns", "duration_ns", where=is_slow)
    copies = copies.filter(program.is_judged & (pl.col("size_bytes") > LARGE_COPY))
    per_s = pinned_bytes_per_s(program.trace, "d2h")
    if copies.is_empty() or per_s is None:
        return
    kernels = program.trace.select("kernels", "rank", "device_id", "start_ns", "duration_ns")
    exposed_ns = pl.col("duration_ns") - covered_ns(copies, kernels, ["rank", "device_id"])
    pinned_ns = (pl.col("size_bytes") / per_s * 1e9).cast(pl.Int64)
    saved_ns = copies.select((exposed_ns - pinned_ns).clip(0).sum()).item()
    words = "Copy results into pinned memory: to pageable memory they go through a buffer"
    yield Rule(int(saved_ns), words, "copy", "copy_cost")


def _other_copies(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on copies within the device, and on large ones from pinned memory to the host.

    They count as far as no kernel runs beside them.
    """
    columns = ("rank", "device_id", "step", "direction", "destination_memory", "size_bytes")
    copies = program.trace.select("memcpys", *columns, "start_ns", "duration_ns")
    is_large = pl.col("size_bytes") > LARGE_COPY
    copies = copies.filter(program.is_judged & is_large & pl.col("direction").is_in(["d2d", "d2h"]))
    if copies.is_empty():
        return
    kernels = program.trace.select("kernels", "rank", "device_id", "start_ns", "duration_ns")
    exposed_ns = pl.col("duration_ns") - covered_ns(copies, kernels, ["rank", "device_id"])
    copies = copies.with_columns(exposed_ns=exposed_ns)
    is_within = pl.col("direction") == "d2d"
    is_download = (pl.col("direction") == "d2h") & (pl.col("destination_memory") != "pageable")
    within, downloads = (
        int(copies.filter(kind)["exposed_ns"].sum()) for kind in (is_within, is_download)
    )
    words = "Copy less within the device: clone(), contiguous() and cat() copy; write in place"
    yield Rule(within, words, "copy", "top_ops")
    words = "Copy results beside computing: on a stream of its own, and wait for them later"
    yield Rule(min(downloads, _hideable_ns(program, "copy")), words, "copy", "copy_cost")


def _pages(program: JudgedProgram) -> Iterator[Rule]:
    """Advise to move pages of managed memory before kernels touch them."""
    moves = migrations(program.trace)
    if not moves.height:
        return
    waiting = waiting_kernels(program.trace, moves).filter(program.is_judged)
    places = stalls_by_place(program.trace, waiting)
    words = (
        "Move pages of managed memory before kernels touch them (cudaMemPrefetchAsync), or copy"
        " from pinned memory"
    )
    yield Rule(sum(ns for _, ns in places), words, "compute", "copy_cost", places=places)


def _optimizer(program: JudgedProgram) -> Iterator[Rule]:
    """Advise a fused optimizer instead of one that takes tensors one by one.

    It saves the idle time of launching the optimizer's kernels.
    """
    of_optimizer = program.kernels.filter(pl.col("phase") == "optimizer")
    n_kernels = int(of_optimizer["n"].sum())
    n_launches = n_kernels / max(program.n_steps, 1)
    is_fused_op = of_optimizer["op"].str.contains("foreach|fused")
    is_fused = is_fused_op.fill_null(value=False)
    n_fused = int(of_optimizer.filter(is_fused)["n"].sum())
    if n_launches < _UNFUSED_LAUNCHES or 2 * n_fused > n_kernels:
        return
    ops = of_optimizer["op"].drop_nulls().unique().implode()
    op = pl.col("what").str.split(" > ").list.last()
    is_launch = pl.col("cause") == "launch"
    idle = program.places.filter(is_launch & op.is_in(ops))
    same_ops = program.kernels.filter(pl.col("op").is_in(ops))
    n_all_kernels = int(same_ops["n"].sum())
    share = n_kernels / max(n_all_kernels, 1)
    words = (
        f"Use a fused optimizer (foreach=True or fused=True): it launches {n_launches:,.0f} kernels"
        " a step one by one"
    )
    saved = int(int(idle["idle_ns"].sum()) * share)
    yield Rule(
        saved,
        words,
        "launch",
        "dispatch_depth",
        is_of_host=True,
        expression="fused_optimizer",
    )


def _layout(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on layout transforms around convolutions."""
    is_layout = pl.col("primitive") == "layout"
    of_convolutions = is_layout & pl.col("op").str.contains("conv")
    saved = program.kernels.filter(of_convolutions.fill_null(value=False))["ns"].sum()
    words = "Keep images in channels_last: convolutions transpose their operands"
    yield Rule(int(saved), words, "compute", "layer_attribution", expression="channels_last")


def _attention(program: JudgedProgram) -> Iterator[Rule]:
    """Advise one fused attention kernel in place of products with a softmax over large scores."""
    is_softmax = pl.col("primitive") == "softmax"
    softmax = program.kernels.filter(is_softmax & pl.col("op").str.contains(r"^aten::_?softmax"))
    saved = int(softmax["ns"].sum())
    if saved < WORTH_IT * program.total_ns or not has_large_scores(program.trace):
        return
    is_product = program.kernels["op"].str.contains(r"^aten::(bmm|baddbmm|matmul)$")
    if is_product.fill_null(value=False).any():
        words = (
            "Use scaled_dot_product_attention: softmax over large scores runs between batched"
            " matrix products"
        )
        yield Rule(saved, words, "compute", "top_kernels")


def _communication(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on communication that no computation hides, and on waiting for other ranks."""
    if program.parts["communication"] and is_mostly_receiving(program.trace):
        words = (
            "A receive waits until the other rank sends: in a pipeline, split the stages evenly, or"
            " give a step more microbatches"
        )
        yield Rule(program.parts["communication"], words, "communication", "time_breakdown")
        return
    beside = _hideable_ns(program, "communication")
    words = "Overlap communication with computing (buckets, a later wait)"
    yield Rule(beside, words, "communication", "time_breakdown")
    if program.parts["communication"] > 2 * beside:
        words = (
            "Communicate less: gradient accumulation, a narrower type, fewer and larger messages"
        )
        rest = program.parts["communication"] - beside
        yield Rule(rest, words, "communication", "time_breakdown")
    words = "Give all ranks equally much to do: collectives wait for the slowest rank"
    yield Rule(program.parts["waiting"], words, "waiting", "waiting")


RULES = (
    _idle,
    _launches,
    _process_copies,
    _copies,
    _downloads,
    _other_copies,
    _pages,
    _optimizer,
    _layout,
    _attention,
    _communication,
)
