"""Answer for one program on one rank: what its device does, where, and what would help.

Without a device, the answer is about the process.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from tracelens.analyses.verdict import longest_kernel, verdict
from tracelens.answers.answer import LEAST_SHARE, WORK, Answer
from tracelens.answers.changes import changes_of
from tracelens.answers.recorded import about, has_stacks, served, uneven_steps
from tracelens.answers.second_part import words_with_second
from tracelens.answers.several_gpus import sentence_of_gpus, wait_of_idlest
from tracelens.answers.step_bar import kind_of, label_of, percents_in, program_bar
from tracelens.answers.words import (
    DEVICE_SENTENCES,
    PROCESS_SENTENCES,
    counted,
    frame_text,
    function_text,
    place_text,
)
from tracelens.answers.work_and_waits import WorkAndWaits, work_and_waits
from tracelens.derive.columns.lookup import rows_of
from tracelens.derive.columns.time_text import duration, span_text
from tracelens.derive.kernels.work_kinds import language_kinds
from tracelens.derive.processes.cpu_work import READS
from tracelens.derive.replay.unprofiled import bounds_of_range, measured_range, unprofiled_steps
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.bound_places import CASTS, count_casts
from tracelens.derive.time.bounds import INSIDE_OP, PART_WORDS, PROCESS_WORDS, UNRECORDED
from tracelens.derive.time.cpu_only import count_reads, reads_of, unseen_device
from tracelens.derive.time.graph_use import count_captured, is_capture
from tracelens.derive.time.host_waits import is_wait
from tracelens.derive.time.idle_advice import WORKERS
from tracelens.derive.time.lone_waits import lone_waits
from tracelens.derive.time.model import time_model
from tracelens.derive.time.python_lock import python_of_another_thread
from tracelens.derive.time.receives import is_mostly_receiving
from tracelens.derive.time.sm_use import SmUse, sm_use
from tracelens.derive.time.time_parts import (
    SLOWED,
    RankTime,
    TimeModel,
    mark_times,
    rank_times,
    step_times,
)
from tracelens.schemas.results.time import IDLE_PARTS
from tracelens.trace import Trace

_SECTIONS = {
    "compute": ("top_kernels", "layer_attribution"),
    "communication": ("time_breakdown",),
    "waiting": ("waiting_for",),
    "copy": ("copy_cost",),
    "launch": ("idle_gaps", "dispatch_depth"),
}
"""Sections to read next, by what limits the program; the default is `idle_gaps`."""
_UNJUDGED = ("too little to judge", "inconclusive")
_UNEVEN = 0.05
"""The answer gives both the mean and the median step if they differ by more than this share."""
_MOSTLY = 0.8
_LONGER = 1.5
"""A recorded step's waits are doubtful if they take this many times a step without the profiler."""
_MANY = 0.2
"""Casts are named if they are this share of all kernels, or of the time of computing."""
_MOST_KINDS = 4
_LEAST_OF_CALLER, _ONE_LINE = 0.1, 80
_BACKWARD = "autograd::engine::evaluate_function"
_MOST_TIME = 0.5
"""A few long steps come first in the sentence if they take more than this share of the time."""
_LEAST_EARLY_NS, _LEAST_OF_KERNELS = 50_000, 0.01
"""The least time by which a kernel begins too early, and the share of kernels that must do so.

A smaller difference of the clocks changes no answer, and fewer kernels may be recorded wrongly.
"""
_RECORD_HOST = (
    "What would help: record the host, too (ProfilerActivity.CPU; nsys: --trace=cuda,nvtx), to see"
    " what the GPU waits for"
)
_MORE_BLOCKS = (
    "What would help: more blocks at a time: larger batches, kernels that split the work, or"
    " several streams"
)


class Limits(Struct, frozen=True):
    """The part of a step that limits a rank, with its place; None if the place is not known.

    If computing and another part take comparable times, the bound is computing and `second` the
    other part, whichever is longer. For most ranks, `second` is None.
    """

    bound: str
    where: str | None
    second: str | None = None
    second_where: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The bound, and the second part if there is one."""
        return (self.bound,) if self.second is None else (self.bound, self.second)

    @property
    def last_where(self) -> str | None:
        """The second part's place, else the bound's."""
        return self.second_where or self.where

    def place_of_second(self, places: Sequence[tuple[str, int]] = ()) -> tuple[str, ...]:
        """Return the second part's label in the bar, with its place; empty without one.

        `places` are all places of that part, if it is idle time.
        """
        if self.second is None:
            return ()
        is_busy = kind_of(self.second) == WORK
        text = place_text(self.second_where, is_busy=is_busy, places=places)
        return () if text is None else (f"{label_of(self.second, is_process=False)}: {text}",)


def answer_program(trace: Trace) -> Answer:
    """Return the answer for the lowest rank that has a verdict.

    Raises MissingTableError without kernels and ops.
    """
    row = verdict(trace).sort("rank").row(0, named=True)
    bound = row["bound"]
    model = time_model(trace)
    rank = next(rank for rank in rank_times(model) if rank.rank == row["rank"])
    doubts = (
        *_slow_host(trace, rank),
        *_waits_beyond_the_step(model, rank),
        *_clocks_differ(trace, rank),
        *_capture(trace),
        *unseen_device(trace, model.processes),
        *incomplete(trace, is_judged=bound not in _UNJUDGED),
    )
    if bound == "too little to judge":
        return Answer(
            f"Too little was recorded to say what limits the program: {_amount(rank)}",
            details=(_too_little(rank, row), *_plain_fact(trace, rank)),
            no_change=_record_more(rank),
            about=about(trace),
            doubts=doubts,
            sections=("data_quality",),
        )
    if bound == "inconclusive":
        if not rank.is_slowed_beyond_judging:
            said = unseen_device(trace, model.processes)
            return _without_device_work(trace, row, [one for one in doubts if one not in said])
        return _slowed_beyond_judging(model, rank, row, doubts)
    read_place = _read_place(model, rank) if rank.is_process and bound == "launch" else None
    few_sms = _few_sms(trace, rank) if bound == "compute" else None
    both = _work_and_waits(model, rank) if bound == "host" else None
    is_of_one_part = few_sms is not None or both is not None or rank.n_devices > 1
    second = None if is_of_one_part else rank.beside_computing
    limits = _limits(model, row, second, read_place)
    loading = _loaded_once(rank)
    without = ("loading",) if loading else ()
    changes = changes_of(trace, rank.judged_step_ns, limits.last_where, without)
    bar = program_bar(rank)
    shares = percents_in(bar, rank, limits.parts)
    reads = read_place is not None
    if few_sms is None:
        special = special_limits(model, rank, limits, reads=reads)
    else:
        special = "The GPU computes on few of its SMs"
    if both is not None:
        special, shares = both.words, both.shares
    sentence = program_sentence(rank, bound, shares, special=special)
    if rank.n_devices > 1:
        sentence = sentence_of_gpus(model, rank, whole_of(rank)) or sentence
    idlest = wait_of_idlest(model, rank) if rank.n_devices > 1 else None
    sentence, on_long_steps = _with_long_steps(trace, rank, sentence)
    place = _place(model, rank, limits.where, limits.bound, reads=reads)
    launching = _launching_functions(model, rank, second or bound)
    details = (
        *(() if launching else limits.place_of_second(_places_of(model, rank.rank, second))),
        None if both is None else both.smaller_part,
        idlest,
        row["caveat"],
        None if few_sms is None else few_sms.sentence,
        *_kinds(trace, rank),
        *_casts(model, rank),
        launching,
        *loading,
        *_of_another_thread(model, rank, second or bound, limits.last_where),
        on_long_steps,
    )
    unprofiled = (
        _profiler_cost(trace, rank)
        or _replayed_step(trace, rank)
        or _profiler_work(rank)
        or _beside_mark(model, rank)
    )
    answer = Answer(
        sentence,
        place=None if launching and second is None else place,
        details=tuple(text for text in details if text),
        bars=(bar,),
        unprofiled=unprofiled,
        changes=changes,
        no_change=None if changes else _MORE_BLOCKS if few_sms else no_change(rank),
        doubts=doubts,
        sections=(
            *(("serving",) if served(trace) else ()),
            *(("kernel_grids",) if few_sms else next_sections(rank, bound)),
        ),
        about=about(trace),
    )
    is_busy = kind_of(bound) == WORK and second is None
    uneven = uneven_steps(model, rank.rank, is_busy=is_busy)
    return replace(answer, details=(*answer.details, *uneven))


def _clocks_differ(trace: Trace, rank: RankTime) -> tuple[str, ...]:
    """Warn if some kernels begin before their launches, which only a wrong clock can show."""
    kernels = trace.select("kernels", "rank", "api_call_id", "start_ns", rank=rank.rank)
    calls = trace.select("api_calls", "rank", "api_call_id", "start_ns", rank=rank.rank)
    rows = rows_of(calls["rank"], calls["api_call_id"], kernels.select("rank", "api_call_id"))
    early_ns = calls["start_ns"].gather(rows) - kernels["start_ns"]
    times = early_ns.filter(early_ns >= _LEAST_EARLY_NS).to_list()
    if len(times) <= max(_LEAST_OF_KERNELS * kernels.height, 1):
        return ()
    sentence = (
        f"kernels begin up to {duration(max(times))} before the calls that launch them, so the"
        " clocks of host and GPU differ: what the GPU waits for is uncertain"
    )
    return (sentence,)


def _few_sms(trace: Trace, rank: RankTime) -> SmUse | None:
    """Return the use of the GPU's SMs if most computing uses few of them, else None."""
    use = None if rank.is_process else sm_use(trace, rank.rank)
    return use if use is not None and use.is_few else None


def answer_capture(trace: Trace) -> Answer:
    """Answer for a trace in which graphs were captured, but no kernel ran."""
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


def _capture(trace: Trace) -> tuple[str, ...]:
    """Warn of a trace that holds only the capture of graphs and their warm-up."""
    if not is_capture(trace):
        return ()
    n_kernels = counted(sum(count_captured(trace).values()), "kernel")
    return (f"this is a capture of CUDA graphs of {n_kernels}, not a run: what ran is its warm-up",)


def _kinds(trace: Trace, rank: RankTime) -> tuple[str, ...]:
    """Name the largest kinds of work that a language model's kernels do."""
    kinds = language_kinds(trace, rank.rank, LEAST_SHARE)
    words = [
        f"{kind} {share * 100:.0f} %" for kind, share in kinds[:_MOST_KINDS] if share >= LEAST_SHARE
    ]
    return (f"kernels: {', '.join(words)}",) if words else ()


def _casts(model: TimeModel, rank: RankTime) -> tuple[str, ...]:
    """Say how many kernels only convert types, if they are many or take much of the computing."""
    if rank.is_process:
        return ()
    n_casts, n_kernels, share = count_casts(model, rank.rank)
    if n_casts < _MANY * n_kernels and share < _MANY:
        return ()
    which = f"{n_casts / n_kernels * 100:.0f} % of kernels"
    return (f"{CASTS}: {which}, {share * 100:.0f} % of computing",)


def _loaded_once(rank: RankTime) -> tuple[str, ...]:
    """Say that only recorded steps load code, if later steps show that they load none.

    Steps without the profiler are timed after the recorded ones. If they take no longer than a
    recorded step without its loading, all code was loaded by then.
    """
    if rank.unprofiled_ns is None or rank.judged_step_ns is None or rank.bound == "loading":
        return ()
    share = rank.shares["loading"]
    without_ns = rank.judged_step_ns * (1 - share)
    if share < LEAST_SHARE or without_ns < rank.unprofiled_ns:
        return ()
    return (
        "code is loaded in the recorded steps only; later ones, without the profiler, load none",
    )


def _launching_functions(model: TimeModel, rank: RankTime, bound: str) -> str | None:
    """Name the functions that take most of the launching, unless one place takes half of it.

    Launches by autograd count for the backward pass. Without stacks, no other caller is known.
    """
    times = Counter(dict(_called_places(model, rank)))
    all_ns = times.total()
    if bound != "launch" or rank.is_process or max(times.values(), default=0) >= all_ns / 2:
        return None
    callers: Counter[str] = Counter()
    for place, ns in times.items():
        if place.startswith(_BACKWARD):
            callers["backward pass"] += ns
        elif " > " in place:
            callers[function_text(place.split(" > ")[-2])] += ns
    text = "launching:"
    for caller, ns in callers.most_common():
        more = f"{text} {caller} {100 * ns / all_ns:.0f} %,"
        if ns < _LEAST_OF_CALLER * all_ns or len(more) > _ONE_LINE:
            break
        text = more
    return text.removesuffix(",") if text.count(",") > 1 else None


def _of_another_thread(
    model: TimeModel, rank: RankTime, bound: str, where: str | None
) -> tuple[str, ...]:
    """Name the Python function that another thread ran while the host worked at the place."""
    kinds = model.trace.select("spans", "kind", rank=rank.rank)["kind"]
    if bound not in ("host", "launch") or where is None or not (kinds == "python").any():
        return ()
    name = python_of_another_thread(model, rank.rank, bound, where)
    if name is None:
        return ()
    place = frame_text(re.sub(r"\.py\((\d+)\)", r".py(defined at \1)", name))
    lock = "" if is_wait(where) else "; only one thread at a time can"
    return (f"meanwhile another thread runs Python in {place}{lock}",)


def _with_long_steps(trace: Trace, rank: RankTime, sentence: str) -> tuple[str, str | None]:
    """Return the sentence, and a detail on the few much longer steps without the profiler.

    If these take most of the time, the sentence begins with them, and the detail says how to see
    what they do. For example, a program that saves its state for 400 ms in every fifth step of 14
    ms is limited by saving. The detail is None if there are no such steps.
    """
    long = trace.manifest.long_steps(rank.rank)
    usual_ns = rank.unprofiled_ns or rank.judged_step_ns
    if long is None:
        return sentence, None
    n, n_all, ns = long
    take = f"{'takes' if n == 1 else 'take'} {duration(ns)}"
    share = n * ns / (n * ns + (n_all - n) * usual_ns) if usual_ns else 0.0
    if share <= _MOST_TIME:
        return sentence, f"{n} of {n_all} steps without the profiler {take}"
    others = sentence.replace("The ", "the ", 1) if sentence.startswith("The ") else sentence
    apart = -(-n_all // n)
    advice = f"to see what a long one does, record {apart} in a row (--active {apart})"
    return (
        f"{n} of {n_all} steps {take}, {share * 100:.0f} % of the time; in the others {others}",
        f"the rest of this answer is about the usual steps; {advice}",
    )


def _waits_beyond_the_step(model: TimeModel, rank: RankTime) -> tuple[str, ...]:
    """Warn if recorded steps wait for longer than whole steps take without the profiler.

    Waits for a time, for a queue or for a loader's workers take no longer under a profiler. But the
    steps without the profiler ran right after a pause in which the trace was written. In that
    pause, queues filled, so these steps waited less than usual.
    """
    if rank.unprofiled_ns is None:
        return ()
    places = model.idle.filter(rank=rank.rank).group_by("what").agg(pl.col("idle_ns").sum())
    waits = sum(
        ns
        for what, ns in places.drop_nulls("what").iter_rows()
        if is_wait(str(what)) or WORKERS in str(what)
    )
    waits_ns = waits / (rank.n_steps * rank.n_devices)
    if waits_ns < _LONGER * rank.unprofiled_ns:
        return ()
    sentence = (
        f"a recorded step waits {duration(waits_ns)}, but a whole step without the profiler took"
        f" {duration(rank.unprofiled_ns)}: such steps were timed after a pause, in which queues"
        " fill, so they hardly wait"
    )
    return (sentence,)


def _without_device_work(trace: Trace, row: Mapping[str, Any], doubts: Sequence[str]) -> Answer:
    """Say that the program used a GPU whose work is not in the trace, and what to do."""
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
    model: TimeModel, rank: RankTime, row: Mapping[str, Any], doubts: tuple[str, ...]
) -> Answer:
    """Say that the profiler takes nearly all of a step, what it recorded most, and what to do."""
    trace = model.trace
    reads = reads_of(_called_places(model, rank))
    most = _place(model, rank, reads[0][0], "launch", reads=True) if reads else None
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


def _limits(
    model: TimeModel, row: Mapping[str, Any], second: str | None, read_place: str | None
) -> Limits:
    """Return the parts that limit a rank: the bound alone, or computing and the part `second`."""
    where = {row[part]: _where(model, row, part) for part in ("second", "bound")}
    if second is None:
        return Limits(row["bound"], read_place or where[row["bound"]])
    return Limits("compute", where["compute"], second, where[second])


def _where(model: TimeModel, row: Mapping[str, Any], part: str = "bound") -> str | None:
    """Return the place of the bound, or of the second part.

    If the profiler's own work has most of that part, return the first place in the program instead.
    """
    what: str | None = row["what" if part == "bound" else f"{part}_what"]
    if what != PROFILER:
        return what
    places = _places_of(model, row["rank"], row[part])
    return places[0][0] if places else None


def _places_of(model: TimeModel, rank: int, cause: str | None) -> list[tuple[str, int]]:
    """List the program's places that are idle for a cause, with their times, most first."""
    is_of_cause = (pl.col("rank") == rank) & (pl.col("cause") == pl.lit(cause, pl.String))
    is_of_program = pl.col("what").is_not_null() & (pl.col("what") != PROFILER)
    return model.idle.filter(is_of_cause & is_of_program).select("what", "idle_ns").rows()


def _read_place(model: TimeModel, rank: RankTime) -> str | None:
    """Return where a process reads single values, if that takes most of its time of calling ops."""
    times = _called_places(model, rank)
    reads = reads_of(times)
    read_ns, all_ns = (sum(ns for _, ns in part) for part in (reads, times))
    if read_ns < _MOSTLY * all_ns:
        return None
    with_line = [what for what, _ in reads if what != READS]
    return (with_line or [READS])[0]


def _called_places(model: TimeModel, rank: RankTime) -> list[tuple[str, int]]:
    """List the places where a rank calls ops, with their times."""
    places = model.idle.filter(pl.col("rank") == rank.rank, pl.col("cause") == "launch")
    return places.select(pl.col("what").fill_null(""), "idle_ns").rows()


def _place(
    model: TimeModel, rank: RankTime, where: str | None, bound: str, *, reads: bool
) -> str | None:
    """Describe the place, with how often a step reads a single value there.

    If no place has half of an idle cause's time, name the call path that half of the time shares.
    """
    places = () if reads else _places_of(model, rank.rank, bound)
    text = place_text(where, is_busy=kind_of(bound) == WORK, places=places)
    if text is None or not reads:
        return text
    n_reads = count_reads(model.trace, rank.rank) / max(rank.n_steps, 1)
    often = "once" if round(n_reads) == 1 else f"{n_reads:,.0f} times"
    return f"{text}, {often}{' a step' if rank.n_steps else ''}"


def no_change(rank: RankTime) -> str:
    """Say that nothing needs to change in a step, or in the judged time."""
    whole = "a step" if rank.n_steps else "the time"
    if rank.bound == "unknown" and not rank.is_process:
        return _RECORD_HOST
    if rank.bound == "compute" and not rank.is_process:
        return f"What would help: faster kernels; no change around them would save 2 % of {whole}"
    return f"What would help: nothing seen here would save 2 % of {whole}"


def special_limits(
    model: TimeModel, rank: RankTime, limits: Limits, *, reads: bool = False
) -> str | None:
    """Describe what limits a program of a special kind; None for any other, as `special_words`."""
    if limits.second is None:
        return special_words(model, rank, limits.bound, limits.where, reads=reads)
    special = special_words(model, rank, limits.second, limits.second_where)
    return words_with_second(limits.second, special)


def _work_and_waits(model: TimeModel, rank: RankTime) -> WorkAndWaits | None:
    """Describe a host that both works and waits for much of the time that its bar shows."""
    if rank.n_devices > 1:
        return None
    percent = percents_in(program_bar(rank), rank, ["host"])
    return work_and_waits(model, rank, int(percent.removesuffix(" %")))


def special_words(
    model: TimeModel, rank: RankTime, bound: str, where: str | None, *, reads: bool = False
) -> str | None:
    """Describe a program of a special kind; None for any other.

    Such a program reads single values back (`reads`), receives data from another rank, sleeps or
    waits, calls no op, or is busy inside one op.
    """
    if reads:
        return "The program reads single values back"
    if bound != "host" or where is None:
        return _receiving(model.trace, rank) if bound == "communication" else None
    places = model.idle.filter(pl.col("rank") == rank.rank, pl.col("cause") == bound)
    there_ns = int(places.filter(pl.col("what") == where)["idle_ns"].sum())
    is_most = there_ns >= _MOSTLY * int(places["idle_ns"].sum())
    if is_wait(where) and is_most:
        return (
            "The program sleeps or waits"
            if rank.is_process
            else "The GPU is idle while the program sleeps or waits"
        )
    if rank.is_process:
        return None
    if where.startswith(UNRECORDED):
        return "The GPU waits for the program, which calls no op meanwhile"
    is_in_op = is_most and re.search(INSIDE_OP, where)
    return "The GPU waits for the host, which is busy inside an op" if is_in_op else None


def _receiving(trace: Trace, rank: RankTime) -> str | None:
    """Describe a rank that mostly waits for others, or receives from one of them."""
    subject = "process" if rank.is_process else "GPU"
    if is_mostly_receiving(trace):
        return f"The {subject} waits for another rank's data, or receives it, and computes nothing"
    if lone_waits(trace) is not None:
        return f"The {subject} waits in collectives, mostly for other ranks"
    return None


def program_sentence(rank: RankTime, bound: str, share: str, *, special: str | None = None) -> str:
    """Say what limits the rank, with its share of a step, or of the program's time without steps.

    `special`, if given, replaces the usual sentence by a more specific one.
    """
    words = special or (PROCESS_SENTENCES if rank.is_process else DEVICE_SENTENCES)[bound]
    if rank.n_devices > 1:
        words = words.replace("The GPU ", f"Each of {rank.n_devices} GPUs ")
    return f"{words}: {share} of {whole_of(rank)}"


def whole_of(rank: RankTime) -> str:
    """Name the time that the rank's shares refer to: a step, or the time of the program."""
    step_ns = rank.judged_step_ns
    if step_ns is None:
        return f"the program's {duration(sum(rank.parts.values()) / rank.n_devices)}"
    step = f"a step of {duration(step_ns)}"
    mean_ns, median_ns = rank.recorded_step_ns, rank.step_ns
    if mean_ns is None or median_ns is None or not is_another_time(mean_ns, median_ns):
        return step
    if not is_another_time(step_ns, rank.unprofiled_ns or median_ns):
        return step
    median = "" if rank.unprofiled_ns else f" ({duration(median_ns)} in the median)"
    return f"{step} on average{median}"


def is_another_time(mean_ns: float, median_ns: float) -> bool:
    """Return whether a mean and a median step differ so much that both have to be named."""
    return abs(mean_ns - median_ns) > _UNEVEN * median_ns


def _profiler_cost(trace: Trace, rank: RankTime) -> str | None:
    """Compare the step under the profiler with one without it, if the latter was timed.

    The time without it is followed by the range of the steps that were timed. If percentages refer
    to neither time, the time that they refer to is added: that of a step under the profiler, less
    what the profiler is known to add.
    """
    measured, judged_ns = measured_range(trace, rank.rank), rank.judged_step_ns
    if measured is None or rank.recorded_step_ns is None or judged_ns is None:
        return None
    step_ns, low_ns, high_ns = measured
    plain, recorded = duration(step_ns), duration(rank.recorded_step_ns)
    is_range = duration(low_ns) != duration(high_ns)
    spread = f" ({span_text(low_ns, high_ns)})" if is_range else ""
    words = f"without the profiler a step takes {plain}{spread}, under it {recorded}"
    judged = duration(judged_ns)
    if judged in (plain, recorded):
        return words
    return f"{words}; percentages are of {judged}, without what it is known to add"


def _profiler_work(rank: RankTime) -> str | None:
    """Give the recorded step if much of it is the profiler's own work, which is left out."""
    recorded_ns, judged_ns = rank.recorded_step_ns, rank.judged_step_ns
    if recorded_ns is None or judged_ns is None or not is_another_time(recorded_ns, judged_ns):
        return None
    return f"a recorded step took {duration(recorded_ns)}, the profiler's own work included"


def _replayed_step(trace: Trace, rank: RankTime) -> str | None:
    """Give the length of a replayed step without the profiler, if it is surely shorter.

    It is surely shorter if its whole range is below the recorded step.
    """
    step = unprofiled_steps(trace).get(rank.rank)
    if step is None or step.unprofiled_ns is None or step.low_ns is None or step.high_ns is None:
        return None
    if step.high_ns >= step.recorded_ns:
        return None
    bounds = bounds_of_range(rank, step)
    nouns = PROCESS_WORDS if rank.is_process else PART_WORDS
    limits = (
        "" if bounds is None else ", limited by " + " or by ".join(nouns[part] for part in bounds)
    )
    return (
        f"without the profiler a step takes about {duration(step.unprofiled_ns)}"
        f" ({span_text(step.low_ns, step.high_ns)}){limits}"
    )


def _slow_host(trace: Trace, rank: RankTime) -> tuple[str, ...]:
    """Warn of launches that took longer than on the slowest usual host.

    The trace does not show whether the host was slow only while it recorded, or always is. The
    warning is only for a rank that its host limits.
    """
    step = unprofiled_steps(trace).get(rank.rank)
    if step is None or not step.was_slow or rank.bound not in SLOWED:
        return ()
    factor = f"{step.slowness:.1f} times as long as usual ones"
    said = (
        f"the host was slow while it recorded: its launches took {factor}; the trace does not tell"
        " whether it always is, so the range of the step without the profiler allows for both"
    )
    return (said,)


def _beside_mark(model: TimeModel, rank: RankTime) -> str | None:
    """Give the length of a step's mark on the host, if the step itself has another length."""
    marks = mark_times(step_times(model))
    if rank.rank not in marks or rank.step_ns is None:
        return None
    end = "its last op" if rank.is_process else "its last work on the GPU"
    shown = duration(marks[rank.rank])
    return f"on the host a step takes {shown}; here it lasts until {end} is done"


def next_sections(rank: RankTime, bound: str) -> tuple[str, ...]:
    """Return the sections that show more of what limits the rank."""
    if rank.is_process:
        return ("top_ops",) if bound == "compute" else ("idle_gaps",)
    return _SECTIONS.get(bound, ("idle_gaps",))


def _amount(rank: RankTime) -> str:
    """Say how much work a rank did, and over what time it was recorded."""
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


def incomplete(trace: Trace, *, is_judged: bool = True) -> tuple[str, ...]:
    """Warn of a trace that is cut off; if it is judged, say that only a part is."""
    if trace.manifest.complete:
        return ()
    return (f"the trace is incomplete{'; this judges the part that is there' * is_judged}",)
