"""Advise on idle time by its cause and call path."""

import re
from collections.abc import Iterator, Mapping

import polars as pl

from tracelens.derive.columns.per_unique import matching
from tracelens.derive.kernels.pinned_copies import LARGE_COPY
from tracelens.derive.processes.cpu_work import WORKLESS_OPS
from tracelens.derive.time.advice import Rule
from tracelens.derive.time.bounds import INSIDE_OP, UNRECORDED
from tracelens.derive.time.call_path import LOADER
from tracelens.derive.time.host_waits import WAITS
from tracelens.derive.time.judged_program import JudgedProgram
from tracelens.derive.time.launch_advice import in_launching_ops
from tracelens.derive.time.thread_axis import IN_ANOTHER_THREAD
from tracelens.trace import Trace

_REPEATED = 10
"""In a trace without steps, memory allocated and freed this often counts as not cached."""
_DEVICE_ALLOCATES = r"^(cuda|hip)Malloc$|^hipExtMallocWithFlags$|^cuMem(Alloc|Create)(_v2)?$"
_DEVICE_RELEASES = r"^(cuda|hip)Free$|^cuMem(Free|Release)(_v2)?$"
_FREES_IN_OP = r"\w::\w+ > (?:cudaFree|hipFree|cuMemUnmap|cuMemFree(?:_v2)?)$"
_OF_FRAGMENTS = (
    "Keep sizes the same, or allow expandable_segments (PYTORCH_CUDA_ALLOC_CONF): ops free memory to"
    " make room"
)
_TAKES_MEMORY = ["memory", "kernel_launch", "graph_launch", "memcpy", "memset"]
"""Kinds of calls that allocate or free memory, or need it."""
BY_CAUSE = {
    "input": "Have input ready before it is asked for",
    "allocation": "Allocate outside the loop, and keep what is allocated",
    "sync": "Do not wait for the device, or only once at the end",
    "loading": "Load and compile before the steps: warm up, keep shapes fixed",
    "host": "Shorten this work of the host, or do it while the device works",
}
"""Advice on idle time by its cause, if nothing more about this time is known."""
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
_LOADER_BEGINS = r"\bdataloader\.py(?:\([^)]*\))?: (?:__iter__|_get_iterator)$"
_KEEP_WORKERS = "Keep the loader's workers from epoch to epoch (persistent_workers=True)"
_LATE_FOR_FEW = (
    "Few batches are late: keep the workers if an epoch begins there (persistent_workers=True), else"
    " have more of them"
)
_FEW = 0.1
"""Largest share of batches that counts as few."""
_FOR_OTHERS = "The program only waits (sleep, lock, queue, request): wait less, or work meanwhile"
_BY_TORCH = "Let torch do less on the host between ops: torch.compile"
_BY_OPTIMIZER = f"{_BY_TORCH}, or a fused optimizer"
_INSIDE_OPTIMIZER = (
    r"(?:^|> )(?:Optimizer\.\w+#\S+|optim/\w+\.py(?:\((?:defined at )?\d+\))?: \S+)$"
)
_INSIDE_TORCH = (
    r"(?:^|> )(?:backward|Optimizer\.\w+#\S+|(?:_tensor|optim/\w+|autograd/\w+|nn/modules/\w+)\.py"
    r"(?:\((?:defined at )?\d+\))?: \S+)$"
)
"""Pattern for call paths in torch's own code, which a program cannot speed up."""
_IN_OPTIMIZER = r"(?:^|> )Optimizer\.\w+#"
_BY_HOST_OPTIMIZER = (
    "The optimizer runs on the CPU: keep it on the device, or run it while the device works"
)
_BY_OP = (
    "The host works in this op before it launches: keep its sizes the same, or use another"
    " implementation"
)
_BY_OP_ON_CPU = (
    "This op computes on the CPU: run it on the device, or in a thread or a loader's worker while"
    " the device works"
)
_INSIDE_WORKING_OP = rf"(?:^|> )(?!aten::(?:{WORKLESS_OPS})$)\w+::\w+(?:\.\w+)?$"
_BETWEEN_OPS = "Shorten what the program does outside of ops, or do it in a thread or process"
_EVENTS = (
    r"(?:^|> )(?:selectors\.py(?:\((?:defined at )?\d+\))?: select|socket\.py[^>]*: accept|select\.\w+"
    r"|<method 'poll' of 'select\.\w+' objects>)$"
)
"""Pattern for call paths on which an event loop or a server waits for requests or messages."""
_FOR_EVENTS = (
    "The program waits for requests or messages: nothing to shorten; more of them at a time fill"
    " this wait"
)
_NOT_RECORDED = rf"^(?:{'|'.join(UNRECORDED)})"
_UNSEEN = "Shorten this work of the host (stacks would show it), or do it while the device works"
_LEAST_OF_HOST = 0.2
"""The host's waits and its work get separate advice if each takes this share of the host's time."""
Places = list[tuple[str, int]]
"""Call paths with their times in ns."""
_UNSEEN_WITHOUT_STEPS = (
    "Shorten this work of the host, unless it only waits for requests (stacks would show it)"
)
_BY_HOST_PLACE = {
    _EVENTS: _FOR_EVENTS,
    WAITS: _FOR_OTHERS,
    _INSIDE_OPTIMIZER: _BY_OPTIMIZER,
    _INSIDE_TORCH: _BY_TORCH,
    _NOT_RECORDED: _UNSEEN,
}
_WAITS_FOR_COPY = "Copy without waiting: pinned memory, non_blocking=True, and use the copy later"
_OF_SMALL_COPIES = (
    "Copy many values at once: the program waits for each of {:,.0f} small copies a step to the"
    " device; put them into one tensor on the host first"
)
_MANY_COPIES = 20
_BY_WAIT = {
    r"aten::(?:item|_local_scalar_dense|is_nonzero|equal|allclose)\b": (
        "Read the value later or less often (.item(), float(), if)"
    ),
    r"aten::(?:nonzero|masked_select|index\w*|unique\w*)\b": (
        "Do not ask the device how many elements a mask selects: torch.where keeps the shape"
    ),
    r"aten::(?:_?to(?:_copy)?|copy_|cpu)\b": _WAITS_FOR_COPY,
    r"\bsynchronize\b|cudaDeviceSynchronize": (
        "Leave out torch.cuda.synchronize(), or wait once at the end"
    ),
}
"""Advice on waiting for the device, by a pattern of the waiting call path."""
_OF_OTHER_DEVICE = (
    "Give the GPUs equally much to do (DistributedDataParallel, more microbatches): one is idle"
    " while the program waits for another"
)


def idle_rules(program: JudgedProgram) -> Iterator[Rule]:
    """Advise on each cause of idle time except launching, with all its call paths."""
    for cause, words in BY_CAUSE.items():
        places = program.places_of(cause)
        if cause == "host" and works_and_waits(places):
            yield from _work_and_waits(program, places)
            continue
        text = _advice_on(program, cause, places) or words
        is_replayed = text not in (_BY_OP, _OF_OTHER_DEVICE) and not _is_mostly(
            places, f"{IN_ANOTHER_THREAD}$"
        )
        yield Rule(
            ns=program.parts[cause],
            text=text,
            cause=cause,
            section="idle_gaps",
            is_of_host=cause != "sync",
            places=places,
            expression=_EXPRESSIONS.get(cause) if is_replayed else None,
        )


def split_waits(places: Places) -> tuple[Places, Places]:
    """Return the call paths on which the host works, and those on which the host only waits."""
    waits = [place for place in places if re.search(WAITS, place[0])]
    return [place for place in places if place not in waits], waits


def works_and_waits(places: Places) -> bool:
    """Return whether the host's work and its waits each take a large share of the time."""
    all_ns = _total_ns(places)
    least_ns = _LEAST_OF_HOST * all_ns
    work, waits = split_waits(places)
    return all_ns > 0 and _total_ns(work) >= least_ns and _total_ns(waits) >= least_ns


def _total_ns(places: Places) -> int:
    return sum(ns for _, ns in places)


def _work_and_waits(program: JudgedProgram, places: list[tuple[str, int]]) -> Iterator[Rule]:
    """Advise on the host's work and on the host's waits, each with its own time."""
    all_ns = _total_ns(places)
    for part in split_waits(places):
        part_ns = program.parts["host"] * _total_ns(part) // all_ns
        yield Rule(
            ns=part_ns,
            text=_advice_on(program, "host", part) or BY_CAUSE["host"],
            cause="host",
            section="idle_gaps",
            is_of_host=True,
            places=part,
        )


def _advice_on(
    program: JudgedProgram,
    cause: str,
    places: list[tuple[str, int]],
) -> str | None:
    """Return advice on idle time of a cause if most call paths are of one kind, else None."""
    if cause == "input":
        return _by_loader(program, places)
    if cause == "allocation":
        return _allocation_advice(program, places)
    if cause == "sync":
        if _has_several_devices(program.trace):
            return _OF_OTHER_DEVICE
        text = _by_kind(_BY_WAIT, places)
        return (_small_copies(program) or text) if text == _WAITS_FOR_COPY else text
    if cause == "host":
        general = None if program.trace.has("kernels") else _BETWEEN_OPS
        return _by_kind(_advice_by_host_place(program, places), places) or general
    return None


def _has_several_devices(trace: Trace) -> bool:
    """Return whether a process uses several devices."""
    devices = trace.select("kernels", "rank", "device_id").unique()
    # If one device is idle while such a process waits, the process waits for another device.
    return bool(devices["rank"].is_duplicated().any())


def _advice_by_host_place(
    program: JudgedProgram, places: list[tuple[str, int]]
) -> Mapping[str, str]:
    """Return advice on idle time with the cause `host`, by pattern of call paths.

    The first pattern that matches counts.
    """
    advice = {_IN_OPTIMIZER: _BY_HOST_OPTIMIZER} if _has_host_optimizer(program) else {}
    advice |= _BY_HOST_PLACE
    if not program.n_steps:
        advice[_NOT_RECORDED] = _UNSEEN_WITHOUT_STEPS
    if _is_mostly(places, INSIDE_OP):
        advice[in_launching_ops(program.trace)] = _BY_OP
        if program.trace.has("kernels"):
            advice[_INSIDE_WORKING_OP] = _BY_OP_ON_CPU
    return advice


def _by_kind(
    advice: Mapping[str, str],
    places: list[tuple[str, int]],
) -> str | None:
    """Return the first advice whose pattern matches call paths with at least half of the time.

    Return None if no pattern does.
    """
    for kind, text in advice.items():
        if _is_mostly(places, kind):
            return text
    return None


def _has_host_optimizer(program: JudgedProgram) -> bool:
    """Return whether the optimizer runs on the host although the program uses a device."""
    if not program.trace.has("kernels"):
        return False
    if (program.kernels["phase"] == "optimizer").any():
        return False
    is_op = pl.col("kind") == "op"
    is_of_optimizer = is_op & (pl.col("phase") == "optimizer")
    ops = program.trace.select("spans", "rank", where=is_of_optimizer)
    return ops.height > 0


def _small_copies(program: JudgedProgram) -> str | None:
    """Advise one copy to the device instead of many small copies, if most copies are small."""
    columns = ("rank", "device_id", "step", "start_ns", "direction", "size_bytes")
    copies = program.trace.select("memcpys", *columns)
    judged = copies.filter(program.is_judged)
    to_device = pl.col("direction") == "h2d"
    is_small = to_device & (pl.col("size_bytes") < LARGE_COPY)
    n_small = judged.filter(is_small).height
    n_in_step = n_small / max(program.n_steps, 1)
    is_most = 2 * n_small > judged.height
    if not is_most or n_in_step < _MANY_COPIES:
        return None
    return _OF_SMALL_COPIES.format(n_in_step)


def _by_loader(program: JudgedProgram, places: list[tuple[str, int]]) -> str | None:
    """Return advice on torch's data loader if the loader takes most input time, else None."""
    if _is_mostly(places, _LOADER_BEGINS):
        return _KEEP_WORKERS
    times = {}
    for loader in _BY_LOADER:
        of_loader = [place for place in places if loader in place[0]]
        times[loader] = _total_ns(of_loader)
    loader = max(times, key=lambda name: times[name])
    if not times[loader] or not _is_mostly(places, LOADER):
        return None
    if loader == WORKERS and _few_batches_are_late(program):
        return _LATE_FOR_FEW
    return _BY_LOADER[loader]


def _few_batches_are_late(program: JudgedProgram) -> bool:
    """Return whether a few batches take most of the time in which the program waits for batches."""
    is_annotation = pl.col("kind") == "annotation"
    spans = program.trace.select(
        "spans",
        "rank",
        "name",
        "duration_ns",
        where=is_annotation,
    )
    is_batch = pl.col("name").cast(pl.String).str.contains(WORKERS)
    batches = spans.filter(is_batch)
    ns = pl.col("duration_ns")
    # Take the longest batches of each rank. On a rank with only late batches, these are not few.
    number_from_longest = ns.rank("ordinal", descending=True).over("rank")
    n_batches = pl.len().over("rank")
    n_few = (_FEW * n_batches).floor()
    longest = batches.filter(number_from_longest <= n_few)
    longest_ns = int(longest["duration_ns"].sum())
    return 2 * longest_ns > int(batches["duration_ns"].sum())


def _is_mostly(places: list[tuple[str, int]], kind: str) -> bool:
    """Return whether call paths that match the pattern `kind` take at least half of the time."""
    of_kind = [place for place in places if re.search(kind, place[0])]
    return bool(places) and 2 * _total_ns(of_kind) >= _total_ns(places)


def _allocation_advice(program: JudgedProgram, places: list[tuple[str, int]]) -> str | None:
    """Return advice for programs whose memory is not cached or is fragmented, else None."""
    if not _makes_room(program):
        uncached = _uncached(program)
        if uncached is not None:
            return uncached
    return _OF_FRAGMENTS if _frees_in_ops(places) else None


def _frees_in_ops(places: list[tuple[str, int]]) -> bool:
    """Return whether ops free device memory, as the caching allocator does to make room."""
    return any(re.search(_FREES_IN_OP, what) for what, _ in places)


def _makes_room(program: JudgedProgram) -> bool:
    """Return whether most frees of device memory are in ops that allocate directly afterwards."""
    apis = program.trace.select("api_calls", "api")["api"].unique()
    if not matching(apis, _DEVICE_RELEASES)[0].any():
        return False
    of_kinds = pl.col("kind").is_in(_TAKES_MEMORY)
    columns = ("rank", "step", "span_id", "start_ns", "api")
    recorded = program.trace.select("api_calls", *columns, where=of_kinds)
    judged = recorded.filter(program.is_judged)
    is_release, is_allocation = matching(judged["api"], _DEVICE_RELEASES, _DEVICE_ALLOCATES)
    if not is_release.any():
        return False
    calls = judged.with_columns(is_release=is_release, is_allocation=is_allocation)
    # The caching allocator frees cached memory and allocates again if the device is full.
    other_allocates = pl.when(~pl.col("is_release")).then("is_allocation")
    next_allocates = other_allocates.backward_fill()
    marked = calls.sort("rank", "start_ns").with_columns(
        makes_room=next_allocates.over("rank", "span_id"),
    )
    releases = marked.filter("is_release")
    in_ops = releases.drop_nulls("span_id")
    n_for_room = int(in_ops["makes_room"].sum())
    return 2 * n_for_room >= releases.height


def _uncached(program: JudgedProgram) -> str | None:
    """Return advice to use the caching allocator if steps allocate and free memory, else None."""
    is_memory = pl.col("kind") == "memory"
    calls = program.trace.select(
        "api_calls",
        "rank",
        "step",
        "api",
        where=is_memory,
    )
    api = pl.col("api")
    judged = calls.filter(program.is_judged).with_columns(api.cast(pl.String))
    counts = []
    for pattern in (_DEVICE_ALLOCATES, _DEVICE_RELEASES):
        of_kind = judged.filter(api.str.contains(pattern))
        if not _is_repeated(of_kind, program.n_steps):
            return None
        commonest = of_kind["api"].mode().sort()[0]
        counts.append(f"{commonest} {of_kind.height / max(program.n_steps, 1):,.3g}")
    subject = "a step" if program.n_steps else "the program"
    return (
        f"Keep memory: {subject} calls {' and '.join(counts)} times;"
        " is the caching allocator off, or emptied by empty_cache()?"
    )


def _is_repeated(calls: pl.DataFrame, n_steps: int) -> bool:
    """Return whether every step makes a call, and there are at least two steps.

    Without steps, _REPEATED calls are enough.
    """
    if not n_steps:
        return calls.height >= _REPEATED
    return calls.drop_nulls("step").select("rank", "step").n_unique() >= max(n_steps, 2)
