"""Answer what limits the program of a trace, or how two traces differ.

All views show this answer.
"""

from importlib import import_module

from tracelens.answers.answer import Answer
from tracelens.answers.words import counted, listed
from tracelens.derive.columns.time_text import duration
from tracelens.derive.comparing.comparability import unrelated
from tracelens.derive.comparing.significance import DEFAULT, Rules
from tracelens.derive.layers.graph_capture import is_capture_of
from tracelens.derive.time.launch_advice import is_capture
from tracelens.derive.time.step_table import process_ranks
from tracelens.errors import MissingTableError
from tracelens.trace import Trace

_NO_EVENTS = ("diagnostics", "devices", "layers", "ranks")


def make_answer(trace: Trace, base: Trace | None = None, rules: Rules = DEFAULT) -> Answer:
    """Say what limits the program of a trace, or how the trace differs from the base.

    If the base is the capture of the trace's CUDA graphs, nothing is compared. The base then only
    supplies the ops and layers of replayed kernels. For a trace without kernels and ops, the answer
    is one sentence.
    """
    trace, base = trace.with_listed_names(), base and base.with_listed_names()
    try:
        return _answer_one(trace) if base is None else _answer_two(base, trace, rules)
    except MissingTableError as error:
        return Answer(
            _describe_data(trace),
            doubts=(str(error),),
            sections=("data_quality",),
        )


def _answer_one(trace: Trace) -> Answer:
    if has_time(trace):
        is_job = len(trace.manifest.ranks) > 1
        return (
            _import_and_call("job", "answer_job", trace)
            if is_job
            else _import_and_call("program", "answer_program", trace)
        )
    if is_capture(trace):
        return _import_and_call("unjudged", "answer_capture", trace)
    if trace.has("timings"):
        return _import_and_call("timings", "answer_timings", trace)
    if trace.has("stacks"):
        return _import_and_call("stacks", "answer_stacks", trace)
    return Answer(_describe_data(trace))


def _answer_two(base: Trace, other: Trace, rules: Rules) -> Answer:
    if is_capture_of(base, other):
        return _import_and_call("captured", "with_capture", _answer_one(other), other, base)
    if has_time(base) and has_time(other):
        return _import_and_call("comparison", "answer_comparison", base, other, rules)
    if base.has("stacks") and other.has("stacks"):
        return _import_and_call("stacks", "answer_two_stacks", base, other)
    refused = None if rules.any_program else unrelated(base, other)
    return _answer_one(other) if refused is None else Answer("Nothing is compared", refused=refused)


def _import_and_call(module: str, function: str, *inputs: Trace | Rules | Answer) -> Answer:
    """Import a module of this package only now, and call its function."""
    answer: Answer = getattr(import_module(f"{__name__}.{module}"), function)(*inputs)
    return answer


def has_time(trace: Trace) -> bool:
    """Return whether there are kernels or ops, and so time to judge."""
    return trace.has("kernels") or bool(process_ranks(trace))


def _describe_data(trace: Trace) -> str:
    """Return the sentence for a trace without time to judge: it names the recorded data."""
    copies = [trace.select(table, "duration_ns") for table in ("memcpys", "memsets")]
    moved_ns = sum(int(part["duration_ns"].sum()) for part in copies)
    if moved_ns:
        n = counted(sum(part.height for part in copies), "time")
        return f"No kernel ran: the GPU copies or sets memory {n}, {duration(moved_ns)} in all"
    rows = trace.summary().filter(~trace.summary()["table"].is_in(_NO_EVENTS))
    held = [
        f"{counted(n, name.removesuffix('s').replace('_', ' '))}"
        for name, n in rows.select("table", "n_rows").iter_rows()
        if n
    ]
    what = f"only {listed(held)}" if held else "no events"
    return f"This trace cannot tell what limits a program: it holds {what}"
