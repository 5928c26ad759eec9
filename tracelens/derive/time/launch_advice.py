"""Find how a program launches its work, with CUDA graphs or without, and advise fewer launches."""

import re
from collections.abc import Iterator
from enum import Enum

import polars as pl

from tracelens.derive.columns.intervals import END
from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.time.advice import Rule
from tracelens.derive.time.bounds import INSIDE_OP
from tracelens.derive.time.judged_program import JudgedProgram
from tracelens.derive.time.process_facts import count_reads, reads_of
from tracelens.derive.time.thread_axis import LAUNCHES
from tracelens.derive.time.time_parts import WORTH_IT
from tracelens.trace import Trace

_CAPTURES = r"^(cuda|hip)Stream(Begin|End)Capture|^cuStream(Begin|End)Capture"
_LEAST_CAPTURED = 0.2
"""Above this ratio of captured launches to executed kernels, a trace shows only graph captures."""
_COMPILED = r"^Torch-Compiled Region|^## Call CompiledFxGraph|^CompiledFunction$|^CompiledFxGraph$"


class GraphUse(Enum):
    """Ways in which a program may use device graphs."""

    NONE = "none"
    COMPILED = "compiled"
    """The program runs compiled code, which launches kernels one by one."""
    REPLAYED = "replayed"
    CAPTURED = "captured"
    """The program captures a graph and replays none, so launches run nothing on the device."""


def graph_use(trace: Trace) -> GraphUse:
    """Return how the program uses device graphs.

    Replay takes precedence over capture, and capture over compiled code.
    """
    return trace.derived(_graph_use)


def is_capture_alone(trace: Trace) -> bool:
    """Return whether all launches were captured into a graph, so that no kernel ran."""
    return not trace.has("kernels") and graph_use(trace) == GraphUse.CAPTURED


def is_capture(trace: Trace) -> bool:
    """Return whether the trace records only a capture of graphs and the warm-up before the capture.

    Such a trace has no replay and no marked step.
    """
    if is_capture_alone(trace):
        return True
    if graph_use(trace) != GraphUse.CAPTURED or trace.has("steps"):
        return False
    # A server's warm-up before each capture runs about as many kernels as the capture records.
    n_captured = sum(count_captured(trace).values())
    return n_captured > _LEAST_CAPTURED * trace.height("kernels")


def count_captured(trace: Trace) -> dict[int, int]:
    """Return, by rank, the number of launches that a graph captured, so that no kernel ran."""
    calls = trace.select(
        "api_calls",
        "rank",
        "api_call_id",
        where=pl.col("kind") == "kernel_launch",
    )
    ran = trace.select("kernels", "rank", "api_call_id").unique()
    calls = calls.join(ran, on=["rank", "api_call_id"], how="anti")
    counts = dict(calls.group_by("rank").len().iter_rows())
    return {rank: counts.get(rank, 0) for rank in trace.manifest.ranks}


def _graph_use(trace: Trace) -> GraphUse:
    calls = trace.select("api_calls", "kind", "api")
    # Two columns apart take a third of the time of their pairs.
    if (calls["kind"].unique() == "graph_launch").any():
        return GraphUse.REPLAYED
    apis = calls["api"].unique().cast(pl.String)
    if apis.str.contains(_CAPTURES).any():
        return GraphUse.CAPTURED
    distinct_names = trace.select("spans", "name")["name"].unique()
    names = distinct_names.cast(pl.String)
    return GraphUse.COMPILED if names.str.contains(_COMPILED).any() else GraphUse.NONE


def op_of_changing_sizes(trace: Trace) -> str | None:
    """Return the op that launches most among the ops with input shapes that change between steps.

    The result is None if the trace shows no shapes that change.
    """
    # An op's shapes change if even its most frequent shapes occur in less than half of the steps.
    # So one odd first or last step does not matter.
    return trace.derived(_op_of_changing_sizes)


def _op_of_changing_sizes(trace: Trace) -> str | None:
    is_launch = pl.col("kind").is_in(LAUNCHES)
    is_in_step = pl.col("step").is_not_null()
    calls = trace.select(
        "api_calls",
        "rank",
        "step",
        "span_id",
        where=is_launch & is_in_step,
    )
    names = trace.select("spans", "name")
    spans = trace.uncached().select("spans", "rank", "span_id", "input_shapes").hstack(names)
    own_spans = calls.select("rank", "span_id")
    rows = rows_of(spans["rank"], spans["span_id"], own_spans)
    ops = spans.select(pl.col("name", "input_shapes").gather(rows))
    launches = calls.lazy().select("rank", "step").with_columns(ops)
    by_op = launches.drop_nulls("input_shapes").group_by("rank", "step", "name")
    # Equal shapes in any order have equal sums of hashes.
    codes = pl.col("input_shapes").to_physical()
    sizes_of_steps = by_op.agg(
        n=pl.len(),
        sizes=codes.hash().sum(),
    )
    steps_alike = sizes_of_steps.collect().group_by("rank", "name", "n")
    ops_of_steps = steps_alike.agg(
        most_frequent=pl.col("sizes").unique_counts().max(),
        n_steps=pl.len(),
        launches=pl.col("n").sum(),
    )
    changes = 2 * pl.col("most_frequent") < pl.col("n_steps")
    changing = ops_of_steps.filter(changes)
    if changing.is_empty():
        return None
    most_first = changing.sort("launches", "name", descending=[True, False])
    return str(most_first["name"][0])


_OF_CHANGING_SIZES = (
    "Launch fewer kernels: larger batches, or a CUDA graph once sizes stay the same (those of {}"
    " change from step to step)"
)
_GUARDS = "TorchDynamo Cache Lookup"
"""Name of the op in which torch.compile checks whether it has compiled code for these inputs."""
_OF_GUARDS = (
    "Check guards less often: {:,.0f} compiled regions a step check theirs; fewer graph breaks join"
    " them (TORCH_LOGS=graph_breaks lists these)"
)
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


def launch_rules(program: JudgedProgram) -> Iterator[Rule]:
    """Advise fewer launches, by a means that the program does not use yet.

    Nothing is advised if the program captures a graph.
    """
    use = graph_use(program.trace)
    if use == GraphUse.CAPTURED:
        return
    if program.trace.has("kernels"):
        yield _launches_of_device(program, use)
    else:
        yield from _calls_of_process(program, use)


def _launches_of_device(program: JudgedProgram, use: GraphUse) -> Rule:
    """Advise fewer launches of a device's work."""
    ns = program.parts["launch"]
    is_worth_it = ns >= WORTH_IT * program.total_ns
    may_use_graph = use != GraphUse.REPLAYED
    changing = op_of_changing_sizes(program.trace) if is_worth_it and may_use_graph else None
    guards = _guards(program) if use == GraphUse.COMPILED else None
    text = _LAUNCHES[use] if changing is None else _OF_CHANGING_SIZES.format(changing)
    # A replay can compute the change if the program can run in one graph as it is.
    is_replayed = may_use_graph and changing is None and guards is None
    return Rule(
        ns=ns,
        text=guards or text,
        cause="launch",
        section="idle_gaps, dispatch_depth",
        is_of_host=True,
        places=program.places_of("launch"),
        expression="cuda_graph" if is_replayed else None,
    )


def _calls_of_process(program: JudgedProgram, use: GraphUse) -> Iterator[Rule]:
    """Advise fewer calls of ops in a process without a device, and fewer reads of values."""
    launching_ns = program.parts["launch"]
    places = program.places_of("launch")
    reads = _reads(program)
    if reads is not None:
        yield reads
        launching_ns -= reads.ns
        places_of_reads = dict(reads.places)
        places = [place for place in places if place[0] not in places_of_reads]
    guards = _guards(program) if use == GraphUse.COMPILED else None
    yield Rule(
        ns=launching_ns,
        text=guards or _OF_PROCESS,
        cause="launch",
        section="idle_gaps, top_ops",
        is_of_host=True,
        places=places,
    )


def _guards(program: JudgedProgram) -> str | None:
    """Advise fewer compiled regions if guard checks take at least half of the launching time.

    Nothing is advised if a step has fewer than two compiled regions.
    """
    is_check = pl.col("name") == _GUARDS
    spans = program.trace.select(
        "spans",
        "rank",
        "step",
        "duration_ns",
        where=is_check,
    )
    checks = spans.filter(program.is_judged)
    n_in_step = checks.height / max(program.n_steps, 1)
    checking_ns = int(checks["duration_ns"].sum())
    is_most = 2 * checking_ns >= program.parts["launch"]
    if not is_most or n_in_step < 2:
        return None
    return _OF_GUARDS.format(n_in_step)


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
    return Rule(
        ns,
        text,
        "launch",
        "idle_gaps",
        is_of_host=True,
        places=reads,
    )


def in_launching_ops(trace: Trace) -> str:
    """Return a pattern of call paths that end in operators that mostly launch."""
    recorded_ops = trace.select("sites", "op")["op"].drop_nulls().unique()
    names = [op for op in recorded_ops if re.search(INSIDE_OP, op)]
    thread = ("rank", "process_id", "thread_id")
    name = pl.col("name").cast(pl.String)
    columns = (*thread, "name", "start_ns", "duration_ns")
    spans = trace.select("spans", *columns, where=name.is_in(names))
    calls = trace.select("api_calls", *thread, "start_ns")
    called = calls.rename({"start_ns": "called_ns"})
    with_next_call = spans.sort("start_ns").join_asof(
        called.sort("called_ns"),
        left_on="start_ns",
        right_on="called_ns",
        by=thread,
        strategy="forward",
        check_sortedness=False,  # both are sorted, by time
    )
    does_call = (pl.col("called_ns") < END).fill_null(value=False)
    ns = pl.col("duration_ns")
    # An operator computes on the CPU if its calls without API calls take most of its time.
    launching_ns = ns.filter(does_call).sum()
    is_mostly = 2 * launching_ns >= ns.sum()
    ops = with_next_call.group_by(name).agg(is_mostly=is_mostly)
    launching = ops.filter("is_mostly")["name"].sort()
    pattern = "|".join(map(re.escape, launching)) or "(?!)"
    return rf"(?:^|> )(?:{pattern})$"
