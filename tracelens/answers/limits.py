"""Find the bound of a rank and the code in which its time goes, and write the first sentence.

A place is the call path, kernel or op in which a part's time goes.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from tracelens.answers.answer import WORK
from tracelens.answers.devices import SmUse, few_sms, sentence_of_gpus
from tracelens.answers.step_bar import kind_of, label_of, percents_in, program_bar
from tracelens.answers.words import DEVICE_SENTENCES, PROCESS_SENTENCES, function_text, place_text
from tracelens.derive.columns.time_text import duration
from tracelens.derive.events.autograd_nodes import ENGINE
from tracelens.derive.processes.cpu_work import READS
from tracelens.derive.time.activity_places import PROFILER
from tracelens.derive.time.bounds import INSIDE_OP, UNRECORDED
from tracelens.derive.time.host_waits import is_wait
from tracelens.derive.time.idle_advice import split_waits, works_and_waits
from tracelens.derive.time.lone_waits import lone_waits
from tracelens.derive.time.process_facts import count_reads, reads_of
from tracelens.derive.time.receives import is_mostly_receiving
from tracelens.derive.time.time_parts import RankTime, TimeModel
from tracelens.trace import Trace

_MOST_READS = 0.8
"""A process mostly reads single values of tensors if the reads take this share of its op time."""
_UNEVEN = 0.05
"""The answer gives both the mean and the median step if they differ by more than this share."""
_MOSTLY = 0.8
_MOST_TIME = 0.5
"""A few long steps come first in the sentence if they take more than this share of the time."""
_SUBJECT = "The GPU "
_COMPUTES_NOTHING = ", and computes nothing"
"""The end of a sentence about a device that receives data from another rank.

This end is removed if the device also computes.
"""
_PHRASES = {
    "communication": "only communicates",
    "copy": "only copies",
    "dependency": "waits for its own earlier work",
    "unknown": "is idle for an unknown reason",
}
_LEAST_OF_CALLER, _ONE_LINE = 0.1, 80
_WORKS, _WAITS = "does other work", "waits itself"


class WorkAndWaits(Struct, frozen=True):
    """Describes a host that spends time on other work than launching, and also on waiting."""

    # The sentence without numbers
    words: str
    # The shares of work and waits, the larger first
    shares: str
    # Names the place of the smaller part
    smaller_part: str


class Limits(Struct, frozen=True):
    """The part of a step that limits a rank, and its place if the place is known."""

    # If computing and another part take comparable times, the bound is computing and `second` the
    # other part, even if it is longer.
    bound: str
    where: str | None
    second: str | None = None
    second_where: str | None = None
    # True if the program mostly reads single values of tensors
    reads: bool = False
    # Given if the program computes on few of the GPU's SMs
    few_sms: SmUse | None = None
    # Given if the host spends time on other work, and also on waiting
    work_and_waits: WorkAndWaits | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """`bound`, then `second` if there is one."""
        return (self.bound,) if self.second is None else (self.bound, self.second)

    @property
    def last_part(self) -> str:
        """`second` if there is one, else `bound`."""
        return self.second or self.bound

    @property
    def last_where(self) -> str | None:
        """`second_where` if it is known, else `where`."""
        return self.second_where or self.where

    def place_of_second(self, places: Sequence[tuple[str, int]] = ()) -> tuple[str, ...]:
        """Return "label: place" for the part `second`, with the label that the bar shows.

        The result is empty if there is no second part or its place is not known. If the part is
        idle time, `places` are all places that cause it, each with nanoseconds.
        """
        if self.second is None:
            return ()
        is_busy = kind_of(self.second) == WORK
        text = place_text(self.second_where, is_busy=is_busy, places=places)
        return () if text is None else (f"{label_of(self.second, is_process=False)}: {text}",)


def limits_of(model: TimeModel, rank: RankTime, row: Mapping[str, Any]) -> Limits:
    """Return the limits of a rank, given its row of `verdict`."""
    bound = row["bound"]
    where = {row[part]: _where(model, row, part) for part in ("second", "bound")}
    place_of_reads = _place_of_reads(model, rank) if rank.is_process and bound == "launch" else None
    use = few_sms(model.trace, rank) if bound == "compute" else None
    both = _work_and_waits(model, rank) if bound == "host" and rank.n_devices <= 1 else None
    reads = place_of_reads is not None
    second = rank.beside_computing
    if second is None or use is not None or both is not None or rank.n_devices > 1:
        return Limits(
            bound,
            place_of_reads or where[bound],
            reads=reads,
            few_sms=use,
            work_and_waits=both,
        )
    return Limits("compute", where["compute"], second, where[second], reads=reads)


def _where(model: TimeModel, row: Mapping[str, Any], part: str = "bound") -> str | None:
    """Return the kernel, op or call path in which the time of the bound or second part goes."""
    what: str | None = row["what" if part == "bound" else f"{part}_what"]
    # The profiler's own work is no place in the program, so the next one is taken.
    if what != PROFILER:
        return what
    places = places_of(model, row["rank"], row[part])
    return places[0][0] if places else None


def places_of(model: TimeModel, rank: int, cause: str | None) -> list[tuple[str, int]]:
    """List the places in the program that cause idle time, with nanoseconds, longest first.

    Only idle time with the given cause counts.
    """
    is_of_cause = (pl.col("rank") == rank) & (pl.col("cause") == pl.lit(cause, pl.String))
    is_of_program = pl.col("what").is_not_null() & (pl.col("what") != PROFILER)
    return model.idle.filter(is_of_cause & is_of_program).select("what", "idle_ns").rows()


def _place_of_reads(model: TimeModel, rank: RankTime) -> str | None:
    """Return the call path on which a process reads single values of tensors, as item() does.

    Return None unless these reads take most of the time.
    """
    times = called_places(model, rank)
    reads = reads_of(times)
    read_ns, all_ns = (sum(ns for _, ns in part) for part in (reads, times))
    if read_ns < _MOST_READS * all_ns:
        return None
    with_line = [what for what, _ in reads if what != READS]
    return (with_line or [READS])[0]


def called_places(model: TimeModel, rank: RankTime) -> list[tuple[str, int]]:
    """List the places where a rank calls ops, each with the nanoseconds of the calls."""
    places = model.idle.filter(
        pl.col("rank") == rank.rank,
        pl.col("cause") == "launch",
    )
    return places.select(pl.col("what").fill_null(""), "idle_ns").rows()


def bound_place(model: TimeModel, rank: RankTime, limits: Limits) -> str | None:
    """Describe the place of the rank's bound.

    If the program mostly reads single values of tensors, add the number per step. Otherwise,
    name a call path that covers half of the bound's idle time, if there is one.
    """
    places = () if limits.reads else places_of(model, rank.rank, limits.bound)
    text = place_text(
        limits.where,
        is_busy=kind_of(limits.bound) == WORK,
        places=places,
    )
    if text is None or not limits.reads:
        return text
    n_reads = count_reads(model.trace, rank.rank) / max(rank.n_steps, 1)
    often = "once" if round(n_reads) == 1 else f"{n_reads:,.0f} times"
    return f"{text}, {often}{' a step' if rank.n_steps else ''}"


def launching_functions(model: TimeModel, rank: RankTime, limits: Limits) -> str | None:
    """Name the functions that take most of the launching time.

    Return None if a single call path takes half of the time.
    """
    times = Counter(dict(called_places(model, rank)))
    all_ns = times.total()
    if (
        limits.last_part != "launch"
        or rank.is_process
        or max(times.values(), default=0) >= all_ns / 2
    ):
        return None
    callers: Counter[str] = Counter()
    for place, ns in times.items():
        # Launches by autograd are the backward pass.
        if place.startswith(ENGINE):
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


def first_sentence(model: TimeModel, rank: RankTime, limits: Limits, shares: str) -> str:
    """Return the answer's first sentence: the rank's bound, and its share of the time.

    `shares` are the shares as the bar shows them.
    """
    of_gpus = sentence_of_gpus(model, rank, whole_of(rank)) if rank.n_devices > 1 else None
    if of_gpus is not None:
        return of_gpus
    special = special_limits(model, rank, limits)
    both = limits.work_and_waits
    return program_sentence(
        rank,
        limits.bound,
        both.shares if both else shares,
        special=special,
    )


def program_sentence(
    rank: RankTime,
    bound: str,
    share: str,
    *,
    special: str | None = None,
) -> str:
    """Return the sentence on a bound, with its share of a step or of the program's time.

    `special` replaces the usual sentence.
    """
    words = special or (PROCESS_SENTENCES if rank.is_process else DEVICE_SENTENCES)[bound]
    if rank.n_devices > 1:
        words = words.replace("The GPU ", f"Each of {rank.n_devices} GPUs ")
    return f"{words}: {share} of {whole_of(rank)}"


def special_limits(model: TimeModel, rank: RankTime, limits: Limits) -> str | None:
    """Return a specific sentence on the bound, see `_special_words`; None for the usual one."""
    if limits.few_sms is not None:
        return "The GPU computes on few of its SMs"
    if limits.work_and_waits is not None:
        return limits.work_and_waits.words
    if limits.second is None:
        return _special_words(model, rank, limits.bound, limits.where, reads=limits.reads)
    special = _special_words(model, rank, limits.second, limits.second_where)
    return _words_with_second(limits.second, special)


def _special_words(
    model: TimeModel,
    rank: RankTime,
    bound: str,
    where: str | None,
    *,
    reads: bool = False,
) -> str | None:
    """Return a sentence on a program of a special kind; None for any other program.

    `reads` says that the program mostly reads single values of tensors.
    """
    if reads:
        return "The program reads single values back"
    if bound != "host" or where is None:
        return _receiving(model.trace, rank) if bound == "communication" else None
    places = model.idle.filter(
        pl.col("rank") == rank.rank,
        pl.col("cause") == bound,
    )
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
    """Describe a rank that mostly waits for other ranks, or receives data; None for any other."""
    subject = "process" if rank.is_process else "GPU"
    if is_mostly_receiving(trace):
        return f"The {subject} waits for another rank's data, or receives it, and computes nothing"
    if lone_waits(trace) is not None:
        return f"The {subject} waits in collectives, mostly for other ranks"
    return None


def _words_with_second(second: str, special: str | None) -> str:
    """Return the sentence for a device with about equal times of computing and of `second`.

    `special` is a more specific sentence on the part `second`, or None.
    """
    sentence = special or _PHRASES.get(second) or DEVICE_SENTENCES[second]
    phrase = sentence.removeprefix(_SUBJECT).removesuffix(_COMPUTES_NOTHING)
    return f"{_SUBJECT}computes or {phrase}"


def _work_and_waits(model: TimeModel, rank: RankTime) -> WorkAndWaits | None:
    """Describe the host's work and waits, the larger first.

    Return None if one of them takes little time beside the other. Their two shares are rounded so
    that they sum to the host's share in the answer's bar.
    """
    places = model.idle.filter(rank=rank.rank, cause="host").drop_nulls("what")
    rows = [(str(what), int(ns)) for what, ns in places.select("what", "idle_ns").iter_rows()]
    if not works_and_waits(rows):
        return None
    percent = int(percents_in(program_bar(rank), rank, ["host"]).removesuffix(" %"))
    parts = dict(zip((_WORKS, _WAITS), split_waits(rows), strict=True))
    times = {words: sum(ns for _, ns in part) for words, part in parts.items()}
    larger, smaller = sorted(times, key=lambda words: -times[words])
    n_smaller = round(percent * times[smaller] / sum(times.values()))
    where, _ = max(parts[smaller], key=lambda place: place[1])
    subject = "The program" if rank.is_process else "The GPU waits while the program"
    return WorkAndWaits(
        f"{subject} {larger} or {smaller}",
        f"{percent - n_smaller} % and {n_smaller} %",
        f"it {smaller}: {place_text(where)}",
    )


def with_long_steps(trace: Trace, rank: RankTime, sentence: str) -> tuple[str, str | None]:
    """Return the sentence, and a detail on steps that took much longer than most steps.

    Without long steps, the detail is None. If long steps take most of the time, the returned
    sentence begins with the long steps.
    """
    # Only steps that were timed without the profiler are searched for long ones.
    long = trace.manifest.long_steps(rank.rank)
    usual_ns = rank.unprofiled_ns or rank.judged_step_ns
    if long is None:
        return sentence, None
    n, n_all, ns = long
    take = f"{'takes' if n == 1 else 'take'} {duration(ns)}"
    # For example, a step takes 14 ms, and every fifth one saves for 400 ms.
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
    """Return whether a mean and a median step differ so much that both are given."""
    return abs(mean_ns - median_ns) > _UNEVEN * median_ns
