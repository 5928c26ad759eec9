"""Answer for a program with a recording that cannot show its bound."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracelens.analyses.verdict import longest_kernel
from tracelens.answers.answer import Answer
from tracelens.answers.details import incomplete
from tracelens.answers.limits import Limits, bound_place, called_places
from tracelens.answers.recorded import about, has_stacks
from tracelens.answers.words import counted
from tracelens.derive.columns.time_text import duration
from tracelens.derive.time.launch_advice import count_captured
from tracelens.derive.time.process_facts import reads_of, unseen_device
from tracelens.derive.time.time_parts import RankTime, TimeModel
from tracelens.schemas.results.time import IDLE_PARTS
from tracelens.trace import Trace


def answer_too_little(
    trace: Trace,
    rank: RankTime,
    row: Mapping[str, Any],
    doubts: tuple[str, ...],
) -> Answer:
    """Return the answer for a rank that worked too little while it was recorded."""
    return Answer(
        f"Too little was recorded to say what limits the program: {_amount(rank)}",
        details=(_too_little(rank, row), *_plain_fact(trace, rank)),
        no_change=_record_more(rank),
        about=about(trace),
        doubts=doubts,
        sections=("data_quality",),
    )


def answer_inconclusive(
    model: TimeModel,
    rank: RankTime,
    row: Mapping[str, Any],
    doubts: tuple[str, ...],
) -> Answer:
    """Return the answer for a rank with a recording that does not show its bound."""
    if rank.is_slowed_beyond_judging:
        return _slowed_beyond_judging(model, rank, row, doubts)
    unseen = unseen_device(model.trace, model.processes)
    return _without_device_work(
        model.trace,
        row,
        [doubt for doubt in doubts if doubt not in unseen],
    )


def answer_capture(trace: Trace) -> Answer:
    """Return the answer for a trace with captured graphs in which no kernel ran."""
    n_launches = max(count_captured(trace).values())
    return Answer(
        "This is the capture of a CUDA graph, not a run: nothing ran on a device",
        details=(
            f"{counted(n_launches, 'kernel')} launched into the graph; no replay is recorded",
        ),
        no_change="What would help: record replays of the graph",
        about=about(trace),
        doubts=incomplete(trace, is_judged=False),
        sections=("data_quality",),
    )


def _without_device_work(
    trace: Trace,
    row: Mapping[str, Any],
    doubts: Sequence[str],
) -> Answer:
    """Return the answer for a program that used a GPU, without a record of the GPU's work."""
    return Answer(
        "The GPU's work was not recorded, so what limits the program is not known",
        details=(row["evidence"],),
        no_change=(
            "What would help: record again, with ProfilerActivity.CUDA and to the end of the file,"
            " as tracelens run python train.py does"
        ),
        about=about(trace),
        doubts=tuple(doubts),
        sections=("data_quality",),
    )


def _slowed_beyond_judging(
    model: TimeModel,
    rank: RankTime,
    row: Mapping[str, Any],
    doubts: tuple[str, ...],
) -> Answer:
    """Return the answer for a rank with steps that are nearly all the profiler's own time."""
    trace = model.trace
    reads = reads_of(called_places(model, rank))
    most = (
        bound_place(
            model,
            rank,
            Limits("launch", reads[0][0], reads=True),
        )
        if reads
        else None
    )
    return Answer(
        f"The profiler made a step of {duration(row['unprofiled_step_ns'])} take"
        f" {duration(row['step_ns'])}",
        details=(
            "what limits the program without it cannot be told from this recording",
            *([f"it shows that single values are read back {most}"] if most else []),
        ),
        no_change=(
            "What would help: record without stacks: tracelens run --no-stacks COMMAND"
            if has_stacks(trace)
            else "What would help: larger steps, in which recording weighs less"
        ),
        about=about(trace),
        doubts=doubts,
        sections=("unprofiled_step",),
    )


def _amount(rank: RankTime) -> str:
    """Give the number of a rank's kernels or ops, and the recorded time."""
    noun = "op" if rank.is_process else "kernel"
    return f"{counted(rank.n_work, noun)} in {duration(sum(rank.parts.values()))}"


def _too_little(rank: RankTime, row: Mapping[str, object]) -> str:
    subject = "process" if rank.is_process else "GPU"
    value = row["value"]
    share = f"{value:.2%}".replace("%", " %") if isinstance(value, float) else "little"
    return f"the {subject} works for {share} of the time"


def _plain_fact(trace: Trace, rank: RankTime) -> tuple[str, ...]:
    """Describe the kernel with most time, if the device works for more than half of the time."""
    busy = 1 - sum(rank.shares[name] for name in IDLE_PARTS)
    longest = longest_kernel(trace, rank.rank) if busy > 1 / 2 else None
    return () if longest is None else (longest,)


def _record_more(rank: RankTime) -> str:
    if rank.n_steps:
        return "What would help: record steps that do the program's work"
    return "What would help: record several steps of the program: tracelens run python train.py"
